// SPDX-License-Identifier: GPL-2.0
/*
 * One case for each defect of user_events that was found and fixed upstream, to
 * detect regressions.
 *
 * The races run for a second or two here. UE_SECONDS increases that, for a
 * kernel with sanitizers, where a hit is sure to be seen.
 */
#define _GNU_SOURCE
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "kselftest_harness.h"
#include "ue.h"
#include "fault.h"

UE_FIXTURE(past)

static int storm_seconds(void)
{
	const char *s = getenv("UE_SECONDS");

	return s ? atoi(s) : 2;
}

/* Until @end, or a while longer for those that have not taken part on a slow machine. */
static bool go_on(uint64_t end, bool all_took_part)
{
	uint64_t now = ue_now();

	return now < end || (!all_took_part && now < end + 15 * 1000000000ull);
}

/* Unreclaimable slab memory, in KiB: memory that a leak increases. */
static long slab_kib(void)
{
	glob_t caches;
	char *line;

	/* Frees that wait for a grace period are not leaks. */
	syscall(__NR_membarrier, 1, 0, 0);
	usleep(50000);
	/* Nor is what KASAN keeps for a while, until the cache is shrunk. */
	if (!glob("/sys/kernel/slab/*/shrink", 0, NULL, &caches)) {
		for (size_t i = 0; i < caches.gl_pathc; i++)
			ue_put(caches.gl_pathv[i], "1");
		globfree(&caches);
	}
	line = strstr(ue_slurp("/proc/meminfo"), "SUnreclaim:");
	return line ? atol(line + strlen("SUnreclaim:")) : 0;
}

/* CVE-2023-54139: the index of a write was not checked for being negative. */
TEST_F(past, negative_write_index)
{
	EXPECT_EQ(0, ue_reg_index(self->fd, &self->w[0], 0, "first u32 a"));
	EXPECT_EQ(1, ue_reg_index(self->fd, &self->w[0], 1, "second u32 a"));
	EXPECT_EQ(0, ue_put(UE_EVENTS "/enable", "1"));
	EXPECT_EQ(-EINVAL, ue_write_u32(self->fd, -1, 1));
	EXPECT_EQ(-EINVAL, ue_write_u32(self->fd, INT_MIN, 1));
	EXPECT_EQ(-EINVAL, ue_write_u32(self->fd, -0x7fffffff, 1));
	EXPECT_EQ(-ENOENT, ue_write_u32(self->fd, 2, 1));
	EXPECT_EQ(-ENOENT, ue_write_u32(self->fd, 3, 1));
	EXPECT_EQ(-ENOENT, ue_write_u32(self->fd, INT_MAX, 1));
	EXPECT_EQ(8, ue_write_u32(self->fd, 1, 1));
}

struct storm {
	int fd;
	volatile uint32_t *w;
	const char *event;
	volatile bool stop;
	int rounds, bad;
};

static void *register_loop(void *arg)
{
	struct storm *s = arg;

	for (; !s->stop; s->rounds++) {
		if (ue_reg(s->fd, s->w, 0, s->event) || ue_unreg(s->fd, s->w, 0))
			s->bad++;
	}
	return NULL;
}

/* An enabler was freed while fork() walked over it. */
TEST_F(past, unregister_against_fork)
{
	struct storm s = { self->fd, self->w, "unregistered u32 a" };
	uint64_t end = ue_now() + storm_seconds() * 1000000000ull;
	int status, forks = 0;
	pthread_t t;
	pid_t pid;

	/* Others around it, so that a list has to be walked. */
	for (int i = 1; i < 32; i++)
		ASSERT_EQ(0, ue_reg(self->fd, self->w, i, "other u32 a"));
	ASSERT_EQ(0, pthread_create(&t, NULL, register_loop, &s));
	while (go_on(end, s.rounds > 1)) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			_exit(0);
		waitpid(pid, &status, 0);
		forks++;
	}
	s.stop = true;
	pthread_join(t, NULL);
	EXPECT_EQ(0, s.bad);
	EXPECT_LT(1, s.rounds);
	EXPECT_LT(1, forks);
}

