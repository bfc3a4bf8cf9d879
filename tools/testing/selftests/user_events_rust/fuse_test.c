// SPDX-License-Identifier: GPL-2.0
/*
 * Enable words in a file of a FUSE server: their pages are there when the server has answered.
 *
 * The cases of the fixture dev fail on the C implementation: stuck-memory in
 * Documentation/trace/rust/deviations.rst.
 */
#define _GNU_SOURCE
#include "kselftest_harness.h"
#include "fuse.h"

UE_FIXTURE(fuse)
UE_FIXTURE(dev)

/* What the processes of a case tell each other. */
struct told {
	/* Number of words that are registered, and one more: their pages are not in memory. */
	volatile int ready;
	/* What the owner of the words is to do. */
	volatile int go;
	/* Number of words that are set. */
	volatile int set;
	/* The word of the other process, or less than 0. */
	volatile int other;
	volatile int results[3];
};

enum { WAIT, COUNT, TRY, TRIED };

struct held {
	struct fuse f;
	struct told *told;
	/* The process with words in the file, and one with a word in its own memory. */
	pid_t owner, other;
	int fd;
};

/* One in each page. */
static volatile uint32_t *word_of(char *m, int i)
{
	return (void *)(m + i * sysconf(_SC_PAGESIZE));
}

/* Removes the pages from memory. Returns true once none is left. */
static bool is_evicted(int file, char *m, int n)
{
	static unsigned char there[FUSE_PAGES];
	size_t len = n * sysconf(_SC_PAGESIZE);

	if (madvise(m, len, MADV_DONTNEED) || fsync(file) ||
	    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) || mincore(m, len, there))
		return false;
	for (int i = 0; i < n; i++) {
		if (there[i] & 1)
			return false;
	}
	return true;
}

static int count_set(char *m, int n)
{
	int set = 0;

	for (int i = 0; i < n; i++)
		set += *word_of(m, i) == 1;
	return set;
}

/* Registers the words. The page after theirs is left for one more. */
static int be_owner(struct held *h, const char *desc, int n)
{
	int file = open(h->f.file, O_RDWR | O_CLOEXEC), fd = ue_open();
	struct told *told = h->told;
	char *m;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (file < 0 || fd < 0)
		return 1;
	m = mmap(NULL, fuse_size(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (m == MAP_FAILED)
		return 2;
	for (int i = 0; i < n; i++) {
		if (ue_reg(fd, word_of(m, i), 0, desc))
			return 3;
		told->ready++;
		/* With many dirty pages of a file like this a task has to wait. */
		if (i % 64 == 63)
			fsync(file);
	}
	if (!ue_poll(is_evicted(file, m, n)))
		return 4;
	close(file);
	told->ready++;
	while (told->go == WAIT)
		usleep(500);
	while (told->go == COUNT) {
		told->set = count_set(m, n);
		usleep(500);
	}
	told->results[0] = ue_reg(fd, word_of(m, n), 0, desc);
	told->results[1] = ue_unreg(fd, word_of(m, 0), 0);
	told->results[2] = ue_unreg(fd, word_of(m, 0), 0);
	told->go = TRIED;
	for (;;)
		pause();
}

static int be_other(struct told *told, const char *desc)
{
	static volatile uint32_t word;
	int fd = ue_open();

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fd < 0 || ue_reg(fd, &word, 0, desc))
		return 1;
	for (;;) {
		told->other = word;
		usleep(500);
	}
}

/* Switches an event. */
static int switch_in_time(const char *event, bool on)
{
	uint64_t began = ue_now();
	int ret = ue_enable(event, on);

	if (!ret && ue_now() - began > ue_slow_ms(1000) * 1000000)
		ret = -ETIME;
	return ret;
}

/* Starts the server, and the process that registers words in its file. */
static void start_owner(struct __test_metadata *_metadata, struct held *h, bool answers,
			const char *desc, int n)
{
	ASSERT_EQ(0, fuse_start(&h->f));
	h->f.shared->answers = answers;
	h->told = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)h->told);
	h->told->set = h->told->other = -1;
	h->owner = fork();
	if (!h->owner)
		_exit(be_owner(h, desc, n));
	ASSERT_LT(0, h->owner);
}

