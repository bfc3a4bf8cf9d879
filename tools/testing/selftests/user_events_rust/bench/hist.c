// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of hist triggers: the time that one adds to the write of a record, and
 * how that grows with what is in it.
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/user_events.h>
#include <sys/uio.h>

#include "bench.h"

#define LOOPS 20000
/* All that fits into a map of the largest size. */
#define LARGE 131072
#define COLLIDING 400

static uint32_t word, event_index;
static uint32_t colliding[COLLIDING];
static unsigned int modulus, base;

int hist_join(void)
{
	int fd = open_data();

	event_index = event_register(fd, HIST_EVENT " u32 k;u32 a;u64 b", &word);
	return fd;
}

int hist_set_up(void)
{
	wait_for_no_events();
	return hist_join();
}

void hist_take_down(int fd)
{
	event_unregister(fd, &word);
	close(fd);
	write_file(TRACEFS "trace", "");
}

double hist_write(int fd, unsigned int count, uint32_t (*key)(unsigned int i))
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
		record.k = key(i);
		if (writev(fd, parts, 2) != 20)
			die("a write failed");
	}
	return (now_ns() - start) / count;
}

static uint32_t small_key(unsigned int i)
{
	return i % modulus;
}

/* The numbers up to @modulus, in an order that follows no line of a cache. */
static uint32_t scattered_key(unsigned int i)
{
	return (uint32_t)((uint64_t)i * 2654435761u % modulus);
}

static uint32_t next_key(unsigned int i)
{
	return base + i;
}

static uint32_t other_key(unsigned int i)
{
	return LARGE + i;
}

static uint32_t colliding_key(unsigned int i)
{
	return colliding[i % COLLIDING];
}

static double settled_write(int fd, uint32_t (*key)(unsigned int i))
{
	double values[3];
	int i;

	hist_write(fd, LOOPS, key);
	for (i = 0; i < 3; i++)
		values[i] = hist_write(fd, LOOPS, key);
	return median(values, 3);
}

bool hist_is_beyond(void)
{
	return !access(TRACEFS "events/sched/sched_switch/hist_raw", F_OK);
}

static void update(int fd, const char *metric, const char *trigger, uint32_t (*key)(unsigned int i))
{
	char remove[128];
	double without, with;
	char *text;

	without = settled_write(fd, key);
	write_file(HIST_TRIGGER, trigger);
	with = settled_write(fd, key);
	text = read_file(EVENT_DIR HIST_EVENT "/hist");
	if (number_after(text, "Hits: ") != 4 * LOOPS || number_after(text, "Dropped: "))
		die("the histogram \"%s\" does not have all hits", trigger);
	free(text);
	snprintf(remove, sizeof(remove), "!%s", trigger);
	write_file(HIST_TRIGGER, remove);
	report(metric, with - without, "ns");
}

#define NAME_EVENT "bench_hist_name"

/* Writes records with a string of 20 bytes, one of 16. */
static double write_names(int fd, uint32_t index, unsigned int count)
{
	struct {
		uint32_t location;
		char name[20];
	} record = { DYN_LOC(RECORD_HEADER + sizeof(record.location), sizeof(record.name)), "a thread's own name" };
	struct iovec parts[] = {
		{ &index, sizeof(index) },
		{ &record, sizeof(record) },
	};
	double start = now_ns();
	unsigned int i;

	for (i = 0; i < count; i++) {
		record.name[0] = 'a' + i % 16;
		if (writev(fd, parts, 2) != sizeof(index) + sizeof(record))
			die("a write failed");
	}
	return (now_ns() - start) / count;
}

/* An update whose key is a string of varying length. */
static void update_string(int fd)
{
	uint32_t index, string_word = 0;
	double values[2][3];
	char *text;
	int i, j;

	index = event_register(fd, NAME_EVENT " __data_loc char[] name", &string_word);
	write_file(EVENT_DIR NAME_EVENT "/enable", "1");
	for (i = 0; i < 2; i++) {
		if (i)
			write_file(EVENT_DIR NAME_EVENT "/trigger", "hist:keys=name");
		write_names(fd, index, LOOPS);
		for (j = 0; j < 3; j++)
			values[i][j] = write_names(fd, index, LOOPS);
	}
	text = read_file(EVENT_DIR NAME_EVENT "/hist");
	if (number_after(text, "Hits: ") != 4 * LOOPS || number_after(text, "Entries: ") != 16)
		die("the histogram of names does not have all hits");
	free(text);
	write_file(EVENT_DIR NAME_EVENT "/trigger", "!hist:keys=name");
	write_file(EVENT_DIR NAME_EVENT "/enable", "0");
	event_unregister(fd, &string_word);
	report("hist_update_string", median(values[1], 3) - median(values[0], 3), "ns");
}

