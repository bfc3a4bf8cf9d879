// SPDX-License-Identifier: GPL-2.0
/*
 * Listening to events before they exist: set-user-event and status-poll in
 * Documentation/trace/rust/deviations.rst.
 *
 * All of these fail on the C implementation.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/mount.h>

#include "kselftest_harness.h"
#include "ue.h"
#include "fault.h"

#define SET		UE_TRACEFS "/set_user_event"
#define INSTANCE	UE_TRACEFS "/instances/early"
#define INSTANCE_SET	INSTANCE "/set_user_event"

UE_FIXTURE(dev)

/* The record that a process writes as soon as it has registered its event. */
static int first_value(const char *desc, int flags, uint32_t value)
{
	int fd = ue_open(), ret;
	volatile uint32_t *w = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fd < 0)
		return fd;
	ret = ue_reg_flags(fd, w, 3, flags, desc);
	if (!ret)
		ret = *w == 1 << 3 ? ue_write_u32(fd, 0, value) : 0;
	/* Disabled during that time, by another thread. */
	if (ret == -EBADF)
		ret = 0;
	/* The bit is the address space's, so it is not removed with the file. */
	ue_unreg(fd, w, 3);
	close(fd);
	munmap((void *)w, UE_PAGE);
	return ret;
}

static int first_record(const char *desc, int flags)
{
	return first_value(desc, flags, 7);
}

static bool enabled_in(const char *dir, const char *event)
{
	return *ue_slurp(ue_path("%s/events/user_events/%s/enable", dir, event)) == '1';
}

static bool enabled(const char *event)
{
	return enabled_in(UE_TRACEFS, event);
}

TEST_F(dev, set_user_event__first_record)
{
	char desc[32];

	ASSERT_EQ(0, ue_put(SET, "early_*\n"));
	for (int i = 0; i < 100; i++) {
		snprintf(desc, sizeof(desc), "early_%d u32 a", i);
		EXPECT_EQ(8, first_record(desc, 0));
	}
	EXPECT_EQ(0, first_record("other u32 a", 0));
	EXPECT_EQ(100, ue_count(ue_slurp(UE_TRACEFS "/trace"), ": early_"));
	/* They stay until they are disabled, as all events with a listener. */
	EXPECT_TRUE(enabled("early_7"));
	EXPECT_EQ(0, ue_put(SET, "!early_*"));
	EXPECT_TRUE(ue_gone("early_7"));
	EXPECT_EQ(0, first_record("early_7 u32 a", 0));
}

TEST_F(dev, set_user_event__other_ways_to_create)
{
	ASSERT_EQ(0, ue_put(SET, "early_*"));
	EXPECT_EQ(0, ue_put(UE_DYN, "u:early_dyn u32 a"));
	EXPECT_TRUE(enabled("early_dyn"));
	/* Disabled by hand, it stays so: it is not created again. */
	EXPECT_EQ(0, ue_enable("early_dyn", false));
	EXPECT_EQ(0, first_record("early_dyn u32 a", 0));
	EXPECT_EQ(0, ue_del_wait(self->fd, "early_dyn"));
	EXPECT_EQ(8, first_record("early_dyn u32 a", 0));

	/* Formats are found by the name that they were registered by. */
	ASSERT_EQ(0, ue_trunc(SET));
	ASSERT_EQ(0, ue_put(SET, "early\nuser_events:early_one\nuser_events_multi:early_two"));
	EXPECT_EQ(8, first_record("early u32 a", USER_EVENT_REG_MULTI_FORMAT));
	EXPECT_EQ(8, first_record("early u32 b", USER_EVENT_REG_MULTI_FORMAT));
	EXPECT_EQ(8, first_record("early u32 c", 0));
	EXPECT_EQ(0, first_record("early_one u32 a", USER_EVENT_REG_MULTI_FORMAT));
	EXPECT_EQ(8, first_record("early_one u32 a", 0));
	EXPECT_EQ(8, first_record("early_two u32 a", USER_EVENT_REG_MULTI_FORMAT));
	EXPECT_EQ(0, first_record("early_two u32 a", 0));
}

TEST_F(dev, set_user_event__lines)
{
	static const char *const bad[] = {
		"!", "early !traceoff", "early nosuch:keys=a", "sched:early", "user_event:x",
	};
	long page = sysconf(_SC_PAGESIZE);
	char *line = malloc(page), *text;
	struct stat st;

	ASSERT_EQ(0, stat(SET, &st));
	EXPECT_EQ(0640, st.st_mode & 07777);
	EXPECT_STREQ("", ue_slurp(SET));
	ASSERT_EQ(0, ue_put(SET, "# a comment\n\n one*\t\nuser_events:two\ttraceoff:1\t\n one*\n"));
	EXPECT_STREQ("one*\nuser_events:two traceoff:1\n", ue_slurp(SET));

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		EXPECT_EQ(-EINVAL, ue_put(SET, bad[i])) TH_LOG("%s", bad[i]);
	}
	EXPECT_EQ(-ENOENT, ue_put(SET, "!one"));
	EXPECT_EQ(-ENOENT, ue_put(SET, "!user_events:two"));
	EXPECT_STREQ("one*\nuser_events:two traceoff:1\n", ue_slurp(SET));

	/* The lines before a wrong one count. */
	EXPECT_EQ(-EINVAL, ue_put(SET, "three\nsched:x\nfour\n"));
	EXPECT_STREQ("one*\nuser_events:two traceoff:1\nthree\n", ue_slurp(SET));
	EXPECT_EQ(0, ue_put(SET, "!one*\n!three"));
	EXPECT_STREQ("user_events:two traceoff:1\n", ue_slurp(SET));

	/* What is read can be written. */
	EXPECT_EQ(0, ue_put(SET, "four*"));
	text = strdup(ue_slurp(SET));
	EXPECT_EQ(0, ue_put_flags(SET, text, O_TRUNC));
	EXPECT_STREQ(text, ue_slurp(SET));
	free(text);

	/* The limits: of a line, and of their number. */
	ASSERT_EQ(0, ue_trunc(SET));
	EXPECT_STREQ("", ue_slurp(SET));
	memset(line, 'a', page);
	line[page - 1] = '\0';
	EXPECT_EQ(-EINVAL, ue_put(SET, line));
	line[page - 2] = '\0';
	EXPECT_EQ(0, ue_put(SET, line));
	free(line);
	for (int i = 0; i < 255; i++) {
		ASSERT_EQ(0, ue_put(SET, ue_path("early%d", i)));
	}
	EXPECT_EQ(-ENOSPC, ue_put(SET, "early_more"));
	EXPECT_EQ(0, ue_put(SET, "early7"));
	EXPECT_EQ(0, ue_put(SET, "!early7\nearly_more"));
	EXPECT_EQ(256, ue_count(ue_slurp(SET), "\n"));
}

