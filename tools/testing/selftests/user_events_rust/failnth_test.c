// SPDX-License-Identifier: GPL-2.0
/*
 * Every allocation on the way of each operation fails once: the operation fails
 * with ENOMEM or succeeds, nothing is left half done, and the next one works.
 * Leaks are for kmemleak to find.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/klog.h>

#include "kselftest_harness.h"
#include "batch.h"
#include "fault.h"

UE_FIXTURE(fail)

/* The fixture of the cases that only hold for the Rust implementation. */
UE_FIXTURE(dev)

TEST_F_TIMEOUT(fail, open, 120)
{
	int nth, fd, hits = 0;

	NEED_FAULTS();
	nth = fault_open();
	fault_sweep(nth, n, 500) {
		fault_arm(nth, n);
		fd = open(UE_DATA, O_RDWR);
		if (fd < 0)
			fd = -errno;
		hits += fault_done(nth);
		ASSERT_TRUE(fd >= 0 || fd == -ENOMEM) TH_LOG("n %d: %d", n, fd);
		if (fd >= 0) {
			ASSERT_EQ(0, ue_reg_index(fd, &self->w[0], 0, "f_open u32 a"));
			ASSERT_EQ(0, ue_unreg(fd, &self->w[0], 0));
			close(fd);
		}
	}
	EXPECT_LT(0, hits);
	EXPECT_TRUE(ue_gone("f_open"));
}

static void sweep_register(struct __test_metadata *_metadata, volatile uint32_t *w,
			   const char *desc, int flags, bool fresh)
{
	int nth, ret, hits = 0, done = 0;
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(desc, " "), desc);
	nth = fault_open();
	fault_sweep(nth, n, 2000) {
		int own = ue_open();

		ASSERT_LE(0, own);
		fault_arm(nth, n);
		ret = ue_reg_flags(own, &w[0], 0, flags, desc);
		hits += fault_done(nth);
		ASSERT_TRUE(ret == 0 || ret == -ENOMEM) TH_LOG("n %d: %d", n, ret);
		if (ret) {
			/* Nothing is registered: no word, no index. */
			ASSERT_EQ(-ENOENT, ue_unreg(own, &w[0], 0)) TH_LOG("n %d", n);
		} else {
			done++;
			/* Tracing works without a directory if it has to. */
			if (!(flags & USER_EVENT_REG_MULTI_FORMAT) && ue_exists(name)) {
				ASSERT_EQ(0, ue_enable(name, true));
				ASSERT_EQ(1, w[0]);
				ASSERT_EQ(0, ue_enable(name, false));
				ASSERT_EQ(0, w[0]);
			}
			ASSERT_EQ(0, ue_unreg(own, &w[0], 0));
		}
		close(own);
		if (fresh) {
			ASSERT_TRUE(ue_poll(!strstr(ue_slurp(UE_STATUS), name))) TH_LOG("n %d", n);
		}
	}
	EXPECT_LT(fresh ? 5 : 0, hits);
	EXPECT_LT(0, done);
}

TEST_F_TIMEOUT(fail, register_a_new_event, 280)
{
	NEED_FAULTS();
	sweep_register(_metadata, self->w,
		       "f_new u32 a; char[20] b; __data_loc char[] c; struct x d 8", 0, true);
}

TEST_F_TIMEOUT(fail, register_a_format, 280)
{
	NEED_FAULTS();
	sweep_register(_metadata, self->w, "f_multi u32 a; u64 b",
		       USER_EVENT_REG_MULTI_FORMAT, true);
}

/* no-memory-files: an event that is registered is in each instance. */

#define F_INSTANCE	UE_TRACEFS "/instances/failnth"

TEST_F_TIMEOUT(dev, no_memory_files__register, 280)
{
	int nth, ret, hits = 0, done = 0;

	NEED_FAULTS();
	ASSERT_EQ(0, mkdir(F_INSTANCE, 0755));
	nth = fault_open();
	fault_sweep(nth, n, 2000) {
		fault_arm(nth, n);
		ret = ue_reg(self->fd, &self->w[0], 0, "f_files u32 a");
		hits += fault_done(nth);
		ASSERT_TRUE(ret == 0 || ret == -ENOMEM) TH_LOG("n %d: %d", n, ret);
		if (!ret) {
			done++;
			EXPECT_TRUE(ue_exists("f_files")) TH_LOG("n %d", n);
			EXPECT_EQ(0, access(F_INSTANCE "/events/user_events/f_files/enable", F_OK)) TH_LOG("n %d", n);
			ASSERT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
			/* The file has an index of it. */
			close(self->fd);
			self->fd = ue_open();
		}
		ASSERT_TRUE(ue_poll(!strstr(ue_slurp(UE_STATUS), "f_files"))) TH_LOG("n %d", n);
	}
	close(nth);
	EXPECT_EQ(0, ue_err(rmdir(F_INSTANCE)));
	EXPECT_LT(5, hits);
	EXPECT_LT(0, done);
}

