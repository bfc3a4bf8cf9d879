/* SPDX-License-Identifier: GPL-2.0 */
/* As much of io_uring as one write at a time needs. */
#ifndef _USER_EVENTS_RUST_URING_H
#define _USER_EVENTS_RUST_URING_H

#include <linux/io_uring.h>

#include "ue.h"

struct uring {
	int fd;
	struct io_uring_params p;
	char *sq, *cq;
	struct io_uring_sqe *sqes;
};

static inline int uring_open(struct uring *u)
{
	memset(&u->p, 0, sizeof(u->p));
	u->fd = ue_err(syscall(__NR_io_uring_setup, 4, &u->p));
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

/* Writes with IORING_OP_WRITEV at a position, and waits for the result. */
static inline long uring_writev(struct uring *u, int fd, const struct iovec *io, int n,
				uint64_t position)
{
	uint32_t *sq_tail = (void *)(u->sq + u->p.sq_off.tail);
	uint32_t *cq_head = (void *)(u->cq + u->p.cq_off.head);
	uint32_t mask = *(uint32_t *)(u->sq + u->p.sq_off.ring_mask);
	uint32_t slot = *sq_tail & mask;
	struct io_uring_cqe *cqe;
	int ret;

	memset(&u->sqes[slot], 0, sizeof(u->sqes[slot]));
	u->sqes[slot].opcode = IORING_OP_WRITEV;
	u->sqes[slot].fd = fd;
	u->sqes[slot].addr = (uintptr_t)io;
	u->sqes[slot].len = n;
	u->sqes[slot].off = position;
	((uint32_t *)(u->sq + u->p.sq_off.array))[slot] = slot;
	__atomic_store_n(sq_tail, *sq_tail + 1, __ATOMIC_RELEASE);
	ret = ue_err(syscall(__NR_io_uring_enter, u->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0));
	if (ret < 0)
		return ret;
	mask = *(uint32_t *)(u->cq + u->p.cq_off.ring_mask);
	cqe = (struct io_uring_cqe *)(u->cq + u->p.cq_off.cqes) + (*cq_head & mask);
	ret = cqe->res;
	__atomic_store_n(cq_head, *cq_head + 1, __ATOMIC_RELEASE);
	return ret;
}

#endif /* _USER_EVENTS_RUST_URING_H */
