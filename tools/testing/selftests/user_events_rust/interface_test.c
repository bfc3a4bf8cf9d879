// SPDX-License-Identifier: GPL-2.0
/*
 * The user_events ABI, one area after the other: files, ioctls, validation,
 * names, fields, format and trace text, the write path, matching, status,
 * dynamic_events, life time, enable words and the tracing features on top.
 *
 * All of it holds for the C and for the Rust implementation. What they differ
 * in is in deviations_test.c.
 */
#define _GNU_SOURCE
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include "kselftest_harness.h"
#include "ue.h"
#include "uring.h"

UE_FIXTURE(user)

/* Files, modes, file operations. */

TEST_F(user, files_and_modes)
{
	static const struct {
		const char *path;
		mode_t mode;
	} files[] = {
		{ UE_DATA, 0640 },
		{ UE_STATUS, 0440 },
		{ UE_DYN, 0640 },
		{ "/proc/sys/kernel/user_events_max", 0644 },
		{ UE_EVENTS "/modes/enable", 0640 },
		{ UE_EVENTS "/modes/filter", 0640 },
		{ UE_EVENTS "/modes/trigger", 0640 },
		{ UE_EVENTS "/modes/format", 0440 },
		{ UE_EVENTS "/modes/id", 0440 },
		{ UE_EVENTS "/enable", 0640 },
		{ UE_EVENTS "/filter", 0640 },
	};
	struct stat st;

	ASSERT_EQ(0, ue_put(UE_DYN, "u:modes u32 a"));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		ASSERT_EQ(0, stat(files[i].path, &st)) TH_LOG("%s", files[i].path);
		EXPECT_EQ(files[i].mode, st.st_mode & 07777) TH_LOG("%s", files[i].path);
		EXPECT_EQ(0, st.st_uid) TH_LOG("%s", files[i].path);
	}
	/* The system is created with the first event and removed with the last. */
	EXPECT_EQ(0, ue_del(self->fd, "modes"));
	EXPECT_EQ(-ENOENT, access(UE_EVENTS, F_OK) ? -errno : 0);
	EXPECT_EQ(32768, atoi(ue_slurp("/proc/sys/kernel/user_events_max")));
}

TEST_F(user, file_operations)
{
	struct pollfd pfd = { .fd = self->fd, .events = POLLIN | POLLOUT };
	char buf[8];
	int fd, pipes[2];

	EXPECT_EQ(-EINVAL, ue_err(read(self->fd, buf, sizeof(buf))));
	EXPECT_EQ(-ESPIPE, ue_err(lseek(self->fd, 0, SEEK_SET)));
	EXPECT_EQ(-ENODEV, mmap(NULL, UE_PAGE, PROT_READ, MAP_SHARED, self->fd, 0) == MAP_FAILED ?
			   -errno : 0);
	EXPECT_EQ(1, poll(&pfd, 1, 0));
	EXPECT_EQ(0, pipe(pipes));
	EXPECT_EQ(4, write(pipes[1], "\0\0\0\0", 4));
	EXPECT_EQ(-EINVAL, ue_err(splice(pipes[0], NULL, self->fd, NULL, 4, 0)));

	/* Everything except the writing works on a descriptor for reading. */
	fd = open(UE_DATA, O_RDONLY);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, ue_reg(fd, &self->w[0], 0, "read_only u32 a"));
	EXPECT_EQ(-EBADF, ue_write_u32(fd, 0, 1));
	EXPECT_EQ(0, ue_unreg(fd, &self->w[0], 0));
	close(fd);
	EXPECT_TRUE(ue_gone("read_only"));
}

TEST_F(user, instances_have_the_event)
{
	mkdir(UE_TRACEFS "/instances/ue_modes", 0750);
	EXPECT_EQ(0, ue_put(UE_DYN, "u:in_instance u32 a"));
	EXPECT_EQ(0, access(UE_TRACEFS "/instances/ue_modes/events/user_events/in_instance/enable", F_OK));
	EXPECT_EQ(0, ue_del(self->fd, "in_instance"));
	EXPECT_NE(0, access(UE_TRACEFS "/instances/ue_modes/events/user_events/in_instance/enable", F_OK));
	EXPECT_EQ(0, rmdir(UE_TRACEFS "/instances/ue_modes"));
}

/* Numbers and structures. */

TEST_F(user, ioctl_numbers_and_layout)
{
	static const unsigned int unknown[] = {
		0x5401, 0x2a00, 0x40082a04, 0xc0082a04, 0x80082a00, 0xc0102a00,
	};

	EXPECT_EQ(0xc0082a00, (unsigned int)DIAG_IOCSREG);
	EXPECT_EQ(0x40082a01, (unsigned int)DIAG_IOCSDEL);
	EXPECT_EQ(0x40082a02, (unsigned int)DIAG_IOCSUNREG);
	EXPECT_EQ(28, sizeof(struct user_reg));
	EXPECT_EQ(24, offsetof(struct user_reg, write_index));
	EXPECT_EQ(16, sizeof(struct user_unreg));
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		EXPECT_EQ(-ENOTTY, ue_err(ioctl(self->fd, unknown[i], 0)));
	}
}

/* What a registration is refused for, and in which order. */

struct reg_case {
	const char *what;
	uint32_t size;
	int bit, esize, flags;
	uint64_t addr;
	const char *name;
	int ret;
};

TEST_F(user, registration_is_validated)
{
	uint64_t w = (uintptr_t)self->w;
	const char *good = "checked u32 a";
	static char desc511[512], desc512[513];
	struct reg_case cases[] = {
		{ "size 0", 0, 0, 4, 0, w, good, -EINVAL },
		{ "size one short", 27, 0, 4, 0, w, good, -EINVAL },
		{ "more than a page", getpagesize() + 1, 0, 4, 0, w, good, -E2BIG },
		{ "unknown flag", 28, 0, 4, 4, w, good, -EINVAL },
		{ "all flags", 28, 0, 4, 0xffff, w, good, -EINVAL },
		{ "enable_size 0", 28, 0, 0, 0, w, good, -EINVAL },
		{ "enable_size 1", 28, 0, 1, 0, w, good, -EINVAL },
		{ "enable_size 2", 28, 0, 2, 0, w, good, -EINVAL },
		{ "enable_size 7", 28, 0, 7, 0, w, good, -EINVAL },
		{ "enable_size 16", 28, 0, 16, 0, w, good, -EINVAL },
		{ "enable_size 255", 28, 0, 255, 0, w, good, -EINVAL },
		{ "unaligned", 28, 0, 4, 0, w + 1, good, -EINVAL },
		{ "unaligned for 8", 28, 0, 8, 0, w + 4, good, -EINVAL },
		{ "bit 32 of 4", 28, 32, 4, 0, w, good, -EINVAL },
		{ "bit 64 of 8", 28, 64, 8, 0, w, good, -EINVAL },
		{ "bit 255", 28, 255, 8, 0, w, good, -EINVAL },
		{ "kernel address", 28, 0, 4, 0, 0xffff800000000000, good, -EFAULT },
		{ "no name", 28, 0, 4, 0, w, NULL, -EFAULT },
		{ "512 characters", 28, 0, 4, 0, w, desc512, -EINVAL },
		/* The first of two faults decides. */
		{ "flag before enable_size", 28, 0, 3, 4, w, good, -EINVAL },
		{ "alignment before range", 28, 64, 8, 0, w + 1, good, -EINVAL },
		{ "address before name", 28, 0, 4, 0, 0xffff800000000000, NULL, -EFAULT },
		{ "enable_size before address", 28, 0, 3, 0, 0xffff800000000000, good, -EINVAL },
	};
	struct {
		struct user_reg reg;
		uint8_t tail[UE_PAGE];
	} arg;

	memset(desc511, 'x', 511);
	memcpy(desc511, "longest u32 ", 12);
	memset(desc512, 'x', 512);
	memcpy(desc512, "longest u32 ", 12);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct reg_case *c = &cases[i];

		memset(&arg, 0, sizeof(arg));
		arg.reg = (struct user_reg) {
			.size = c->size, .enable_bit = c->bit, .enable_size = c->esize,
			.flags = c->flags, .enable_addr = c->addr,
			.name_args = (uintptr_t)c->name, .write_index = 0x1234,
		};
		EXPECT_EQ(c->ret, ue_err(ioctl(self->fd, DIAG_IOCSREG, &arg))) TH_LOG("%s", c->what);
		/* A failure leaves the output alone, and no event. */
		EXPECT_EQ(0x1234, arg.reg.write_index) TH_LOG("%s", c->what);
	}
	EXPECT_FALSE(ue_exists("checked"));
	EXPECT_FALSE(ue_exists("longest"));
	EXPECT_EQ(-EFAULT, ue_err(ioctl(self->fd, DIAG_IOCSREG, NULL)));

	/* Longer structures: what this kernel does not know must be 0. */
	memset(&arg, 0, sizeof(arg));
	arg.reg = (struct user_reg) {
		.size = getpagesize(), .enable_bit = 1, .enable_size = 4,
		.enable_addr = w, .name_args = (uintptr_t)good,
	};
	EXPECT_EQ(0, ue_err(ioctl(self->fd, DIAG_IOCSREG, &arg)));
	arg.reg.enable_bit = 2;
	arg.tail[getpagesize() - sizeof(arg.reg) - 1] = 1;
	EXPECT_EQ(-E2BIG, ue_err(ioctl(self->fd, DIAG_IOCSREG, &arg)));

	EXPECT_EQ(0, ue_reg(self->fd, &self->w[1], 31, desc511));
	EXPECT_EQ(0, ue_reg_full(self->fd, &self->w[2], 63, 8, 0, good, NULL));
}

