// SPDX-License-Identifier: GPL-2.0
/*
 * Writes records of a user event with io_uring, several by one system call. It
 * needs no liburing.
 *
 * The records are of this task if user_events are those in Rust. With those in C
 * they are of a worker of io_uring. As root:
 *
 *   # ./uring &
 *   # echo 1 > /sys/kernel/tracing/events/user_events/uring_sample/enable
 *   # grep uring_sample /sys/kernel/tracing/trace
 */

#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/io_uring.h>
#include <linux/user_events.h>

#define RECORDS 8

/* The bytes of a write: the index of the event, then its fields. */
struct record {
	uint32_t write_index;
	uint32_t number;
};

/* The rings, which this program shares with the kernel. */
struct ring {
	int fd;
	struct io_uring_params params;
	char *submissions;
	char *completions;
	struct io_uring_sqe *entries;
};

/* The kernel sets a bit of it while the event has a listener. */
static uint32_t enabled;

static void *map_part(int fd, size_t size, off_t part)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, part);

	if (at == MAP_FAILED)
		err(1, "cannot get at the rings");
	return at;
}

static void set_up(struct ring *r)
{
	struct io_uring_params *p = &r->params;

	r->fd = syscall(__NR_io_uring_setup, RECORDS, p);
	if (r->fd < 0)
		err(1, "cannot set up io_uring");
	r->submissions = map_part(r->fd, p->sq_off.array + p->sq_entries * sizeof(uint32_t),
				  IORING_OFF_SQ_RING);
	r->completions = map_part(r->fd, p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe),
				  IORING_OFF_CQ_RING);
	r->entries = map_part(r->fd, p->sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
}

/* Adds a write to the submission ring. The kernel sees it at the next io_uring_enter(). */
static void add_write(struct ring *r, int fd, const struct record *record)
{
	uint32_t *tail = (uint32_t *)(r->submissions + r->params.sq_off.tail);
	uint32_t mask = *(uint32_t *)(r->submissions + r->params.sq_off.ring_mask);
	uint32_t *array = (uint32_t *)(r->submissions + r->params.sq_off.array);
	uint32_t slot = *tail & mask;
	struct io_uring_sqe *entry = &r->entries[slot];

	memset(entry, 0, sizeof(*entry));
	entry->opcode = IORING_OP_WRITE;
	entry->fd = fd;
	entry->addr = (uintptr_t)record;
	entry->len = sizeof(*record);
	array[slot] = slot;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
}

/* Returns the result of the oldest write: its number of bytes, or an error. */
static int take_result(struct ring *r)
{
	uint32_t *head = (uint32_t *)(r->completions + r->params.cq_off.head);
	uint32_t mask = *(uint32_t *)(r->completions + r->params.cq_off.ring_mask);
	struct io_uring_cqe *results;
	int result;

	results = (struct io_uring_cqe *)(r->completions + r->params.cq_off.cqes);
	result = results[*head & mask].res;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return result;
}

int main(void)
{
	struct user_reg reg = {
		.size = sizeof(reg),
		.enable_size = sizeof(enabled),
		.enable_addr = (uintptr_t)&enabled,
		.name_args = (uintptr_t)"uring_sample u32 number",
	};
	struct record records[RECORDS];
	struct ring ring = {};
	int fd, result, failed = 0;

	fd = open("/sys/kernel/tracing/user_events_data", O_RDWR);
	if (fd < 0 || ioctl(fd, DIAG_IOCSREG, &reg))
		err(1, "cannot register the event");
	set_up(&ring);

	while (!(__atomic_load_n(&enabled, __ATOMIC_RELAXED) & 1))
		usleep(10000);

	for (int i = 0; i < RECORDS; i++) {
		records[i] = (struct record){ reg.write_index, i };
		add_write(&ring, fd, &records[i]);
	}
	/* Returns when all writes are complete. */
	if (syscall(__NR_io_uring_enter, ring.fd, RECORDS, RECORDS, IORING_ENTER_GETEVENTS,
		    NULL, 0) != RECORDS)
		err(1, "cannot submit the writes");

	for (int i = 0; i < RECORDS; i++) {
		result = take_result(&ring);
		if (result != sizeof(records[i])) {
			warnx("a write failed: %s", strerror(-result));
			failed++;
		}
	}
	printf("task %d: %d of %d records are written\n", getpid(), RECORDS - failed, RECORDS);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
