// SPDX-License-Identifier: GPL-2.0
/*
 * Records of up to 64 KiB, and the file that counts what became of them. Cases of
 * the fixture "dev" fail on the C implementation, or are skipped as it warns about
 * such records: losses and oversize-record in
 * Documentation/trace/rust/deviations.rst.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>

#include "kselftest_harness.h"
#include "batch.h"
#include "uring.h"

UE_FIXTURE(losses)
UE_FIXTURE(dev)

#define LOSSES UE_TRACEFS "/user_events_losses"
#define BUF_SIZE (256 * 1024)
/* What fits in a sample that has nothing else. */
#define PERF_MAX 65508

static const char header[] =
	"event\twritten\tfailed\tftrace\tftrace_too_long\tftrace_off\tftrace_full\tftrace_busy\tperf\tperf_too_long\tperf_full\tperf_busy\tperf_no_memory\n";

/* The numbers of an event in the file, in the order of the columns. */
struct counts {
	unsigned long written, failed;
	unsigned long ftrace, ftrace_too_long, ftrace_off, ftrace_full, ftrace_busy;
	unsigned long perf, perf_too_long, perf_full, perf_busy, perf_no_memory;
};

static int counts_of(const char *event, struct counts *c)
{
	unsigned long *n = (unsigned long *)c;
	char *text = ue_slurp(LOSSES), *line;
	size_t len = strlen(event);

	memset(c, 0, sizeof(*c));
	if (strncmp(text, header, strlen(header)))
		return -ENOENT;
	while ((line = strsep(&text, "\n"))) {
		if (strncmp(line, event, len) || line[len] != '\t')
			continue;
		line += len;
		for (size_t i = 0; i < sizeof(*c) / sizeof(*n); i++) {
			if (*line != '\t')
				return -EINVAL;
			n[i] = strtoul(line + 1, &line, 10);
		}
		return *line ? -EINVAL : 0;
	}
	return -ENODEV;
}

static unsigned long ftrace_lost(const struct counts *c)
{
	return c->ftrace_too_long + c->ftrace_off + c->ftrace_full + c->ftrace_busy;
}

static unsigned long perf_lost(const struct counts *c)
{
	return c->perf_too_long + c->perf_full + c->perf_busy + c->perf_no_memory;
}

static void fill(unsigned char *payload, size_t len)
{
	for (size_t i = 0; i < len; i++)
		payload[i] = (i * 7 + i / 251 + len) & 0xff;
}

/* Sizes that are worth it: the small ones, and those around each limit. */
static int sizes_of(int *sizes, int most)
{
	const int page = getpagesize();
	const int limits[] = {
		128, 2048, 4096, page, 8184, 2 * page, 16384, 32768, 65000, most - 4,
	};
	int n = 0;

	for (int size = 1; size < 70; size++)
		sizes[n++] = size;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		for (int size = limits[i] - 44; size <= limits[i] + 4; size++)
			if (size > 0 && size <= most)
				sizes[n++] = size;
	}
	for (int size = 100; size <= most; size += 997)
		sizes[n++] = size;
	return n;
}

#define SIZES_MAX 1024

/* perf, with a buffer of 2^n pages that may wrap, and what it says that it has lost. */

struct ring {
	struct ue_perf perf;
	unsigned long lost;
};

static int ring_open(struct ring *r, const char *event, int pid, int cpu, int pages, uint64_t type)
{
	struct perf_event_attr pe = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(pe),
		.config = ue_event_id(event),
		.sample_type = type,
		.sample_period = 1,
		.wakeup_events = 1,
	};

	r->lost = 0;
	r->perf.fd = ue_err(syscall(__NR_perf_event_open, &pe, pid, cpu, -1, 0));
	if (r->perf.fd < 0)
		return r->perf.fd;
	r->perf.size = (1 + pages) * sysconf(_SC_PAGESIZE);
	r->perf.page = mmap(NULL, r->perf.size, PROT_READ | PROT_WRITE, MAP_SHARED, r->perf.fd, 0);
	if (r->perf.page == MAP_FAILED) {
		close(r->perf.fd);
		return -errno;
	}
	return 0;
}

/*
 * Returns the length of the next sample, which is copied to @out, of 64 KiB, without
 * its header; -ENOENT if the buffer is empty, -EBADMSG for something that is no
 * record.
 */
