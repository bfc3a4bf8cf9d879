// SPDX-License-Identifier: GPL-2.0
/*
 * Many records in one system call. Cases of the fixture "dev" fail on the C
 * implementation, which does not have it: batch in
 * Documentation/trace/rust/deviations.rst.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/time.h>

#include "kselftest_harness.h"
#include "batch.h"

UE_FIXTURE(batch)
UE_FIXTURE(dev)

#define BUF_SIZE (128 * 1024)

/* A batch with room for BUF_SIZE bytes. */
static struct ue_batch batch_new(void)
{
	struct ue_batch b = { .buf = calloc(1, BUF_SIZE) };

	return b;
}

/* An event of one u32 that ftrace records; the index, or a negative errno. */
static int traced(int fd, volatile uint32_t *word, int bit, const char *name)
{
	char desc[64];
	int index, ret;

	snprintf(desc, sizeof(desc), "%s u32 n", name);
	index = ue_reg_index(fd, word, bit, desc);
	if (index < 0)
		return index;
	ret = ue_enable(name, true);
	return ret < 0 ? ret : index;
}

/* A program finds out by an empty batch. */
TEST_F(batch, refused_by_c)
{
	EXPECT_EQ(sizeof(void *) << 16 | 0x40002a03, (unsigned int)DIAG_IOCSBATCH);
	EXPECT_EQ(ue_is_rust() ? 0 : -ENOTTY, ue_batch_at(self->fd, NULL, 0));
}

TEST_F(dev, batch__several_events)
{
	struct ue_batch b = batch_new();
	char *text, what[32];
	int a, c;

	a = traced(self->fd, &self->w[0], 0, "ba_a");
	c = traced(self->fd, &self->w[0], 1, "ba_b");
	ASSERT_LE(0, a);
	ASSERT_LE(0, c);
	for (int i = 0; i < 100; i++)
		ue_batch_add_u32(&b, i % 3 ? a : c, i);
	EXPECT_EQ(100, ue_batch(self->fd, &b));
	EXPECT_EQ(66, ue_records("ba_a"));
	EXPECT_EQ(34, ue_records("ba_b"));
	/* In this order. */
	text = ue_slurp(UE_TRACEFS "/trace");
	for (int i = 0; i < 100 && text; i++) {
		snprintf(what, sizeof(what), "ba_%c: n=0x%x (%d)\n", i % 3 ? 'a' : 'b', i, i);
		text = strstr(text, what);
		ASSERT_NE(NULL, text) TH_LOG("%s", what);
	}
	free(b.buf);
}

/* perf and ftrace get every byte, whatever the place of a record in the batch. */
TEST_F(dev, batch__all_sizes)
{
	struct ue_batch b = batch_new();
	struct ue_perf perf;
	char payload[1024], raw[1024];
	int index, n = 0;

	if (!ue_has_perf())
		SKIP(return, "there is no perf");
	index = traced(self->fd, &self->w[0], 0, "ba_sizes");
	ASSERT_LE(0, index);
	ASSERT_EQ(0, ue_perf_open(&perf, "ba_sizes"));
	for (int size = 4; size < 300; size++, n++) {
		memset(payload, size, size);
		ue_batch_add(&b, index, payload, size);
	}
	ASSERT_GT(BUF_SIZE, b.len);
	EXPECT_EQ(n, ue_batch(self->fd, &b));
	EXPECT_EQ(n, ue_records("ba_sizes"));
	for (int size = 4; size < 300; size++) {
		memset(payload, size, size);
		ASSERT_LE(8 + size, ue_perf_next(&perf, raw, sizeof(raw))) TH_LOG("size %d", size);
		ASSERT_EQ(0, memcmp(payload, raw + 8, size)) TH_LOG("size %d", size);
	}
	EXPECT_EQ(-ENOENT, ue_perf_next(&perf, raw, sizeof(raw)));
	ue_perf_close(&perf);
	free(b.buf);
}