TEST_F(user, unreadable_arguments)
{
	char *page = mmap(NULL, 2 * UE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct user_reg *reg = (void *)(page + UE_PAGE - 8);

	ASSERT_NE(MAP_FAILED, (void *)page);
	ASSERT_EQ(0, munmap(page + UE_PAGE, UE_PAGE));
	/* Only the size can be read. */
	reg->size = sizeof(*reg);
	EXPECT_EQ(-EFAULT, ue_err(ioctl(self->fd, DIAG_IOCSREG, reg)));
	/* A name without its end. */
	memset(page, 'n', UE_PAGE);
	EXPECT_EQ(-EFAULT, ue_reg(self->fd, &self->w[0], 0, page + UE_PAGE - 5));
	/* The same within reach: 511 characters are looked at, and no more. */
	memset(page, 'n', UE_PAGE);
	EXPECT_EQ(-EINVAL, ue_reg(self->fd, &self->w[0], 0, page + UE_PAGE - 512));
}

TEST_F(user, duplicate_word_and_bit)
{
	int other = ue_open();

	ASSERT_LE(0, other);
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "first u32 a"));
	EXPECT_EQ(-EADDRINUSE, ue_reg(self->fd, &self->w[0], 0, "first u32 a"));
	EXPECT_EQ(-EADDRINUSE, ue_reg(self->fd, &self->w[0], 0, "second u32 a"));
	EXPECT_EQ(-EADDRINUSE, ue_reg(other, &self->w[0], 0, "second u32 a"));
	EXPECT_FALSE(ue_exists("second"));
	/* It is looked at before the name is. */
	EXPECT_EQ(-EADDRINUSE, ue_reg(self->fd, &self->w[0], 0, NULL));
	EXPECT_EQ(0, ue_reg(other, &self->w[0], 1, "second u32 a"));
	EXPECT_EQ(0, ue_reg(other, &self->w[1], 0, "second u32 a"));
	/* Free again after it is unregistered. */
	EXPECT_EQ(0, ue_unreg(other, &self->w[0], 0));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "third u32 a"));
	close(other);
}

TEST_F(user, write_index)
{
	int other = ue_open();

	EXPECT_EQ(0, ue_reg_index(self->fd, &self->w[0], 0, "zeroth u32 a"));
	EXPECT_EQ(1, ue_reg_index(self->fd, &self->w[0], 1, "first u32 a"));
	/* The same event on the same file has the index that it had. */
	EXPECT_EQ(0, ue_reg_index(self->fd, &self->w[0], 2, "zeroth u32 a"));
	EXPECT_EQ(2, ue_reg_index(self->fd, &self->w[0], 3, "second u32 a"));
	/* Another file counts for itself. */
	EXPECT_EQ(0, ue_reg_index(other, &self->w[0], 4, "second u32 a"));
	EXPECT_EQ(0, ue_enable("second", true));
	EXPECT_EQ(8, ue_write_u32(other, 0, 1));
	EXPECT_EQ(-ENOENT, ue_write_u32(other, 2, 1));
	EXPECT_EQ(8, ue_write_u32(self->fd, 2, 1));
	EXPECT_EQ(-EBADF, ue_write_u32(self->fd, 0, 1));
	/* Unregistering an enable word takes no index away. */
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[0], 3));
	EXPECT_EQ(8, ue_write_u32(self->fd, 2, 1));
	EXPECT_EQ(3, ue_records("second"));
	close(other);
}

/* Names and flags. */

TEST_F(user, event_names)
{
	static const struct {
		const char *desc;
		int ret;
	} cases[] = {
		{ "name_plain u32 a", 0 },
		{ "name.dot-dash_09 u32 a", 0 },
		{ "1st u32 a", 0 },
		{ "name_none", 0 },
		{ "name_none ", 0 },
		{ "name_empty ;;", 0 },
		{ "name_colon: u32 a", -EINVAL },
		{ "name_colon:x u32 a", -EINVAL },
		{ "name_colon:", -EINVAL },
		{ ":name_colon", -EINVAL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		EXPECT_EQ(cases[i].ret, ue_reg(self->fd, &self->w[0], i, cases[i].desc))
			TH_LOG("%s", cases[i].desc);
	}
	EXPECT_TRUE(ue_exists("name.dot-dash_09"));
	EXPECT_TRUE(ue_exists("1st"));
	EXPECT_STREQ("", ue_format_fields("name_none"));
}

/* All files show any name as it is and find it again. */
TEST_F(user, unusual_event_names)
{
	static const char * const names[] = {
		"name+plus", "name@at", "name~tilde", "name#hash", "name$dollar", "-name", "--", ".name", "+",
		"name*", "name?", "name[x", "name%s", "name\"", "name'", "name\\n", "name,b", "name;b",
		"name=b", "name(b)", "name|b", "name!", "name{}",
		/* An accented letter, a kanji, an emoji. */
		"name\303\251", "\344\272\213", "name\360\237\230\200",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *name = names[i];
		char text[256];
		uint32_t index;

		snprintf(text, sizeof(text), "%s u32 a", name);
		ASSERT_EQ(0, ue_reg_full(self->fd, &self->w[0], 0, 4, 0, text, &index)) TH_LOG("[%s]", name);
		EXPECT_EQ(i, index);
		EXPECT_TRUE(ue_exists(name)) TH_LOG("[%s]", name);
		EXPECT_EQ(0, ue_enable(name, true)) TH_LOG("[%s]", name);
		EXPECT_EQ(1, self->w[0]);
		EXPECT_EQ(8, ue_write_u32(self->fd, index, 1));
		EXPECT_EQ(1, ue_records(name)) TH_LOG("[%s]", name);
		snprintf(text, sizeof(text), "%s # Used by ftrace", name);
		EXPECT_STREQ(text, ue_status(name));
		snprintf(text, sizeof(text), "user_events:%s\n", name);
		EXPECT_EQ(1, ue_count(ue_slurp(UE_TRACEFS "/available_events"), text)) TH_LOG("[%s]", name);
		EXPECT_EQ(0, ue_enable(name, false));
		snprintf(text, sizeof(text), "user_events:%s", name);
		EXPECT_EQ(0, ue_put(UE_TRACEFS "/set_event", text)) TH_LOG("[%s]", name);
		EXPECT_EQ(1, self->w[0]) TH_LOG("[%s]", name);
		EXPECT_EQ(0, ue_enable(name, false));
		EXPECT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));

		snprintf(text, sizeof(text), "u:%s u32 a\n", name);
		EXPECT_EQ(1, ue_count(ue_slurp(UE_DYN), text)) TH_LOG("[%s]", name);
		/* The same text creates it, but for what follows a #, which is a comment. */
		if (strchr(name, '#'))
			continue;
		EXPECT_EQ(0, ue_put(UE_DYN, text)) TH_LOG("[%s]", name);
		EXPECT_TRUE(ue_exists(name));
	}
	/* All of them are deleted, whatever they are called. */
	close(self->fd);
	self->fd = ue_open();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		int ret = ue_del_wait(self->fd, names[i]);
		/* C does not upgrade an existing event, so it is removed: persist-upgrade. */
		bool goes_itself = !ue_is_rust() || strchr(names[i], '#');

		EXPECT_TRUE(ret == 0 || (goes_itself && ret == -ENOENT)) TH_LOG("[%s] %d", names[i], ret);
		EXPECT_TRUE(ue_gone(names[i]));
	}
}

static int drop_privilege(void)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2] = {};

	if (prctl(PR_SET_KEEPCAPS, 0) || syscall(__NR_capset, &h, d))
		return -errno;
	return 0;
}

TEST_F(user, persist_needs_privilege)
{
	int status, dyn;
	pid_t pid;

	EXPECT_EQ(0, ue_reg_flags(self->fd, &self->w[0], 0, USER_EVENT_REG_PERSIST, "persists u32 a"));
	dyn = open(UE_DYN, O_WRONLY | O_APPEND);
	ASSERT_LE(0, dyn);
	pid = fork();
	if (!pid) {
		/* The files are open already: only the privilege is missing. */
		int bad = 0;

		bad |= drop_privilege() != 0;
		bad |= (ue_reg(self->fd, &self->w[0], 1, "ordinary u32 a") != 0) << 1;
		bad |= (ue_reg_flags(self->fd, &self->w[0], 2, USER_EVENT_REG_MULTI_FORMAT,
				     "ordinary u32 a") != 0) << 2;
		bad |= (ue_reg_flags(self->fd, &self->w[0], 3, USER_EVENT_REG_PERSIST,
				     "another u32 a") != -EPERM) << 3;
		/* Even if it exists. */
		bad |= (ue_reg_flags(self->fd, &self->w[0], 4, USER_EVENT_REG_PERSIST,
				     "persists u32 a") != -EPERM) << 4;
		/* Created through dynamic_events means persistent. */
		bad |= (ue_err(write(dyn, "u:denied u32 a", 14)) != -EPERM) << 5;
		exit(bad);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status) TH_LOG("step bits 0x%x", WEXITSTATUS(status));
	EXPECT_FALSE(ue_exists("another"));
	EXPECT_FALSE(ue_exists("denied"));

	/* Nor does deletion work without it. */
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
	close(self->fd);
	self->fd = ue_open();
	/* Unused by now, which takes a grace period. */
	EXPECT_TRUE(ue_poll(strstr(ue_slurp(UE_STATUS), "ordinary") == NULL));
	pid = fork();
	if (!pid) {
		int ret = 0;

		if (drop_privilege())
			exit(1);
		if (!ue_poll((ret = ue_del(self->fd, "persists")) != -EBUSY))
			exit(2);
		exit(ret == -EPERM ? 0 : 3);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, ue_del_wait(self->fd, "persists"));
	close(dyn);
}

TEST_F(user, multi_format)
{
	unsigned int ids[8], n = 0, t, end;
	struct dirent *d;
	char *list;
	DIR *dir;

	EXPECT_EQ(0, ue_reg_flags(self->fd, &self->w[0], 0, USER_EVENT_REG_MULTI_FORMAT, "a4m u32 a"));
	EXPECT_EQ(0, ue_reg_flags(self->fd, &self->w[0], 1, USER_EVENT_REG_MULTI_FORMAT, "a4m u64 a"));
	/* An equal one is the same tracepoint. */
	EXPECT_EQ(0, ue_reg_flags(self->fd, &self->w[0], 2, USER_EVENT_REG_MULTI_FORMAT, "a4m u32 a"));
	/* A single format of that name is something else. */
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 3, "a4m u32 a"));
	EXPECT_EQ(0, ue_reg_flags(self->fd, &self->w[0], 4, USER_EVENT_REG_MULTI_FORMAT, "a4m u8 a"));

	list = ue_slurp(UE_STATUS);
	EXPECT_EQ(4, ue_count(list, "a4m"));
	EXPECT_EQ(3, ue_count(list, "a4m."));
	EXPECT_TRUE(ue_exists("a4m"));

	/* The ids are hexadecimal, and rise by one for each new format. */
	dir = opendir(UE_MULTI);
	ASSERT_NE(NULL, dir);
	while ((d = readdir(dir)) && n < 8) {
		if (sscanf(d->d_name, "a4m.%x%n", &ids[n], &end) == 1 && !d->d_name[end])
			n++;
	}
	closedir(dir);
	ASSERT_EQ(3, n);
	for (int i = 0; i < 2; i++) {
		for (int j = 0; j < 2; j++) {
			if (ids[j] > ids[j + 1])
				t = ids[j], ids[j] = ids[j + 1], ids[j + 1] = t;
		}
	}
	EXPECT_EQ(ids[0] + 1, ids[1]);
	EXPECT_EQ(ids[1] + 1, ids[2]);

	/* The word follows its own format only; two enablers, one tracepoint. */
	EXPECT_EQ(0, ue_put(ue_path(UE_MULTI "/a4m.%x/enable", ids[0]), "1"));
	EXPECT_EQ(5, self->w[0]);
	EXPECT_EQ(0, ue_put(ue_path(UE_MULTI "/a4m.%x/enable", ids[0]), "0"));
	EXPECT_EQ(0, self->w[0]);
	EXPECT_EQ(0, ue_put(UE_MULTI "/enable", "1"));
	EXPECT_EQ(0x17, self->w[0]);
	EXPECT_EQ(0, ue_put(UE_MULTI "/enable", "0"));
	/* Another field is another format in there, and an error without. */
	EXPECT_EQ(-EADDRINUSE, ue_reg(self->fd, &self->w[0], 5, "a4m u64 a"));
}