static int ring_next(struct ring *r, unsigned char *out)
{
	struct perf_event_mmap_page *page = r->perf.page;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	const unsigned char *data = (unsigned char *)page + page->data_offset;
	struct perf_event_header h;

	while (page->data_tail < head) {
		uint64_t at = page->data_tail;

		for (size_t i = 0; i < sizeof(h); i++)
			((unsigned char *)&h)[i] = data[(at + i) % page->data_size];
		if (h.size < sizeof(h) || h.size > head - at)
			return -EBADMSG;
		at += sizeof(h);
		for (size_t i = 0; i < h.size - sizeof(h);) {
			size_t from = (at + i) % page->data_size;
			size_t n = h.size - sizeof(h) - i;

			if (n > page->data_size - from)
				n = page->data_size - from;
			memcpy(out + i, data + from, n);
			i += n;
		}
		__atomic_store_n(&page->data_tail, page->data_tail + h.size, __ATOMIC_RELEASE);
		if (h.type == PERF_RECORD_LOST)
			r->lost += ((uint64_t *)out)[1];
		else if (h.type == PERF_RECORD_SAMPLE)
			return h.size - sizeof(h);
		else
			return -EBADMSG;
	}
	return -ENOENT;
}

/* As many samples as the buffer has. */
static long ring_drain(struct ring *r)
{
	unsigned char *out = malloc(65536);
	long n = 0;
	int ret;

	while ((ret = ring_next(r, out)) >= 0)
		n++;
	free(out);
	return ret == -ENOENT ? n : ret;
}

static void ring_close(struct ring *r)
{
	ue_perf_close(&r->perf);
}

/* ftrace: the buffer of an instance, in sub-buffers of so many KiB. */

static int subbuf(const char *instance, int kib)
{
	char text[32];

	snprintf(text, sizeof(text), "%d", kib);
	return ue_put(ue_path(UE_TRACEFS "/%sbuffer_subbuf_size_kb", instance), text);
}

/* Sums the lines "NAME: N" of the statistics of all CPUs. */
static long stats(const char *instance, const char *name)
{
	const char *text;
	char what[64];
	long sum = 0;

	snprintf(what, sizeof(what), "%s: ", name);
	for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++) {
		text = ue_slurp(ue_path(UE_TRACEFS "/%sper_cpu/cpu%d/stats", instance, cpu));
		text = strstr(text, what);
		if (text)
			sum += atol(text + strlen(what));
	}
	return sum;
}

/* Returns the length of the first record for @id in a sub-buffer, or -ENOENT. */
static int raw_find(unsigned char *buf, long n, int id, unsigned char **record)
{
	const uint64_t *commit = (void *)(buf + 8);
	long end = 16 + (*commit & 0xfffff);

	if (end > n)
		return -EBADMSG;
	for (unsigned char *p = buf + 16; p < buf + end;) {
		uint32_t word = *(uint32_t *)p, type = word & 0x1f, len;

		if (type == 29)
			break;
		if (type > 29) {
			p += 8;
			continue;
		}
		len = type ? type * 4 : *(uint32_t *)(p + 4) - 4;
		p += type ? 4 : 8;
		if (*(uint16_t *)p == id) {
			*record = p;
			return len;
		}
		p += (len + 3) & ~3u;
	}
	return -ENOENT;
}

/*
 * Takes sub-buffers of a CPU, and returns the length of the first record for @id; it is
 * at *record, within @buf of BUF_SIZE. -ENOENT: none. The end of a sub-buffer may have
 * no record.
 */
static int raw_next(int fd, int id, unsigned char *buf, unsigned char **record)
{
	for (;;) {
		long n = ue_err(read(fd, buf, BUF_SIZE));
		int len;

		if (n < 16)
			return n < 0 && n != -EAGAIN ? n : -ENOENT;
		len = raw_find(buf, n, id, record);
		if (len != -ENOENT)
			return len;
	}
}

