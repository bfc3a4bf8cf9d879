// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of a large histogram: creating, reading and removing it, and its
 * memory.
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define ENTRIES 100000
#define ELEMENTS 131072

static double time_trigger(const char *text)
{
	double start = now_ns();

	write_file(HIST_TRIGGER, text);
	return now_ns() - start;
}

static uint32_t each(unsigned int i)
{
	return i;
}

/* The rows of a file, read as fast as it can be. */
static double time_raw(void)
{
	char buffer[65536];
	unsigned int lines = 0;
	double start = now_ns(), counting = 0;
	ssize_t got;
	int file;

	file = open(EVENT_DIR HIST_EVENT "/hist_raw", O_RDONLY);
	if (file < 0)
		die("cannot open a hist_raw file");
	while ((got = read(file, buffer, sizeof(buffer))) > 0) {
		double before = now_ns();

		for (ssize_t i = 0; i < got; i++)
			lines += buffer[i] == '\n';
		counting += now_ns() - before;
	}
	close(file);
	start = now_ns() - start - counting;
	/* The first one has the names. */
	if (got < 0 || lines != ENTRIES + 1)
		die("the large histogram is not complete");
	return start;
}

static double time_reading(void)
{
	char buffer[65536], tail[256] = "";
	double start = now_ns(), time;
	ssize_t got;
	int file;

	file = open(EVENT_DIR HIST_EVENT "/hist", O_RDONLY);
	if (file < 0)
		die("cannot open a hist file");
	while ((got = read(file, buffer, sizeof(buffer) - 1)) > 0) {
		size_t keep = got < 255 ? got : 255;

		memcpy(tail, buffer + got - keep, keep);
		tail[keep] = '\0';
	}
	close(file);
	time = now_ns() - start;
	if (got < 0 || number_after(tail, "Entries: ") != ENTRIES)
		die("the large histogram is not complete");
	return time;
}

/* The free pages that CPUs keep for themselves, which MemFree does not count. */
static double kept_free(void)
{
	char *text = read_file("/proc/zoneinfo"), *at = text;
	double pages = 0;

	while ((at = strstr(at, " count:"))) {
		at += strlen(" count:");
		pages += strtoull(at, NULL, 10);
	}
	free(text);
	return pages * sysconf(_SC_PAGESIZE);
}

/* The memory that is not free, of whatever kind. */
static double used(void)
{
	unsigned long long total, left;
	char *text;

	settle();
	write_file("/proc/sys/vm/drop_caches", "3");
	text = read_file("/proc/meminfo");
	total = number_after(text, "MemTotal:");
	left = number_after(text, "MemFree:");
	free(text);
	return (total - left) * 1024.0 - kept_free();
}

/* As many strings as fit, of the length that messages have. */
static void fill_with_texts(int fd, uint32_t index)
{
	struct {
		uint32_t index, place;
		char text[24];
	} record = { .index = index, .place = sizeof(record.text) << 16 };
	unsigned int i;

	for (i = 0; i < ELEMENTS; i++) {
		snprintf(record.text, sizeof(record.text), "request %08u of one", i);
		if (write(fd, &record, sizeof(record)) != sizeof(record))
			die("a write failed");
	}
}

static void memory_filled(const char *metric, const char *event, const char *trigger,
			  void (*fill)(int fd, uint32_t index), int fd, uint32_t index)
{
	char path[128], remove[128];
	double before, after;

	snprintf(path, sizeof(path), EVENT_DIR "%s/trigger", event);
	before = used();
	write_file(path, trigger);
	if (fill)
		fill(fd, index);
	after = used();
	snprintf(remove, sizeof(remove), "!%s", trigger);
	write_file(path, remove);
	report(metric, (after - before) / ELEMENTS, "bytes");
}

static void memory(const char *metric, const char *event, const char *trigger)
{
	memory_filled(metric, event, trigger, NULL, -1, 0);
}

void hist_sizes(void)
{
	static uint32_t word;
	uint32_t index;
	int fd = hist_set_up();

	write_file(EVENT_DIR HIST_EVENT "/enable", "1");
	report("hist_create_128k", time_trigger("hist:keys=k:size=131072"), "ns");
	hist_write(fd, ENTRIES, each);
	report("hist_read_100k", time_reading(), "ns");
	if (hist_is_beyond())
		report("hist_raw_100k", time_raw(), "ns");
	report("hist_destroy_128k", time_trigger("!hist:keys=k:size=131072"), "ns");
	write_file(EVENT_DIR HIST_EVENT "/enable", "0");

	/* The first time, the kernel fills its caches. */
	used();
	memory("hist_bytes_key", HIST_EVENT, "hist:keys=k:size=131072");
	memory("hist_bytes_variable", HIST_EVENT, "hist:keys=k:x=b:size=131072");
	memory("hist_bytes_string", HIST_EVENT, "hist:keys=common_comm:size=131072");
	memory("hist_bytes_stack", HIST_EVENT, "hist:keys=common_stacktrace:size=131072");
	index = event_register(fd, "bench_text __rel_loc char[] text", &word);
	memory_filled("hist_bytes_text", "bench_text", "hist:keys=text:size=131072",
		      fill_with_texts, fd, index);
	event_unregister(fd, &word);
	hist_take_down(fd);
}
