// SPDX-License-Identifier: GPL-2.0
/*
 * The shortest time between two wake-ups of tasks that poll hist or hist_raw:
 * HIST_IOCSPOLLINTERVAL. Pollers are woken less often than hits happen, and see
 * the last one.
 *
 * In C the command does not exist, so its cases fail there, except for those that do not
 * use it: unlimited and event_is_removed_unlimited.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <time.h>

#if __has_include(<linux/hist_triggers.h>)
#include <linux/hist_triggers.h>
#else
/* The installed headers are those of a kernel without it. */
#define HIST_IOCSPOLLINTERVAL _IOW('*', 0x20, uint32_t)
#define HIST_POLL_INTERVAL_MAX 60000
#endif

#include "kselftest_harness.h"
#include "../user_events_rust/ue.h"

#define EVENT		UE_EVENTS "/poll_limit"
#define TRIGGER		"hist:keys=key"
#define HITS		100000
#define INTERVAL	100

FIXTURE(poll_limit)
{
	int fd, index, hist;
	uint32_t word;
};

FIXTURE_SETUP(poll_limit)
{
	ASSERT_TRUE(ue_reset());
	self->fd = ue_open();
	ASSERT_LE(0, self->fd);
	self->index = ue_reg_index(self->fd, &self->word, 0, "poll_limit u32 key");
	ASSERT_LE(0, self->index);
	ASSERT_EQ(0, ue_put(EVENT "/trigger", TRIGGER));
	self->hist = open(EVENT "/hist", O_RDONLY);
	ASSERT_LE(0, self->hist);
}

FIXTURE_TEARDOWN(poll_limit)
{
	close(self->hist);
	ue_trunc(EVENT "/trigger");
	/* What is registered keeps the event until this process ends. */
	ue_unreg(self->fd, &self->word, 0);
	close(self->fd);
	ue_reset();
}

