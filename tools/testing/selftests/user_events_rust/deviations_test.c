// SPDX-License-Identifier: GPL-2.0
/*
 * Differences of the Rust implementation from the C one, where that one is
 * defective. The first part of each name, up to the double underscore, is the
 * row of Documentation/trace/rust/deviations.rst (with - for _) that it shows.
 *
 * All of these fail on the C implementation.
 */
#define _GNU_SOURCE
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "kselftest_harness.h"
#include "ue.h"

UE_FIXTURE(dev)

/* Runs a function in a thread of its own and returns what it returned. */
struct call {
	long (*fn)(int fd, volatile uint32_t *w, const char *event);
	int fd;
	volatile uint32_t *w;
	const char *event;
	long ret;
};

static void *call_thread(void *arg)
{
	struct call *c = arg;

	c->ret = c->fn(c->fd, c->w, c->event);
	return NULL;
}

static long in_thread(long (*fn)(int, volatile uint32_t *, const char *), int fd,
		      volatile uint32_t *w, const char *event)
{
	struct call c = { fn, fd, w, event, -1 };
	pthread_t t;

	if (pthread_create(&t, NULL, call_thread, &c))
		return -EAGAIN;
	pthread_join(t, NULL);
	return c.ret;
}

static long do_register(int fd, volatile uint32_t *w, const char *event)
{
	return ue_reg(fd, w, 0, event);
}

static long do_unregister(int fd, volatile uint32_t *w, const char *event)
{
	return ue_unreg(fd, w, 0);
}

/* mm-wide-enable: enable words belong to the process, not to a thread of it. */

TEST_F(dev, mm_wide_enable__registering_thread_exits)
{
	EXPECT_EQ(0, in_thread(do_register, self->fd, self->w, "mwe1 u32 a"));
	EXPECT_EQ(0, ue_enable("mwe1", true));
	EXPECT_EQ(1, self->w[0]);
	EXPECT_EQ(0, ue_enable("mwe1", false));
	EXPECT_EQ(0, self->w[0]);
}

TEST_F(dev, mm_wide_enable__unregister_from_another_thread)
{
	EXPECT_EQ(0, in_thread(do_register, self->fd, &self->w[0], "mwe2 u32 a"));
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
	EXPECT_EQ(-ENOENT, ue_unreg(self->fd, &self->w[0], 0));
}

/* A thread that exists before the process registers anything. */
static volatile int early_step;
static volatile long early_ret;

static void *early_thread(void *arg)
{
	struct call *c = arg;

	while (!early_step)
		usleep(100);
	early_ret = c->fn(c->fd, c->w, c->event);
	early_step = 2;
	while (early_step == 2)
		usleep(100);
	return NULL;
}

static long early_call(struct call *c, int (*first)(struct call *c))
{
	pthread_t t;
	int ret;

	early_step = 0;
	if (pthread_create(&t, NULL, early_thread, c))
		return -EAGAIN;
	ret = first(c);
	early_step = 1;
	while (early_step == 1)
		usleep(100);
	early_step = 3;
	pthread_join(t, NULL);
	return ret ? -1000 : early_ret;
}

static int first_register(struct call *c)
{
	return ue_reg(c->fd, c->w, 0, c->event);
}

TEST_F(dev, mm_wide_enable__duplicate_from_another_thread)
{
	struct call c = { do_register, self->fd, self->w, "mwe3 u32 a", 0 };

	EXPECT_EQ(-EADDRINUSE, early_call(&c, first_register));
}

TEST_F(dev, mm_wide_enable__unregister_from_an_older_thread)
{
	struct call c = { do_unregister, self->fd, self->w, "mwe4 u32 a", 0 };

	EXPECT_EQ(0, ue_put(UE_DYN, "u:mwe4 u32 a"));
	EXPECT_EQ(0, ue_enable("mwe4", true));
	EXPECT_EQ(0, early_call(&c, first_register));
	EXPECT_EQ(0, self->w[0]);
	EXPECT_EQ(-ENOENT, ue_unreg(self->fd, self->w, 0));
}

static long do_fork(int fd, volatile uint32_t *w, const char *event)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		/* Bit by bit: it exists, and it follows. */
		int bad = !ue_poll(w[0] == 1);

		bad |= (ue_enable("mwe5", false) != 0) << 1;
		bad |= !ue_poll_ms(w[0] == 0, 3000) << 2;
		bad |= (ue_unreg(fd, w, 0) != 0) << 3;
		_exit(bad);
	}
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

TEST_F(dev, mm_wide_enable__fork_from_another_thread)
{
	struct call c = { do_fork, self->fd, self->w, "mwe5 u32 a", 0 };

	EXPECT_EQ(0, ue_put(UE_DYN, "u:mwe5 u32 a"));
	EXPECT_EQ(0, ue_enable("mwe5", true));
	EXPECT_EQ(0, early_call(&c, first_register));
}

/* fork-in-sync: a change while a fork is under way reaches the child. */

struct toggler {
	volatile int go, done;
	volatile unsigned int delay;
};

static void *toggle_once(void *arg)
{
	struct toggler *t = arg;
	int on = 0;

	for (;;) {
		uint64_t end;

		while (!t->go)
			sched_yield();
		if (t->go < 0)
			return NULL;
		end = ue_now() + t->delay * 1000ull;
		while (ue_now() < end)
			;
		on = !on;
		ue_enable("fis", on);
		t->go = 0;
		t->done = 1 + on;
	}
}

TEST_F_TIMEOUT(dev, fork_in_sync__toggle_during_fork, 120)
{
	struct toggler tog = {};
	int status, stale = 0, forks = 0;
	uint64_t start, took;
	pthread_t t;
	pid_t pid;

	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "fis u32 a"));
	ASSERT_EQ(0, pthread_create(&t, NULL, toggle_once, &tog));
	/* A network namespace of its own prolongs the fork. */
	start = ue_now();
	pid = syscall(__NR_clone, CLONE_NEWNET | SIGCHLD, 0, 0, 0, 0);
	if (!pid)
		_exit(0);
	took = (ue_now() - start) / 1000;
	ASSERT_LT(0, pid);
	waitpid(pid, &status, 0);
	/* One is enough; and without one it takes a while to be sure. */
	for (int i = 0; i < 200 && !stale && ue_now() - start < 60000000000ull; i++) {
		int pipes[2];
		char c = 0;

		ASSERT_EQ(0, pipe(pipes));
		tog.done = 0;
		tog.delay = took * (i % 20) / 20;
		tog.go = 1;
		pid = syscall(__NR_clone, CLONE_NEWNET | SIGCHLD, 0, 0, 0, 0);
		if (!pid) {
			/* The change is complete: what does this process see? */
			if (read(pipes[0], &c, 1) != 1)
				_exit(2);
			_exit(!ue_poll_ms(self->w[0] == (uint32_t)(c - 'a'), 1000));
		}
		ASSERT_LT(0, pid);
		while (!tog.done)
			sched_yield();
		c = 'a' + tog.done - 1;
		ASSERT_EQ(1, write(pipes[1], &c, 1));
		waitpid(pid, &status, 0);
		ASSERT_NE(2, WEXITSTATUS(status));
		stale += WEXITSTATUS(status);
		forks++;
		EXPECT_TRUE(ue_poll(self->w[0] == (uint32_t)(c - 'a')));
		close(pipes[0]);
		close(pipes[1]);
	}
	tog.go = -1;
	pthread_join(t, NULL);
	EXPECT_EQ(0, stale) {
		TH_LOG("%d of %d children have a stale bit", stale, forks);
	}
}

/* name-charset: an event name is a file name, and one line of a list of events. */

TEST_F(dev, name_charset__rejected)
{
	static const char * const bad[] = {
		" u32 a", "", " ", "nc/a u32 a", "/ u32 a", "nc\ta u32 a", "nc\na u32 a",
		"nc\001 u32 a", "nc\177 u32 a",
		/* Other than UTF-8, and control characters and blanks of Unicode. */
		"nc\351 u32 a", "\303 u32 a", "nc\355\240\200 u32 a", "nc\302\205 u32 a",
		"nc\302\240a u32 a", "nc\342\200\250a u32 a",
	};
	/* With a number at the end these hide nothing. */
	static const char * const taken[] = {
		". u32 a", ".. u32 a", "enable u32 a", "filter u32 a",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EINVAL, ue_reg(self->fd, &self->w[0], 0, bad[i])) TH_LOG("[%s]", bad[i]);
		ue_unreg(self->fd, &self->w[0], 0);
		EXPECT_EQ(-EINVAL, ue_reg_flags(self->fd, &self->w[0], 0,
						USER_EVENT_REG_MULTI_FORMAT, bad[i])) {
			TH_LOG("multi [%s]", bad[i]);
		}
		ue_unreg(self->fd, &self->w[0], 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++) {
		EXPECT_EQ(-EINVAL, ue_reg(self->fd, &self->w[0], 0, taken[i])) TH_LOG("[%s]", taken[i]);
		ue_unreg(self->fd, &self->w[0], 0);
		EXPECT_EQ(0, ue_reg_flags(self->fd, &self->w[0], 0,
					  USER_EVENT_REG_MULTI_FORMAT, taken[i])) {
			TH_LOG("multi [%s]", taken[i]);
		}
		EXPECT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
	}
	EXPECT_EQ(-EINVAL, ue_put(UE_DYN, "u:nc/d u32 a"));
	EXPECT_EQ(-EINVAL, ue_put(UE_DYN, "u:"));
	EXPECT_EQ(-EINVAL, ue_put(UE_DYN, "u:enable u32 a"));
}

