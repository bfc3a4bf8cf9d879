// SPDX-License-Identifier: GPL-2.0

#include <linux/fault-inject-usercopy.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#define COPY_SHORT(type, to, from, at, label) \
	unsafe_get_user(*(type *)((to) + (at)), (const type __user *)((from) + (at)), label)

/*
 * Copies all of @i, without advancing it, if it is user memory that nothing was
 * read of yet. For a few dozen bytes: each piece is copied in words, the last of
 * which may overlap the one before it. If this is false, something may have been
 * copied.
 */
__rust_helper bool rust_helper_iov_iter_peek_short(void *to, const struct iov_iter *i)
{
	const struct iovec *piece = iter_iov(i);
	size_t left = i->count;

	if (!IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS) ||
	    !user_backed_iter(i) || i->iov_offset || should_fail_usercopy())
		return false;
	might_fault();
	for (; left; piece++) {
		const void __user *base = piece->iov_base;
		size_t len = min(left, piece->iov_len);

		left -= len;
		scoped_user_read_access_size(base, len, fault) {
			if (len >= sizeof(long)) {
				size_t at, last = len - sizeof(long);

				for (at = 0; at < last; at += sizeof(long))
					COPY_SHORT(long, to, base, at, fault);
				COPY_SHORT(long, to, base, last, fault);
			} else if (len >= sizeof(u32)) {
				COPY_SHORT(u32, to, base, 0, fault);
				COPY_SHORT(u32, to, base, len - sizeof(u32), fault);
			} else {
				size_t at;

				for (at = 0; at < len; at++)
					COPY_SHORT(u8, to, base, at, fault);
			}
		}
		to += len;
	}
	return true;
fault:
	return false;
}
