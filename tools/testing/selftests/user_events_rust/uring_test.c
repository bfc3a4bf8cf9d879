// SPDX-License-Identifier: GPL-2.0
/*
 * Writes by io_uring, and others that must not wait: io-uring-inline in
 * Documentation/trace/rust/deviations.rst.
 */
#define _GNU_SOURCE
#include <dirent.h>

#include "kselftest_harness.h"
#include "uring.h"

FIXTURE(dev) {
	int fd;
	int index;
	volatile uint32_t *w;
	struct uring u;
};

FIXTURE_SETUP(dev)
{
	if (access(UE_DATA, F_OK))
		SKIP(return, "no user_events_data in tracefs");
	ASSERT_TRUE(ue_reset());
	if (uring_open(&self->u))
		SKIP(return, "no io_uring");
	self->fd = ue_open();
	ASSERT_LE(0, self->fd);
	self->w = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->w);
	self->index = ue_reg_index(self->fd, &self->w[0], 0, "ur u32 n");
	ASSERT_LE(0, self->index);
	ASSERT_EQ(0, ue_enable("ur", true));
}

FIXTURE_TEARDOWN(dev)
{
	ue_trunc(UE_TRACEFS "/set_event");
	close(self->fd);
	uring_close(&self->u);
}

/* Threads of this process that io_uring has created to do its work. */
static int workers(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *d;
	int n = 0;

	while (tasks && (d = readdir(tasks))) {
		if (d->d_name[0] != '.')
			n += ue_count(ue_slurp(ue_path("/proc/self/task/%s/comm", d->d_name)), "iou-wrk");
	}
	if (tasks)
		closedir(tasks);
	return n;
}

/* Records in trace whose common_pid is this thread. */
static int own_records(void)
{
	char *text = ue_slurp(UE_TRACEFS "/trace"), *line, pid[32];
	int n = 0;

	snprintf(pid, sizeof(pid), "-%d ", (int)syscall(SYS_gettid));
	while ((line = strsep(&text, "\n"))) {
		char *at = strstr(line, pid);

		n += at && strstr(line, ": ur:") && strspn(at + strlen(pid) - 1, " ") == strcspn(at + strlen(pid) - 1, "[");
	}
	return n;
}

static void queue(struct uring *u, int opcode, int fd, const void *at, size_t len)
{
	struct io_uring_sqe *sqe = uring_next(u);

	sqe->opcode = opcode;
	sqe->fd = fd;
	sqe->addr = (uintptr_t)at;
	sqe->len = len;
}

TEST_F(dev, io_uring_inline__submitter)
{
	uint32_t rec[8][2];

	for (int i = 0; i < 8; i++) {
		rec[i][0] = self->index;
		rec[i][1] = i;
		queue(&self->u, IORING_OP_WRITE, self->fd, rec[i], sizeof(rec[i]));
	}
	ASSERT_EQ(8, uring_enter(&self->u, 8));
	EXPECT_EQ(0, workers());
	for (int i = 0; i < 8; i++)
		EXPECT_EQ(8, uring_result(&self->u));
	EXPECT_EQ(8, ue_records("ur"));
	EXPECT_EQ(8, own_records());
	EXPECT_STREQ(" n=0x7 (7)", ue_last_record("ur"));
}

TEST_F(dev, io_uring_inline__kinds_of_writes)
{
	static char buf[8192];
	struct iovec whole = { buf, sizeof(buf) }, parts[2];
	int n = 0;

	memcpy(buf, &self->index, 4);
	ASSERT_EQ(0, ue_err(syscall(__NR_io_uring_register, self->u.fd, IORING_REGISTER_BUFFERS,
				    &whole, 1)));
	for (int size = 4; size < 3000; size += 149) {
		queue(&self->u, IORING_OP_WRITE, self->fd, buf, 4 + size);
		ASSERT_EQ(1, uring_enter(&self->u, 1));
		EXPECT_EQ(4 + size, uring_result(&self->u));
		queue(&self->u, IORING_OP_WRITE_FIXED, self->fd, buf, 4 + size);
		ASSERT_EQ(1, uring_enter(&self->u, 1));
		EXPECT_EQ(4 + size, uring_result(&self->u));
		parts[0] = (struct iovec){ buf, 4 };
		parts[1] = (struct iovec){ buf + 4, size };
		EXPECT_EQ(4 + size, uring_writev(&self->u, self->fd, parts, 2, 0));
		n += 3;
	}
	EXPECT_EQ(n, ue_records("ur"));
	EXPECT_EQ(n, own_records());
	EXPECT_EQ(0, workers());
}