TEST_F(dev, name_charset__length)
{
	char desc[512];
	DIR *dir;
	int n = 0;

	/* 255 bytes are what a directory entry holds. */
	memset(desc, 'n', sizeof(desc));
	strcpy(desc + 256, " u32 a");
	EXPECT_EQ(-EINVAL, ue_reg(self->fd, &self->w[0], 0, desc));
	ue_unreg(self->fd, &self->w[0], 0);
	strcpy(desc + 255, " u32 a");
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 1, desc));
	desc[255] = '\0';
	EXPECT_TRUE(ue_exists(desc));
	/* The number of a format has to fit as well. */
	desc[255] = ' ';
	EXPECT_EQ(-EINVAL, ue_reg_flags(self->fd, &self->w[0], 2, USER_EVENT_REG_MULTI_FORMAT, desc));
	ue_unreg(self->fd, &self->w[0], 2);
	strcpy(desc + 230, " u32 a");
	EXPECT_EQ(0, ue_reg_flags(self->fd, &self->w[0], 3, USER_EVENT_REG_MULTI_FORMAT, desc));

	/* Whatever the names are, the directory can be read. */
	dir = opendir(UE_EVENTS);
	ASSERT_NE(NULL, dir);
	errno = 0;
	while (readdir(dir))
		n++;
	EXPECT_EQ(0, errno);
	EXPECT_LE(5, n);
	closedir(dir);
}

/* field-charset: a field has a name that format, filters and triggers can hold. */

TEST_F(dev, field_charset__rejected)
{
	static const char * const bad[] = {
		"u32 ", "u32 a%d", "u32 a\"", "u32 a'", "u32 a\\", "u32 a\tb", "u32 a\n;u8 b",
		"u32 a,b", "u32 a(b)", "u32 a[2]", "u32 a]", "u32 a\001", "u32 \351",
		"u32 a\302\240", "struct \351 a 4", "u32 common_pid", "u8 common_type", "u32 a; u64 a", "u32 a; u32 b; char a",
	};
	static const char * const good[] = {
		"char *p", "u32 a+b", "u32 a.b; u32 a_b", "u32 1st", "u32 common",
	};
	char desc[256];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(desc, sizeof(desc), "fn%zu %s", i, bad[i]);
		EXPECT_EQ(-EINVAL, ue_reg(self->fd, &self->w[0], 0, desc)) TH_LOG("[%s]", bad[i]);
		ue_unreg(self->fd, &self->w[0], 0);
	}
	EXPECT_EQ(-EINVAL, ue_put(UE_DYN, "u:fn_d u32 a,b"));
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		snprintf(desc, sizeof(desc), "fn_good%zu %s", i, good[i]);
		EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], i, desc)) TH_LOG("[%s]", good[i]);
	}
}

/* type-words: no word of a type may be missing. */

TEST_F(dev, type_words__rejected)
{
	static const char * const bad[] = {
		"struct  a 4", "__data_loc  a", "__rel_loc  a", "__data_loc unsigned  a",
	};
	char desc[64];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(desc, sizeof(desc), "tw%zu %s", i, bad[i]);
		EXPECT_EQ(-EINVAL, ue_reg(self->fd, &self->w[0], 0, desc)) TH_LOG("[%s]", bad[i]);
		ue_unreg(self->fd, &self->w[0], 0);
	}
}

/* size-newline: a newline is no part of a number or of a name; at the end it does not matter. */

TEST_F(dev, size_newline__no_part)
{
	EXPECT_EQ(-EINVAL, ue_reg(self->fd, &self->w[0], 0, "sn1 struct s a 4\n; u32 b"));
	ue_unreg(self->fd, &self->w[0], 0);
	EXPECT_EQ(-EINVAL, ue_reg(self->fd, &self->w[0], 0, "sn1 u32 a\n; u32 b"));
	ue_unreg(self->fd, &self->w[0], 0);
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 1, "sn2 struct s a 4\n"));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 2, "sn2 struct s a 4"));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 3, "sn3 u32 a\n"));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 4, "sn3 u32 a\n\n"));
	EXPECT_STREQ("\tfield:u32 a;\toffset:8;\tsize:4;\tsigned:0;\n", ue_format_fields("sn3"));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 5, "sn4\n"));
	EXPECT_TRUE(ue_exists("sn4"));
}

/* same-text: a description means the event that was created from it. */

TEST_F(dev, same_text__registered_twice)
{
	static const char * const text[] = {
		"st1 ;", "st2 ;;", "st3 u32 a;;u32 b", "st4 ;u32 a", "st5 struct s a 007", "st6 struct s a +7",
	};

	for (size_t i = 0; i < ARRAY_SIZE(text); i++) {
		EXPECT_EQ((int)i, ue_reg_index(self->fd, &self->w[0], 2 * i, text[i])) TH_LOG("[%s]", text[i]);
		EXPECT_EQ((int)i, ue_reg_index(self->fd, &self->w[0], 2 * i + 1, text[i])) TH_LOG("[%s]", text[i]);
	}
	EXPECT_EQ(-EADDRINUSE, ue_reg(self->fd, &self->w[0], 31, "st5 struct s a 8"));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 31, "st5 struct s a 7"));
}

/* ascii-blanks: byte 0xa0 is no white space. */

TEST_F(dev, ascii_blanks__no_match)
{
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "ab u32 a"));
	EXPECT_EQ(-EADDRINUSE, ue_reg(self->fd, &self->w[0], 1, "ab u32\xa0" "a"));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 2, "ab u32\ta"));
	/* Nor is it one after the u: of dynamic_events, as the others are. */
	EXPECT_EQ(-EINVAL, ue_put(UE_DYN, "u:\xa0" "ab2 u32 a"));
	EXPECT_EQ(0, ue_put(UE_DYN, "u: \t\v\fab2 u32 a"));
	EXPECT_TRUE(ue_exists("ab2"));
}

/* array-suffix: nothing follows the ] of an array. */

TEST_F(dev, array_suffix__rejected)
{
	EXPECT_EQ(-EINVAL, ue_reg(self->fd, &self->w[0], 0, "as1 char[5]zzz a"));
	EXPECT_EQ(-EINVAL, ue_reg(self->fd, &self->w[0], 1, "as2 unsigned char[5]] a"));
	EXPECT_EQ(-EINVAL, ue_reg(self->fd, &self->w[0], 2, "as3 char[5][2] a"));
}

/* array-length: the length of an array is what the format file shows. */

TEST_F(dev, array_length__shown)
{
	for (int i = 0; i < 20; i++) {
		ASSERT_EQ(0, ue_put(UE_DYN, "u:al char[20] a; unsigned char[0x10] b; u8 c"));
		EXPECT_STREQ("\tfield:char a[20];\toffset:8;\tsize:20;\tsigned:1;\n"
			     "\tfield:unsigned char b[16];\toffset:28;\tsize:16;\tsigned:0;\n"
			     "\tfield:u8 c;\toffset:44;\tsize:1;\tsigned:0;\n", ue_format_fields("al"));
		ASSERT_EQ(0, ue_del(self->fd, "al"));
		ASSERT_EQ(0, ue_put(UE_DYN, "u:al __rel_loc char[] g; __rel_loc u32[] h"));
		EXPECT_STREQ("\tfield:__rel_loc char g[];\toffset:8;\tsize:4;\tsigned:1;\n"
			     "\tfield:__rel_loc u32 h[];\toffset:12;\tsize:4;\tsigned:1;\n", ue_format_fields("al"));
		ASSERT_EQ(0, ue_del(self->fd, "al"));
	}
}

/* payload-bound: sizes are bounded, and never taken for an errno. */

TEST_F(dev, payload_bound__rejected)
{
	static const char * const bad[] = {
		"struct x f 70000", "struct x f 2147483647", "struct x f 2147483648",
		"struct x f 4294967295", "struct x f 4294967274", "struct x f 4294967284",
		"struct x f 40000; struct x g 40000",
		"struct a a 2147483647; __data_loc char[] c; struct b b 2147483647",
		"struct a a 2147483647; struct b b 2147483647; u32 c",
	};
	char desc[256];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(desc, sizeof(desc), "pb%zu %s", i, bad[i]);
		EXPECT_EQ(-EINVAL, ue_reg(self->fd, &self->w[0], 0, desc)) TH_LOG("[%s]", bad[i]);
		ue_unreg(self->fd, &self->w[0], 0);
	}
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 1, "pb_ok struct x f 60000"));
}

/* enable-fault: a word that cannot be written is EFAULT, and leaves nothing. */

TEST_F(dev, enable_fault__read_only_word)
{
	volatile uint32_t *ro = self->w + UE_PAGE / 4;

	ASSERT_EQ(0, mprotect((void *)ro, UE_PAGE, PROT_READ));
	EXPECT_EQ(-EFAULT, ue_reg(self->fd, ro, 0, "ef1 u32 a"));
	EXPECT_TRUE(ue_gone("ef1"));
	EXPECT_EQ(-ENOENT, ue_unreg(self->fd, ro, 0));
	/* The index is free. */
	EXPECT_EQ(0, ue_reg_index(self->fd, &self->w[0], 0, "ef1_next u32 a"));
	/* An older event stays. */
	EXPECT_EQ(-EFAULT, ue_reg(self->fd, ro, 0, "ef1_next u32 a"));
	EXPECT_TRUE(ue_exists("ef1_next"));
	EXPECT_EQ(0, ue_enable("ef1_next", true));
	EXPECT_EQ(1, self->w[0]);
}

TEST_F(dev, enable_fault__no_mapping)
{
	volatile uint32_t *none = self->w + UE_PAGE / 4;

	ASSERT_EQ(0, munmap((void *)none, UE_PAGE));
	EXPECT_EQ(-EFAULT, ue_reg(self->fd, none, 0, "ef2 u32 a"));
	EXPECT_EQ(-EFAULT, ue_reg_flags(self->fd, none, 0, USER_EVENT_REG_PERSIST, "ef2p u32 a"));
	EXPECT_TRUE(ue_gone("ef2"));
	EXPECT_TRUE(ue_gone("ef2p"));
	/* Address 0 is one of them. */
	EXPECT_EQ(-EFAULT, ue_reg(self->fd, NULL, 0, "ef2 u32 a"));
}

/* write-index-fault: a caller that cannot get the index has registered nothing. */

