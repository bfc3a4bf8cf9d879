// SPDX-License-Identifier: GPL-2.0
/*
 * Every allocation on the way of each operation on histograms fails once: the
 * operation fails with ENOMEM or succeeds, nothing is left half done, and the
 * next one works. Leaks are for kmemleak to find.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/ioctl.h>

#if __has_include(<linux/hist_triggers.h>)
#include <linux/hist_triggers.h>
#else
/* The installed headers are those of a kernel without it. */
#define HIST_IOCSPOLLINTERVAL _IOW('*', 0x20, uint32_t)
#endif

#include "kselftest_harness.h"
#include "../user_events_rust/ue.h"
#include "../user_events_rust/fault.h"
#include "hist.h"

#define NUM	UE_EVENTS "/num"
#define PAIR	UE_EVENTS "/pair"

UE_FIXTURE(fail)

static void make_events(struct __test_metadata *_metadata, int fd, volatile uint32_t *w)
{
	ASSERT_EQ(0, ue_reg_index(fd, &w[0], 0, "num u32 id; s32 delta; u64 total; char[8] tag"));
	ASSERT_EQ(1, ue_reg_index(fd, &w[1], 0, "pair u32 id; u32 part; u64 total"));
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/synthetic_events", "syn u64 lat; s32 delta; char[] text"));
	/* A trigger enables its event as well. */
	ASSERT_EQ(0, fault_keep_cmdlines(fd, &w[8]));
}

static bool has_trigger(const char *dir)
{
	return *ue_slurp(ue_path("%s/trigger", dir)) != '#';
}

static int triggers_of(const char *dir)
{
	char *text = ue_slurp(ue_path("%s/trigger", dir));

	return *text == '#' ? 0 : ue_count(text, "hist:");
}

/*
 * A trigger written to an event that may have others already, and removed again.
 * @params says that it has parameters, or references: what is not found for lack of
 * memory is EINVAL. So are other errors in C.
 */
static void sweep_trigger(struct __test_metadata *_metadata, const char *dir, const char *command,
			  bool params)
{
	int nth, ret, hits = 0, done = 0, here = triggers_of(dir), there = triggers_of(NUM);
	char *file = strdup(ue_path("%s/trigger", dir)), remove[512];
	bool invalid = params || !hist_is_rust();

	snprintf(remove, sizeof(remove), "!%s", command);
	nth = fault_open();
	fault_sweep(nth, n, 10000) {
		int fd = open(file, O_WRONLY | O_APPEND);

		ASSERT_LE(0, fd);
		fault_arm(nth, n);
		ret = ue_err(write(fd, command, strlen(command)));
		hits += fault_done(nth);
		close(fd);
		ASSERT_TRUE(ret == (int)strlen(command) || ret == -ENOMEM ||
			    (ret == -EINVAL && invalid)) {
			TH_LOG("n %d: %d", n, ret);
		}
		if (ret < 0) {
			/* As if it had not been asked for. */
			ASSERT_EQ(here, triggers_of(dir)) TH_LOG("n %d", n);
			ASSERT_EQ(there, triggers_of(NUM)) TH_LOG("n %d", n);
			continue;
		}
		done++;
		ASSERT_EQ(here + 1, triggers_of(dir)) TH_LOG("n %d", n);
		ASSERT_EQ(0, ue_put(file, remove));
		ASSERT_EQ(here, triggers_of(dir));
		ASSERT_EQ(there, triggers_of(NUM));
	}
	EXPECT_LT(5, hits);
	EXPECT_LT(0, done);
	ue_trunc(UE_TRACEFS "/error_log");
	free(file);
}

TEST_F_TIMEOUT(fail, plain, 280)
{
	NEED_FAULTS();
	make_events(_metadata, self->fd, self->w);
	sweep_trigger(_metadata, NUM, "hist:keys=id:size=128", false);
}

TEST_F_TIMEOUT(fail, everything, 600)
{
	NEED_FAULTS();
	make_events(_metadata, self->fd, self->w);
	sweep_trigger(_metadata, NUM, "hist:keys=id.log2,tag,common_pid.execname:vals=total.hex,hitcount.percent:x1=total*2+delta-1,s1=tag,t1=common_timestamp.usecs:sort=id,total.descending:size=128:clock=mono if id > 1 && tag == \"a\"", false);
}

/* Keys that are not in the elements. */
TEST_F_TIMEOUT(fail, long_keys, 280)
{
	NEED_FAULTS();
	make_events(_metadata, self->fd, self->w);
	sweep_trigger(_metadata, NUM, "hist:keys=common_stacktrace:size=128", false);
}