static int raw_open(const char *instance, int cpu)
{
	return ue_err(open(ue_path(UE_TRACEFS "/%sper_cpu/cpu%d/trace_pipe_raw", instance, cpu),
			   O_RDONLY | O_NONBLOCK | O_CLOEXEC));
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* An event without fields, so that records of any size are valid. */
static int event(int fd, volatile uint32_t *w, const char *name)
{
	return ue_reg_index(fd, w, 0, name);
}

TEST_F(losses, file_is_an_addition)
{
	char text[sizeof(header)];

	snprintf(text, sizeof(text), "%s", ue_slurp(LOSSES));
	EXPECT_STREQ(ue_is_rust() ? header : "", text);
	EXPECT_EQ(ue_is_rust() ? -EINVAL : -ENOENT, ue_put(LOSSES, "0"));
}

/* perf alone: each size is delivered, every byte of it, or refused. */
TEST_F_TIMEOUT(dev, losses__perf, 600)
{
	unsigned char *payload = malloc(BUF_SIZE), *out = malloc(65536);
	int sizes[SIZES_MAX], n = sizes_of(sizes, PERF_MAX + 4);
	unsigned long taken = 0, refused = 0;
	struct counts c;
	struct ring r;
	int index;

	UE_RUST_ONLY("it warns about a record of more than 8 KiB");
	index = event(self->fd, &self->w[0], "lo_perf");
	ASSERT_LE(0, index);
	ASSERT_EQ(0, ring_open(&r, "lo_perf", 0, -1, 64, PERF_SAMPLE_RAW));
	for (int i = 0; i < n; i++) {
		int size = sizes[i];
		long ret;

		fill(payload, size);
		ret = i % 2 ? ue_write(self->fd, index, payload, size) :
			      ue_writev(self->fd, index, payload, size);
		if (size > PERF_MAX) {
			ASSERT_EQ(-E2BIG, ret) TH_LOG("size %d", size);
			refused++;
			continue;
		}
		ASSERT_EQ(size + 4, ret) TH_LOG("size %d", size);
		taken++;
		ret = ring_next(&r, out);
		ASSERT_LE(4 + 8 + size, ret) TH_LOG("size %d", size);
		ASSERT_LE(8 + size, *(int *)out) TH_LOG("size %d", size);
		ASSERT_GT(8 + size + 8, *(int *)out) TH_LOG("size %d", size);
		ASSERT_EQ(0, memcmp(payload, out + 4 + 8, size)) TH_LOG("size %d", size);
	}
	EXPECT_EQ(-ENOENT, ring_next(&r, out));
	EXPECT_EQ(0, r.lost);
	EXPECT_LT(400, taken);
	EXPECT_LE(4, refused);
	ASSERT_EQ(0, counts_of("lo_perf", &c));
	EXPECT_EQ(taken, c.written);
	EXPECT_EQ(taken, c.perf);
	EXPECT_EQ(refused, c.failed);
	EXPECT_EQ(0, perf_lost(&c));
	EXPECT_EQ(0, c.ftrace + ftrace_lost(&c));
	ring_close(&r);
	free(payload);
	free(out);
}

/* ftrace alone, with sub-buffers that take all of them. */
TEST_F_TIMEOUT(dev, losses__ftrace, 600)
{
	unsigned char *payload = malloc(BUF_SIZE), *buf = malloc(BUF_SIZE), *record = NULL;
	int sizes[SIZES_MAX], n = sizes_of(sizes, 65500);
	struct counts c;
	int index, raw;

	index = event(self->fd, &self->w[0], "lo_ftrace");
	ASSERT_LE(0, index);
	pin(0);
	ASSERT_EQ(0, mkdir(UE_TRACEFS "/instances/lo", 0755));
	ASSERT_EQ(0, subbuf("instances/lo/", 128));
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/instances/lo/events/user_events/lo_ftrace/enable", "1"));
	raw = raw_open("instances/lo/", 0);
	ASSERT_LE(0, raw);
	for (int i = 0; i < n; i++) {
		int size = sizes[i];

		fill(payload, size);
		ASSERT_EQ(size + 4, ue_write(self->fd, index, payload, size)) TH_LOG("size %d", size);
		ASSERT_LE(8 + size, raw_next(raw, ue_event_id("lo_ftrace"), buf, &record)) {
			TH_LOG("size %d", size);
		}
		ASSERT_EQ(0, memcmp(payload, record + 8, size)) TH_LOG("size %d", size);
	}
	close(raw);
	ASSERT_EQ(0, counts_of("lo_ftrace", &c));
	EXPECT_EQ(n, c.written);
	EXPECT_EQ(n, c.ftrace);
	EXPECT_EQ(0, ftrace_lost(&c) + c.failed + c.perf + perf_lost(&c));
	/* Of a sub-buffer of the usual size some are too long. */
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/instances/lo/events/user_events/lo_ftrace/enable", "0"));
	ASSERT_EQ(0, ue_enable("lo_ftrace", true));
	for (int i = 0; i < n; i++) {
		long ret = ue_write(self->fd, index, payload, sizes[i]);

		if (ret != sizes[i] + 4)
			ASSERT_EQ(-E2BIG, ret) TH_LOG("size %d", sizes[i]);
	}
	ASSERT_EQ(0, counts_of("lo_ftrace", &c));
	EXPECT_EQ(2 * n, c.written + c.failed);
	EXPECT_EQ(c.written, c.ftrace);
	if (getpagesize() < 65536)
		EXPECT_LT(100, c.failed);
	ASSERT_EQ(0, rmdir(UE_TRACEFS "/instances/lo"));
	free(payload);
	free(buf);
}

/* Both, with what only one of them takes, and what none does. */
TEST_F_TIMEOUT(dev, losses__both, 600)
{
	unsigned char *payload = calloc(1, BUF_SIZE);
	int sizes[SIZES_MAX], n = sizes_of(sizes, PERF_MAX + 4);
	unsigned long taken = 0, failed = 0;
	struct counts c;
	struct ring r;
	int index;

	UE_RUST_ONLY("it warns about a record of more than 8 KiB");
	index = event(self->fd, &self->w[0], "lo_both");
	ASSERT_LE(0, index);
	ASSERT_EQ(0, mkdir(UE_TRACEFS "/instances/lo", 0755));
	/* From here on perf takes what this does not. */
	ASSERT_EQ(0, subbuf("instances/lo/", 64));
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/instances/lo/events/user_events/lo_both/enable", "1"));
	ASSERT_EQ(0, ue_enable("lo_both", true));
	ASSERT_EQ(0, ring_open(&r, "lo_both", 0, -1, 64, PERF_SAMPLE_RAW));
	for (int i = 0; i < n; i++) {
		long ret = ue_write(self->fd, index, payload, sizes[i]);

		if (ret < 0) {
			ASSERT_EQ(-E2BIG, ret) TH_LOG("size %d", sizes[i]);
			failed++;
		} else {
			ASSERT_EQ(sizes[i] + 4, ret);
			taken++;
		}
		ring_drain(&r);
	}
	/* What only a trace instance takes. */
	ASSERT_EQ(0, subbuf("instances/lo/", 128));
	ASSERT_EQ(PERF_MAX + 5, ue_write(self->fd, index, payload, PERF_MAX + 1));
	taken++;
	EXPECT_EQ(0, ring_drain(&r));
	EXPECT_EQ(0, r.lost);

	ASSERT_EQ(0, counts_of("lo_both", &c));
	EXPECT_EQ(taken, c.written);
	EXPECT_EQ(failed, c.failed);
	EXPECT_EQ(taken - 1, c.perf);
	EXPECT_EQ(1, c.perf_too_long);
	EXPECT_EQ(1, perf_lost(&c));
	/* Two instances. */
	EXPECT_EQ(2 * taken, c.ftrace + c.ftrace_too_long);
	EXPECT_EQ(c.ftrace_too_long, ftrace_lost(&c));
	EXPECT_LT(0, c.ftrace_too_long);
	ring_close(&r);
	ASSERT_EQ(0, rmdir(UE_TRACEFS "/instances/lo"));
	free(payload);
}

/* A batch, and io_uring without a worker: every byte, and the writer's pid. */
TEST_F_TIMEOUT(dev, losses__batch_and_uring, 300)
{
	static const int sizes[] = { 12, 8184, 8185, 20000, 65500, PERF_MAX };
	unsigned char *payload = malloc(BUF_SIZE), *out = malloc(65536);
	struct ue_batch b = { .buf = calloc(1, BUF_SIZE) };
	const int n = ARRAY_SIZE(sizes);
	struct counts c;
	struct uring u;
	struct ring r;
	int index;

	UE_RUST_ONLY("it warns about a record of more than 8 KiB");
	index = event(self->fd, &self->w[0], "lo_many");
	ASSERT_LE(0, index);
	ASSERT_EQ(0, ring_open(&r, "lo_many", 0, -1, 128, PERF_SAMPLE_RAW));
	for (int i = 0; i < n; i++) {
		fill(payload, sizes[i]);
		ue_batch_add(&b, index, payload, sizes[i]);
	}
	/* The last one is refused, as by write(). */
	ue_batch_add(&b, index, payload, PERF_MAX + 1);
	ASSERT_GT(BUF_SIZE, b.len);
	EXPECT_EQ(n, ue_batch(self->fd, &b));
	for (int i = 0; i < n; i++) {
		fill(payload, sizes[i]);
		ASSERT_LE(4 + 8 + sizes[i], ring_next(&r, out)) TH_LOG("size %d", sizes[i]);
		ASSERT_EQ(0, memcmp(payload, out + 12, sizes[i])) TH_LOG("size %d", sizes[i]);
	}
	ASSERT_EQ(-ENOENT, ring_next(&r, out));

	if (uring_open(&u) == 0) {
		for (int i = 0; i < n; i++) {
			struct iovec io[2] = {
				{ &index, sizeof(index) },
				{ payload, sizes[i] },
			};

			fill(payload, sizes[i]);
			ASSERT_EQ(sizes[i] + 4, uring_writev(&u, self->fd, io, 2, 0)) {
				TH_LOG("size %d", sizes[i]);
			}
			ASSERT_LE(4 + 8 + sizes[i], ring_next(&r, out)) TH_LOG("size %d", sizes[i]);
			ASSERT_EQ(0, memcmp(payload, out + 12, sizes[i])) TH_LOG("size %d", sizes[i]);
			/* common_pid */
			EXPECT_EQ(getpid(), *(int *)(out + 8)) TH_LOG("size %d", sizes[i]);
		}
		uring_close(&u);
		ASSERT_EQ(0, counts_of("lo_many", &c));
		EXPECT_EQ(2 * n, c.written);
		EXPECT_EQ(2 * n, c.perf);
	}
	ASSERT_EQ(0, counts_of("lo_many", &c));
	EXPECT_EQ(1, c.failed);
	EXPECT_EQ(0, perf_lost(&c));
	ring_close(&r);
	free(payload);
	free(out);
	free(b.buf);
}

/* A buffer of perf that is full: what the writer, the reader and the file say is the same. */
TEST_F(dev, losses__perf_full)
{
	static const int sizes[] = { 20, 1000, 3000, 9000, 20000 };
	unsigned char *payload = calloc(1, BUF_SIZE);
	unsigned long written = 0, got = 0;
	struct counts c;
	struct ring r;
	int index;

	UE_RUST_ONLY("it warns about a record of more than 8 KiB");
	index = event(self->fd, &self->w[0], "lo_full");
	ASSERT_LE(0, index);
	ASSERT_EQ(0, ring_open(&r, "lo_full", 0, -1, 16, PERF_SAMPLE_RAW));
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 60; i++, written++) {
			int size = sizes[(i + round) % ARRAY_SIZE(sizes)];

			ASSERT_EQ(size + 4, ue_write(self->fd, index, payload, size));
		}
		got += ring_drain(&r);
	}
	/* perf says what it has lost when it has room. */
	ASSERT_EQ(24, ue_write(self->fd, index, payload, 20));
	written++;
	EXPECT_EQ(1, ring_drain(&r));
	got++;
	ASSERT_EQ(0, counts_of("lo_full", &c));
	EXPECT_EQ(written, c.written);
	EXPECT_EQ(got, c.perf);
	EXPECT_EQ(r.lost, c.perf_full);
	EXPECT_EQ(written, c.perf + c.perf_full);
	if (getpagesize() < 65536)
		EXPECT_LT(100, r.lost);
	ring_close(&r);
	free(payload);
}

