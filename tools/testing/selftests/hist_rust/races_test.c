// SPDX-License-Identifier: GPL-2.0
/*
 * Histograms that several processors write to at once, and that are cleared and
 * read in between. The result has to be the input.
 *
 * Cases of the fixture "sure" hold for the C implementation as well. Those of
 * "dev" show a row of Documentation/trace/rust/deviations.rst; as in C these fail
 * only when the race is lost, they are not run there.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#include "kselftest_harness.h"
#include "../user_events_rust/ue.h"
#include "hist.h"

/* Writers: one for each processor, but at least and at most as many. */
#define THREADS_LEAST	4
#define THREADS_MOST	8
#define DESC	"race u32 id; u32 check; u64 total; __data_loc char[] msg"
#define RACE	UE_EVENTS "/race"

UE_FIXTURE(sure)
UE_FIXTURE(dev)

#define NEED_RUST()							\
do {									\
	if (!hist_is_rust())						\
		SKIP(return, "in C it fails now and then");		\
} while (0)

struct writer {
	pthread_t thread;
	int fd, index, number;
	unsigned int count, keys;
	uint64_t largest;
	volatile bool *stop;
	/* Computes the next record. */
	void (*next)(struct writer *w, unsigned int i, uint32_t *id, uint64_t *total, int *len);
	unsigned long written;
};

static int threads(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return cpus < THREADS_LEAST ? THREADS_LEAST : cpus > THREADS_MOST ? THREADS_MOST : cpus;
}

/* Another number that belongs to this one. */
static uint32_t check_of(uint64_t total)
{
	return (uint32_t)(total * 2654435761u);
}