TEST_F_TIMEOUT(fail, references_and_actions, 600)
{
	NEED_FAULTS();
	make_events(_metadata, self->fd, self->w);
	ASSERT_EQ(0, ue_put(NUM "/trigger", "hist:keys=id:x1=total:size=128"));
	sweep_trigger(_metadata, PAIR, "hist:keys=id:lat=total-$x1:onmatch(user_events.num).trace(syn,$lat,user_events.num.delta,user_events.num.tag):onmax($lat).save(part,common_comm):size=128", true);
	ASSERT_EQ(0, ue_put(NUM "/trigger", "!hist:keys=id:x1=total:size=128"));
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/synthetic_events", "!syn"));
}

TEST_F_TIMEOUT(fail, named_and_shared, 280)
{
	NEED_FAULTS();
	make_events(_metadata, self->fd, self->w);
	sweep_trigger(_metadata, NUM, "hist:name=foo:keys=id:vals=total:size=128", false);
	ASSERT_EQ(0, ue_put(NUM "/trigger", "hist:name=foo:keys=id:vals=total:size=128"));
	sweep_trigger(_metadata, PAIR, "hist:name=foo:keys=id:vals=total:size=128", false);
	ASSERT_EQ(0, ue_put(NUM "/trigger", "!hist:name=foo:keys=id:vals=total:size=128"));
}

/* The additions to what C has. */
#define NEED_ADDITIONS()						\
do {									\
	if (!hist_is_rust())						\
		SKIP(return, "not in C");				\
	NEED_FAULTS();							\
} while (0)

#define PARTS	"keys=id.log2=3,tag:vals=total.min,total.max,total.avg:quantiles:size=128"

TEST_F_TIMEOUT(fail, parts_and_values, 600)
{
	NEED_ADDITIONS();
	make_events(_metadata, self->fd, self->w);
	sweep_trigger(_metadata, NUM, "hist:" PARTS, false);
	sweep_trigger(_metadata, NUM, "hist:name=foo:" PARTS, false);
	ASSERT_EQ(0, ue_put(NUM "/trigger", "hist:name=foo:" PARTS));
	sweep_trigger(_metadata, NUM, "hist:name=foo:" PARTS " if id > 1", false);
}

TEST_F_TIMEOUT(fail, onmin, 280)
{
	NEED_ADDITIONS();
	make_events(_metadata, self->fd, self->w);
	sweep_trigger(_metadata, NUM, "hist:keys=id:x1=total:onmin($x1).save(delta):size=128", true);
	ASSERT_EQ(0, ue_put(NUM "/trigger", "hist:keys=id:x1=total:size=128"));
	sweep_trigger(_metadata, PAIR, "hist:keys=id:lat=total-$x1:onmin($lat).save(part,common_comm):size=128", true);
}

TEST_F_TIMEOUT(fail, reuse, 600)
{
	NEED_ADDITIONS();
	make_events(_metadata, self->fd, self->w);
	sweep_trigger(_metadata, NUM, "hist:keys=id:x1=total:reuse:size=128", true);
	ASSERT_EQ(0, ue_put(NUM "/trigger", "hist:keys=id:x1=total:reuse:size=128"));
	/* Fields of the other event take most of references_and_actions, and are the same here. */
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/synthetic_events", "reuse_syn u64 lat"));
	sweep_trigger(_metadata, PAIR, "hist:keys=id:lat=total-$x1:onmatch(user_events.num).trace(reuse_syn,$lat):reuse:size=128", true);
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/synthetic_events", "!reuse_syn"));
}

TEST_F_TIMEOUT(fail, snapshot, 280)
{
	NEED_FAULTS();
	make_events(_metadata, self->fd, self->w);
	sweep_trigger(_metadata, NUM, "hist:keys=id:x1=total:onmax($x1).snapshot():size=128", false);
	ue_put(UE_TRACEFS "/snapshot", "0");
}

TEST_F_TIMEOUT(fail, enable_hist, 280)
{
	int nth, ret, hits = 0;

	NEED_FAULTS();
	make_events(_metadata, self->fd, self->w);
	nth = fault_open();
	fault_sweep(nth, n, 500) {
		fault_arm(nth, n);
		ret = ue_put(NUM "/trigger", "enable_hist:user_events:pair:5 if id > 1");
		hits += fault_done(nth);
		ASSERT_TRUE(ret == 0 || ret == -ENOMEM) TH_LOG("n %d: %d", n, ret);
		ASSERT_EQ(ret == 0, has_trigger(NUM));
		ASSERT_EQ(0, ue_put(NUM "/trigger", "!enable_hist:user_events:pair"));
	}
	EXPECT_LT(0, hits);
}

