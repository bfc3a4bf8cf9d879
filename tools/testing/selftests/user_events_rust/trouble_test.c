// SPDX-License-Identifier: GPL-2.0
/*
 * Machines in trouble: no memory left in a cgroup or at all, processes killed for
 * memory, CPUs that leave, many processes, many events, programs without privileges.
 *
 * Each case says which defect it detects.
 */
#define _GNU_SOURCE
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include "kselftest_harness.h"
#include "trouble.h"

#define CGROUP		"/sys/fs/cgroup"
#define OURS		CGROUP "/ue_trouble"
#define INSTANCE	UE_TRACEFS "/instances/trouble"

/* Bits of one process in the cases about memory. */
#define BITS		20000
#define PROCESSES	1000
#define NOBODY		65534

UE_FIXTURE(trouble)

/* Returns the number of words, of @n, that have the bit. */
static int bits_on(const volatile uint32_t *w, int n)
{
	int on = 0;

	for (int i = 0; i < n; i++)
		on += w[i] & 1;
	return on;
}

/* Words for the cases that need more than the fixture has. */
static volatile uint32_t *words(size_t n, int flags)
{
	void *p = mmap(NULL, n * sizeof(uint32_t), PROT_READ | PROT_WRITE,
		       MAP_ANONYMOUS | MAP_POPULATE | flags, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static bool cgroup_make(void)
{
	ue_put(CGROUP "/cgroup.subtree_control", "+memory");
	mkdir(OURS, 0755);
	ue_put(OURS "/memory.swap.max", "0");
	return !access(OURS "/memory.max", W_OK);
}

static long cgroup_number(const char *file, const char *after)
{
	return number_after(ue_slurp(ue_path(OURS "/%s", file)), after);
}

static bool cgroup_remove(void)
{
	return ue_poll(rmdir(OURS) == 0 || errno == ENOENT);
}

static void killed_with_parent(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* Shared between a child in the cgroup, limited to 256K more than it uses, and its parent. */
struct limited {
	int registered;
	int error;
	long before;
	bool done;
	bool lifted;
};

static int run_limited(struct limited *out, volatile uint32_t *w, volatile bool *on)
{
	static char limit[32];
	int fd;

	/* No process in the cgroup can be killed: a charge over the limit fails. */
	if (ue_put("/proc/self/oom_score_adj", "-1000") || ue_put(OURS "/cgroup.procs", "0"))
		return 1;
	fd = ue_open();
	if (fd < 0 || ue_reg(fd, &w[0], 0, "trouble_mem u32 a"))
		return 2;
	/* The first call allocates a buffer. */
	cgroup_number("memory.current", "");
	/* A page fault that cannot be charged is repeated without end: none may happen. */
	if (mlockall(MCL_CURRENT))
		return 9;
	out->before = cgroup_number("memory.current", "");
	snprintf(limit, sizeof(limit), "%ld", out->before + (256 << 10));
	if (ue_put(OURS "/memory.max", limit))
		return 3;
	for (out->registered = 1; out->registered < BITS; out->registered++) {
		out->error = ue_reg(fd, &w[out->registered], 0, "trouble_mem u32 a");
		if (out->error)
			break;
	}
	__atomic_store_n(&out->done, true, __ATOMIC_RELEASE);
	if (!ue_poll(__atomic_load_n(on, __ATOMIC_ACQUIRE)))
		return 4;
	if (!ue_poll(__atomic_load_n(&out->lifted, __ATOMIC_ACQUIRE)))
		return 6;
	/* It works again as soon as memory is available. */
	for (; out->registered < BITS; out->registered++) {
		if (ue_reg(fd, &w[out->registered], 0, "trouble_mem u32 a"))
			return 7;
	}
	return bits_on(w, BITS) == BITS ? 0 : 8;
}

/*
 * Fails if a registration that gets no memory returns another error or leaves a bit, if
 * an existing bit misses a switch, or if registrations are not charged to the cgroup.
 */
TEST_F_TIMEOUT(trouble, registrations_in_a_cgroup_at_its_limit, 240)
{
	struct limited *out = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	volatile uint32_t *w = words(BITS, MAP_SHARED);
	volatile bool *on = (bool *)(out + 1);
	long charged;
	int status;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, (void *)out);
	ASSERT_TRUE(w && cgroup_make());
	pid = fork();
	if (!pid) {
		killed_with_parent();
		_exit(run_limited(out, w, on));
	}
	ASSERT_LT(0, pid);
	EXPECT_TRUE(ue_poll_ms(__atomic_load_n(&out->done, __ATOMIC_ACQUIRE), 60000));
	charged = cgroup_number("memory.current", "") - out->before;
	TH_LOG("%d registered, then %d; %ld bytes charged", out->registered, out->error, charged);
	EXPECT_EQ(-ENOMEM, out->error);
	EXPECT_GT(BITS, out->registered);
	EXPECT_LT(0, charged);
	EXPECT_EQ(0, ue_enable("trouble_mem", true));
	__atomic_store_n(on, true, __ATOMIC_RELEASE);
	/* The refused registration has left no bit. */
	EXPECT_TRUE(ue_poll(bits_on(w, BITS) == out->registered));
	EXPECT_EQ(0, ue_put(OURS "/memory.max", "max"));
	__atomic_store_n(&out->lifted, true, __ATOMIC_RELEASE);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, ue_enable("trouble_mem", false));
	EXPECT_TRUE(cgroup_remove());
	EXPECT_TRUE(ue_gone("trouble_mem"));
}

/* A child that has the bits of its parent, and takes one away. */
static int run_unregister(int fd, volatile uint32_t *w, volatile int *step)
{
	if (ue_put("/proc/self/oom_score_adj", "-1000") || ue_put(OURS "/cgroup.procs", "0"))
		return 1;
	/* Memory charged to the cgroup, above the limits set below. */
	if (!words(2 << 20, MAP_PRIVATE) || mlockall(MCL_CURRENT))
		return 2;
	__atomic_store_n(&step[0], 1, __ATOMIC_RELEASE);
	if (!ue_poll(__atomic_load_n(&step[1], __ATOMIC_ACQUIRE)))
		return 3;
	step[2] = ue_unreg(fd, &w[BITS - 1], 0);
	__atomic_store_n(&step[0], 2, __ATOMIC_RELEASE);
	return step[2] ? 4 : 0;
}

static pid_t start_unregister(int fd, volatile uint32_t *w, volatile int *step)
{
	pid_t pid;

	memset((void *)step, 0, 3 * sizeof(*step));
	pid = fork();
	if (!pid) {
		killed_with_parent();
		_exit(run_unregister(fd, w, step));
	}
	return pid > 0 && ue_poll(__atomic_load_n(&step[0], __ATOMIC_ACQUIRE)) ? pid : -1;
}

/*
 * Fails if unregistering a bit that is shared with the parent needs memory that is not
 * available.
 */
TEST_F_TIMEOUT(trouble, unregister_in_a_cgroup_at_its_limit, 240)
{
	volatile int *step = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	volatile uint32_t *w = words(BITS, MAP_SHARED);
	int status;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, (void *)step);
	ASSERT_TRUE(w && cgroup_make());
	for (int i = 0; i < BITS; i++) {
		ASSERT_EQ(0, ue_reg(self->fd, &w[i], 0, "trouble_unreg u32 a"));
	}
	pid = start_unregister(self->fd, w, step);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, ue_put(OURS "/memory.max", "1048576"));
	__atomic_store_n(&step[1], 1, __ATOMIC_RELEASE);
	EXPECT_TRUE(ue_poll_ms(__atomic_load_n(&step[0], __ATOMIC_ACQUIRE) == 2, 6 * UE_PATIENCE));
	EXPECT_EQ(0, step[2]);
	EXPECT_EQ(0, ue_put(OURS "/memory.max", "max"));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_TRUE(cgroup_remove());
}

