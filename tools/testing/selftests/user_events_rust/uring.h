/* SPDX-License-Identifier: GPL-2.0 */
/* As much of io_uring as a few writes at a time need. */
#ifndef _USER_EVENTS_RUST_URING_H
#define _USER_EVENTS_RUST_URING_H

#include <linux/io_uring.h>

#include "ue.h"

#define URING_ENTRIES 16

struct uring {
	int fd;
	struct io_uring_params p;
	char *sq, *cq;
	struct io_uring_sqe *sqes;
};

static inline int uring_open_flags(struct uring *u, uint32_t flags)
{
	memset(&u->p, 0, sizeof(u->p));
	u->p.flags = flags;
	u->fd = ue_err(syscall(__NR_io_uring_setup, URING_ENTRIES, &u->p));
	if (u->fd < 0)
		return u->fd;
	u->sq = mmap(NULL, u->p.sq_off.array + u->p.sq_entries * 4, PROT_READ | PROT_WRITE,
		     MAP_SHARED, u->fd, IORING_OFF_SQ_RING);
	u->cq = mmap(NULL, u->p.cq_off.cqes + u->p.cq_entries * sizeof(struct io_uring_cqe),
		     PROT_READ | PROT_WRITE, MAP_SHARED, u->fd, IORING_OFF_CQ_RING);
	u->sqes = mmap(NULL, u->p.sq_entries * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE,
		       MAP_SHARED, u->fd, IORING_OFF_SQES);
	if (u->sq == MAP_FAILED || u->cq == MAP_FAILED || (void *)u->sqes == MAP_FAILED)
		return -errno;
	return 0;
}

static inline int uring_open(struct uring *u)
{
	return uring_open_flags(u, 0);
}

/* Returns the next entry of the submission queue, zeroed. It is submitted by uring_enter(). */
static inline struct io_uring_sqe *uring_next(struct uring *u)
{
	uint32_t *sq_tail = (void *)(u->sq + u->p.sq_off.tail);
	uint32_t slot = *sq_tail & *(uint32_t *)(u->sq + u->p.sq_off.ring_mask);

	memset(&u->sqes[slot], 0, sizeof(u->sqes[slot]));
	((uint32_t *)(u->sq + u->p.sq_off.array))[slot] = slot;
	__atomic_store_n(sq_tail, *sq_tail + 1, __ATOMIC_RELEASE);
	return &u->sqes[slot];
}

/* Submits @n entries, and waits until they are complete. */
static inline long uring_enter(struct uring *u, unsigned int n)
{
	uint32_t flags = IORING_ENTER_GETEVENTS;

	if (u->p.flags & IORING_SETUP_SQPOLL)
		flags |= IORING_ENTER_SQ_WAKEUP;
	return ue_err(syscall(__NR_io_uring_enter, u->fd, n, n, flags, NULL, 0));
}

/* Returns the oldest result, which has to exist. */
static inline long uring_result(struct uring *u)
{
	uint32_t *cq_head = (void *)(u->cq + u->p.cq_off.head);
	uint32_t mask = *(uint32_t *)(u->cq + u->p.cq_off.ring_mask);
	struct io_uring_cqe *cqe = (struct io_uring_cqe *)(u->cq + u->p.cq_off.cqes) + (*cq_head & mask);
	long ret = cqe->res;

	__atomic_store_n(cq_head, *cq_head + 1, __ATOMIC_RELEASE);
	return ret;
}

/* Writes with IORING_OP_WRITEV at a position, and waits for the result. */
static inline long uring_writev(struct uring *u, int fd, const struct iovec *io, int n,
				uint64_t position)
{
	struct io_uring_sqe *sqe = uring_next(u);
	long ret;

	sqe->opcode = IORING_OP_WRITEV;
	sqe->fd = fd;
	sqe->addr = (uintptr_t)io;
	sqe->len = n;
	sqe->off = position;
	ret = uring_enter(u, 1);
	return ret < 0 ? ret : uring_result(u);
}

static inline void uring_close(struct uring *u)
{
	munmap(u->sq, u->p.sq_off.array + u->p.sq_entries * 4);
	munmap(u->cq, u->p.cq_off.cqes + u->p.cq_entries * sizeof(struct io_uring_cqe));
	munmap(u->sqes, u->p.sq_entries * sizeof(struct io_uring_sqe));
	close(u->fd);
}

#endif /* _USER_EVENTS_RUST_URING_H */