/* The event was freed after the first fix of unregister_against_fork: its last user is a child. */
TEST_F(past, event_outlives_unregister)
{
	int status;
	pid_t pid;

	for (int i = 0; i < 20; i++) {
		ASSERT_EQ(0, ue_reg_flags(self->fd, &self->w[0], 0, USER_EVENT_REG_PERSIST, "persists u32 a"));
		pid = fork();
		if (!pid) {
			close(self->fd);
			_exit(0);
		}
		ASSERT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
		close(self->fd);
		self->fd = ue_open();
		waitpid(pid, &status, 0);
		/* It takes a while after the unregistration, but it ends. */
		ASSERT_EQ(0, ue_del_wait(self->fd, "persists"));
		ASSERT_FALSE(ue_exists("persists"));
	}
}

/* The child of a fork() that ran out of memory kept what is the parent's. */
TEST_F(past, failed_fork_leaves_the_parent_alone)
{
	int status, fd, failed = 0;
	pid_t pid;

	NEED_FAULTS();
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "inherited u32 a"));
	fd = fault_open();
	ASSERT_LE(0, fd);
	fault_sweep(fd, n, 2000) {
		fault_arm(fd, n);
		pid = fork();
		if (!pid)
			_exit(0);
		fault_done(fd);
		if (pid < 0)
			failed++;
		else
			waitpid(pid, &status, 0);
		/* Whatever became of the child. */
		ASSERT_EQ(0, ue_enable("inherited", n % 2));
		ASSERT_TRUE(ue_poll(self->w[0] == n % 2));
	}
	ASSERT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
	EXPECT_LT(0, failed);
	close(fd);
}

/* print_fmt leaked when the registration failed after its allocation. */
TEST_F(past, failed_registration_leaks_nothing)
{
	char desc[512];
	long before;

	snprintf(desc, sizeof(desc), "leaked u32 %0430d", 0);
	memset(strrchr(desc, ' ') + 1, 'f', 430);
	ASSERT_EQ(0, ue_put("/proc/sys/kernel/user_events_max", "0"));
	for (int i = 0; i < 200; i++) {
		ASSERT_EQ(-EMFILE, ue_reg(self->fd, &self->w[0], 0, desc));
	}
	before = slab_kib();
	for (int i = 0; i < 5000; i++) {
		ASSERT_EQ(-EMFILE, ue_reg(self->fd, &self->w[0], 0, desc));
	}
	/* 5 MB, if it did. */
	EXPECT_LT(slab_kib() - before, 2000);
	ASSERT_EQ(0, ue_put("/proc/sys/kernel/user_events_max", "32768"));
}

/* The size of a struct field was left out of the comparison. */
TEST_F(past, struct_size_is_compared)
{
	EXPECT_EQ(0, ue_reg_index(self->fd, &self->w[0], 0, "sized struct my a 20"));
	EXPECT_EQ(0, ue_reg_index(self->fd, &self->w[0], 1, "sized struct my a 20"));
	EXPECT_EQ(0, ue_reg_index(self->fd, &self->w[0], 2, "sized struct my a 20;"));
	EXPECT_EQ(-EADDRINUSE, ue_reg(self->fd, &self->w[0], 3, "sized struct my a 21"));
	EXPECT_EQ(-EADDRINUSE, ue_reg(self->fd, &self->w[0], 3, "sized struct my a 2"));
}

/* No blank after a semicolon was taken for another event. */
TEST_F(past, blank_after_semicolon)
{
	static const char * const same[] = {
		"blank u32 a;u32 b", "blank u32 a; u32 b", "blank u32 a;u32 b;", "blank u32 a; u32 b;",
	};

	for (int i = 0; i < 16; i++) {
		int first = i / 4, second = i % 4;

		ASSERT_EQ(0, ue_reg_index(self->fd, &self->w[0], 0, same[first]));
		EXPECT_EQ(0, ue_reg_index(self->fd, &self->w[0], 1, same[second]));
		EXPECT_STREQ("u:blank u32 a; u32 b\n", ue_slurp(UE_DYN));
		ASSERT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
		ASSERT_EQ(0, ue_unreg(self->fd, &self->w[0], 1));
		close(self->fd);
		self->fd = ue_open();
		ASSERT_TRUE(ue_gone("blank"));
	}
}

