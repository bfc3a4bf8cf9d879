// SPDX-License-Identifier: GPL-2.0
/*
 * What hist triggers cost: the time that one adds to the write of a record, and
 * making, reading and removing a large one.
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/uio.h>

#include "bench.h"

#define EVENT "bench_hist"
#define TRIGGER EVENT_DIR EVENT "/trigger"
#define LOOPS 20000
#define ENTRIES 100000

static uint32_t word, event_index;
static int fd;

/* Records with @keys different keys; the mean time of one. */
static double write_records(unsigned int count, unsigned int keys)
{
	struct {
		uint32_t k, a;
		uint64_t b;
	} record = { 0, 7, 100 };
	struct iovec parts[] = {
		{ &event_index, sizeof(event_index) },
		{ &record, sizeof(record) },
	};
	double start = now_ns();
	unsigned int i;

	for (i = 0; i < count; i++) {
		record.k = record.k + 1 < keys ? record.k + 1 : 0;
		if (writev(fd, parts, 2) != 20)
			die("a write failed");
	}
	return (now_ns() - start) / count;
}

static double settled_write(unsigned int keys)
{
	double values[3];
	int i;

	write_records(LOOPS, keys);
	for (i = 0; i < 3; i++)
		values[i] = write_records(LOOPS, keys);
	return median(values, 3);
}

static double time_trigger(const char *text)
{
	double start = now_ns();

	write_file(TRIGGER, text);
	return now_ns() - start;
}

static void update(const char *metric, const char *trigger, unsigned int keys)
{
	char remove[128];
	double without, with;
	char *text;

	without = settled_write(keys);
	write_file(TRIGGER, trigger);
	with = settled_write(keys);
	text = read_file(EVENT_DIR EVENT "/hist");
	if (number_after(text, "Hits: ") != 4 * LOOPS || number_after(text, "Dropped: "))
		die("the histogram \"%s\" does not have all hits", trigger);
	free(text);
	snprintf(remove, sizeof(remove), "!%s", trigger);
	write_file(TRIGGER, remove);
	report(metric, with - without, "ns");
}

static void update_large(void)
{
	char buffer[65536], tail[256] = "";
	double create, start, reading;
	ssize_t got;
	int file;

	create = time_trigger("hist:keys=k:size=131072");
	report("hist_create_128k", create, "ns");
	write_records(ENTRIES, ENTRIES);

	start = now_ns();
	file = open(EVENT_DIR EVENT "/hist", O_RDONLY);
	if (file < 0)
		die("cannot open a hist file");
	while ((got = read(file, buffer, sizeof(buffer) - 1)) > 0) {
		size_t keep = got < 255 ? got : 255;

		memcpy(tail, buffer + got - keep, keep);
		tail[keep] = '\0';
	}
	close(file);
	reading = now_ns() - start;
	if (got < 0 || number_after(tail, "Entries: ") != ENTRIES)
		die("the large histogram is not complete");
	report("hist_read_100k", reading, "ns");
	report("hist_destroy_128k", time_trigger("!hist:keys=k:size=131072"), "ns");
}

void bench_hist(void)
{
	wait_for_no_events();
	fd = open_data();
	event_index = event_register(fd, EVENT " u32 k;u32 a;u64 b", &word);
	write_file(EVENT_DIR EVENT "/enable", "1");
	write_records(3 * LOOPS, 1);

	update("hist_update_u32", "hist:keys=k", 1000);
	update("hist_update_u32_hot", "hist:keys=k", 1);
	update("hist_update_2key_2val", "hist:keys=k,a:vals=b,hitcount", 1000);
	update("hist_update_var_expr", "hist:keys=k:ts=common_timestamp.usecs,x=a+b*2", 1000);
	update("hist_update_comm", "hist:keys=common_comm", 1);
	update("hist_update_stack", "hist:keys=common_stacktrace", 1);
	if (!quick)
		update_large();

	write_file(EVENT_DIR EVENT "/enable", "0");
	event_unregister(fd, &word);
	close(fd);
	write_file(TRACEFS "trace", "");
}
