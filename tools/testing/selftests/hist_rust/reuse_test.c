// SPDX-License-Identifier: GPL-2.0
/*
 * Histograms whose elements are used again for other keys: "reuse". Pairs of
 * events with the same key, of many more keys than a map has elements, generate a
 * synthetic event with the difference of two numbers of theirs, which is the same
 * for each pair. So each pair has to be matched, and none with another's number.
 *
 * REUSE_KEYS=N is the number of keys of many_keys.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>

#include "kselftest_harness.h"
#include "../user_events_rust/ue.h"
#include "hist.h"

#define THREADS_MOST	8
/* What the second event of a pair has more than the first. */
#define LATENCY		7
#define KEYS		100000

#define FIRST		UE_EVENTS "/reuse_first"
#define SECOND		UE_EVENTS "/reuse_second"
#define MATCHED		UE_TRACEFS "/events/synthetic/reuse_syn"

#define ON_FIRST	"hist:keys=key:x1=when:size=%d%s"
#define ON_SECOND	"hist:keys=key:lat=when-$x1:onmatch(user_events.reuse_first).trace(reuse_syn,$lat):size=%d%s"
#define ON_MATCHED	"hist:keys=lat"

FIXTURE(reuse)
{
	int fd, first, second;
	uint32_t words[2];
};

FIXTURE_SETUP(reuse)
{
	if (!hist_is_rust())
		SKIP(return, "in C there is no reuse");
	ASSERT_TRUE(ue_reset());
	self->fd = ue_open();
	ASSERT_LE(0, self->fd);
	self->first = ue_reg_index(self->fd, &self->words[0], 0, "reuse_first u32 key; u64 when");
	self->second = ue_reg_index(self->fd, &self->words[1], 0, "reuse_second u32 key; u64 when");
	ASSERT_LE(0, self->first);
	ASSERT_LE(0, self->second);
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/synthetic_events", "reuse_syn u64 lat"));
	ASSERT_EQ(0, ue_put(MATCHED "/trigger", ON_MATCHED));
}

FIXTURE_TEARDOWN(reuse)
{
	ue_trunc(SECOND "/trigger");
	ue_trunc(FIRST "/trigger");
	ue_put(MATCHED "/trigger", "!" ON_MATCHED);
	ue_put(UE_TRACEFS "/synthetic_events", "!reuse_syn u64 lat");
	/* What is registered keeps the events until this process ends. */
	ue_unreg(self->fd, &self->words[0], 0);
	ue_unreg(self->fd, &self->words[1], 0);
	close(self->fd);
	ue_reset();
}

static int attach(int size, const char *clause)
{
	char first[256], second[256];
	int ret;

	snprintf(first, sizeof(first), ON_FIRST, size, clause);
	snprintf(second, sizeof(second), ON_SECOND, size, clause);
	ret = ue_put(FIRST "/trigger", first);
	return ret ? ret : ue_put(SECOND "/trigger", second);
}

struct totals {
	unsigned long hits, entries, dropped, reused, lost;
};

static unsigned long number_after(const char *text, const char *what)
{
	const char *at = strstr(text, what);

	return at ? strtoul(at + strlen(what), NULL, 10) : ~0ul;
}

static struct totals totals(const char *hist)
{
	const char *text = ue_slurp(hist);

	return (struct totals) {
		number_after(text, "Hits: "),
		number_after(text, "Entries: "),
		number_after(text, "Dropped: "),
		number_after(text, "Reused: "),
		number_after(text, "Lost: "),
	};
}

static long write_one(int fd, int index, uint32_t key, uint64_t when)
{
	struct {
		uint32_t key;
		uint64_t when;
	} __attribute__((packed)) record = { key, when };

	return ue_writev(fd, index, &record, sizeof(record));
}

/* A number that no other key has. */
static uint64_t when(uint32_t key)
{
	return key * 1000ull;
}

struct writer {
	pthread_t thread;
	int fd, first, second;
	unsigned int number, count, waiting;
	unsigned long failed;
};