/* With a thread of the kernel that looks for submissions, this thread is the submitter. */
TEST_F(dev, io_uring_inline__polling_thread)
{
	uint32_t rec[2] = { self->index, 7 };
	struct uring u;

	ASSERT_EQ(0, uring_open_flags(&u, IORING_SETUP_SQPOLL));
	for (int i = 0; i < 8; i++)
		queue(&u, IORING_OP_WRITE, self->fd, rec, sizeof(rec));
	ASSERT_EQ(8, uring_enter(&u, 8));
	for (int i = 0; i < 8; i++)
		EXPECT_EQ(8, uring_result(&u));
	EXPECT_EQ(8, ue_records("ur"));
	EXPECT_EQ(0, own_records());
	EXPECT_EQ(0, workers());
	uring_close(&u);
}

/* They are those of write(), and no worker is needed to find them. */
TEST_F(dev, io_uring_inline__errors)
{
	uint32_t rec[2] = { 77 };
	int off = ue_reg_index(self->fd, &self->w[0], 1, "ur_off u32 n");
	int text = ue_reg_index(self->fd, &self->w[0], 2, "ur_text __data_loc char[] s");

	ASSERT_LE(0, off);
	ASSERT_LE(0, text);
	ASSERT_EQ(0, ue_enable("ur_text", true));
	queue(&self->u, IORING_OP_WRITE, self->fd, rec, sizeof(rec));
	ASSERT_EQ(1, uring_enter(&self->u, 1));
	EXPECT_EQ(-ENOENT, uring_result(&self->u));
	rec[0] = -1;
	queue(&self->u, IORING_OP_WRITE, self->fd, rec, sizeof(rec));
	ASSERT_EQ(1, uring_enter(&self->u, 1));
	EXPECT_EQ(-EINVAL, uring_result(&self->u));
	rec[0] = self->index;
	for (int len = 0; len < 8; len++) {
		queue(&self->u, IORING_OP_WRITE, self->fd, rec, len);
		ASSERT_EQ(1, uring_enter(&self->u, 1));
		EXPECT_EQ(len < 4 ? -EFAULT : -EINVAL, uring_result(&self->u)) TH_LOG("%d bytes", len);
	}
	rec[0] = off;
	queue(&self->u, IORING_OP_WRITE, self->fd, rec, sizeof(rec));
	ASSERT_EQ(1, uring_enter(&self->u, 1));
	EXPECT_EQ(-EBADF, uring_result(&self->u));
	rec[0] = text;
	rec[1] = DYN_LOC(100, 4);
	queue(&self->u, IORING_OP_WRITE, self->fd, rec, sizeof(rec));
	ASSERT_EQ(1, uring_enter(&self->u, 1));
	EXPECT_EQ(-EFAULT, uring_result(&self->u));
	EXPECT_EQ(0, workers());
	EXPECT_EQ(0, ue_records("ur") + ue_records("ur_off") + ue_records("ur_text"));
}