/*
 * Opening and reading a file of an event with a histogram: @mark is in it, or it
 * fails, or, if it is not @always there, less. After a first read that fails
 * poll() still reports news, if it does for this file.
 */
static void sweep_reading(struct __test_metadata *_metadata, const char *file, const char *mark,
			  bool always, bool polled)
{
	int nth, hits = 0, whole = 0, unread = 0;
	static char buf[65536];

	nth = fault_open();
	fault_sweep(nth, n, 2000) {
		int fd, len = 0, got = 0;
		struct pollfd news;

		fault_arm(nth, n);
		fd = open(file, O_RDONLY);
		if (fd < 0)
			got = -errno;
		while (fd >= 0 && (got = ue_err(read(fd, buf + len, sizeof(buf) - 1 - len))) > 0)
			len += got;
		hits += fault_done(nth);
		ASSERT_TRUE(got == 0 || got == -ENOMEM) TH_LOG("n %d: %d", n, got);
		buf[len] = '\0';
		if (got == 0 && strstr(buf, mark)) {
			whole++;
		} else {
			ASSERT_TRUE(got < 0 || !always) TH_LOG("n %d: %s", n, buf);
		}
		news = (struct pollfd) { .fd = fd, .events = POLLIN };
		if (polled && fd >= 0 && got < 0 && len == 0) {
			unread++;
			ASSERT_EQ(1, poll(&news, 1, 0)) TH_LOG("n %d", n);
			ASSERT_TRUE(news.revents & POLLIN) TH_LOG("n %d: %x", n, news.revents);
		}
		if (fd >= 0)
			close(fd);
	}
	EXPECT_LT(0, hits);
	EXPECT_LT(0, whole);
	if (polled && always) {
		EXPECT_LT(0, unread);
	}
}

TEST_F_TIMEOUT(fail, reading, 280)
{
	struct {
		uint32_t id, delta;
		uint64_t total;
		char tag[8];
	} r = {};

	NEED_FAULTS();
	make_events(_metadata, self->fd, self->w);
	ASSERT_EQ(0, ue_put(NUM "/trigger", "hist:keys=id:vals=hitcount.percent,total:sort=total:size=128"));
	for (r.id = 0; r.id < 20; r.id++) {
		ASSERT_EQ(4 + (int)sizeof(r), ue_write(self->fd, 0, &r, sizeof(r)));
	}
	/* In C the table may be empty. */
	sweep_reading(_metadata, NUM "/hist", "Entries: 20\n", hist_is_rust(), true);
	sweep_reading(_metadata, NUM "/hist_debug", "n_fields", hist_is_rust(), false);
	if (hist_is_rust()) {
		/* A table without memory is shown without rows. */
		sweep_reading(_metadata, NUM "/hist_raw", "\n19\t1\t", false, false);
	}
	sweep_reading(_metadata, NUM "/trigger", ":size=128 [active]\n", true, false);
	ASSERT_EQ(0, ue_trunc(NUM "/trigger"));
	/* Nothing else holds the event. */
	ASSERT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
	close(self->fd);
	ASSERT_TRUE(ue_gone("num"));
	self->fd = ue_open();
}

/* The hit counts in a text of hist_raw with one key. */
static unsigned long raw_hits(const char *text)
{
	unsigned long sum = 0;

	for (const char *line = text; (line = strchr(line, '\n')) && *++line;)
		sum += strtoul(line + strcspn(line, "\t"), NULL, 10);
	return sum;
}

/*
 * Hits that are taken out of a histogram are in one reading each. What a read() that
 * fails has taken can be lost, so only successful ones are compared; but what an
 * open() that fails, or a table without memory, would take stays.
 */