/*
 * Fails if a child that is killed for the memory that unregistering takes gets all of it, above
 * the limit of its cgroup: many children could exceed it by as much each.
 */
TEST_F_TIMEOUT(trouble, unregister_of_a_killed_child, 240)
{
	volatile int *step = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	volatile uint32_t *w = words(BITS, MAP_SHARED);
	long limit, peak;
	char text[32];
	int status;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, (void *)step);
	ASSERT_TRUE(w && cgroup_make());
	for (int i = 0; i < BITS; i++) {
		ASSERT_EQ(0, ue_reg(self->fd, &w[i], 0, "trouble_killed u32 a"));
	}
	pid = fork();
	if (!pid) {
		killed_with_parent();
		if (ue_put(OURS "/cgroup.procs", "0"))
			_exit(1);
		__atomic_store_n(&step[0], 1, __ATOMIC_RELEASE);
		if (!ue_poll(__atomic_load_n(&step[1], __ATOMIC_ACQUIRE)))
			_exit(2);
		_exit(ue_unreg(self->fd, &w[0], 0) ? 3 : 0);
	}
	ASSERT_LT(0, pid);
	ASSERT_TRUE(ue_poll(__atomic_load_n(&step[0], __ATOMIC_ACQUIRE)));
	limit = cgroup_number("memory.current", "") + (256 << 10);
	snprintf(text, sizeof(text), "%ld", limit);
	ASSERT_EQ(0, ue_put(OURS "/memory.max", text));
	__atomic_store_n(&step[1], 1, __ATOMIC_RELEASE);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	peak = cgroup_number("memory.peak", "");
	TH_LOG("status %x, limit %ld, peak %ld", status, limit, peak);
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	EXPECT_LT(0, peak);
	/* A copy of the bits takes 1.8 MiB. */
	EXPECT_GT(limit + (512 << 10), peak);
	/* The parent has its bits as before. */
	EXPECT_EQ(0, ue_enable("trouble_killed", true));
	EXPECT_TRUE(ue_poll(bits_on(w, BITS) == BITS));
	EXPECT_TRUE(cgroup_remove());
}

/*
 * Fails if a process that is slowed down, as its cgroup has more memory than it should, holds a
 * lock at that time that a switch, or the work item that writes its words, takes.
 */
TEST_F_TIMEOUT(trouble, words_of_a_cgroup_above_memory_high, 240)
{
	volatile int *step = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	volatile uint32_t *w = words(BITS, MAP_SHARED), *own = words(BITS, MAP_SHARED);
	uint64_t began;
	int status;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, (void *)step);
	ASSERT_TRUE(w && own && cgroup_make());
	for (int i = 0; i < BITS; i++) {
		ASSERT_EQ(0, ue_reg(self->fd, &w[i], 0, "trouble_high u32 a"));
	}
	/* The child has other memory there, which is seen here. */
	memset((void *)step, 0, UE_PAGE);
	pid = fork();
	if (!pid) {
		killed_with_parent();
		if (mremap((void *)own, BITS * sizeof(*own), BITS * sizeof(*own),
			   MREMAP_MAYMOVE | MREMAP_FIXED, (void *)w) == MAP_FAILED)
			_exit(9);
		_exit(run_unregister(self->fd, w, step));
	}
	ASSERT_LT(0, pid);
	ASSERT_TRUE(ue_poll(__atomic_load_n(&step[0], __ATOMIC_ACQUIRE)));
	ASSERT_EQ(0, ue_put(OURS "/memory.high", "1048576"));
	__atomic_store_n(&step[1], 1, __ATOMIC_RELEASE);
	/* The bits are being copied, slowly. */
	usleep(500000);
	EXPECT_EQ(1, __atomic_load_n(&step[0], __ATOMIC_ACQUIRE));
	began = ue_now();
	EXPECT_EQ(0, ue_enable("trouble_high", true));
	EXPECT_TRUE(ue_poll(bits_on(own, BITS - 1) == BITS - 1));
	TH_LOG("written after %llu ms", (unsigned long long)(ue_now() - began) / 1000000);
	EXPECT_GT(ue_slow_ms(1000), (ue_now() - began) / 1000000);
	EXPECT_EQ(0, ue_put(OURS "/memory.high", "max"));
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, ue_enable("trouble_high", false));
	EXPECT_TRUE(cgroup_remove());
}

/* Elements of a histogram of 10 MiB, and the size of what it takes the place of. */
#define LARGE_HIST	"hist:keys=a:size=131072"
#define LARGE_BYTES	(24 << 20)
#define LINES		32

/*
 * Enters the cgroup, with LARGE_BYTES of memory. If @full, at the limit, but these bytes
 * can be reclaimed.
 */
