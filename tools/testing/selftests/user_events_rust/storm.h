/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters shared by the storms: the number of successes of each kind of
 * operation, in all processes together. An operation that never succeeds takes
 * part in no race.
 */
#ifndef STORM_H
#define STORM_H

#include "ue.h"

#define STORM_PARTS_MAX	32

/* The extra time of a storm for operations without success, in seconds. */
#define STORM_PATIENCE	150

/* One for each of the names that a storm has for its operations. */
static unsigned long *storm_counts;
static size_t storm_kinds;
static uint64_t storm_end;

static inline int storm_init(size_t kinds)
{
	storm_kinds = kinds;
	storm_counts = mmap(NULL, kinds * sizeof(*storm_counts), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return storm_counts == MAP_FAILED;
}

static inline void storm_begin(int seconds)
{
	storm_end = ue_now() + seconds * 1000000000ull;
}

static inline void storm_did(unsigned int kind, bool succeeded)
{
	if (succeeded)
		__atomic_fetch_add(&storm_counts[kind], 1, __ATOMIC_RELAXED);
}

static inline void storm_did_many(unsigned int kind, unsigned long n)
{
	__atomic_fetch_add(&storm_counts[kind], n, __ATOMIC_RELAXED);
}

static inline unsigned long storm_count(unsigned int kind)
{
	return __atomic_load_n(&storm_counts[kind], __ATOMIC_RELAXED);
}

/*
 * Returns true if the storm continues. On a slow machine some kinds take a
 * while to succeed.
 */
static inline bool storm_going(void)
{
	uint64_t now = ue_now();

	if (now < storm_end)
		return true;
	if (now > storm_end + STORM_PATIENCE * 1000000000ull)
		return false;
	for (size_t i = 0; i < storm_kinds; i++) {
		if (!__atomic_load_n(&storm_counts[i], __ATOMIC_RELAXED))
			return true;
	}
	return false;
}

/* Prints the counts; whether any is zero. */
static inline int storm_idle(const char * const names[])
{
	int bad = 0;

	for (size_t i = 0; i < storm_kinds; i++) {
		unsigned long n = __atomic_load_n(&storm_counts[i], __ATOMIC_RELAXED);

		printf("# %s: %lu\n", names[i], n);
		if (!n) {
			printf("%s: it has never succeeded\n", names[i]);
			bad = 1;
		}
	}
	return bad;
}

typedef void (*storm_part)(unsigned int);

/*
 * The parts to run: those of @parts, and one of @more in turn for each two processors
 * beyond two.
 */
static inline size_t storm_parts(storm_part out[STORM_PARTS_MAX], const storm_part parts[],
				 size_t n, const storm_part more[], size_t n_more)
{
	long extra = (sysconf(_SC_NPROCESSORS_ONLN) - 2) / 2;

	memcpy(out, parts, n * sizeof(*out));
	for (long i = 0; i < extra && n < STORM_PARTS_MAX; i++)
		out[n++] = more[i % n_more];
	return n;
}

/*
 * Runs the parts for some seconds, each in a process of its own. Returns 1 if one fails, or hangs
 * in the kernel: it has not ended @patience seconds after the storm.
 */
static inline int storm_run(const storm_part parts[], size_t n, int seconds, int patience)
{
	uint64_t limit = (uint64_t)(seconds + STORM_PATIENCE + patience) * 1000;
	pid_t pids[STORM_PARTS_MAX];
	int status, bad = 0;

	storm_begin(seconds);
	for (size_t i = 0; i < n; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			parts[i](i + 1);
			_exit(0);
		}
	}
	for (size_t i = 0; i < n; i++) {
		if (!ue_poll_ms(waitpid(pids[i], &status, WNOHANG) == pids[i], limit)) {
			printf("part %zu hangs\n", i);
			bad = 1;
		} else if (status) {
			printf("part %zu ended with 0x%x\n", i, status);
			bad = 1;
		}
	}
	return bad;
}

#endif
