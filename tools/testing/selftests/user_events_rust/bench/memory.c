// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of events in kernel memory: the objects of all slab caches, at the
 * size that the cache allocates, allocations too large for those, per-CPU and
 * vmalloc memory.
 */

#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/wait.h>

#include "bench.h"

/*
 * The reading itself moves some dozens of objects between the caches, which is
 * less than 1 % of this many.
 */
#define WARM_UP 1000
#define EVENTS 9000
#define CHILDREN 20

/*
 * Frees what the kernel still holds but does not use: what RCU frees later (up
 * to some seconds) and what the caches keep ready for each CPU.
 */
void settle(void)
{
	glob_t found;
	size_t i;

	sleep(8);
	if (glob("/sys/kernel/slab/*/shrink", 0, NULL, &found))
		return;
	for (i = 0; i < found.gl_pathc; i++)
		write_file(found.gl_pathv[i], "1");
	globfree(&found);
}

static double kernel_memory(void)
{
	unsigned long active, total, object, per_slab, pages, active_slabs, slabs;
	double page = sysconf(_SC_PAGESIZE), objects = 0, in_slabs = 0, kib;
	char *text, *line, *state;

	settle();
	text = read_file("/proc/slabinfo");
	for (line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		if (sscanf(line, "%*s %lu %lu %lu %lu %lu : tunables %*u %*u %*u : slabdata %lu %lu",
			   &active, &total, &object, &per_slab, &pages, &active_slabs, &slabs) != 7)
			continue;
		objects += (double)active * object;
		in_slabs += slabs * pages * page;
	}
	free(text);
	if (!objects)
		die("/proc/slabinfo has another format than expected");

	text = read_file("/proc/meminfo");
	kib = number_after(text, "\nSlab:") + number_after(text, "\nPercpu:") +
	      number_after(text, "\nVmallocUsed:");
	free(text);
	/* The Slab line has the large allocations too. */
	return objects + kib * 1024 - in_slabs;
}

static pid_t start_child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die("cannot fork");
	if (!pid) {
		for (;;)
			pause();
	}
	return pid;
}

/* The memory of a child that does nothing, in the kernel. */
static double child_memory(void)
{
	pid_t children[CHILDREN];
	double before = kernel_memory(), after;
	int i;

	for (i = 0; i < CHILDREN; i++)
		children[i] = start_child();
	after = kernel_memory();
	for (i = 0; i < CHILDREN; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
	return (after - before) / CHILDREN;
}

static void measure_memory(double *values)
{
	double none, events, twice, child;
	uint32_t *first, *second;
	struct many many;

	many_init(&many, WARM_UP + EVENTS);
	first = many_words(&many);
	second = many_words(&many);
	/* The first time, files are looked up and caches filled. */
	child_memory();
	child = child_memory();

	many_register(&many, first, 0, WARM_UP);
	many_register(&many, second, 0, WARM_UP);
	kernel_memory();
	none = kernel_memory();
	many_register(&many, first, WARM_UP, many.count);
	events = kernel_memory();
	many_register(&many, second, WARM_UP, many.count);
	twice = kernel_memory();

	values[0] = (events - none) / EVENTS - (twice - events) / EVENTS;
	values[1] = (twice - events) / EVENTS;
	values[2] = child_memory() - child;
}

void bench_memory(void)
{
	static const char *const metrics[] = { "mem_event", "mem_enabler", "mem_fork_20000", NULL };

	measure_alone(measure_memory, 1, metrics, "bytes");
}