static int set_interval(int hist, uint32_t ms)
{
	return ioctl(hist, HIST_IOCSPOLLINTERVAL, &ms) ? errno : 0;
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static long hit(int fd, int index)
{
	uint32_t key = 1;

	return ue_writev(fd, index, &key, sizeof(key));
}

/* Reads the file from its start; returns the number of hits. */
static unsigned long read_hits(int hist)
{
	static char text[8192];
	size_t filled = 0;
	ssize_t n;
	char *at;

	lseek(hist, 0, SEEK_SET);
	while ((n = read(hist, text + filled, sizeof(text) - 1 - filled)) > 0)
		filled += n;
	text[filled] = 0;
	at = strstr(text, "Hits: ");
	return at ? strtoul(at + strlen("Hits: "), NULL, 10) : ~0ul;
}

/* Waits for events of the file. Returns them, or 0 if none happened for so long. */
static int wait_for(int hist, int events, int ms)
{
	struct pollfd pfd = { .fd = hist, .events = events };

	return poll(&pfd, 1, ms) > 0 ? pfd.revents : 0;
}

struct writer {
	pthread_t thread;
	int fd, index;
	unsigned long failed;
};

static void *write_all(void *arg)
{
	struct writer *w = arg;

	for (int i = 0; i < HITS; i++)
		w->failed += hit(w->fd, w->index) < 0;
	return NULL;
}

/* Reads whenever the file is readable, until all hits were read. Returns how often. */
static unsigned int follow(struct __test_metadata *_metadata, FIXTURE_DATA(poll_limit) *self)
{
	struct writer w = { .fd = self->fd, .index = self->index };
	unsigned int wakeups = 0;
	unsigned long hits = 0;

	ASSERT_EQ(0, pthread_create(&w.thread, NULL, write_all, &w));
	while (hits < HITS) {
		/* Fails if a poller is not told about the last hits. */
		ASSERT_NE(0, wait_for(self->hist, POLLIN, 30000)) {
			TH_LOG("%lu hits were read", hits);
		}
		wakeups++;
		hits = read_hits(self->hist);
	}
	pthread_join(w.thread, NULL);
	EXPECT_EQ(0, w.failed);
	EXPECT_EQ(HITS, hits);
	/* Hits during a reading can be in it and be reported once more. */
	if (wait_for(self->hist, POLLIN, 3 * INTERVAL)) {
		wakeups++;
		EXPECT_EQ(HITS, read_hits(self->hist));
	}
	EXPECT_EQ(0, wait_for(self->hist, POLLIN, 3 * INTERVAL));
	return wakeups;
}

TEST_F_TIMEOUT(poll_limit, wakeups, 300)
{
	long start, took;
	unsigned int n;

	ASSERT_EQ(0, set_interval(self->hist, INTERVAL));
	start = now_ms();
	n = follow(_metadata, self);
	took = now_ms() - start;
	TH_LOG("%d hits, %u wake-ups in %ld ms", HITS, n, took);
	/* The first one is not limited. */
	EXPECT_LE(n, took / INTERVAL + 1);
}

TEST_F_TIMEOUT(poll_limit, unlimited, 300)
{
	long start = now_ms(), took;
	unsigned int n = follow(_metadata, self);

	took = now_ms() - start;
	TH_LOG("%d hits, %u wake-ups in %ld ms", HITS, n, took);
	/* More than a poller with the interval gets. */
	EXPECT_LT(took / INTERVAL + 1, n);
}

/* A hit soon after a report is reported when the interval has passed. */
TEST_F(poll_limit, last_hit)
{
	static const int asked[] = { POLLIN, POLLPRI };

	ASSERT_EQ(0, set_interval(self->hist, INTERVAL));
	for (unsigned int i = 0; i < 2; i++) {
		for (int round = 0; round < 5; round++) {
			long start;

			ASSERT_LT(0, hit(self->fd, self->index));
			ASSERT_NE(0, wait_for(self->hist, asked[i], 10000));
			start = now_ms();
			read_hits(self->hist);
			ASSERT_LT(0, hit(self->fd, self->index));
			ASSERT_NE(0, wait_for(self->hist, asked[i], 10000));
			EXPECT_LE(INTERVAL - 2, now_ms() - start);
			read_hits(self->hist);
			/* The next one is not: no poller was woken for long enough. */
			usleep((INTERVAL + 20) * 1000);
			EXPECT_EQ(0, wait_for(self->hist, asked[i], 0));
		}
	}
}

/* A poller that has waited longer than the interval is woken by the hit itself. */
static void *hit_later(void *arg)
{
	struct writer *w = arg;

	usleep(3 * INTERVAL * 1000);
	w->failed += hit(w->fd, w->index) < 0;
	return NULL;
}

TEST_F(poll_limit, woken_by_a_hit)
{
	struct writer w = { .fd = self->fd, .index = self->index };

	ASSERT_EQ(0, set_interval(self->hist, INTERVAL));
	for (int round = 0; round < 5; round++) {
		ASSERT_EQ(0, pthread_create(&w.thread, NULL, hit_later, &w));
		ASSERT_NE(0, wait_for(self->hist, POLLIN, 10000));
		read_hits(self->hist);
		pthread_join(w.thread, NULL);
	}
	EXPECT_EQ(0, w.failed);
}

TEST_F(poll_limit, epoll)
{
	int set = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLPRI };
	unsigned int n = 0;
	long start, took;

	ASSERT_LE(0, set);
	ASSERT_EQ(0, set_interval(self->hist, INTERVAL));
	ASSERT_EQ(0, epoll_ctl(set, EPOLL_CTL_ADD, self->hist, &event));
	start = now_ms();
	for (int i = 0; i < 1000; i++) {
		ASSERT_LT(0, hit(self->fd, self->index));
		n += epoll_wait(set, &event, 1, 0) == 1;
	}
	ASSERT_LT(0, hit(self->fd, self->index));
	EXPECT_EQ(1, epoll_wait(set, &event, 1, 10000));
	took = now_ms() - start;
	TH_LOG("1001 hits, %u wake-ups in %ld ms", n + 1, took);
	EXPECT_LE(n + 1, took / INTERVAL + 1);
	EXPECT_EQ(0, epoll_wait(set, &event, 1, 3 * INTERVAL));
	close(set);
}

