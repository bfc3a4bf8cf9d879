// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of one record of several: in batches, and in submissions of io_uring.
 */

#define _GNU_SOURCE
#include "../batch.h"
#include "../uring.h"
#include "bench.h"

#define EVENT "bench_batch"
#define LOOPS 20000
#define REPETITIONS 5
/* Enough to fill the ring buffer once. */
#define WARM_UP 60000
#define MOST 64

struct source {
	int fd;
	int index;
	struct ue_batch batch;
	struct uring ring;
	struct {
		uint32_t index, k, a;
		uint64_t b;
	} __attribute__((packed)) records[MOST];
};

static void write_batch(struct source *s, unsigned int records)
{
	if (ue_batch(s->fd, &s->batch) != records)
		die("a batch of %u records failed", records);
}

static void write_ring(struct source *s, unsigned int records)
{
	for (unsigned int i = 0; i < records; i++) {
		struct io_uring_sqe *sqe = uring_next(&s->ring);

		sqe->opcode = IORING_OP_WRITE;
		sqe->fd = s->fd;
		sqe->addr = (uintptr_t)&s->records[i];
		sqe->len = sizeof(s->records[i]);
	}
	if (uring_enter(&s->ring, records) != records)
		die("io_uring did not take %u records", records);
	for (unsigned int i = 0; i < records; i++) {
		if (uring_result(&s->ring) != sizeof(s->records[i]))
			die("io_uring did not write a record");
	}
}

static void loop(struct source *s, void (*write)(struct source *s, unsigned int records),
		 unsigned int records, unsigned int count)
{
	for (unsigned int i = 0; i < count / records; i++)
		write(s, records);
}

static void time_records(struct source *s, const char *metric,
			 void (*write)(struct source *s, unsigned int records), unsigned int records)
{
	unsigned int count = LOOPS / records * records;
	double values[REPETITIONS], start;
	unsigned long long before, taken;
	uint32_t payload[4] = { 1, 2, 3 };

	s->batch.len = 0;
	for (unsigned int i = 0; i < records; i++) {
		ue_batch_add(&s->batch, s->index, payload, sizeof(payload));
		s->records[i].index = s->index;
	}
	loop(s, write, records, WARM_UP);
	before = records_taken();
	for (int i = 0; i < REPETITIONS; i++) {
		start = now_ns();
		loop(s, write, records, count);
		values[i] = (now_ns() - start) / count;
	}
	taken = records_taken() - before;
	if (taken != REPETITIONS * count)
		die("%s: ftrace took %llu of %u records", metric, taken, REPETITIONS * count);
	report(metric, median(values, REPETITIONS), "ns");
}

void bench_batch(void)
{
	static char buf[MOST * 64] __attribute__((aligned(8)));
	static struct source s = { .batch = { .buf = buf } };
	static uint32_t word;

	wait_for_no_events();
	s.fd = open_data();
	s.index = event_register(s.fd, EVENT " u32 k;u32 a;u64 b", &word);
	write_file(EVENT_DIR EVENT "/enable", "1");

	/* The implementation in C does not have them. */
	if (ue_batch_at(s.fd, NULL, 0) == 0) {
		time_records(&s, "batch_1", write_batch, 1);
		time_records(&s, "batch_8", write_batch, 8);
		time_records(&s, "batch_64", write_batch, 64);
	}
	if (uring_open(&s.ring))
		die("there is no io_uring");
	time_records(&s, "uring_8", write_ring, 8);
	uring_close(&s.ring);

	write_file(EVENT_DIR EVENT "/enable", "0");
	event_unregister(s.fd, &word);
	close(s.fd);
	write_file(TRACEFS "trace", "");
}