/* A write without a listener looked like a success. */
TEST_F(past, write_without_listener)
{
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "unheard u32 a"));
	EXPECT_EQ(-EBADF, ue_write_u32(self->fd, 0, 1));
	EXPECT_EQ(0, ue_enable("unheard", true));
	EXPECT_EQ(8, ue_write_u32(self->fd, 0, 1));
	EXPECT_EQ(0, ue_enable("unheard", false));
	EXPECT_EQ(-EBADF, ue_write_u32(self->fd, 0, 1));
	EXPECT_EQ(-EBADF, ue_writev(self->fd, 0, "abcd", 4));
	EXPECT_EQ(1, ue_records("unheard"));
}

/* An event without fields was recorded wrongly. */
TEST_F(past, event_without_fields)
{
	struct ue_perf perf;
	uint8_t raw[64];
	int len;

	if (!ue_has_perf())
		SKIP(return, "there is no perf");
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "no_fields"));
	ASSERT_EQ(0, ue_perf_open(&perf, "no_fields"));
	EXPECT_EQ(0, ue_enable("no_fields", true));
	EXPECT_EQ(4, ue_write(self->fd, 0, "", 0));
	EXPECT_EQ(4, ue_writev(self->fd, 0, "", 0));
	for (int i = 0; i < 2; i++) {
		len = ue_perf_next(&perf, raw, sizeof(raw));
		/* The 8 common bytes, and 4 that perf aligns with. */
		EXPECT_EQ(12, len);
		EXPECT_EQ(ue_event_id("no_fields"), *(uint16_t *)raw);
		EXPECT_EQ(getpid(), *(int *)(raw + 4));
	}
	EXPECT_EQ(-ENOENT, ue_perf_next(&perf, raw, sizeof(raw)));
	ue_perf_close(&perf);
	EXPECT_EQ(2, ue_count(ue_slurp(UE_TRACEFS "/trace"), "no_fields:No fields found"));
}

/* Another format under the same name was accepted. */
TEST_F(past, same_name_other_fields)
{
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "taken u32 a"));
	EXPECT_EQ(-EADDRINUSE, ue_reg(self->fd, &self->w[0], 1, "taken u64 a"));
	EXPECT_EQ(-EADDRINUSE, ue_reg(self->fd, &self->w[0], 1, "taken u32 b"));
	EXPECT_EQ(-EADDRINUSE, ue_reg(self->fd, &self->w[0], 1, "taken"));
	EXPECT_EQ(0, ue_reg_flags(self->fd, &self->w[0], 1, USER_EVENT_REG_MULTI_FORMAT, "taken u64 a"));
	EXPECT_EQ(0, ue_reg_flags(self->fd, &self->w[0], 2, USER_EVENT_REG_MULTI_FORMAT, "taken u32 a"));
	EXPECT_EQ(2, ue_count(ue_slurp(UE_STATUS), "taken."));
	EXPECT_STREQ("\tfield:u32 a;\toffset:8;\tsize:4;\tsigned:0;\n", ue_format_fields("taken"));
}

/* No fields matched any, through dynamic_events. */
TEST_F(past, no_fields_match_nothing)
{
	EXPECT_EQ(0, ue_put(UE_DYN, "u:fields u32 a"));
	EXPECT_EQ(-EADDRINUSE, ue_put(UE_DYN, "u:fields"));
	EXPECT_EQ(-EADDRINUSE, ue_put(UE_DYN, "u:fields "));
	EXPECT_EQ(-EADDRINUSE, ue_reg(self->fd, &self->w[0], 0, "fields"));
	EXPECT_EQ(0, ue_put(UE_DYN, "u:no_fields"));
	EXPECT_EQ(-EADDRINUSE, ue_put(UE_DYN, "u:no_fields u32 a"));
}

