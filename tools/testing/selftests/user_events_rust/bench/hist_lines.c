// SPDX-License-Identifier: GPL-2.0
/*
 * All processors update one key of a histogram, a process each, between marks for
 * lines_plugin.c, which runs outside of the guest. The phases are those of triggers.
 */

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define LOOPS 2000
/* So that the key and all memory exist. */
#define LOOPS_BEFORE 200
/* In each phase, see write_phases(). */
#define BARRIERS 4

/* The first is without a histogram. */
static const char *const triggers[] = {
	"",
	"hist:keys=k",
	"hist:keys=k:size=4096",
	"hist:keys=k:size=8192",
	"hist:keys=k.log2",
	"hist:keys=k,a",
	"hist:keys=k:vals=b",
};

#define PHASES (sizeof(triggers) / sizeof(*triggers))

static pthread_barrier_t *barrier;

static uint32_t same_key(unsigned int i)
{
	(void)i;
	return 1;
}

/* Instructions without effect. */
static void mark_begin(void)
{
#ifdef __x86_64__
	asm volatile("xchg %%bx, %%bx" ::: "memory");
#endif
}

static void mark_end(void)
{
#ifdef __x86_64__
	asm volatile("xchg %%cx, %%cx" ::: "memory");
#endif
}

/* A file of its own: the count of references to a shared one would be written to. */
static _Noreturn void write_phases(int number)
{
	cpu_set_t cpu;
	size_t i;
	int fd;

	CPU_ZERO(&cpu);
	CPU_SET(number, &cpu);
	if (sched_setaffinity(0, sizeof(cpu), &cpu))
		die("there is no processor %d", number);
	fd = hist_join();
	pthread_barrier_wait(barrier);
	for (i = 0; i < PHASES; i++) {
		pthread_barrier_wait(barrier);
		/* One claims the key: if all did at once, C would not always count all hits. */
		if (!number)
			hist_write(fd, 1, same_key);
		pthread_barrier_wait(barrier);
		hist_write(fd, LOOPS_BEFORE, same_key);
		pthread_barrier_wait(barrier);
		mark_begin();
		hist_write(fd, LOOPS, same_key);
		mark_end();
		pthread_barrier_wait(barrier);
	}
	exit(EXIT_SUCCESS);
}

static void run_phase(const char *trigger, int processes)
{
	char remove[64], *text;
	int i;

	if (*trigger)
		write_file(HIST_TRIGGER, trigger);
	pause_before();
	for (i = 0; i < BARRIERS; i++)
		pthread_barrier_wait(barrier);
	if (!*trigger)
		return;
	text = read_file(EVENT_DIR HIST_EVENT "/hist");
	if (number_after(text, "Hits: ") != (uint64_t)processes * (LOOPS + LOOPS_BEFORE) + 1 ||
	    number_after(text, "Dropped: ") || number_after(text, "Entries: ") != 1)
		die("the histogram \"%s\" does not have all hits", trigger);
	free(text);
	snprintf(remove, sizeof(remove), "!%s", trigger);
	write_file(HIST_TRIGGER, remove);
}

void bench_lines(void)
{
	int processes = sysconf(_SC_NPROCESSORS_ONLN), i, status;
	pthread_barrierattr_t shared;

	barrier = mmap(NULL, sizeof(*barrier), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (barrier == MAP_FAILED)
		die("out of memory");
	pthread_barrierattr_init(&shared);
	pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(barrier, &shared, processes + 1);
	wait_for_no_events();
	for (i = 0; i < processes; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("cannot fork");
		if (!pid)
			write_phases(i);
	}
	pthread_barrier_wait(barrier);
	write_file(EVENT_DIR HIST_EVENT "/enable", "1");
	for (i = 0; i < (int)PHASES; i++)
		run_phase(triggers[i], processes);
	for (i = 0; i < processes; i++) {
		if (wait(&status) < 0 || status)
			die("a process failed");
	}
	for (i = 0; i < (int)PHASES; i++)
		printf("%d\t%d\t%s\n", i, LOOPS, triggers[i]);
	write_file(EVENT_DIR HIST_EVENT "/enable", "0");
	write_file(TRACEFS "trace", "");
}