/* Fields. */

TEST_F(user, types_and_layout)
{
	static const struct {
		const char *type;
		int size, is_signed;
		const char *fmt;
	} types[] = {
		{ "s8", 1, 1, "%d" }, { "u8", 1, 0, "%u" }, { "char", 1, 1, "%d" },
		{ "unsigned char", 1, 0, "%u" }, { "s16", 2, 1, "%d" }, { "u16", 2, 0, "%u" },
		{ "short", 2, 1, "%d" }, { "unsigned short", 2, 0, "%u" }, { "s32", 4, 1, "%d" },
		{ "u32", 4, 0, "%u" }, { "int", 4, 1, "%d" }, { "unsigned int", 4, 0, "%u" },
		{ "s64", 8, 1, "%lld" }, { "u64", 8, 0, "%llu" },
	};
	char desc[512], want[512];

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		/* A byte in front: nothing is aligned. */
		snprintf(desc, sizeof(desc), "type_%zu u8 x; %s f; u8 y", i, types[i].type);
		ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], i, desc)) TH_LOG("%s", desc);
		snprintf(desc, sizeof(desc), "type_%zu", i);
		snprintf(want, sizeof(want),
			 "\tfield:u8 x;\toffset:8;\tsize:1;\tsigned:0;\n"
			 "\tfield:%s f;\toffset:9;\tsize:%d;\tsigned:%d;\n"
			 "\tfield:u8 y;\toffset:%d;\tsize:1;\tsigned:0;\n",
			 types[i].type, types[i].size, types[i].is_signed, 9 + types[i].size);
		EXPECT_STREQ(want, ue_format_fields(desc));
		snprintf(want, sizeof(want), "\"x=%%u f=%s y=%%u\", REC->x, REC->f, REC->y", types[i].fmt);
		EXPECT_STREQ(want, ue_print_fmt(desc));
	}
}

TEST_F(user, arrays_strings_structs)
{
	EXPECT_EQ(0, ue_put(UE_DYN, "u:locations __data_loc char[] e; __data_loc unsigned char[] f; "
			    "__data_loc u32[] i; __rel_loc u32 h; struct foo j 20; u8 z"));
	EXPECT_STREQ("\tfield:__data_loc char[] e;\toffset:8;\tsize:4;\tsigned:1;\n"
		     "\tfield:__data_loc unsigned char[] f;\toffset:12;\tsize:4;\tsigned:1;\n"
		     "\tfield:__data_loc u32[] i;\toffset:16;\tsize:4;\tsigned:1;\n"
		     "\tfield:__rel_loc u32 h;\toffset:20;\tsize:4;\tsigned:1;\n"
		     "\tfield:struct foo j;\toffset:24;\tsize:20;\tsigned:1;\n"
		     "\tfield:u8 z;\toffset:44;\tsize:1;\tsigned:0;\n", ue_format_fields("locations"));
	EXPECT_STREQ("\"e=%s f=%s i=%llu h=%llu j=%llu z=%u\", __get_str(e), __get_str(f), REC->i, REC->h, REC->j, REC->z",
		     ue_print_fmt("locations"));
	/* The limits of arrays: 1 to 1024, in any base. */
	EXPECT_EQ(0, ue_put(UE_DYN, "u:arrays char[1] a; char[1024] b; unsigned char[0x10] c; char[010] d; u8 z"));
	EXPECT_NE(NULL, strstr(ue_format_fields("arrays"), "offset:1049;\tsize:8;"));
	EXPECT_STREQ("\"a=%s b=%s c=%s d=%s z=%u\", REC->a, REC->b, REC->c, REC->d, REC->z",
		     ue_print_fmt("arrays"));
}

/* Names that mean something elsewhere, and letters other than ASCII. */
TEST_F(user, unusual_field_names)
{
	static const char fields[] =
		"u32 common_cpu; u64 common_timestamp; u32 common_comm; u8 common_stacktrace; "
		"u32 \303\251; struct \344\272\213 \344\273\266 4";
	struct __attribute__((packed)) {
		uint32_t a; uint64_t b; uint32_t c; uint8_t d; uint32_t e; char f[4];
	} rec = { .e = 5 };
	char text[512];
	int ret;

	snprintf(text, sizeof(text), "non_ascii %s", fields);
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, text));
	snprintf(text, sizeof(text), "u:non_ascii %s\n", fields);
	EXPECT_EQ(1, ue_count(ue_slurp(UE_DYN), text));
	EXPECT_EQ(0, ue_put(UE_DYN, text));
	EXPECT_EQ(1, ue_count(ue_format_fields("non_ascii"), "\tfield:u32 \303\251;\toffset:25;"));
	EXPECT_EQ(1, ue_count(ue_print_fmt("non_ascii"), "REC->\303\251"));
	EXPECT_EQ(0, ue_enable("non_ascii", true));
	EXPECT_EQ(4 + (long)sizeof(rec), ue_write(self->fd, 0, &rec, sizeof(rec)));
	EXPECT_EQ(1, ue_count(ue_last_record("non_ascii"), " \303\251=0x5 (5)"));
	EXPECT_EQ(0, ue_enable("non_ascii", false));
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
	close(self->fd);
	self->fd = ue_open();
	/* In C an existing event does not become persistent, so it is removed: persist-upgrade. */
	ret = ue_del_wait(self->fd, "non_ascii");
	EXPECT_TRUE(ret == 0 || (!ue_is_rust() && ret == -ENOENT)) TH_LOG("%d", ret);
	EXPECT_TRUE(ue_gone("non_ascii"));
}

TEST_F(user, rejected_fields)
{
	static const char * const bad[] = {
		"long a", "unsigned long a", "size_t a", "bool a", "pid_t a", "float a", "u128 a",
		"u32", "u32 a b", "u32  a", "u32 a 4", "u32 a ;u32 b", "u32 a ",
		"unsigned", "unsigned int", "__data_loc", "__data_loc char[]",
		"__rel_loc unsigned char[]", "struct s", "struct s a", "struct s a 0",
		"struct s a 0x14", "struct s a 4x", "struct s a -1", "struct s a 99999999999",
		"char[] a", "char[0] a", "char[1025] a", "char[9999] a", "char[-1] a", "char[aa] a",
		"char[12", "char[0x0000000000001] a", "u32[2] a", "s8[4] a",
		"char [4] a", "unsigned  int a", "\tu32 a b",
	};
	static const char * const good[] = {
		"u32 a;;u32 b", ";u32 a", "u32 a;", "   u32 a;   u32 b",
	};
	char desc[512];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(desc, sizeof(desc), "bad %s", bad[i]);
		EXPECT_EQ(-EINVAL, ue_reg(self->fd, &self->w[0], 0, desc)) TH_LOG("[%s]", bad[i]);
	}
	EXPECT_FALSE(ue_exists("bad"));
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		snprintf(desc, sizeof(desc), "good%zu %s", i, good[i]);
		EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], i, desc)) TH_LOG("[%s]", good[i]);
	}
}

/* The format file and what trace shows. */

TEST_F(user, format_file)
{
	char want[1024];

	EXPECT_EQ(0, ue_put(UE_DYN, "u:layout u32 a; s64 b"));
	snprintf(want, sizeof(want),
		 "name: layout\nID: %d\nformat:\n"
		 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		 "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		 "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		 "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
		 "\n"
		 "\tfield:u32 a;\toffset:8;\tsize:4;\tsigned:0;\n"
		 "\tfield:s64 b;\toffset:12;\tsize:8;\tsigned:1;\n"
		 "\nprint fmt: \"a=%%u b=%%lld\", REC->a, REC->b\n", ue_event_id("layout"));
	EXPECT_STREQ(want, ue_slurp(UE_EVENTS "/layout/format"));
	EXPECT_EQ(0, ue_put(UE_DYN, "u:no_fields"));
	EXPECT_STREQ("\"\"", ue_print_fmt("no_fields"));
}

TEST_F(user, trace_text)
{
	struct __attribute__((packed)) {
		int8_t a; uint8_t b; uint16_t c; int32_t d; uint64_t e; char f[4];
	} rec = { 'x', 130, 513, -2, 9, "abc" };
	struct __attribute__((packed)) {
		uint32_t arr, str; uint8_t data[8]; char text[4];
	} loc = { DYN_LOC(16, 8), DYN_LOC(24, 4), { 1, 2, 0xff, 0, 0, 0, 0, 9 }, "a\001b" };

	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "types s8 a; u8 b; u16 c; s32 d; u64 e; char[4] f"));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 1, "dynamic __data_loc u8[] arr; __data_loc char[] str"));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 2, "no_fields"));
	EXPECT_EQ(0, ue_put(UE_EVENTS "/enable", "1"));
	EXPECT_EQ(4 + sizeof(rec), ue_write(self->fd, 0, &rec, sizeof(rec)));
	EXPECT_EQ(4 + sizeof(loc), ue_write(self->fd, 1, &loc, sizeof(loc)));
	EXPECT_EQ(4, ue_write(self->fd, 2, "", 0));
	EXPECT_STREQ(" a='x'(120) b=(130) c=0x201 (513) d=0xfffffffe (-2) e=0x9 (9) f=abc",
		     ue_last_record("types"));
	EXPECT_STREQ(" arr=01,02,ff,00,00,00,00,09 str=a.b. (61:01:62:00)", ue_last_record("dynamic"));
	EXPECT_NE(NULL, strstr(ue_slurp(UE_TRACEFS "/trace"), "no_fields:No fields found"));
}