TEST_F(dev, write_index_fault__nothing_registered)
{
	char *page = mmap(NULL, 2 * UE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct user_reg *reg = (void *)(page + UE_PAGE - offsetof(struct user_reg, write_index));

	ASSERT_NE(MAP_FAILED, (void *)page);
	*reg = (struct user_reg) {
		.size = sizeof(*reg), .enable_bit = 0, .enable_size = 4,
		.enable_addr = (uintptr_t)self->w, .name_args = (uintptr_t)"wif u32 a",
	};
	ASSERT_EQ(0, mprotect(page + UE_PAGE, UE_PAGE, PROT_READ));
	EXPECT_EQ(-EFAULT, ue_err(ioctl(self->fd, DIAG_IOCSREG, reg)));
	EXPECT_TRUE(ue_gone("wif"));
	EXPECT_EQ(-ENOENT, ue_unreg(self->fd, &self->w[0], 0));
	EXPECT_EQ(-ENOENT, ue_write_u32(self->fd, 0, 1));
	EXPECT_EQ(0, ue_reg_index(self->fd, &self->w[0], 0, "wif_next u32 a"));

	/* The same for an existing event that has a listener. */
	EXPECT_EQ(0, ue_enable("wif_next", true));
	EXPECT_EQ(1, self->w[0]);
	reg->enable_bit = 1;
	reg->name_args = (uintptr_t)"wif_next u32 a";
	EXPECT_EQ(-EFAULT, ue_err(ioctl(self->fd, DIAG_IOCSREG, reg)));
	EXPECT_EQ(1, self->w[0]);
	EXPECT_EQ(-ENOENT, ue_unreg(self->fd, &self->w[0], 1));
}

/* unregister-errors: the reserved fields are looked at when all has been read. */

TEST_F(dev, unregister_errors__too_long_or_unreadable)
{
	struct {
		struct user_unreg unreg;
		uint8_t tail[8];
	} arg = { .unreg = { .disable_bit = 3, .disable_addr = (uintptr_t)self->w } };
	char *page = (char *)self->w + UE_PAGE;
	struct user_unreg *cut = (void *)(page + UE_PAGE - 8);

	ASSERT_EQ(16, sizeof(struct user_unreg));
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 3, "ure u32 a"));
	/* The end of the structure is in a page that is not present. */
	ASSERT_EQ(0, munmap(page + UE_PAGE, UE_PAGE));
	for (int reserved = 0; reserved < 2; reserved++) {
		arg.unreg.__reserved = reserved;
		arg.unreg.__reserved2 = reserved;
		for (int at = 0; at < 8; at++) {
			arg.unreg.size = sizeof(arg);
			memset(arg.tail, 0, sizeof(arg.tail));
			arg.tail[at] = 1;
			EXPECT_EQ(-E2BIG, ue_err(ioctl(self->fd, DIAG_IOCSUNREG, &arg)));
		}
		arg.unreg.size = sizeof(arg.unreg);
		memcpy(cut, &arg.unreg, 8);
		EXPECT_EQ(-EFAULT, ue_err(ioctl(self->fd, DIAG_IOCSUNREG, cut)));
		/* Only the longer part of it. */
		arg.unreg.size = sizeof(arg);
		memcpy(page + UE_PAGE - 16, &arg.unreg, 16);
		EXPECT_EQ(-EFAULT, ue_err(ioctl(self->fd, DIAG_IOCSUNREG, page + UE_PAGE - 16)));
	}
	/* None of these was taken for it. */
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[0], 3));
}

/* oversize-record: what no listener can take is not reported as written. */

TEST_F(dev, oversize_record__ftrace)
{
	static const int far[] = { 100, 2000, 3500, 4000, 5000, 8192, 20000, 65536, 200000 };
	/* And all sizes around the end of a sub-buffer. */
	const int from = getpagesize() - 36, to = from + 40, sizes = ARRAY_SIZE(far) + to - from;
	char *payload = calloc(1, 200000);

	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "or1 u32 a"));
	ASSERT_EQ(0, ue_enable("or1", true));
	/* With a filter, which all of them pass, a record is first assembled elsewhere. */
	for (int filter = 0; filter < 2; filter++) {
		int taken = 0, refused = 0;

		ASSERT_EQ(0, ue_put(UE_EVENTS "/or1/filter", filter ? "a == 0" : "0"));
		ASSERT_EQ(0, ue_trunc(UE_TRACEFS "/trace"));
		for (int i = 0; i < sizes; i++) {
			int size = i < to - from ? from + i : far[i - (to - from)];
			long ret = ue_write(self->fd, 0, payload, size);

			EXPECT_EQ(ret, ue_writev(self->fd, 0, payload, size));
			if (ret == size + 4) {
				taken += 2;
			} else {
				EXPECT_EQ(-E2BIG, ret) TH_LOG("size %d, filter %d", size, filter);
				refused++;
			}
			ASSERT_EQ(taken, ue_records("or1")) {
				TH_LOG("size %d, filter %d", size, filter);
			}
		}
		EXPECT_LE(8, taken);
		EXPECT_LE(4, refused);
	}
	free(payload);
}

TEST_F(dev, oversize_record__perf)
{
	static const int sizes[] = { 100, 4000, 8000, 8176, 8190, 9000, 20000, 65500, 65536, 70000 };
	char *payload = calloc(1, 70000), *raw = malloc(1 << 17);
	struct ue_perf perf;
	int refused = 0;
	long ret;

	UE_RUST_ONLY("it warns about a record of more than 8 KiB");
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "or2 u32 a"));
	ASSERT_EQ(0, ue_perf_open(&perf, "or2"));
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		ret = ue_write(self->fd, 0, payload, sizes[i]);
		if (ret == sizes[i] + 4) {
			EXPECT_LE(8 + sizes[i], ue_perf_next(&perf, raw, 1 << 17)) TH_LOG("size %d", sizes[i]);
		} else {
			EXPECT_EQ(-E2BIG, ret) TH_LOG("size %d", sizes[i]);
			refused++;
		}
		EXPECT_EQ(-ENOENT, ue_perf_next(&perf, raw, 1 << 17));
	}
	EXPECT_EQ(2, refused);
	ue_perf_close(&perf);
	free(payload);
	free(raw);
}

TEST_F(dev, oversize_record__one_listener_takes_it)
{
	char *payload = calloc(1, 65536), *raw = malloc(1 << 17);
	struct ue_perf perf;

	UE_RUST_ONLY("it warns about a record of more than 8 KiB");
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "or3 u32 a"));
	ASSERT_EQ(0, ue_enable("or3", true));
	ASSERT_EQ(0, ue_perf_open(&perf, "or3"));
	if (getpagesize() < 8192) {
		/* More than a sub-buffer, less than what perf takes. */
		EXPECT_EQ(6004, ue_write(self->fd, 0, payload, 6000));
		EXPECT_LE(6008, ue_perf_next(&perf, raw, 1 << 17));
		EXPECT_EQ(0, ue_records("or3"));
		EXPECT_EQ(9004, ue_write(self->fd, 0, payload, 9000));
		EXPECT_LE(9008, ue_perf_next(&perf, raw, 1 << 17));
		EXPECT_EQ(0, ue_records("or3"));
	}
	EXPECT_EQ(-E2BIG, ue_write(self->fd, 0, payload, 65536));
	EXPECT_EQ(-ENOENT, ue_perf_next(&perf, raw, 1 << 17));
	EXPECT_EQ(0, ue_records("or3"));
	ue_perf_close(&perf);
	free(payload);
	free(raw);
}

/* oversize-record: memory that no listener could record is not read. */
TEST_F(dev, oversize_record__not_read)
{
	const size_t size = 64 << 20;
	char *m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned char there[UE_PAGE / 4096];

	ASSERT_NE(MAP_FAILED, (void *)m);
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "or_long u32 a"));
	ASSERT_EQ(0, ue_enable("or_long", true));
	*(uint32_t *)m = 0;
	EXPECT_EQ(-E2BIG, ue_err(write(self->fd, m, size)));
	EXPECT_EQ(0, mincore(m + size - UE_PAGE, UE_PAGE, there));
	EXPECT_EQ(0, there[0] & 1);
	munmap(m, size);
}

/* all-or-nothing: every listener has the whole record, or none has any. */

struct faulter {
	int uffd;
	char *lose, *block;
};

static int open_uffd(void *addr, size_t len)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.range = { (uintptr_t)addr, len }, .mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &reg))
		return -errno;
	return fd;
}

/* Waits for a fault. */
static bool wait_fault(int uffd)
{
	struct pollfd pfd = { .fd = uffd, .events = POLLIN };
	struct uffd_msg msg;

	return poll(&pfd, 1, UE_PATIENCE) == 1 && read(uffd, &msg, sizeof(msg)) == sizeof(msg);
}

static char fill[UE_PAGE] __attribute__((aligned(UE_PAGE)));

/* Faults a page in, with one letter all over. */
static int fill_page(int uffd, char *page, char letter)
{
	struct uffdio_copy copy = {
		.src = (uintptr_t)fill, .dst = (uintptr_t)page, .len = sizeof(fill),
	};

	memset(fill, letter, sizeof(fill));
	return ue_err(ioctl(uffd, UFFDIO_COPY, &copy));
}

/*
 * The kernel sees to it that the whole payload is present, and copies it after
 * that. While it waits for the last page, one that it has seen is removed.
 */
static void *lose_a_page(void *arg)
{
	struct faulter *f = arg;

	if (!wait_fault(f->uffd))
		return NULL;
	madvise(f->lose, UE_PAGE, MADV_DONTNEED);
	if (fill_page(f->uffd, f->block, 'C'))
		return NULL;
	/* It is faulted in again, with something else in it, for the reader that asks again. */
	if (!wait_fault(f->uffd))
		return NULL;
	fill_page(f->uffd, f->lose, 'X');
	return NULL;
}

