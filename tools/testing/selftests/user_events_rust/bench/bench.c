// SPDX-License-Identifier: GPL-2.0
/*
 * A benchmark of user_events and of hist triggers on them.
 *
 * Prints one line for each metric: its name, its value and the unit. scripts/bench
 * runs it on both implementations and compares; it runs on any kernel with
 * user_events, as root, when nothing else uses them.
 *
 * Times are of CLOCK_MONOTONIC. Where the guest's clock counts instructions
 * (scripts/vm --icount) they are the same from run to run.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

bool quick;

static const struct {
	const char *name;
	void (*run)(void);
} groups[] = {
	{ "write", bench_write },
	{ "register", bench_register },
	{ "fork", bench_fork },
	{ "processes", bench_processes },
	{ "memory", bench_memory },
	{ "hist", bench_hist },
	{ "parallel", bench_parallel },
	{ "lines", bench_lines },
};

#define GROUPS (sizeof(groups) / sizeof(*groups))

static void show_usage(void)
{
	size_t i;

	fputs("Usage: user_events_bench [-q] GROUP...\n  -q  fewer sizes and repetitions\nGroups:", stderr);
	for (i = 0; i < GROUPS; i++)
		fprintf(stderr, " %s", groups[i].name);
	fputc('\n', stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	size_t i;
	int opt;

	while ((opt = getopt(argc, argv, "q")) != -1) {
		if (opt != 'q')
			show_usage();
		quick = true;
	}
	if (optind == argc)
		show_usage();

	write_file(TRACEFS "current_tracer", "nop");
	write_file(TRACEFS "tracing_on", "1");
	/* Events have 65535 numbers, the kernel's own included. */
	write_file("/proc/sys/kernel/user_events_max", "60000");

	for (; optind < argc; optind++) {
		for (i = 0; i < GROUPS; i++) {
			if (!strcmp(argv[optind], groups[i].name))
				break;
		}
		if (i == GROUPS)
			show_usage();
		groups[i].run();
	}
	return EXIT_SUCCESS;
}