/* The write path. */

TEST_F(user, errors_in_order)
{
	uint64_t rec = 0;

	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "parts u32 a; u32 b"));
	EXPECT_EQ(-EFAULT, ue_err(write(self->fd, "", 0)));
	EXPECT_EQ(-EFAULT, ue_err(write(self->fd, "\0\0\0", 3)));
	EXPECT_EQ(0, ue_err(writev(self->fd, NULL, 0)));
	EXPECT_EQ(-EINVAL, ue_write(self->fd, -1, &rec, 8));
	EXPECT_EQ(-EINVAL, ue_write(self->fd, INT_MIN, &rec, 0));
	EXPECT_EQ(-ENOENT, ue_write(self->fd, 1, &rec, 0));
	EXPECT_EQ(-ENOENT, ue_write(self->fd, INT_MAX, &rec, 8));
	/* The size is checked before the listeners. */
	EXPECT_EQ(-EINVAL, ue_write(self->fd, 0, &rec, 7));
	EXPECT_EQ(-EBADF, ue_write(self->fd, 0, &rec, 8));
	EXPECT_EQ(-EBADF, ue_writev(self->fd, 0, &rec, 8));
	EXPECT_EQ(0, ue_enable("parts", true));
	EXPECT_EQ(-EINVAL, ue_write(self->fd, 0, &rec, 7));
	EXPECT_EQ(12, ue_write(self->fd, 0, &rec, 8));
	EXPECT_EQ(12, ue_writev(self->fd, 0, &rec, 8));
	EXPECT_EQ(-EFAULT, ue_writev(self->fd, 0, (void *)8, 8));
	EXPECT_EQ(2, ue_records("parts"));
	/* A file that registered nothing has no index at all. */
	close(self->fd);
	self->fd = ue_open();
	EXPECT_EQ(-ENOENT, ue_write(self->fd, 0, &rec, 8));
	EXPECT_EQ(-EINVAL, ue_write(self->fd, -5, &rec, 8));
}

TEST_F(user, recorded_as_given)
{
	struct ue_perf perf;
	uint8_t rec[100], raw[256];
	int len;

	for (size_t i = 0; i < sizeof(rec); i++)
		rec[i] = i * 7 + 1;
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "raw u32 a; u8 b"));
	ASSERT_EQ(0, ue_perf_open(&perf, "raw"));
	/* The minimum, an odd size and one beyond the described fields. */
	for (size_t n = 5; n <= sizeof(rec); n += 19) {
		EXPECT_EQ(4 + n, ue_write(self->fd, 0, rec, n));
		len = ue_perf_next(&perf, raw, sizeof(raw));
		/* Size word and record together are aligned to 8. */
		EXPECT_EQ((8 + n + 4 + 7) / 8 * 8 - 4, len);
		EXPECT_EQ(ue_event_id("raw"), *(uint16_t *)raw);
		EXPECT_EQ(getpid(), *(int *)(raw + 4));
		EXPECT_EQ(0, memcmp(raw + 8, rec, n));
	}
	EXPECT_EQ(-ENOENT, ue_perf_next(&perf, raw, sizeof(raw)));
	ue_perf_close(&perf);
}

TEST_F(user, scattered_payload)
{
	uint32_t index = 0, a = 11, b = 22;
	struct iovec io[5] = {
		{ (char *)&index, 1 }, { (char *)&index + 1, 3 }, { &a, 4 }, { NULL, 0 }, { &b, 4 },
	};

	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "vector u32 a; u32 b"));
	EXPECT_EQ(0, ue_enable("vector", true));
	EXPECT_EQ(12, ue_err(writev(self->fd, io, 5)));
	EXPECT_STREQ(" a=0xb (11) b=0x16 (22)", ue_last_record("vector"));
}

TEST_F(user, dropped_records_are_no_error)
{
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "dropped u32 a"));
	EXPECT_EQ(0, ue_enable("dropped", true));
	EXPECT_EQ(0, ue_put(UE_TRACEFS "/tracing_on", "0"));
	EXPECT_EQ(8, ue_write_u32(self->fd, 0, 1));
	EXPECT_EQ(0, ue_put(UE_TRACEFS "/tracing_on", "1"));
	EXPECT_EQ(0, ue_put(UE_EVENTS "/dropped/filter", "a == 5"));
	EXPECT_EQ(8, ue_write_u32(self->fd, 0, 2));
	EXPECT_EQ(8, ue_write_u32(self->fd, 0, 5));
	EXPECT_EQ(0, ue_put(UE_EVENTS "/dropped/filter", "0"));
	EXPECT_EQ(0, ue_put_flags(UE_TRACEFS "/set_event_pid", "1", O_TRUNC));
	EXPECT_EQ(8, ue_write_u32(self->fd, 0, 3));
	/* Dropped or not, it has to be readable. */
	EXPECT_EQ(-EFAULT, ue_writev(self->fd, 0, (void *)8, 8));
	EXPECT_EQ(0, ue_trunc(UE_TRACEFS "/set_event_pid"));
	EXPECT_EQ(1, ue_records("dropped"));
	EXPECT_STREQ(" a=0x5 (5)", ue_last_record("dropped"));
}

TEST_F(user, location_words)
{
	struct __attribute__((packed)) { uint32_t loc; char text[4]; } rec;
	static const struct {
		const char *what;
		uint32_t loc;
		const char *text;
		bool rel, ok;
	} cases[] = {
		{ "all of it", DYN_LOC(12, 4), "abc", false, true },
		{ "a part", DYN_LOC(13, 3), "abc", false, true },
		{ "one byte", DYN_LOC(15, 1), "abc", false, true },
		{ "no end", DYN_LOC(12, 3), "abc", false, false },
		{ "beyond by one", DYN_LOC(13, 4), "abc", false, false },
		{ "far beyond", DYN_LOC(12, 0xffff), "abc", false, false },
		{ "offset beyond", DYN_LOC(0xffff, 1), "abc", false, false },
		{ "rel: all of it", DYN_LOC(0, 4), "abc", true, true },
		{ "rel: a part", DYN_LOC(2, 2), "abc", true, true },
		{ "rel: no end", DYN_LOC(0, 3), "abc", true, false },
		{ "rel: beyond by one", DYN_LOC(1, 4), "abc", true, false },
		{ "rel: far beyond", DYN_LOC(0xffff, 0xffff), "abc", true, false },
	};
	int records = 0;

	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "data_loc __data_loc char[] s"));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 1, "rel_loc __rel_loc char[] s"));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 2, "no_text __data_loc u8[] s"));
	EXPECT_EQ(0, ue_put(UE_EVENTS "/enable", "1"));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		rec.loc = cases[i].loc;
		memcpy(rec.text, cases[i].text, 4);
		EXPECT_EQ(cases[i].ok ? 12 : -EFAULT, ue_write(self->fd, cases[i].rel, &rec, 8))
			TH_LOG("%s", cases[i].what);
		records += cases[i].ok;
	}
	/* The end of what is no text does not matter, its size does. */
	rec.loc = DYN_LOC(12, 3);
	EXPECT_EQ(12, ue_write(self->fd, 2, &rec, 8));
	rec.loc = DYN_LOC(12, 5);
	EXPECT_EQ(-EFAULT, ue_write(self->fd, 2, &rec, 8));
	EXPECT_EQ(records, ue_records("data_loc") + ue_records("rel_loc"));
	EXPECT_EQ(1, ue_records("no_text"));
}

TEST_F(user, io_uring)
{
	uint32_t index = 0, rec[2] = { 3, 4 };
	struct iovec io[2] = { { &index, sizeof(index) }, { rec, sizeof(rec) } };
	struct uring u;

	if (uring_open(&u))
		SKIP(return, "no io_uring");
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "unaligned u32 a; u32 b"));
	EXPECT_EQ(-EBADF, uring_writev(&u, self->fd, io, 2, 0));
	EXPECT_EQ(0, ue_enable("unaligned", true));
	EXPECT_EQ(12, uring_writev(&u, self->fd, io, 2, 0));
	EXPECT_EQ(12, uring_writev(&u, self->fd, io, 2, -1));
	EXPECT_EQ(-EINVAL, uring_writev(&u, self->fd, io, 1, 0));
	index = 7;
	EXPECT_EQ(-ENOENT, uring_writev(&u, self->fd, io, 2, 0));
	EXPECT_EQ(2, ue_records("unaligned"));
	EXPECT_STREQ(" a=0x3 (3) b=0x4 (4)", ue_last_record("unaligned"));
	/* No position is refused. */
	index = 0;
	EXPECT_EQ(12, uring_writev(&u, self->fd, io, 2, 4));
	EXPECT_EQ(3, ue_records("unaligned"));
}

TEST_F(user, position)
{
	uint32_t rec[2] = { 0, 7 };
	struct iovec io = { rec, sizeof(rec) };

	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "position u32 a"));
	ASSERT_EQ(0, ue_enable("position", true));
	EXPECT_EQ(8, ue_err(pwrite(self->fd, rec, sizeof(rec), 0)));
	EXPECT_EQ(8, ue_err(pwritev(self->fd, &io, 1, 0)));
	EXPECT_EQ(8, ue_err(pwritev(self->fd, &io, 1, 4)));
	EXPECT_EQ(8, ue_err(pwritev2(self->fd, &io, 1, 1, 0)));
	EXPECT_EQ(8, ue_err(pwritev2(self->fd, &io, 1, -1, 0)));
	EXPECT_EQ(8, ue_err(write(self->fd, rec, sizeof(rec))));
	EXPECT_EQ(6, ue_records("position"));
}

TEST_F(user, page_that_is_not_there)
{
	char *m = mmap(NULL, 2 * UE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec io[2];
	uint32_t index = 0;

	ASSERT_NE(MAP_FAILED, (void *)m);
	ASSERT_EQ(0, munmap(m + UE_PAGE, UE_PAGE));
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "half_page u32 a"));
	ASSERT_EQ(0, ue_enable("half_page", true));
	io[0] = (struct iovec) { &index, sizeof(index) };
	io[1] = (struct iovec) { m + UE_PAGE - 16, 32 };
	EXPECT_EQ(-EFAULT, ue_err(writev(self->fd, io, 2)));
	EXPECT_EQ(0, ue_records("half_page"));
}