/*
 * Three fields of @n bytes, each in a page of its own. Short records are copied
 * at once, long ones after their pages have been seen to.
 */
static void lose_a_page_of(struct __test_metadata *_metadata, FIXTURE_DATA(dev) *self,
			   unsigned int n)
{
	const char *in = "instances/ue_aon/";
	struct faulter f;
	struct iovec io[3];
	struct ue_perf perf;
	uint32_t index = 0;
	char *m, raw[512], text[128], b;
	const char *shown;
	int got, wrong = 0;
	bool has_snapshots;
	pthread_t t;
	long ret;

	mkdir(UE_TRACEFS "/instances/ue_aon", 0750);
	snprintf(text, sizeof(text), "aon char[%u] a; char[%u] b; char[%u] c", n, n, n);
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, text));
	ASSERT_EQ(0, ue_enable("aon", true));
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/instances/ue_aon/events/user_events/aon/enable", "1"));
	ASSERT_EQ(0, ue_perf_open(&perf, "aon"));
	/* It needs no record, and counts how often it is run. */
	has_snapshots = !ue_put(UE_EVENTS "/aon/trigger", "snapshot:9");

	/* The last page is not present. */
	m = mmap(NULL, 3 * UE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)m);
	f.uffd = open_uffd(m + UE_PAGE, 2 * UE_PAGE);
	if (f.uffd < 0)
		SKIP(return, "no userfaultfd");
	f.lose = m + UE_PAGE;
	f.block = m + 2 * UE_PAGE;
	memset(m, 'A', UE_PAGE);
	ASSERT_EQ(0, fill_page(f.uffd, f.lose, 'B'));
	io[0] = (struct iovec) { &index, sizeof(index) };
	io[1] = (struct iovec) { m + UE_PAGE - n, 2 * n };
	io[2] = (struct iovec) { f.block, n };
	ASSERT_EQ(0, pthread_create(&t, NULL, lose_a_page, &f));
	ret = ue_err(writev(self->fd, io, 3));
	if (has_snapshots) {
		EXPECT_EQ(1, ue_count(ue_slurp(UE_EVENTS "/aon/trigger"), "snapshot:count=8")) {
			TH_LOG("%s", ue_slurp(UE_EVENTS "/aon/trigger"));
		}
		EXPECT_EQ(0, ue_put(UE_EVENTS "/aon/trigger", "!snapshot"));
	}
	/* Read again, and recorded: it is the same for all, and nothing else. */
	EXPECT_EQ((long)(4 + 3 * n), ret);
	got = ret > 0;
	EXPECT_EQ(got, ue_records("aon"));
	EXPECT_EQ(got, ue_records_in(in, "aon"));
	if (got) {
		EXPECT_LE((long)(8 + 3 * n), ue_perf_next(&perf, raw, sizeof(raw)));
		b = raw[8 + n];
		EXPECT_TRUE(b == 'B' || b == 'X');
		for (unsigned int k = 0; k < 3 * n; k++)
			wrong += raw[8 + k] != (k / n == 1 ? b : "A?C"[k / n]);
		EXPECT_EQ(0, wrong);
		shown = ue_last_record("aon");
		ASSERT_NE(NULL, shown);
		EXPECT_NE(NULL, strstr(ue_slurp(UE_TRACEFS "/instances/ue_aon/trace"), shown));
	}
	EXPECT_EQ(-ENOENT, ue_perf_next(&perf, raw, sizeof(raw)));
	/* The helper waits still if no reader has asked. */
	*(volatile char *)f.lose;
	pthread_join(t, NULL);
	ue_perf_close(&perf);
	EXPECT_EQ(0, ue_put(UE_TRACEFS "/instances/ue_aon/events/user_events/aon/enable", "0"));
	EXPECT_EQ(0, rmdir(UE_TRACEFS "/instances/ue_aon"));
}

TEST_F(dev, all_or_nothing__page_lost_in_a_short_record)
{
	lose_a_page_of(_metadata, self, 16);
}

TEST_F(dev, all_or_nothing__page_lost_before_the_copy)
{
	lose_a_page_of(_metadata, self, 64);
}

/* position: it matters for no way of writing. */

TEST_F(dev, position__pwrite)
{
	uint32_t rec[2] = { 0, 7 };

	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "pos u32 a"));
	ASSERT_EQ(0, ue_enable("pos", true));
	EXPECT_EQ(8, ue_err(pwrite(self->fd, rec, sizeof(rec), 4)));
	EXPECT_EQ(8, ue_err(pwrite(self->fd, rec, sizeof(rec), 0)));
	EXPECT_EQ(8, ue_err(pwrite(self->fd, rec, sizeof(rec), 1ull << 40)));
	EXPECT_EQ(-EINVAL, ue_err(pwrite(self->fd, rec, sizeof(rec), -1)));
	EXPECT_EQ(3, ue_records("pos"));
}

/* zero-size-string: without a byte the text has no NUL at the end. */

TEST_F(dev, zero_size_string__always_refused)
{
	struct __attribute__((packed)) { uint32_t loc; char text[8]; } rec = { 0, "abc" };

	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "zs_d __data_loc char[] s"));
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 1, "zs_r __rel_loc char[] s"));
	ASSERT_EQ(0, ue_put(UE_EVENTS "/enable", "1"));
	for (int offset = 0; offset <= 20; offset++) {
		rec.loc = DYN_LOC(offset, 0);
		EXPECT_EQ(-EFAULT, ue_write(self->fd, 0, &rec, sizeof(rec))) TH_LOG("data_loc %d", offset);
		if (offset <= 8) {
			EXPECT_EQ(-EFAULT, ue_write(self->fd, 1, &rec, sizeof(rec))) {
				TH_LOG("rel_loc %d", offset);
			}
		}
	}
	/* Earlier operations do not matter. */
	for (int i = 0; i < 200; i++) {
		rec.loc = 0;
		usleep(rand() % 500);
		ASSERT_EQ(-EFAULT, ue_write(self->fd, 0, &rec, sizeof(rec)));
	}
	EXPECT_EQ(0, ue_records("zs_d") + ue_records("zs_r"));
}

/* delete-all-formats: deleting a name deletes all its formats, or none. */

TEST_F(dev, delete_all_formats__all_or_none)
{
	int fd = ue_open();
	unsigned int id = 0;
	char *list;

	/* The older one is in use, so that the newer one would be removed first. */
	ASSERT_EQ(0, ue_reg_flags(self->fd, &self->w[0], 0,
				  USER_EVENT_REG_MULTI_FORMAT | USER_EVENT_REG_PERSIST, "daf u32 a"));
	ASSERT_EQ(0, ue_reg_flags(self->fd, &self->w[0], 1,
				  USER_EVENT_REG_MULTI_FORMAT | USER_EVENT_REG_PERSIST, "daf u64 a"));
	list = strstr(ue_slurp(UE_STATUS), "daf.");
	ASSERT_NE(NULL, list);
	ASSERT_EQ(1, sscanf(list, "daf.%x", &id));
	ASSERT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
	ASSERT_EQ(0, ue_unreg(self->fd, &self->w[0], 1));
	close(self->fd);
	self->fd = ue_open();
	for (int round = 0; round < 2; round++) {
		/* Each of them in turn, for the order is not defined. */
		const char *desc = round ? "daf u64 a" : "daf u32 a";

		ASSERT_EQ(0, ue_reg_flags(self->fd, &self->w[0], 0, USER_EVENT_REG_MULTI_FORMAT, desc));
		usleep(200000);
		EXPECT_EQ(-EBUSY, ue_del(fd, "daf"));
		EXPECT_EQ(2, ue_count(ue_slurp(UE_STATUS), "daf."));
		ASSERT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
		close(self->fd);
		self->fd = ue_open();
	}
	EXPECT_EQ(0, ue_del_wait(fd, "daf"));
	EXPECT_EQ(0, ue_count(ue_slurp(UE_STATUS), "daf."));
	close(fd);
}

/* delete-unused: an unused event is not busy. */

TEST_F(dev, delete_unused__right_after_the_last_close)
{
	int fd = ue_open(), ret, busy = 0;

	for (int i = 0; i < 100; i++) {
		ASSERT_EQ(0, ue_reg(fd, &self->w[0], 0, "du u32 a"));
		ASSERT_EQ(0, ue_unreg(fd, &self->w[0], 0));
		/* Long enough for what unregistering leaves to be done later. */
		usleep(i ? 20000 : 200000);
		close(fd);
		ret = ue_del(self->fd, "du");
		busy += ret == -EBUSY;
		EXPECT_TRUE(ret == 0 || ret == -ENOENT || ret == -EBUSY);
		ASSERT_TRUE(ue_gone("du"));
		fd = ue_open();
	}
	EXPECT_EQ(0, busy);
	close(fd);
}

/*
 * An event whose removal has failed once, after its last use, can be deleted as soon as the
 * cause of the failure is removed, and is removed if no process deletes it.
 */
TEST_F(dev, delete_unused__after_a_failed_removal)
{
	int ret, deleted = 0;

	UE_RUST_ONLY("the event probe uses freed memory");
	for (int i = 0; i < 5; i++) {
		ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "du_failed u32 a"));
		ASSERT_EQ(0, ue_put(UE_DYN, "e:udu/ep user_events.du_failed v=$a:u32"));
		ASSERT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
		close(self->fd);
		self->fd = ue_open();
		/* Until the kernel has tried, and has been refused. */
		usleep(300000 + 100000 * i);
		EXPECT_TRUE(ue_exists("du_failed"));
		EXPECT_EQ(-EBUSY, ue_del(self->fd, "du_failed"));
		ASSERT_EQ(0, ue_put(UE_DYN, "-:udu/ep"));
		/* It may have been tried again just then. */
		ret = i % 2 ? ue_put(UE_DYN, "-:du_failed") : ue_del(self->fd, "du_failed");
		deleted += !ret;
		EXPECT_TRUE(ret == 0 || ret == -ENOENT) TH_LOG("%d", ret);
		EXPECT_FALSE(ue_exists("du_failed"));
		/* The next one of that name is another event: it exists as long as it is used. */
		ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "du_failed u64 b"));
		usleep(700000);
		EXPECT_TRUE(ue_exists("du_failed"));
		ASSERT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
		close(self->fd);
		self->fd = ue_open();
		EXPECT_TRUE(ue_gone("du_failed"));
	}
	EXPECT_LT(0, deleted);
}