/* no-memory-match: an event that cannot be compared with is not another one. */

TEST_F_TIMEOUT(dev, no_memory_match__register_an_existing_event, 120)
{
	NEED_FAULTS();
	ASSERT_EQ(0, ue_put(UE_DYN, "u:f_old u32 a; u64 b"));
	sweep_register(_metadata, self->w, "f_old u32 a;u64 b", 0, false);
	EXPECT_EQ(0, ue_del_wait(self->fd, "f_old"));
}

/* Growing tables: of one file, of one process, of one event. */
TEST_F_TIMEOUT(fail, register_many, 280)
{
	int nth, ret, hits = 0, done = 0;
	char desc[64];

	NEED_FAULTS();
	nth = fault_open();
	for (int i = 0; i < 300; i++) {
		snprintf(desc, sizeof(desc), "f_many%d u32 a", i % 40);
		fault_arm(nth, 1 + i % 37);
		ret = ue_reg(self->fd, &self->w[i], 0, desc);
		hits += fault_hit(nth);
		ASSERT_TRUE(ret == 0 || ret == -ENOMEM) TH_LOG("i %d: %d", i, ret);
		done += ret == 0;
		ASSERT_EQ(ret ? -ENOENT : 0, ue_unreg(self->fd, &self->w[i], 0));
		if (!ret) {
			ASSERT_EQ(0, ue_reg(self->fd, &self->w[i], 0, desc));
		}
	}
	EXPECT_LT(5, hits);
	EXPECT_LT(5, done);
	ASSERT_EQ(0, ue_put(UE_EVENTS "/enable", "1"));
	for (int i = 0; i < 300; i++) {
		ret = ue_unreg(self->fd, &self->w[i], 0);
		ASSERT_TRUE(ret == 0 || ret == -ENOENT);
		ASSERT_EQ(0, self->w[i]);
	}
	ASSERT_EQ(0, ue_put(UE_EVENTS "/enable", "0"));
}

TEST_F_TIMEOUT(fail, enable, 120)
{
	int nth, enable, ret, hits = 0;

	NEED_FAULTS();
	ASSERT_EQ(0, fault_keep_cmdlines(self->fd, &self->w[8]));
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "f_enable u32 a"));
	enable = open(UE_EVENTS "/f_enable/enable", O_WRONLY);
	ASSERT_LE(0, enable);
	nth = fault_open();
	fault_sweep(nth, n, 500) {
		fault_arm(nth, n);
		ret = ue_err(pwrite(enable, "1", 1, 0));
		hits += fault_done(nth);
		ASSERT_TRUE(ret == 1 || ret == -ENOMEM) TH_LOG("n %d: %d", n, ret);
		ASSERT_EQ(ret == 1, self->w[0]);
		fault_arm(nth, n);
		ret = ue_err(pwrite(enable, "0", 1, 0));
		hits += fault_hit(nth);
		ASSERT_EQ(1, ret);
		ASSERT_EQ(0, self->w[0]);
	}
	EXPECT_LT(0, hits);
	close(enable);
}

TEST_F_TIMEOUT(fail, dynamic_events, 280)
{
	int nth, ret, hits = 0;

	NEED_FAULTS();
	nth = fault_open();
	fault_sweep(nth, n, 2000) {
		fault_arm(nth, n);
		ret = ue_put(UE_DYN, "u:f_dyn u32 a; char[4] b");
		hits += fault_done(nth);
		ASSERT_TRUE(ret == 0 || ret == -ENOMEM) TH_LOG("n %d: %d", n, ret);
		ASSERT_EQ(ret == 0, *ue_status("f_dyn") != 0);
		/* Tracing in C works without a directory if it has to. */
		if (ue_is_rust()) {
			ASSERT_EQ(ret == 0, ue_exists("f_dyn")) TH_LOG("n %d", n);
		}
		ASSERT_EQ(ret ? -ENOENT : 0, ue_del(self->fd, "f_dyn"));
	}
	EXPECT_LT(5, hits);
}

