// SPDX-License-Identifier: GPL-2.0
/*
 * Registrations and writes of the libraries that write user_events: EventHeader
 * (LinuxTracepoints, OpenTelemetry's exporters) and .NET.
 *
 * All of it holds for the C and for the Rust implementation, but for the row
 * array-length.
 */
#define _GNU_SOURCE
#include "kselftest_harness.h"
#include "ue.h"

UE_FIXTURE(library)

#define EVENTHEADER	"u8 eventheader_flags; u8 version; u16 id; u16 tag; u8 opcode; u8 level"
#define DOTNET		"u8 version; u16 event_id; __rel_loc u8[] extension; __rel_loc u8[] payload"
#define DOTNET_META	DOTNET "; __rel_loc u8[] meta"

#define FIELD(type, name, offset, size)					\
	"\tfield:" type " " name ";\toffset:" #offset ";\tsize:" #size ";\tsigned:0;\n"

struct eventheader {
	uint8_t flags, version;
	uint16_t id, tag;
	uint8_t opcode, level;
};

/* A block of an extension: its size, its kind and its bytes. */
struct extension {
	uint16_t size, kind;
	char data[12];
};

TEST_F(library, eventheader)
{
	static const char fields[] =
		FIELD("u8", "eventheader_flags", 8, 1) FIELD("u8", "version", 9, 1)
		FIELD("u16", "id", 10, 2) FIELD("u16", "tag", 12, 2)
		FIELD("u8", "opcode", 14, 1) FIELD("u8", "level", 15, 1);
	struct eventheader header = { 7, 1, 2, 3, 4, 5 };
	struct extension extension = { 12, 1, "name\0a\x84" };
	uint64_t value = 0x1122334455667788;
	struct ue_perf perf;
	char raw[256];
	int index;

	index = ue_reg_index(self->fd, &self->w[0], 0, "MyCompany_MyProvider_L5K1fGgrp " EVENTHEADER);
	ASSERT_LE(0, index);
	EXPECT_STREQ(fields, ue_format_fields("MyCompany_MyProvider_L5K1fGgrp"));
	/* Levels and keywords are events of their own, bits of one word each. */
	EXPECT_EQ(1, ue_reg_index(self->fd, &self->w[1], 0, "MyCompany_MyProvider_L1K1 " EVENTHEADER));
	EXPECT_EQ(0, self->w[0] | self->w[1]);

	ASSERT_EQ(0, ue_perf_open(&perf, "MyCompany_MyProvider_L5K1fGgrp"));
	EXPECT_EQ(1, self->w[0]);
	EXPECT_EQ(0, self->w[1]);

	struct iovec io[] = {
		{ &index, sizeof(index) }, { &header, sizeof(header) },
		{ &extension, 4 + 12 }, { &value, sizeof(value) },
	};
	EXPECT_EQ(4 + 8 + 16 + 8, ue_err(writev(self->fd, io, 4)));
	/* After the common header: all as it was given. */
	ASSERT_LE(8 + 8 + 16 + 8, ue_perf_next(&perf, raw, sizeof(raw)));
	EXPECT_EQ(0, memcmp(raw + 8, &header, 8));
	EXPECT_EQ(0, memcmp(raw + 16, &extension, 16));
	EXPECT_EQ(0, memcmp(raw + 32, &value, 8));
	ue_perf_close(&perf);
	EXPECT_TRUE(ue_poll(self->w[0] == 0));

	/* A write without a listener returns EBADF. */
	EXPECT_EQ(-EBADF, ue_err(writev(self->fd, io, 4)));
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[1], 0));
}

/* Names have at most 255 bytes, which the library knows. */
TEST_F(library, eventheader_longest_name)
{
	char text[512], name[256];

	memset(name, 'p', 255);
	memcpy(name + 255 - 5, "_L1K1", 6);
	snprintf(text, sizeof(text), "%s %s", name, EVENTHEADER);
	EXPECT_EQ(0, ue_reg_index(self->fd, &self->w[0], 0, text));
	EXPECT_TRUE(ue_exists(name));
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
}