static int wait_for_set(int set, int ms)
{
	struct epoll_event event;

	return epoll_wait(set, &event, 1, ms) == 1 ? event.events : 0;
}

static int new_set(int hist, int events)
{
	struct epoll_event event = { .events = events };
	int set = epoll_create1(0);

	if (set >= 0 && epoll_ctl(set, EPOLL_CTL_ADD, hist, &event)) {
		close(set);
		return -1;
	}
	return set;
}

/* A poller of changes only does not poll before the next one. */
TEST_F(poll_limit, edge_triggered)
{
	int set;

	ASSERT_EQ(0, set_interval(self->hist, INTERVAL));
	set = new_set(self->hist, EPOLLIN | EPOLLET);
	ASSERT_LE(0, set);
	/* Hits after the interval, and within it. */
	for (int i = 0; i < 10; i++) {
		ASSERT_LT(0, hit(self->fd, self->index));
		EXPECT_EQ(EPOLLIN, wait_for_set(set, 10000)) TH_LOG("hit %d", i);
		EXPECT_EQ(i + 1, read_hits(self->hist));
		if (i < 5)
			usleep(2 * INTERVAL * 1000);
	}
	EXPECT_EQ(0, wait_for_set(set, 3 * INTERVAL));
	/* Without being read. */
	for (int i = 0; i < 3; i++) {
		ASSERT_LT(0, hit(self->fd, self->index));
		EXPECT_EQ(EPOLLIN, wait_for_set(set, 10000)) TH_LOG("unread hit %d", i);
	}
	close(set);
}

struct sleeper {
	pthread_t thread;
	int hist, events, ms;
	int got;
	long took;
};

static void *sleep_for_hit(void *arg)
{
	struct sleeper *s = arg;
	long start = now_ms();

	s->got = wait_for(s->hist, s->events, s->ms);
	s->took = now_ms() - start;
	return NULL;
}

/* A report to one poller does not keep another one from being woken. */
TEST_F(poll_limit, other_poller)
{
	struct sleeper s = { .hist = self->hist, .events = POLLPRI, .ms = 10000 };

	ASSERT_EQ(0, set_interval(self->hist, INTERVAL));
	for (int i = 0; i < 4; i++) {
		/* It is seen, and not read. */
		ASSERT_LT(0, hit(self->fd, self->index));
		ASSERT_NE(0, wait_for(self->hist, POLLPRI, 10000));
		usleep(2 * INTERVAL * 1000);
		ASSERT_EQ(0, pthread_create(&s.thread, NULL, sleep_for_hit, &s));
		usleep(INTERVAL * 1000);
		EXPECT_EQ(POLLIN, wait_for(self->hist, POLLIN, 0));
		/* The hit is after the interval, or in it. */
		if (i % 2)
			usleep(2 * INTERVAL * 1000);
		ASSERT_LT(0, hit(self->fd, self->index));
		pthread_join(s.thread, NULL);
		EXPECT_EQ(POLLPRI, s.got);
		EXPECT_GT(8000, s.took);
	}
}

/* All pollers see that the file is readable, and as long as it is. */
TEST_F(poll_limit, all_pollers)
{
	struct sleeper s[4];

	ASSERT_EQ(0, set_interval(self->hist, 5000));
	for (unsigned int i = 0; i < 4; i++) {
		s[i] = (struct sleeper){ .hist = self->hist, .events = POLLIN, .ms = 20000 };
		ASSERT_EQ(0, pthread_create(&s[i].thread, NULL, sleep_for_hit, &s[i]));
	}
	usleep(INTERVAL * 1000);
	ASSERT_LT(0, hit(self->fd, self->index));
	for (unsigned int i = 0; i < 4; i++) {
		pthread_join(s[i].thread, NULL);
		EXPECT_EQ(POLLIN, s[i].got);
		EXPECT_GT(4000, s[i].took);
	}
	EXPECT_EQ(POLLIN, wait_for(self->hist, POLLIN | POLLPRI, 0));
	EXPECT_EQ(1, read_hits(self->hist));
	EXPECT_EQ(0, wait_for(self->hist, POLLIN | POLLPRI, 0));
}