static int enter_with_memory(bool full)
{
	static char limit[32];
	void *p;

	/* No process in the cgroup can be killed: a charge over the limit fails. */
	if (ue_put("/proc/self/oom_score_adj", "-1000") || ue_put(OURS "/cgroup.procs", "0"))
		return 1;
	/* The first call allocates a buffer. */
	cgroup_number("memory.current", "");
	if (mlockall(MCL_CURRENT))
		return 2;
	p = mmap(NULL, LARGE_BYTES, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (p == MAP_FAILED)
		return 3;
	if (full) {
		snprintf(limit, sizeof(limit), "%ld", cgroup_number("memory.current", ""));
		if (madvise(p, LARGE_BYTES, MADV_FREE) || ue_put(OURS "/memory.max", limit))
			return 4;
	}
	return 0;
}

/* Says that the child is ready, and waits for its parent. */
static bool wait_for_parent(volatile int *step)
{
	__atomic_store_n(&step[0], 1, __ATOMIC_RELEASE);
	return ue_poll(__atomic_load_n(&step[1], __ATOMIC_ACQUIRE));
}

/* A child that creates an event which a line adds a histogram to. */
static int run_line(const char *event, bool full, volatile int *step)
{
	volatile uint32_t *w = words(UE_PAGE / sizeof(uint32_t), MAP_PRIVATE);
	int fd = ue_open(), bad = !w || fd < 0 ? 6 : enter_with_memory(full);

	if (bad)
		return bad;
	if (!wait_for_parent(step))
		return 5;
	step[2] = ue_reg(fd, w, 0, ue_path("%s u32 a", event));
	__atomic_store_n(&step[0], 2, __ATOMIC_RELEASE);
	/* Until it is killed. */
	for (;;)
		pause();
}

static pid_t start_line(const char *event, bool full, volatile int *step)
{
	pid_t pid;

	memset((void *)step, 0, 3 * sizeof(*step));
	pid = fork();
	if (!pid) {
		killed_with_parent();
		_exit(run_line(event, full, step));
	}
	return pid > 0 && ue_poll(__atomic_load_n(&step[0], __ATOMIC_ACQUIRE)) ? pid : -1;
}

static int histograms(const char *event)
{
	return ue_count(ue_slurp(ue_path(UE_EVENTS "/%s/trigger", event)), "hist:keys=a");
}

/*
 * Writes to the enable file of an event, which takes event_mutex, all the time until the child is
 * ready; returns the longest time in ms.
 */
static uint64_t longest_wait(volatile int *step, uint64_t limit_ms)
{
	uint64_t end = ue_now() + limit_ms * 1000000, longest = 0;

	while (__atomic_load_n(&step[0], __ATOMIC_ACQUIRE) != 2) {
		uint64_t began = ue_now(), took;

		if (began > end || ue_enable("trouble_other", true))
			return UINT64_MAX;
		took = ue_now() - began;
		if (took > longest)
			longest = took;
		usleep(1000);
	}
	return longest / 1000000;
}

/*
 * Fails if others wait for a process that is slowed down, as its cgroup has more memory than it
 * should, while it gets a histogram by a line of set_user_event.
 */
TEST_F_TIMEOUT(trouble, histogram_of_a_line_above_memory_high, 240)
{
	volatile int *step = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	uint64_t longest;
	long before;
	int status;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, (void *)step);
	ASSERT_TRUE(cgroup_make());
	ASSERT_EQ(0, ue_put(UE_DYN, "u:trouble_other u32 a"));
	/* Small ones, whose memory is allocated in a way that waits for the cgroup. */
	for (int i = 0; i < LINES; i++)
		ASSERT_EQ(0, ue_put(UE_TRACEFS "/set_user_event",
				    ue_path("trouble_line hist:keys=a if a != %d", i)));
	pid = start_line("trouble_line", false, step);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, ue_put(OURS "/memory.high", "1048576"));
	before = cgroup_number("memory.current", "");
	__atomic_store_n(&step[1], 1, __ATOMIC_RELEASE);
	longest = longest_wait(step, 6 * UE_PATIENCE);
	TH_LOG("others have waited for up to %lu ms", (unsigned long)longest);
	EXPECT_GT(ue_slow_ms(1000), longest);
	EXPECT_EQ(0, step[2]);
	EXPECT_EQ(LINES, histograms("trouble_line"));
	EXPECT_LT(before + (2 << 20), cgroup_number("memory.current", ""));
	EXPECT_EQ(0, ue_put(OURS "/memory.high", "max"));
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(0, ue_trunc(UE_TRACEFS "/set_user_event"));
	EXPECT_TRUE(ue_gone("trouble_line"));
	/* And its charge with it. */
	EXPECT_TRUE(ue_poll(cgroup_number("memory.current", "") < 2 << 20));
	EXPECT_TRUE(cgroup_remove());
}

/*
 * Fails if a process at the limit of its cgroup does not get a histogram by a line of
 * set_user_event though other memory of the cgroup can be reclaimed, or if it gets one beyond
 * the limit.
 */
TEST_F_TIMEOUT(trouble, histogram_of_a_line_at_the_limit, 240)
{
	volatile int *step = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	const char *set = UE_TRACEFS "/set_user_event";
	uint64_t longest;
	int status;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, (void *)step);
	ASSERT_EQ(0, ue_put(UE_DYN, "u:trouble_other u32 a"));
	ASSERT_EQ(0, ue_put(set, "trouble_room " LARGE_HIST));
	for (int full = 1; full >= 0; full--) {
		ASSERT_TRUE(cgroup_make());
		pid = start_line("trouble_room", full, step);
		ASSERT_LT(0, pid);
		if (!full)
			ASSERT_EQ(0, ue_put(OURS "/memory.max",
					    ue_path("%ld", cgroup_number("memory.current", "") + (1 << 20))));
		__atomic_store_n(&step[1], 1, __ATOMIC_RELEASE);
		longest = longest_wait(step, 6 * UE_PATIENCE);
		TH_LOG("others have waited for up to %lu ms", (unsigned long)longest);
		EXPECT_GT(ue_slow_ms(1000), longest);
		EXPECT_EQ(0, step[2]);
		EXPECT_EQ(full, histograms("trouble_room"));
		EXPECT_EQ(!full, ue_count(ue_slurp(set), "# failed: 1, last: -12 for trouble_room\n"));
		EXPECT_GE(cgroup_number("memory.max", ""), cgroup_number("memory.current", ""));
		kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
		if (full)
			EXPECT_EQ(0, ue_put(UE_EVENTS "/trouble_room/trigger", "!" LARGE_HIST));
		EXPECT_TRUE(ue_gone("trouble_room"));
		EXPECT_TRUE(cgroup_remove());
	}
}

/* A child that writes a line for histograms of events that exist. */
static int run_trigger(const char *file, const char *line, bool full, volatile int *step)
{
	int bad = enter_with_memory(full);

	if (bad)
		return bad;
	if (!wait_for_parent(step))
		return 5;
	step[2] = ue_put(file, line);
	__atomic_store_n(&step[0], 2, __ATOMIC_RELEASE);
	return 0;
}

static const struct {
	const char *file;
	const char *line;
	/* What the write returns if memory runs out. */
	int error;
} large_lines[] = {
	{ UE_EVENTS "/trouble_room/trigger", LARGE_HIST, -ENOMEM },
	{ UE_TRACEFS "/set_user_event", "trouble_room " LARGE_HIST, 0 },
	/* It adds a histogram to the other event as well. */
	{ UE_EVENTS "/trouble_room/trigger",
	  "hist:keys=common_stacktrace:onmatch(user_events.from).trace(tsyn,user_events.from.b)",
	  -ENOMEM },
};

/*
 * Fails if others wait for the writer of a line for a histogram whose cgroup is at its limit: for
 * reclaim, and as it is above memory.high; if the writer does not get the histogram though other
 * memory of the cgroup can be reclaimed; if it gets one beyond the limit; or if a failure that is
 * mended by waiting is in error_log.
 */