/* eprobe-busy: an event that an event probe is attached to stays. */

TEST_F(dev, eprobe_busy__delete)
{
	UE_RUST_ONLY("the event probe uses freed memory");
	ASSERT_EQ(0, ue_put(UE_DYN, "u:eb u32 a"));
	ASSERT_EQ(0, ue_put(UE_DYN, "e:ueb/ep user_events.eb v=$a:u32"));
	EXPECT_EQ(-EBUSY, ue_del(self->fd, "eb"));
	EXPECT_EQ(-EBUSY, ue_put(UE_DYN, "-:eb u32 a"));
	EXPECT_TRUE(ue_exists("eb"));
	EXPECT_EQ(0, ue_put(UE_DYN, "-:ueb/ep"));
	EXPECT_EQ(0, ue_del_wait(self->fd, "eb"));
}

TEST_F(dev, eprobe_busy__auto_delete)
{
	UE_RUST_ONLY("the event cannot be deleted any more");
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "eb2 u32 a"));
	ASSERT_EQ(0, ue_put(UE_DYN, "e:ueb/ep2 user_events.eb2 v=$a:u32"));
	ASSERT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
	close(self->fd);
	self->fd = ue_open();
	usleep(300000);
	EXPECT_TRUE(ue_exists("eb2"));
	/* It still works, for a task that registers again. */
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "eb2 u32 a"));
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/events/ueb/ep2/enable", "1"));
	EXPECT_EQ(1, self->w[0]);
	EXPECT_EQ(8, ue_write_u32(self->fd, 0, 9));
	EXPECT_NE(NULL, strstr(ue_slurp(UE_TRACEFS "/trace"), "v=9"));
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/events/ueb/ep2/enable", "0"));
	EXPECT_EQ(0, self->w[0]);
	/* Without other uses it is removed after the reference. */
	ASSERT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
	close(self->fd);
	self->fd = ue_open();
	usleep(300000);
	EXPECT_TRUE(ue_exists("eb2"));
	EXPECT_EQ(0, ue_put(UE_DYN, "-:ueb/ep2"));
	EXPECT_TRUE(ue_gone("eb2"));
}

/* The last reference is waited for without looking at the event from time to time. */
TEST_F(dev, eprobe_busy__is_not_polled)
{
	const char *enable = UE_TRACEFS "/events/workqueue/workqueue_execute_start/enable";

	UE_RUST_ONLY("the event cannot be deleted any more");
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "eb3 u32 a"));
	ASSERT_EQ(0, ue_put(UE_DYN, "e:ueb/ep3 user_events.eb3 v=$a:u32"));
	ASSERT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
	close(self->fd);
	self->fd = ue_open();
	usleep(700000);
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/trace", ""));
	ASSERT_EQ(0, ue_put(enable, "1"));
	usleep(1200000);
	ASSERT_EQ(0, ue_put(enable, "0"));
	/* The name of the work items' function. */
	EXPECT_EQ(NULL, strstr(ue_slurp(UE_TRACEFS "/trace"), "6unused6Unused"));
	EXPECT_TRUE(ue_exists("eb3"));
	ASSERT_EQ(0, ue_put(enable, "1"));
	EXPECT_EQ(0, ue_put(UE_DYN, "-:ueb/ep3"));
	EXPECT_TRUE(ue_gone("eb3"));
	ASSERT_EQ(0, ue_put(enable, "0"));
	/* It is still called that. */
	EXPECT_NE(NULL, strstr(ue_slurp(UE_TRACEFS "/trace"), "6unused6Unused"));
}

/* eprobe-rel-string: an event probe finds the string that a __rel_loc says the place of. */

TEST_F(dev, eprobe_rel_string__text)
{
	static const char desc[] = "ers u32 before; __rel_loc char[] s";
	struct {
		uint32_t before, loc;
		char text[8];
	} record = { .before = 7, .loc = 4 << 16, .text = "abc" };

	/* Persistent, so the probe is removed before the event in C, too. */
	ASSERT_EQ(0, ue_put(UE_DYN, ue_path("u:%s", desc)));
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, desc));
	ASSERT_EQ(0, ue_put(UE_DYN, "e:uers/ep user_events.ers v=$s:string"));
	EXPECT_EQ(0, ue_put(UE_TRACEFS "/events/uers/ep/enable", "1"));
	EXPECT_EQ(4 + 16, ue_write(self->fd, 0, &record, sizeof(record)));
	/* It need not follow the word. */
	record.loc = 4 << 16 | 4;
	memcpy(record.text, "....xyz", 8);
	EXPECT_EQ(4 + 16, ue_write(self->fd, 0, &record, sizeof(record)));
	EXPECT_EQ(1, ue_count(ue_slurp(UE_TRACEFS "/trace"), " v=\"abc\"\n"))
		TH_LOG("%s", ue_slurp(UE_TRACEFS "/trace"));
	EXPECT_EQ(1, ue_count(ue_slurp(UE_TRACEFS "/trace"), " v=\"xyz\"\n"));
	EXPECT_EQ(0, ue_put(UE_TRACEFS "/events/uers/ep/enable", "0"));
	EXPECT_EQ(0, ue_put(UE_DYN, "-:uers/ep"));
}

/* persist-upgrade: a task that asks for a persistent event gets one. */

TEST_F(dev, persist_upgrade__existing_event)
{
	int fd = ue_open();

	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "pu1 u32 a"));
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 1, "pu2 u32 a"));
	ASSERT_EQ(0, ue_put(UE_DYN, "u:pu1 u32 a"));
	ASSERT_EQ(0, ue_reg_flags(self->fd, &self->w[0], 2, USER_EVENT_REG_PERSIST, "pu2 u32 a"));
	for (int bit = 0; bit < 3; bit++) {
		ASSERT_EQ(0, ue_unreg(self->fd, &self->w[0], bit));
	}
	close(self->fd);
	self->fd = ue_open();
	usleep(300000);
	EXPECT_TRUE(ue_exists("pu1"));
	EXPECT_TRUE(ue_exists("pu2"));
	EXPECT_EQ(0, ue_del_wait(fd, "pu1"));
	EXPECT_EQ(0, ue_del_wait(fd, "pu2"));
	close(fd);
}

/* delete-by-name: the name is enough, and blanks do not matter. */

TEST_F(dev, delete_by_name__any_fields)
{
	ASSERT_EQ(0, ue_put(UE_DYN, "u:dbn u32 a; u64 b"));
	EXPECT_EQ(0, ue_put(UE_DYN, "-:dbn"));
	EXPECT_FALSE(ue_exists("dbn"));
	ASSERT_EQ(0, ue_put(UE_DYN, "u:dbn2 u32 a; u64 b"));
	EXPECT_EQ(0, ue_put(UE_DYN, "-:user_events/dbn2"));
	EXPECT_FALSE(ue_exists("dbn2"));
	ASSERT_EQ(0, ue_put(UE_DYN, "u:dbn2 u32 a; u64 b"));
	EXPECT_EQ(0, ue_put(UE_DYN, "!u:dbn2"));
	EXPECT_FALSE(ue_exists("dbn2"));
	/* Fields that are given still count. */
	ASSERT_EQ(0, ue_put(UE_DYN, "u:dbn3 u32 a; u64 b"));
	EXPECT_EQ(-ENOENT, ue_put(UE_DYN, "-:dbn3 u32 a"));
	EXPECT_EQ(-ENOENT, ue_put(UE_DYN, "-:other/dbn3"));
	EXPECT_TRUE(ue_exists("dbn3"));
}

TEST_F(dev, delete_by_name__any_spacing)
{
	static const char * const spelled[] = {
		"-:dbn4 u32 a;u64 b", "-:dbn4 u32 a; u64 b", "-:dbn4 u32 a;u64 b;",
		"-:dbn4 u32  a;  u64 b", "!u:dbn4 u32 a;u64 b",
	};

	for (size_t i = 0; i < ARRAY_SIZE(spelled); i++) {
		ASSERT_EQ(0, ue_put(UE_DYN, "u:dbn4 u32 a; u64 b"));
		EXPECT_EQ(0, ue_put(UE_DYN, spelled[i])) TH_LOG("[%s]", spelled[i]);
	}
}

/* truncate-unused: nor do such events stop dynamic_events from being emptied. */

TEST_F(dev, truncate_unused__right_after_the_last_close)
{
	int ret, busy = 0, fd;

	for (int i = 0; i < 50; i++) {
		fd = ue_open();
		ASSERT_EQ(0, ue_reg(fd, &self->w[0], 0, "tu u32 a"));
		ASSERT_EQ(0, ue_unreg(fd, &self->w[0], 0));
		usleep(i ? 20000 : 200000);
		EXPECT_EQ(-EBUSY, ue_trunc(UE_DYN));
		close(fd);
		ret = ue_trunc(UE_DYN);
		busy += ret == -EBUSY;
		EXPECT_TRUE(ret == 0 || ret == -EBUSY);
		ASSERT_TRUE(ue_gone("tu"));
	}
	EXPECT_EQ(0, busy);
}

/* removal-order: an event probe is removed before the older event that it refers to. */