/* A sample with more in it than the record, and a buffer that is too small for it. */
TEST_F(dev, losses__perf_sample_too_long)
{
	unsigned char *payload = calloc(1, BUF_SIZE), *out = malloc(65536);
	struct counts c;
	struct ring r;
	int index;

	UE_RUST_ONLY("it warns about a record of more than 8 KiB");
	index = event(self->fd, &self->w[0], "lo_sample");
	ASSERT_LE(0, index);
	ASSERT_EQ(0, ring_open(&r, "lo_sample", 0, -1, 64,
			       PERF_SAMPLE_RAW | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_CALLCHAIN));
	ASSERT_EQ(24, ue_write(self->fd, index, payload, 20));
	ASSERT_EQ(-E2BIG, ue_write(self->fd, index, payload, PERF_MAX));
	ASSERT_EQ(24, ue_write(self->fd, index, payload, 20));
	ASSERT_EQ(60004, ue_write(self->fd, index, payload, 60000));
	/* What follows is intact, and perf says that one is missing. */
	EXPECT_EQ(3, ring_drain(&r));
	EXPECT_EQ(1, r.lost);
	ASSERT_EQ(0, counts_of("lo_sample", &c));
	EXPECT_EQ(3, c.written);
	EXPECT_EQ(1, c.failed);
	EXPECT_EQ(3, c.perf);
	EXPECT_EQ(0, perf_lost(&c));

	/* It counts as lost if another listener has it. */
	ASSERT_EQ(0, subbuf("", 128));
	ASSERT_EQ(0, ue_enable("lo_sample", true));
	EXPECT_EQ(PERF_MAX + 4, ue_write(self->fd, index, payload, PERF_MAX));
	ASSERT_EQ(0, counts_of("lo_sample", &c));
	EXPECT_EQ(4, c.written);
	EXPECT_EQ(1, c.perf_too_long);
	EXPECT_EQ(1, c.ftrace);
	EXPECT_EQ(0, ue_enable("lo_sample", false));
	EXPECT_EQ(0, subbuf("", getpagesize() / 1024));
	ring_close(&r);

	ASSERT_EQ(0, ring_open(&r, "lo_sample", 0, -1, 1, PERF_SAMPLE_RAW));
	if (getpagesize() < 65536)
		EXPECT_EQ(-E2BIG, ue_write(self->fd, index, payload, getpagesize()));
	EXPECT_EQ(24, ue_write(self->fd, index, payload, 20));
	EXPECT_EQ(1, ring_drain(&r));
	ring_close(&r);
	free(payload);
	free(out);
}