static void *dynamic_events_loop(void *arg)
{
	struct storm *s = arg;

	for (; !s->stop; s->rounds++) {
		ue_put(UE_DYN, "u:listed u32 a");
		ue_put(UE_DYN, "-:listed u32 a");
	}
	return NULL;
}

/* user_events_status as a whole, again and again: it ends with the numbers of all events. */
static void *status_loop(void *arg)
{
	struct storm *s = arg;
	char text[4096];

	for (; !s->stop; s->rounds++) {
		int fd = open(UE_STATUS, O_RDONLY | O_CLOEXEC), len = 0, n;

		while ((n = read(fd, text + len, sizeof(text) - 1 - len)) > 0)
			len += n;
		close(fd);
		text[len] = '\0';
		if (n < 0 || !strstr(text, "Active: "))
			s->bad++;
	}
	return NULL;
}

/* dynamic_events, the ioctls and user_events_status raced for the same lists. */
TEST_F(past, dynamic_events_against_ioctls)
{
	struct storm s = { self->fd, self->w, "listed u32 a" }, readers = { };
	uint64_t end = ue_now() + storm_seconds() * 1000000000ull;
	int rounds = 0, other;
	pthread_t t, reader;

	ASSERT_EQ(0, pthread_create(&t, NULL, dynamic_events_loop, &s));
	ASSERT_EQ(0, pthread_create(&reader, NULL, status_loop, &readers));
	while (go_on(end, s.rounds > 1 && readers.rounds > 1)) {
		other = ue_open();
		ASSERT_EQ(0, ue_reg(other, self->w, 0, "listed u32 a"));
		ASSERT_EQ(0, ue_unreg(other, self->w, 0));
		close(other);
		ue_del(self->fd, "listed");
		rounds++;
	}
	s.stop = true;
	readers.stop = true;
	pthread_join(t, NULL);
	pthread_join(reader, NULL);
	EXPECT_LT(1, s.rounds);
	EXPECT_LT(1, rounds);
	EXPECT_LT(1, readers.rounds);
	EXPECT_EQ(0, readers.bad);
	ue_put(UE_DYN, "u:listed u32 a");
	/* The lists are intact: one event exists, and it can be removed. */
	EXPECT_TRUE(ue_poll(ue_put(UE_DYN, "-:listed u32 a") == 0 || !ue_exists("listed")));
	EXPECT_TRUE(ue_gone("listed"));
	EXPECT_STREQ("", ue_slurp(UE_DYN));
}

/* Long field names were cut when they were compared. */
TEST_F(past, long_field_names)
{
	char desc[600];

	for (int len = 200; len <= 490; len += 29) {
		int fd = ue_open(), n;

		n = snprintf(desc, sizeof(desc), "long_field u32 ");
		memset(desc + n, 'f', len);
		desc[n + len] = '\0';
		ASSERT_EQ(0, ue_reg(fd, &self->w[0], 0, desc));
		/* Equal to the last character, or another event. */
		EXPECT_EQ(0, ue_reg(fd, &self->w[0], 1, desc));
		desc[n + len - 1] = 'g';
		EXPECT_EQ(-EADDRINUSE, ue_reg(fd, &self->w[0], 2, desc));
		desc[n + len - 1] = '\0';
		EXPECT_EQ(-EADDRINUSE, ue_reg(fd, &self->w[0], 2, desc));
		ASSERT_EQ(0, ue_unreg(fd, &self->w[0], 0));
		ASSERT_EQ(0, ue_unreg(fd, &self->w[0], 1));
		close(fd);
		ASSERT_TRUE(ue_gone("long_field"));
	}
}