static void *write_all(void *arg)
{
	struct writer *w = arg;
	struct {
		uint32_t id, check;
		uint64_t total;
		uint32_t msg;
		char text[256];
	} __attribute__((packed)) r;
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(w->number % sysconf(_SC_NPROCESSORS_ONLN), &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	for (unsigned int i = 0; w->count ? i < w->count : !*w->stop; i++) {
		uint32_t id = i % w->keys;
		uint64_t total = 1;
		int len = 1;

		if (w->next)
			w->next(w, i, &id, &total, &len);
		r.id = id;
		r.total = total;
		r.check = check_of(total);
		r.msg = (len + 1) << 16 | (8 + 20);
		memset(r.text, 'a' + len % 26, len);
		r.text[len] = '\0';
		if (total > w->largest)
			w->largest = total;
		w->written += ue_writev(w->fd, w->index, &r, 20 + len + 1) > 0;
	}
	return NULL;
}

/* Runs writers until they are done, or until @meanwhile is. */
static unsigned long run_writers(struct __test_metadata *_metadata, int fd, struct writer *like,
				 void (*meanwhile)(void *), void *arg, uint64_t *largest)
{
	struct writer w[THREADS_MOST];
	volatile bool stop = false;
	unsigned long written = 0;

	for (int i = 0; i < threads(); i++) {
		w[i] = *like;
		w[i].fd = fd;
		w[i].number = i;
		w[i].stop = &stop;
		w[i].written = 0;
		ASSERT_EQ(0, pthread_create(&w[i].thread, NULL, write_all, &w[i]));
	}
	if (meanwhile)
		meanwhile(arg);
	stop = true;
	for (int i = 0; i < threads(); i++) {
		pthread_join(w[i].thread, NULL);
		written += w[i].written;
		if (largest && w[i].largest > *largest)
			*largest = w[i].largest;
	}
	return written;
}

/* One histogram as it is read. */
struct table {
	unsigned long hits, entries, dropped, rows, sum;
	unsigned long id[1024], count[1024];
	bool duplicate;
};

static unsigned long number_after(const char *text, const char *what)
{
	const char *at = strstr(text, what);

	return at ? strtoul(at + strlen(what), NULL, 10) : ~0ul;
}

static void read_table(struct table *t)
{
	char *text = ue_slurp(RACE "/hist"), *line;

	memset(t, 0, sizeof(*t));
	t->hits = number_after(text, "Hits: ");
	t->entries = number_after(text, "Entries: ");
	t->dropped = number_after(text, "Dropped: ");
	while ((line = strsep(&text, "\n"))) {
		if (strncmp(line, "{ id:", 5) || t->rows == 1024)
			continue;
		t->id[t->rows] = number_after(line, "id:");
		t->count[t->rows] = number_after(line, "hitcount:");
		for (unsigned long i = 0; i < t->rows; i++)
			t->duplicate |= t->id[i] == t->id[t->rows];
		t->sum += t->count[t->rows++];
	}
}

/* Many processors insert the same new keys: one row for each, and every hit in it. */
TEST_F(sure, new_keys_from_everywhere)
{
	struct writer like = { .count = 600, .keys = 60 };
	struct table t;

	ASSERT_EQ(0, ue_reg_index(self->fd, self->w, 0, DESC));
	for (int round = 0; round < 10; round++) {
		unsigned long written;

		ASSERT_EQ(0, ue_put(RACE "/trigger", "hist:keys=id:size=128"));
		written = run_writers(_metadata, self->fd, &like, NULL, NULL, NULL);
		read_table(&t);
		EXPECT_EQ(threads() * 600, written);
		EXPECT_EQ(written, t.hits);
		EXPECT_EQ(0, t.dropped);
		EXPECT_EQ(60, t.rows);
		EXPECT_EQ(60, t.entries);
		EXPECT_EQ(t.hits, t.sum);
		EXPECT_FALSE(t.duplicate);
		ASSERT_EQ(0, ue_put(RACE "/trigger", "!hist:keys=id:size=128"));
	}
}

/* More keys than fit: what is not counted as a hit is as lost. */
TEST_F(sure, more_keys_than_room)
{
	struct writer like = { .count = 1000, .keys = 200 };
	unsigned long written;
	struct table t;

	ASSERT_EQ(0, ue_reg_index(self->fd, self->w, 0, DESC));
	ASSERT_EQ(0, ue_put(RACE "/trigger", "hist:keys=id:size=128"));
	written = run_writers(_metadata, self->fd, &like, NULL, NULL, NULL);
	read_table(&t);
	EXPECT_EQ(threads() * 1000, written);
	EXPECT_EQ(written, t.hits + t.dropped);
	EXPECT_EQ(128, t.rows);
	EXPECT_EQ(t.hits, t.sum);
	EXPECT_FALSE(t.duplicate);
	ASSERT_EQ(0, ue_put(RACE "/trigger", "!hist:keys=id:size=128"));
}

/* no-hidden-keys: a key that is in a full map is found, whatever raced to fill it. */
TEST_F_TIMEOUT(dev, no_hidden_keys__at_the_last_free_entry, 280)
{
	struct writer like = { .count = 600, .keys = 150 };
	struct table before, after;

	NEED_RUST();
	ASSERT_EQ(0, ue_reg_index(self->fd, self->w, 0, DESC));
	for (int round = 0; round < 30; round++) {
		ASSERT_EQ(0, ue_put(RACE "/trigger", "hist:keys=id:size=128"));
		run_writers(_metadata, self->fd, &like, NULL, NULL, NULL);
		read_table(&before);
		run_writers(_metadata, self->fd, &like, NULL, NULL, NULL);
		read_table(&after);
		ASSERT_EQ(128, after.rows);
		ASSERT_FALSE(after.duplicate);
		ASSERT_EQ(after.hits, after.sum);
		/* Every row continues to count: 4 hits in each writer. */
		for (unsigned long i = 0; i < after.rows; i++) {
			for (unsigned long j = 0; j < before.rows; j++) {
				if (before.id[j] == after.id[i]) {
					ASSERT_EQ(before.count[j] + threads() * 4, after.count[i]);
				}
			}
		}
		ASSERT_EQ(0, ue_put(RACE "/trigger", "!hist:keys=id:size=128"));
	}
}

/* Returns true if the table has hits. */
static bool counted(void)
{
	long hits = number_after(ue_slurp(RACE "/hist"), "Hits: ");

	return hits > 0;
}

struct clearing {
	const char *command;
	int done;
};

/* Each clear but the first removes hits of this round, and some happen after the last one. */
static void clear_often(void *arg)
{
	struct clearing *c = arg;

	for (int i = 0; i < 60; i++) {
		c->done += ue_put(RACE "/trigger", c->command) == 0 && ue_poll(counted());
		usleep(5000);
	}
}

/*
 * clear-under-load: what is counted after a clear is what is shown, and hits during the
 * clear are lost.
 */
TEST_F_TIMEOUT(dev, clear_under_load__sums_and_hits, 280)
{
	struct writer like = { .keys = 100 };
	unsigned long dropped = 0;
	struct table t;

	NEED_RUST();
	ASSERT_EQ(0, ue_reg_index(self->fd, self->w, 0, DESC));
	ASSERT_EQ(0, ue_put(RACE "/trigger", "hist:keys=id:size=128"));
	for (int round = 0; round < 5; round++) {
		struct clearing c = { .command = "hist:keys=id:size=128:clear" };
		unsigned long written;

		written = run_writers(_metadata, self->fd, &like, clear_often, &c, NULL);
		read_table(&t);
		EXPECT_EQ(60, c.done);
		EXPECT_LT(0, t.hits);
		EXPECT_LT(t.hits + t.dropped, written);
		EXPECT_EQ(t.hits, t.sum);
		EXPECT_EQ(t.rows, t.entries);
		EXPECT_FALSE(t.duplicate);
		dropped += t.dropped;
	}
	EXPECT_LT(0, dropped);
	ASSERT_EQ(0, ue_put(RACE "/trigger", "!hist:keys=id:size=128"));
}

struct one_clear {
	pthread_t thread;
	volatile pid_t tid;
	volatile bool done;
	int ret;
};

static void *clear_once(void *arg)
{
	struct one_clear *c = arg;

	c->tid = syscall(SYS_gettid);
	c->ret = ue_put(RACE "/trigger", "hist:keys=id:size=128:clear");
	c->done = true;
	return NULL;
}

/*
 * Returns true once no further hit can be counted and then cleared: the command waits for
 * those that have begun, or is done.
 */
static bool is_closed(struct one_clear *c)
{
	if (c->done)
		return true;
	return c->tid && strstr(ue_slurp(ue_path("/proc/self/task/%d/stat", c->tid)), ") D ") &&
	       !strstr(ue_slurp(ue_path("/proc/self/task/%d/stack", c->tid)), "mutex_lock");
}

/* Waits for the clear, and for some hits after it. */
static void until_cleared(void *arg)
{
	struct one_clear *c = arg;

	pthread_join(c->thread, NULL);
	usleep(2000);
}

/* The number after the word in the table of the histogram of this size. */
static unsigned long number_of_size(const char *size, const char *what)
{
	const char *table = strstr(ue_slurp(RACE "/hist"), ue_path(":size=%s [active]", size));

	return table ? number_after(table, what) : ~0ul;
}

/*
 * clear-under-load: a hit during a clear is in the table or lost, never neither and never both.
 * Another histogram of the event, which is not cleared, has all of them.
 */
TEST_F_TIMEOUT(dev, clear_under_load__exact, 280)
{
	struct writer like = { .keys = 100 };
	unsigned long dropped = 0, all = 0;

	NEED_RUST();
	ASSERT_EQ(0, ue_reg_index(self->fd, self->w, 0, DESC));
	ASSERT_EQ(0, ue_put(RACE "/trigger", "hist:keys=id:size=128"));
	ASSERT_EQ(0, ue_put(RACE "/trigger", "hist:keys=id:vals=total:size=256"));
	for (int round = 0; round < 50; round++) {
		struct one_clear c = {};
		unsigned long written, hits, lost;

		/* All writers have stopped, and begin when the table is closed. */
		ASSERT_EQ(0, pthread_create(&c.thread, NULL, clear_once, &c));
		ASSERT_TRUE(ue_poll(is_closed(&c)));
		written = run_writers(_metadata, self->fd, &like, until_cleared, &c, NULL);
		ASSERT_EQ(0, c.ret);
		hits = number_of_size("128", "Hits: ");
		lost = number_of_size("128", "Dropped: ");
		ASSERT_EQ(written, hits + lost);
		ASSERT_LT(0, hits);
		dropped += lost;
		all += written;
		ASSERT_EQ(all, number_of_size("256", "Hits: "));
		ASSERT_EQ(0, number_of_size("256", "Dropped: "));
	}
	/* Some of the clears were under load. */
	EXPECT_LT(0, dropped);
	ASSERT_EQ(0, ue_put(RACE "/trigger", "!hist:keys=id:vals=total:size=256"));
	ASSERT_EQ(0, ue_put(RACE "/trigger", "!hist:keys=id:size=128"));
}

static void each_its_own(struct writer *w, unsigned int i, uint32_t *id, uint64_t *total, int *len)
{
	*id = 1;
	*total = (uint64_t)(w->number + 1) << 32 | i;
	*len = w->number % 2 ? 250 : 1;
}

#define HITS_OF_EACH	5000

/*
 * own-variables: a record of a synthetic event is of one hit, not of two.
 *
 * Each hit leads to one record or is counted as dropped. The number of dropped hits is not
 * determined: a hit that has to compare is dropped after a number of polls of the element's
 * lock, and if the host stops the virtual CPU that holds the lock, hits of the others are
 * dropped until it runs again. A hit that no other overlaps is never dropped: those of a
 * single writer, and all hits on a single CPU, as a hit is not preempted.
 */
TEST_F_TIMEOUT(dev, own_variables__of_one_hit, 280)
{
	static bool has_record[THREADS_MOST + 1][HITS_OF_EACH];
	struct writer like = { .count = HITS_OF_EACH, .keys = 1, .next = each_its_own };
	struct writer alone = like;
	unsigned long written, seen = 0, of_alone = 0;
	struct table t;
	char *text, *line;

	NEED_RUST();
	/* All records have room, whichever CPU they are of. */
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/buffer_size_kb", "8192"));
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/synthetic_events", "mixed u64 total; u32 check; char[] msg"));
	ASSERT_EQ(0, ue_reg_index(self->fd, self->w, 0, DESC));
	ASSERT_EQ(0, ue_put(RACE "/trigger",
			    "hist:keys=id:xx=total:cc=check:ss=msg:onchange($xx).trace(mixed,$xx,$cc,$ss)"));
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/events/synthetic/mixed/enable", "1"));
	written = run_writers(_metadata, self->fd, &like, NULL, NULL, NULL);
	alone.fd = self->fd;
	alone.number = threads();
	ASSERT_EQ(0, pthread_create(&alone.thread, NULL, write_all, &alone));
	pthread_join(alone.thread, NULL);
	read_table(&t);
	text = ue_slurp(UE_TRACEFS "/trace");
	while ((line = strsep(&text, "\n"))) {
		char *at = strstr(line, "mixed: total=");
		uint64_t total, writer;
		uint32_t check;
		char *msg;

		if (!at)
			continue;
		total = strtoull(at + strlen("mixed: total="), &at, 10);
		writer = (total >> 32) - 1;
		ASSERT_LE(writer, threads()) TH_LOG("%s", line);
		ASSERT_LT((uint32_t)total, HITS_OF_EACH) TH_LOG("%s", line);
		ASSERT_FALSE(has_record[writer][(uint32_t)total]) TH_LOG("%s", line);
		has_record[writer][(uint32_t)total] = true;
		if (writer == threads())
			of_alone++;
		else
			seen++;
		check = strtoul(at + strlen(" check="), &at, 10);
		ASSERT_EQ(check_of(total), check) TH_LOG("%s", line);
		/* The string as well, whole. */
		msg = at + strlen(" msg=");
		ASSERT_EQ((total >> 32) % 2 ? 1 : 250, strlen(msg)) TH_LOG("%s", line);
		ASSERT_EQ(strlen(msg), strspn(msg, (total >> 32) % 2 ? "b" : "q")) TH_LOG("%s", line);
	}
	TH_LOG("%lu written, %lu seen, %lu dropped", written, seen, t.dropped);
	EXPECT_EQ(threads() * HITS_OF_EACH, written);
	EXPECT_EQ(HITS_OF_EACH, alone.written);
	EXPECT_EQ(written + alone.written, t.hits);
	/* Each total is another one, so the action runs for every hit that can compare. */
	EXPECT_EQ(written, seen + t.dropped);
	EXPECT_EQ(alone.written, of_alone);
	if (sysconf(_SC_NPROCESSORS_ONLN) == 1) {
		EXPECT_EQ(0, t.dropped);
	}
	/* Not exact, see above: the records that are compared here are of hits that overlap. */
	EXPECT_LT(written / 2, seen);
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/events/synthetic/mixed/enable", "0"));
	ASSERT_EQ(0, ue_trunc(RACE "/trigger"));
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/synthetic_events", "!mixed"));
}

static void scattered(struct writer *w, unsigned int i, uint32_t *id, uint64_t *total, int *len)
{
	*id = 1;
	*total = (uint64_t)(i * 2654435761u) * (w->number + 1) % 1000000007;
}

/* max-never-down: the maximum is the largest value, and what is saved is of its hit. */
TEST_F_TIMEOUT(dev, max_never_down__saved_with_it, 280)
{
	struct writer like = { .count = 3000, .keys = 1, .next = scattered };

	NEED_RUST();
	ASSERT_EQ(0, ue_reg_index(self->fd, self->w, 0, DESC));
	for (int round = 0; round < 10; round++) {
		uint64_t largest = 0;
		char *text;

		ASSERT_EQ(0, ue_put(RACE "/trigger", "hist:keys=id:xx=total:onmax($xx).save(check,total)"));
		run_writers(_metadata, self->fd, &like, NULL, NULL, &largest);
		text = ue_slurp(RACE "/hist");
		ASSERT_EQ(largest, number_after(text, "max:"));
		ASSERT_EQ(check_of(largest), number_after(text, "check:"));
		ASSERT_EQ(largest, number_after(text, "  total:"));
		ASSERT_EQ(0, ue_trunc(RACE "/trigger"));
	}
}

struct reading {
	struct __test_metadata *_metadata;
	int tables;
	bool wrong;
};

static void read_often(void *arg)
{
	struct reading *r = arg;

	for (int i = 0; i < 40; i++) {
		char *text = ue_slurp(RACE "/hist"), *line;
		unsigned long last = 0, hundredths = 0;

		while ((line = strsep(&text, "\n"))) {
			unsigned long count, percent, part;
			char *at = strstr(line, "hitcount (%):");

			if (strncmp(line, "{ id:", 5) || !at)
				continue;
			count = number_after(line, "hitcount:");
			percent = strtoul(at + strlen("hitcount (%):"), &at, 10);
			part = strtoul(at + 1, NULL, 10);
			r->wrong |= count < last || percent * 100 + part > 10000;
			last = count;
			hundredths += percent * 100 + part;
		}
		r->wrong |= hundredths > 10000;
		r->tables += hundredths > 0;
	}
}

/* one-snapshot: a table that is read under load is sorted, and its shares add up. */
TEST_F_TIMEOUT(dev, one_snapshot__rows_and_shares, 280)
{
	struct writer like = { .keys = 97 };
	struct reading r = { ._metadata = _metadata };

	NEED_RUST();
	ASSERT_EQ(0, ue_reg_index(self->fd, self->w, 0, DESC));
	ASSERT_EQ(0, ue_put(RACE "/trigger", "hist:keys=id:vals=hitcount.percent,hitcount"));
	run_writers(_metadata, self->fd, &like, read_often, &r, NULL);
	EXPECT_LT(10, r.tables);
	EXPECT_FALSE(r.wrong);
	ASSERT_EQ(0, ue_trunc(RACE "/trigger"));
}

/* Sharers of a name, on two events, with one table. */
TEST_F(sure, named_from_two_events)
{
	struct writer like = { .count = 500, .keys = 50 };
	unsigned long written;
	struct table t;

	ASSERT_EQ(0, ue_reg_index(self->fd, self->w, 0, DESC));
	ASSERT_EQ(1, ue_reg_index(self->fd, self->w, 1, "race2 u32 id; u32 check; u64 total; __data_loc char[] msg"));
	ASSERT_EQ(0, ue_put(RACE "/trigger", "hist:name=both:keys=id"));
	ASSERT_EQ(0, ue_put(UE_EVENTS "/race2/trigger", "hist:name=both:keys=id"));
	written = run_writers(_metadata, self->fd, &like, NULL, NULL, NULL);
	like.index = 1;
	written += run_writers(_metadata, self->fd, &like, NULL, NULL, NULL);
	read_table(&t);
	EXPECT_EQ(written, t.hits);
	EXPECT_EQ(t.hits, t.sum);
	EXPECT_EQ(50, t.rows);
	ASSERT_EQ(0, ue_trunc(RACE "/trigger"));
	ASSERT_EQ(0, ue_trunc(UE_EVENTS "/race2/trigger"));
}

TEST_HARNESS_MAIN