/* Pairs of so many keys, of which @waiting have had their first event only. */
static void *write_pairs(void *arg)
{
	struct writer *w = arg;
	uint32_t base = w->number << 28 | 1;
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(w->number % sysconf(_SC_NPROCESSORS_ONLN), &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	for (unsigned int i = 0; i < w->count + w->waiting; i++) {
		uint32_t new = base + i, old = new - w->waiting;

		if (i < w->count)
			w->failed += write_one(w->fd, w->first, new, when(new)) < 0;
		if (i >= w->waiting)
			w->failed += write_one(w->fd, w->second, old, when(old) + LATENCY) < 0;
	}
	return NULL;
}

/* The number of pairs that were matched; ~0 if one had the number of another. */
static unsigned long matched(void)
{
	const char *text = ue_slurp(MATCHED "/hist");
	unsigned long hits = number_after(text, "Hits: ");

	if (hits && (ue_count(text, "{ lat:") != 1 || number_after(text, "{ lat:") != LATENCY))
		return ~0ul;
	return hits;
}

static unsigned int count_of(const char *name, unsigned int otherwise)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 0) : otherwise;
}

/* Without it, a key that does not fit is never matched. */
TEST_F(reuse, full_without_it)
{
	struct writer w = { .fd = self->fd, .first = self->first, .second = self->second, .count = 1000 };

	ASSERT_EQ(0, attach(128, ""));
	write_pairs(&w);
	EXPECT_EQ(0, w.failed);
	EXPECT_EQ(128, matched());
	EXPECT_EQ(1000 - 128, totals(FIRST "/hist").dropped);
	EXPECT_EQ(~0ul, totals(FIRST "/hist").reused);
}

TEST_F_TIMEOUT(reuse, many_keys, 3000)
{
	struct writer w = { .fd = self->fd, .first = self->first, .second = self->second, .waiting = 16 };
	struct totals first, second;
	uint64_t start;

	w.count = count_of("REUSE_KEYS", KEYS);
	ASSERT_EQ(0, attach(2048, ":reuse"));
	start = ue_now();
	write_pairs(&w);
	first = totals(FIRST "/hist");
	second = totals(SECOND "/hist");
	TH_LOG("%u keys, %lu matched, %lu lost, %lu and %lu dropped, %.1f s", w.count, matched(), first.lost,
	       first.dropped, second.dropped, (ue_now() - start) / 1e9);
	EXPECT_EQ(0, w.failed);
	EXPECT_EQ(w.count, first.hits);
	EXPECT_EQ(0, first.dropped);
	EXPECT_EQ(0, second.dropped);
	/* A full bucket loses a number that waits. */
	EXPECT_LE(matched(), w.count);
	EXPECT_GE(matched(), w.count - w.count / 1000);
	EXPECT_LE(w.count - matched(), first.lost);
	EXPECT_EQ(w.count, first.entries + first.reused);
	EXPECT_EQ(second.hits, second.entries + second.reused);
	EXPECT_LE(first.entries, 2048);
	EXPECT_GE(first.entries, 2040);
}

/* If all wait, the newest get the elements, and each key that has lost one is counted. */
TEST_F(reuse, all_wait)
{
	struct writer w = { .fd = self->fd, .first = self->first, .second = self->second,
			    .count = 5000, .waiting = 1000 };
	struct totals first;

	ASSERT_EQ(0, attach(128, ":reuse"));
	write_pairs(&w);
	first = totals(FIRST "/hist");
	EXPECT_EQ(0, w.failed);
	EXPECT_EQ(5000, first.hits);
	EXPECT_EQ(0, first.dropped);
	EXPECT_EQ(5000, first.lost + matched());
	EXPECT_EQ(5000, first.entries + first.reused);
}

/* What nothing will take does not wait. */
TEST_F(reuse, taker_is_removed)
{
	struct totals t;
	char second[256];
	unsigned long lost;
	uint32_t key = 1;

	ASSERT_EQ(0, attach(128, ":reuse"));
	for (int i = 0; i < 64; i++, key++)
		ASSERT_LT(0, write_one(self->fd, self->first, key, when(key)));
	/* Some are in a bucket that is full, as the keys happen to be spread. */
	lost = totals(FIRST "/hist").lost;
	EXPECT_GE(10, lost);
	snprintf(second, sizeof(second), "!" ON_SECOND, 128, ":reuse");
	ASSERT_EQ(0, ue_put(SECOND "/trigger", second));
	for (int i = 0; i < 1000; i++, key++)
		ASSERT_LT(0, write_one(self->fd, self->first, key, when(key)));
	t = totals(FIRST "/hist");
	EXPECT_EQ(1064, t.hits);
	EXPECT_EQ(0, t.dropped);
	EXPECT_LT(900, t.reused);
	EXPECT_EQ(lost, t.lost);
	/* With one again they do. */
	ASSERT_EQ(0, ue_put(SECOND "/trigger", second + 1));
	for (int i = 0; i < 1000; i++, key++)
		ASSERT_LT(0, write_one(self->fd, self->first, key, when(key)));
	t = totals(FIRST "/hist");
	EXPECT_EQ(0, t.dropped);
	EXPECT_LT(900, t.lost);
}