TEST_F(user, file_travels)
{
	/* Any holder of the file may write: another process, a copy. */
	int copy, status;
	pid_t pid;

	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "two_files u32 a"));
	EXPECT_EQ(0, ue_enable("two_files", true));
	copy = dup(self->fd);
	EXPECT_EQ(8, ue_write_u32(copy, 0, 1));
	pid = fork();
	if (!pid)
		exit(ue_write_u32(copy, 0, 2) == 8 ? 0 : 1);
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
	EXPECT_EQ(2, ue_records("two_files"));
	close(copy);
}

/* Which events are the same. */

TEST_F(user, matching)
{
	static const struct {
		const char *desc;
		int ret;
	} cases[] = {
		{ "same u32 a;u32 b", 0 },
		{ "same u32 a; u32 b", 0 },
		{ "same u32 a; u32 b;", 0 },
		{ "same u32  a;  u32 b", 0 },
		{ "same u32\ta;\nu32 b", 0 },
		{ "same", -EADDRINUSE },
		{ "same u32 a", -EADDRINUSE },
		{ "same u32 b; u32 a", -EADDRINUSE },
		{ "same u32 a; u64 b", -EADDRINUSE },
		{ "same u32 a; u32 b; u32 c", -EADDRINUSE },
		{ "same nonsense", -EADDRINUSE },
		{ "same_struct struct s a 8", 0 },
		{ "same_struct struct s a 8;", 0 },
		{ "same_struct struct s a 9", -EADDRINUSE },
		{ "same_struct struct t a 8", -EADDRINUSE },
		{ "same_unsigned unsigned int a", 0 },
		{ "same_unsigned unsigned  int a", 0 },
		{ "same_unsigned u32 a", -EADDRINUSE },
		{ "same_empty", 0 },
		{ "same_empty ", 0 },
		{ "same_empty u32 a", -EADDRINUSE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		EXPECT_EQ(cases[i].ret, ue_reg(self->fd, &self->w[0], i, cases[i].desc))
			TH_LOG("[%s]", cases[i].desc);
	}
	EXPECT_EQ(4, ue_count(ue_slurp(UE_DYN), "u:same"));
}

TEST_F(user, limit_of_events)
{
	EXPECT_EQ(0, ue_put(UE_DYN, "u:within u32 a"));
	EXPECT_EQ(0, ue_put("/proc/sys/kernel/user_events_max", "1"));
	EXPECT_EQ(-EMFILE, ue_reg(self->fd, &self->w[0], 0, "beyond u32 a"));
	EXPECT_EQ(-EMFILE, ue_put(UE_DYN, "u:beyond u32 a"));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "within u32 a"));
	EXPECT_EQ(-EMFILE, ue_reg_flags(self->fd, &self->w[0], 1, USER_EVENT_REG_MULTI_FORMAT, "within u32 a"));
	EXPECT_EQ(-EINVAL, ue_put("/proc/sys/kernel/user_events_max", "-1"));
	EXPECT_EQ(0, ue_put("/proc/sys/kernel/user_events_max", "32768"));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 2, "beyond u32 a"));
}

/* user_events_status. */

TEST_F(user, status_file)
{
	struct ue_perf perf;

	EXPECT_STREQ("\nActive: 0\nBusy: 0\n", ue_slurp(UE_STATUS));
	EXPECT_EQ(0, ue_put(UE_DYN, "u:one u32 a"));
	EXPECT_STREQ("one\n\nActive: 1\nBusy: 0\n", ue_slurp(UE_STATUS));
	EXPECT_EQ(0, ue_enable("one", true));
	EXPECT_STREQ("one # Used by ftrace\n\nActive: 1\nBusy: 1\n", ue_slurp(UE_STATUS));
	ASSERT_EQ(0, ue_perf_open(&perf, "one"));
	EXPECT_STREQ("one # Used by ftrace perf", ue_status("one"));
	EXPECT_EQ(0, ue_enable("one", false));
	EXPECT_STREQ("one # Used by perf", ue_status("one"));
	ue_perf_close(&perf);
	EXPECT_TRUE(ue_poll(!strcmp("one", ue_status("one"))));
	/* A trigger listens as well. */
	EXPECT_EQ(0, ue_put(UE_EVENTS "/one/trigger", "stacktrace"));
	EXPECT_STREQ("one # Used by ftrace", ue_status("one"));
	EXPECT_EQ(0, ue_put(UE_EVENTS "/one/trigger", "!stacktrace"));
	EXPECT_STREQ("one", ue_status("one"));
}

TEST_F(user, status_is_read_in_pieces)
{
	const char *all = "one\n\nActive: 1\nBusy: 0\n";
	char text[64] = "";
	int fd;

	EXPECT_EQ(0, ue_put(UE_DYN, "u:one u32 a"));
	fd = open(UE_STATUS, O_RDONLY);
	ASSERT_LE(0, fd);
	for (size_t n = 0; n < strlen(all); n++)
		ASSERT_EQ(1, read(fd, text + n, 1));
	EXPECT_EQ(0, read(fd, text, 1));
	EXPECT_STREQ(all, text);
	/* From anywhere, and anew. */
	EXPECT_EQ(4, lseek(fd, 4, SEEK_SET));
	EXPECT_EQ(strlen(all) - 4, read(fd, text, sizeof(text)));
	EXPECT_EQ(0, memcmp(all + 4, text, strlen(all) - 4));
	EXPECT_EQ(0, lseek(fd, 0, SEEK_SET));
	EXPECT_EQ(0, ue_enable("one", true));
	EXPECT_LT(0, read(fd, text, sizeof(text)));
	EXPECT_EQ(0, strncmp("one # Used by ftrace\n", text, 21));
	EXPECT_EQ(-EBADF, ue_err(write(fd, "", 1)));
	EXPECT_EQ(-EINVAL, ue_err(lseek(fd, 0, SEEK_END)));
	close(fd);
}

/* dynamic_events. */

TEST_F(user, create_and_list)
{
	EXPECT_EQ(0, ue_put(UE_DYN, "u:made_a u32 a; u64 b"));
	EXPECT_EQ(0, ue_put(UE_DYN, "u: made_b char[4] s;struct x y 12"));
	EXPECT_EQ(0, ue_put(UE_DYN, "u:made_c"));
	EXPECT_EQ(0, ue_put(UE_DYN, "# a comment"));
	EXPECT_EQ(0, ue_put(UE_DYN, "u:made_d u32 a# comment"));
	/* The blank in front of a comment is part of the field. */
	EXPECT_EQ(-EINVAL, ue_put(UE_DYN, "u:made_e u32 a # comment"));
	/* It is there already. */
	EXPECT_EQ(0, ue_put(UE_DYN, "u:made_a u32 a; u64 b"));
	EXPECT_EQ(-EADDRINUSE, ue_put(UE_DYN, "u:made_a u32 a; u32 b"));
	EXPECT_EQ(-EINVAL, ue_put(UE_DYN, "u:made_e long a"));
	EXPECT_EQ(-EINVAL, ue_put(UE_DYN, "u:made_e: u32 a"));
	EXPECT_EQ(-EINVAL, ue_put(UE_DYN, "q:made_e u32 a"));
	EXPECT_NE(NULL, strstr(ue_slurp(UE_TRACEFS "/error_log"), "No matching dynamic event type"));
	EXPECT_STREQ("u:made_a u32 a; u64 b\n"
		     "u:made_b char[4] s; struct x y 12\n"
		     "u:made_c\n"
		     "u:made_d u32 a\n", ue_slurp(UE_DYN));
	/* Several at once, a line each. */
	EXPECT_EQ(0, ue_put(UE_DYN, "u:made_f u32 a\nu:made_g u32 b\n"));
	EXPECT_EQ(6, ue_count(ue_slurp(UE_DYN), "u:"));
}

#define LONGEST_LINE	4095	/* The buffer of dynamic_events has room for it and a NUL. */

/* Writes a line of @len bytes: fields of 4 bytes, the last of which has the longest name. */
static void long_line(char *line, const char *name, int len)
{
	int n = sprintf(line, "u:%s u32 f000", name);

	for (int i = 1; n + 50 < len; i++)
		n += sprintf(line + n, "; u32 f%03d", i);
	n += sprintf(line + n, "; u32 last_");
	memset(line + n, 'x', len - n);
	line[len] = '\0';
}

TEST_F(user, longest_line)
{
	char line[LONGEST_LINE + 2], text[LONGEST_LINE + 3], last[64];

	/* At the end of what is written. */
	long_line(line, "long_line", LONGEST_LINE + 1);
	EXPECT_EQ(-EINVAL, ue_put(UE_DYN, line));
	EXPECT_STREQ("", ue_slurp(UE_DYN));
	long_line(line, "long_line", LONGEST_LINE);
	EXPECT_EQ(0, ue_put(UE_DYN, line));
	snprintf(text, sizeof(text), "%s\n", line);
	EXPECT_STREQ(text, ue_slurp(UE_DYN));
	snprintf(last, sizeof(last), "\tfield:%s;\t", strrchr(line, ';') + 2);
	EXPECT_EQ(1, ue_count(ue_slurp(UE_EVENTS "/long_line/format"), last)) TH_LOG("%s", last);
	EXPECT_EQ(0, ue_del(self->fd, "long_line"));

	/* The newline counts. */
	long_line(line, "long_line", LONGEST_LINE);
	snprintf(text, sizeof(text), "%s\n", line);
	EXPECT_EQ(-EINVAL, ue_put(UE_DYN, text));
	EXPECT_STREQ("", ue_slurp(UE_DYN));
	long_line(line, "long_line", LONGEST_LINE - 1);
	snprintf(text, sizeof(text), "%s\n", line);
	EXPECT_EQ(0, ue_put(UE_DYN, text));
	EXPECT_STREQ(text, ue_slurp(UE_DYN));
}

