// SPDX-License-Identifier: GPL-2.0
/*
 * Switching an event while processes come and go that share its enable bits.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include "kselftest_harness.h"
#include "ue.h"

/* More bits than a set that the task itself takes apart when it exits. */
#define BITS 1000
/* So many that a switch that follows them all is not done when there are as many. */
#define CHILDREN 600

UE_FIXTURE(switched)

static bool register_bits(int fd, volatile uint32_t *w)
{
	for (int i = 0; i < BITS; i++) {
		if (ue_reg(fd, &w[i], 0, "switched u32 a"))
			return false;
	}
	return true;
}

static int count_bits(volatile uint32_t *w, int from, bool on)
{
	int n = 0;

	for (int i = from; i < BITS; i++)
		n += (w[i] & 1) == on;
	return n;
}

/*
 * Forks children that unregister one bit each, so that each has 999 bits of its
 * own, and live on. Counts them.
 */
static pid_t start_forking(int fd, volatile uint32_t *w, int *count)
{
	pid_t forker = fork();

	if (forker)
		return forker;
	setpgid(0, 0);
	while (__atomic_load_n(count, __ATOMIC_RELAXED) < CHILDREN) {
		pid_t child = fork();

		if (child < 0)
			_exit(1);
		if (!child) {
			if (ue_unreg(fd, &w[0], 0))
				_exit(1);
			__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
			for (;;)
				pause();
		}
	}
	for (;;)
		pause();
}

/* A registration during a switch of the event is not visited by the switch. */
TEST_F(switched, while_children_get_bits_of_their_own)
{
	int *count = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int before, after;
	pid_t forker;

	ASSERT_NE(MAP_FAILED, (void *)count);
	ASSERT_TRUE(register_bits(self->fd, self->w));
	forker = start_forking(self->fd, self->w, count);
	ASSERT_LT(0, forker);
	ASSERT_TRUE(ue_poll(__atomic_load_n(count, __ATOMIC_RELAXED) > 2));

	before = __atomic_load_n(count, __ATOMIC_RELAXED);
	EXPECT_EQ(0, ue_enable("switched", true));
	after = __atomic_load_n(count, __ATOMIC_RELAXED);

	kill(-forker, SIGKILL);
	EXPECT_EQ(forker, waitpid(forker, NULL, 0));
	TH_LOG("children: %d at the beginning, %d at the end", before, after);
	EXPECT_GT(CHILDREN, after);
	EXPECT_TRUE(ue_poll(count_bits(self->w, 0, true) == BITS));
}

static void *keep_switching(void *stop)
{
	for (int i = 0; !__atomic_load_n((bool *)stop, __ATOMIC_RELAXED); i++)
		ue_enable("switched", i & 1);
	return NULL;
}

/* Memory of all processes that is no file's, in KiB. */
static long anonymous_memory(void)
{
	const char *text = strstr(ue_slurp("/proc/meminfo"), "AnonPages:");

	return text ? atol(text + strlen("AnonPages:")) : -1;
}

/*
 * Children that are forked while another event is switched write their words, but not those that
 * are right, whose pages they share with the parent.
 */