/* Writers on all processors, each with keys of its own, while the tables are read. */
TEST_F_TIMEOUT(reuse, many_keys_from_everywhere, 600)
{
	struct writer w[THREADS_MOST];
	long threads = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int count = KEYS / 5;
	struct totals first, second;
	unsigned long all;

	threads = threads < 2 ? 2 : threads > THREADS_MOST ? THREADS_MOST : threads;
	all = threads * count;
	ASSERT_EQ(0, attach(2048, ":reuse"));
	for (int i = 0; i < threads; i++) {
		w[i] = (struct writer) { .fd = self->fd, .first = self->first, .second = self->second,
					 .number = i, .count = count, .waiting = 4 };
		ASSERT_EQ(0, pthread_create(&w[i].thread, NULL, write_pairs, &w[i]));
	}
	for (int i = 0; i < 20; i++) {
		first = totals(FIRST "/hist");
		EXPECT_LE(first.entries, 2048);
		usleep(20000);
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(w[i].thread, NULL);
		EXPECT_EQ(0, w[i].failed);
	}
	first = totals(FIRST "/hist");
	second = totals(SECOND "/hist");
	TH_LOG("%lu keys, %lu matched, %lu lost, %lu and %lu dropped", all, matched(), first.lost, first.dropped,
	       second.dropped);
	/*
	 * A hit is a drop if others change its element or its bucket 16 times. Its pair is not
	 * matched then, so drops are within the bound of these.
	 */
	EXPECT_EQ(all, first.hits + first.dropped);
	EXPECT_LE(matched(), all);
	EXPECT_GE(matched(), all - all / 1000);
	/* Each pair that is not matched is counted. */
	EXPECT_LE(all - matched(), first.lost + first.dropped + second.dropped);
	/* A retired key may still be in its bucket, and is not counted as reused then. */
	EXPECT_LE(first.entries + first.reused, first.hits);
	EXPECT_LE(second.entries + second.reused, second.hits);
	EXPECT_LE(first.entries, 2048);
}

/* One that has no variable, so that it can be cleared, is cleared all the time. */
TEST_F_TIMEOUT(reuse, many_keys_while_cleared, 600)
{
	static const char other[] = "hist:keys=key:onmatch(user_events.reuse_first).trace(reuse_other,when):size=128:reuse";
	struct writer w[4];
	char clear[256];

	ASSERT_EQ(0, attach(512, ":reuse"));
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/synthetic_events", "reuse_other u64 when"));
	ASSERT_EQ(0, ue_put(FIRST "/trigger", other));
	snprintf(clear, sizeof(clear), "%s:clear", other);
	for (int i = 0; i < 4; i++) {
		w[i] = (struct writer) { .fd = self->fd, .first = self->first, .second = self->second,
					 .number = i, .count = KEYS / 10, .waiting = 4 };
		ASSERT_EQ(0, pthread_create(&w[i].thread, NULL, write_pairs, &w[i]));
	}
	for (int i = 0; i < 20; i++) {
		EXPECT_EQ(0, ue_put(FIRST "/trigger", clear));
		usleep(10000);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(w[i].thread, NULL);
		EXPECT_EQ(0, w[i].failed);
	}
	EXPECT_LE(matched(), 4 * KEYS / 10);
	EXPECT_GE(matched(), 4 * KEYS / 10 - 4 * KEYS / 10000);
	EXPECT_EQ(0, ue_put(FIRST "/trigger", clear));
	EXPECT_EQ(1, ue_count(ue_slurp(FIRST "/hist"), "    Hits: 0\n    Entries: 0\n"));
	EXPECT_EQ(1, ue_count(ue_slurp(FIRST "/hist"), "    Reused: 0\n    Lost: 0\n"));
	ue_trunc(SECOND "/trigger");
	ue_trunc(FIRST "/trigger");
	EXPECT_EQ(0, ue_put(UE_TRACEFS "/synthetic_events", "!reuse_other u64 when"));
}

TEST_HARNESS_MAIN