TEST_F_TIMEOUT(fail, delete, 280)
{
	int nth, ret, hits = 0;

	NEED_FAULTS();
	nth = fault_open();
	fault_sweep(nth, n, 500) {
		ASSERT_EQ(0, ue_put(UE_DYN, "u:f_del u32 a; char[4] b"));
		fault_arm(nth, n);
		ret = n % 2 ? ue_del(self->fd, "f_del") : ue_put(UE_DYN, "-:f_del u32 a; char[4] b");
		hits += fault_done(nth);
		/* C takes an event that it cannot compare with for another one. */
		ASSERT_TRUE(ret == 0 || ret == -ENOMEM || (ret == -ENOENT && !ue_is_rust())) {
			TH_LOG("n %d: %d", n, ret);
		}
		if (ret) {
			/* It still exists, and is as good as before. */
			ASSERT_STREQ("\tfield:u32 a;", strndupa(ue_format_fields("f_del"), 13));
			ASSERT_EQ(0, ue_enable("f_del", true));
			ASSERT_EQ(0, ue_enable("f_del", false));
			ASSERT_EQ(0, ue_del(self->fd, "f_del"));
		}
		ASSERT_FALSE(ue_exists("f_del"));
	}
	EXPECT_LT(0, hits);
}

/* Has the @n-th allocation of each worker of the kernel fail, or none. */
static void arm_workers(int n)
{
	DIR *tasks = opendir("/proc");
	struct dirent *task;
	char text[16];

	snprintf(text, sizeof(text), "%d", n);
	while (tasks && (task = readdir(tasks))) {
		if (!atoi(task->d_name) ||
		    strncmp(ue_slurp(ue_path("/proc/%s/comm", task->d_name)), "kworker/", 8))
			continue;
		ue_put(ue_path("/proc/%s/fail-nth", task->d_name), text);
	}
	if (tasks)
		closedir(tasks);
}

/* The number of lines of the kernel's log that have a text. */
static int logged(const char *what)
{
	static char log[1 << 20];
	int len = klogctl(3, log, sizeof(log) - 1);

	log[len > 0 ? len : 0] = '\0';
	return ue_count(log, what);
}

/*
 * The worker that removes an event after its last use has no memory for that. The event can be
 * deleted, and is removed later if no process deletes it.
 */
TEST_F_TIMEOUT(dev, delete_unused__no_memory_in_the_worker, 280)
{
	static const char what[] = "Unable to delete event";
	int failed = 0, deleted = 0, warnings, level;

	NEED_FAULTS();
	warnings = logged("WARNING: ");
	/* The message is expected, but on the console it would be a problem. */
	level = atoi(ue_slurp("/proc/sys/kernel/printk"));
	klogctl(8, NULL, 4);
	for (int round = 0; round < 400 && (failed < 6 || !deleted); round++) {
		int before = logged(what), own = ue_open();

		EXPECT_EQ(0, ue_reg(own, &self->w[0], 0, "f_worker u32 a"));
		EXPECT_EQ(0, ue_unreg(own, &self->w[0], 0));
		/* Until the file has the only use. */
		usleep(100000);
		arm_workers(1 + round % 4);
		close(own);
		ue_poll_ms(!ue_exists("f_worker") || logged(what) > before, 1000);
		arm_workers(0);
		if (logged(what) > before && failed++ % 2) {
			int ret = ue_del(self->fd, "f_worker");

			/* The kernel may have tried again. */
			EXPECT_TRUE(!ret || ret == -ENOENT) TH_LOG("%d", ret);
			deleted += !ret;
		}
		if (!ue_gone("f_worker")) {
			EXPECT_FALSE(ue_exists("f_worker"));
			break;
		}
	}
	klogctl(8, NULL, level);
	EXPECT_EQ(warnings, logged("WARNING: "));
	EXPECT_LT(0, deleted);
	TH_LOG("%d removals failed, %d of the events were deleted", failed, deleted);
}