TEST_F(switched, children_share_the_pages_of_their_words)
{
	char *pages = mmap(NULL, BITS * UE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	int *switches = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t children[20], switcher;
	long before, after;

	ASSERT_NE(MAP_FAILED, (void *)pages);
	ASSERT_NE(MAP_FAILED, (void *)switches);
	ASSERT_EQ(0, ue_put(UE_DYN, "u:shared u32 a"));
	for (int i = 0; i < BITS; i++)
		ASSERT_EQ(0, ue_reg(self->fd, (void *)(pages + i * UE_PAGE), 0, "shared u32 a"));
	/* A process whose many words make each switch take a while. */
	switcher = fork();
	if (!switcher) {
		int fd = ue_open();

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; i < 20 * BITS; i++) {
			if (ue_reg(fd, &self->w[i], 0, "switched u32 a"))
				_exit(1);
		}
		for (int i = 1;; i++) {
			ue_enable("switched", i & 1);
			__atomic_store_n(switches, i, __ATOMIC_RELAXED);
		}
	}
	ASSERT_LT(0, switcher);
	/* The first ones take long for other reasons. */
	ASSERT_TRUE(ue_poll(__atomic_load_n(switches, __ATOMIC_RELAXED) > 3));
	before = anonymous_memory();
	for (size_t i = 0; i < ARRAY_SIZE(children); i++) {
		children[i] = fork();
		if (!children[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
		ASSERT_LT(0, children[i]);
		usleep(7000);
	}
	/* More than what has to be done takes. */
	usleep(500000);
	after = anonymous_memory();
	for (size_t i = 0; i < ARRAY_SIZE(children); i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
	kill(switcher, SIGKILL);
	waitpid(switcher, NULL, 0);
	TH_LOG("%zu children, each with %d words in pages of their own: %ld KiB more",
	       ARRAY_SIZE(children), BITS, after - before);
	/* Each has some pages of its own, such as those of its stack. */
	EXPECT_GT((long)ARRAY_SIZE(children) * 512, after - before);
	EXPECT_EQ(0, ue_enable("switched", false));
}

/*
 * Returns 0 if the bits of a child have the last state soon after it was stored in
 * *final.
 */
static int check_bits(int fd, volatile uint32_t *w, int *final, unsigned int seed)
{
	/* Some change the set at once, some later, some never. */
	if (seed % 3 == 0 && ue_unreg(fd, &w[0], 0))
		return 2;
	if (!ue_poll(__atomic_load_n(final, __ATOMIC_ACQUIRE) >= 0))
		return 3;
	if (seed % 3 == 1 && ue_unreg(fd, &w[0], 0))
		return 4;
	return ue_poll(count_bits(w, 1, *final) == BITS - 1) ? 0 : 5;
}

TEST_F_TIMEOUT(switched, bits_of_children_that_are_forked_meanwhile, 280)
{
	uint64_t longest = 0;
	int *final = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	/* It copies the bits to a child some time after the memory. */
	if (!ue_is_rust())
		SKIP(return, "the C implementation can miss a switch during a fork");
	ASSERT_NE(MAP_FAILED, (void *)final);
	ASSERT_TRUE(register_bits(self->fd, self->w));
	for (int round = 0; round < 20; round++) {
		pid_t children[12];
		bool stop = false;
		pthread_t thread;
		uint64_t start;
		int status;

		*final = -1;
		ASSERT_EQ(0, pthread_create(&thread, NULL, keep_switching, &stop));
		for (size_t i = 0; i < ARRAY_SIZE(children); i++) {
			children[i] = fork();
			if (!children[i])
				_exit(check_bits(self->fd, self->w, final, round + i));
			ASSERT_LT(0, children[i]);
			usleep(200 * (i % 4));
		}
		__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
		pthread_join(thread, NULL);
		start = ue_now();
		ASSERT_EQ(0, ue_enable("switched", round & 1));
		if (ue_now() - start > longest)
			longest = ue_now() - start;
		__atomic_store_n(final, round & 1, __ATOMIC_RELEASE);
		for (size_t i = 0; i < ARRAY_SIZE(children); i++) {
			ASSERT_EQ(children[i], waitpid(children[i], &status, 0));
			EXPECT_EQ(0, status) TH_LOG("round %d, child %zu", round, i);
		}
		EXPECT_TRUE(ue_poll(count_bits(self->w, 0, round & 1) == BITS));
	}
	TH_LOG("the longest switch: %llu ms", (unsigned long long)longest / 1000000);
}

/* The event is free after the processes that had it, however many bits they had. */
TEST_F(switched, exits_with_many_bits)
{
	ASSERT_EQ(0, ue_put(UE_DYN, "u:switched u32 a"));
	for (int i = 0; i < 5; i++) {
		pid_t child = fork();

		if (!child) {
			int fd = ue_open();

			_exit(register_bits(fd, self->w) ? 0 : 1);
		}
		ASSERT_LT(0, child);
		EXPECT_EQ(0, ue_enable("switched", i & 1));
		ASSERT_EQ(child, waitpid(child, NULL, 0));
		EXPECT_EQ(0, ue_enable("switched", !(i & 1)));
	}
	EXPECT_EQ(0, ue_enable("switched", false));
	EXPECT_EQ(0, ue_del_wait(self->fd, "switched"));
	EXPECT_FALSE(ue_exists("switched"));
}

/* So many that all words in all processes take much longer than all bits and all processes. */
#define MANY_BITS (1 << 14)
#define SHARERS 200

static bool all_words(volatile uint32_t *w, uint32_t value)
{
	for (int i = 0; i < MANY_BITS / 32; i++) {
		if (w[i] != value)
			return false;
	}
	return true;
}

/* Bits times processes: a process has not paid for as much, so a switch does not visit them all. */
TEST_F_TIMEOUT(switched, many_bits_of_many_children, 280)
{
	bool *go = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t children[SHARERS];
	uint64_t start, ms;
	int status;

	if (!ue_is_rust())
		SKIP(return, "the C implementation copies all bits to each child");
	ASSERT_NE(MAP_FAILED, (void *)go);
	for (int i = 0; i < MANY_BITS; i++)
		ASSERT_EQ(0, ue_reg(self->fd, &self->w[i / 32], i % 32, "switched u32 a"));
	for (size_t i = 0; i < SHARERS; i++) {
		children[i] = fork();
		if (!children[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			while (!__atomic_load_n(go, __ATOMIC_ACQUIRE))
				usleep(50000);
			_exit(ue_poll_ms(all_words(self->w, ~0u), 6ull * UE_PATIENCE) ? 0 : 1);
		}
		ASSERT_LT(0, children[i]);
	}
	start = ue_now();
	EXPECT_EQ(0, ue_enable("switched", true));
	ms = (ue_now() - start) / 1000000;
	TH_LOG("%d bits of %d processes: %llu ms", MANY_BITS, SHARERS + 1, (unsigned long long)ms);
	EXPECT_GT(ue_slow_ms(2000), ms);

	__atomic_store_n(go, true, __ATOMIC_RELEASE);
	for (size_t i = 0; i < SHARERS; i++) {
		ASSERT_EQ(children[i], waitpid(children[i], &status, 0));
		EXPECT_EQ(0, status) TH_LOG("child %zu", i);
	}
	EXPECT_TRUE(ue_poll(all_words(self->w, ~0u)));
}

TEST_HARNESS_MAIN