/* Two buffers, of which one is too small: the other one has the record, so it is no error. */
TEST_F(dev, losses__perf_too_long_for_one)
{
	const int len = getpagesize(), long_len = 3 * getpagesize();
	unsigned char *payload = calloc(1, BUF_SIZE);
	struct ring large, small;
	struct counts c;
	int index;

	UE_RUST_ONLY("it warns about a record of more than 8 KiB");
	if (getpagesize() > 16384)
		SKIP(return, "a record is shorter than a page");
	index = event(self->fd, &self->w[0], "lo_two");
	ASSERT_LE(0, index);
	ASSERT_EQ(0, ring_open(&large, "lo_two", 0, -1, 64, PERF_SAMPLE_RAW));
	ASSERT_EQ(0, ring_open(&small, "lo_two", 0, -1, 1, PERF_SAMPLE_RAW));
	ASSERT_EQ(len + 4, ue_write(self->fd, index, payload, len));
	ASSERT_EQ(long_len + 4, ue_write(self->fd, index, payload, long_len));
	ASSERT_EQ(24, ue_write(self->fd, index, payload, 20));
	EXPECT_EQ(3, ring_drain(&large));
	EXPECT_EQ(1, ring_drain(&small));
	EXPECT_EQ(0, large.lost);
	EXPECT_EQ(2, small.lost);
	ASSERT_EQ(0, counts_of("lo_two", &c));
	EXPECT_EQ(3, c.written);
	EXPECT_EQ(0, c.failed);
	EXPECT_EQ(1, c.perf);
	EXPECT_EQ(2, c.perf_too_long);
	ring_close(&large);
	ASSERT_EQ(-E2BIG, ue_write(self->fd, index, payload, len));
	ring_close(&small);
	free(payload);
}