TEST_F_TIMEOUT(trouble, writer_of_a_trigger_at_the_limit, 280)
{
	volatile int *step = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	const char *set = UE_TRACEFS "/set_user_event", *from = UE_EVENTS "/from/trigger";
	const char *log = UE_TRACEFS "/error_log";

	ASSERT_NE(MAP_FAILED, (void *)step);
	ASSERT_EQ(0, ue_put(UE_DYN, "u:trouble_other u32 a"));
	ASSERT_EQ(0, ue_put(UE_DYN, "u:trouble_room u32 a"));
	ASSERT_EQ(0, ue_put(UE_DYN, "u:from u32 a; u32 b"));
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/synthetic_events", "tsyn u32 b"));
	ASSERT_EQ(0, ue_put(from, "hist:keys=common_stacktrace:size=128"));
	ue_trunc(log);

	for (size_t i = 0; i < 2 * ARRAY_SIZE(large_lines); i++) {
		const char *file = large_lines[i / 2].file, *line = large_lines[i / 2].line;
		const char *remove = strstr(line, "hist:");
		bool full = i % 2 == 0;
		int error = full ? 0 : large_lines[i / 2].error, status;
		uint64_t longest;
		pid_t pid;

		ASSERT_TRUE(cgroup_make());
		memset((void *)step, 0, 3 * sizeof(*step));
		pid = fork();
		if (!pid) {
			killed_with_parent();
			_exit(run_trigger(file, line, full, step));
		}
		ASSERT_LT(0, pid);
		ASSERT_TRUE(ue_poll(__atomic_load_n(&step[0], __ATOMIC_ACQUIRE)));
		/* Without reclaim: the writer stays at its limit. */
		if (full) {
			ASSERT_EQ(0, ue_put_flags(OURS "/memory.high", "1048576", O_NONBLOCK));
		} else {
			ASSERT_EQ(0, ue_put(OURS "/memory.max",
					    ue_path("%ld", cgroup_number("memory.current", "") + (128 << 10))));
		}
		__atomic_store_n(&step[1], 1, __ATOMIC_RELEASE);
		longest = longest_wait(step, 6 * UE_PATIENCE);
		TH_LOG("%s %s: others have waited for up to %lu ms", full ? "room" : "no room", line,
		       (unsigned long)longest);
		EXPECT_GT(ue_slow_ms(1000), longest);
		EXPECT_EQ(error, step[2]);
		EXPECT_EQ(full, ue_count(ue_slurp(UE_EVENTS "/trouble_room/trigger"), "hist:keys="));
		EXPECT_EQ(0, ue_count(ue_slurp(log), "Command:")) TH_LOG("%s", ue_slurp(log));
		if (!error) {
			EXPECT_EQ(!full, ue_count(ue_slurp(set), "# failed: 1, last: -12 for trouble_room\n"));
		}
		EXPECT_GE(cgroup_number("memory.max", ""), cgroup_number("memory.current", ""));
		EXPECT_EQ(0, ue_put(OURS "/memory.high", "max"));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status);
		if (full) {
			EXPECT_EQ(0, ue_put(UE_EVENTS "/trouble_room/trigger", ue_path("!%s", remove)));
		}
		EXPECT_EQ(0, ue_trunc(set));
		EXPECT_EQ(1, ue_count(ue_slurp(from), "hist:"));
		EXPECT_TRUE(cgroup_remove());
	}
	EXPECT_EQ(0, ue_put(from, "!hist:keys=common_stacktrace:size=128"));
	EXPECT_EQ(0, ue_put(UE_TRACEFS "/synthetic_events", "!tsyn"));
}

/* The word of a process over its limit, whose page has to be faulted in again. */
static int run_without_page(volatile int *ready, volatile int *lifted)
{
	volatile uint32_t *w = words(UE_PAGE / sizeof(uint32_t), MAP_PRIVATE);
	/* No process in the cgroup can be killed: a charge over the limit fails. */
	bool bad = ue_put("/proc/self/oom_score_adj", "-1000") || ue_put(OURS "/cgroup.procs", "0");
	int fd = ue_open();

	/* Memory charged to the cgroup, above the limit set below. */
	if (bad || !w || !words(2 << 20, MAP_PRIVATE) || ue_reg(fd, w, 0, "trouble_page u32 a"))
		return 1;
	/* A page fault here that cannot be charged is repeated without end: none may happen. */
	if (mlockall(MCL_CURRENT) || munlock((void *)w, UE_PAGE) ||
	    madvise((void *)w, UE_PAGE, MADV_DONTNEED))
		return 2;
	__atomic_store_n(ready, 1, __ATOMIC_RELEASE);
	if (!ue_poll_ms(__atomic_load_n(lifted, __ATOMIC_ACQUIRE), 60000))
		return 3;
	return ue_poll(w[0] == 1) ? 0 : 4;
}

/* Fails if a word is skipped as its page cannot be allocated (update-never-lost). */
TEST_F_TIMEOUT(trouble, page_of_a_word_in_a_cgroup_at_its_limit, 240)
{
	volatile int *shared = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	long before;
	int status;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, (void *)shared);
	ASSERT_TRUE(cgroup_make());
	ASSERT_EQ(0, ue_put(UE_DYN, "u:trouble_page u32 a"));
	pid = fork();
	if (!pid) {
		killed_with_parent();
		_exit(run_without_page(&shared[0], &shared[1]));
	}
	ASSERT_LT(0, pid);
	ASSERT_TRUE(ue_poll(__atomic_load_n(&shared[0], __ATOMIC_ACQUIRE)));
	ASSERT_EQ(0, ue_put(OURS "/memory.max", "1048576"));
	before = cgroup_number("memory.events", "oom ");
	EXPECT_EQ(0, ue_enable("trouble_page", true));
	/* Memory had run out. */
	EXPECT_TRUE(ue_poll(cgroup_number("memory.events", "oom ") > before));
	usleep(200000);
	EXPECT_EQ(0, ue_put(OURS "/memory.max", "max"));
	__atomic_store_n(&shared[1], 1, __ATOMIC_RELEASE);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status) TH_LOG("exit %d", WEXITSTATUS(status));
	EXPECT_EQ(0, ue_enable("trouble_page", false));
	EXPECT_TRUE(cgroup_remove());
}

/* Fails if a process that is killed for memory keeps an event in use, or its bits. */
TEST_F_TIMEOUT(trouble, killed_for_memory, 240)
{
	int *ready = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, (void *)ready);
	ASSERT_TRUE(cgroup_make());
	ASSERT_EQ(0, ue_put(UE_DYN, "u:trouble_oom u32 a"));
	for (int round = 0; round < 5; round++) {
		ASSERT_EQ(0, ue_put(OURS "/memory.max", "16777216"));
		*ready = 0;
		pid = fork();
		if (!pid) {
			volatile uint32_t *w = words(200, MAP_PRIVATE);
			int fd;

			killed_with_parent();
			if (!w || ue_put(OURS "/cgroup.procs", "0"))
				_exit(1);
			fd = ue_open();
			for (int i = 0; i < 200; i++) {
				if (ue_reg(fd, &w[i], 0, "trouble_oom u32 a"))
					_exit(2);
			}
			__atomic_store_n(ready, 1, __ATOMIC_RELEASE);
			memset((void *)words(16 << 20, MAP_PRIVATE), 1, 64 << 20);
			_exit(3);
		}
		ASSERT_LT(0, pid);
		ASSERT_TRUE(ue_poll(__atomic_load_n(ready, __ATOMIC_ACQUIRE)));
		/* The switches meet the process alive, dying and dead. */
		do {
			EXPECT_EQ(0, ue_enable("trouble_oom", true));
			EXPECT_EQ(0, ue_enable("trouble_oom", false));
		} while (waitpid(pid, &status, WNOHANG) == 0);
		EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) TH_LOG("status %x", status);
	}
	EXPECT_LE(5, cgroup_number("memory.events", "oom_kill "));
	EXPECT_EQ(0, ue_del_wait(self->fd, "trouble_oom"));
	EXPECT_FALSE(ue_exists("trouble_oom"));
	EXPECT_TRUE(cgroup_remove());
}

