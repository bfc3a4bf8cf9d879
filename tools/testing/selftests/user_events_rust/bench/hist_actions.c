// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of variables and actions of histograms: a synthetic event generated
 * from two records, and the latency of wakeups as the kernel's documentation
 * measures it.
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/uio.h>
#include <sys/wait.h>

#include "bench.h"

#define LOOPS 10000
#define ROUNDS 5000

static uint32_t words[2], index_of[2];

struct record {
	uint32_t key;
	uint64_t when;
} __attribute__((packed));

/* The number of keys, or 0: each pair has one of its own. */
static unsigned int keys;
static uint32_t next_key;

/* A record of the first event and one of the second, each with the same key. */
static double write_pairs(int fd, unsigned int count)
{
	struct record record = { 0, 1000 };
	struct iovec parts[2][2] = {
		{ { &index_of[0], 4 }, { &record, sizeof(record) } },
		{ { &index_of[1], 4 }, { &record, sizeof(record) } },
	};
	double start = now_ns();
	unsigned int i;

	for (i = 0; i < count; i++) {
		record.key = keys ? i % keys : next_key++;
		record.when += 3;
		if (writev(fd, parts[0], 2) != 4 + sizeof(record) || writev(fd, parts[1], 2) != 4 + sizeof(record))
			die("a write failed");
	}
	return (now_ns() - start) / count;
}

static double settled_pairs(int fd)
{
	double values[3];
	int i;

	write_pairs(fd, LOOPS);
	for (i = 0; i < 3; i++)
		values[i] = write_pairs(fd, LOOPS);
	return median(values, 3);
}

static unsigned long long hits(const char *path)
{
	char *text = read_file(path);
	unsigned long long n = number_after(text, "Hits: ");

	free(text);
	return n;
}

/* @clause is added to both histograms. */
static void onmatch_trace(const char *name, unsigned int n_keys, const char *clause)
{
	char first[128], second[256], remove[260];
	double without;
	int fd;

	snprintf(first, sizeof(first), "hist:keys=key:x1=when%s", clause);
	snprintf(second, sizeof(second),
		 "hist:keys=key:lat=when-$x1:onmatch(user_events.bench_first).trace(bench_syn,$lat,key)%s", clause);
	keys = n_keys;
	wait_for_no_events();
	fd = open_data();
	index_of[0] = event_register(fd, "bench_first u32 key;u64 when", &words[0]);
	index_of[1] = event_register(fd, "bench_second u32 key;u64 when", &words[1]);
	write_file(TRACEFS "synthetic_events", "bench_syn u64 lat; u32 key");
	write_file(EVENT_DIR "bench_first/enable", "1");
	write_file(EVENT_DIR "bench_second/enable", "1");
	write_file(TRACEFS "events/synthetic/bench_syn/enable", "1");
	without = settled_pairs(fd);
	write_file(EVENT_DIR "bench_first/trigger", first);
	write_file(EVENT_DIR "bench_second/trigger", second);
	report(name, settled_pairs(fd) - without, "ns");
	if (hits(EVENT_DIR "bench_second/hist") != 4 * LOOPS)
		die("not every second record had a first one");
	snprintf(remove, sizeof(remove), "!%s", second);
	write_file(EVENT_DIR "bench_second/trigger", remove);
	snprintf(remove, sizeof(remove), "!%s", first);
	write_file(EVENT_DIR "bench_first/trigger", remove);
	write_file(TRACEFS "events/synthetic/bench_syn/enable", "0");
	write_file(EVENT_DIR "bench_first/enable", "0");
	write_file(EVENT_DIR "bench_second/enable", "0");
	write_file(TRACEFS "synthetic_events", "");
	event_unregister(fd, &words[0]);
	event_unregister(fd, &words[1]);
	close(fd);
	write_file(TRACEFS "trace", "");
}

/* One byte there and back between two processes; the mean time of that. */
static double ping_pong(int to, int from)
{
	double start = now_ns();
	char byte = 0;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		if (write(to, &byte, 1) != 1 || read(from, &byte, 1) != 1)
			die("the other process is gone");
	}
	return (now_ns() - start) / ROUNDS;
}

static double settled_ping_pong(int to, int from)
{
	double values[5];
	int i;

	ping_pong(to, from);
	for (i = 0; i < 5; i++)
		values[i] = ping_pong(to, from);
	return median(values, 5);
}

static void wakeup_recipe(void)
{
	static const char waking[] = "hist:keys=pid:ts0=common_timestamp.usecs";
	static const char switched[] = "hist:keys=next_pid:wakeup_lat=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).trace(wakeup_latency,$wakeup_lat,next_pid,next_comm)";
	int there[2], back[2];
	char remove[256], byte;
	double without;
	pid_t pid;

	if (pipe(there) || pipe(back))
		die("cannot make a pipe");
	pid = fork();
	if (pid < 0)
		die("cannot fork");
	if (!pid) {
		close(there[1]);
		while (read(there[0], &byte, 1) == 1) {
			if (write(back[1], &byte, 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	write_file(TRACEFS "synthetic_events", "wakeup_latency u64 lat; pid_t pid; char comm[16]");
	write_file(TRACEFS "events/synthetic/wakeup_latency/enable", "1");
	without = settled_ping_pong(there[1], back[0]);
	write_file(TRACEFS "events/sched/sched_waking/trigger", waking);
	write_file(TRACEFS "events/sched/sched_switch/trigger", switched);
	report("hist_wakeup_recipe", settled_ping_pong(there[1], back[0]) - without, "ns");
	if (hits(TRACEFS "events/sched/sched_switch/hist") < 6 * ROUNDS)
		die("too few switches were matched");
	snprintf(remove, sizeof(remove), "!%s", switched);
	write_file(TRACEFS "events/sched/sched_switch/trigger", remove);
	snprintf(remove, sizeof(remove), "!%s", waking);
	write_file(TRACEFS "events/sched/sched_waking/trigger", remove);
	write_file(TRACEFS "events/synthetic/wakeup_latency/enable", "0");
	write_file(TRACEFS "synthetic_events", "");
	close(there[1]);
	waitpid(pid, NULL, 0);
	write_file(TRACEFS "trace", "");
}

void hist_actions(void)
{
	onmatch_trace("hist_onmatch_trace", 500, "");
	onmatch_trace("hist_onmatch_new", 0, ":size=131072");
	if (hist_is_beyond()) {
		onmatch_trace("hist_reuse_trace", 500, ":reuse");
		onmatch_trace("hist_reuse_new", 0, ":reuse");
	}
	wakeup_recipe();
}
