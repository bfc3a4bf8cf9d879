/* SPDX-License-Identifier: GPL-2.0 */
/* Lets the n-th allocation of the calling thread fail. */
#ifndef _USER_EVENTS_RUST_FAULT_H
#define _USER_EVENTS_RUST_FAULT_H

/* kselftest_harness.h must be included before this. */
#include "ue.h"

#define FAULT_DEBUGFS "/sys/kernel/debug"

/* False on a kernel without fault injection, where the test has to be skipped. */
static inline bool fault_setup(void)
{
	if (access("/proc/thread-self/fail-nth", W_OK) || access(FAULT_DEBUGFS "/failslab", F_OK))
		return false;
	/* Allocations that may sleep and single pages as well; say nothing. */
	ue_put(FAULT_DEBUGFS "/failslab/ignore-gfp-wait", "0");
	ue_put(FAULT_DEBUGFS "/failslab/verbose", "0");
	ue_put(FAULT_DEBUGFS "/fail_page_alloc/ignore-gfp-wait", "0");
	ue_put(FAULT_DEBUGFS "/fail_page_alloc/ignore-gfp-highmem", "0");
	ue_put(FAULT_DEBUGFS "/fail_page_alloc/min-order", "0");
	ue_put(FAULT_DEBUGFS "/fail_page_alloc/verbose", "0");
	return true;
}

#define NEED_FAULTS()							\
do {									\
	if (!fault_setup())						\
		SKIP(return, "no fault injection in this kernel");	\
} while (0)

static inline int fault_open(void)
{
	return open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
}

static inline void fault_arm(int fd, int n)
{
	char buf[16];

	/* Opened before, so that the write itself is the first operation. */
	if (pwrite(fd, buf, snprintf(buf, sizeof(buf), "%d", n), 0) < 0)
		abort();
}

/* Disarms; the result is whether an allocation did fail. */
static inline bool fault_hit(int fd)
{
	char buf[16] = "";

	if (pread(fd, buf, sizeof(buf) - 1, 0) < 0)
		abort();
	fault_arm(fd, 0);
	return atoi(buf) == 0;
}

/*
 * Enabling the first event of all also starts the recording of command names,
 * which is not rolled back right if an allocation fails: another event that is
 * enabled before keeps that out of it.
 */
static inline int fault_keep_cmdlines(int fd, const volatile void *word)
{
	int ret = ue_reg(fd, word, 31, "keep_cmdlines u32 a");

	return ret ? ret : ue_enable("keep_cmdlines", true);
}

/*
 * Returns true for a further round @n. With as many as @max something is wrong;
 * but C allocates each element of a table, so a helper takes tens of thousands
 * there.
 */
static inline bool fault_more(struct __test_metadata *_metadata, bool hit, int n, int max)
{
	if (!hit)
		return false;
	if (n >= max) {
		ASSERT_FALSE(ue_is_rust()) {
			TH_LOG("in round %d there was still something to fail", n - 1);
		}
	}
	return n < max;
}

/* A sweep ends when an operation succeeds with nothing left to fail. */
#define fault_sweep(fd, n, max)							\
	for (int n = 1, __hit = 1; fault_more(_metadata, __hit, n, max); n++)
#define fault_done(fd)		(__hit = fault_hit(fd))

#endif /* _USER_EVENTS_RUST_FAULT_H */
