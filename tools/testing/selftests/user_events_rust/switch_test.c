// SPDX-License-Identifier: GPL-2.0
/*
 * Switching an event while processes are created and exit that share its enable
 * bits.
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
/* So many that a switch that follows them all is not done when as many exist. */
#define CHILDREN 600
/* The CPUs that are kept busy. */
#define MOST_CPUS 16

UE_FIXTURE(switched)

/* Enough for tens of milliseconds: longer than a host runs one of its tasks at a time. */
#define SPINS 20000000

struct spinner {
	pthread_t thread;
	pthread_barrier_t *barrier;
	int cpu;
	uint64_t begin, end;
};

static void *spin(void *arg)
{
	struct spinner *s = arg;
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(s->cpu, &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	pthread_barrier_wait(s->barrier);
	s->begin = ue_now();
	for (volatile int i = 0; i < SPINS; i++)
		;
	s->end = ue_now();
	return NULL;
}

static uint64_t shorter(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Returns the time in which each of so many CPUs computes the same, in ns. */
static uint64_t spin_time(int cpus)
{
	struct spinner spinners[MOST_CPUS];
	uint64_t begin = UINT64_MAX, end = 0;
	pthread_barrier_t barrier;

	pthread_barrier_init(&barrier, NULL, cpus);
	for (int i = 0; i < cpus; i++) {
		spinners[i].barrier = &barrier;
		spinners[i].cpu = i;
		if (pthread_create(&spinners[i].thread, NULL, spin, &spinners[i]))
			exit(1);
	}
	for (int i = 0; i < cpus; i++) {
		pthread_join(spinners[i].thread, NULL);
		begin = shorter(begin, spinners[i].begin);
		if (spinners[i].end > end)
			end = spinners[i].end;
	}
	pthread_barrier_destroy(&barrier);
	return end - begin;
}

/*
 * Returns the time that a switch may take, in ms: a second of a machine whose CPUs run at the same
 * time. The CPUs of a guest share those of the host: with more of them than the host has, the same
 * work on all takes longer than on one, and a second is as much longer. A kernel that checks itself
 * has limits of its own.
 */
static uint64_t longest_switch_ms(unsigned int if_checked)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t one = UINT64_MAX, all = UINT64_MAX;

	if (UE_PATIENCE > 10000)
		return ue_slow_ms(if_checked);
	if (cpus > MOST_CPUS)
		cpus = MOST_CPUS;
	/* The shortest times: in others the host was busy with something else. */
	for (int i = 0; i < 5; i++) {
		one = shorter(one, spin_time(1));
		all = shorter(all, spin_time(cpus));
	}
	return all < one ? 1000 : shorter(1000 * all / one, 1000 * cpus);
}

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

/* Forks a child that waits until it is killed, at the latest with its parent. */
static pid_t paused_child(void)
{
	pid_t child = fork();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
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
	int within = 0;

	ASSERT_NE(MAP_FAILED, (void *)pages);
	ASSERT_NE(MAP_FAILED, (void *)switches);
	ASSERT_EQ(0, ue_put(UE_DYN, "u:shared u32 a"));
	for (int i = 0; i < BITS; i++)
		ASSERT_EQ(0, ue_reg(self->fd, (void *)(pages + i * UE_PAGE), 0, "shared u32 a"));
	/* A process whose many words prolong each switch. */
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
		int done = __atomic_load_n(switches, __ATOMIC_RELAXED);

		children[i] = paused_child();
		ASSERT_LT(0, children[i]);
		/* No switch has ended, so one lasted all the time. */
		within += __atomic_load_n(switches, __ATOMIC_RELAXED) == done;
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
	TH_LOG("%zu children, %d forked within a switch, each with %d words in pages: %ld KiB more",
	       ARRAY_SIZE(children), within, BITS, after - before);
	EXPECT_LT(0, within);
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
	/* Emulated, with two CPUs, it took 71 ms. */
	EXPECT_GT(ue_slow_ms(1000), longest / 1000000);
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

/*
 * So many that all words in all processes take much longer than all bits and all processes, and
 * fewer on a kernel that checks itself.
 */
#define MANY_BITS (1 << 14)
#define SHARERS 200

static int not_too_many(int n)
{
	return UE_PATIENCE > 10000 ? n / 8 : n;
}

static bool all_words(volatile uint32_t *w, uint32_t value, int bits)
{
	for (int i = 0; i < bits / 32; i++) {
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
	uint64_t start, ms, limit;
	int status, bits = not_too_many(MANY_BITS);

	if (!ue_is_rust())
		SKIP(return, "the C implementation copies all bits to each child");
	limit = longest_switch_ms(2000);
	ASSERT_NE(MAP_FAILED, (void *)go);
	for (int i = 0; i < bits; i++)
		ASSERT_EQ(0, ue_reg(self->fd, &self->w[i / 32], i % 32, "switched u32 a"));
	for (size_t i = 0; i < SHARERS; i++) {
		children[i] = fork();
		if (!children[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			while (!__atomic_load_n(go, __ATOMIC_ACQUIRE))
				usleep(50000);
			/* So many that poll often would keep the CPUs from the work items. */
			for (int i = 0; i < 120 && !all_words(self->w, ~0u, bits); i++)
				usleep(UE_PATIENCE * 50);
			_exit(all_words(self->w, ~0u, bits) ? 0 : 1);
		}
		ASSERT_LT(0, children[i]);
	}
	start = ue_now();
	EXPECT_EQ(0, ue_enable("switched", true));
	ms = (ue_now() - start) / 1000000;
	TH_LOG("%d bits of %d processes: %llu ms of %llu", bits, SHARERS + 1,
	       (unsigned long long)ms, (unsigned long long)limit);
	EXPECT_GT(limit, ms);

	__atomic_store_n(go, true, __ATOMIC_RELEASE);
	for (size_t i = 0; i < SHARERS; i++) {
		ASSERT_EQ(children[i], waitpid(children[i], &status, 0));
		EXPECT_EQ(0, status) TH_LOG("child %zu", i);
	}
	EXPECT_TRUE(ue_poll(all_words(self->w, ~0u, bits)));
}

/* Each of them has 64 bits, so one event alone has few words in all children. */
#define MANY_EVENTS 512
#define EVENT_BITS 64

static bool all_shared_words(volatile uint32_t *w, uint32_t value, int events)
{
	for (int i = 0; i < events * EVENT_BITS / 32; i++) {
		if (w[i] != value)
			return false;
	}
	return true;
}

/* The same if the bits are those of many events, which one write switches. */
TEST_F_TIMEOUT(switched, many_events_of_many_children, 280)
{
	volatile uint32_t *w = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t children[SHARERS];
	int events = not_too_many(MANY_EVENTS);
	uint64_t start, ms, limit;

	if (!ue_is_rust())
		SKIP(return, "the C implementation copies all bits to each child");
	limit = longest_switch_ms(5000);
	ASSERT_NE(MAP_FAILED, (void *)w);
	for (int i = 0; i < events * EVENT_BITS; i++) {
		ASSERT_EQ(0, ue_reg(self->fd, &w[i / 32], i % 32,
				    ue_path("switched_%d u32 a", i / EVENT_BITS)));
	}
	for (size_t i = 0; i < SHARERS; i++) {
		children[i] = paused_child();
		ASSERT_LT(0, children[i]);
	}
	start = ue_now();
	EXPECT_EQ(0, ue_put(UE_EVENTS "/enable", "1"));
	ms = (ue_now() - start) / 1000000;
	TH_LOG("%d bits of each of %d events in %d processes: %llu ms of %llu", EVENT_BITS, events,
	       SHARERS + 1, (unsigned long long)ms, (unsigned long long)limit);
	EXPECT_GT(limit, ms);
	EXPECT_TRUE(ue_poll_ms(all_shared_words(w, ~0u, events), 6ull * UE_PATIENCE));

	for (size_t i = 0; i < SHARERS; i++) {
		kill(children[i], SIGKILL);
		ASSERT_EQ(children[i], waitpid(children[i], NULL, 0));
	}
	EXPECT_EQ(0, ue_put(UE_EVENTS "/enable", "0"));
	EXPECT_TRUE(ue_poll(all_shared_words(w, 0, events)));
}

/* So many that copying them, or removing them, takes a while. */
#define STORM_BITS 30000
#define STORM_SWITCHES 20

/* What a process that changes its bits all the time shares with those that it forks. */
struct storm {
	bool ready, stop;
	/* The last switch was that to 1. */
	bool on;
	/* Children that have unregistered a bit, and bits that were registered and unregistered. */
	int forked, changed;
};

/* Forks children that get bits of their own, as they unregister one, and exit. */
static void fork_and_unregister(int fd, volatile uint32_t *w, struct storm *storm)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!__atomic_load_n(&storm->stop, __ATOMIC_RELAXED)) {
		pid_t child = fork();
		int status;

		if (child < 0)
			_exit(1);
		if (!child)
			_exit(ue_unreg(fd, &w[storm->forked % STORM_BITS], 0) ? 1 : 0);
		if (waitpid(child, &status, 0) != child || status)
			_exit(2);
		__atomic_fetch_add(&storm->forked, 1, __ATOMIC_RELAXED);
	}
	_exit(0);
}

struct changer {
	int fd;
	volatile uint32_t *w;
	struct storm *storm;
	bool failed;
};

static void *register_and_unregister(void *arg)
{
	struct changer *c = arg;

	for (int i = 0; !__atomic_load_n(&c->storm->stop, __ATOMIC_RELAXED); i++) {
		volatile uint32_t *w = &c->w[STORM_BITS + i % STORM_BITS];

		if (ue_reg(c->fd, w, 0, "switched u32 a") || ue_unreg(c->fd, w, 0))
			c->failed = true;
		__atomic_fetch_add(&c->storm->changed, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static bool storm_words(volatile uint32_t *w, bool on)
{
	for (int i = 0; i < STORM_BITS; i++) {
		if ((w[i] & 1) != on)
			return false;
	}
	return true;
}

/* A process with many bits, a thread that changes them, and others that fork. */
static int run_storm(volatile uint32_t *w, struct storm *storm, int forkers)
{
	struct changer changer = { .fd = ue_open(), .w = w, .storm = storm };
	pid_t pids[MOST_CPUS];
	pthread_t thread;
	int status, bad = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < STORM_BITS; i++) {
		if (ue_reg(changer.fd, &w[i], 0, "switched u32 a"))
			return 1;
	}
	for (int i = 0; i < forkers; i++) {
		pids[i] = fork();
		if (!pids[i])
			fork_and_unregister(changer.fd, w, storm);
		if (pids[i] < 0)
			return 2;
	}
	if (pthread_create(&thread, NULL, register_and_unregister, &changer))
		return 3;
	__atomic_store_n(&storm->ready, true, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&storm->stop, __ATOMIC_RELAXED))
		usleep(10000);
	pthread_join(thread, NULL);
	for (int i = 0; i < forkers; i++) {
		if (waitpid(pids[i], &status, 0) != pids[i] || status)
			bad = 4;
	}
	if (changer.failed)
		bad = 5;
	if (!ue_poll(storm_words(w, storm->on)))
		bad = 6;
	return bad;
}

/*
 * The children of a process with many bits unregister on all CPUs but one, and a thread of the
 * process registers and unregisters: a switch visits neither what was registered after it had
 * begun, nor the bits of many dead children.
 */
TEST_F_TIMEOUT(switched, while_many_bits_change, 280)
{
	struct storm *storm = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long forkers = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	uint64_t longest = 0, limit, end;
	int status, forked, changed;
	pid_t pid;

	UE_RUST_ONLY("a switch may take minutes");
	if (forkers < 1)
		SKIP(return, "needs two CPUs");
	if (forkers > MOST_CPUS)
		forkers = MOST_CPUS;
	limit = longest_switch_ms(5000);
	ASSERT_NE(MAP_FAILED, (void *)storm);
	ASSERT_EQ(0, ue_put(UE_DYN, "u:switched u32 a"));
	pid = fork();
	if (!pid)
		_exit(run_storm(self->w, storm, forkers));
	ASSERT_LT(0, pid);
	ASSERT_TRUE(ue_poll_ms(__atomic_load_n(&storm->ready, __ATOMIC_ACQUIRE),
			       6ull * UE_PATIENCE));
	/* Long enough for what is left of dead children to add up. */
	end = ue_now() + 5000000000ull;
	for (int i = 1; i <= STORM_SWITCHES || ue_now() < end; i++) {
		uint64_t start = ue_now();

		storm->on = i & 1;
		ASSERT_EQ(0, ue_enable("switched", i & 1));
		if (ue_now() - start > longest)
			longest = ue_now() - start;
		usleep(50000);
	}
	forked = __atomic_load_n(&storm->forked, __ATOMIC_RELAXED);
	changed = __atomic_load_n(&storm->changed, __ATOMIC_RELAXED);
	__atomic_store_n(&storm->stop, true, __ATOMIC_RELAXED);
	TH_LOG("%ld processes have forked %d children, a thread has changed %d bits",
	       forkers, forked, changed);
	TH_LOG("the longest switch with %ld CPUs: %llu ms of %llu", sysconf(_SC_NPROCESSORS_ONLN),
	       (unsigned long long)longest / 1000000, (unsigned long long)limit);
	EXPECT_LT(forkers, forked);
	EXPECT_LT(1000, changed);
	EXPECT_GT(limit, longest / 1000000);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status) TH_LOG("exit status %d", WEXITSTATUS(status));
	EXPECT_EQ(0, ue_enable("switched", false));
	EXPECT_EQ(0, ue_del_wait(self->fd, "switched"));
}

/* So many that a switch which follows them takes ten times as long as one that does not. */
#define ASCENDING_BITS (1 << 17)
#define ASCENDING_MOST 8

/* A thread that registers one bit after the other. */
struct ascending {
	pthread_t thread;
	int fd;
	volatile uint32_t *w;
	int registered;
	bool stop, failed;
};

static void *register_ascending(void *arg)
{
	struct ascending *a = arg;

	for (int i = 0; i < ASCENDING_BITS && !__atomic_load_n(&a->stop, __ATOMIC_RELAXED); i++) {
		if (ue_reg(a->fd, &a->w[i / 32], i % 32, "switched u32 a")) {
			__atomic_store_n(&a->failed, true, __ATOMIC_RELAXED);
			break;
		}
		__atomic_store_n(&a->registered, i + 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* The bits that each thread has registered, or all if one has failed. */
static int fewest_registered(struct ascending *a, long n)
{
	int fewest = ASCENDING_BITS;

	for (long i = 0; i < n; i++) {
		int registered = __atomic_load_n(&a[i].registered, __ATOMIC_RELAXED);

		if (__atomic_load_n(&a[i].failed, __ATOMIC_RELAXED))
			return ASCENDING_BITS;
		if (registered < fewest)
			fewest = registered;
	}
	return fewest;
}

static bool ascending_words(struct ascending *a, bool on)
{
	for (int i = 0; i < a->registered; i++) {
		if ((a->w[i / 32] >> i % 32 & 1) != on)
			return false;
	}
	return true;
}

/*
 * Fails if a switch lasts for as long as bits are registered at ascending addresses, as a thread
 * on each CPU does: it would visit these as well.
 */
TEST_F_TIMEOUT(switched, while_ascending_bits_are_registered, 280)
{
	static struct ascending a[ASCENDING_MOST];
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t longest = 0, limit;
	int switches = 0, fewest;

	UE_RUST_ONLY("a registration takes the longer the more bits there are");
	if (n > ASCENDING_MOST)
		n = ASCENDING_MOST;
	limit = longest_switch_ms(5000);
	ASSERT_EQ(0, ue_put(UE_DYN, "u:switched u32 a"));
	for (long i = 0; i < n; i++) {
		a[i].fd = self->fd;
		a[i].w = mmap(NULL, ASCENDING_BITS / 8, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		ASSERT_NE(MAP_FAILED, (void *)a[i].w);
		ASSERT_EQ(0, pthread_create(&a[i].thread, NULL, register_ascending, &a[i]));
	}
	ASSERT_TRUE(ue_poll(fewest_registered(a, n) > 100));
	do {
		uint64_t start = ue_now();

		ASSERT_EQ(0, ue_enable("switched", ++switches & 1));
		if (ue_now() - start > longest)
			longest = ue_now() - start;
		fewest = fewest_registered(a, n);
		/* A switch that follows them ends when the last thread has registered its last one. */
		EXPECT_GT(ASCENDING_BITS, fewest);
	} while (fewest < ASCENDING_BITS / 8);
	for (long i = 0; i < n; i++)
		__atomic_store_n(&a[i].stop, true, __ATOMIC_RELAXED);
	for (long i = 0; i < n; i++) {
		pthread_join(a[i].thread, NULL);
		EXPECT_FALSE(a[i].failed);
	}
	TH_LOG("%ld threads: %d bits or more each, %d switches, the longest: %llu ms of %llu",
	       n, fewest, switches, (unsigned long long)longest / 1000000,
	       (unsigned long long)limit);
	EXPECT_GT(limit, longest / 1000000);
	for (long i = 0; i < n; i++)
		EXPECT_TRUE(ue_poll(ascending_words(&a[i], switches & 1)));
	EXPECT_EQ(0, ue_enable("switched", false));
}

TEST_HARNESS_MAIN