/* An event that an instance records and counts; returns its index. */
static int counted_setup(int fd, volatile uint32_t *word, const char *event)
{
	int index = ue_reg_index(fd, word, 0, ue_path("%s u32 a", event));
	int ret = index < 0 ? index : ue_err(mkdir(INSTANCE, 0750));

	if (!ret)
		ret = ue_put(ue_path(INSTANCE "/events/user_events/%s/trigger", event), "hist:keys=a");
	if (!ret)
		ret = ue_put(ue_path(INSTANCE "/events/user_events/%s/enable", event), "1");
	return ret ?: index;
}

/* Two threads that write such an event. */
static int counted_start(struct writer w[2], int fd, volatile uint32_t *word, const char *event)
{
	int index = counted_setup(fd, word, event), ret = index < 0 ? index : 0;

	for (int i = 0; i < 2 && !ret; i++)
		ret = writer_start(&w[i], fd, index);
	return ret;
}

/* Returns the number of records they wrote, or -1 if a write failed. */
static long counted_stop(struct writer w[2])
{
	bool good = true;

	for (int i = 0; i < 2; i++) {
		writer_stop(&w[i]);
		good = good && !w[i].error && !w[i].refused;
	}
	return good ? w[0].written + w[1].written : -1;
}

/* Available memory when the load begins, in MiB. */
#define LEFT		32

/* Takes all memory, the last of it slowly, until the OOM killer ends it before all others. */
static int take_memory(volatile bool *low)
{
	long mib = number_after(ue_slurp("/proc/meminfo"), "MemAvailable:") / 1024 - LEFT;

	if (ue_put("/proc/self/oom_score_adj", "1000"))
		return 1;
	for (;; mib--) {
		char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (p == MAP_FAILED)
			return 2;
		memset(p, 1, 1 << 20);
		if (mib > 0)
			continue;
		__atomic_store_n(low, true, __ATOMIC_RELEASE);
		usleep(20000);
	}
}

static long oom_kills(void)
{
	return number_after(ue_slurp("/proc/vmstat"), "\noom_kill ");
}

/* Returns 1 if a large histogram counted right, 0 if its allocation failed, or -1. */
static int large_histogram(struct writer *w)
{
	const char *trigger = UE_EVENTS "/trouble_full/trigger";
	int ret = ue_put(trigger, LARGE_HIST);
	bool good;

	if (ret)
		return ret == -ENOMEM ? 0 : -1;
	good = writer_goes_on(w, 100) && !ue_put(trigger, LARGE_HIST ":pause") &&
	       hist_total(UE_TRACEFS, "trouble_full", "Hits: ") >= 100 &&
	       ue_poll(hist_total(UE_TRACEFS, "trouble_full", "Hits: ") ==
		       hist_sum(UE_TRACEFS, "trouble_full"));
	return !ue_put(trigger, "!" LARGE_HIST) && good ? 1 : -1;
}

/*
 * Fails if a record, a hit, a bit or a switch is lost while the machine has no memory left, if
 * a histogram that gets none leaves something, or if the OOM killer ends another process than
 * that which takes the memory.
 */
TEST_F_TIMEOUT(trouble, no_memory_left, 240)
{
	volatile bool *low = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	int status, index, registered = 0, rounds = 0, made = 0, refused = 0;
	volatile uint32_t *w = words(BITS, MAP_SHARED);
	long before = oom_kills(), written;
	struct writer writers[2];
	uint64_t began;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, (void *)low);
	ASSERT_NE(NULL, (void *)w);
	ASSERT_LE(0, before);
	index = counted_setup(self->fd, &self->w[0], "trouble_full");
	ASSERT_LE(0, index);
	ASSERT_EQ(0, ue_put(UE_DYN, "u:trouble_other u32 a"));
	pid = fork();
	if (!pid) {
		killed_with_parent();
		_exit(take_memory(low));
	}
	ASSERT_LT(0, pid);
	ASSERT_TRUE(ue_poll_ms(__atomic_load_n(low, __ATOMIC_ACQUIRE), 6 * UE_PATIENCE));
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, writer_start(&writers[i], self->fd, index));
	}
	began = ue_now();
	do {
		int ret;

		for (int i = 0; i < 50 && registered < BITS - 1; i++) {
			ret = ue_reg(self->fd, &w[registered], 0, "trouble_switch u32 a");
			EXPECT_TRUE(ret == 0 || ret == -ENOMEM) TH_LOG("%d", ret);
			if (!ret)
				registered++;
		}
		EXPECT_EQ(0, ue_enable("trouble_switch", true));
		EXPECT_TRUE(ue_poll(bits_on(w, BITS) == registered));
		EXPECT_EQ(0, ue_enable("trouble_switch", false));
		EXPECT_TRUE(ue_poll(bits_on(w, BITS) == 0));
		EXPECT_TRUE(writer_goes_on(&writers[1], 10));
		if (rounds++ % 8 == 7) {
			ret = large_histogram(&writers[0]);
			EXPECT_LE(0, ret);
			made += ret > 0;
			refused += ret == 0;
		}
		if (ue_now() > began + ue_slow_ms(30000) * 1000000)
			kill(pid, SIGTERM);
	} while (waitpid(pid, &status, WNOHANG) == 0);
	TH_LOG("%d rounds in %lu ms, %d bits, histograms: %d made, %d refused", rounds,
	       (unsigned long)((ue_now() - began) / 1000000), registered, made, refused);
	written = counted_stop(writers);
	/* By the OOM killer, and not by SIGTERM. */
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) TH_LOG("status %x", status);
	EXPECT_EQ(before + 1, oom_kills());
	ASSERT_LT(0, written);
	EXPECT_EQ(written, hist_total(INSTANCE, "trouble_full", "Hits: "));
	EXPECT_EQ(written, hist_sum(INSTANCE, "trouble_full"));
	EXPECT_EQ(0, hist_total(INSTANCE, "trouble_full", "Dropped: "));
	EXPECT_EQ(written, records_accounted(INSTANCE));
	/* With memory, all of it works. */
	ASSERT_EQ(0, writer_start(&writers[0], self->fd, index));
	EXPECT_TRUE(ue_poll((made = large_histogram(&writers[0])) != 0));
	EXPECT_EQ(1, made);
	writer_stop(&writers[0]);
	EXPECT_EQ(0, writers[0].error);
	EXPECT_EQ(0, ue_reg(self->fd, &w[registered], 1, "trouble_switch u32 a"));
	EXPECT_EQ(0, ue_enable("trouble_switch", true));
	EXPECT_TRUE(ue_poll(bits_on(w, BITS) == registered && w[registered] == 2));
	EXPECT_EQ(0, rmdir(INSTANCE));
	EXPECT_TRUE(ue_poll(self->w[0] == 0));
}