TEST_F(user, delete_by_command)
{
	EXPECT_EQ(0, ue_put(UE_DYN, "u:by_fields u32 a; u64 b"));
	EXPECT_EQ(0, ue_put(UE_DYN, "u:by_group char[4] s"));
	EXPECT_EQ(0, ue_put(UE_DYN, "u:in_use"));
	EXPECT_EQ(0, ue_put(UE_DYN, "u:by_bang"));
	EXPECT_EQ(-EINVAL, ue_put(UE_DYN, "-in_use"));
	EXPECT_EQ(-ENOENT, ue_put(UE_DYN, "-:wrong/in_use"));
	EXPECT_EQ(-ENOENT, ue_put(UE_DYN, "-:by_fields u32 a; u32 b"));
	EXPECT_EQ(0, ue_put(UE_DYN, "-:by_fields u32 a; u64 b"));
	EXPECT_EQ(-ENOENT, ue_put(UE_DYN, "-:by_fields u32 a; u64 b"));
	EXPECT_EQ(0, ue_put(UE_DYN, "-:user_events/by_group char[4] s"));
	EXPECT_EQ(0, ue_put(UE_DYN, "!u:by_bang"));
	EXPECT_EQ(0, ue_enable("in_use", true));
	EXPECT_EQ(-EBUSY, ue_put(UE_DYN, "-:in_use"));
	EXPECT_EQ(0, ue_enable("in_use", false));
	EXPECT_EQ(0, ue_put(UE_DYN, "-:user_events_multi/in_use"));
	EXPECT_STREQ("", ue_slurp(UE_DYN));
}

TEST_F(user, truncate_removes_all)
{
	EXPECT_EQ(0, ue_put(UE_DYN, "u:stays u32 a"));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "registered u32 a"));
	/* All or nothing. */
	EXPECT_EQ(-EBUSY, ue_trunc(UE_DYN));
	EXPECT_EQ(2, ue_count(ue_slurp(UE_DYN), "u:"));
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
	close(self->fd);
	self->fd = ue_open();
	EXPECT_TRUE(ue_gone("registered"));
	EXPECT_EQ(0, ue_trunc(UE_DYN));
	EXPECT_STREQ("", ue_slurp(UE_DYN));
}

/* Life time, deletion, unregistration. */

TEST_F(user, auto_delete)
{
	int other = ue_open();

	/* A file, an enable word and a listener each hold it. */
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "unused u32 a"));
	EXPECT_EQ(0, ue_reg(other, &self->w[0], 1, "unused u32 a"));
	EXPECT_EQ(0, ue_enable("unused", true));
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[0], 1));
	close(other);
	close(self->fd);
	self->fd = ue_open();
	usleep(100000);
	EXPECT_TRUE(ue_exists("unused"));
	EXPECT_EQ(0, ue_enable("unused", false));
	EXPECT_TRUE(ue_gone("unused"));
	EXPECT_STREQ("", ue_status("unused"));

	/* The enable word alone does. */
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "unused u32 a"));
	close(self->fd);
	self->fd = ue_open();
	usleep(100000);
	EXPECT_TRUE(ue_exists("unused"));
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
	EXPECT_TRUE(ue_gone("unused"));

	/* Registered again before it is removed. */
	for (int i = 0; i < 50; i++) {
		int fd = ue_open();

		ASSERT_EQ(0, ue_reg(fd, &self->w[0], 0, "unused u32 a"));
		ASSERT_EQ(0, ue_unreg(fd, &self->w[0], 0));
		close(fd);
	}
	EXPECT_TRUE(ue_gone("unused"));
}

TEST_F(user, persistent)
{
	EXPECT_EQ(0, ue_reg_flags(self->fd, &self->w[0], 0, USER_EVENT_REG_PERSIST, "persists u32 a"));
	EXPECT_EQ(-EBUSY, ue_del(self->fd, "persists"));
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
	close(self->fd);
	self->fd = ue_open();
	usleep(100000);
	EXPECT_TRUE(ue_exists("persists"));
	EXPECT_EQ(0, ue_enable("persists", true));
	EXPECT_EQ(-EBUSY, ue_del(self->fd, "persists"));
	EXPECT_EQ(0, ue_enable("persists", false));
	EXPECT_EQ(0, ue_del_wait(self->fd, "persists"));
	EXPECT_FALSE(ue_exists("persists"));
}

TEST_F(user, trigger_target_is_busy)
{
	/* enable_event is a reference even before it has fired. */
	ASSERT_EQ(0, ue_put(UE_DYN, "u:target u32 a"));
	ASSERT_EQ(0, ue_put(UE_DYN, "u:source u32 a"));
	ASSERT_EQ(0, ue_put(UE_EVENTS "/source/trigger", "enable_event:user_events:target"));
	EXPECT_EQ(-EBUSY, ue_del(self->fd, "target"));
	EXPECT_EQ(-EBUSY, ue_put(UE_DYN, "-:target u32 a"));
	EXPECT_TRUE(ue_exists("target"));
	ASSERT_EQ(0, ue_put(UE_EVENTS "/source/trigger", "!enable_event:user_events:target"));
	EXPECT_EQ(0, ue_del_wait(self->fd, "target"));
}

TEST_F(user, delete_arguments)
{
	char name[600];

	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	EXPECT_EQ(-ENOENT, ue_del(self->fd, "none"));
	EXPECT_EQ(-EINVAL, ue_del(self->fd, name));
	EXPECT_EQ(-EFAULT, ue_del(self->fd, NULL));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "deleted u32 a"));
	EXPECT_EQ(-EBUSY, ue_del(self->fd, "deleted"));
	/* The whole name, and no more than it. */
	EXPECT_EQ(-ENOENT, ue_del(self->fd, "deleted u32 a"));
	EXPECT_EQ(-ENOENT, ue_del(self->fd, "delete"));
}

TEST_F(user, unregister_is_validated)
{
	struct {
		struct user_unreg unreg;
		uint8_t tail[UE_PAGE];
	} arg = { .unreg = { .disable_bit = 3, .disable_addr = (uintptr_t)self->w } };
	const struct {
		uint32_t size;
		int r1, r2, ret;
	} cases[] = {
		{ 0, 0, 0, -EINVAL }, { 15, 0, 0, -EINVAL }, { getpagesize() + 1, 0, 0, -E2BIG },
		{ 16, 1, 0, -EINVAL }, { 16, 0, 1, -EINVAL }, { 16, 255, 65535, -EINVAL },
	};
	int other = ue_open();

	/* Nothing is registered at all. */
	EXPECT_EQ(-ENOENT, ue_unreg(self->fd, &self->w[0], 3));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 3, "unregistered u32 a"));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		arg.unreg.size = cases[i].size;
		arg.unreg.__reserved = cases[i].r1;
		arg.unreg.__reserved2 = cases[i].r2;
		EXPECT_EQ(cases[i].ret, ue_err(ioctl(self->fd, DIAG_IOCSUNREG, &arg)));
	}
	EXPECT_EQ(-EFAULT, ue_err(ioctl(self->fd, DIAG_IOCSUNREG, NULL)));
	EXPECT_EQ(-ENOENT, ue_unreg(self->fd, &self->w[0], 4));
	EXPECT_EQ(-ENOENT, ue_unreg(self->fd, &self->w[1], 3));
	/* Any file of the process will do, and a longer structure. */
	arg.unreg = (struct user_unreg) {
		.size = getpagesize(), .disable_bit = 3, .disable_addr = (uintptr_t)self->w,
	};
	EXPECT_EQ(0, ue_err(ioctl(other, DIAG_IOCSUNREG, &arg)));
	EXPECT_EQ(-ENOENT, ue_unreg(self->fd, &self->w[0], 3));
	close(other);
}

/* Enable words and the life of processes. */

TEST_F(user, other_bits_stay)
{
	self->w[0] = 0x55555555;
	self->w[1] = 0xaaaaaaaa;
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 31, "bits u32 a"));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[1], 0, "bits u32 a"));
	EXPECT_EQ(0, ue_reg_full(self->fd, &self->w[2], 40, 8, 0, "bits u32 a", NULL));
	EXPECT_EQ(0, ue_enable("bits", true));
	EXPECT_EQ(0xd5555555, self->w[0]);
	EXPECT_EQ(0xaaaaaaab, self->w[1]);
	EXPECT_EQ(1ull << 40, *(volatile uint64_t *)&self->w[2]);
	EXPECT_EQ(0, ue_enable("bits", false));
	EXPECT_EQ(0x55555555, self->w[0]);
	EXPECT_EQ(0xaaaaaaaa, self->w[1]);
	/* A bit that is set at registration shows the state at once. */
	self->w[4] = 0xffffffff;
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[4], 7, "bits u32 a"));
	EXPECT_EQ(0xffffff7f, self->w[4]);
	EXPECT_EQ(0, ue_enable("bits", true));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[5], 7, "bits u32 a"));
	EXPECT_EQ(0x80, self->w[5]);
}

TEST_F(user, enable_bits_after_fork)
{
	int status, step[2];
	char c;
	pid_t pid;

	ASSERT_EQ(0, pipe(step));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "forked u32 a"));
	EXPECT_EQ(0, ue_enable("forked", true));
	pid = fork();
	if (!pid) {
		int bad = 0;

		/*
		 * The child has its own copy of the word, and it is kept. The
		 * page is shared until it is written to: that may take a moment.
		 */
		bad |= !ue_poll(self->w[0] == 1) << 0;
		bad |= (ue_enable("forked", false) != 0) << 1;
		bad |= !ue_poll(self->w[0] == 0) << 2;
		bad |= (ue_reg(self->fd, &self->w[0], 0, "forked u32 a") != -EADDRINUSE) << 3;
		bad |= (ue_enable("forked", true) != 0) << 4;
		bad |= !ue_poll(self->w[0] == 1) << 5;
		bad |= (ue_unreg(self->fd, &self->w[0], 0) != 0) << 6;
		bad |= (self->w[0] != 0 || ue_unreg(self->fd, &self->w[0], 0) != -ENOENT) << 7;
		exit(bad);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, WEXITSTATUS(status)) TH_LOG("step bits 0x%x", WEXITSTATUS(status));
	EXPECT_TRUE(ue_poll(self->w[0] == 1));
	EXPECT_EQ(0, ue_enable("forked", false));
	EXPECT_TRUE(ue_poll(self->w[0] == 0));

	/* Both see a change that another task caused. */
	pid = fork();
	if (!pid) {
		while (!self->w[0])
			usleep(100);
		exit(read(step[0], &c, 1) == 1 && self->w[0] == 1 ? 0 : 1);
	}
	EXPECT_EQ(0, ue_enable("forked", true));
	EXPECT_TRUE(ue_poll(self->w[0] == 1));
	EXPECT_EQ(1, write(step[1], "x", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(1, self->w[0]);
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
}

static void *return_nothing(void *arg)
{
	return NULL;
}

TEST_F(user, threads_share)
{
	pthread_t t;

	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "threads u32 a"));
	/* The end of a thread takes nothing away. */
	ASSERT_EQ(0, pthread_create(&t, NULL, return_nothing, NULL));
	pthread_join(t, NULL);
	EXPECT_EQ(0, ue_enable("threads", true));
	EXPECT_EQ(1, self->w[0]);
	/* Nor does vfork with its exec. */
	EXPECT_EQ(0, system("true"));
	EXPECT_EQ(0, ue_enable("threads", false));
	EXPECT_TRUE(ue_poll(self->w[0] == 0));
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
}