TEST_F(dev, set_user_event__existing_events)
{
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "early_a u32 a"));
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[1], 0, "early_b u32 a"));
	ASSERT_EQ(0, ue_reg_flags(self->fd, &self->w[2], 0, USER_EVENT_REG_MULTI_FORMAT,
				  "early_a u64 c"));

	ASSERT_EQ(0, ue_put(SET, "early_*"));
	EXPECT_EQ(1, self->w[0]);
	EXPECT_EQ(1, self->w[1]);
	EXPECT_EQ(1, self->w[2]);
	/* Another line keeps what it enables, too. */
	ASSERT_EQ(0, ue_put(SET, "early_b"));
	EXPECT_EQ(0, ue_put(SET, "!early_*"));
	EXPECT_EQ(0, self->w[0]);
	EXPECT_EQ(1, self->w[1]);
	EXPECT_EQ(0, self->w[2]);
	EXPECT_EQ(0, ue_trunc(SET));
	EXPECT_EQ(0, self->w[1]);
	/* Without truncating, opening changes nothing. */
	ASSERT_EQ(0, ue_put(SET, "early_a"));
	ASSERT_EQ(0, ue_put(SET, ""));
	EXPECT_EQ(1, self->w[0]);
	EXPECT_EQ(1, self->w[2]);
}

TEST_F(dev, set_user_event__triggers)
{
	char *hist;

	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "early_old u32 a"));
	ASSERT_EQ(0, ue_put(SET, "early_* hist:keys=a"));
	EXPECT_EQ(1, self->w[0]);
	EXPECT_EQ(8, first_record("early_new u32 a", 0));
	hist = ue_slurp(UE_EVENTS "/early_new/hist");
	EXPECT_NE(NULL, strstr(hist, "Hits: 1\n")) TH_LOG("%s", hist);
	EXPECT_NE(NULL, strstr(hist, "{ a:          7 }")) TH_LOG("%s", hist);
	/* A trigger is all that it has. */
	EXPECT_EQ(0, ue_records("early_new"));
	EXPECT_FALSE(enabled("early_new"));
	/* An existing one is no failure. */
	EXPECT_EQ(0, ue_put(SET, "early_* hist:keys=a"));
	EXPECT_STREQ("early_* hist:keys=a\n", ue_slurp(SET));

	/* One that does not fit concerns the process not at all, and is shown. */
	EXPECT_EQ(0, first_record("early_other u64 b", 0));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[1], 0, "early_third u64 b"));
	EXPECT_EQ(0, self->w[1]);
	EXPECT_STREQ("early_* hist:keys=a\n# failed: 2, last: -22 for early_third\n",
		     ue_slurp(SET));
	EXPECT_NE(NULL, strstr(ue_slurp(UE_TRACEFS "/error_log"), "hist:user_events:early_other"));

	/* Nothing was added to that one, so nothing has to be removed. */
	EXPECT_EQ(0, ue_put(SET, "!early_* hist:keys=a"));
	EXPECT_STREQ("", ue_slurp(SET));
	EXPECT_EQ(0, self->w[0]);
	EXPECT_TRUE(ue_gone("early_new"));
}

/* The number of triggers; without one the file has comments. */
static int triggers_of(const char *event)
{
	char *text = ue_slurp(ue_path(UE_EVENTS "/%s/trigger", event));

	return ue_count(text, "\n") - ue_count(text, "#");
}