/* A tool registers the events before the program runs, so that they can be enabled. */
TEST_F(library, eventheader_registered_by_a_tool)
{
	int tool = ue_open();

	ASSERT_LE(0, tool);
	EXPECT_EQ(0, ue_reg_flags(tool, &self->w[0], 0, USER_EVENT_REG_PERSIST,
				  "Provider_L5K1 " EVENTHEADER));
	EXPECT_EQ(0, ue_unreg(tool, &self->w[0], 0));
	close(tool);
	EXPECT_EQ(0, ue_enable("Provider_L5K1", true));
	EXPECT_EQ(0, ue_reg_index(self->fd, &self->w[1], 0, "Provider_L5K1 " EVENTHEADER));
	EXPECT_EQ(1, self->w[1]);
	EXPECT_EQ(0, ue_enable("Provider_L5K1", false));
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[1], 0));
}

static long write_dotnet(int fd, int index, int locations, const char *extension, const char *payload)
{
	uint32_t extension_len = strlen(extension), payload_len = strlen(payload);
	uint8_t version = 1;
	uint16_t event_id = 80;
	/* After the location: the other locations, and the data before. */
	uint32_t at[3] = {
		extension_len << 16 | (locations - 1) * 4,
		payload_len << 16 | ((locations - 2) * 4 + extension_len),
		0 << 16 | (extension_len + payload_len),
	};
	struct iovec io[] = {
		{ &index, sizeof(index) }, { &version, 1 }, { &event_id, 2 },
		{ at, locations * 4 }, { (void *)extension, extension_len },
		{ (void *)payload, payload_len },
	};

	return ue_err(writev(fd, io, 6));
}

TEST_F(library, dotnet)
{
	static const char fields[] =
		FIELD("u8", "version", 8, 1) FIELD("u16", "event_id", 9, 2)
		"\tfield:__rel_loc u8 extension[];\toffset:11;\tsize:4;\tsigned:1;\n"
		"\tfield:__rel_loc u8 payload[];\toffset:15;\tsize:4;\tsigned:1;\n";
	struct ue_perf perf;
	char raw[256];
	int index, other;

	index = ue_reg_index(self->fd, &self->w[0], 0, "dotnet_exceptions " DOTNET);
	ASSERT_LE(0, index);
	/* C shows what is in memory as the length of the arrays. */
	if (ue_is_rust())
		EXPECT_STREQ(fields, ue_format_fields("dotnet_exceptions"));
	ASSERT_EQ(0, ue_perf_open(&perf, "dotnet_exceptions"));
	EXPECT_EQ(1, self->w[0]);
	EXPECT_EQ(4 + 11 + 4 + 7, write_dotnet(self->fd, index, 2, "\x01xyz", "payload"));
	ASSERT_LE(8 + 11 + 11, ue_perf_next(&perf, raw, sizeof(raw)));
	EXPECT_EQ(0, memcmp(raw + 8 + 11, "\x01xyzpayload", 11));
	/* Without an extension, and without anything. */
	EXPECT_EQ(4 + 11 + 1, write_dotnet(self->fd, index, 2, "", "p"));
	EXPECT_EQ(4 + 11, write_dotnet(self->fd, index, 2, "", ""));
	ue_perf_close(&perf);

	/* An older one has a third location, and cannot have the same name. */
	EXPECT_EQ(-EADDRINUSE, ue_reg(self->fd, &self->w[1], 0, "dotnet_exceptions " DOTNET_META));
	other = ue_reg_index(self->fd, &self->w[1], 0, "dotnet_old " DOTNET_META);
	EXPECT_EQ(1, other);
	EXPECT_EQ(0, ue_enable("dotnet_old", true));
	EXPECT_EQ(4 + 15 + 1 + 1, write_dotnet(self->fd, other, 3, "e", "p"));
	EXPECT_EQ(1, ue_records("dotnet_old"));
	EXPECT_EQ(0, ue_enable("dotnet_old", false));
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[0], 0));
	EXPECT_EQ(0, ue_unreg(self->fd, &self->w[1], 0));
}

TEST_HARNESS_MAIN
