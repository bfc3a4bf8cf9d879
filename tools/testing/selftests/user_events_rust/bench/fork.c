// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of events for processes that do not write them: fork() of a process
 * that has many, and the toggling of one event while many processes have it.
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/uio.h>
#include <sys/wait.h>

#include "bench.h"

/* Each of them registered at two addresses: 4,000 enablers. */
#define EVENTS 2000
#define FORKS 15
#define CHILDREN 50
#define TOGGLES 5
#define TOGGLED "bench_1000"

/* One event at many addresses in each of a few processes. */
#define BITS 30000
#define BITS_CHILDREN 7

static uint32_t *words[2];

static void register_all(struct many *many)
{
	int i;

	many_init(many, EVENTS);
	for (i = 0; i < 2; i++) {
		words[i] = many_words(many);
		many_register(many, words[i], 0, EVENTS);
	}
}

static void measure_forks(double *values)
{
	double forked[FORKS], whole[FORKS];

	time_forks(forked, whole, FORKS);
	values[0] = median(forked, FORKS);
	values[1] = median(whole, FORKS);
}

/* The same pages, and no event. */
static void measure_fork_0(double *values)
{
	struct many many;

	many_init(&many, EVENTS);
	words[0] = many_words(&many);
	words[1] = many_words(&many);
	measure_forks(values);
}

static void measure_fork(double *values)
{
	struct many many;

	register_all(&many);
	measure_forks(values);
}

/*
 * Creates this process's own writable copy of enable words, which it shares
 * with parents and children after fork(). The kernel writes to such a page at
 * once, and to others later.
 */
static void touch(uint32_t *from, int count)
{
	int i;

	for (i = 0; i < count; i++)
		__atomic_fetch_or(&from[i], 0, __ATOMIC_RELAXED);
}

static void touch_words(void *unused)
{
	(void)unused;
	touch(words[0], EVENTS);
	touch(words[1], EVENTS);
}

static bool enabled_in(pid_t pid, uint32_t *word)
{
	struct iovec remote = { word, sizeof(*word) };
	uint32_t value;
	struct iovec local = { &value, sizeof(value) };

	if (process_vm_readv(pid, &local, 1, &remote, 1, 0) != sizeof(value))
		die("cannot read an enable word");
	return event_is_enabled(&value);
}

static void time_toggles(double *values, const pid_t *children, int count)
{
	double times[2][TOGGLES];
	int fd, i, on, child;

	fd = open(EVENT_DIR TOGGLED "/enable", O_WRONLY);
	if (fd < 0)
		die("cannot open an enable file");
	/* The first pair sets up buffers. */
	for (i = -1; i < TOGGLES; i++) {
		for (on = 1; on >= 0; on--) {
			double time = time_switch(fd, on);

			if (i >= 0)
				times[on][i] = time;
			for (child = 0; child < 2 * count; child++) {
				uint32_t *word = &words[child & 1][1000];

				if (enabled_in(children[child / 2], word) != on)
					die("an enable bit is not %d", on);
			}
		}
	}
	close(fd);
	values[0] = (median(times[0], TOGGLES) + median(times[1], TOGGLES)) / 2;
}

static void kill_all(const pid_t *processes, int count)
{
	int i;

	for (i = 0; i < count; i++) {
		kill(processes[i], SIGKILL);
		waitpid(processes[i], NULL, 0);
	}
}

/* One event, one process, one address. */
static void measure_toggle_1(double *values)
{
	struct many many;
	pid_t self = getpid();

	many_init(&many, EVENTS);
	words[0] = words[1] = many_words(&many);
	many_register(&many, words[0], 1000, 1001);
	time_toggles(values, &self, 1);
}

/* With a bit less than the parent, a process has a set of bits of its own. */
static void get_own_bits(void *many)
{
	event_unregister(((struct many *)many)->fd, &words[0][0]);
	touch(words[0], BITS);
}

static void measure_toggle_bits(double *values)
{
	pid_t processes[BITS_CHILDREN + 1];
	struct many many;
	int i;

	many_init(&many, BITS);
	words[0] = words[1] = many_words(&many);
	for (i = 0; i < BITS; i++)
		event_register(many.fd, many.commands[1000], &words[0][i]);
	for (i = 0; i < BITS_CHILDREN; i++)
		processes[i] = start_process(get_own_bits, &many);
	processes[BITS_CHILDREN] = getpid();
	touch(words[0], BITS);
	time_toggles(values, processes, BITS_CHILDREN + 1);
	kill_all(processes, BITS_CHILDREN);
}

static void measure_toggle(double *values)
{
	pid_t processes[CHILDREN + 1];
	struct many many;
	int i;

	register_all(&many);
	for (i = 0; i < CHILDREN; i++)
		processes[i] = start_process(touch_words, NULL);
	processes[CHILDREN] = getpid();
	touch_words(NULL);
	time_toggles(values, processes, CHILDREN + 1);
	kill_all(processes, CHILDREN);
}

void bench_fork(void)
{
	static const char *const fork_0[] = { "fork_0", "fork_exit_wait_0", NULL };
	static const char *const fork_4000[] = { "fork_4000", "fork_exit_wait_4000", NULL };
	static const char *const toggle_1[] = { "toggle_1x1", NULL };
	static const char *const toggle_50[] = { "toggle_50x4000", NULL };
	static const char *const toggle_bits[] = { "toggle_8x30000", NULL };
	int times = quick ? 1 : 3;

	measure_alone(measure_fork_0, times, fork_0, "ns");
	measure_alone(measure_fork, times, fork_4000, "ns");
	measure_alone(measure_toggle_1, times, toggle_1, "ns");
	measure_alone(measure_toggle, 1, toggle_50, "ns");
	measure_alone(measure_toggle_bits, 1, toggle_bits, "ns");
}