/* Records that write() refuses, and some that it takes. */
static const struct {
	const char *what;
	int index;	/* that of the event, if 0 */
	size_t len;
	uint32_t loc;
	long ret;
} alone[] = {
	{ "a record",		0, 8, DYN_LOC(12, 4), 1 },
	{ "a long one",		0, 3000, DYN_LOC(12, 4), 1 },
	{ "too short",		0, 3, 0, -EINVAL },
	{ "empty",		0, 0, 0, -EINVAL },
	{ "index too large",	77, 8, DYN_LOC(12, 4), -ENOENT },
	{ "negative index",	-1, 8, DYN_LOC(12, 4), -EINVAL },
	{ "location outside",	0, 8, DYN_LOC(12, 5), -EFAULT },
	{ "the same, long",	0, 500, DYN_LOC(508, 1), -EFAULT },
	{ "too long for all",	0, 70000, DYN_LOC(12, 4), -E2BIG },
};

TEST_F(dev, batch__same_errors_as_write)
{
	struct ue_batch b = batch_new();
	char *payload = calloc(1, BUF_SIZE);
	uint32_t good[2] = { DYN_LOC(12, 4) };
	int index, taken = 0;

	index = ue_reg_index(self->fd, &self->w[0], 0, "ba_alone __data_loc char[] s");
	ASSERT_LE(0, index);
	ASSERT_EQ(0, ue_enable("ba_alone", true));
	for (int i = 0; i < (int)ARRAY_SIZE(alone); i++) {
		int at = alone[i].index ?: index;
		long written;

		memcpy(payload, &alone[i].loc, sizeof(alone[i].loc));
		written = ue_write(self->fd, at, payload, alone[i].len);
		EXPECT_EQ(alone[i].ret < 0 ? alone[i].ret : (long)alone[i].len + 4, written) {
			TH_LOG("%s", alone[i].what);
		}

		/* First in the batch: its error. */
		b.len = 0;
		ue_batch_add(&b, at, payload, alone[i].len);
		EXPECT_EQ(alone[i].ret, ue_batch(self->fd, &b)) TH_LOG("%s", alone[i].what);
		taken += 2 * (alone[i].ret > 0);
		EXPECT_EQ(taken, ue_records("ba_alone")) TH_LOG("%s", alone[i].what);

		/* The third one: those before it are recorded, those after it are not. */
		if (alone[i].ret > 0 || alone[i].len > 6000)
			continue;
		b.len = 0;
		ue_batch_add(&b, index, good, sizeof(good));
		ue_batch_add(&b, index, good, sizeof(good));
		ue_batch_add(&b, at, payload, alone[i].len);
		ue_batch_add(&b, index, good, sizeof(good));
		EXPECT_EQ(2, ue_batch(self->fd, &b)) TH_LOG("%s", alone[i].what);
		taken += 2;
		EXPECT_EQ(taken, ue_records("ba_alone")) TH_LOG("%s", alone[i].what);
	}
	free(payload);
	free(b.buf);
}

TEST_F(dev, batch__malformed)
{
	static const uint32_t bad[] = { 0, 1, 4, 7, 17, 0x80000000, 0xfffffff8, 0xffffffff };
	struct ue_batch b = batch_new();
	int index;

	index = traced(self->fd, &self->w[0], 0, "ba_bad");
	ASSERT_LE(0, index);
	for (int i = 0; i < (int)ARRAY_SIZE(bad); i++) {
		b.len = 0;
		ue_batch_add_sized(&b, bad[i], index, "abcdefgh", 8);
		EXPECT_EQ(-EINVAL, ue_batch(self->fd, &b)) TH_LOG("size %u", bad[i]);
		b.len = 0;
		ue_batch_add_u32(&b, index, 1);
		ue_batch_add_sized(&b, bad[i], index, "abcdefgh", 8);
		EXPECT_EQ(1, ue_batch(self->fd, &b)) TH_LOG("size %u", bad[i]);
	}
	EXPECT_EQ((int)ARRAY_SIZE(bad), ue_records("ba_bad"));
	/* What is left is no record: a head that is cut off. */
	b.len = 0;
	ue_batch_add_u32(&b, index, 1);
	ue_batch_add_u32(&b, index, 2);
	for (uint32_t cut = 1; cut < 8; cut++) {
		EXPECT_EQ(-EINVAL, ue_batch_at(self->fd, b.buf, cut)) TH_LOG("%u bytes", cut);
		EXPECT_EQ(1, ue_batch_at(self->fd, b.buf, 16 + cut)) TH_LOG("%u bytes", cut);
	}
	/* The last one needs no padding. */
	EXPECT_EQ(-EINVAL, ue_batch_at(self->fd, b.buf, 11));
	EXPECT_EQ(1, ue_batch_at(self->fd, b.buf, 12));
	EXPECT_EQ(1, ue_batch_at(self->fd, b.buf, 27));
	EXPECT_EQ(2, ue_batch_at(self->fd, b.buf, 28));
	EXPECT_EQ((int)ARRAY_SIZE(bad) + 7 + 4, ue_records("ba_bad"));
	free(b.buf);
}