/* A trigger that conflicts is a failure, and stays when the line that failed is removed. */
TEST_F(dev, set_user_event__same_kind)
{
	static const char off[] = "traceoff:unlimited if a == 3\n";
	static const char trigger[] = UE_EVENTS "/early/trigger";

	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "early u32 a"));
	ASSERT_EQ(0, ue_put(SET, "early traceoff if a == 3\nearly traceon if a == 5"));
	EXPECT_STREQ("early traceoff if a == 3\nearly traceon if a == 5\n"
		     "# failed: 1, last: -17 for early\n", ue_slurp(SET));
	EXPECT_STREQ(off, ue_slurp(trigger));
	EXPECT_EQ(0, ue_put(SET, "!early traceon if a == 5"));
	EXPECT_STREQ("early traceoff if a == 3\n", ue_slurp(SET));
	EXPECT_STREQ(off, ue_slurp(trigger));
	/* The same for an event of the future. */
	EXPECT_EQ(0, ue_trunc(SET));
	EXPECT_EQ(0, triggers_of("early"));
	ASSERT_EQ(0, ue_put(SET, "early_* stacktrace:3\nearly_* stacktrace"));
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[1], 0, "early_a u32 a"));
	EXPECT_STREQ("early_* stacktrace:3\nearly_* stacktrace\n"
		     "# failed: 1, last: -17 for early_a\n", ue_slurp(SET));
	EXPECT_EQ(0, ue_put(SET, "!early_* stacktrace"));
	EXPECT_STREQ("stacktrace:count=3\n", ue_slurp(UE_EVENTS "/early_a/trigger"));
	/* Now the place is free, for a line that is written again. */
	ASSERT_EQ(0, ue_put(SET, "early_* stacktrace"));
	EXPECT_EQ(0, ue_put(SET, "!early_* stacktrace:3"));
	EXPECT_EQ(0, triggers_of("early_a"));
	ASSERT_EQ(0, ue_put(SET, "early_* stacktrace"));
	EXPECT_STREQ("early_* stacktrace\n", ue_slurp(SET));
	EXPECT_STREQ("stacktrace:unlimited\n", ue_slurp(UE_EVENTS "/early_a/trigger"));
	/* Lines that do the same have it in common. */
	ASSERT_EQ(0, ue_put(SET, "early_a stacktrace"));
	EXPECT_STREQ("early_* stacktrace\nearly_a stacktrace\n", ue_slurp(SET));
	EXPECT_EQ(0, ue_put(SET, "!early_* stacktrace"));
	EXPECT_STREQ("stacktrace:unlimited\n", ue_slurp(UE_EVENTS "/early_a/trigger"));
	EXPECT_EQ(0, ue_put(SET, "!early_a stacktrace"));
	EXPECT_EQ(0, triggers_of("early_a"));
	EXPECT_EQ(0, self->w[1]);

	/* By hand: before the line, or in place of what it has added. */
	ASSERT_EQ(0, ue_put(trigger, "traceoff if a == 3"));
	ASSERT_EQ(0, ue_put(SET, "early traceoff if a == 3"));
	EXPECT_STREQ("early traceoff if a == 3\n# failed: 1, last: -17 for early\n",
		     ue_slurp(SET));
	EXPECT_EQ(0, ue_trunc(SET));
	EXPECT_STREQ(off, ue_slurp(trigger));
	ASSERT_EQ(0, ue_put(trigger, "!traceoff"));
	ASSERT_EQ(0, ue_put(SET, "early traceoff"));
	ASSERT_EQ(0, ue_put(trigger, "!traceoff"));
	ASSERT_EQ(0, ue_put(trigger, "traceoff if a == 3"));
	EXPECT_EQ(0, ue_trunc(SET));
	EXPECT_STREQ(off, ue_slurp(trigger));
	ASSERT_EQ(0, ue_put(trigger, "!traceoff"));

	/* Histograms of other keys are not the same. */
	ASSERT_EQ(0, ue_put(SET, "early hist:keys=a\nearly hist:keys=a:vals=a"));
	EXPECT_EQ(NULL, strstr(ue_slurp(SET), "# failed"));
	EXPECT_EQ(0, ue_put(SET, "!early hist:keys=a:vals=a"));
	EXPECT_EQ(1, triggers_of("early"));
	EXPECT_EQ(0, ue_trunc(SET));
	EXPECT_EQ(0, triggers_of("early"));
}

/* Events are counted, not attempts. */
TEST_F(dev, set_user_event__counted_once)
{
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "early_a u32 a"));
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[1], 0, "early_b u32 b"));
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, ue_put(SET, "early_* hist:keys=a"));
		EXPECT_STREQ("early_* hist:keys=a\n# failed: 1, last: -22 for early_b\n",
			     ue_slurp(SET));
	}
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[2], 0, "early_c u32 b"));
	EXPECT_STREQ("early_* hist:keys=a\n# failed: 2, last: -22 for early_c\n",
		     ue_slurp(SET));
}

/* Events that only lines keep are not in the way of others. */

TEST_F(dev, set_user_event__upgrade)
{
	ASSERT_EQ(0, ue_put(SET, "early*\nearly* hist:keys=common_pid"));
	EXPECT_EQ(8, first_record("early u32 a", 0));
	EXPECT_TRUE(ue_exists("early"));
	/* The next version has other fields, and so does the one after that. */
	EXPECT_EQ(8, first_record("early u32 b", 0));
	EXPECT_NE(NULL, strstr(ue_slurp(UE_EVENTS "/early/format"), "field:u32 b;"));
	EXPECT_NE(NULL, strstr(ue_slurp(UE_EVENTS "/early/hist"), "Hits: 1\n"));
	EXPECT_EQ(8, first_record("early u32 c", 0));
	EXPECT_STREQ("early*\n# removed: 2, last: early\n"
		     "early* hist:keys=common_pid\n# removed: 2, last: early\n", ue_slurp(SET));

	/* It stays while a process uses it. */
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "early u32 c"));
	EXPECT_EQ(-EADDRINUSE, first_record("early u32 d", 0));
	EXPECT_EQ(1, self->w[0]);
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
	close(self->fd);
	self->fd = ue_open();
	EXPECT_EQ(8, first_record("early u32 d", 0));
	/* One that is persistent stays, too. */
	EXPECT_EQ(0, ue_put(UE_DYN, "u:early_dyn u32 a"));
	EXPECT_EQ(-EADDRINUSE, first_record("early_dyn u32 b", 0));
}

/* Fields that no event can have are no reason to remove one. */
TEST_F(dev, set_user_event__malformed_upgrade)
{
	static const char *const bad[] = {
		"early u32", "early nosuch b", "early u32 a,b", "early u32 b; u32 b",
		"early struct s b 65536", "early char[1025] b",
	};

	ASSERT_EQ(0, ue_put(SET, "early\nearly hist:keys=a"));
	EXPECT_EQ(8, first_record("early u32 a", 0));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		EXPECT_EQ(-EADDRINUSE, first_record(bad[i], 0)) TH_LOG("[%s]", bad[i]);
	}
	EXPECT_STREQ("early\nearly hist:keys=a\n", ue_slurp(SET));
	EXPECT_STREQ("\tfield:u32 a;\toffset:8;\tsize:4;\tsigned:0;\n", ue_format_fields("early"));
	EXPECT_NE(NULL, strstr(ue_slurp(UE_EVENTS "/early/hist"), "Hits: 1\n"));
	EXPECT_EQ(1, ue_records("early"));
	/* Without such an event the error is that of the fields. */
	EXPECT_EQ(-EINVAL, first_record("early_other u32 a,b", 0));
	EXPECT_EQ(8, first_record("early u32 b", 0));
}