/*
 * Fails if a hit, a record or a switch is lost or counted twice while a CPU is taken
 * offline or online, or if what was counted on a CPU is left out while it is offline.
 */
TEST_F_TIMEOUT(trouble, a_cpu_leaves_and_comes_back, 240)
{
	struct writer w[2];
	long written;

	if (access(CPU1, W_OK))
		SKIP(return, "no CPU can be taken offline here");
	ASSERT_EQ(0, counted_start(w, self->fd, &self->w[0], "trouble_cpu"));
	for (int round = 0; round < 5; round++) {
		EXPECT_TRUE(writer_goes_on(&w[round & 1], 200));
		EXPECT_EQ(0, ue_put(CPU1, "0"));
		EXPECT_TRUE(writer_goes_on(&w[round & 1], 200));
		/* A switch with one CPU, in the top instance. */
		EXPECT_EQ(0, ue_enable("trouble_cpu", true));
		EXPECT_EQ(0, ue_enable("trouble_cpu", false));
		EXPECT_EQ(1, self->w[0]);
		EXPECT_EQ(0, ue_put(CPU1, "1"));
	}
	written = counted_stop(w);
	TH_LOG("%ld records", written);
	ASSERT_LT(0, written);
	EXPECT_EQ(0, ue_put(CPU1, "0"));
	EXPECT_EQ(written, hist_total(INSTANCE, "trouble_cpu", "Hits: "));
	EXPECT_EQ(written, hist_sum(INSTANCE, "trouble_cpu"));
	EXPECT_EQ(0, hist_total(INSTANCE, "trouble_cpu", "Dropped: "));
	EXPECT_EQ(written, records_accounted(INSTANCE));
	EXPECT_EQ(0, ue_put(CPU1, "1"));
	EXPECT_EQ(0, rmdir(INSTANCE));
	EXPECT_TRUE(ue_poll(self->w[0] == 0));
}

/*
 * Fails if a histogram counts a hit twice or not at all while the ring buffer is off or its
 * clock changes.
 */
TEST_F_TIMEOUT(trouble, tracing_on_and_clocks_under_hits, 240)
{
	static const char * const clocks[] = { "global", "mono", "counter", "boot", "local" };
	struct writer w[2];
	long written;

	ASSERT_EQ(0, counted_start(w, self->fd, &self->w[0], "trouble_clock"));
	for (size_t i = 0; i < 4 * ARRAY_SIZE(clocks); i++) {
		EXPECT_EQ(0, ue_put(INSTANCE "/tracing_on", "0"));
		EXPECT_TRUE(writer_goes_on(&w[i & 1], 50));
		EXPECT_EQ(0, ue_put(INSTANCE "/trace_clock", clocks[i % ARRAY_SIZE(clocks)]));
		EXPECT_EQ(0, ue_put(INSTANCE "/tracing_on", "1"));
		EXPECT_TRUE(writer_goes_on(&w[i & 1], 50));
	}
	written = counted_stop(w);
	ASSERT_LT(0, written);
	EXPECT_EQ(written, hist_total(INSTANCE, "trouble_clock", "Hits: "));
	EXPECT_EQ(written, hist_sum(INSTANCE, "trouble_clock"));
	EXPECT_EQ(0, rmdir(INSTANCE));
}

/*
 * Fails if an instance that is removed leaves the event enabled, its trigger in use, or is
 * kept by them, or if the histogram of the top instance loses a hit for it.
 */
TEST_F_TIMEOUT(trouble, instances_with_triggers_come_and_go, 240)
{
	struct writer w;
	int index = ue_reg_index(self->fd, &self->w[0], 0, "trouble_inst u32 a");

	ASSERT_LE(0, index);
	ASSERT_EQ(0, ue_put(UE_EVENTS "/trouble_inst/trigger", "hist:keys=a"));
	ASSERT_EQ(0, writer_start(&w, self->fd, index));
	for (int round = 0; round < 20; round++) {
		ASSERT_EQ(0, mkdir(INSTANCE, 0750));
		EXPECT_EQ(0, ue_put(INSTANCE "/events/user_events/trouble_inst/trigger", "hist:keys=a:vals=a"));
		EXPECT_EQ(0, ue_put(INSTANCE "/events/user_events/trouble_inst/enable", "1"));
		EXPECT_TRUE(ue_poll(hist_total(INSTANCE, "trouble_inst", "Hits: ") > 20));
		ASSERT_TRUE(ue_poll(rmdir(INSTANCE) == 0));
	}
	writer_stop(&w);
	EXPECT_EQ(0, w.error);
	EXPECT_EQ(0, w.refused);
	EXPECT_EQ(w.written, hist_total(UE_TRACEFS, "trouble_inst", "Hits: "));
	EXPECT_EQ(1, self->w[0]);
	EXPECT_EQ(0, ue_put(UE_EVENTS "/trouble_inst/trigger", "!hist:keys=a"));
	EXPECT_TRUE(ue_poll(self->w[0] == 0));
}

/*
 * Fails if a switch leaves out a process, takes longer than a second, or has not reached all of
 * them in 10 seconds.
 */
TEST_F_TIMEOUT(trouble, thousand_processes, 240)
{
	volatile uint32_t *w = words(PROCESSES, MAP_SHARED);
	int ready[2], end[2], n = 0;
	uint64_t began, switched, reached;
	char byte;

	ASSERT_NE(NULL, (void *)w);
	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, pipe(end));
	ASSERT_EQ(0, ue_put(UE_DYN, "u:trouble_many u32 a"));
	for (; n < PROCESSES; n++) {
		pid_t pid = fork();

		if (!pid) {
			/* A file of its own: that of the parent would keep the event in use. */
			int fd = ue_open();

			close(end[1]);
			byte = ue_reg(fd, &w[n], 0, "trouble_many u32 a") ? 'f' : 'r';
			if (write(ready[1], &byte, 1) != 1)
				_exit(1);
			_exit(read(end[0], &byte, 1) != 0);
		}
		ASSERT_LT(0, pid);
	}
	for (int i = 0; i < PROCESSES; i++) {
		ASSERT_EQ(1, read(ready[0], &byte, 1));
		ASSERT_EQ('r', byte);
	}
	for (int round = 0; round < 4; round++) {
		began = ue_now();
		EXPECT_EQ(0, ue_enable("trouble_many", !(round & 1)));
		switched = (ue_now() - began) / 1000000;
		EXPECT_TRUE(ue_poll(bits_on(w, PROCESSES) == (round & 1 ? 0 : PROCESSES)));
		reached = (ue_now() - began) / 1000000;
		TH_LOG("switch %d: %lu ms, all bits after %lu ms", round, (unsigned long)switched,
		       (unsigned long)reached);
		EXPECT_GT(ue_slow_ms(1000), switched);
		EXPECT_GT(ue_slow_ms(10000), reached);
	}
	close(end[1]);
	for (int i = 0; i < PROCESSES; i++) {
		int status = -1;

		ASSERT_LT(0, wait(&status));
		EXPECT_EQ(0, status);
	}
	EXPECT_EQ(0, ue_del_wait(self->fd, "trouble_many"));
}