/* Location words were not checked at all. */
TEST_F(past, location_words_are_checked)
{
	struct __attribute__((packed)) { uint32_t a, b; char data[24]; } rec;
	unsigned int seed = 14;
	int written = 0;

	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "located __data_loc char[] a; __rel_loc char[] b"));
	EXPECT_EQ(0, ue_enable("located", true));
	for (int i = 0; i < 2000; i++) {
		int off, size, end;
		bool ok;

		for (size_t k = 0; k < sizeof(rec.data); k++)
			rec.data[k] = rand_r(&seed) % 2 ? 'x' : '\0';
		/* Mostly near the edges; size 0 is a case of its own. */
		off = 8 + rand_r(&seed) % (i % 3 ? 40 : 0x8000);
		size = 1 + rand_r(&seed) % (i % 3 ? 40 : 0x7fff);
		rec.a = DYN_LOC(off, size);
		end = off + size;
		off = rand_r(&seed) % (i % 3 ? 30 : 0x8000);
		size = 1 + rand_r(&seed) % (i % 3 ? 30 : 0x7fff);
		rec.b = DYN_LOC(off, size);
		ok = end <= 8 + sizeof(rec) && !((char *)&rec)[end - 1 - 8];
		end = 8 + 8 + off + size;
		ok = ok && end <= 8 + sizeof(rec) && !((char *)&rec)[end - 1 - 8];
		ASSERT_EQ(ok ? 4 + sizeof(rec) : -EFAULT, ue_write(self->fd, 0, &rec, sizeof(rec))) {
			TH_LOG("a 0x%x b 0x%x", rec.a, rec.b);
		}
		written += ok;
	}
	EXPECT_LT(20, written);
	EXPECT_EQ(written, ue_records("located"));
}

/* The word at the upper half of a long was not the one that was written. */
TEST_F(past, words_in_one_long)
{
	volatile uint32_t *w = self->w;

	for (int bit = 0; bit < 32; bit += 31) {
		for (int half = 0; half < 2; half++) {
			w[1] = w[2] = 0;
			w[0] = w[3] = 0x12345678;
			ASSERT_EQ(0, ue_reg(self->fd, &w[half ? 5 : 4], bit, "halves u32 a"));
			w[4] = half ? 0x0f0f0f0e : 0;
			w[5] = half ? 0 : 0x0f0f0f0e;
			ASSERT_EQ(0, ue_enable("halves", true));
			EXPECT_EQ(half ? 0x0f0f0f0e : 1u << bit, w[4]);
			EXPECT_EQ(half ? 1u << bit : 0x0f0f0f0e, w[5]);
			ASSERT_EQ(0, ue_enable("halves", false));
			EXPECT_EQ(half ? 0x0f0f0f0e : 0, w[4]);
			EXPECT_EQ(half ? 0 : 0x0f0f0f0e, w[5]);
			EXPECT_EQ(0x12345678, w[0]);
			EXPECT_EQ(0x12345678, w[3]);
			ASSERT_EQ(0, ue_unreg(self->fd, &w[half ? 5 : 4], bit));
		}
	}
	/* The last word of a page: nothing beyond it is touched. */
	ASSERT_EQ(0, munmap((void *)(w + UE_PAGE / 2), UE_PAGE));
	EXPECT_EQ(0, ue_reg(self->fd, &w[UE_PAGE / 2 - 1], 31, "halves u32 a"));
	EXPECT_EQ(0, ue_enable("halves", true));
	EXPECT_EQ(1u << 31, w[UE_PAGE / 2 - 1]);
	EXPECT_EQ(0, w[2046]);
}

/* The bit stayed set when it was unregistered. */
TEST_F(past, unregistering_clears_the_bit)
{
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 4, "cleared u32 a"));
	EXPECT_EQ(0, ue_reg_full(self->fd, &self->w[2], 63, 8, 0, "cleared u32 a", NULL));
	EXPECT_EQ(0, ue_enable("cleared", true));
	self->w[0] |= 1;
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[0], 4));
	EXPECT_EQ(1, self->w[0]);
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[2], 63));
	EXPECT_EQ(0, *(volatile uint64_t *)&self->w[2]);
	/* And stays that way. */
	EXPECT_EQ(0, ue_enable("cleared", false));
	EXPECT_EQ(0, ue_enable("cleared", true));
	EXPECT_EQ(1, self->w[0]);
	EXPECT_EQ(0, self->w[2]);
}

