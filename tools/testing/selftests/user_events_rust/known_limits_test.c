// SPDX-License-Identifier: GPL-2.0
/*
 * Quirks of the C implementation that the Rust one preserves, the rows quirk-*
 * of Documentation/trace/rust/deviations.rst. The first part of each name, up to
 * the double underscore, is a row of it, with - for _.
 *
 * All of these pass on both implementations.
 */
#define _GNU_SOURCE
#include "kselftest_harness.h"
#include "ue.h"

UE_FIXTURE(user)

TEST_F(user, quirk_recycled_id__old_record_new_name)
{
	int id;

	ASSERT_EQ(0, ue_put(UE_DYN, "u:kri_old u32 a"));
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "kri_old u32 a"));
	ASSERT_EQ(0, ue_enable("kri_old", true));
	ASSERT_EQ(8, ue_write_u32(self->fd, 0, 77));
	ASSERT_EQ(0, ue_enable("kri_old", false));
	id = ue_event_id("kri_old");
	ASSERT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
	close(self->fd);
	self->fd = ue_open();
	ASSERT_EQ(0, ue_del_wait(self->fd, "kri_old"));

	ASSERT_EQ(0, ue_put(UE_DYN, "u:kri_new u32 z"));
	EXPECT_EQ(id, ue_event_id("kri_new"));
	EXPECT_EQ(0, ue_records("kri_old"));
	EXPECT_EQ(1, ue_records("kri_new"));
	EXPECT_NE(NULL, strstr(ue_last_record("kri_new"), "z=0x4d (77)"));
	ASSERT_EQ(0, ue_put(UE_DYN, "-:kri_new u32 z"));
	EXPECT_EQ(0, ue_count(ue_slurp(UE_TRACEFS "/trace"), "kri_"));
}

TEST_F(user, quirk_field_text__signs)
{
	struct __attribute__((packed)) { int16_t a; uint32_t b; } rec = { -1, 0xffffffff };

	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "kft s16 a; u32 b"));
	ASSERT_EQ(0, ue_enable("kft", true));
	ASSERT_EQ(10, ue_write(self->fd, 0, &rec, sizeof(rec)));
	EXPECT_STREQ(" a=0xffff (65535) b=0xffffffff (-1)", ue_last_record("kft"));
	/* format has it right. */
	EXPECT_NE(NULL, strstr(ue_format_fields("kft"), "field:s16 a;\toffset:8;\tsize:2;\tsigned:1;"));
	EXPECT_NE(NULL, strstr(ue_format_fields("kft"), "field:u32 b;\toffset:10;\tsize:4;\tsigned:0;"));
}

TEST_F(user, quirk_remap__not_written)
{
	volatile uint32_t *w = self->w + UE_PAGE / 4;

	ASSERT_EQ(0, ue_reg(self->fd, w, 0, "kr u32 a"));
	ASSERT_EQ(0, ue_enable("kr", true));
	ASSERT_EQ(1, *w);
	ASSERT_EQ((void *)w, mmap((void *)w, UE_PAGE, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	usleep(300000);
	EXPECT_EQ(0, *w);
	EXPECT_EQ(0, ue_enable("kr", false));
	EXPECT_EQ(0, ue_enable("kr", true));
	EXPECT_EQ(1, *w);
}

/* A word that could not be written when the event was switched. */
TEST_F(user, quirk_remap__read_only)
{
	volatile uint32_t *w = self->w + UE_PAGE / 4;

	ASSERT_EQ(0, ue_reg(self->fd, w, 0, "kr_ro u32 a"));
	ASSERT_EQ(0, mprotect((void *)w, UE_PAGE, PROT_READ));
	ASSERT_EQ(0, ue_enable("kr_ro", true));
	usleep(300000);
	ASSERT_EQ(0, mprotect((void *)w, UE_PAGE, PROT_READ | PROT_WRITE));
	usleep(300000);
	EXPECT_EQ(0, *w);
	EXPECT_EQ(0, ue_enable("kr_ro", false));
	EXPECT_EQ(0, ue_enable("kr_ro", true));
	EXPECT_EQ(1, *w);
}

/* A word that a child does not get from its parent. */
TEST_F(user, quirk_remap__wiped)
{
	volatile uint32_t *w = self->w + UE_PAGE / 4;
	int status;
	pid_t pid;

	ASSERT_EQ(0, madvise((void *)w, UE_PAGE, MADV_WIPEONFORK));
	ASSERT_EQ(0, ue_reg(self->fd, w, 0, "kr_w u32 a"));
	ASSERT_EQ(0, ue_enable("kr_w", true));
	pid = fork();
	if (!pid) {
		usleep(300000);
		if (*w)
			_exit(1);
		if (ue_enable("kr_w", false) || ue_enable("kr_w", true))
			_exit(2);
		_exit(!ue_poll(*w == 1));
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F(user, quirk_listing__name_without_number)
{
	ASSERT_EQ(0, ue_reg_flags(self->fd, &self->w[0], 0, USER_EVENT_REG_MULTI_FORMAT, "kl u32 a"));
	ASSERT_EQ(0, ue_reg_flags(self->fd, &self->w[0], 1, USER_EVENT_REG_MULTI_FORMAT, "kl u64 a"));
	EXPECT_EQ(2, ue_count(ue_slurp(UE_STATUS), "kl."));
	EXPECT_EQ(0, ue_count(ue_slurp(UE_DYN), "kl."));
	EXPECT_EQ(1, ue_count(ue_slurp(UE_DYN), "u:kl u32 a\n"));
	EXPECT_EQ(1, ue_count(ue_slurp(UE_DYN), "u:kl u64 a\n"));
}

TEST_F(user, quirk_no_quota__one_limit_for_all_users)
{
	const char *max = "/proc/sys/kernel/user_events_max";
	int status;
	pid_t pid;

	ASSERT_EQ(0, ue_put(max, "2"));
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "knq1 u32 a"));
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 1, "knq2 u32 a"));
	pid = fork();
	if (!pid) {
		if (setuid(65534))
			_exit(1);
		_exit(ue_reg(self->fd, &self->w[8], 0, "knq3 u32 a") != -EMFILE);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
	ASSERT_EQ(0, ue_put(max, "32768"));
	pid = fork();
	if (!pid) {
		if (setuid(65534))
			_exit(1);
		_exit(ue_reg(self->fd, &self->w[8], 0, "knq3 u32 a") != 0);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
}

TEST_F(user, quirk_blanks__new_and_existing)
{
	static const char * const spelled[] = {
		"kb u32  a; u32 b", "kb u32 a ; u32 b", "kb u32 a; u32  b", "kb u32\ta; u32 b",
	};

	for (size_t i = 0; i < ARRAY_SIZE(spelled); i++) {
		EXPECT_EQ(-EINVAL, ue_reg(self->fd, &self->w[0], i, spelled[i])) TH_LOG("[%s]", spelled[i]);
	}
	ASSERT_EQ(0, ue_put(UE_DYN, "u:kb u32 a; u32 b"));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 0, spelled[0]));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 2, spelled[2]));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 3, spelled[3]));
}