/* A record that only a histogram has got was written. */
TEST_F(dev, losses__trigger_counts)
{
	const int len = getpagesize() - 48;
	unsigned char *payload = calloc(1, BUF_SIZE);
	struct counts c;
	struct uring u;
	struct ring r;
	int index;

	UE_RUST_ONLY("it warns about a record of more than 8 KiB");
	index = ue_reg_index(self->fd, &self->w[0], 0, "lo_counts u32 a");
	ASSERT_LE(0, index);
	ASSERT_EQ(0, ring_open(&r, "lo_counts", 0, -1, 1,
			       PERF_SAMPLE_RAW | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
			       PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD));
	if (uring_open(&u) == 0) {
		struct iovec io[2] = { { &index, sizeof(index) }, { payload, len } };

		EXPECT_EQ(-E2BIG, uring_writev(&u, self->fd, io, 2, 0));
		ASSERT_EQ(0, ue_put(UE_EVENTS "/lo_counts/trigger", "hist:keys=a"));
		EXPECT_EQ(len + 4, uring_writev(&u, self->fd, io, 2, 0));
		EXPECT_NE(NULL, strstr(ue_slurp(UE_EVENTS "/lo_counts/hist"), "Hits: 1\n"));
		ASSERT_EQ(0, ue_put(UE_EVENTS "/lo_counts/trigger", "!hist:keys=a"));
		uring_close(&u);
		ASSERT_EQ(0, counts_of("lo_counts", &c));
		EXPECT_EQ(1, c.failed);
		EXPECT_EQ(1, c.written);
		EXPECT_EQ(1, c.perf_too_long);
		EXPECT_EQ(0, c.ftrace + ftrace_lost(&c));
	}
	ring_close(&r);
	free(payload);
}

/* A buffer of an instance that is full and keeps what it has, with a filter and without. */
static void ftrace_full(struct __test_metadata *_metadata, int fd, int index, const char *filter)
{
	const int n = 3000;
	struct counts before, c;
	uint32_t payload[50] = { 1 };

	ASSERT_EQ(0, ue_put(UE_TRACEFS "/instances/lo/events/user_events/lo_keep/filter", filter));
	ASSERT_EQ(0, ue_trunc(UE_TRACEFS "/instances/lo/trace"));
	ASSERT_EQ(0, counts_of("lo_keep", &before));
	for (int i = 0; i < n; i++)
		ASSERT_EQ(204, ue_write(fd, index, payload, 200));
	ASSERT_EQ(0, counts_of("lo_keep", &c));
	EXPECT_EQ(n, c.written - before.written);
	EXPECT_EQ(n, c.ftrace - before.ftrace + c.ftrace_full - before.ftrace_full);
	EXPECT_EQ(stats("instances/lo/", "entries"), c.ftrace - before.ftrace) TH_LOG("%s", filter);
	EXPECT_EQ(stats("instances/lo/", "dropped events"), c.ftrace_full - before.ftrace_full) {
		TH_LOG("%s", filter);
	}
	EXPECT_LT(0, c.ftrace_full - before.ftrace_full);
	EXPECT_EQ(c.ftrace_full, ftrace_lost(&c));
}

TEST_F(dev, losses__ftrace_full)
{
	int index = ue_reg_index(self->fd, &self->w[0], 0, "lo_keep u32 a");
	char pid[16];

	ASSERT_LE(0, index);
	pin(0);
	ASSERT_EQ(0, mkdir(UE_TRACEFS "/instances/lo", 0755));
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/instances/lo/buffer_size_kb", "16"));
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/instances/lo/options/overwrite", "0"));
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/instances/lo/events/user_events/lo_keep/enable", "1"));
	ftrace_full(_metadata, self->fd, index, "0");
	ftrace_full(_metadata, self->fd, index, "a == 1");
	/* The same for the records of one task. */
	snprintf(pid, sizeof(pid), "%d", getpid());
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/instances/lo/set_event_pid", pid));
	ftrace_full(_metadata, self->fd, index, "0");
	ftrace_full(_metadata, self->fd, index, "a == 1");
	ASSERT_EQ(0, rmdir(UE_TRACEFS "/instances/lo"));
}