TEST_F(user, exec_and_exit)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		int fd = ue_open();

		if (ue_reg(fd, &self->w[0], 0, "execs u32 a"))
			exit(1);
		/* The file does not survive the exec, nor do the words. */
		execlp("sh", "sh", "-c", "sleep 100", NULL);
		exit(2);
	}
	EXPECT_TRUE(ue_poll(ue_exists("execs")));
	EXPECT_TRUE(ue_gone("execs"));
	EXPECT_EQ(0, kill(pid, 0));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);

	/* The file survives here: it holds the event and can be written to. */
	pid = fork();
	if (!pid) {
		int fd = open(UE_DATA, O_RDWR);
		char cmd[200];

		if (fd < 0 || ue_reg(fd, &self->w[0], 0, "execs u32 a") || ue_enable("execs", true))
			exit(1);
		snprintf(cmd, sizeof(cmd), "printf '\\0\\0\\0\\0\\7\\0\\0\\0' >&%d", fd);
		execlp("bash", "bash", "-c", cmd, NULL);
		exit(2);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_STREQ(" a=0x7 (7)", ue_last_record("execs"));
	EXPECT_EQ(0, ue_enable("execs", false));
	EXPECT_TRUE(ue_gone("execs"));

	/* A process that is killed leaves nothing. */
	pid = fork();
	if (!pid) {
		ue_reg(ue_open(), &self->w[0], 0, "killed u32 a");
		pause();
	}
	EXPECT_TRUE(ue_poll(ue_exists("killed")));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	EXPECT_TRUE(ue_gone("killed"));
}

TEST_F(user, page_comes_and_goes)
{
	volatile uint32_t *w = self->w + UE_PAGE / 4;

	/* Never touched: faulted in at registration. */
	EXPECT_EQ(0, ue_reg(self->fd, w, 0, "paged u32 a"));
	/* Given back: faulted in again in the background. */
	EXPECT_EQ(0, madvise((void *)w, UE_PAGE, MADV_DONTNEED));
	EXPECT_EQ(0, ue_enable("paged", true));
	EXPECT_TRUE(ue_poll(*w == 1));
	EXPECT_EQ(0, madvise((void *)w, UE_PAGE, MADV_DONTNEED));
	EXPECT_EQ(0, ue_unreg(self->fd, w, 0));
	EXPECT_EQ(0, *w);

	/* Not writable for a while: the next change after that is written. */
	EXPECT_EQ(0, ue_enable("paged", false));
	EXPECT_EQ(0, ue_reg(self->fd, w, 0, "paged u32 a"));
	EXPECT_EQ(0, mprotect((void *)w, UE_PAGE, PROT_READ));
	EXPECT_EQ(0, ue_enable("paged", true));
	EXPECT_EQ(0, ue_enable("paged", false));
	/* Both attempts have failed by then. */
	usleep(300000);
	EXPECT_EQ(0, mprotect((void *)w, UE_PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(0, *w);
	EXPECT_EQ(0, ue_enable("paged", true));
	EXPECT_TRUE(ue_poll(*w == 1));
	EXPECT_EQ(0, ue_unreg(self->fd, w, 0));
	EXPECT_EQ(0, *w);
}

static void *map_loop(void *arg)
{
	volatile bool *stop = arg;
	size_t len = 4 << 20;

	while (!*stop) {
		/* Filling and emptying it keeps the address space busy for long. */
		char *m = mmap(NULL, len, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (m != MAP_FAILED)
			munmap(m, len);
	}
	return NULL;
}

TEST_F(user, busy_address_space)
{
	volatile bool stop = false;
	pthread_t t;

	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "busy u32 a"));
	ASSERT_EQ(0, pthread_create(&t, NULL, map_loop, (void *)&stop));
	for (int i = 1; i <= 30; i++) {
		ASSERT_EQ(0, ue_enable("busy", i % 2));
		/* At once if it can be, and never much later. */
		ASSERT_TRUE(ue_poll_ms(self->w[0] == i % 2, 2000)) TH_LOG("round %d", i);
	}
	stop = true;
	pthread_join(t, NULL);
}

TEST_F(user, shared_memory)
{
	volatile uint32_t *w;
	int mem = syscall(__NR_memfd_create, "ue", 0);

	ASSERT_LE(0, mem);
	ASSERT_EQ(0, ftruncate(mem, UE_PAGE));
	w = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, mem, 0);
	ASSERT_NE(MAP_FAILED, (void *)w);
	EXPECT_EQ(0, ue_reg(self->fd, &w[3], 9, "shared u32 a"));
	EXPECT_EQ(0, ue_enable("shared", true));
	EXPECT_EQ(0x200, w[3]);
	EXPECT_EQ(0, ue_unreg(self->fd, &w[3], 9));
	EXPECT_EQ(0, w[3]);
	munmap((void *)w, UE_PAGE);
	close(mem);
}

/* The tracing features on top. */

TEST_F(user, trace_instances)
{
	const char *in = UE_TRACEFS "/instances/ue_inside/events/user_events/inside/enable";

	mkdir(UE_TRACEFS "/instances/ue_inside", 0750);
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "inside u32 a"));
	EXPECT_EQ(0, ue_put(in, "1"));
	EXPECT_EQ(1, self->w[0]);
	EXPECT_EQ(8, ue_write_u32(self->fd, 0, 1));
	EXPECT_EQ(0, ue_enable("inside", true));
	EXPECT_EQ(8, ue_write_u32(self->fd, 0, 2));
	EXPECT_EQ(0, ue_put(in, "0"));
	EXPECT_EQ(1, self->w[0]);
	EXPECT_EQ(8, ue_write_u32(self->fd, 0, 3));
	EXPECT_EQ(2, ue_records("inside"));
	EXPECT_EQ(2, ue_records_in("instances/ue_inside/", "inside"));
	EXPECT_EQ(0, ue_enable("inside", false));
	EXPECT_EQ(0, self->w[0]);
	EXPECT_EQ(0, ue_put(in, "1"));
	EXPECT_EQ(0, rmdir(UE_TRACEFS "/instances/ue_inside"));
	EXPECT_TRUE(ue_poll(self->w[0] == 0));
}

TEST_F(user, filters_and_histograms)
{
	struct __attribute__((packed)) { uint32_t k; int16_t d; char s[4]; } rec = { 0, 0, "ab" };

	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "counted u32 k; s16 d; char[4] s"));
	EXPECT_EQ(0, ue_put(UE_EVENTS "/counted/trigger", "hist:keys=k:vals=d"));
	/* A trigger alone listens, and records nothing. */
	EXPECT_EQ(1, self->w[0]);
	rec.k = 7;
	rec.d = 40;
	EXPECT_EQ(14, ue_write(self->fd, 0, &rec, sizeof(rec)));
	rec.d = 2;
	EXPECT_EQ(14, ue_write(self->fd, 0, &rec, sizeof(rec)));
	EXPECT_EQ(0, ue_records("counted"));
	EXPECT_NE(NULL, strstr(ue_slurp(UE_EVENTS "/counted/hist"),
			       "{ k:          7 } hitcount:          2  d:         42"));
	EXPECT_EQ(0, ue_put(UE_EVENTS "/counted/filter", "d < 0 && s == \"ab\""));
	EXPECT_EQ(0, ue_enable("counted", true));
	EXPECT_EQ(14, ue_write(self->fd, 0, &rec, sizeof(rec)));
	rec.d = -3;
	EXPECT_EQ(14, ue_write(self->fd, 0, &rec, sizeof(rec)));
	EXPECT_EQ(1, ue_records("counted"));
	EXPECT_EQ(0, ue_put(UE_EVENTS "/counted/trigger", "!hist:keys=k:vals=d"));
	EXPECT_EQ(0, ue_enable("counted", false));
	EXPECT_EQ(0, self->w[0]);
}

/* Fields that are neither numbers of 1, 2, 4 or 8 bytes nor text cannot be compared. */
TEST_F(user, filter_on_a_field_without_order)
{
	struct __attribute__((packed)) { uint8_t s[3]; uint32_t k; } rec = { { 1, 0, 0 }, 7 };

	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "odd struct odd s 3; u32 k"));
	EXPECT_EQ(0, ue_enable("odd", true));
	EXPECT_EQ(0, ue_put(UE_EVENTS "/odd/filter", "k == 7"));
	EXPECT_EQ(11, ue_write(self->fd, 0, &rec, sizeof(rec)));
	EXPECT_EQ(1, ue_records("odd"));
	/* Accepted, and never true. */
	EXPECT_EQ(0, ue_put(UE_EVENTS "/odd/filter", "s == 1"));
	EXPECT_EQ(11, ue_write(self->fd, 0, &rec, sizeof(rec)));
	EXPECT_EQ(1, ue_records("odd"));
}

TEST_F(user, set_event)
{
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "listed u32 a"));
	EXPECT_NE(NULL, strstr(ue_slurp(UE_TRACEFS "/available_events"), "user_events:listed\n"));
	EXPECT_EQ(0, ue_put(UE_TRACEFS "/set_event", "user_events:listed"));
	EXPECT_EQ(1, self->w[0]);
	EXPECT_EQ(0, ue_put(UE_TRACEFS "/set_event", "!user_events:"));
	EXPECT_EQ(0, self->w[0]);
	EXPECT_EQ(0, ue_put(UE_EVENTS "/enable", "1"));
	EXPECT_EQ(1, self->w[0]);
	EXPECT_STREQ("1\n", ue_slurp(UE_EVENTS "/listed/enable"));
	EXPECT_EQ(0, ue_put(UE_EVENTS "/enable", "0"));
	EXPECT_EQ(0, self->w[0]);
}