/* Starts all, and registers a bit of this process. */
static void start(struct __test_metadata *_metadata, struct held *h, volatile uint32_t *w,
		  const char *event, int n)
{
	char desc[64];
	int status = -1;

	snprintf(desc, sizeof(desc), "%s u32 a", event);
	/* It stays until it is deleted. */
	ASSERT_EQ(0, ue_put(UE_DYN, ue_path("u:%s", desc)));
	start_owner(_metadata, h, true, desc, n);
	h->other = fork();
	if (!h->other)
		_exit(be_other(h->told, desc));
	ASSERT_LT(0, h->other);
	ASSERT_TRUE(ue_comes_to(&h->told->ready, n + 1)) {
		waitpid(h->owner, &status, WNOHANG);
		TH_LOG("%d of %d words, status 0x%x", h->told->ready, n, status);
	}
	ASSERT_TRUE(ue_poll(h->told->other == 0));
	h->fd = ue_open();
	ASSERT_LE(0, h->fd);
	ASSERT_EQ(0, ue_reg(h->fd, w, 0, desc));
	/* A work item writes it. */
	ASSERT_EQ(0, madvise((void *)w, UE_PAGE, MADV_DONTNEED));
}

/* Enables the event while no READ is answered. What needs none is soon done. */
static void enable_unanswered(struct __test_metadata *_metadata, struct held *h,
			      volatile uint32_t *w, const char *event)
{
	int fd;

	h->f.shared->answers = 0;
	EXPECT_EQ(0, switch_in_time(event, true));
	EXPECT_TRUE(ue_poll_ms(h->told->other == 1, ue_slow_ms(1000)));
	EXPECT_TRUE(ue_poll_ms(w[0] == 1, ue_slow_ms(1000)));
	ASSERT_TRUE(ue_poll(h->f.shared->held > 0));

	/* Other work of the kernel: the removal of an event without uses. */
	fd = ue_open();
	ASSERT_EQ(0, ue_reg(fd, w, 1, "sm_fuse_goes u32 a"));
	EXPECT_EQ(0, ue_unreg(fd, w, 1));
	close(fd);
	EXPECT_TRUE(ue_poll_ms(!ue_exists("sm_fuse_goes"), ue_slow_ms(3000)));

	EXPECT_EQ(0, switch_in_time(event, false));
	EXPECT_TRUE(ue_poll_ms(h->told->other == 0 && w[0] == 0, ue_slow_ms(1000)));
	EXPECT_EQ(0, switch_in_time(event, true));
	EXPECT_TRUE(ue_poll_ms(h->told->other == 1 && w[0] == 1, ue_slow_ms(1000)));
	EXPECT_LT(0, h->f.shared->held);
}

/* Lets the READs be answered: all words soon have the state of the event. */
static void answer(struct __test_metadata *_metadata, struct held *h, const char *event, int n)
{
	h->f.shared->answers = 1;
	EXPECT_TRUE(ue_poll(!h->f.shared->held));
	h->told->go = COUNT;
	EXPECT_TRUE(ue_comes_to(&h->told->set, n)) TH_LOG("%d words are set", h->told->set);
	EXPECT_EQ(0, ue_enable(event, false));
	EXPECT_TRUE(ue_comes_to(&h->told->set, 0)) TH_LOG("%d words are set", h->told->set);
}

/* Kills a process. Returns true if it ends soon. */
static bool ends(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	return ue_poll_ms(waitpid(pid, &status, WNOHANG) == pid, ue_slow_ms(1000));
}

/* Ends all uses of the event but those of the owner, and deletes it. */
static void end_others(struct __test_metadata *_metadata, struct held *h, volatile uint32_t *w,
		       const char *event)
{
	int fd = ue_open();

	EXPECT_EQ(0, switch_in_time(event, false));
	EXPECT_TRUE(ends(h->other));
	EXPECT_EQ(0, ue_unreg(h->fd, w, 0));
	close(h->fd);
	EXPECT_EQ(0, ue_del_wait(fd, event));
	close(fd);
}

TEST_F(fuse, late_answer)
{
	struct held h = {};

	NEED_FUSE();
	start(_metadata, &h, self->w, "sm_fuse", 1);
	enable_unanswered(_metadata, &h, self->w, "sm_fuse");
	EXPECT_EQ(1, h.f.shared->held);
	answer(_metadata, &h, "sm_fuse", 1);
	EXPECT_TRUE(ends(h.owner));
	end_others(_metadata, &h, self->w, "sm_fuse");
	fuse_stop(&h.f);
}