/* A task that the instance wants no records of loses none, with a histogram or without. */
TEST_F(dev, losses__of_no_task)
{
	struct counts c;
	int index = ue_reg_index(self->fd, &self->w[0], 0, "lo_pid u32 a");

	ASSERT_LE(0, index);
	ASSERT_EQ(0, mkdir(UE_TRACEFS "/instances/lo", 0755));
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/instances/lo/set_event_pid", "1"));
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/instances/lo/options/overwrite", "0"));
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/instances/lo/events/user_events/lo_pid/enable", "1"));
	for (int i = 0; i < 4; i++) {
		if (i == 2)
			ASSERT_EQ(0, ue_put(UE_TRACEFS "/instances/lo/events/user_events/lo_pid/trigger",
					    "hist:keys=a"));
		ASSERT_EQ(0, ue_put(UE_TRACEFS "/instances/lo/events/user_events/lo_pid/filter",
				    i & 1 ? "a == 1" : "0"));
		for (int k = 0; k < 10; k++)
			ASSERT_EQ(8, ue_write_u32(self->fd, index, 1));
		ASSERT_EQ(0, counts_of("lo_pid", &c));
		EXPECT_EQ(10 * (i + 1), c.written) TH_LOG("round %d", i);
		EXPECT_EQ(0, c.ftrace + ftrace_lost(&c)) TH_LOG("round %d", i);
	}
	EXPECT_NE(NULL, strstr(ue_slurp(UE_TRACEFS "/instances/lo/events/user_events/lo_pid/hist"),
			       "Hits: 0\n"));
	ASSERT_EQ(0, rmdir(UE_TRACEFS "/instances/lo"));
}

/* A buffer that is off, with a filter, with a trigger, and with both. */
TEST_F(dev, losses__ftrace_off)
{
	struct counts c;
	int index;

	index = ue_reg_index(self->fd, &self->w[0], 0, "lo_off u32 a");
	ASSERT_LE(0, index);
	ASSERT_EQ(0, ue_enable("lo_off", true));
	for (int i = 0; i < 4; i++) {
		ASSERT_EQ(0, ue_put(UE_EVENTS "/lo_off/filter", i & 1 ? "a == 1" : "0"));
		if (i == 2)
			ASSERT_EQ(0, ue_put(UE_EVENTS "/lo_off/trigger", "snapshot if a == 7"));
		ASSERT_EQ(0, ue_put(UE_TRACEFS "/tracing_on", "0"));
		for (int k = 0; k < 10; k++)
			ASSERT_EQ(8, ue_write_u32(self->fd, index, 1));
		ASSERT_EQ(0, ue_put(UE_TRACEFS "/tracing_on", "1"));
		ASSERT_EQ(8, ue_write_u32(self->fd, index, 1));
		ASSERT_EQ(0, counts_of("lo_off", &c));
		EXPECT_EQ(11 * (i + 1), c.written) TH_LOG("round %d", i);
		EXPECT_EQ(i + 1, c.ftrace) TH_LOG("round %d", i);
		EXPECT_EQ(10 * (i + 1), c.ftrace_off) TH_LOG("round %d", i);
		EXPECT_EQ(c.ftrace_off, ftrace_lost(&c));
		EXPECT_EQ(i + 1, ue_records("lo_off"));
	}
	/* A long record, which is assembled in the buffer of the first listener. */
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/tracing_on", "0"));
	for (int k = 0; k < 10; k++) {
		char payload[1000] = { 1 };

		ASSERT_EQ(1004, ue_write(self->fd, index, payload, 1000));
	}
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/tracing_on", "1"));
	ASSERT_EQ(0, counts_of("lo_off", &c));
	EXPECT_EQ(50, c.ftrace_off);
	EXPECT_EQ(54, c.written);
	EXPECT_EQ(4, c.ftrace);
	ASSERT_EQ(0, ue_put(UE_EVENTS "/lo_off/trigger", "!snapshot"));
}

/* An event that only has a trigger writes no record that could be lost. */
TEST_F(dev, losses__triggers_only)
{
	struct counts c;
	int index = ue_reg_index(self->fd, &self->w[0], 0, "lo_trig u32 a");

	ASSERT_LE(0, index);
	ASSERT_EQ(0, ue_put(UE_EVENTS "/lo_trig/trigger", "traceon if a == 7"));
	for (int i = 0; i < 10; i++)
		ASSERT_EQ(8, ue_write_u32(self->fd, index, i));
	/* Before anything can fail: with the trigger the event stays. */
	ASSERT_EQ(0, ue_put(UE_EVENTS "/lo_trig/trigger", "!traceon"));
	ASSERT_EQ(0, counts_of("lo_trig", &c));
	EXPECT_EQ(10, c.written);
	EXPECT_EQ(0, c.ftrace + ftrace_lost(&c) + c.perf + perf_lost(&c) + c.failed);
}