/* Memory that is not present would have to be waited for: a worker does that. */
TEST_F(dev, io_uring_inline__absent_memory)
{
	char *m = mmap(NULL, 2 * UE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const int sizes[] = { 4, 200, 3000 };
	char *rec = m + UE_PAGE - 4;

	ASSERT_NE(MAP_FAILED, (void *)m);
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, ue_trunc(UE_TRACEFS "/trace"));
		/* The index is present, the payload is not. */
		ASSERT_EQ(0, madvise(m, 2 * UE_PAGE, MADV_DONTNEED));
		memcpy(rec, &self->index, 4);
		queue(&self->u, IORING_OP_WRITE, self->fd, rec, 4 + sizes[i]);
		ASSERT_EQ(1, uring_enter(&self->u, 1));
		EXPECT_EQ(4 + sizes[i], uring_result(&self->u));
		EXPECT_EQ(1, ue_records("ur"));
		EXPECT_EQ(0, own_records());
		EXPECT_LT(0, workers());
		/* Now it is. */
		queue(&self->u, IORING_OP_WRITE, self->fd, rec, 4 + sizes[i]);
		ASSERT_EQ(1, uring_enter(&self->u, 1));
		EXPECT_EQ(4 + sizes[i], uring_result(&self->u));
		EXPECT_EQ(2, ue_records("ur"));
		EXPECT_EQ(1, own_records());
	}
	/* It cannot be read at all. */
	ASSERT_EQ(0, mprotect(m + UE_PAGE, UE_PAGE, PROT_NONE));
	for (int i = 0; i < 3; i++) {
		queue(&self->u, IORING_OP_WRITE, self->fd, rec, 4 + sizes[i]);
		ASSERT_EQ(1, uring_enter(&self->u, 1));
		EXPECT_EQ(-EFAULT, uring_result(&self->u));
	}
	EXPECT_EQ(2, ue_records("ur"));
	munmap(m, 2 * UE_PAGE);
}

static long write_nowait(int fd, const void *at, size_t len)
{
	struct iovec io = { (void *)at, len };

	return ue_err(pwritev2(fd, &io, 1, -1, RWF_NOWAIT));
}

TEST_F(dev, io_uring_inline__nowait)
{
	char *m = mmap(NULL, 2 * UE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const int sizes[] = { 4, 200, 3000 };
	char *rec = m + UE_PAGE - 4;

	ASSERT_NE(MAP_FAILED, (void *)m);
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, ue_trunc(UE_TRACEFS "/trace"));
		/* Index and payload are absent, then the payload, then nothing is. */
		ASSERT_EQ(0, madvise(m, 2 * UE_PAGE, MADV_DONTNEED));
		EXPECT_EQ(-EAGAIN, write_nowait(self->fd, rec, 4 + sizes[i]));
		memcpy(rec, &self->index, 4);
		EXPECT_EQ(-EAGAIN, write_nowait(self->fd, rec, 4 + sizes[i]));
		EXPECT_EQ(0, ue_records("ur"));
		rec[4] = 1;
		EXPECT_EQ(4 + sizes[i], write_nowait(self->fd, rec, 4 + sizes[i]));
		EXPECT_EQ(1, own_records());
		EXPECT_EQ(-EFAULT, write_nowait(self->fd, rec, 3));
		EXPECT_EQ(-EINVAL, write_nowait(self->fd, rec, 7));
	}
	munmap(m, 2 * UE_PAGE);
}

/* A record that is tried again has its triggers run once. */
TEST_F(dev, io_uring_inline__triggers_once)
{
	char *m = mmap(NULL, 2 * UE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const char *trigger = UE_EVENTS "/ur/trigger";
	char *rec = m + UE_PAGE - 4;

	ASSERT_NE(MAP_FAILED, (void *)m);
	/* It needs no record, and counts how often it is run. */
	if (ue_put(trigger, "snapshot:9"))
		SKIP(return, "no snapshots");
	for (int i = 1; i < 4; i++) {
		char what[32];

		ASSERT_EQ(0, madvise(m, 2 * UE_PAGE, MADV_DONTNEED));
		memcpy(rec, &self->index, 4);
		EXPECT_EQ(-EAGAIN, write_nowait(self->fd, rec, 4 + 200));
		queue(&self->u, IORING_OP_WRITE, self->fd, rec, 4 + 200);
		ASSERT_EQ(1, uring_enter(&self->u, 1));
		EXPECT_EQ(4 + 200, uring_result(&self->u));
		snprintf(what, sizeof(what), "snapshot:count=%d", 9 - i);
		EXPECT_EQ(1, ue_count(ue_slurp(trigger), what)) TH_LOG("%s: %s", what, ue_slurp(trigger));
	}
	ASSERT_EQ(0, ue_put(trigger, "!snapshot"));
	munmap(m, 2 * UE_PAGE);
}

TEST_HARNESS_MAIN
