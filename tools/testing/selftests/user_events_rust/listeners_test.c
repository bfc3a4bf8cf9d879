// SPDX-License-Identifier: GPL-2.0
/*
 * The recipients of a record and their order: perf-last and foreign-probes in
 * Documentation/trace/rust/deviations.rst.
 *
 * All of these fail on the C implementation.
 */
#define _GNU_SOURCE
#include "kselftest_harness.h"
#include "ue.h"

UE_FIXTURE(dev)

/*
 * perf-last: a trigger runs when the record of the trace instance is committed.
 * It generates a synthetic event, and perf writes the records of both events to
 * one buffer: their order is the order of the commit and of perf.
 */

#define MADE	"pl_made"
#define TRIGGER	"hist:keys=value:mark=value:onmax($mark).trace(" MADE ",$mark)"

struct order {
	struct ue_perf perf;
	int made_fd;
	int made_id;
};

static int order_open_perf(struct order *o, const char *event)
{
	struct perf_event_attr pe = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(pe),
		.config = o->made_id,
		.sample_type = PERF_SAMPLE_RAW,
		.sample_period = 1,
	};
	int ret = ue_perf_open(&o->perf, event);

	if (ret)
		return ret;
	o->made_fd = ue_err(syscall(__NR_perf_event_open, &pe, 0, -1, -1, 0));
	if (o->made_fd < 0)
		return o->made_fd;
	return ue_err(ioctl(o->made_fd, PERF_EVENT_IOC_SET_OUTPUT, o->perf.fd));
}

static int order_open_file(const char *event)
{
	int ret = ue_put(ue_path(UE_EVENTS "/%s/trigger", event), TRIGGER);

	return ret ? ret : ue_enable(event, true);
}

/*
 * Which records perf has got, oldest first: "made" for the synthetic event,
 * "event" for the user event.
 */
static const char *order_seen(struct order *o, const char *event)
{
	static char seen[64];
	int id = ue_event_id(event);
	uint16_t raw[512];

	seen[0] = '\0';
	while (ue_perf_next(&o->perf, raw, sizeof(raw)) >= 0 && strlen(seen) < 40) {
		strcat(seen, raw[0] == id ? "event " : raw[0] == o->made_id ? "made " : "other ");
	}
	return seen;
}

/* Both ways to begin to listen, and a record of this many bytes. */
static void check_order(struct __test_metadata *_metadata, int fd, volatile uint32_t *w,
			const char *desc, size_t len, const char *wanted)
{
	const char *event = "pl";
	char rec[512] = {};

	ASSERT_EQ(0, ue_reg(fd, w, 0, desc));
	for (int perf_first = 0; perf_first < 2; perf_first++) {
		struct order o = {};
		uint64_t value = 1 + perf_first;
		int ret;

		ret = ue_put(UE_TRACEFS "/synthetic_events", MADE " u64 val");
		if (ret == -ENOENT)
			SKIP(return, "no synthetic events");
		ASSERT_EQ(0, ret);
		o.made_id = atoi(ue_slurp(UE_TRACEFS "/events/synthetic/" MADE "/id"));
		ASSERT_LT(0, o.made_id);

		if (!perf_first) {
			ASSERT_EQ(0, order_open_file(event));
		}
		ASSERT_EQ(0, order_open_perf(&o, event));
		if (perf_first) {
			ASSERT_EQ(0, order_open_file(event));
		}
		memcpy(rec, &value, sizeof(value));
		EXPECT_EQ((long)len + 4, ue_write(fd, 0, rec, len));
		EXPECT_STREQ(wanted, order_seen(&o, event)) {
			TH_LOG("%s was first", perf_first ? "perf" : "the trace instance");
		}

		ASSERT_EQ(0, ue_put(ue_path(UE_EVENTS "/%s/trigger", event), "!" TRIGGER));
		ASSERT_EQ(0, ue_enable(event, false));
		close(o.made_fd);
		ue_perf_close(&o.perf);
		ASSERT_TRUE(ue_poll(ue_put(UE_TRACEFS "/synthetic_events", "!" MADE) == 0));
	}
}

TEST_F(dev, perf_last__short_record)
{
	check_order(_metadata, self->fd, self->w, "pl u64 value", 8, "made event ");
}

TEST_F(dev, perf_last__long_record)
{
	check_order(_metadata, self->fd, self->w, "pl u64 value; char[200] rest", 208, "made event ");
}

/* foreign-probes: a probe of other kernel code is seen, but gets no record. */

#define MODULE	"user_events_probe_test"

static int calls(void)
{
	char *text = ue_slurp("/sys/module/" MODULE "/parameters/calls");

	return *text ? atoi(text) : -ENOENT;
}

TEST_F(dev, foreign_probes__not_called)
{
	/* Longer than what is copied to the stack. */
	char rest[200] = {};

	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "fp u32 a"));
	if (system("modprobe " MODULE " event=fp"))
		SKIP(return, "no module " MODULE);
	/* Nothing tells the event that it was attached: the next change does. */
	EXPECT_EQ(0, ue_enable("fp", true));
	EXPECT_STREQ("fp # Used by ftrace other", ue_status("fp"));
	EXPECT_EQ(1, self->w[0]);
	EXPECT_EQ(8, ue_write_u32(self->fd, 0, 1));
	EXPECT_EQ(1, ue_records("fp"));
	EXPECT_EQ(0, calls());

	/* Alone it is no listener: the bit is clear, and a write says that nothing was recorded. */
	EXPECT_EQ(0, ue_enable("fp", false));
	EXPECT_STREQ("fp # Used by other", ue_status("fp"));
	EXPECT_EQ(0, self->w[0]);
	EXPECT_EQ(-EBADF, ue_write_u32(self->fd, 0, 2));
	EXPECT_EQ(-EBADF, ue_write(self->fd, 0, rest, sizeof(rest)));
	EXPECT_EQ(1, ue_records("fp"));
	/* A listener that does not want the record is one. */
	EXPECT_EQ(0, ue_enable("fp", true));
	EXPECT_EQ(0, ue_put(UE_EVENTS "/fp/filter", "a == 7"));
	EXPECT_EQ(1, self->w[0]);
	EXPECT_EQ(8, ue_write_u32(self->fd, 0, 3));
	EXPECT_EQ(4 + (long)sizeof(rest), ue_write(self->fd, 0, rest, sizeof(rest)));
	EXPECT_EQ(1, ue_records("fp"));
	EXPECT_EQ(0, ue_put(UE_EVENTS "/fp/filter", "0"));
	EXPECT_EQ(0, ue_enable("fp", false));
	EXPECT_EQ(0, self->w[0]);
	EXPECT_EQ(0, calls());

	/* Linux as it is released removes the event all the same, see events-in-use. */
	if (!ue_is_rust()) {
		EXPECT_EQ(0, system("rmmod " MODULE));
		return;
	}

	/* The event stays while a probe is attached, and all is as before after that. */
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
	close(self->fd);
	self->fd = ue_open();
	usleep(200000);
	EXPECT_EQ(-EBUSY, ue_del(self->fd, "fp"));
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "fp u32 a"));
	EXPECT_EQ(0, self->w[0]);
	EXPECT_EQ(0, system("rmmod " MODULE));
	EXPECT_EQ(0, ue_enable("fp", true));
	EXPECT_EQ(0, ue_enable("fp", false));
	EXPECT_STREQ("fp", ue_status("fp"));
	EXPECT_EQ(0, self->w[0]);
	EXPECT_EQ(-EBADF, ue_write_u32(self->fd, 0, 3));
}

TEST_HARNESS_MAIN