TEST_F(dev, removal_order__event_probe_and_its_event)
{
	const char *probe = "e:ro_probe synthetic/ro_synth x=$a";
	int oldest = ue_put(UE_DYN, "u:ro_oldest u32 a"), synth = ue_put(UE_DYN, "s:ro_synth u32 a");
	int made = ue_put(UE_DYN, probe), ret = ue_trunc(UE_DYN), left = ue_count(ue_slurp(UE_DYN), "ro_");

	/* Where the truncation has failed, later ones must not. */
	if (left) {
		ue_put(UE_DYN, "-:ro_probe");
		ue_trunc(UE_DYN);
	}
	EXPECT_EQ(0, oldest);
	EXPECT_EQ(0, synth);
	EXPECT_EQ(0, made) TH_LOG("[%s]", probe);
	EXPECT_EQ(0, ret);
	EXPECT_EQ(0, left);
}

/*
 * Events that lose their last use together are removed from the newest one on. Of those that the
 * work item finds in several runs, each run is.
 */
TEST_F_TIMEOUT(dev, removal_order__newest_first, 120)
{
	enum { EVENTS = 1000, STEP = 20, SEEN = EVENTS / STEP };
	uint64_t end = ue_now() + ue_slow_ms(30000) * 1000000;
	int before = 0, after = 0;

	/* A removal takes so little time that many of them may be seen at once. */
	while (before + after < 12 && ue_now() < end) {
		int removed_at[SEEN] = { }, left = SEEN;
		char text[64];

		for (int i = 0; i < EVENTS; i++) {
			snprintf(text, sizeof(text), "ro_newest_%d u32 a", i);
			ASSERT_EQ(0, ue_reg(self->fd, &self->w[i], 0, text));
			ASSERT_EQ(0, ue_unreg(self->fd, &self->w[i], 0));
		}
		/* Until the file has the only uses. */
		usleep(300000);
		close(self->fd);
		self->fd = ue_open();
		for (int now = 1; left && ue_now() < end; now++) {
			for (int i = 0; i < SEEN; i++) {
				snprintf(text, sizeof(text), "ro_newest_%d", i * STEP);
				if (!removed_at[i] && !ue_exists(text)) {
					removed_at[i] = now;
					left--;
				}
			}
		}
		ASSERT_EQ(0, left);
		for (int i = 1; i < SEEN; i++) {
			before += removed_at[i] < removed_at[i - 1];
			after += removed_at[i] > removed_at[i - 1];
		}
		ASSERT_TRUE(ue_poll(!strstr(ue_slurp(UE_STATUS), "ro_newest_")));
	}
	TH_LOG("removed before the one that is older: %d, after it: %d", before, after);
	ASSERT_LT(0, before + after);
	EXPECT_LT(2 * after, before);
}

/* filter-kind: a filter takes for a string or a mask what is checked to be one. */

TEST_F(dev, filter_kind__no_masks)
{
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "fk1 __data_loc cpumask_t[] m"));
	/* A number: that of a CPU which does not exist. No mask is read. */
	ASSERT_EQ(0, ue_put(UE_EVENTS "/fk1/filter", "m & CPUS{0}"));
	ASSERT_EQ(0, ue_enable("fk1", true));
	EXPECT_EQ(9, ue_writev(self->fd, 0, &(struct { uint32_t loc; char byte; }
					      __attribute__((packed))) { 1 << 16 | 12, 1 }, 5));
	EXPECT_EQ(0, ue_records("fk1"));
	ASSERT_EQ(0, ue_enable("fk1", false));
}

TEST_F(dev, filter_kind__no_strings)
{
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "fk2 struct __data_loc_char f 4"));
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 1, "fk3 struct x_char[2] f 4; char[4] s"));
	EXPECT_EQ(-EINVAL, ue_put(UE_EVENTS "/fk2/filter", "f == \"x\""));
	EXPECT_EQ(-EINVAL, ue_put(UE_EVENTS "/fk3/filter", "f == \"x\""));
	EXPECT_EQ(0, ue_put(UE_EVENTS "/fk3/filter", "s == \"x\""));
	ue_put(UE_EVENTS "/fk2/filter", "0");
	ue_put(UE_EVENTS "/fk3/filter", "0");
}

/* multi-id: a description that is refused uses no number. */

static int multi_id(const char *name)
{
	char *line = strstr(ue_slurp(UE_STATUS), name);
	unsigned int id;

	return line && sscanf(line + strlen(name), ".%x", &id) == 1 ? (int)id : -1;
}

TEST_F(dev, multi_id__refused_fields)
{
	int id;

	ASSERT_EQ(0, ue_reg_flags(self->fd, &self->w[0], 0, USER_EVENT_REG_MULTI_FORMAT, "mi_a u32 a"));
	id = multi_id("mi_a");
	ASSERT_LE(0, id);
	for (int i = 0; i < 5; i++) {
		EXPECT_EQ(-EINVAL, ue_reg_flags(self->fd, &self->w[0], 1, USER_EVENT_REG_MULTI_FORMAT,
						"mi_b bogus a"));
	}
	ASSERT_EQ(0, ue_reg_flags(self->fd, &self->w[0], 1, USER_EVENT_REG_MULTI_FORMAT, "mi_b u32 a"));
	EXPECT_EQ(id + 1, multi_id("mi_b"));
}

/* fault-warning: a process cannot fill the log. */

static int fault_messages(void)
{
	static char log[1 << 20];
	int len = syscall(__NR_syslog, 3 /* all of it */, log, sizeof(log) - 1);

	if (len < 0)
		return -errno;
	log[len] = '\0';
	return ue_count(log, "user_events: Fault");
}

TEST_F(dev, fault_warning__limited)
{
	volatile uint32_t *ro = self->w + UE_PAGE / 4;
	int before, limited;

	ASSERT_EQ(0, ue_reg(self->fd, ro, 0, "fw u32 a"));
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "fw u32 a"));
	ASSERT_EQ(0, mprotect((void *)ro, UE_PAGE, PROT_READ));
	before = fault_messages();
	ASSERT_LE(0, before);
	for (int i = 0; i < 60; i++) {
		ASSERT_EQ(0, ue_enable("fw", i % 2 == 0));
		/* The other word is written, and this one was tried. */
		EXPECT_EQ(i % 2 == 0, self->w[0]);
		usleep(10000);
	}
	/* 10 in 5 seconds, the end of one such time and the beginning of the next. */
	limited = fault_messages() - before;
	EXPECT_LE(1, limited);
	EXPECT_GE(20, limited);
	/* And again later: an administrator sees what is wrong now. */
	sleep(6);
	before = fault_messages();
	ASSERT_EQ(0, ue_enable("fw", true));
	EXPECT_TRUE(ue_poll(fault_messages() == before + 1));
	ASSERT_EQ(0, mprotect((void *)ro, UE_PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(0, ue_unreg(self->fd, ro, 0));
}

/* status-order: user_events_status is sorted. */

TEST_F(dev, status_order__by_name)
{
	char prev[300] = "", *text, *line;
	int lines = 0;

	for (int i = 0; i < 32; i++) {
		char desc[64];

		snprintf(desc, sizeof(desc), "so_%c%d u32 a", 'a' + i * 7 % 26, i);
		ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], i, desc));
	}
	text = strdup(ue_slurp(UE_STATUS));
	while ((line = strsep(&text, "\n")) && *line) {
		EXPECT_GT(0, strcmp(prev, line)) TH_LOG("%s after %s", line, prev);
		snprintf(prev, sizeof(prev), "%s", line);
		lines++;
	}
	EXPECT_EQ(32, lines);
}

/* stuck-memory: a task that waits for memory of its own delays no other one. */

/* Registers in a process of its own; the result, or -EAGAIN when it hangs. */
static int register_elsewhere(const char *event)
{
	int status, ret = -EAGAIN;
	pid_t pid = fork();

	if (!pid) {
		static uint32_t word;
		int fd = ue_open();

		_exit(ue_reg(fd, &word, 0, event) || ue_unreg(fd, &word, 0));
	}
	if (ue_poll_ms(waitpid(pid, &status, WNOHANG) == pid, 3000))
		ret = WEXITSTATUS(status);
	return ret;
}

struct stuck {
	int fd, uffd;
	volatile void *word;
	const char *name;
	int ret;
	volatile bool done;
};

static void *register_stuck(void *arg)
{
	struct stuck *s = arg;

	s->ret = ue_reg(s->fd, s->word, 0, s->name);
	s->done = true;
	return NULL;
}

static void stuck_case(struct __test_metadata *_metadata, int fd, volatile uint32_t *word,
		       bool name_is_stuck)
{
	char *m = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static char page[UE_PAGE] __attribute__((aligned(UE_PAGE)));
	struct uffdio_copy copy = { .src = (uintptr_t)page, .len = UE_PAGE, .dst = (uintptr_t)m };
	struct stuck s = { .fd = fd, .word = word, .name = m };
	pthread_t t;
	int elsewhere, status;
	bool ended;
	pid_t pid;

	memset(page, 0, sizeof(page));
	if (name_is_stuck) {
		strcpy(page, "sm_late u32 a");
	} else {
		s.word = (void *)m;
		s.name = "sm_late u32 a";
	}
	s.uffd = open_uffd(m, UE_PAGE);
	if (s.uffd < 0)
		SKIP(return, "no userfaultfd");
	ASSERT_EQ(0, ue_put(UE_DYN, "u:sm_there u32 a"));
	ASSERT_EQ(0, pthread_create(&t, NULL, register_stuck, &s));
	ASSERT_TRUE(wait_fault(s.uffd));
	ASSERT_FALSE(s.done);

	elsewhere = register_elsewhere("sm_other u32 a");
	EXPECT_EQ(0, elsewhere);
	/* The same for the files and for tracing control, with a time limit. */
	pid = fork();
	if (!pid) {
		bool quick[2] = {};
		int bad = 0;

		bad |= !strstr(ue_slurp(UE_STATUS), "sm_there");
		/* The scheduler may delay some of the switches, each way. */
		for (int i = 1; i <= 20 && !(quick[0] && quick[1] && i % 2); i++) {
			uint64_t began = ue_now();

			bad |= (ue_enable("sm_there", i % 2) != 0) << 1;
			quick[i % 2] |= ue_now() - began < ue_slow_ms(200) * 1000000;
		}
		bad |= !(quick[0] && quick[1]) << 2;
		bad |= (ue_put(UE_DYN, "u:sm_more u32 a") != 0) << 3;
		_exit(bad);
	}
	ended = ue_poll(waitpid(pid, &status, WNOHANG) == pid);
	EXPECT_TRUE(ended) {
		TH_LOG("status, enable or dynamic_events hang");
	}
	if (ended) {
		EXPECT_EQ(0, status) TH_LOG("step bits 0x%x", WEXITSTATUS(status));
	}
	EXPECT_FALSE(s.done);

	/* The page is faulted in: all continue. */
	ASSERT_EQ(0, ioctl(s.uffd, UFFDIO_COPY, &copy));
	pthread_join(t, NULL);
	EXPECT_EQ(0, s.ret);
	EXPECT_TRUE(ue_exists("sm_late"));
	while (waitpid(-1, &status, 0) > 0)
		;
	close(s.uffd);
	ue_unreg(fd, s.word, 0);
}