TEST_F_TIMEOUT(fail, taking, 280)
{
	struct {
		uint32_t id, delta;
		uint64_t total;
		char tag[8];
	} r = {};
	int nth, hits = 0, kept = 0;
	static char buf[65536];

	NEED_ADDITIONS();
	make_events(_metadata, self->fd, self->w);
	ASSERT_EQ(0, ue_put(NUM "/trigger", "hist:keys=id:vals=total:size=128"));
	nth = fault_open();
	fault_sweep(nth, n, 500) {
		unsigned long first, second;
		int fd, len = 0, got = 0;

		for (r.id = 0; r.id < 20; r.id++) {
			ASSERT_EQ(4 + (int)sizeof(r), ue_write(self->fd, 0, &r, sizeof(r)));
		}
		fault_arm(nth, n);
		fd = open(NUM "/hist_raw", O_RDWR);
		if (fd < 0)
			got = -errno;
		while (fd >= 0 && (got = ue_err(read(fd, buf + len, sizeof(buf) - 1 - len))) > 0)
			len += got;
		hits += fault_done(nth);
		ASSERT_TRUE(got == 0 || got == -ENOMEM) TH_LOG("n %d: %d", n, got);
		buf[len] = '\0';
		first = raw_hits(buf);
		if (fd >= 0)
			close(fd);

		len = 0;
		fd = open(NUM "/hist_raw", O_RDWR);
		ASSERT_LE(0, fd);
		while ((got = read(fd, buf + len, sizeof(buf) - 1 - len)) > 0)
			len += got;
		ASSERT_EQ(0, got);
		buf[len] = '\0';
		second = raw_hits(buf);
		close(fd);
		ASSERT_GE(20, first + second);
		if (first + second == 20)
			kept += first < 20;
		else
			ASSERT_EQ(0, first + second);
	}
	EXPECT_LT(0, hits);
	EXPECT_LT(0, kept);
}

TEST_F_TIMEOUT(fail, poll_interval, 280)
{
	int nth, hits = 0, done = 0;

	NEED_ADDITIONS();
	make_events(_metadata, self->fd, self->w);
	ASSERT_EQ(0, ue_put(NUM "/trigger", "hist:keys=id:size=128"));
	nth = fault_open();
	fault_sweep(nth, n, 100) {
		int fd = open(NUM "/hist", O_RDONLY), ret;
		uint32_t interval = 10;

		ASSERT_LE(0, fd);
		fault_arm(nth, n);
		ret = ue_err(ioctl(fd, HIST_IOCSPOLLINTERVAL, &interval));
		hits += fault_done(nth);
		ASSERT_TRUE(ret == 0 || ret == -ENOMEM) TH_LOG("n %d: %d", n, ret);
		/* As if it had not been asked for. */
		ASSERT_EQ(ret ? 0 : -EBUSY, ue_err(ioctl(fd, HIST_IOCSPOLLINTERVAL, &interval)));
		done += ret == 0;
		close(fd);
	}
	EXPECT_LT(0, hits);
	EXPECT_LT(0, done);
}

/* An instance whose histogram could not be opened can be removed. */
TEST_F_TIMEOUT(fail, open_in_an_instance, 280)
{
	const char *dir = UE_TRACEFS "/instances/failnth";
	int nth, hits = 0;

	NEED_FAULTS();
	make_events(_metadata, self->fd, self->w);
	nth = fault_open();
	fault_sweep(nth, n, 300) {
		int fd;

		ASSERT_EQ(0, mkdir(dir, 0750));
		ASSERT_EQ(0, ue_put(ue_path("%s/events/user_events/num/trigger", dir), "hist:keys=id:size=128"));
		fault_arm(nth, n);
		fd = open(ue_path("%s/events/user_events/num/hist", dir), O_RDONLY);
		hits += fault_done(nth);
		if (fd >= 0)
			close(fd);
		ASSERT_EQ(0, ue_trunc(ue_path("%s/events/user_events/num/trigger", dir)));
		ASSERT_EQ(0, rmdir(dir)) TH_LOG("n %d: errno %d", n, errno);
	}
	EXPECT_LT(0, hits);
}

/* A synthetic event, which is created by the same code in both kernels. */
TEST_F_TIMEOUT(fail, synthetic_event, 280)
{
	int nth, ret, hits = 0;

	NEED_FAULTS();
	nth = fault_open();
	fault_sweep(nth, n, 2000) {
		fault_arm(nth, n);
		ret = ue_put(UE_TRACEFS "/synthetic_events", "failsyn u64 lat; char[] text; unsigned long[] stk");
		hits += fault_done(nth);
		ASSERT_TRUE(ret == 0 || ret == -ENOMEM || ret == -EINVAL) TH_LOG("n %d: %d", n, ret);
		ASSERT_EQ(ret == 0, *ue_slurp(UE_TRACEFS "/synthetic_events") != '\0');
		ASSERT_EQ(ret ? -ENOENT : 0, ue_put(UE_TRACEFS "/synthetic_events", "!failsyn"));
	}
	EXPECT_LT(5, hits);
}

TEST_HARNESS_MAIN
