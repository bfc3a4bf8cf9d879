// SPDX-License-Identifier: GPL-2.0
/*
 * All processors update the same histograms: the number of updates in a second. It
 * needs a machine with two processors that really run at once.
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define THREADS_MAX 64
/*
 * A record costs several times as much as an update, so each has enough
 * histograms for the record to be the lesser part of the difference.
 */
#define HISTOGRAMS 16
#define LOOPS 10000
/* So that all keys exist before, of all threads. */
#define KEYS 1000
#define REPETITIONS 25
#define QUICK_REPETITIONS 5
/* Number of attempts on a busy machine. */
#define TRIES 5

static int fd, threads;
static bool same;
static pthread_barrier_t barrier;

static __thread int number;

static uint32_t key(unsigned int i)
{
	return same ? 1 : i % (KEYS / threads) * threads + number;
}

static void *write_one(void *arg)
{
	double *time = arg;
	cpu_set_t cpu;

	number = (int)time[1];
	CPU_ZERO(&cpu);
	CPU_SET(number, &cpu);
	if (sched_setaffinity(0, sizeof(cpu), &cpu))
		die("there are no %d processors", threads);
	hist_write(fd, KEYS, key);
	pthread_barrier_wait(&barrier);
	time[0] = hist_write(fd, LOOPS, key);
	return NULL;
}

/* The mean time of a record while the others write as well. */
static double write_parallel(void)
{
	double times[THREADS_MAX][2], sum = 0;
	pthread_t thread[THREADS_MAX];
	int i;

	pthread_barrier_init(&barrier, NULL, threads);
	for (i = 0; i < threads; i++) {
		times[i][1] = i;
		if (pthread_create(&thread[i], NULL, write_one, times[i]))
			die("cannot start a thread");
	}
	for (i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		sum += times[i][0];
	}
	pthread_barrier_destroy(&barrier);
	return sum / threads;
}

/* Opening the file for writing removes the existing triggers. */
static void attach(void)
{
	int trigger = open(HIST_TRIGGER, O_WRONLY | O_TRUNC), i;

	for (i = 0; i < HISTOGRAMS; i++) {
		if (dprintf(trigger, "hist:name=parallel%d:keys=k", i) < 0)
			die("cannot attach a histogram");
	}
	close(trigger);
}

/* All of them have to have seen all records. */
static void check(void)
{
	char *text = read_file(EVENT_DIR HIST_EVENT "/hist"), *at = text;
	int n = 0;

	while ((at = strstr(at, "Hits: "))) {
		if (number_after(at, "Hits: ") != (uint64_t)threads * (KEYS + LOOPS) || number_after(at, "Dropped: "))
			break;
		n++;
		at++;
	}
	if (n != HISTOGRAMS)
		die("a histogram does not have all hits");
	free(text);
}

/*
 * The median: the least may be of threads that did not run at once. What is
 * subtracted is measured right before, as a machine gets faster and slower.
 */
static bool try_to_measure(const char *metric)
{
	int i, repetitions = quick ? QUICK_REPETITIONS : REPETITIONS;
	double costs[REPETITIONS], without, cost;

	for (i = 0; i < repetitions; i++) {
		without = write_parallel();
		attach();
		costs[i] = write_parallel() - without;
		check();
		write_file(HIST_TRIGGER, "");
	}
	cost = median(costs, repetitions);
	if (cost <= 0)
		return false;
	report(metric, threads * HISTOGRAMS * 1e9 / cost, "1/s");
	return true;
}

static void measure(const char *keys, bool one_key)
{
	char metric[64];
	int i;

	snprintf(metric, sizeof(metric), "hist_%dcpus_%s", threads, keys);
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
	threads = sysconf(_SC_NPROCESSORS_ONLN);
	if (threads < 2 || threads > THREADS_MAX)
		die("2 to %d processors are needed", THREADS_MAX);
	fd = hist_set_up();
	write_file(EVENT_DIR HIST_EVENT "/enable", "1");
	measure("same_key", true);
	measure("other_keys", false);
	write_file(EVENT_DIR HIST_EVENT "/enable", "0");
	hist_take_down(fd);
}