TEST_F(dev, stuck_memory__name)
{
	stuck_case(_metadata, self->fd, &self->w[0], true);
}

TEST_F(dev, stuck_memory__enable_word)
{
	stuck_case(_metadata, self->fd, &self->w[0], false);
}

/*
 * The other registrations by the same file continue, and the index is stored when the bit is
 * enabled. An index that is not used in the end is given to the next event.
 */

struct stuck_reg {
	int fd;
	struct user_reg reg;
	int ret;
	volatile bool done;
};

static void *register_stuck_reg(void *arg)
{
	struct stuck_reg *s = arg;

	s->ret = ue_err(ioctl(s->fd, DIAG_IOCSREG, &s->reg));
	s->done = true;
	return NULL;
}

static void same_file_case(struct __test_metadata *_metadata, int fd, volatile uint32_t *w, bool comes)
{
	char *m = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct stuck_reg s = {
		.fd = fd,
		.reg = {
			.size = sizeof(s.reg), .enable_size = 4, .enable_addr = (uintptr_t)m,
			.name_args = (uintptr_t)"sm_file u32 a", .write_index = 77,
		},
	};
	int uffd = open_uffd(m, UE_PAGE), status = -1;
	pthread_t t;
	bool ended;
	pid_t pid;

	if (uffd < 0)
		SKIP(return, "no userfaultfd");
	ASSERT_EQ(0, pthread_create(&t, NULL, register_stuck_reg, &s));
	ASSERT_TRUE(wait_fault(uffd));
	EXPECT_EQ(77, *(volatile uint32_t *)&s.reg.write_index);
	/* In a child: if it waits, the page can still be served. */
	pid = fork();
	if (!pid) {
		bool good = ue_reg_index(fd, &w[0], 0, "sm_file1 u32 a") == 1 &&
			    ue_reg_index(fd, &w[1], 0, "sm_file2 u32 a") == 2 &&
			    ue_reg_index(fd, &w[0], 1, "sm_file1 u32 a") == 1;

		_exit(!good);
	}
	ended = ue_poll_ms(waitpid(pid, &status, WNOHANG) == pid, 3000);
	EXPECT_TRUE(ended) TH_LOG("registrations by the same file hang");
	EXPECT_FALSE(s.done);
	EXPECT_EQ(0, comes ? fill_page(uffd, m, 0) : munmap(m, UE_PAGE));
	close(uffd);
	pthread_join(t, NULL);
	EXPECT_EQ(comes ? 0 : -EFAULT, s.ret);
	EXPECT_EQ(comes ? 0 : 77, s.reg.write_index);
	/* As soon as it is free the lowest one is given out. */
	EXPECT_EQ(comes ? 3 : 0, ue_reg_index(fd, &w[2], 0, "sm_file3 u32 a"));
	EXPECT_EQ(comes ? 0 : -ENOENT, ue_unreg(fd, m, 0));
	if (!ended)
		waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
}

TEST_F(dev, stuck_memory__same_file)
{
	same_file_case(_metadata, self->fd, self->w, true);
}

TEST_F(dev, stuck_memory__same_file_without_the_page)
{
	same_file_case(_metadata, self->fd, self->w, false);
}

/*
 * More words whose pages are not faulted in than a queue of the system runs work items at a time:
 * those of other processes are written, and the work of others continues. An event without uses is
 * removed by a work item of the queue that C's schedule_work() uses.
 *
 * Each wait takes a thread of the kernel, so not all are waited for at a time. Those of another
 * user are, and those of the same one when others have finished.
 */

#define NOBODY		65534

#define STUCK_WORDS	1100
#define STUCK_AT_A_TIME	1024	/* WAITING_OF_ROOT of faults.rs */

struct stuck_words {
	volatile int ready, stuck;
	volatile bool are_all_stuck;
	volatile char is_stuck[STUCK_WORDS];
};

/* Registers a userfaultfd for the page of a word of an event. Returns that, or less than 0. */
static int word_by_uffd(int fd, char *m, const char *desc, volatile int *ready)
{
	int uffd;

	if (m == MAP_FAILED || ue_reg(fd, m, 0, desc) || madvise(m, UE_PAGE, MADV_DONTNEED))
		return -1;
	uffd = open_uffd(m, UE_PAGE);
	if (uffd >= 0)
		__atomic_fetch_add(ready, 1, __ATOMIC_RELEASE);
	return uffd;
}

/* Ends when the parent has closed its end of the pipe, so it waits as long as the parent lives. */
static int stuck_child(int fd, const int going[2], struct stuck_words *words, int n, uid_t user,
		       const char *desc)
{
	struct pollfd pfd[2] = { { .events = POLLIN }, { .fd = going[0] } };
	char *m = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	close(going[1]);
	if (setresuid(user, 0, 0))
		return 1;
	pfd[0].fd = word_by_uffd(fd, m, desc, &words->ready);
	if (pfd[0].fd < 0)
		return 2;
	/* The parent may take any time to start the others. */
	if (poll(pfd, 2, -1) < 1 || !pfd[0].revents || !wait_fault(pfd[0].fd))
		return 3;
	words->is_stuck[n] = true;
	__atomic_fetch_add(&words->stuck, 1, __ATOMIC_RELEASE);
	poll(&pfd[1], 1, -1);
	return 0;
}

/* A process of another user, whose page is faulted in by it. */
static int other_users_child(int fd, const int going[2], struct stuck_words *words)
{
	struct pollfd pfd[2] = { { .events = POLLIN }, { .fd = going[0] } };
	char *m = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	close(going[1]);
	if (setresuid(NOBODY, 0, 0))
		return 1;
	pfd[0].fd = word_by_uffd(fd, m, "sm_other u32 a", &words->ready);
	if (pfd[0].fd < 0)
		return 2;
	if (poll(pfd, 2, -1) < 1 || !pfd[0].revents || !wait_fault(pfd[0].fd))
		return 3;
	if (fill_page(pfd[0].fd, m, 0))
		return 4;
	return ue_poll(*(volatile uint32_t *)m == 1) ? 0 : 5;
}

TEST_F_TIMEOUT(dev, stuck_memory__many_words, 900)
{
	struct stuck_words *words = mmap(NULL, sizeof(*words), PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t *pids = calloc(STUCK_WORDS, sizeof(*pids)), other;
	cpu_set_t one, all;
	int n, fd, going[2], killed = 0, status;

	ASSERT_NE(MAP_FAILED, (void *)words);
	ASSERT_EQ(0, pipe(going));
	ASSERT_EQ(0, sched_getaffinity(0, sizeof(all), &all));
	ASSERT_EQ(0, ue_put(UE_DYN, "u:sm_many u32 a"));
	ASSERT_EQ(0, ue_put(UE_DYN, "u:sm_late u32 a"));
	ASSERT_EQ(0, ue_put(UE_DYN, "u:sm_other u32 a"));
	for (n = 0; n < STUCK_WORDS; n++) {
		pids[n] = fork();
		if (!pids[n])
			_exit(stuck_child(self->fd, going, words, n, 0, "sm_many u32 a"));
		ASSERT_LT(0, pids[n]);
	}
	other = fork();
	if (!other)
		_exit(other_users_child(self->fd, going, words));
	ASSERT_LT(0, other);
	EXPECT_TRUE(ue_comes_to(&words->ready, n + 1)) {
		TH_LOG("%d of %d are ready", words->ready, n + 1);
	}
	/* Work that is queued from here on is queued on this CPU. */
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(one), &one));
	EXPECT_EQ(0, ue_enable("sm_many", true));
	EXPECT_TRUE(ue_comes_to(&words->stuck, STUCK_AT_A_TIME)) {
		TH_LOG("%d of %d are waited for", words->stuck, STUCK_AT_A_TIME);
	}

	ASSERT_EQ(0, ue_reg(self->fd, self->w, 0, "sm_late u32 a"));
	ASSERT_EQ(0, madvise((void *)self->w, UE_PAGE, MADV_DONTNEED));
	EXPECT_EQ(0, ue_enable("sm_late", true));
	EXPECT_TRUE(ue_poll_ms(self->w[0] == 1, 3000));
	/* By a file that the children have not got. */
	fd = ue_open();
	ASSERT_EQ(0, ue_reg(fd, self->w, 1, "sm_goes u32 a"));
	EXPECT_EQ(0, ue_unreg(fd, self->w, 1));
	close(fd);
	EXPECT_TRUE(ue_poll_ms(!ue_exists("sm_goes"), 3000));
	EXPECT_EQ(0, ue_enable("sm_other", true));
	EXPECT_EQ(other, waitpid(other, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(STUCK_AT_A_TIME, words->stuck);

	ASSERT_EQ(0, sched_setaffinity(0, sizeof(all), &all));
	/* The others have their turn. */
	for (int i = 0; i < n && killed < STUCK_WORDS - STUCK_AT_A_TIME; i++) {
		if (!words->is_stuck[i])
			continue;
		kill(pids[i], SIGKILL);
		waitpid(pids[i], &status, 0);
		pids[i] = 0;
		killed++;
	}
	EXPECT_TRUE(ue_comes_to(&words->stuck, n)) TH_LOG("%d of %d were waited for", words->stuck, n);
	while (n-- > 0) {
		if (!pids[n])
			continue;
		kill(pids[n], SIGKILL);
		waitpid(pids[n], &status, 0);
	}
	close(going[0]);
	close(going[1]);
	EXPECT_TRUE(ue_poll(ue_enable("sm_many", false) == 0));
	EXPECT_EQ(0, ue_unreg(self->fd, self->w, 0));
	munmap(words, sizeof(*words));
	free(pids);
}

/*
 * As many processes of a user are stuck as are waited for at a time. What only needs more work than
 * is done at once takes no place among them.
 */

#define STUCK_OF_USER	80
#define STUCK_OF_GROUP	64	/* WAITING of faults.rs */
#define SOON_WORDS	1024	/* MAX_PAGES of mm/run.rs is 64. */

static bool all_soon(char *m, size_t page)
{
	for (int i = 0; i < SOON_WORDS; i++) {
		if (*(volatile uint32_t *)(m + i * page) != 1)
			return false;
	}
	return true;
}

/*
 * A child of a process that has a word still to be written has all its words written. None of them
 * is stuck there, as a userfaultfd is not for the children, but no page is present.
 */
static int child_that_forks(int fd, struct stuck_words *words)
{
	size_t page = sysconf(_SC_PAGESIZE), size = SOON_WORDS * page;
	char *m = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *soon = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (soon == MAP_FAILED || setresuid(NOBODY, 0, 0))
		return 1;
	/* Fails on a kernel without huge pages. */
	madvise(soon, size, MADV_NOHUGEPAGE);
	for (int i = 0; i < SOON_WORDS; i++) {
		if (ue_reg(fd, soon + i * page, 0, "sm_soon u32 a"))
			return 2;
	}
	if (madvise(soon, size, MADV_DONTNEED) ||
	    word_by_uffd(fd, m, "sm_user u32 a", &words->ready) < 0)
		return 3;
	while (!__atomic_load_n(&words->are_all_stuck, __ATOMIC_ACQUIRE))
		usleep(1000);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(!ue_poll(all_soon(soon, page)));
	}
	return waitpid(pid, &status, 0) == pid && !status ? 0 : 4;
}