/* Writes that fail are counted apart; those without a listener, or an event, are not. */
TEST_F(dev, losses__failed)
{
	uint32_t payload[2] = { 12 | 5 << 16 }, good[2] = { 12 | 4 << 16 };
	struct counts c;
	int index;

	index = ue_reg_index(self->fd, &self->w[0], 0, "lo_failed __data_loc char[] s");
	ASSERT_LE(0, index);
	EXPECT_EQ(-EBADF, ue_write(self->fd, index, good, 8));
	ASSERT_EQ(0, ue_enable("lo_failed", true));
	EXPECT_EQ(12, ue_write(self->fd, index, good, 8));
	EXPECT_EQ(-EFAULT, ue_write(self->fd, index, payload, 8));
	EXPECT_EQ(-EINVAL, ue_write(self->fd, index, payload, 3));
	EXPECT_EQ(-ENOENT, ue_write(self->fd, 77, payload, 8));
	ASSERT_EQ(0, counts_of("lo_failed", &c));
	EXPECT_EQ(1, c.written);
	EXPECT_EQ(1, c.ftrace);
	EXPECT_EQ(2, c.failed);
	/* The numbers are those of the event. */
	ASSERT_EQ(0, ue_enable("lo_failed", false));
	ASSERT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
	close(self->fd);
	ASSERT_TRUE(ue_gone("lo_failed"));
	EXPECT_EQ(-ENODEV, counts_of("lo_failed", &c));
	self->fd = ue_open();
	ASSERT_LE(0, ue_reg_index(self->fd, &self->w[0], 0, "lo_failed __data_loc char[] s"));
	ASSERT_EQ(0, counts_of("lo_failed", &c));
	EXPECT_EQ(0, c.written + c.failed);
}

/* Writers on all CPUs, while the buffers overflow. */

struct writer {
	pthread_t thread;
	int fd, index, cpu;
	unsigned long written;
};

static void *write_many(void *arg)
{
	char payload[600] = { 0 };
	struct writer *w = arg;

	pin(w->cpu);
	for (int i = 0; i < 2000; i++) {
		size_t len = i % 7 ? 20 : sizeof(payload);

		if (ue_write(w->fd, w->index, payload, len) == (long)len + 4)
			w->written++;
	}
	return NULL;
}

TEST_F(dev, losses__all_cpus)
{
	int cpus = sysconf(_SC_NPROCESSORS_ONLN), pages = getpagesize() > 4096 ? 1 : 4;
	struct writer *w = calloc(cpus, sizeof(*w));
	struct ring *r = calloc(cpus, sizeof(*r));
	unsigned long written = 0, got = 0, lost = 0;
	struct counts c;
	int index = event(self->fd, &self->w[0], "lo_cpus");

	ASSERT_LE(0, index);
	ASSERT_EQ(0, mkdir(UE_TRACEFS "/instances/lo", 0755));
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/instances/lo/buffer_size_kb", "16"));
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/instances/lo/options/overwrite", "0"));
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/instances/lo/events/user_events/lo_cpus/enable", "1"));
	for (int i = 0; i < cpus; i++)
		ASSERT_EQ(0, ring_open(&r[i], "lo_cpus", -1, i, pages, PERF_SAMPLE_RAW));
	for (int i = 0; i < cpus; i++) {
		w[i] = (struct writer){ .fd = self->fd, .index = index, .cpu = i };
		ASSERT_EQ(0, pthread_create(&w[i].thread, NULL, write_many, &w[i]));
	}
	for (int i = 0; i < cpus; i++) {
		pthread_join(w[i].thread, NULL);
		written += w[i].written;
	}
	EXPECT_EQ(2000ul * cpus, written);
	/* Room for what perf has to say about the losses. */
	for (int i = 0; i < cpus; i++) {
		got += ring_drain(&r[i]);
		pin(i);
		ASSERT_EQ(8, ue_write_u32(self->fd, index, 0));
		written++;
		got += ring_drain(&r[i]);
		lost += r[i].lost;
		ring_close(&r[i]);
	}
	ASSERT_EQ(0, counts_of("lo_cpus", &c));
	EXPECT_EQ(written, c.written);
	EXPECT_EQ(got, c.perf);
	EXPECT_EQ(lost, c.perf_full);
	EXPECT_EQ(written, c.perf + c.perf_full);
	EXPECT_EQ(written, c.ftrace + c.ftrace_full);
	EXPECT_EQ(stats("instances/lo/", "entries"), c.ftrace);
	EXPECT_EQ(stats("instances/lo/", "dropped events"), c.ftrace_full);
	EXPECT_LT(0, lost);
	EXPECT_LT(0, c.ftrace_full);
	ASSERT_EQ(0, rmdir(UE_TRACEFS "/instances/lo"));
	free(w);
	free(r);
}

TEST_HARNESS_MAIN
