// SPDX-License-Identifier: GPL-2.0
/*
 * The time at which an enable word is written, and the identity of words:
 * late-word, copied-word, unchanged-words, stuck-memory and address-tag in
 * Documentation/trace/rust/deviations.rst.
 *
 * All of these fail on the C implementation.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/prctl.h>

#include "kselftest_harness.h"
#include "ue.h"

UE_FIXTURE(dev)

/*
 * late-word: a task that switches an event does not wait for a process that
 * holds its mmap_lock. The word is written soon after.
 */

struct holder {
	char *m;
	size_t len;
	volatile bool stop;
	volatile unsigned int rounds;
};

/* Holds the lock all the time that changing the pages takes. */
static void *protect_loop(void *arg)
{
	struct holder *h = arg;

	while (!h->stop) {
		mprotect(h->m, h->len, PROT_READ);
		mprotect(h->m, h->len, PROT_READ | PROT_WRITE);
		h->rounds++;
	}
	return NULL;
}

TEST_F(dev, late_word__busy_mmap_lock)
{
	struct holder h = { .len = 128 << 20 };
	/* The switch waits for 10 ms in all; the scheduler may delay it. */
	const uint64_t limit = ue_slow_ms(20) * 1000000;
	uint64_t shortest = UINT64_MAX;
	int late = 0, rounds = 0;
	pthread_t t;

	h.m = mmap(NULL, h.len, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)h.m);
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "lw u32 a"));
	ASSERT_EQ(0, ue_enable("lw", true));
	EXPECT_EQ(1, self->w[0]);
	ASSERT_EQ(0, ue_enable("lw", false));
	EXPECT_EQ(0, self->w[0]);

	ASSERT_EQ(0, pthread_create(&t, NULL, protect_loop, &h));
	ASSERT_TRUE(ue_poll(h.rounds > 0));
	while (rounds < 60 && (late < 3 || shortest >= limit)) {
		bool on = ++rounds % 2;
		uint64_t began = ue_now(), took;

		ASSERT_EQ(0, ue_enable("lw", on));
		took = ue_now() - began;
		if (self->w[0] != on) {
			late++;
			if (took < shortest)
				shortest = took;
		}
		ASSERT_TRUE(ue_poll_ms(self->w[0] == on, 5000)) TH_LOG("round %d: lost", rounds);
	}
	h.stop = true;
	pthread_join(t, NULL);
	EXPECT_LT(0, late) TH_LOG("in %d rounds nobody was late", rounds);
	EXPECT_GT(limit, shortest);
	munmap(h.m, h.len);

	/* No task holds the lock now: at once again. */
	ASSERT_EQ(0, ue_enable("lw", true));
	EXPECT_EQ(1, self->w[0]);
	ASSERT_EQ(0, ue_enable("lw", false));
	EXPECT_EQ(0, self->w[0]);
}

/*
 * copied-word: the pages of words are shared after a fork, and the words of both
 * processes are right when the switch returns.
 */
TEST_F(dev, copied_word__since_a_fork)
{
	int late = 0, round, status, go[2];
	pid_t pid;
	char c;

	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "cw u32 a"));
	for (round = 1; round <= 50; round++) {
		bool on = round % 2;

		ASSERT_EQ(0, pipe(go));
		pid = fork();
		if (!pid) {
			close(go[1]);
			/* Nothing is written: the page of the words stays shared. */
			_exit(read(go[0], &c, 1) == 0 && self->w[0] != on);
		}
		ASSERT_LT(0, pid);
		close(go[0]);
		ASSERT_EQ(0, ue_enable("cw", on));
		late += self->w[0] != on;
		close(go[1]);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		late += status != 0;
		ASSERT_TRUE(ue_poll(self->w[0] == on)) TH_LOG("round %d: lost", round);
	}
	/* A busy machine may take longer than the switch has patience for. */
	EXPECT_GT(3, late) TH_LOG("%d words were late", late);
}

/* unchanged-words: a further listener, or one that is detached, has no word written. */
TEST_F(dev, unchanged_words__second_listener)
{
	const char *enable = UE_TRACEFS "/instances/ue_uw/events/user_events/uw/enable";

	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "uw u32 a"));
	ASSERT_EQ(0, mkdir(UE_TRACEFS "/instances/ue_uw", 0750));
	ASSERT_EQ(0, ue_enable("uw", true));
	EXPECT_EQ(1, self->w[0]);
	/* The mark of a word that is not written. */
	self->w[0] = 0;
	ASSERT_EQ(0, ue_put(enable, "1"));
	EXPECT_EQ(0, self->w[0]);
	ASSERT_EQ(0, ue_enable("uw", false));
	EXPECT_EQ(0, self->w[0]);
	/* The last one has it written, and the first one. */
	self->w[0] = 1;
	ASSERT_EQ(0, ue_put(enable, "0"));
	EXPECT_EQ(0, self->w[0]);
	ASSERT_EQ(0, ue_put(enable, "1"));
	EXPECT_EQ(1, self->w[0]);
	ASSERT_EQ(0, ue_put(enable, "0"));
	EXPECT_EQ(0, rmdir(UE_TRACEFS "/instances/ue_uw"));
}

