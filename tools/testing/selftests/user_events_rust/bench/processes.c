// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of one process while many others have the same events: each of them
 * has registered all of the events itself.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define EVENTS 100
#define EXITS 9
#define FORKS 9
#define TOGGLES 3
#define TOGGLED 50

static unsigned int processes;
static const uint32_t *word_of_toggled;

/* Measurements of a process, in memory that it shares with its parent. */
static struct {
	double register_one, unregister_one;
	double forks[FORKS];
} *shared;

/*
 * Registers the events that it has at two more addresses, and removes those of one
 * of them.
 */
static void register_and_measure(struct many *many)
{
	uint32_t *first = many_words(many), *second = many_words(many);
	double start;
	unsigned int i;

	many_register(many, first, 0, EVENTS);
	start = now_ns();
	many_register(many, second, 0, EVENTS);
	shared->register_one = (now_ns() - start) / EVENTS;

	start = now_ns();
	for (i = 0; i < EVENTS; i++)
		event_unregister(many->fd, &second[i]);
	shared->unregister_one = (now_ns() - start) / EVENTS;
	time_forks(shared->forks, NULL, FORKS);
}

/* Without events, with them, and with them and more, which it measures. */
enum kind { WITHOUT, WITH, MEASURED };

struct plan {
	struct many *many;
	uint32_t *words;
	enum kind kind;
};

static void prepare(void *data)
{
	struct plan *plan = data;
	struct many *many = plan->many;

	close(many->fd);
	many->fd = open_data();
	if (plan->kind != WITHOUT)
		many_register(many, plan->words, 0, EVENTS);
	else
		memset(plan->words, 0, EVENTS * sizeof(*plan->words));
	if (plan->kind == MEASURED)
		register_and_measure(many);
}

static pid_t start(struct many *many, uint32_t *words, enum kind kind)
{
	struct plan plan = { many, words, kind };

	return start_process(prepare, &plan);
}

/* From the signal until the parent knows that the process has exited. */
static double time_exit(pid_t pid)
{
	double start;

	pause_before();
	start = now_ns();
	kill(pid, SIGKILL);
	if (waitpid(pid, NULL, 0) != pid)
		die("cannot wait for a process");
	return now_ns() - start;
}

static double time_exits(struct many *many, uint32_t *words, enum kind kind)
{
	double times[EXITS];
	int i;

	for (i = 0; i < EXITS; i++)
		times[i] = time_exit(start(many, words, kind));
	return median(times, EXITS);
}

static double time_toggles(void)
{
	int fd = open(EVENT_DIR "bench_50/enable", O_WRONLY), i;
	double times[2 * TOGGLES], time;

	if (fd < 0)
		die("cannot open an enable file");
	/* The first pair sets up buffers. */
	for (i = -2; i < 2 * TOGGLES; i++) {
		time = time_switch(fd, !(i & 1));
		if (i >= 0)
			times[i] = time;
		if (event_is_enabled(word_of_toggled) == (i & 1))
			die("an enable bit is not %d", !(i & 1));
	}
	close(fd);
	return median(times, 2 * TOGGLES);
}

static void measure(double *values)
{
	pid_t *pids = malloc((processes + 1) * sizeof(*pids));
	uint32_t *words, *own;
	struct many many;
	unsigned int i;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!pids || shared == MAP_FAILED)
		die("out of memory");
	many_init(&many, EVENTS);
	words = many_words(&many);
	own = many_words(&many);
	values[5] = time_exits(&many, words, WITHOUT);

	for (i = 0; i < processes; i++)
		pids[i] = start(&many, words, WITH);
	values[0] = time_exits(&many, words, WITH);
	time_exit(start(&many, words, MEASURED));
	values[1] = shared->register_one;
	values[2] = shared->unregister_one;
	values[3] = median(shared->forks, FORKS);

	many_register(&many, own, 0, EVENTS);
	word_of_toggled = &own[TOGGLED];
	values[4] = time_toggles();
	for (i = 0; i < processes; i++)
		kill(pids[i], SIGKILL);
	for (i = 0; i < processes; i++)
		waitpid(pids[i], NULL, 0);
}

void bench_processes(void)
{
	static const unsigned int sizes[] = { 125, 1000, 4000, 10000 };
	static const char *const names[] = { "exit", "register", "unregister", "fork", "toggle", "exit_0" };
	const size_t count = sizeof(names) / sizeof(*names);
	char text[sizeof(names) / sizeof(*names)][64];
	const char *metrics[sizeof(names) / sizeof(*names) + 1] = {};
	size_t i, j;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		processes = sizes[i];
		if (quick && processes > 1000)
			continue;
		for (j = 0; j < count; j++) {
			snprintf(text[j], sizeof(text[j]), "processes_%s@%u", names[j], processes);
			metrics[j] = text[j];
		}
		/* The reference is the same with any number of them. */
		if (i)
			metrics[count - 1] = NULL;
		measure_alone(measure, 1, metrics, "ns");
	}
}