/* Two events were given the same bit. */
TEST_F(past, one_bit_one_event)
{
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "first u32 a"));
	EXPECT_EQ(-EADDRINUSE, ue_reg(self->fd, &self->w[0], 0, "second u32 a"));
	EXPECT_EQ(0, ue_enable("first", true));
	EXPECT_EQ(1, self->w[0]);
	EXPECT_FALSE(ue_exists("second"));
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "second u32 a"));
	EXPECT_EQ(0, self->w[0]);
}

static void *unmap_loop(void *arg)
{
	struct storm *s = arg;

	for (; !s->stop; s->rounds++) {
		munmap((void *)s->w, UE_PAGE);
		mmap((void *)s->w, UE_PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	}
	return NULL;
}

/* The words of a page that may be unmapped: it is in order that they cannot be written. */
static void *register_on_page_loop(void *arg)
{
	struct storm *s = arg;
	int ret;

	for (; !s->stop; s->rounds++) {
		ret = ue_reg(s->fd, s->w + 1 + s->rounds % 8, 1, s->event);
		if (ret && ret != -EFAULT && ret != -ENOMEM && ret != -EADDRINUSE)
			s->bad++;
		ret = ue_unreg(s->fd, s->w + 1 + s->rounds % 8, 1);
		if (ret && ret != -EFAULT && ret != -ENOENT)
			s->bad++;
	}
	return NULL;
}

/* Processor time of all kworkers, in ticks. */
static long kworker_ticks(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;
	long sum = 0, user, sys;

	while (proc && (d = readdir(proc))) {
		char *text;

		if (*d->d_name < '0' || *d->d_name > '9')
			continue;
		text = ue_slurp(ue_path("/proc/%s/stat", d->d_name));
		if (!strstr(text, "(kworker"))
			continue;
		if (sscanf(strrchr(text, ')') + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld",
			   &user, &sys) == 2)
			sum += user + sys;
	}
	if (proc)
		closedir(proc);
	return sum;
}

/*
 * A page that is unmapped again and again kept a worker busy for ever. The same
 * worker frees what is unregistered in between, while others look for it.
 */
TEST_F(past, page_that_keeps_going_away)
{
	struct storm s = { self->fd, self->w + UE_PAGE / 4 };
	struct storm users = { self->fd, self->w + UE_PAGE / 4, "unmapped u32 a" };
	uint64_t end = ue_now() + storm_seconds() * 1000000000ull;
	long ticks, hz = sysconf(_SC_CLK_TCK);
	pthread_t t, user;
	int toggles = 0;

	ASSERT_EQ(0, ue_reg(self->fd, s.w, 0, "unmapped u32 a"));
	ASSERT_EQ(0, pthread_create(&t, NULL, unmap_loop, &s));
	ASSERT_EQ(0, pthread_create(&user, NULL, register_on_page_loop, &users));
	while (go_on(end, s.rounds > 1 && users.rounds > 1)) {
		ASSERT_EQ(0, ue_enable("unmapped", ++toggles % 2));
	}
	s.stop = true;
	users.stop = true;
	pthread_join(t, NULL);
	pthread_join(user, NULL);
	EXPECT_LT(1, s.rounds);
	EXPECT_LT(1, users.rounds);
	EXPECT_EQ(0, users.bad);
	EXPECT_LT(1, toggles);

	/* Unmapped permanently: it is tried and given up. */
	ASSERT_EQ(0, munmap((void *)s.w, UE_PAGE));
	for (int i = 0; i < 10; i++) {
		ASSERT_EQ(0, ue_enable("unmapped", i % 2 == 0));
	}
	usleep(200000);
	ticks = kworker_ticks();
	sleep(1);
	EXPECT_LT(kworker_ticks() - ticks, hz / 2);
	EXPECT_EQ(-EFAULT, ue_unreg(self->fd, s.w, 0));
	EXPECT_EQ(-ENOENT, ue_unreg(self->fd, s.w, 0));
}

static void *toggle_loop(void *arg)
{
	struct storm *s = arg;

	for (; !s->stop; s->rounds++) {
		if (ue_enable(s->event, s->rounds % 2 == 0))
			s->bad++;
	}
	return NULL;
}

/* The child's list was in use before it was complete. */
TEST_F(past, fork_against_toggling)
{
	struct storm s = { self->fd, self->w, "toggled" };
	uint64_t end = ue_now() + storm_seconds() * 1000000000ull;
	int status, forks = 0;
	pthread_t t;

	for (int i = 0; i < 64; i++) {
		ASSERT_EQ(0, ue_reg(self->fd, &self->w[i], 0, "toggled u32 a"));
	}
	ASSERT_EQ(0, pthread_create(&t, NULL, toggle_loop, &s));
	while (go_on(end, s.rounds > 1)) {
		pid_t pid = fork();

		ASSERT_LE(0, pid);
		if (!pid)
			_exit(fork() < 0);
		waitpid(pid, &status, 0);
		ASSERT_EQ(0, status);
		forks++;
	}
	s.stop = true;
	pthread_join(t, NULL);
	EXPECT_EQ(0, s.bad);
	EXPECT_LT(1, forks);
	EXPECT_LT(1, s.rounds);
}

/* The fields of an event were freed the wrong way. */
TEST_F(past, create_and_delete)
{
	const char *event = "u:created u32 a; char[20] b; __data_loc char[] c; struct x d 8; u64 e";
	long before = 0;

	for (int i = 0; i < 1500; i++) {
		ASSERT_EQ(0, ue_put(UE_DYN, event));
		/* Both ways out. */
		if (i % 2) {
			ASSERT_EQ(0, ue_del(self->fd, "created"));
		} else {
			ASSERT_EQ(0, ue_put(UE_DYN, "-:created u32 a; char[20] b; __data_loc char[] c; struct x d 8; u64 e"));
		}
		if (i == 500)
			before = slab_kib();
	}
	/* Half a MiB in 1,000 rounds would be half of an event in each. */
	before = slab_kib() - before;
	EXPECT_LT(before, 500) {
		TH_LOG("%ld KiB more after 1,000 rounds", before);
	}
}

/* CVE-2026-46196: enabling that ran out of memory left half of it done. */
TEST_F(past, failed_enabling_is_undone)
{
	int fd, enable, ret, hits = 0;

	NEED_FAULTS();
	ASSERT_EQ(0, fault_keep_cmdlines(self->fd, &self->w[8]));
	ASSERT_EQ(1, ue_reg_index(self->fd, &self->w[0], 0, "failed u32 a"));
	fd = fault_open();
	enable = open(UE_EVENTS "/failed/enable", O_WRONLY);
	ASSERT_LE(0, enable);
	/* Tracing warns when it could not start to record names and stops it. */
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/options/record-cmd", "0"));
	fault_sweep(fd, n, 1000) {
		fault_arm(fd, n);
		ret = ue_err(pwrite(enable, "1", 1, 0));
		hits += fault_done(fd);
		/* On or off, and all agree on it. */
		if (ret == 1) {
			ASSERT_TRUE(ue_poll(self->w[0] == 1));
			ASSERT_STREQ("failed # Used by ftrace", ue_status("failed"));
			ASSERT_EQ(8, ue_write_u32(self->fd, 1, n));
		} else {
			ASSERT_EQ(-ENOMEM, ret);
			ASSERT_EQ(0, self->w[0]);
			ASSERT_STREQ("failed", ue_status("failed"));
			ASSERT_EQ(-EBADF, ue_write_u32(self->fd, 1, n));
		}
		ASSERT_EQ(0, ue_enable("failed", false));
		ASSERT_EQ(0, self->w[0]);
	}
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/options/record-cmd", "1"));
	EXPECT_LT(0, hits);
	/* No reference is left: it is removed with its users. */
	ASSERT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
	close(self->fd);
	self->fd = ue_open();
	EXPECT_TRUE(ue_gone("failed"));
	close(enable);
}

TEST_HARNESS_MAIN