TEST_F(dev, set_user_event__not_only_lines)
{
	struct ue_perf perf;

	ASSERT_EQ(0, ue_put(SET, "early hist:keys=common_pid"));

	/* A trigger that was added by hand. */
	EXPECT_EQ(8, first_record("early u32 a", 0));
	EXPECT_EQ(0, ue_put(UE_EVENTS "/early/trigger", "traceon"));
	EXPECT_EQ(-EADDRINUSE, first_record("early u32 b", 0));
	EXPECT_NE(NULL, strstr(ue_slurp(UE_EVENTS "/early/hist"), "Hits: 1\n"));
	EXPECT_EQ(0, ue_put(UE_EVENTS "/early/trigger", "!traceon"));
	EXPECT_EQ(8, first_record("early u32 b", 0));

	/* It was enabled by hand: the line only adds a trigger. */
	EXPECT_EQ(0, ue_enable("early", true));
	EXPECT_EQ(-EADDRINUSE, first_record("early u32 c", 0));
	EXPECT_EQ(0, ue_enable("early", false));
	EXPECT_EQ(8, first_record("early u32 c", 0));

	/* Another instance, which has no line. */
	rmdir(INSTANCE);
	ASSERT_EQ(0, mkdir(INSTANCE, 0755));
	EXPECT_EQ(0, ue_put(INSTANCE "/events/user_events/early/enable", "1"));
	EXPECT_EQ(-EADDRINUSE, first_record("early u32 d", 0));
	ASSERT_EQ(0, ue_err(rmdir(INSTANCE)));
	EXPECT_EQ(8, first_record("early u32 d", 0));

	if (!ue_has_perf())
		return;
	ASSERT_EQ(0, ue_perf_open(&perf, "early"));
	EXPECT_EQ(-EADDRINUSE, first_record("early u32 e", 0));
	ue_perf_close(&perf);
	EXPECT_TRUE(ue_poll(first_record("early u32 e", 0) == 8));
}

TEST_F(dev, set_user_event__failed_registration)
{
	/* No memory is ever mapped here. */
	void *nowhere = (void *)0x1000;

	ASSERT_EQ(0, ue_put(SET, "early_*\nearly_* hist:keys=a"));
	for (int i = 0; i < 50; i++) {
		const char *desc = ue_path("early_%d u32 a", i);

		ASSERT_EQ(-EFAULT, ue_reg(self->fd, nowhere, 0, desc));
		EXPECT_FALSE(ue_exists(ue_path("early_%d", i)));
	}
	EXPECT_STREQ("\nActive: 0\nBusy: 0\n", ue_slurp(UE_STATUS));
	EXPECT_STREQ("early_*\nearly_* hist:keys=a\n", ue_slurp(SET));

	/* One that others have registered, and its records, stay. */
	EXPECT_EQ(8, first_record("early_1 u32 a", 0));
	EXPECT_EQ(-EFAULT, ue_reg(self->fd, nowhere, 0, "early_1 u32 a"));
	EXPECT_TRUE(enabled("early_1"));
	EXPECT_EQ(1, ue_records("early_1"));
	EXPECT_NE(NULL, strstr(ue_slurp(UE_EVENTS "/early_1/hist"), "Hits: 1\n"));
}

TEST_F(dev, set_user_event__bound)
{
	const char *kept = "/proc/sys/kernel/user_events_kept_max";
	const char *max = "/proc/sys/kernel/user_events_max";
	char desc[32], record[32];

	EXPECT_STREQ("4096\n", ue_slurp(kept));
	ASSERT_EQ(0, ue_put(SET, "early_*"));
	ASSERT_EQ(0, ue_put(kept, "10"));
	for (int i = 0; i < 30; i++) {
		snprintf(desc, sizeof(desc), "early_%d u32 a", i);
		EXPECT_EQ(8, first_value(desc, 0, 1000 + i));
	}
	/* The oldest are removed. */
	EXPECT_TRUE(ue_poll(strstr(ue_slurp(SET), "# removed: 20, last: early_19\n")))
		TH_LOG("%s", ue_slurp(SET));
	EXPECT_TRUE(ue_gone("early_19"));
	EXPECT_NE(NULL, strstr(ue_slurp(UE_STATUS), "\nActive: 10\nBusy: 10\n"));
	EXPECT_TRUE(enabled("early_20"));
	/* Some have the number, and the record, of one that was removed: quirk-recycled-id. */
	for (int i = 20; i < 30; i++) {
		snprintf(record, sizeof(record), "early_%d: a=0x%x (", i, 1000 + i);
		EXPECT_EQ(1, ue_count(ue_slurp(UE_TRACEFS "/trace"), record)) TH_LOG("%d", i);
	}
	/* One that is used again is not among the oldest. */
	EXPECT_EQ(8, first_record("early_20 u32 a", 0));
	EXPECT_EQ(8, first_record("early_30 u32 a", 0));
	EXPECT_TRUE(ue_gone("early_21"));
	EXPECT_TRUE(enabled("early_20"));
	/* Events that are used do not count. */
	for (int i = 0; i < 12; i++) {
		snprintf(desc, sizeof(desc), "early_used_%d u32 a", i);
		EXPECT_EQ(0, ue_reg(self->fd, &self->w[i], 0, desc));
	}
	EXPECT_NE(NULL, strstr(ue_slurp(UE_STATUS), "\nActive: 22\n"));
	/* None is kept. */
	ASSERT_EQ(0, ue_trunc(SET));
	ASSERT_EQ(0, ue_put(SET, "early_*"));
	ASSERT_EQ(0, ue_put(kept, "0"));
	EXPECT_EQ(8, first_record("early_none u32 a", 0));
	EXPECT_TRUE(ue_gone("early_none"));
	ASSERT_EQ(0, ue_put(kept, "4096"));

	/* Kept ones are removed if as many events exist as allowed. */
	ASSERT_TRUE(ue_poll(strstr(ue_slurp(UE_STATUS), "\nActive: 12\n")));
	ASSERT_EQ(0, ue_put(max, "15"));
	for (int i = 0; i < 10; i++) {
		snprintf(desc, sizeof(desc), "early_more_%d u32 a", i);
		EXPECT_EQ(8, first_record(desc, 0)) TH_LOG("%d", i);
	}
	for (int i = 12; i < 15; i++) {
		snprintf(desc, sizeof(desc), "early_used_%d u32 a", i);
		EXPECT_EQ(0, ue_reg(self->fd, &self->w[i], 0, desc));
	}
	EXPECT_EQ(-EMFILE, ue_reg(self->fd, &self->w[15], 0, "early_used_15 u32 a"));
	EXPECT_EQ(0, ue_put(max, "32768"));
	for (int i = 0; i < 15; i++)
		EXPECT_EQ(0, ue_unreg(self->fd, &self->w[i], 0));
}