TEST_F(dev, batch__structure)
{
	struct {
		struct user_batch b;
		char more[2 * UE_PAGE];
	} *big = calloc(1, sizeof(*big));
	struct ue_batch b = batch_new();
	int index;

	index = traced(self->fd, &self->w[0], 0, "ba_struct");
	ASSERT_LE(0, index);
	ue_batch_add_u32(&b, index, 1);
	EXPECT_EQ(16, sizeof(struct user_batch));
	EXPECT_EQ(8, sizeof(struct user_record));
	big->b.len = b.len;
	big->b.records = (uintptr_t)b.buf;
	for (uint32_t size = 0; size < sizeof(big->b); size++) {
		big->b.size = size;
		EXPECT_EQ(-EINVAL, ue_err(ioctl(self->fd, DIAG_IOCSBATCH, big)));
	}
	/* One of a newer program, which uses nothing that is new, or does. */
	big->b.size = sizeof(big->b) + 8;
	EXPECT_EQ(1, ue_err(ioctl(self->fd, DIAG_IOCSBATCH, big)));
	big->more[7] = 1;
	EXPECT_EQ(-E2BIG, ue_err(ioctl(self->fd, DIAG_IOCSBATCH, big)));
	big->more[7] = 0;
	big->b.size = UE_PAGE + 1;
	EXPECT_EQ(-E2BIG, ue_err(ioctl(self->fd, DIAG_IOCSBATCH, big)));
	EXPECT_EQ(-EFAULT, ue_err(ioctl(self->fd, DIAG_IOCSBATCH, NULL)));
	EXPECT_EQ(1, ue_records("ba_struct"));
	/* Addresses of the kernel, and nothing mapped. */
	EXPECT_EQ(-EFAULT, ue_batch_at(self->fd, (void *)-16l, 16));
	EXPECT_EQ(-EFAULT, ue_batch_at(self->fd, (void *)-8l, 16));
	EXPECT_EQ(-EFAULT, ue_batch_at(self->fd, NULL, 16));
	EXPECT_EQ(0, ue_batch_at(self->fd, NULL, 0));
	free(b.buf);
	free(big);
}

/* As write(), which a file that is only open for reading does not allow. */
TEST_F(dev, batch__read_only_file)
{
	static const int modes[] = { O_RDONLY, O_WRONLY, O_RDWR, O_ACCMODE };
	struct ue_batch b = batch_new();
	int taken = 0;

	ASSERT_LE(0, traced(self->fd, &self->w[0], 0, "ba_mode"));
	ue_batch_add_u32(&b, 0, 1);
	for (int i = 0; i < (int)ARRAY_SIZE(modes); i++) {
		int fd = open(UE_DATA, modes[i] | O_CLOEXEC);
		bool may = modes[i] == O_WRONLY || modes[i] == O_RDWR;

		ASSERT_LE(0, fd);
		ASSERT_EQ(0, ue_reg_index(fd, &self->w[0], 1 + i, "ba_mode u32 n"));
		EXPECT_EQ(may ? 8 : -EBADF, ue_write_u32(fd, 0, 1)) TH_LOG("mode %d", modes[i]);
		EXPECT_EQ(may ? 1 : -EBADF, ue_batch(fd, &b)) TH_LOG("mode %d", modes[i]);
		taken += 2 * may;
		EXPECT_EQ(0, ue_unreg(fd, &self->w[0], 1 + i));
		close(fd);
	}
	EXPECT_EQ(taken, ue_records("ba_mode"));
	free(b.buf);
}