/* stuck-memory: no task waits for the holder of the lock of the folio of a word. */
TEST_F(dev, stuck_memory__locked_folio)
{
	volatile uint32_t *w = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char command[128];
	int go[2], status;
	pid_t pid, rmmod;
	bool ended;

	ASSERT_NE(MAP_FAILED, (void *)w);
	ASSERT_EQ(0, ue_reg(self->fd, w, 0, "sm_folio u32 a"));
	ASSERT_EQ(0, ue_enable("sm_folio", true));
	EXPECT_EQ(1, w[0]);
	/* Forked before, as a defect may keep this process from forking. */
	ASSERT_EQ(0, pipe(go));
	rmmod = fork();
	ASSERT_LE(0, rmmod);
	if (!rmmod) {
		close(go[1]);
		read(go[0], command, 1);
		execlp("rmmod", "rmmod", "user_events_probe_test", NULL);
		_exit(1);
	}
	snprintf(command, sizeof(command), "modprobe user_events_probe_test pid=%d addr=%#lx",
		 getpid(), (unsigned long)w);
	if (system(command))
		SKIP(return, "no module user_events_probe_test");
	/* With a time limit. */
	pid = fork();
	if (!pid) {
		uint64_t began = ue_now();
		int bad = ue_enable("sm_folio", false) != 0;

		bad |= (ue_put(UE_DYN, "u:sm_folio_more u32 a") != 0) << 1;
		bad |= (ue_now() - began > 1000000000ull) << 2;
		_exit(bad);
	}
	ended = ue_poll_ms(waitpid(pid, &status, WNOHANG) == pid, 5000);
	EXPECT_TRUE(ended) {
		TH_LOG("enable or dynamic_events hang");
	}
	/* Nor does the process itself, which maps memory during that time. */
	munmap(mmap(NULL, UE_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), UE_PAGE);
	close(go[1]);
	close(go[0]);
	if (!ended)
		waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
	EXPECT_EQ(rmmod, waitpid(rmmod, &status, 0));
	EXPECT_EQ(0, status);
	/* Late, but not lost. */
	EXPECT_TRUE(ue_poll(w[0] == 0));
	EXPECT_EQ(0, ue_unreg(self->fd, w, 0));
	munmap((void *)w, UE_PAGE);
}

/* address-tag: the bits of an address that the machine ignores are no part of it. */

/* Has the machine ignore the bits of @tag, all that it can, for this process. */
static bool ignore_tags(uint64_t *tag)
{
#if defined(__x86_64__)
	/* ARCH_ENABLE_TAGGED_ADDR, 6 bits: linear address masking. */
	*tag = 0x3full << 57;
	return syscall(__NR_arch_prctl, 0x4002, 6) == 0;
#elif defined(__aarch64__)
	/* The top byte. */
	*tag = 0xffull << 56;
	return prctl(PR_SET_TAGGED_ADDR_CTRL, PR_TAGGED_ADDR_ENABLE, 0, 0, 0) == 0;
#else
	return false;
#endif
}

TEST_F(dev, address_tag__same_bit)
{
	uint64_t mask = 0, tag;

	if (!ignore_tags(&mask))
		SKIP(return, "the processor has no address tags (KUnit: user_events_defs)");
	/* Each bit alone, and all at once. */
	for (tag = mask & -mask; tag; tag = tag == mask ? 0 : (tag << 1) & mask ?: mask) {
		volatile uint32_t *tagged = (void *)((uintptr_t)self->w | tag);

		TH_LOG("tag %#llx", (unsigned long long)tag);
		ASSERT_EQ(0, ue_reg(self->fd, self->w, 0, "at u32 a"));
		EXPECT_EQ(-EADDRINUSE, ue_reg(self->fd, tagged, 0, "at u32 a"));
		ASSERT_EQ(0, ue_unreg(self->fd, tagged, 0));
		EXPECT_EQ(-ENOENT, ue_unreg(self->fd, self->w, 0));

		ASSERT_EQ(0, ue_reg(self->fd, tagged, 0, "at u32 a"));
		EXPECT_EQ(-EADDRINUSE, ue_reg(self->fd, self->w, 0, "at u32 a"));
		EXPECT_EQ(0, ue_enable("at", true));
		EXPECT_EQ(1, self->w[0]);
		EXPECT_EQ(0, ue_enable("at", false));
		EXPECT_EQ(0, ue_unreg(self->fd, self->w, 0));
		EXPECT_EQ(0, self->w[0]);
	}
}

TEST_HARNESS_MAIN