/* Creates @n events early_0, early_1 ... whose last user has closed its file. */
static void keep_events(struct __test_metadata *_metadata, int n)
{
	char desc[32];

	for (int i = 0; i < n; i++) {
		snprintf(desc, sizeof(desc), "early_%d u32 a", i);
		EXPECT_EQ(8, first_record(desc, 0));
	}
	snprintf(desc, sizeof(desc), "\nActive: %d\nBusy: %d\n", n, n);
	ASSERT_TRUE(ue_poll(strstr(ue_slurp(UE_STATUS), desc)));
	usleep(300000);
}

/* A histogram of a line that another one refers to keeps its event, and no other. */
TEST_F(dev, set_user_event__referred_to)
{
	const char *kept = "/proc/sys/kernel/user_events_kept_max";
	const char *max = "/proc/sys/kernel/user_events_max";
	const char *trigger = UE_EVENTS "/refers/trigger";

	ASSERT_EQ(0, ue_put(SET, "early_*\nearly_* hist:keys=a:v=a"));
	keep_events(_metadata, 5);
	ASSERT_EQ(0, ue_put(UE_DYN, "u:refers u32 a"));
	ASSERT_EQ(0, ue_put(trigger, "hist:keys=a:x=user_events.early_0.$v"));

	/* No room: the first one that can be removed is. */
	ASSERT_EQ(0, ue_put(max, "6"));
	EXPECT_EQ(8, first_record("early_new u32 a", 0));
	EXPECT_TRUE(enabled("early_0"));
	EXPECT_FALSE(ue_exists("early_1"));
	EXPECT_STREQ("early_*\n# removed: 1, last: early_1\n"
		     "early_* hist:keys=a:v=a\n# removed: 1, last: early_1\n", ue_slurp(SET));
	EXPECT_EQ(0, ue_put(max, "32768"));

	/* Too many are kept. */
	ASSERT_TRUE(ue_poll(strstr(ue_slurp(UE_STATUS), "\nActive: 6\nBusy: 6\n")));
	usleep(300000);
	ASSERT_EQ(0, ue_put(kept, "2"));
	EXPECT_EQ(8, first_record("early_last u32 a", 0));
	EXPECT_TRUE(ue_poll(strstr(ue_slurp(UE_STATUS), "\nActive: 3\nBusy: 3\n")))
		TH_LOG("%s", ue_slurp(UE_STATUS));
	EXPECT_TRUE(enabled("early_0"));
	/* By name as well it is not removed. */
	EXPECT_EQ(-EADDRINUSE, first_record("early_0 u32 b", 0));
	ASSERT_EQ(0, ue_trunc(trigger));
	EXPECT_EQ(8, first_record("early_0 u32 b", 0));
	ASSERT_EQ(0, ue_put(kept, "4096"));
}

/* A removal waits for a grace period, but not with the lock that a registration needs. */
TEST_F(dev, set_user_event__removals_hold_nobody_up)
{
	const char *kept = "/proc/sys/kernel/user_events_kept_max";
	uint64_t start, ms;

	ASSERT_EQ(0, ue_put(SET, "early_*"));
	ASSERT_EQ(0, ue_put(kept, "16"));
	start = ue_now();
	for (int i = 0; i < 200; i++)
		EXPECT_EQ(8, first_record(ue_path("early_%d u32 a", i), 0));
	ms = (ue_now() - start) / 1000000;
	TH_LOG("200 registrations: %llu ms", (unsigned long long)ms);
	EXPECT_GT(ue_slow_ms(5000), ms);
	EXPECT_TRUE(ue_poll(strstr(ue_slurp(UE_STATUS), "\nActive: 16\n")));
	ASSERT_EQ(0, ue_put(kept, "4096"));
}

/* A lower limit holds for all that are kept, as soon as the next event loses its last process. */
TEST_F(dev, set_user_event__bound_lowered)
{
	const char *kept = "/proc/sys/kernel/user_events_kept_max";
	char desc[32];

	ASSERT_EQ(0, ue_put(SET, "early_*"));
	keep_events(_metadata, 60);
	ASSERT_EQ(0, ue_put(kept, "5"));
	usleep(300000);
	EXPECT_NE(NULL, strstr(ue_slurp(UE_STATUS), "\nActive: 60\n"));

	/* More than are removed with event_mutex held once. */
	EXPECT_EQ(8, first_record("early_60 u32 a", 0));
	EXPECT_TRUE(ue_poll(strstr(ue_slurp(SET), "# removed: 56, last: early_55\n")))
		TH_LOG("%s", ue_slurp(SET));
	EXPECT_TRUE(ue_poll(strstr(ue_slurp(UE_STATUS), "\nActive: 5\nBusy: 5\n")))
		TH_LOG("%s", ue_slurp(UE_STATUS));
	for (int i = 56; i < 61; i++) {
		snprintf(desc, sizeof(desc), "early_%d", i);
		EXPECT_TRUE(enabled(desc)) TH_LOG("%s", desc);
	}
	ASSERT_EQ(0, ue_put(kept, "4096"));
}

