/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A FUSE server with one file, whose READs are answered when it is told to.
 *
 * The server is a process of its own, the only one with the device open: if it is killed, the
 * connection is aborted. Only the test and its children see the mount.
 */
#ifndef _USER_EVENTS_RUST_FUSE_H
#define _USER_EVENTS_RUST_FUSE_H

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#include <linux/fuse.h>

/* kselftest_harness.h must be included before this. */
#include "ue.h"

/* Pages of the file. */
#define FUSE_PAGES	1101

#define FUSE_FILE_ID	2
#define FUSE_MAX_WRITE	(2 * UE_PAGE)

/* Shared by the test, the server and others. */
struct fuse_shared {
	/* READs are answered. */
	volatile int answers;
	/* Number of READs that wait for that. */
	volatile int held;
};

#define NEED_FUSE()							\
do {									\
	if (access("/dev/fuse", F_OK))					\
		SKIP(return, "no FUSE in this kernel");			\
} while (0)

struct fuse {
	struct fuse_shared *shared;
	pid_t server;
	char dir[32], file[40];
};

static inline size_t fuse_size(void)
{
	return FUSE_PAGES * (size_t)sysconf(_SC_PAGESIZE);
}

/* It fails if the request was given up. */
static inline void fuse_reply(int dev, uint64_t unique, int error, const void *data, size_t len)
{
	struct fuse_out_header out = {
		.len = sizeof(out) + len, .error = error, .unique = unique,
	};
	struct iovec io[2] = {
		{ &out, sizeof(out) },
		{ (void *)data, len },
	};

	if (writev(dev, io, len ? 2 : 1) < 0)
		return;
}

static inline struct fuse_attr fuse_attr_of(uint64_t id)
{
	struct fuse_attr attr = { .ino = id, .nlink = 1, .mode = S_IFDIR | 0755 };

	if (id == FUSE_FILE_ID) {
		attr.mode = S_IFREG | 0600;
		attr.size = fuse_size();
	}
	return attr;
}

struct fuse_request {
	struct fuse_in_header in;
	union {
		struct fuse_init_in init;
		struct fuse_read_in read;
		struct fuse_write_in write;
		char room[FUSE_MAX_WRITE + 4096];
	};
};

struct fuse_held {
	uint64_t unique, offset;
	uint32_t size;
};

static inline void fuse_answer_read(int dev, const char *data, const struct fuse_held *read)
{
	size_t left = read->offset < fuse_size() ? fuse_size() - read->offset : 0;

	fuse_reply(dev, read->unique, 0, data + read->offset,
		   read->size < left ? read->size : left);
}

/* Answers any request except READ. */
static inline void fuse_answer(int dev, char *data, const struct fuse_request *r)
{
	struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION,
		/* No read-ahead: a fault of a page asks for this page. */
		.max_readahead = 0, .max_write = FUSE_MAX_WRITE, .time_gran = 1,
	};
	struct fuse_entry_out entry = {
		.nodeid = FUSE_FILE_ID, .entry_valid = 3600, .attr_valid = 3600,
		.attr = fuse_attr_of(FUSE_FILE_ID),
	};
	struct fuse_attr_out attr = { .attr_valid = 3600, .attr = fuse_attr_of(r->in.nodeid) };
	struct fuse_open_out opened = { .fh = 1, .open_flags = FOPEN_KEEP_CACHE };
	struct fuse_write_out written = {};

	switch (r->in.opcode) {
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	case FUSE_INIT:
		fuse_reply(dev, r->in.unique, 0, &init, sizeof(init));
		return;
	case FUSE_LOOKUP:
		fuse_reply(dev, r->in.unique, 0, &entry, sizeof(entry));
		return;
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		fuse_reply(dev, r->in.unique, 0, &attr, sizeof(attr));
		return;
	case FUSE_OPEN:
		fuse_reply(dev, r->in.unique, 0, &opened, sizeof(opened));
		return;
	case FUSE_WRITE:
		if (r->write.offset > fuse_size() || r->write.size > fuse_size() - r->write.offset) {
			fuse_reply(dev, r->in.unique, -EFBIG, NULL, 0);
			return;
		}
		written.size = r->write.size;
		memcpy(data + r->write.offset, r->room + sizeof(r->write), written.size);
		fuse_reply(dev, r->in.unique, 0, &written, sizeof(written));
		return;
	case FUSE_FLUSH:
	case FUSE_FSYNC:
	case FUSE_RELEASE:
		fuse_reply(dev, r->in.unique, 0, NULL, 0);
		return;
	default:
		fuse_reply(dev, r->in.unique, -EOPNOTSUPP, NULL, 0);
	}
}

/* Returns when the connection has ended. */
static inline void fuse_serve(int dev, struct fuse_shared *shared)
{
	static struct fuse_held held[2 * FUSE_PAGES];
	static struct fuse_request r;
	char *data = mmap(NULL, fuse_size(), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ssize_t len;

	if (data == MAP_FAILED)
		return;
	for (;;) {
		struct pollfd pfd = { .fd = dev, .events = POLLIN };

		while (shared->answers && shared->held) {
			shared->held--;
			fuse_answer_read(dev, data, &held[shared->held]);
		}
		if (poll(&pfd, 1, 10) != 1)
			continue;
		len = read(dev, &r, sizeof(r));
		if (len < (ssize_t)sizeof(r.in)) {
			if (len < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOENT))
				continue;
			return;
		}
		if (r.in.opcode != FUSE_READ) {
			fuse_answer(dev, data, &r);
		} else if (shared->held < (int)(sizeof(held) / sizeof(*held))) {
			held[shared->held] = (struct fuse_held) {
				r.in.unique, r.read.offset, r.read.size,
			};
			shared->held++;
		} else {
			fuse_reply(dev, r.in.unique, -EIO, NULL, 0);
		}
	}
}

/* Mounts it, for this process and the children that it has later, and starts the server. */
static inline int fuse_start(struct fuse *f)
{
	char options[64];
	int dev;

	dev = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (dev < 0)
		return -errno;
	f->shared = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (f->shared == MAP_FAILED)
		return -errno;
	f->shared->answers = 1;
	strcpy(f->dir, "/tmp/ue_fuse.XXXXXX");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", dev);
	if (unshare(CLONE_NEWNS) || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    !mkdtemp(f->dir) || mount("ue", f->dir, "fuse", MS_NOSUID | MS_NODEV, options))
		return -errno;
	snprintf(f->file, sizeof(f->file), "%s/f", f->dir);
	f->server = fork();
	if (!f->server) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fuse_serve(dev, f->shared);
		_exit(0);
	}
	close(dev);
	return f->server < 0 ? -errno : 0;
}

/* Aborts the connection: what waits for an answer gets an error. */
static inline void fuse_kill(struct fuse *f)
{
	if (f->server <= 0)
		return;
	kill(f->server, SIGKILL);
	waitpid(f->server, NULL, 0);
	f->server = 0;
}

static inline void fuse_stop(struct fuse *f)
{
	fuse_kill(f);
	umount2(f->dir, MNT_DETACH);
	rmdir(f->dir);
	munmap(f->shared, UE_PAGE);
}

#endif /* _USER_EVENTS_RUST_FUSE_H */