/* An update of an existing key, with so many keys in the largest map. */
static void update_filled(int fd)
{
	static const unsigned int percent[] = { 10, 50, 90, 100 };
	double without;
	char metric[64];
	unsigned int filled = 0;
	size_t i;

	modulus = LARGE;
	without = settled_write(fd, scattered_key);
	write_file(HIST_TRIGGER, "hist:keys=k:size=131072");
	for (i = 0; i < sizeof(percent) / sizeof(*percent); i++) {
		modulus = (unsigned long long)LARGE * percent[i] / 100;
		base = filled;
		hist_write(fd, modulus - filled, next_key);
		filled = modulus;
		snprintf(metric, sizeof(metric), "hist_update_full@%u", percent[i]);
		report(metric, settled_write(fd, scattered_key) - without, "ns");
	}
	/* These do not fit. */
	report("hist_update_dropped", settled_write(fd, other_key) - without, "ns");
	write_file(HIST_TRIGGER, "!hist:keys=k:size=131072");
}

/* The hash of the C implementation, of a number of 8 bytes: the kernel's jhash. */
static uint32_t jhash_u64(uint64_t key)
{
	uint32_t a, b, c;

	a = b = c = 0xdeadbeef + 8;
	a += (uint32_t)key;
	b += (uint32_t)(key >> 32);
#define ROL(x, n) ((x) << (n) | (x) >> (32 - (n)))
	c ^= b; c -= ROL(b, 14);
	a ^= c; a -= ROL(c, 11);
	b ^= a; b -= ROL(a, 25);
	c ^= b; c -= ROL(b, 16);
	a ^= c; a -= ROL(c, 4);
	b ^= a; b -= ROL(a, 14);
	c ^= b; c -= ROL(b, 24);
	return c;
}

/* Keys that an unkeyed hash maps to one place. */
static void choose_colliding(void)
{
	unsigned int found = 0;
	uint32_t k;

	for (k = 0; found < COLLIDING; k++) {
		/* 2^11 elements have 2^12 places. */
		if (jhash_u64(k) >> 20 == 0x123)
			colliding[found++] = k;
	}
}

void bench_hist(void)
{
	int fd = hist_set_up();

	write_file(EVENT_DIR HIST_EVENT "/enable", "1");
	modulus = 1;
	hist_write(fd, 3 * LOOPS, small_key);

	modulus = 1000;
	update(fd, "hist_update_u32", "hist:keys=k", small_key);
	modulus = 1;
	update(fd, "hist_update_u32_hot", "hist:keys=k", small_key);
	modulus = 1000;
	update(fd, "hist_update_2key_2val", "hist:keys=k,a:vals=b,hitcount", small_key);
	update(fd, "hist_update_var_expr", "hist:keys=k:ts=common_timestamp.usecs,x=a+b*2", small_key);
	update(fd, "hist_update_log2", "hist:keys=k.log2", small_key);
	update(fd, "hist_update_sum", "hist:keys=k:vals=b", small_key);
	if (hist_is_beyond()) {
		update(fd, "hist_update_log2_3", "hist:keys=k.log2=3", small_key);
		update(fd, "hist_update_avg", "hist:keys=k:vals=b.avg", small_key);
		update(fd, "hist_update_min_max", "hist:keys=k:vals=b.min,b.max", small_key);
	}
	modulus = 1;
	update(fd, "hist_update_comm", "hist:keys=common_comm", small_key);
	update(fd, "hist_update_stack", "hist:keys=common_stacktrace", small_key);
	choose_colliding();
	update(fd, "hist_update_colliding", "hist:keys=k", colliding_key);
	if (!quick)
		update_filled(fd);
	write_file(EVENT_DIR HIST_EVENT "/enable", "0");
	hist_take_down(fd);

	hist_actions();
	fd = hist_set_up();
	update_string(fd);
	hist_take_down(fd);
	if (!quick)
		hist_sizes();
}