/* Kept events that have a listener since are passed over, until that ends. */
TEST_F(dev, set_user_event__bound_passes_over)
{
	const char *kept = "/proc/sys/kernel/user_events_kept_max";
	char desc[32];

	ASSERT_EQ(0, ue_put(SET, "early_*"));
	keep_events(_metadata, 6);
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, ue_put(ue_path(UE_EVENTS "/early_%d/trigger", i), "hist:keys=a"));
	}

	/* It ends although more are kept than allowed. */
	ASSERT_EQ(0, ue_put(kept, "2"));
	EXPECT_EQ(8, first_record("early_6 u32 a", 0));
	EXPECT_TRUE(ue_poll(strstr(ue_slurp(SET), "# removed: 4, last: early_6\n")))
		TH_LOG("%s", ue_slurp(SET));
	EXPECT_TRUE(ue_poll(strstr(ue_slurp(UE_STATUS), "\nActive: 3\nBusy: 3\n")))
		TH_LOG("%s", ue_slurp(UE_STATUS));
	for (int i = 0; i < 3; i++) {
		snprintf(desc, sizeof(desc), "early_%d", i);
		EXPECT_TRUE(enabled(desc)) TH_LOG("%s", desc);
	}
	/* The oldest of them is the first that is removed then. */
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, ue_trunc(ue_path(UE_EVENTS "/early_%d/trigger", i)));
	}
	EXPECT_EQ(8, first_record("early_7 u32 a", 0));
	EXPECT_TRUE(ue_poll(strstr(ue_slurp(SET), "# removed: 6, ")))
		TH_LOG("%s", ue_slurp(SET));
	EXPECT_TRUE(ue_poll(strstr(ue_slurp(UE_STATUS), "\nActive: 2\nBusy: 2\n")))
		TH_LOG("%s", ue_slurp(UE_STATUS));
	EXPECT_TRUE(enabled("early_7"));
	ASSERT_EQ(0, ue_put(kept, "4096"));
}

/* Events that are used again do not count, though they were kept before. */
TEST_F(dev, set_user_event__bound_of_used)
{
	const char *kept = "/proc/sys/kernel/user_events_kept_max";

	ASSERT_EQ(0, ue_put(SET, "early_*"));
	for (int i = 0; i < 10; i++)
		EXPECT_EQ(8, first_record(ue_path("early_%d u32 a", i), 0));
	ASSERT_TRUE(ue_poll(strstr(ue_slurp(UE_STATUS), "\nActive: 10\nBusy: 10\n")));
	usleep(300000);
	for (int i = 0; i < 5; i++)
		EXPECT_EQ(0, ue_reg(self->fd, &self->w[i], 0, ue_path("early_%d u32 a", i)));

	/* Six are kept then. */
	ASSERT_EQ(0, ue_put(kept, "6"));
	EXPECT_EQ(8, first_record("early_10 u32 a", 0));
	usleep(300000);
	EXPECT_EQ(NULL, strstr(ue_slurp(SET), "# removed")) TH_LOG("%s", ue_slurp(SET));
	for (int i = 5; i < 11; i++) {
		EXPECT_TRUE(enabled(ue_path("early_%d", i)))
			TH_LOG("%d", i);
	}
	/* The next one is one too many. */
	EXPECT_EQ(8, first_record("early_11 u32 a", 0));
	EXPECT_TRUE(ue_poll(strstr(ue_slurp(SET), "# removed: 1, last: early_5\n")))
		TH_LOG("%s", ue_slurp(SET));
	ASSERT_EQ(0, ue_put(kept, "4096"));
	for (int i = 0; i < 5; i++)
		EXPECT_EQ(0, ue_unreg(self->fd, &self->w[i], 0));
}

/* error_log has the first message of a line, and those of others stay there. */
TEST_F(dev, set_user_event__error_log)
{
	const char *log = UE_TRACEFS "/error_log";
	char desc[32];

	ASSERT_EQ(0, ue_put(UE_DYN, "u:own u32 a"));
	ASSERT_EQ(-EINVAL, ue_put(UE_EVENTS "/own/trigger", "hist:keys=mine"));
	ASSERT_EQ(0, ue_put(SET, "early_* hist:keys=nosuch"));
	for (int i = 0; i < 20; i++) {
		snprintf(desc, sizeof(desc), "early_%d u32 a", i);
		EXPECT_EQ(0, first_record(desc, 0));
	}
	EXPECT_NE(NULL, strstr(ue_slurp(SET), "# failed: 20, last: -22 for early_19\n"));
	EXPECT_EQ(1, ue_count(ue_slurp(log), "Command: hist:keys=nosuch"));
	EXPECT_EQ(1, ue_count(ue_slurp(log), "Command: hist:keys=mine"));
	/* Those of this task are logged as before. */
	EXPECT_EQ(-EINVAL, ue_put(UE_EVENTS "/own/trigger", "hist:keys=again"));
	EXPECT_EQ(1, ue_count(ue_slurp(log), "Command: hist:keys=again"));
}

/* The table of a histogram is charged to the task that causes its creation. */
TEST_F(dev, set_user_event__charged)
{
	const char *dir = "/tmp/early-cgroup", *group = "/tmp/early-cgroup/early";
	long before, after;
	int status;
	pid_t pid;

	ASSERT_EQ(0, ue_put(SET, "early hist:keys=a:size=131072"));
	mkdir(dir, 0700);
	if (mount("none", dir, "cgroup2", 0, NULL))
		SKIP(return, "no cgroup2 in this kernel");
	if (ue_put(ue_path("%s/cgroup.subtree_control", dir), "+memory"))
		SKIP(goto out, "no memory controller in this kernel");
	ASSERT_EQ(0, ue_err(mkdir(group, 0700)));
	before = atol(ue_slurp(ue_path("%s/memory.current", group)));
	pid = fork();
	if (!pid) {
		if (ue_put(ue_path("%s/cgroup.procs", group), "0"))
			_exit(1);
		_exit(first_record("early u32 a", 0) != 8);
	}
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	/* The process has exited, its event is kept. */
	after = atol(ue_slurp(ue_path("%s/memory.current", group)));
	EXPECT_TRUE(ue_exists("early"));
	EXPECT_LT(131072 * 2 * 8, after - before);
	/* And is removed with its event. */
	ASSERT_EQ(0, ue_trunc(SET));
	EXPECT_TRUE(ue_gone("early"));
	/* Nothing is kept for later charges, which is up to 64 pages a CPU. */
	EXPECT_EQ(0, ue_put(ue_path("%s/memory.high", group), "0"));
	EXPECT_TRUE(ue_poll(atol(ue_slurp(ue_path("%s/memory.current", group))) <
			    before + 131072 * 8));
	EXPECT_TRUE(ue_poll(!rmdir(group)));
out:
	umount(dir);
	rmdir(dir);
}

