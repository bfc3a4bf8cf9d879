// SPDX-License-Identifier: GPL-2.0
/*
 * A 32-bit program on a 64-bit kernel, where the numbers of the ioctls are
 * others: compat-ioctl in Documentation/trace/rust/deviations.rst.
 */
#define _GNU_SOURCE
#include <sys/utsname.h>

#include "kselftest_harness.h"
#include "batch.h"

UE_FIXTURE(dev)

TEST_F(dev, compat_ioctl__all_of_them)
{
	char buf[64] = "";
	struct ue_batch batch = { .buf = buf };
	struct utsname u;

	if (sizeof(void *) != 4 || uname(&u) ||
	    (strcmp(u.machine, "x86_64") && strcmp(u.machine, "aarch64")))
		SKIP(return, "not a 32-bit program on a 64-bit kernel");
	EXPECT_EQ(0xc0042a00, (unsigned int)DIAG_IOCSREG);
	ASSERT_EQ(0, ue_reg_index(self->fd, &self->w[0], 3, "ci u32 a"));
	EXPECT_EQ(0, ue_enable("ci", true));
	EXPECT_EQ(8, self->w[0]);
	EXPECT_EQ(8, ue_write_u32(self->fd, 0, 7));
	EXPECT_EQ(8, ue_writev(self->fd, 0, "abcd", 4));
	EXPECT_EQ(2, ue_records("ci"));
	EXPECT_EQ(0x40042a03, (unsigned int)DIAG_IOCSBATCH);
	ue_batch_add_u32(&batch, 0, 7);
	ue_batch_add(&batch, 0, "abcdefgh", 8);
	EXPECT_EQ(2, ue_batch(self->fd, &batch));
	EXPECT_EQ(4, ue_records("ci"));
	EXPECT_EQ(-EADDRINUSE, ue_reg(self->fd, &self->w[0], 3, "ci u32 a"));
	EXPECT_EQ(-EBUSY, ue_del(self->fd, "ci"));
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[0], 3));
	EXPECT_EQ(0, self->w[0]);
	EXPECT_EQ(-ENOENT, ue_unreg(self->fd, &self->w[0], 3));
	EXPECT_EQ(-ENOENT, ue_del(self->fd, "ci_none"));
	/* The upper half of the address counts, and must be 0. */
	EXPECT_EQ(0, ue_enable("ci", false));
	EXPECT_EQ(-ENOTTY, ue_err(ioctl(self->fd, 0xc0042a03, 0)));
}

/* The word next to it, as in a 64-bit program. */
TEST_F(dev, compat_ioctl__neighbouring_words)
{
	if (sizeof(void *) != 4)
		SKIP(return, "not a 32-bit program");
	ASSERT_EQ(0, ue_reg(self->fd, &self->w[1], 31, "ci2 u32 a"));
	EXPECT_EQ(0, ue_enable("ci2", true));
	EXPECT_EQ(0, self->w[0]);
	EXPECT_EQ(1u << 31, self->w[1]);
	EXPECT_EQ(0, self->w[2]);
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[1], 31));
	EXPECT_EQ(0, self->w[1]);
}

TEST_HARNESS_MAIN