TEST_F(user, quirk_static_string__no_nul)
{
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "kss char[4] a"));
	ASSERT_EQ(0, ue_enable("kss", true));
	EXPECT_EQ(8, ue_write(self->fd, 0, "wxyz", 4));
	EXPECT_EQ(1, ue_records("kss"));
	EXPECT_NE(NULL, strstr(ue_last_record("kss"), "a=wxyz"));
}

TEST_F(user, quirk_print_fmt__words_in_a_type)
{
	ASSERT_EQ(0, ue_put(UE_DYN, "u:kpf struct x_char[2] f 4; __data_loc mychar m"));
	EXPECT_STREQ("\"f=%s m=%llu\", REC->f, __get_str(m)", ue_print_fmt("kpf"));
}

TEST_F(user, quirk_array_text__other_spelling)
{
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "kat char[20] a"));
	EXPECT_EQ(-EADDRINUSE, ue_reg(self->fd, &self->w[0], 1, "kat char[0x14] a"));
	EXPECT_EQ(-EADDRINUSE, ue_reg(self->fd, &self->w[0], 1, "kat char[024] a"));
	EXPECT_EQ(0, ue_reg(self->fd, &self->w[0], 1, "kat char[20] a"));
}

TEST_F(user, quirk_two_words__both_registered)
{
	/* The upper half of the long is the second word, or the first one. */
	const uint64_t one = 1;
	int upper = *(const char *)&one ? 1 : 0;

	if (sizeof(long) < 8)
		SKIP(return, "no 8-byte words");
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[upper], 3, "ktw1 u32 a"));
	EXPECT_EQ(0, ue_reg_full(self->fd, &self->w[0], 35, 8, 0, "ktw2 u32 a", NULL));
	EXPECT_EQ(0, ue_enable("ktw1", true));
	EXPECT_EQ(8, self->w[upper]);
	EXPECT_EQ(0, ue_enable("ktw2", true));
	EXPECT_EQ(8, self->w[upper]);
	/* The one clears what the other still wants. */
	EXPECT_EQ(0, ue_enable("ktw1", false));
	EXPECT_EQ(0, self->w[upper]);
}

TEST_F(user, quirk_no_cpu_names__field_comes_first)
{
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[0], 0, "knc u32 cpu; u32 comm"));
	ASSERT_EQ(0, ue_put(UE_EVENTS "/knc/filter", "cpu == 70000 && comm == 5"));
	ASSERT_EQ(0, ue_enable("knc", true));
	EXPECT_EQ(12, ue_write(self->fd, 0, (uint32_t [2]) { 70000, 5 }, 8));
	EXPECT_EQ(12, ue_write(self->fd, 0, (uint32_t [2]) { 0, 5 }, 8));
	EXPECT_EQ(1, ue_records("knc"));
	ue_put(UE_EVENTS "/knc/filter", "0");
}

TEST_HARNESS_MAIN
