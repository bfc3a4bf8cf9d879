// SPDX-License-Identifier: GPL-2.0
/*
 * Two processors that update one histogram: how many updates there are in a second.
 * It needs a machine with two processors that really run at once.
 */

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define THREADS 2
#define LOOPS 40000
#define REPETITIONS 31
/* How often that is tried on a machine that is busy. */
#define TRIES 5

static int fd;
static bool same;
static pthread_barrier_t barrier;

static __thread int number;

static uint32_t key(unsigned int i)
{
	return same ? 1 : i % 500 * THREADS + number;
}

static void *write_one(void *arg)
{
	double *time = arg;
	cpu_set_t cpu;

	number = (int)time[1];
	CPU_ZERO(&cpu);
	CPU_SET(number, &cpu);
	if (sched_setaffinity(0, sizeof(cpu), &cpu))
		die("there are no %d processors", THREADS);
	pthread_barrier_wait(&barrier);
	time[0] = hist_write(fd, LOOPS, key);
	return NULL;
}

/* The mean time of a record while the others write as well. */
static double write_parallel(void)
{
	double times[THREADS][2], sum = 0;
	pthread_t threads[THREADS];
	int i;

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (i = 0; i < THREADS; i++) {
		times[i][1] = i;
		if (pthread_create(&threads[i], NULL, write_one, times[i]))
			die("cannot start a thread");
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += times[i][0];
	}
	return sum / THREADS;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median: the least may be of threads that did not run at once. */
static double typical(void)
{
	double times[REPETITIONS];
	int i;

	for (i = 0; i < REPETITIONS; i++)
		times[i] = write_parallel();
	qsort(times, REPETITIONS, sizeof(times[0]), compare);
	return times[REPETITIONS / 2];
}

static bool try_to_measure(const char *metric)
{
	double without, with;
	char *text;

	without = typical();
	write_file(HIST_TRIGGER, "hist:keys=k");
	with = typical();
	text = read_file(EVENT_DIR HIST_EVENT "/hist");
	if (number_after(text, "Hits: ") != THREADS * LOOPS * REPETITIONS || number_after(text, "Dropped: "))
		die("the histogram does not have all hits");
	free(text);
	write_file(HIST_TRIGGER, "!hist:keys=k");
	if (with <= without)
		return false;
	report(metric, THREADS * 1e9 / (with - without), "1/s");
	return true;
}

static void measure(const char *metric, bool one_key)
{
	int i;

	same = one_key;
	for (i = 0; i < TRIES; i++) {
		if (try_to_measure(metric))
			return;
	}
	fprintf(stderr, "%s: the machine is too busy: records with a histogram took less than without\n",
		metric);
}

void bench_parallel(void)
{
	fd = hist_set_up();
	write_file(EVENT_DIR HIST_EVENT "/enable", "1");
	measure("hist_2cpus_same_key", true);
	measure("hist_2cpus_other_keys", false);
	write_file(EVENT_DIR HIST_EVENT "/enable", "0");
	hist_take_down(fd);
}