TEST_F_TIMEOUT(fail, status, 60)
{
	int nth, fd, ret, hits = 0;
	char buf[256];

	NEED_FAULTS();
	ASSERT_EQ(0, ue_put(UE_DYN, "u:f_status u32 a"));
	nth = fault_open();
	fault_sweep(nth, n, 200) {
		fault_arm(nth, n);
		fd = open(UE_STATUS, O_RDONLY);
		ret = fd < 0 ? -errno : ue_err(read(fd, buf, sizeof(buf)));
		hits += fault_done(nth);
		ASSERT_TRUE(ret == (int)strlen("f_status\n\nActive: 1\nBusy: 0\n") || ret == -ENOMEM) {
			TH_LOG("n %d: %d", n, ret);
		}
		if (fd >= 0)
			close(fd);
	}
	EXPECT_LT(0, hits);
}

/* fork-enomem: a child has its bits, or the fork fails. */

TEST_F_TIMEOUT(dev, fork_enomem__bits_or_no_child, 280)
{
	int nth, status, hits = 0, refused = 0;
	pid_t pid;

	NEED_FAULTS();
	for (int i = 0; i < 8; i++) {
		ASSERT_EQ(0, ue_reg(self->fd, &self->w[i], 0, "f_fork u32 a"));
	}
	nth = fault_open();
	fault_sweep(nth, n, 2000) {
		ASSERT_EQ(0, ue_enable("f_fork", true));
		ASSERT_TRUE(ue_poll(self->w[7] == 1));
		fault_arm(nth, n);
		pid = fork();
		if (!pid) {
			/* The child can unregister exactly what the parent has. */
			int bad = 0;

			for (int i = 0; i < 8; i++)
				bad |= ue_unreg(self->fd, &self->w[i], 0) != 0 || self->w[i] != 0;
			_exit(bad);
		}
		hits += fault_done(nth);
		if (pid < 0) {
			refused++;
		} else {
			ASSERT_EQ(pid, waitpid(pid, &status, 0));
			ASSERT_EQ(0, status) TH_LOG("n %d: the child has lost a bit", n);
		}
		ASSERT_EQ(0, ue_enable("f_fork", false));
		ASSERT_TRUE(ue_poll(self->w[0] == 0 && self->w[7] == 0));
	}
	EXPECT_LT(5, hits);
	EXPECT_LT(0, refused);
}

/*
 * Unregistering does not fail for lack of memory, in a child that shares its bits either: a program
 * that was refused could not use the memory of the word for something else. If the page of the word
 * cannot be faulted in it is EFAULT, and the bit is removed.
 */

TEST_F_TIMEOUT(fail, unregister_in_a_child, 280)
{
	int status, gone = 0;
	pid_t pid;

	NEED_FAULTS();
	for (int i = 0; i < 8; i++) {
		ASSERT_EQ(0, ue_reg(self->fd, &self->w[i], 0, "f_unreg u32 a"));
	}
	ASSERT_EQ(0, ue_enable("f_unreg", true));
	for (int n = 1; n < 40; n++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			int nth = fault_open(), ret;

			/* Its page is present, or not. */
			if (n % 2)
				self->w[8] = 1;
			fault_arm(nth, (n + 1) / 2);
			ret = ue_unreg(self->fd, &self->w[3], 0);
			fault_hit(nth);
			if (ret && (ret != -EFAULT || n % 2))
				_exit(1);
			if (!ret && self->w[3] != 0)
				_exit(2);
			if (ue_unreg(self->fd, &self->w[3], 0) != -ENOENT)
				_exit(3);
			if (self->w[2] != 1 || ue_unreg(self->fd, &self->w[2], 0) || self->w[2] != 0)
				_exit(4);
			_exit(0);
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_TRUE(WIFEXITED(status)) TH_LOG("n %d: status %x", n, status);
		ASSERT_EQ(0, WEXITSTATUS(status)) TH_LOG("n %d", n);
		gone++;
		ASSERT_EQ(1, self->w[3]);
	}
	EXPECT_EQ(39, gone);
}

/* update-never-lost: without memory for what has to be done later as well. */

TEST_F_TIMEOUT(dev, update_never_lost__page_not_there, 120)
{
	volatile uint32_t *w = self->w + UE_PAGE / 4;
	int nth, enable, ret, hits = 0;

	NEED_FAULTS();
	ASSERT_EQ(0, fault_keep_cmdlines(self->fd, &self->w[8]));
	ASSERT_EQ(0, ue_reg(self->fd, w, 0, "f_lost u32 a"));
	enable = open(UE_EVENTS "/f_lost/enable", O_WRONLY);
	ASSERT_LE(0, enable);
	nth = fault_open();
	fault_sweep(nth, n, 200) {
		ASSERT_EQ(0, madvise((void *)w, UE_PAGE, MADV_DONTNEED));
		fault_arm(nth, n);
		ret = ue_err(pwrite(enable, "1", 1, 0));
		hits += fault_done(nth);
		ASSERT_TRUE(ret == 1 || ret == -ENOMEM);
		ASSERT_TRUE(ue_poll_ms(*w == (ret == 1), 3000)) TH_LOG("n %d: the change is lost", n);
		ASSERT_EQ(0, ue_enable("f_lost", false));
		ASSERT_TRUE(ue_poll_ms(*w == 0, 3000));
	}
	EXPECT_LT(0, hits);
	close(enable);
}

