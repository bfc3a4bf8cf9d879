// SPDX-License-Identifier: GPL-2.0
/*
 * Helpers of the user_events benchmark: time, files, processes and events.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <linux/user_events.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "bench.h"

#define ENABLE_BIT 31

void die(const char *format, ...)
{
	int error = errno;
	va_list args;

	fflush(stdout);
	fputs("user_events_bench: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, " (last error: %s)\n", strerror(error));
	exit(EXIT_FAILURE);
}

double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

void report(const char *metric, double value, const char *unit)
{
	printf("%s\t%.1f\t%s\n", metric, value, unit);
	fflush(stdout);
}

void measure_alone(void (*measure)(double *values), int times,
		   const char *const *metrics, const char *unit)
{
	double (*shared)[MAX_METRICS];
	double column[32];
	int status, m, t;
	pid_t pid;

	if (times > 32)
		die("at most 32 repetitions");
	shared = mmap(NULL, times * sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("cannot allocate results");

	for (t = 0; t < times; t++) {
		wait_for_no_events();
		fflush(stdout);
		pid = fork();
		if (pid < 0)
			die("cannot fork");
		if (!pid) {
			measure(shared[t]);
			exit(EXIT_SUCCESS);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			die("measuring %s failed", metrics[0]);
	}
	for (m = 0; m < MAX_METRICS && metrics[m]; m++) {
		for (t = 0; t < times; t++)
			column[t] = shared[t][m];
		report(metrics[m], median(column, times), unit);
	}
	munmap(shared, times * sizeof(*shared));
}

void pause_before(void)
{
	usleep(200000);
}

void time_forks(double *forked, double *whole, int count)
{
	double start;
	pid_t pid;
	int i;

	for (i = 0; i < count; i++) {
		pause_before();
		start = now_ns();
		pid = fork();
		if (!pid)
			_exit(0);
		forked[i] = now_ns() - start;
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			die("cannot fork");
		if (whole)
			whole[i] = now_ns() - start;
	}
}

pid_t start_process(void (*prepare)(void *data), void *data)
{
	int ready[2];
	pid_t pid;
	char byte;

	if (pipe(ready))
		die("cannot make a pipe");
	pid = fork();
	if (pid < 0)
		die("cannot fork");
	if (!pid) {
		close(ready[0]);
		prepare(data);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	/* The end of the file, if the process has exited. */
	if (read(ready[0], &byte, 1) != 1)
		die("a process did not start");
	close(ready[0]);
	return pid;
}

double time_switch(int fd, bool on)
{
	double start;

	pause_before();
	start = now_ns();
	if (pwrite(fd, on ? "1" : "0", 1, 0) != 1)
		die("cannot write to an enable file");
	return now_ns() - start;
}

int try_write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC);
	ssize_t done;

	if (fd < 0)
		return -1;
	done = write(fd, text, strlen(text));
	close(fd);
	return done == (ssize_t)strlen(text) ? 0 : -1;
}

void write_file(const char *path, const char *text)
{
	if (try_write_file(path, text))
		die("cannot write \"%s\" to %s", text, path);
}

char *read_file(const char *path)
{
	size_t size = 0, room = 4096;
	char *text = malloc(room);
	int fd = open(path, O_RDONLY);
	ssize_t got;

	if (fd < 0 || !text)
		die("cannot read %s", path);
	while ((got = read(fd, text + size, room - size - 1)) > 0) {
		size += got;
		if (room - size < 2) {
			room *= 2;
			text = realloc(text, room);
			if (!text)
				die("out of memory");
		}
	}
	if (got < 0)
		die("cannot read %s", path);
	close(fd);
	text[size] = '\0';
	return text;
}

unsigned long long number_after(const char *text, const char *label)
{
	const char *at = strstr(text, label);

	if (!at)
		die("there is no \"%s\" in:\n%s", label, text);
	return strtoull(at + strlen(label), NULL, 10);
}

unsigned long long records_taken(void)
{
	unsigned long long sum = 0;
	glob_t found;
	size_t i;

	if (glob(TRACEFS "per_cpu/cpu*/stats", 0, NULL, &found))
		die("there is no " TRACEFS "per_cpu/cpu*/stats");
	for (i = 0; i < found.gl_pathc; i++) {
		char *text = read_file(found.gl_pathv[i]);

		sum += number_after(text, "entries: ") + number_after(text, "overrun: ");
		free(text);
	}
	globfree(&found);
	return sum;
}

int open_data(void)
{
	int fd = open(TRACEFS "user_events_data", O_RDWR);

	if (fd < 0)
		die("cannot open " TRACEFS "user_events_data");
	return fd;
}

uint32_t event_register(int fd, const char *command, uint32_t *word)
{
	struct user_reg reg = {
		.size = sizeof(reg),
		.enable_bit = ENABLE_BIT,
		.enable_size = sizeof(*word),
		.enable_addr = (uintptr_t)word,
		.name_args = (uintptr_t)command,
	};

	if (ioctl(fd, DIAG_IOCSREG, &reg))
		die("cannot register \"%s\"", command);
	return reg.write_index;
}

void event_unregister(int fd, uint32_t *word)
{
	struct user_unreg unreg = {
		.size = sizeof(unreg),
		.disable_bit = ENABLE_BIT,
		.disable_addr = (uintptr_t)word,
	};

	if (ioctl(fd, DIAG_IOCSUNREG, &unreg))
		die("cannot unregister an event");
}

bool event_is_enabled(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED) & (1U << ENABLE_BIT);
}

/* An event is removed in the background, after the last process that has it. */
void wait_for_no_events(void)
{
	unsigned long long active;
	double limit = now_ns() + 600e9;
	char *text;

	for (;;) {
		text = read_file(TRACEFS "user_events_status");
		active = number_after(text, "Active: ");
		free(text);
		if (!active)
			return;
		if (now_ns() > limit)
			die("%llu user events do not go away: is another program using them?", active);
		usleep(100000);
	}
}

void many_init(struct many *many, unsigned int count)
{
	unsigned int i;

	many->fd = open_data();
	many->count = count;
	many->commands = malloc(count * sizeof(*many->commands));
	if (!many->commands)
		die("out of memory");
	for (i = 0; i < count; i++)
		snprintf(many->commands[i], sizeof(*many->commands), "bench_%u u32 k;u32 a;u64 b", i);
}

uint32_t *many_words(const struct many *many)
{
	uint32_t *words = mmap(NULL, many->count * sizeof(*words), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (words == MAP_FAILED)
		die("out of memory");
	return words;
}

void many_register(struct many *many, uint32_t *words, unsigned int from, unsigned int to)
{
	unsigned int i;

	for (i = from; i < to; i++)
		event_register(many->fd, many->commands[i], &words[i]);
}