/* The kernel's unreclaimable memory, in KiB: what events consist of. */
static long kernel_memory(void)
{
	const char *text = ue_slurp("/proc/meminfo");

	return number_after(text, "SUnreclaim:") + number_after(text, "Percpu:");
}

/* The time that this process has run, in ns: what others do on a busy machine does not count. */
static uint64_t cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* The time that it takes to create some events. */
static uint64_t make_events(int from, int to, int *error)
{
	uint64_t began = cpu_time();
	char text[64];

	for (int i = from; i < to && !*error; i++) {
		snprintf(text, sizeof(text), "u:trouble_n%d u32 a", i);
		*error = ue_put(UE_DYN, text);
	}
	return cpu_time() - began;
}

static int events_left(void)
{
	return ue_count(ue_slurp(UE_DYN), "u:trouble_");
}

/*
 * The milliseconds that deleting all dynamic events takes. What a work item still uses is deleted
 * later. UINT64_MAX if none can be deleted for as long as UE_PATIENCE.
 */
static uint64_t delete_events(void)
{
	uint64_t took = 0;
	int left, before = INT_MAX;

	while ((left = events_left())) {
		uint64_t began;

		if (left == before && !ue_poll(ue_trunc(UE_DYN) == 0 || events_left() < left))
			return UINT64_MAX;
		before = left;
		began = cpu_time();
		ue_trunc(UE_DYN);
		took += cpu_time() - began;
	}
	return took / 1000000;
}

/* As delete_events(), of this many that are created before. */
static uint64_t delete_some(struct __test_metadata *_metadata, int n)
{
	int error = 0;
	uint64_t took;

	make_events(0, n, &error);
	EXPECT_EQ(0, error);
	took = delete_events();
	EXPECT_NE(UINT64_MAX, took);
	return took;
}

/*
 * Fails if creating or deleting events is quadratic, if the lists lack one, or if their memory is
 * not freed. UE_EVENTS_N is their number.
 */
TEST_F_TIMEOUT(trouble, many_events, 1200)
{
	const char *n_text = getenv("UE_EVENTS_N");
	int n = n_text ? atoi(n_text) : 30000, error = 0;
	uint64_t first, second, few, few_after, many;
	long before, with, after;

	/* The allocations of the first events stay. */
	few = delete_some(_metadata, n / 15);
	ASSERT_TRUE(ue_reset());
	before = kernel_memory();
	first = make_events(0, n / 2, &error);
	second = make_events(n / 2, n, &error);
	ASSERT_EQ(0, error);
	with = kernel_memory();
	EXPECT_EQ(n, ue_count(ue_slurp(UE_DYN), "u:trouble_n"));
	EXPECT_EQ(n, ue_count(ue_slurp(UE_STATUS), "trouble_n"));
	many = delete_events();
	ASSERT_NE(UINT64_MAX, many);
	EXPECT_EQ(0, events_left());
	/* Nine tenths of it, some time after: it is freed after grace periods. */
	EXPECT_TRUE(ue_poll_ms((after = kernel_memory()) - before < (with - before) / 10,
			       3 * UE_PATIENCE));
	/* The machine may have become busy since the first time. */
	few_after = delete_some(_metadata, n / 15);
	if (few < few_after)
		few = few_after;
	TH_LOG("%d events: %lu + %lu ms to make, %lu ms to delete; %d: %lu ms to delete", n,
	       (unsigned long)(first / 1000000), (unsigned long)(second / 1000000), (unsigned long)many,
	       n / 15, (unsigned long)few);
	EXPECT_GT(3 * first, second);
	EXPECT_GT(3 * 15 * (few + 10), many);
	TH_LOG("KiB before, with and after them: %ld %ld %ld", before, with, after);
}

/*
 * Fails if deleting events is quadratic in an instance that was created after them: it has them the
 * other way round.
 */
TEST_F_TIMEOUT(trouble, many_events_before_an_instance, 1200)
{
	const char *n_text = getenv("UE_EVENTS_N");
	int n = (n_text ? atoi(n_text) : 30000) / 2, error = 0;
	uint64_t after, before;

	/* As many that are created in the instance. */
	ASSERT_EQ(0, mkdir(INSTANCE, 0750));
	after = delete_some(_metadata, n);
	ASSERT_EQ(0, rmdir(INSTANCE));
	make_events(0, n, &error);
	ASSERT_EQ(0, error);
	ASSERT_EQ(0, mkdir(INSTANCE, 0750));
	before = delete_events();
	ASSERT_NE(UINT64_MAX, before);
	TH_LOG("%d events before the instance: %lu ms to delete; after it: %lu ms", n,
	       (unsigned long)before, (unsigned long)after);
	EXPECT_GT(3 * (after + 10), before);
	ASSERT_EQ(0, rmdir(INSTANCE));
}

/*
 * Fails if the 65,535 types of events can be exceeded, if another error than that of C is
 * returned when they run out, or if a deleted event keeps its type.
 */
TEST_F_TIMEOUT(trouble, types_of_events_run_out, 1200)
{
	const char *max = "/proc/sys/kernel/user_events_max";
	int error = 0, made;

	ASSERT_EQ(0, ue_put(max, "100000"));
	make_events(0, 70000, &error);
	made = ue_count(ue_slurp(UE_DYN), "u:trouble_n");
	TH_LOG("%d events, then %d", made, error);
	EXPECT_EQ(-ENODEV, error);
	EXPECT_LT(60000, made);
	EXPECT_GT(65536, made);
	/* The refused one has left nothing; one type is enough for one event. */
	EXPECT_EQ(-ENODEV, ue_put(UE_DYN, "u:trouble_last u32 a"));
	EXPECT_FALSE(ue_exists("trouble_last"));
	EXPECT_EQ(0, ue_del_wait(self->fd, "trouble_n7"));
	EXPECT_EQ(0, ue_put(UE_DYN, "u:trouble_last u32 a"));
	EXPECT_TRUE(ue_exists("trouble_last"));
	EXPECT_EQ(-ENODEV, ue_put(UE_DYN, "u:trouble_more u32 a"));
	EXPECT_NE(UINT64_MAX, delete_events());
	EXPECT_EQ(0, ue_put(max, "32768"));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "trouble_last u32 a"));
	EXPECT_EQ(0, ue_enable("trouble_last", true));
	EXPECT_EQ(1, self->w[0]);
}

