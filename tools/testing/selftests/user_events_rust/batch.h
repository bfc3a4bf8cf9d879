/* SPDX-License-Identifier: GPL-2.0 */
/* Records for DIAG_IOCSBATCH, next to each other. */
#ifndef _USER_EVENTS_RUST_BATCH_H
#define _USER_EVENTS_RUST_BATCH_H

#include "ue.h"

#ifndef DIAG_IOCSBATCH
/* The installed headers are those of a kernel without it. */
struct user_record {
	uint32_t size, write_index;
};

struct user_batch {
	uint32_t size, len;
	uint64_t records;
} __attribute__((__packed__));

#define DIAG_IOCSBATCH _IOW(DIAG_IOC_MAGIC, 3, struct user_batch *)
#endif

struct ue_batch {
	/* Records are appended at buf + len, which must have room. */
	char *buf;
	size_t len;
};

/* Appends a record whose size is stated as @size; what it is padded with counts. */
static inline struct user_record *ue_batch_add_sized(struct ue_batch *b, uint32_t size, int index,
						     const void *payload, size_t len)
{
	struct user_record *head = (void *)(b->buf + b->len);

	head->size = size;
	head->write_index = index;
	memcpy(head + 1, payload, len);
	b->len += (sizeof(*head) + len + 7) & ~7ul;
	return head;
}

static inline struct user_record *ue_batch_add(struct ue_batch *b, int index, const void *payload,
					       size_t len)
{
	return ue_batch_add_sized(b, sizeof(struct user_record) + len, index, payload, len);
}

static inline struct user_record *ue_batch_add_u32(struct ue_batch *b, int index, uint32_t value)
{
	return ue_batch_add(b, index, &value, sizeof(value));
}

static inline long ue_batch_at(int fd, const void *records, uint32_t len)
{
	struct user_batch batch = {
		.size = sizeof(batch),
		.len = len,
		.records = (uintptr_t)records,
	};

	return ue_err(ioctl(fd, DIAG_IOCSBATCH, &batch));
}

static inline long ue_batch(int fd, const struct ue_batch *b)
{
	return ue_batch_at(fd, b->buf, b->len);
}

#endif /* _USER_EVENTS_RUST_BATCH_H */