TEST_F_TIMEOUT(dev, stuck_memory__others_of_the_same_user, 280)
{
	struct stuck_words *words = mmap(NULL, sizeof(*words), PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[STUCK_OF_USER], other;
	int n, going[2], status;

	if (!ue_is_rust())
		SKIP(return, "in C no number of processes is waited for");
	ASSERT_NE(MAP_FAILED, (void *)words);
	ASSERT_EQ(0, pipe(going));
	ASSERT_EQ(0, ue_put(UE_DYN, "u:sm_user u32 a"));
	ASSERT_EQ(0, ue_put(UE_DYN, "u:sm_soon u32 a"));
	ASSERT_EQ(0, ue_enable("sm_soon", true));
	for (n = 0; n < STUCK_OF_USER; n++) {
		pids[n] = fork();
		if (!pids[n])
			_exit(stuck_child(self->fd, going, words, n, NOBODY, "sm_user u32 a"));
		ASSERT_LT(0, pids[n]);
	}
	other = fork();
	if (!other)
		_exit(child_that_forks(self->fd, words));
	ASSERT_LT(0, other);
	EXPECT_TRUE(ue_comes_to(&words->ready, n + 1)) {
		TH_LOG("%d of %d are ready", words->ready, n + 1);
	}
	EXPECT_EQ(0, ue_enable("sm_user", true));
	/* The one that forks may have a place, too. */
	EXPECT_TRUE(ue_poll(words->stuck >= STUCK_OF_GROUP - 1)) {
		TH_LOG("%d of %d are waited for", words->stuck, STUCK_OF_GROUP);
	}
	__atomic_store_n(&words->are_all_stuck, true, __ATOMIC_RELEASE);
	EXPECT_EQ(other, waitpid(other, &status, 0));
	EXPECT_EQ(0, status) TH_LOG("exit %d", WEXITSTATUS(status));
	EXPECT_GE(STUCK_OF_GROUP, words->stuck);

	while (n-- > 0) {
		kill(pids[n], SIGKILL);
		waitpid(pids[n], &status, 0);
	}
	close(going[0]);
	close(going[1]);
	EXPECT_TRUE(ue_poll(ue_enable("sm_user", false) == 0));
	EXPECT_EQ(0, ue_enable("sm_soon", false));
	munmap(words, sizeof(*words));
}

/* update-never-lost: as many words as are not listed one by one are written as well. */

#define MANY_WORDS	70	/* MAX_PENDING of mm/keys.rs is 64. */

/* Each is in a page of its own. */
static volatile uint32_t *word_of_many(char *m, int i)
{
	return (void *)(m + i * UE_PAGE);
}

static int count_many(char *m)
{
	int n = 0;

	for (int i = 0; i < MANY_WORDS; i++)
		n += *word_of_many(m, i) == 1;
	return n;
}

TEST_F(dev, update_never_lost__more_words_than_are_listed)
{
	const size_t size = MANY_WORDS * UE_PAGE;
	char *m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int uffd;

	if (!ue_is_rust())
		SKIP(return, "in C all words are listed");
	ASSERT_NE(MAP_FAILED, (void *)m);
	for (int i = 0; i < MANY_WORDS; i++) {
		ASSERT_EQ(0, ue_reg(self->fd, word_of_many(m, i), 0, "unl u32 a"));
	}
	/* The work item has to wait for one word, so the others pile up. */
	ASSERT_EQ(0, madvise(m, size, MADV_DONTNEED));
	uffd = open_uffd(m, size);
	if (uffd < 0)
		SKIP(return, "no userfaultfd");
	ASSERT_EQ(0, ue_enable("unl", true));
	ASSERT_TRUE(wait_fault(uffd));
	/* From now on all pages are faulted in. */
	close(uffd);
	EXPECT_TRUE(ue_poll(count_many(m) == MANY_WORDS)) {
		TH_LOG("%d words are written", count_many(m));
	}
	for (int i = 0; i < MANY_WORDS; i++) {
		EXPECT_EQ(0, ue_unreg(self->fd, word_of_many(m, i), 0));
		EXPECT_EQ(0, *word_of_many(m, i));
	}
	munmap(m, size);
}

/*
 * late-word-memory: the memory of a killed process stays until the page of its word is
 * faulted in.
 */
TEST_F(dev, late_word_memory__until_the_page_comes)
{
	/* No process can seal it while another can write to it. */
	int memfd = memfd_create("late", MFD_ALLOW_SEALING | MFD_CLOEXEC), pidfd, uffd, status;
	volatile int *shared = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	ASSERT_LE(0, memfd);
	ASSERT_NE(MAP_FAILED, (void *)shared);
	ASSERT_EQ(0, ftruncate(memfd, UE_PAGE));
	ASSERT_EQ(0, ue_put(UE_DYN, "u:lw u32 a"));
	pid = fork();
	if (!pid) {
		uint32_t *m = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
		m[0] = 0;
		if (ue_reg(self->fd, m, 0, "lw u32 a"))
			_exit(1);
		madvise(m, UE_PAGE, MADV_DONTNEED);
		*shared = open_uffd(m, UE_PAGE);
		for (;;)
			pause();
	}
	ASSERT_TRUE(ue_poll(*shared));
	if (*shared < 0) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		SKIP(return, "no userfaultfd");
	}
	pidfd = syscall(__NR_pidfd_open, pid, 0);
	ASSERT_LE(0, pidfd);
	uffd = syscall(__NR_pidfd_getfd, pidfd, *shared, 0);
	ASSERT_LE(0, uffd);
	ASSERT_EQ(0, ue_enable("lw", true));
	ASSERT_TRUE(wait_fault(uffd));
	ASSERT_EQ(-EBUSY, ue_err(fcntl(memfd, F_ADD_SEALS, F_SEAL_WRITE)));
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFSIGNALED(status));
	EXPECT_FALSE(ue_poll_ms(!fcntl(memfd, F_ADD_SEALS, F_SEAL_WRITE), 1000));
	/* The server of the page closes its userfaultfd. */
	close(uffd);
	EXPECT_TRUE(ue_poll(!fcntl(memfd, F_ADD_SEALS, F_SEAL_WRITE)));
	EXPECT_EQ(0, ue_enable("lw", false));
	close(pidfd);
	close(memfd);
	munmap((void *)shared, UE_PAGE);
}

/* Events without a user conflict with no other, even if the work item has not visited them. */
TEST_F(dev, unused_events__make_way)
{
	const char *max = "/proc/sys/kernel/user_events_max";
	pid_t children[4];
	int registered = 0;

	ASSERT_EQ(0, ue_put(max, "100"));
	for (size_t i = 0; i < ARRAY_SIZE(children); i++) {
		children[i] = fork();
		if (!children[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			/* No memory is ever mapped there. */
			for (int n = 0;; n++)
				ue_reg(self->fd, (void *)0x1000, 0, ue_path("d_unused_%zu_%d u32 a", i, n));
		}
		ASSERT_LT(0, children[i]);
	}
	for (int n = 0; n < 300; n++) {
		/* A file keeps the events that were registered with it. */
		int fd = ue_open();

		if (!ue_reg(fd, &self->w[0], 0, ue_path("d_unused_%d u32 a", n)))
			registered++;
		ue_unreg(fd, &self->w[0], 0);
		close(fd);
	}
	/* Those processes may have all room just then. */
	EXPECT_LE(295, registered);
	for (size_t i = 0; i < ARRAY_SIZE(children); i++) {
		kill(children[i], SIGKILL);
		EXPECT_EQ(children[i], waitpid(children[i], NULL, 0));
	}
	EXPECT_EQ(0, ue_put(max, "32768"));
}

TEST_HARNESS_MAIN