/* A new page. User-Mode Linux reads one that is present whatever its protection is. */
static char *page_at(char *page, int prot)
{
	return mmap(page, UE_PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/* Memory that cannot be read: the records before it are recorded. */
TEST_F(dev, batch__unreadable)
{
	char *hole = mmap(NULL, 2 * UE_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char payload[300] = "";
	struct ue_batch end = {};
	int index, taken = 0;

	ASSERT_NE(MAP_FAILED, (void *)hole);
	hole += UE_PAGE;
	index = traced(self->fd, &self->w[0], 0, "ba_hole");
	ASSERT_LE(0, index);
	/* The third record begins so many bytes before the hole. */
	for (int before = 0; before <= 200; before += 8) {
		struct ue_batch b = { .buf = hole - before - 32 };

		ASSERT_EQ(hole, page_at(hole, PROT_READ | PROT_WRITE));
		ue_batch_add_u32(&b, index, 1);
		ue_batch_add_u32(&b, index, 2);
		ue_batch_add(&b, index, payload, before % 16 ? sizeof(payload) : 120);
		ASSERT_EQ(hole, page_at(hole, PROT_NONE));
		taken += 2;
		if (before % 16 == 0 && before >= 128)
			taken++;
		EXPECT_EQ(2 + (before % 16 == 0 && before >= 128), ue_batch(self->fd, &b)) {
			TH_LOG("%d bytes", before);
		}
		EXPECT_EQ(taken, ue_records("ba_hole")) TH_LOG("%d bytes", before);
	}
	/* All of it, and the first record. */
	EXPECT_EQ(-EFAULT, ue_batch_at(self->fd, hole, 64));
	ASSERT_EQ(hole, page_at(hole, PROT_READ | PROT_WRITE));
	end.buf = hole - 8;
	ue_batch_add_u32(&end, index, 1);
	ASSERT_EQ(hole, page_at(hole, PROT_NONE));
	EXPECT_EQ(-EFAULT, ue_batch(self->fd, &end));
	/* A record that ends at the hole, in a batch that claims to continue. */
	end = (struct ue_batch){ .buf = hole - 16 };
	ue_batch_add_u32(&end, index, 1);
	EXPECT_EQ(1, ue_batch_at(self->fd, end.buf, 4096));
	EXPECT_EQ(taken + 1, ue_records("ba_hole"));
	munmap(hole - UE_PAGE, 2 * UE_PAGE);
}

/* A page that is not present is faulted in. */
TEST_F(dev, batch__absent_pages)
{
	char *fresh = mmap(NULL, 4 * UE_PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FILE *file = tmpfile();
	struct ue_batch b = batch_new();
	char *mapped;
	int index, n;

	ASSERT_NE(MAP_FAILED, (void *)fresh);
	ASSERT_NE(NULL, file);
	index = traced(self->fd, &self->w[0], 0, "ba_absent");
	ASSERT_LE(0, index);
	for (n = 0; b.len < 40000; n++)
		ue_batch_add_u32(&b, index, n);
	ASSERT_EQ(1, fwrite(b.buf, b.len, 1, file));
	ASSERT_EQ(0, fflush(file));
	mapped = mmap(NULL, b.len, PROT_READ, MAP_PRIVATE, fileno(file), 0);
	ASSERT_NE(MAP_FAILED, (void *)mapped);
	EXPECT_EQ(n, ue_batch_at(self->fd, mapped, b.len));
	EXPECT_EQ(n, ue_records("ba_absent"));
	/* Zeroes are no record. */
	EXPECT_EQ(-EINVAL, ue_batch_at(self->fd, fresh, 4 * UE_PAGE));
	munmap(mapped, b.len);
	munmap(fresh, 4 * UE_PAGE);
	fclose(file);
	free(b.buf);
}

/* A record without a listener counts, unless the batch has no others. */
TEST_F(dev, batch__nobody_listens)
{
	struct ue_batch b = batch_new();
	int on, off, n;

	on = traced(self->fd, &self->w[0], 0, "ba_on");
	off = ue_reg_index(self->fd, &self->w[0], 1, "ba_off u32 n");
	ASSERT_LE(0, on);
	ASSERT_LE(0, off);
	EXPECT_EQ(-EBADF, ue_write_u32(self->fd, off, 1));
	for (n = 1; n <= 100; n++) {
		ue_batch_add_u32(&b, off, n);
		EXPECT_EQ(-EBADF, ue_batch(self->fd, &b)) TH_LOG("%d records", n);
	}
	ue_batch_add_u32(&b, on, 1);
	EXPECT_EQ(101, ue_batch(self->fd, &b));
	EXPECT_EQ(1, ue_records("ba_on"));
	/* One that fails after them: they were handled. */
	b.len = 0;
	ue_batch_add_u32(&b, off, 1);
	ue_batch_add_u32(&b, 77, 1);
	ue_batch_add_u32(&b, on, 1);
	EXPECT_EQ(1, ue_batch(self->fd, &b));
	EXPECT_EQ(1, ue_records("ba_on"));
	/* It is checked all the same, as write() does. */
	b.len = 0;
	ue_batch_add(&b, off, "abc", 3);
	EXPECT_EQ(-EINVAL, ue_batch(self->fd, &b));
	free(b.buf);
}

/* Triggers and filters see each record. */
TEST_F(dev, batch__triggers)
{
	struct ue_batch b = batch_new();
	int index;

	index = traced(self->fd, &self->w[0], 0, "ba_trig");
	ASSERT_LE(0, index);
	ASSERT_EQ(0, ue_put(UE_EVENTS "/ba_trig/trigger", "hist:keys=n"));
	ASSERT_EQ(0, ue_put(UE_EVENTS "/ba_trig/filter", "n < 2"));
	for (int i = 0; i < 90; i++)
		ue_batch_add_u32(&b, index, i % 3);
	EXPECT_EQ(90, ue_batch(self->fd, &b));
	EXPECT_EQ(60, ue_records("ba_trig"));
	EXPECT_EQ(3, ue_count(ue_slurp(UE_EVENTS "/ba_trig/hist"), "hitcount:         30"));
	free(b.buf);
}

static void nothing(int signal)
{
	(void)signal;
}

/* A signal ends a batch early, but not before its first record. */
TEST_F(dev, batch__signal)
{
	static const size_t size = 512 << 20;
	/* Again and again, if it arrives too soon. */
	struct itimerval soon = { { 0, 20000 }, { 0, 20000 } }, off = {};
	struct sigaction act = { .sa_handler = nothing, .sa_flags = SA_RESTART }, old;
	struct ue_batch b;
	char *records;
	int index, child, status;
	sigset_t mask;
	long n;

	/* The pages of the file over and over: memory for a batch that takes minutes. */
	int file = memfd_create("records", MFD_CLOEXEC);

	ASSERT_LE(0, file);
	ASSERT_EQ(0, ftruncate(file, UE_PAGE));
	records = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)records);
	for (size_t at = 0; at < size; at += UE_PAGE) {
		ASSERT_NE(MAP_FAILED, mmap(records + at, UE_PAGE, PROT_READ | PROT_WRITE,
					   MAP_SHARED | MAP_FIXED, file, 0));
	}
	index = traced(self->fd, &self->w[0], 0, "ba_signal");
	ASSERT_LE(0, index);
	b = (struct ue_batch){ .buf = records };
	while (b.len < UE_PAGE)
		ue_batch_add_u32(&b, index, 1);
	ASSERT_EQ(UE_PAGE, b.len);

	ASSERT_EQ(0, sigaction(SIGALRM, &act, &old));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &soon, NULL));
	n = ue_batch_at(self->fd, records, size);
	EXPECT_LT(0, n);
	EXPECT_GT((long)size / 16, n);
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &off, NULL));

	/* One that is blocked does not. */
	sigemptyset(&mask);
	sigaddset(&mask, SIGALRM);
	ASSERT_EQ(0, sigprocmask(SIG_BLOCK, &mask, NULL));
	ASSERT_EQ(0, raise(SIGALRM));
	EXPECT_EQ(1000, ue_batch_at(self->fd, records, 16000));
	ASSERT_EQ(0, sigprocmask(SIG_UNBLOCK, &mask, NULL));
	ASSERT_EQ(0, sigaction(SIGALRM, &old, NULL));

	/* It can be killed. */
	child = fork();
	if (!child) {
		ue_batch_at(self->fd, records, size);
		_exit(0);
	}
	ASSERT_LT(0, child);
	usleep(20000);
	ASSERT_EQ(0, kill(child, SIGKILL));
	ASSERT_TRUE(ue_poll(waitpid(child, &status, WNOHANG) == child));
	EXPECT_TRUE(WIFSIGNALED(status));
	munmap(records, size);
	close(file);
}

TEST_HARNESS_MAIN