TEST_F(dev, set_user_event__instances)
{
	int fd;

	rmdir(INSTANCE);
	ASSERT_EQ(0, mkdir(INSTANCE, 0755));
	ASSERT_EQ(0, ue_put(INSTANCE_SET, "early"));
	EXPECT_STREQ("", ue_slurp(SET));
	EXPECT_STREQ("early\n", ue_slurp(INSTANCE_SET));
	EXPECT_EQ(8, first_record("early u32 a", 0));
	EXPECT_EQ(1, ue_records_in("instances/early/", "early"));
	EXPECT_EQ(0, ue_records("early"));
	EXPECT_FALSE(enabled("early"));

	/* An open file keeps the instance; without one, its lines are removed with it. */
	fd = open(INSTANCE_SET, O_RDONLY);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EBUSY, ue_err(rmdir(INSTANCE)));
	close(fd);
	ASSERT_EQ(0, ue_err(rmdir(INSTANCE)));
	EXPECT_TRUE(ue_gone("early"));
	ASSERT_EQ(0, mkdir(INSTANCE, 0755));
	EXPECT_STREQ("", ue_slurp(INSTANCE_SET));
	EXPECT_EQ(0, first_record("early u32 a", 0));
	ASSERT_EQ(0, ue_err(rmdir(INSTANCE)));
}

/* Programs that start after the line, and are told that they are enabled when they register. */

#define PROGRAMS	1000
#define AT_ONCE		8
#define PROGRAM_EVENTS	10

/* A program of this number, which runs to its end with one record. */
static int program(unsigned int number)
{
	char desc[32];
	int fd = ue_open();
	volatile uint32_t word = 0;

	snprintf(desc, sizeof(desc), "early_%u u32 a", number % PROGRAM_EVENTS);
	if (fd < 0 || ue_reg(fd, &word, 0, desc))
		return 1;
	if (word != 1)
		return 2;
	return ue_write_u32(fd, 0, number) == 8 ? 0 : 3;
}

static bool program_start(unsigned int number)
{
	char text[16], *argv[] = { "early_test", "--program", text, NULL };
	pid_t pid;

	snprintf(text, sizeof(text), "%u", number);
	return posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ) == 0;
}

/* Returns the number of records of programs in a trace; @seen counts them by their number. */
static int program_records(const char *text, int seen[PROGRAMS])
{
	unsigned int event, number;
	int n = 0;

	while ((text = strstr(text, ": early_"))) {
		text += strlen(": early_");
		n++;
		if (sscanf(text, "%u: a=0x%x ", &event, &number) == 2 && number < PROGRAMS &&
		    event == number % PROGRAM_EVENTS)
			seen[number]++;
	}
	return n;
}

TEST_F_TIMEOUT(dev, set_user_event__thousand_programs, 280)
{
	int seen[PROGRAMS] = {}, started = 0, ended = 0, failed = 0, once = 0, status;
	uint64_t began = ue_now();

	ASSERT_EQ(0, ue_put(SET, "early_*"));
	while (ended < PROGRAMS) {
		if (started < PROGRAMS && started - ended < AT_ONCE) {
			ASSERT_TRUE(program_start(started));
			started++;
			continue;
		}
		ASSERT_LT(0, wait(&status));
		ended++;
		if (status && !failed++)
			TH_LOG("the first that failed: status 0x%x", status);
	}
	TH_LOG("%d programs in %lu ms", ended, (unsigned long)((ue_now() - began) / 1000000));
	EXPECT_EQ(0, failed);
	EXPECT_EQ(PROGRAMS, program_records(ue_slurp(UE_TRACEFS "/trace"), seen));
	for (int i = 0; i < PROGRAMS; i++)
		once += seen[i] == 1;
	EXPECT_EQ(PROGRAMS, once);
	/* The programs have ended, and the line keeps their events. */
	for (int i = 0; i < PROGRAM_EVENTS; i++) {
		EXPECT_TRUE(enabled(ue_path("early_%d", i))) TH_LOG("early_%d", i);
	}
	EXPECT_STREQ("early_*\n", ue_slurp(SET));
}

/* Registrations beside lines, and instances, that are created and removed. */

static volatile bool stop;

static void *registers(void *arg)
{
	long n = 0, bad = 0;
	char desc[32];

	while (!stop) {
		snprintf(desc, sizeof(desc), "early_%ld_%ld u32 a", (long)arg, n++ % 4);
		if (first_record(desc, n % 3 ? 0 : USER_EVENT_REG_MULTI_FORMAT) < 0)
			bad++;
	}
	return (void *)bad;
}

static void *reads(void *arg)
{
	while (!stop) {
		ue_put(INSTANCE_SET, "early_1_*\nearly_* hist:keys=a\n!early_1_*");
		ue_put(SET, "early_*\n!early_*");
	}
	return arg;
}

TEST_F(dev, set_user_event__races)
{
	pthread_t threads[3];
	void *bad;
	int rounds = 0;

	stop = false;
	ASSERT_EQ(0, ue_put(SET, ""));
	pthread_create(&threads[0], NULL, registers, (void *)1);
	pthread_create(&threads[1], NULL, registers, (void *)2);
	pthread_create(&threads[2], NULL, reads, NULL);
	for (uint64_t end = ue_now() + 3000000000ull; ue_now() < end; rounds++) {
		/* The other thread may have a file open. */
		if (mkdir(INSTANCE, 0755) && errno != EEXIST)
			break;
		ue_put(INSTANCE_SET, "early_*");
		rmdir(INSTANCE);
	}
	stop = true;
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], &bad);
		EXPECT_EQ(NULL, bad);
	}
	EXPECT_LT(1, rounds);
	rmdir(INSTANCE);
	EXPECT_NE(0, access(INSTANCE, F_OK));
	EXPECT_EQ(0, ue_trunc(SET));
	EXPECT_TRUE(ue_poll(ue_trunc(UE_DYN) == 0));
	EXPECT_TRUE(ue_poll(strstr(ue_slurp(UE_STATUS), "Active: 0")));
}

