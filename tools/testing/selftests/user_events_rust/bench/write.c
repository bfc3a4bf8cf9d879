// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of one record: system calls to compare with, and writes of an event
 * that ftrace or perf records.
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/perf_event.h>
#include <linux/user_events.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "bench.h"

#define EVENT "bench_write"
#define LOOPS 20000
#define REPETITIONS 5
/* Enough to fill the ring buffer once. */
#define WARM_UP 60000
#define PERF_PAGES 64

static void count_ppid(int fd, struct iovec *parts)
{
	(void)fd;
	(void)parts;
	syscall(__NR_getppid);
}

static void write_parts(int fd, struct iovec *parts)
{
	ssize_t size = parts[0].iov_len + parts[1].iov_len;

	if (writev(fd, parts, 2) != size)
		die("a write of %zd bytes failed", size);
}

/* All in one buffer. */
static void write_one(int fd, struct iovec *parts)
{
	if (write(fd, parts[0].iov_base, parts[0].iov_len) != (ssize_t)parts[0].iov_len)
		die("a write of %zu bytes failed", parts[0].iov_len);
}

static void loop(void (*once)(int fd, struct iovec *parts), int fd, struct iovec *parts, int count)
{
	while (count--)
		once(fd, parts);
}

/* The median of the mean times. */
static void time_loops(const char *metric, void (*once)(int fd, struct iovec *parts),
		       int fd, struct iovec *parts)
{
	double values[REPETITIONS], start;
	int i;

	for (i = 0; i < REPETITIONS; i++) {
		start = now_ns();
		loop(once, fd, parts, LOOPS);
		values[i] = (now_ns() - start) / LOOPS;
	}
	report(metric, median(values, REPETITIONS), "ns");
}

/* The payload of a record, after the index. */
struct payload {
	const char *fields;
	const char *suffix;
	void *data;
	size_t size;
};

static uint32_t word;

static void set_up(const struct payload *payload, struct iovec *parts, uint32_t *index, int *fd)
{
	char command[128];

	wait_for_no_events();
	*fd = open_data();
	snprintf(command, sizeof(command), EVENT " %s", payload->fields);
	*index = event_register(*fd, command, &word);
	parts[0] = (struct iovec) { index, sizeof(*index) };
	parts[1] = (struct iovec) { payload->data, payload->size };
}

static void take_down(int fd)
{
	if (event_is_enabled(&word))
		die("the enable bit is still set");
	event_unregister(fd, &word);
	close(fd);
}

/* Index and payload in two buffers, as most clients have them, or in one. */
static void bench_ftrace(const struct payload *payload, bool in_one)
{
	void (*once)(int fd, struct iovec *parts) = in_one ? write_one : write_parts;
	char whole[64];
	unsigned long long before, taken;
	struct iovec parts[2];
	char metric[64];
	uint32_t index;
	int fd;

	set_up(payload, parts, &index, &fd);
	write_file(EVENT_DIR EVENT "/enable", "1");
	if (!event_is_enabled(&word))
		die("ftrace enabled the event, but its bit is not set");

	if (in_one) {
		memcpy(whole, &index, sizeof(index));
		memcpy(whole + sizeof(index), payload->data, payload->size);
		parts[0] = (struct iovec) { whole, sizeof(index) + payload->size };
	}
	loop(once, fd, parts, WARM_UP);
	before = records_taken();
	snprintf(metric, sizeof(metric), "write_ftrace%s%s", payload->suffix, in_one ? "_one" : "");
	time_loops(metric, once, fd, parts);
	taken = records_taken() - before;
	if (taken != LOOPS * REPETITIONS)
		die("ftrace took %llu of %d records", taken, LOOPS * REPETITIONS);

	write_file(EVENT_DIR EVENT "/enable", "0");
	take_down(fd);
	write_file(TRACEFS "trace", "");
}

/* The event as perf record sees it: each record, with its bytes, in a ring buffer. */
static int perf_open(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.sample_type = PERF_SAMPLE_RAW | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_period = 1,
	};
	char *id = read_file(EVENT_DIR EVENT "/id");
	int fd;

	attr.config = strtoul(id, NULL, 10);
	free(id);
	fd = syscall(__NR_perf_event_open, &attr, 0, -1, -1, 0);
	if (fd < 0)
		die("perf_event_open failed");
	return fd;
}

static void bench_perf(const struct payload *payload)
{
	size_t page = sysconf(_SC_PAGESIZE), size = (PERF_PAGES + 1) * page;
	struct perf_event_mmap_page *head;
	struct iovec parts[2];
	char metric[64];
	uint64_t before;
	uint32_t index;
	int fd, perf;

	set_up(payload, parts, &index, &fd);
	perf = perf_open();
	/* Not writable, so the kernel overwrites old records and never runs out of room. */
	head = mmap(NULL, size, PROT_READ, MAP_SHARED, perf, 0);
	if (head == MAP_FAILED)
		die("cannot map the ring buffer of perf");
	if (!event_is_enabled(&word))
		die("perf enabled the event, but its bit is not set");

	loop(write_parts, fd, parts, WARM_UP / 10);
	before = head->data_head;
	snprintf(metric, sizeof(metric), "write_perf%s", payload->suffix);
	time_loops(metric, write_parts, fd, parts);
	if (head->data_head - before < (uint64_t)LOOPS * REPETITIONS * payload->size)
		die("perf lost records");

	munmap(head, size);
	close(perf);
	take_down(fd);
}

static void bench_floor(void)
{
	uint32_t two[2] = { 0, 0 };
	struct iovec parts[] = { { &two[0], 4 }, { &two[1], 4 } };
	uint32_t marker[5] = { 1 };
	struct iovec whole = { marker, sizeof(marker) };
	int fd;

	time_loops("syscall_floor", count_ppid, -1, NULL);

	fd = open("/dev/null", O_WRONLY);
	if (fd < 0)
		die("cannot open /dev/null");
	time_loops("writev_devnull", write_parts, fd, parts);
	time_loops("write_devnull", write_one, fd, &whole);
	close(fd);

	fd = open(TRACEFS "trace_marker_raw", O_WRONLY);
	if (fd < 0)
		die("cannot open " TRACEFS "trace_marker_raw");
	loop(write_one, fd, &whole, WARM_UP);
	time_loops("trace_marker_raw", write_one, fd, &whole);
	close(fd);
	write_file(TRACEFS "trace", "");
}

void bench_write(void)
{
	struct {
		uint32_t k, a;
		uint64_t b;
	} numbers = { 1, 2, 3 };
	struct {
		uint32_t k, s;
		char text[24];
	} string = { .k = 1, .text = "a text of 23 characters" };
	struct payload plain = { "u32 k;u32 a;u64 b", "", &numbers, sizeof(numbers) };
	struct payload dynamic = { "u32 k;__data_loc char[] s", "_string", &string, sizeof(string) };

	string.s = DYN_LOC(RECORD_HEADER + 8, sizeof(string.text));

	bench_floor();
	bench_ftrace(&plain, false);
	bench_ftrace(&plain, true);
	bench_ftrace(&dynamic, false);
	bench_perf(&plain);
	bench_perf(&dynamic);
	bench_batch();
}
