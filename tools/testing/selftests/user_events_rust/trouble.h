/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions shared by trouble_test and soak: writers that count their records,
 * and the counts that the kernel keeps of the same records.
 */
#ifndef TROUBLE_H
#define TROUBLE_H

#include <pthread.h>

#include "ue.h"

/* Exists if CPU 1 can be taken offline. */
#define CPU1		"/sys/devices/system/cpu/cpu1/online"

/* One thread that writes records of one event until it is told to stop. */
struct writer {
	pthread_t thread;
	int fd;
	int index;
	bool stop;
	unsigned long written;
	/* EBADF: the event was disabled. */
	unsigned long refused;
	/* The first other error. */
	long error;
};

static inline void *writer_loop(void *arg)
{
	struct writer *w = arg;

	for (uint32_t i = 0; !__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE); i++) {
		long ret = ue_write_u32(w->fd, w->index, i % 16);

		if (ret == 2 * sizeof(uint32_t))
			__atomic_fetch_add(&w->written, 1, __ATOMIC_RELEASE);
		else if (ret == -EBADF)
			w->refused++;
		else if (!w->error)
			w->error = ret < 0 ? ret : -EIO;
	}
	return NULL;
}

static inline int writer_start(struct writer *w, int fd, int index)
{
	memset(w, 0, sizeof(*w));
	w->fd = fd;
	w->index = index;
	return pthread_create(&w->thread, NULL, writer_loop, w);
}

static inline unsigned long writer_count(struct writer *w)
{
	return __atomic_load_n(&w->written, __ATOMIC_ACQUIRE);
}

static inline void writer_stop(struct writer *w)
{
	__atomic_store_n(&w->stop, true, __ATOMIC_RELEASE);
	pthread_join(w->thread, NULL);
}

/* Returns true if the writer writes @n more records in time. */
static inline bool writer_goes_on(struct writer *w, unsigned long n)
{
	unsigned long before = writer_count(w);

	return ue_poll(writer_count(w) >= before + n);
}

/* The number after a word in a text, or -1. */
static inline long number_after(const char *text, const char *word)
{
	const char *at = strstr(text, word);

	return at ? atol(at + strlen(word)) : -1;
}

/* Hits and drops of the only histogram of an event; @dir is that of the instance. */
static inline long hist_total(const char *dir, const char *event, const char *word)
{
	return number_after(ue_slurp(ue_path("%s/events/user_events/%s/hist", dir, event)), word);
}

/* The sum of the hit counts of all entries of the histogram. */
static inline long hist_sum(const char *dir, const char *event)
{
	const char *text = ue_slurp(ue_path("%s/events/user_events/%s/hist", dir, event));
	long sum = 0;

	while ((text = strstr(text, "hitcount:"))) {
		text += strlen("hitcount:");
		sum += atol(text);
	}
	return sum;
}

/*
 * The records that an instance can account for: those in its buffers, those that
 * were read, and those that it says it has lost.
 */
static inline long records_accounted(const char *dir)
{
	static const char * const what[] = {
		"entries: ", "\noverrun: ", "commit overrun: ", "dropped events: ", "read events: ",
	};
	long sum = 0;

	for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++) {
		const char *text = ue_slurp(ue_path("%s/per_cpu/cpu%d/stats", dir, cpu));

		for (size_t i = 0; *text && i < sizeof(what) / sizeof(*what); i++)
			sum += number_after(text, what[i]);
	}
	return sum;
}

#endif