TEST_F(user, perf_and_ftrace_together)
{
	struct ue_perf perf;
	uint32_t raw[16];

	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "both u32 a"));
	ASSERT_EQ(0, ue_perf_open(&perf, "both"));
	EXPECT_EQ(1, self->w[0]);
	EXPECT_EQ(8, ue_write_u32(self->fd, 0, 1));
	EXPECT_EQ(0, ue_enable("both", true));
	EXPECT_EQ(8, ue_write_u32(self->fd, 0, 2));
	EXPECT_LT(0, ue_perf_next(&perf, raw, sizeof(raw)));
	EXPECT_EQ(1, raw[2]);
	EXPECT_LT(0, ue_perf_next(&perf, raw, sizeof(raw)));
	EXPECT_EQ(2, raw[2]);
	EXPECT_EQ(-ENOENT, ue_perf_next(&perf, raw, sizeof(raw)));
	ue_perf_close(&perf);
	EXPECT_EQ(8, ue_write_u32(self->fd, 0, 3));
	EXPECT_EQ(2, ue_records("both"));
	EXPECT_EQ(1, self->w[0]);
	EXPECT_EQ(0, ue_enable("both", false));
	EXPECT_EQ(0, self->w[0]);
}

/* Opens an event for perf without privilege, in a child that writes a record then. */
static int perf_unprivileged(int fd, volatile uint32_t *w, const char *event)
{
	struct ue_perf perf;
	uint32_t raw[16];
	int status, ret;
	pid_t pid = fork();

	if (!pid) {
		if (drop_privilege())
			_exit(255);
		ret = ue_perf_open(&perf, event);
		if (ret < 0) {
			if (strcmp(event, ue_status(event)) || *w)
				_exit(254);
			/* The event has no listener. */
			if (ue_write_u32(fd, 0, 5) != -EBADF)
				_exit(251);
			_exit(-ret);
		}
		/* The page of the word is shared until it is written to. */
		if (!ue_poll(*w == 1) || ue_write_u32(fd, 0, 5) != 8)
			_exit(253);
		if (ue_perf_next(&perf, raw, sizeof(raw)) < 0 || raw[2] != 5)
			_exit(252);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1000;
	return -WEXITSTATUS(status);
}

TEST_F(user, perf_without_privilege)
{
	const char *paranoid = "/proc/sys/kernel/perf_event_paranoid";
	struct perf_event_attr count = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(count),
	};
	char before[16];
	int status;
	pid_t pid;

	if (!ue_has_perf())
		SKIP(return, "there is no perf");
	snprintf(before, sizeof(before), "%s", ue_slurp(paranoid));
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "unprivileged u32 a"));
	count.config = ue_event_id("unprivileged");
	ASSERT_EQ(0, ue_put(paranoid, "1"));
	EXPECT_EQ(-EPERM, perf_unprivileged(self->fd, self->w, "unprivileged"));
	EXPECT_EQ(0, self->w[0]);
	/* Counting shows no data. */
	pid = fork();
	if (!pid) {
		if (drop_privilege() || syscall(__NR_perf_event_open, &count, 0, -1, -1, 0) < 0)
			_exit(1);
		_exit(!ue_poll(self->w[0] == 1));
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_TRUE(ue_poll(self->w[0] == 0));
	EXPECT_EQ(0, ue_put(paranoid, "-1"));
	EXPECT_EQ(0, perf_unprivileged(self->fd, self->w, "unprivileged"));
	EXPECT_EQ(0, ue_put(paranoid, before));
	EXPECT_TRUE(ue_poll(!strcmp("unprivileged", ue_status("unprivileged"))));
	EXPECT_TRUE(ue_poll(self->w[0] == 0));
}

/* A buffer that a process has mapped takes no snapshots, and one that takes them is not mapped. */
TEST_F(user, mapped_buffer_and_snapshots)
{
	static const char * const triggers[] = {
		"snapshot", "hist:keys=k:m=v:onmax($m).snapshot()",
	};
	const char *in = UE_TRACEFS "/instances/ue_a13m";
	char trigger[256], remove[128];
	int fd;
	void *m;

	if (access(UE_TRACEFS "/snapshot", F_OK))
		SKIP(return, "no snapshots in this kernel");
	ASSERT_EQ(0, ue_put(UE_DYN, "u:mapped u32 k; u32 v"));
	ASSERT_EQ(0, mkdir(in, 0750));
	snprintf(trigger, sizeof(trigger), "%s/events/user_events/mapped/trigger", in);
	fd = open(ue_path("%s/per_cpu/cpu0/trace_pipe_raw", in), O_RDONLY);
	ASSERT_LE(0, fd);
	for (size_t i = 0; i < ARRAY_SIZE(triggers); i++) {
		/* The page that says how the buffer is laid out. */
		m = mmap(NULL, getpagesize(), PROT_READ, MAP_SHARED, fd, 0);
		ASSERT_NE(MAP_FAILED, m) TH_LOG("%d", errno);
		EXPECT_EQ(-EBUSY, ue_put(trigger, triggers[i])) TH_LOG("%s", triggers[i]);
		EXPECT_EQ('#', *ue_slurp(trigger)) TH_LOG("%s", triggers[i]);
		EXPECT_EQ(0, munmap(m, getpagesize()));

		EXPECT_EQ(0, ue_put(trigger, triggers[i])) TH_LOG("%s", triggers[i]);
		m = mmap(NULL, getpagesize(), PROT_READ, MAP_SHARED, fd, 0);
		EXPECT_EQ(-EBUSY, m == MAP_FAILED ? -errno : 0) TH_LOG("%s", triggers[i]);
		snprintf(remove, sizeof(remove), "!%s", triggers[i]);
		EXPECT_EQ(0, ue_put(trigger, remove)) TH_LOG("%s", triggers[i]);
	}
	close(fd);
	EXPECT_EQ(0, ue_err(rmdir(in)));
	EXPECT_EQ(0, ue_del_wait(self->fd, "mapped"));
}

/* Odd input that both implementations take the same way. */

TEST_F(user, offset_may_alias_the_header)
{
	struct __attribute__((packed)) { uint32_t loc; char text[4]; } rec = { 0, "abc" };

	/* Offsets count from the record, not from the payload. */
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "aliased __data_loc u8[] s"));
	EXPECT_EQ(0, ue_enable("aliased", true));
	rec.loc = DYN_LOC(0, 16);
	EXPECT_EQ(12, ue_write(self->fd, 0, &rec, sizeof(rec)));
	rec.loc = DYN_LOC(0, 17);
	EXPECT_EQ(-EFAULT, ue_write(self->fd, 0, &rec, sizeof(rec)));
	EXPECT_EQ(1, ue_records("aliased"));
}

TEST_F(user, index_belongs_to_the_open_file)
{
	int pair[2], received = -1;
	char control[CMSG_SPACE(sizeof(int))] = {}, byte = 0;
	struct iovec io = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &io, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	/* Through a socket, as runtimes get the file of a collector. */
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "indexed u32 a"));
	EXPECT_EQ(0, ue_enable("indexed", true));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &self->fd, sizeof(int));
	ASSERT_EQ(1, sendmsg(pair[0], &msg, 0));
	ASSERT_EQ(1, recvmsg(pair[1], &msg, 0));
	memcpy(&received, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
	EXPECT_EQ(8, ue_write_u32(received, 0, 1));
	EXPECT_EQ(1, ue_records("indexed"));
	close(received);
}

/*
 * Triggers of two instances run in the order in which the instances listen, whatever the length of
 * the record. Each generates a synthetic event.
 */

#define ORDER_TRIGGER(made)	"hist:keys=value:mark=value:onmax($mark).trace(" made ",$mark)"

static void trigger_order(struct __test_metadata *_metadata, int fd, volatile uint32_t *w,
			  const char *desc, size_t len)
{
	const char *top = UE_EVENTS "/ot/trigger";
	const char *other = UE_TRACEFS "/instances/ue_ot/events/user_events/ot/trigger";
	const char *made = UE_TRACEFS "/events/synthetic/enable";
	const char *list = UE_TRACEFS "/synthetic_events";
	const char *text, *first, *second;
	char rec[512] = {};
	uint64_t value = 1;

	if (access(list, F_OK) || ue_put(list, "ot_top u64 val"))
		SKIP(return, "no synthetic events");
	ASSERT_EQ(0, ue_put(list, "ot_other u64 val"));
	ASSERT_EQ(0, ue_reg(fd, w, 0, desc));
	ASSERT_EQ(0, mkdir(UE_TRACEFS "/instances/ue_ot", 0750));
	ASSERT_EQ(0, ue_put(top, ORDER_TRIGGER("ot_top")));
	ASSERT_EQ(0, ue_put(other, ORDER_TRIGGER("ot_other")));
	ASSERT_EQ(0, ue_enable("ot", true));
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/instances/ue_ot/events/user_events/ot/enable", "1"));
	ASSERT_EQ(0, ue_put(made, "1"));

	memcpy(rec, &value, sizeof(value));
	EXPECT_EQ((long)len + 4, ue_write(fd, 0, rec, len));
	text = ue_slurp(UE_TRACEFS "/trace");
	first = strstr(text, " ot_top: ");
	second = strstr(text, " ot_other: ");
	EXPECT_TRUE(first && second && first < second) TH_LOG("%zu bytes: %s", len, text);

	ASSERT_EQ(0, ue_put(made, "0"));
	ASSERT_EQ(0, ue_put(other, "!" ORDER_TRIGGER("ot_other")));
	ASSERT_EQ(0, ue_put(top, "!" ORDER_TRIGGER("ot_top")));
	ASSERT_EQ(0, ue_put(UE_TRACEFS "/instances/ue_ot/events/user_events/ot/enable", "0"));
	ASSERT_EQ(0, ue_enable("ot", false));
	EXPECT_TRUE(ue_poll(ue_put(list, "!ot_top") == 0));
	EXPECT_TRUE(ue_poll(ue_put(list, "!ot_other") == 0));
	EXPECT_EQ(0, rmdir(UE_TRACEFS "/instances/ue_ot"));
}

TEST_F(user, trigger_order_of_a_short_record)
{
	trigger_order(_metadata, self->fd, self->w, "ot u64 value", 8);
}

TEST_F(user, trigger_order_of_a_long_record)
{
	trigger_order(_metadata, self->fd, self->w, "ot u64 value; char[200] rest", 208);
}

TEST_HARNESS_MAIN