/* Writing needs no memory. */
TEST_F_TIMEOUT(fail, batch, 120)
{
	char buf[4096] = "";
	struct ue_batch b = { .buf = buf };
	int nth, index, hits = 0, rounds = 0;
	struct ue_perf perf;
	bool has_perf = ue_has_perf();
	long ret;

	NEED_FAULTS();
	if (ue_batch(self->fd, &b) == -ENOTTY)
		SKIP(return, "no batches in this kernel");
	index = ue_reg_index(self->fd, &self->w[0], 0, "f_batch u32 a");
	ASSERT_LE(0, index);
	ASSERT_EQ(0, ue_enable("f_batch", true));
	ASSERT_EQ(0, has_perf ? ue_perf_open(&perf, "f_batch") : 0);
	for (int i = 0; i < 100; i++)
		ue_batch_add_u32(&b, index, i);
	nth = fault_open();
	fault_sweep(nth, n, 500) {
		fault_arm(nth, n);
		ret = ue_batch(self->fd, &b);
		hits += fault_done(nth);
		ASSERT_EQ(100, ret) TH_LOG("n %d", n);
		rounds++;
	}
	EXPECT_EQ(0, hits);
	EXPECT_EQ(100 * rounds, ue_records("f_batch"));
	if (has_perf)
		ue_perf_close(&perf);
}

/* A record that perf has no memory for is an error, or it is counted as lost. */
TEST_F_TIMEOUT(fail, long_record, 120)
{
	static char rec[20004];
	char line[64];
	int nth, index, hits = 0, refused = 0, taken = 0;
	struct ue_perf perf;
	uint64_t head;
	long ret;

	NEED_FAULTS();
	if (!ue_has_perf())
		SKIP(return, "there is no perf");
	if (!ue_is_rust())
		SKIP(return, "it warns about a record of more than 8 KiB");
	index = ue_reg_index(self->fd, &self->w[0], 0, "f_long");
	ASSERT_LE(0, index);
	memcpy(rec, &index, sizeof(index));
	ASSERT_EQ(0, ue_perf_open(&perf, "f_long"));
	nth = fault_open();
	fault_sweep(nth, n, 500) {
		head = perf.page->data_head;
		fault_arm(nth, n);
		ret = ue_err(write(self->fd, rec, sizeof(rec)));
		hits += fault_done(nth);
		if (ret == 20004) {
			taken++;
			EXPECT_LT(head, perf.page->data_head);
		} else {
			ASSERT_EQ(-ENOMEM, ret) TH_LOG("n %d", n);
			refused++;
			EXPECT_EQ(head, perf.page->data_head);
		}
		perf.page->data_tail = perf.page->data_head;
	}
	EXPECT_LT(0, hits);
	EXPECT_LT(0, taken);
	snprintf(line, sizeof(line), "f_long\t%d\t%d\t0\t0\t0\t0\t0\t%d\t0\t0\t0\t0\n", taken, refused,
		 taken);
	EXPECT_EQ(1, ue_count(ue_slurp(UE_TRACEFS "/user_events_losses"), line)) TH_LOG("%s", line);

	/* Another listener takes it. */
	ASSERT_EQ(0, mkdir(UE_TRACEFS "/instances/f_long", 0755));
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/instances/f_long/buffer_subbuf_size_kb", "64"));
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/instances/f_long/events/user_events/f_long/enable", "1"));
	fault_sweep(nth, n, 500) {
		fault_arm(nth, n);
		ret = ue_err(write(self->fd, rec, sizeof(rec)));
		fault_done(nth);
		ASSERT_EQ(20004, ret) TH_LOG("n %d", n);
		perf.page->data_tail = perf.page->data_head;
	}
	ASSERT_EQ(0, rmdir(UE_TRACEFS "/instances/f_long"));
	ue_perf_close(&perf);
}

TEST_HARNESS_MAIN
