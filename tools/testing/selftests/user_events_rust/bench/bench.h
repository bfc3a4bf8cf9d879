/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations shared by the parts of the user_events benchmark.
 */
#ifndef USER_EVENTS_BENCH_H
#define USER_EVENTS_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TRACEFS "/sys/kernel/tracing/"
#define EVENT_DIR TRACEFS "events/user_events/"

/* The kernel's header of a record, from which dynamic fields are counted. */
#define RECORD_HEADER 8

/* As many metrics as one measurement may return at once. */
#define MAX_METRICS 8

/* Fewer sizes and repetitions. */
extern bool quick;

/* The groups of metrics, one file each. */
void bench_write(void);
void bench_register(void);
void bench_fork(void);
void bench_processes(void);
void bench_memory(void);
void bench_hist(void);
void bench_parallel(void);
void bench_lines(void);

/* util.c: time, results, processes. */
_Noreturn void die(const char *format, ...);
double now_ns(void);
double median(double *values, size_t count);
void report(const char *metric, double value, const char *unit);

/*
 * Runs @measure @times times, each in a process of its own that finds no user
 * events, and reports the median of each value that it fills in.
 */
void measure_alone(void (*measure)(double *values), int times,
		   const char *const *metrics, const char *unit);

/*
 * Waits before a measurement: for the objects of the last one to be freed, and for
 * an RCU grace period that the next would otherwise have to wait for. Waiting is
 * not what is measured.
 */
void pause_before(void);
/* Times @count forks; @whole, if it is not NULL, is until the child has exited. */
void time_forks(double *forked, double *whole, int count);
/* Forks a process, which calls @prepare(@data) and then waits to be killed. */
pid_t start_process(void (*prepare)(void *data), void *data);
/* Writes 1 or 0 to an enable file. */
double time_switch(int fd, bool on);

/* util.c: files. */
void write_file(const char *path, const char *text);
int try_write_file(const char *path, const char *text);
/* The whole of a file; free() it. */
char *read_file(const char *path);
/* The number after @label in @text. */
unsigned long long number_after(const char *text, const char *label);
/*
 * Returns the number of records that the ring buffers of all CPUs have ever
 * accepted.
 */
unsigned long long records_taken(void);

/* memory.c: lets the kernel free what it is about to. */
void settle(void);

/* hist.c: the event that has the histograms, and what hist_*.c do with it. */
#define HIST_EVENT "bench_hist"
#define HIST_TRIGGER EVENT_DIR HIST_EVENT "/trigger"
int hist_set_up(void);
/* hist_set_up() while other processes have the event. */
int hist_join(void);
/* True on a kernel with the features that histograms in C do not have. */
bool hist_is_beyond(void);
void hist_take_down(int fd);
/* Writes records with the keys that @key returns; the mean time of one. */
double hist_write(int fd, unsigned int count, uint32_t (*key)(unsigned int i));
void hist_actions(void);
void hist_sizes(void);

/* batch.c: a part of the group "write". */
void bench_batch(void);

/* util.c: user_events. */
int open_data(void);
uint32_t event_register(int fd, const char *command, uint32_t *word);
void event_unregister(int fd, uint32_t *word);
bool event_is_enabled(const uint32_t *word);
void wait_for_no_events(void);

/* Many events of one process and file, prepared so that only ioctls remain. */
struct many {
	int fd;
	unsigned int count;
	char (*commands)[64];
};

void many_init(struct many *many, unsigned int count);
/* Zeroed enable words in pages that are present. */
uint32_t *many_words(const struct many *many);
/* Registers events @from to @to at @words. */
void many_register(struct many *many, uint32_t *words, unsigned int from, unsigned int to);

#endif