/* The page of a word will never be there. */
TEST_F(fuse, dead_server)
{
	struct held h = {};

	NEED_FUSE();
	start(_metadata, &h, self->w, "sm_fuse_dead", 1);
	enable_unanswered(_metadata, &h, self->w, "sm_fuse_dead");
	fuse_kill(&h.f);
	for (int on = 0; on < 2; on++) {
		EXPECT_EQ(0, switch_in_time("sm_fuse_dead", on));
		EXPECT_TRUE(ue_poll_ms(h.told->other == on && self->w[0] == on,
				       ue_slow_ms(1000)));
	}
	h.told->go = TRY;
	EXPECT_TRUE(ue_poll(h.told->go == TRIED));
	/* C returns ENOMEM if a word cannot be written. */
	EXPECT_EQ(ue_is_rust() ? -EFAULT : -ENOMEM, h.told->results[0]);
	/* It cannot be cleared, and is not followed any more. */
	EXPECT_EQ(-EFAULT, h.told->results[1]);
	EXPECT_EQ(-ENOENT, h.told->results[2]);
	EXPECT_TRUE(ends(h.owner));
	end_others(_metadata, &h, self->w, "sm_fuse_dead");
	fuse_stop(&h.f);
}

/* A killed process ends at once, but its address space only when the page is there. */
TEST_F(fuse, killed_process)
{
	struct held h = {};

	NEED_FUSE();
	start(_metadata, &h, self->w, "sm_fuse_killed", 1);
	enable_unanswered(_metadata, &h, self->w, "sm_fuse_killed");
	EXPECT_TRUE(ends(h.owner));
	EXPECT_EQ(1, h.f.shared->held);
	for (int on = 0; on < 2; on++) {
		EXPECT_EQ(0, switch_in_time("sm_fuse_killed", on));
		EXPECT_TRUE(ue_poll_ms(h.told->other == on && self->w[0] == on,
				       ue_slow_ms(1000)));
	}
	h.f.shared->answers = 1;
	EXPECT_TRUE(ue_poll(!h.f.shared->held));
	end_others(_metadata, &h, self->w, "sm_fuse_killed");
	fuse_stop(&h.f);
}

/* A process that registers waits for the page of its word; others do not wait for it. */
TEST_F(dev, stuck_memory__fuse_registration)
{
	struct held h = {};
	int status = -1;
	bool ended;
	pid_t pid;

	NEED_FUSE();
	ASSERT_EQ(0, ue_put(UE_DYN, "u:sm_fuse_there u32 a"));
	start_owner(_metadata, &h, false, "sm_fuse_reg u32 a", 1);
	ASSERT_TRUE(ue_poll(h.f.shared->held > 0));
	EXPECT_EQ(0, h.told->ready);
	pid = fork();
	if (!pid) {
		static uint32_t word;
		int fd = ue_open();

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(ue_reg(fd, &word, 0, "sm_fuse_other u32 a") || ue_unreg(fd, &word, 0) ||
		      switch_in_time("sm_fuse_there", true) ||
		      switch_in_time("sm_fuse_there", false));
	}
	ASSERT_LT(0, pid);
	ended = ue_poll_ms(waitpid(pid, &status, WNOHANG) == pid, ue_slow_ms(3000));
	EXPECT_TRUE(ended) TH_LOG("another registration hangs");
	EXPECT_EQ(0, h.told->ready);
	h.f.shared->answers = 1;
	EXPECT_TRUE(ue_comes_to(&h.told->ready, 2));
	if (!ended)
		waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
	EXPECT_TRUE(ends(h.owner));
	fuse_stop(&h.f);
}

/*
 * More words than the queue of the whole system runs work items at a time: only one of them is
 * waited for.
 */
TEST_F_TIMEOUT(dev, stuck_memory__many_fuse_words, 600)
{
	const int n = FUSE_PAGES - 1;
	struct held h = {};
	cpu_set_t one, all;

	NEED_FUSE();
	start(_metadata, &h, self->w, "sm_fuse_many", n);
	/* Work that is queued from here on is queued on this CPU. */
	ASSERT_EQ(0, sched_getaffinity(0, sizeof(all), &all));
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(one), &one));
	enable_unanswered(_metadata, &h, self->w, "sm_fuse_many");
	EXPECT_EQ(1, h.f.shared->held);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(all), &all));
	answer(_metadata, &h, "sm_fuse_many", n);
	EXPECT_TRUE(ends(h.owner));
	end_others(_metadata, &h, self->w, "sm_fuse_many");
	fuse_stop(&h.f);
}

TEST_HARNESS_MAIN