TEST_F(poll_limit, level_triggered)
{
	int set;

	ASSERT_LT(0, hit(self->fd, self->index));
	close(self->hist);
	self->hist = open(EVENT "/hist", O_RDONLY);
	ASSERT_LE(0, self->hist);
	ASSERT_EQ(0, set_interval(self->hist, INTERVAL));
	set = new_set(self->hist, EPOLLPRI);
	ASSERT_LE(0, set);
	EXPECT_EQ(0, wait_for_set(set, 0));
	for (int i = 0; i < 3; i++) {
		/* Another one, which is woken at once. */
		EXPECT_EQ(POLLIN, wait_for(self->hist, POLLIN, 0));
		usleep(2 * INTERVAL * 1000);
		ASSERT_LT(0, hit(self->fd, self->index));
		EXPECT_EQ(EPOLLPRI, wait_for_set(set, 10000));
	}
	close(set);
}

/* Edge-triggered, and with other pollers: as few wake-ups. */
TEST_F_TIMEOUT(poll_limit, wakeups_of_many, 300)
{
	struct writer w = { .fd = self->fd, .index = self->index };
	unsigned int wakeups = 0;
	unsigned long hits = 0;
	long start, took;
	int set;

	ASSERT_EQ(0, set_interval(self->hist, INTERVAL));
	set = new_set(self->hist, EPOLLIN | EPOLLET);
	ASSERT_LE(0, set);
	start = now_ms();
	ASSERT_EQ(0, pthread_create(&w.thread, NULL, write_all, &w));
	while (hits < HITS) {
		ASSERT_EQ(EPOLLIN, wait_for_set(set, 30000)) {
			TH_LOG("%lu hits were read", hits);
		}
		wakeups++;
		wait_for(self->hist, POLLIN, 0);
		wait_for(self->hist, POLLPRI, 0);
		hits = read_hits(self->hist);
	}
	took = now_ms() - start;
	pthread_join(w.thread, NULL);
	EXPECT_EQ(0, w.failed);
	EXPECT_EQ(HITS, hits);
	TH_LOG("%d hits, %u wake-ups in %ld ms", HITS, wakeups, took);
	/* One more if a timer was late, for the report before. */
	EXPECT_LE(wakeups, 2 * (took / INTERVAL + 1));
	close(set);
}

/* A file is closed while its timer runs, before and after a hit. */
TEST_F(poll_limit, closed)
{
	for (int i = 0; i < 20; i++) {
		int hist = open(EVENT "/hist", O_RDONLY);

		ASSERT_LE(0, hist);
		ASSERT_EQ(0, set_interval(hist, 20));
		ASSERT_LT(0, hit(self->fd, self->index));
		ASSERT_NE(0, wait_for(hist, POLLIN, 0));
		if (i % 2)
			ASSERT_LT(0, hit(self->fd, self->index));
		if (i % 4 > 1)
			usleep(18000 + 1000 * (i / 4));
		close(hist);
		ASSERT_LT(0, hit(self->fd, self->index));
	}
	usleep(50000);
	EXPECT_LT(0, hit(self->fd, self->index));
}