TEST_F_TIMEOUT(dev, set_user_event__failed_allocations, 280)
{
	int nth, ret, hits = 0, applied = 0, failed = 0, fd;

	ASSERT_EQ(0, access(SET, F_OK));
	NEED_FAULTS();
	nth = fault_open();
	ASSERT_EQ(0, fault_keep_cmdlines(self->fd, &self->w[8]));

	/* A line is added, or it is not. */
	fd = open(SET, O_WRONLY | O_APPEND);
	ASSERT_LE(0, fd);
	fault_sweep(nth, n, 500) {
		fault_arm(nth, n);
		ret = ue_err(write(fd, "early hist:keys=a", 17));
		hits += fault_done(nth);
		ASSERT_TRUE(ret == 17 || ret == -ENOMEM) TH_LOG("n %d: %d", n, ret);
		EXPECT_STREQ(ret < 0 ? "" : "early hist:keys=a\n", ue_slurp(SET));
		if (ret > 0) {
			ASSERT_EQ(0, ue_put(SET, "!early hist:keys=a"));
		}
	}
	close(fd);
	EXPECT_LT(3, hits);

	/* An event is created with its trigger, or the file says that it is not. */
	fault_sweep(nth, n, 2000) {
		int own = ue_open();

		ASSERT_LE(0, own);
		ASSERT_EQ(0, ue_trunc(SET));
		ASSERT_EQ(0, ue_put(SET, "early hist:keys=a:size=128"));
		self->w[0] = 0;
		fault_arm(nth, n);
		ret = ue_reg(own, &self->w[0], 0, "early u32 a");
		hits += fault_done(nth);
		ASSERT_TRUE(ret == 0 || ret == -ENOMEM) TH_LOG("n %d: %d", n, ret);
		if (!ret && self->w[0]) {
			applied++;
		} else if (!ret && strstr(ue_slurp(SET), "# failed: 1, last: -12")) {
			failed++;
		} else {
			EXPECT_NE(0, ret) TH_LOG("n %d: neither applied nor failed", n);
		}
		close(own);
		ue_unreg(self->fd, &self->w[0], 0);
		ASSERT_EQ(0, ue_trunc(SET));
		ASSERT_TRUE(ue_poll(!strstr(ue_slurp(UE_STATUS), "early"))) TH_LOG("n %d", n);
	}
	EXPECT_LT(0, applied);
	EXPECT_LT(0, failed);
	close(nth);
}

/* status-poll: pollers of user_events_status are told of events that are created and removed. */

static int poll_status(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLPRI };
	int ret = ue_err(poll(&p, 1, ms));

	return ret > 0 ? p.revents : ret;
}

static bool read_status(int fd, const char *event)
{
	char text[4096] = "";

	return pread(fd, text, sizeof(text) - 1, 0) > 0 && strstr(text, event);
}

TEST_F(dev, status_poll__create_and_remove)
{
	struct pollfd all = { .events = POLLIN | POLLOUT | POLLPRI };
	int fd = open(UE_STATUS, O_RDONLY), other = open(UE_STATUS, O_RDONLY);

	ASSERT_LE(0, fd);
	ASSERT_LE(0, other);
	EXPECT_EQ(0, poll_status(fd, 0));
	/* As C answers. */
	all.fd = fd;
	EXPECT_EQ(1, poll(&all, 1, 0));
	EXPECT_EQ(POLLIN | POLLOUT, all.revents);

	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "early u32 a"));
	EXPECT_EQ(POLLPRI, poll_status(fd, 0));
	EXPECT_EQ(POLLPRI, poll_status(fd, 0));
	EXPECT_TRUE(read_status(fd, "early\n"));
	EXPECT_EQ(0, poll_status(fd, 0));
	EXPECT_EQ(POLLPRI, poll_status(other, 0));

	/* The same event, and a listener of it, are nothing new. */
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[1], 0, "early u32 a"));
	EXPECT_EQ(0, ue_enable("early", true));
	EXPECT_EQ(0, ue_enable("early", false));
	EXPECT_EQ(0, poll_status(fd, 0));

	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[1], 0));
	close(self->fd);
	EXPECT_EQ(POLLPRI, poll_status(fd, UE_PATIENCE));
	EXPECT_FALSE(read_status(fd, "early\n"));
	EXPECT_EQ(0, poll_status(fd, 0));
	self->fd = ue_open();

	/* By name, and all at once. */
	ASSERT_EQ(0, ue_put(UE_DYN, "u:early u32 a"));
	EXPECT_EQ(POLLPRI, poll_status(fd, 0));
	EXPECT_TRUE(read_status(fd, "early\n"));
	EXPECT_EQ(0, ue_del(self->fd, "early"));
	EXPECT_EQ(POLLPRI, poll_status(fd, 0));
	close(fd);
	close(other);
}

static void *registers_later(void *arg)
{
	usleep(200000);
	return (void *)(long)first_record("early_late u32 a", 0);
}

TEST_F(dev, status_poll__wakes)
{
	struct epoll_event ev = { .events = EPOLLPRI };
	int fd = open(UE_STATUS, O_RDONLY), ep = epoll_create1(0);
	pthread_t thread;
	uint64_t start;
	void *ret;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ue_err(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev)));
	EXPECT_EQ(0, epoll_wait(ep, &ev, 1, 0));
	start = ue_now();
	ASSERT_EQ(0, pthread_create(&thread, NULL, registers_later, NULL));
	EXPECT_EQ(1, epoll_wait(ep, &ev, 1, UE_PATIENCE));
	EXPECT_EQ(EPOLLPRI, ev.events);
	EXPECT_LT(100000000ull, ue_now() - start);
	pthread_join(thread, &ret);
	EXPECT_EQ(NULL, ret);
	/* And when it is removed. */
	ASSERT_TRUE(ue_gone("early_late"));
	read_status(fd, "");
	EXPECT_EQ(0, epoll_wait(ep, &ev, 1, 0));
	close(ep);
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--program"))
		return program(atoi(argv[2]));
	return test_harness_run(argc, argv);
}