static int as_nobody(int fd, volatile uint32_t *w, bool namespaced)
{
	struct user_reg reg = {};

	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
		return 1;
	/* All capabilities, but in a namespace: they are not those that are asked for. */
	if (namespaced && unshare(CLONE_NEWUSER))
		return 2;
	if (ue_open() != -EACCES || open(UE_STATUS, O_RDONLY) >= 0)
		return 3;
	if (ue_reg_flags(fd, &w[0], 0, USER_EVENT_REG_PERSIST, "trouble_p u32 a") != -EPERM)
		return 4;
	if (ue_enable("trouble_kept", true) != -EACCES)
		return 5;
	/* A persistent event can be used, but not deleted. */
	if (ue_reg_flags(fd, &w[0], 0, 0, "trouble_own u32 a") || ue_unreg(fd, &w[0], 0))
		return 6;
	if (ue_del(fd, "trouble_kept") != -EPERM)
		return 7;
	/* Memory of the kernel is no place for a bit. */
	reg.size = sizeof(reg);
	reg.enable_size = 4;
	reg.enable_addr = 0xffff888000000000ull;
	reg.name_args = (uintptr_t)"trouble_own u32 a";
	if (ue_err(ioctl(fd, DIAG_IOCSREG, &reg)) != -EFAULT)
		return 8;
	return 0;
}

/*
 * Fails if a program without privileges that has got the file open can create or delete a
 * persistent event, or if capabilities in a user namespace of its own are enough for that.
 */
TEST_F(trouble, nobody_with_the_file_open)
{
	ASSERT_EQ(0, ue_put(UE_DYN, "u:trouble_kept u32 a"));
	for (int namespaced = 0; namespaced < 2; namespaced++) {
		pid_t pid = fork();
		int status = -1;

		if (!pid)
			_exit(as_nobody(self->fd, self->w, namespaced));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status) TH_LOG("namespace: %d, step %d", namespaced, WEXITSTATUS(status));
	}
	EXPECT_TRUE(ue_exists("trouble_kept"));
	EXPECT_FALSE(ue_exists("trouble_p"));
}

/* A random text of the letters that registrations consist of. */
static const char *random_desc(unsigned int *seed)
{
	static const char * const bits[] = {
		"trouble_f", " ", "u32 a", ";", "char[16] b", "__data_loc char[] s", "struct x y 8", "\xff", "unsigned",
		"  ", "u64", "[", "]", "char[4294967295] c", "__rel_loc u8[] r", "\t", "0", "trouble_g u32 a",
	};
	static char text[512];

	text[0] = '\0';
	for (int i = rand_r(seed) % 8; i >= 0; i--)
		strcat(text, bits[rand_r(seed) % ARRAY_SIZE(bits)]);
	return text;
}

/*
 * Adds to @did how many calls of each kind succeeded; none may end the program. Deleting
 * does not succeed: the file itself has the events in use.
 */
static void fuzz(int fd, volatile uint32_t *w, unsigned int seed, int calls, unsigned long *did)
{
	char record[256] = {};

	for (int i = 0; i < calls; i++) {
		unsigned int r = rand_r(&seed), off = (r >> 8) % (UE_PAGE / 4);
		const volatile void *at = r & 0x10000 ? (char *)&w[off] + (r >> 20) % 8 : (void *)(uintptr_t)(r * 0x10001ull);
		long ret;

		switch (r % 6) {
		case 0:
			if (r & 64)
				ret = ue_reg(fd, &w[off], r >> 10 & 31, random_desc(&seed));
			else
				ret = ue_reg_full(fd, at, r >> 4 & 63, (r >> 10) % 10, r >> 24 & 7,
						  random_desc(&seed), NULL);
			break;
		case 1:
			ret = ue_reg(fd, &w[off % 64], r >> 4 & 31, r & 64 ? "trouble_f u32 a" : "trouble_g u32 a");
			break;
		case 2:
			ret = ue_unreg(fd, r & 64 ? &w[off % 64] : at, r >> 4 & 31);
			break;
		case 3:
			ret = ue_del(fd, r & 64 ? "trouble_f" : random_desc(&seed));
			break;
		case 4:
			ret = ue_writev(fd, (int)(r >> 4) % 8 - 1, record, (r >> 8) % sizeof(record));
			break;
		default:
			ret = ue_err(ioctl(fd, r & 64 ? DIAG_IOCSREG : rand_r(&seed), r & 128 ? record : (void *)at));
			break;
		}
		did[r % 6] += ret >= 0;
		/*
		 * The words that the kernel writes are memory of the program as
		 * well.
		 */
		if (r % 512 == 0) {
			int status;
			pid_t pid = fork();

			if (!pid) {
				fuzz(fd, w, r, 40, did);
				_exit(0);
			}
			waitpid(pid, &status, 0);
		}
	}
}

/*
 * Fails if a program without privileges can keep an event, or the machine, beyond its end:
 * the guest is also searched for reports of the kernel.
 */
TEST_F_TIMEOUT(trouble, fuzzed_by_nobody, 240)
{
	static const char * const what[] = { "texts", "registrations", "unregistrations", "deletions", "writes", "other" };
	unsigned long *did = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const char *seed_text = getenv("UE_SEED"), *calls = getenv("UE_CALLS");
	unsigned int seed = seed_text ? atoi(seed_text) : 1;
	pid_t pid[2];

	ASSERT_NE(MAP_FAILED, (void *)did);
	for (int i = 0; i < 2; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			int fd = ue_open();

			if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
				_exit(1);
			fuzz(fd, self->w, seed + i, calls ? atoi(calls) : 5000, did);
			_exit(0);
		}
		ASSERT_LT(0, pid[i]);
	}
	for (int i = 0; i < 2; i++) {
		int status = -1;

		/* Existing events are enabled, so that they are recorded. */
		while (!waitpid(pid[i], &status, WNOHANG))
			ue_put(UE_EVENTS "/enable", "1");
		EXPECT_EQ(0, status);
	}
	ue_trunc(UE_TRACEFS "/set_event");
	for (size_t i = 0; i < ARRAY_SIZE(what); i++)
		TH_LOG("%s: %lu succeeded", what[i], did[i]);
	/* A fuzzer that is refused everything shows nothing. */
	EXPECT_LT(0, did[0]);
	EXPECT_LT(0, did[1]);
	EXPECT_LT(0, did[2]);
	EXPECT_LT(0, did[4]);
	EXPECT_TRUE(ue_poll(ue_count(ue_slurp(UE_DYN), "u:") == 0)) TH_LOG("left: %s", ue_slurp(UE_DYN));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "trouble_after u32 a"));
	EXPECT_EQ(0, ue_enable("trouble_after", true));
	EXPECT_EQ(1, self->w[0]);
}

TEST_HARNESS_MAIN