/* Files are limited each for itself. */
TEST_F(poll_limit, other_files)
{
	int raw = open(EVENT "/hist_raw", O_RDONLY);

	ASSERT_LE(0, raw);
	ASSERT_EQ(0, set_interval(self->hist, 10000));
	for (int i = 0; i < 5; i++) {
		ASSERT_LT(0, hit(self->fd, self->index));
		EXPECT_EQ(i == 0, !!wait_for(self->hist, POLLPRI, 0));
		EXPECT_NE(0, wait_for(raw, POLLPRI, 0));
	}
	close(raw);
	/* With a timer and with a poller that is armed. */
	raw = open(EVENT "/hist_raw", O_RDONLY);
	ASSERT_LE(0, raw);
	ASSERT_EQ(0, set_interval(raw, 1));
	EXPECT_EQ(0, wait_for(raw, POLLPRI, 50));
	close(raw);
	EXPECT_LT(0, hit(self->fd, self->index));
}

TEST_F(poll_limit, refused)
{
	int debug;

	EXPECT_EQ(EINVAL, set_interval(self->hist, 0));
	EXPECT_EQ(EINVAL, set_interval(self->hist, HIST_POLL_INTERVAL_MAX + 1));
	EXPECT_EQ(-1, ioctl(self->hist, HIST_IOCSPOLLINTERVAL, NULL));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, ioctl(self->hist, HIST_IOCSPOLLINTERVAL + 1, &self->word));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(0, set_interval(self->hist, HIST_POLL_INTERVAL_MAX));
	EXPECT_EQ(EBUSY, set_interval(self->hist, INTERVAL));
	close(self->hist);

	/* It has been polled. */
	self->hist = open(EVENT "/hist", O_RDONLY);
	EXPECT_EQ(0, wait_for(self->hist, POLLPRI, 0));
	EXPECT_EQ(EBUSY, set_interval(self->hist, INTERVAL));

	/* It cannot be polled. */
	debug = open(EVENT "/hist_debug", O_RDONLY);
	if (debug >= 0) {
		EXPECT_EQ(ENOTTY, set_interval(debug, INTERVAL));
		close(debug);
	}
}

/* Waits until the file reports an error, and returns all that it reports then. */
static int wait_for_error(int hist, int events)
{
	long end = now_ms() + UE_PATIENCE;
	int got;

	do
		got = wait_for(hist, events, UE_PATIENCE);
	while (!(got & POLLERR) && now_ms() < end);
	return got;
}

static void *close_later(void *arg)
{
	usleep(3 * INTERVAL * 1000);
	close(*(int *)arg);
	return NULL;
}

/* A poller is woken by the removal of the event, and told that the file cannot be polled. */
static void remove_event(struct __test_metadata *_metadata, FIXTURE_DATA(poll_limit) *self)
{
	pthread_t thread;
	int users = self->fd;

	ASSERT_LT(0, hit(self->fd, self->index));
	EXPECT_NE(0, wait_for(self->hist, POLLIN | POLLPRI, 10000));
	ASSERT_EQ(0, ue_trunc(EVENT "/trigger"));
	/* The loss of the hit is news as well. */
	read_hits(self->hist);
	EXPECT_EQ(0, wait_for(self->hist, POLLIN | POLLPRI, 2 * INTERVAL));
	/* The event is removed with the file, which is its last user then. */
	ASSERT_EQ(0, ue_unreg(users, &self->word, 0));
	self->fd = open("/dev/null", O_RDONLY);
	ASSERT_EQ(0, pthread_create(&thread, NULL, close_later, &users));
	EXPECT_EQ(POLLERR, wait_for_error(self->hist, POLLIN | POLLPRI));
	pthread_join(thread, NULL);
	EXPECT_FALSE(ue_exists("poll_limit"));
	/* It stays so. */
	EXPECT_EQ(POLLERR, wait_for(self->hist, POLLIN, 0));
	EXPECT_EQ(-1, read(self->hist, &self->word, 1));
	EXPECT_EQ(ENODEV, errno);
}

TEST_F(poll_limit, event_is_removed_unlimited)
{
	remove_event(_metadata, self);
}

TEST_F(poll_limit, event_is_removed)
{
	ASSERT_EQ(0, set_interval(self->hist, INTERVAL));
	remove_event(_metadata, self);
}

TEST_HARNESS_MAIN
