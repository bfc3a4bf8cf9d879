// SPDX-License-Identifier: GPL-2.0
/*
 * A client of user_events: what a program does to offer an event of its own to
 * ftrace and perf. client.rs is the same program in Rust, and says how to try
 * it.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/user_events.h>
#include <sys/ioctl.h>

#ifndef DIAG_IOCSBATCH
/* The installed headers are those of a kernel without it. */
struct user_record {
	__u32 size;
	__u32 write_index;
};

struct user_batch {
	__u32 size;
	__u32 len;
	__u64 records;
} __attribute__((__packed__));

#define DIAG_IOCSBATCH _IOW(DIAG_IOC_MAGIC, 3, struct user_batch *)
#endif

#define DATA_FILE "/sys/kernel/tracing/user_events_data"

/* The fields of the event, as the kernel wants them described. */
#define FIELDS "u32 id;u32 bytes;__data_loc char[] path"

/* The bit of the enable word that the kernel sets while the event has a listener. */
#define ENABLE_BIT 31

/*
 * The interval of looking at the enable bit. The kernel does not notify of
 * changes: a program tests the bit before it writes a record, which costs one
 * load. This one has to print a line when the bit changes, so it polls.
 */
#define LOOK_EVERY_MS 10

/* The contents of the records: requests of a small web server. */
static const struct {
	const char *path;
	uint32_t bytes;
} requests[] = {
	{ "/", 4096 },
	{ "/style.css", 512 },
	{ "/login", 1024 },
};

/* The kernel writes here from registration to unregistration. */
static uint32_t enabled_word;

static void die(const char *format, ...)
{
	va_list args;

	fputs("client-c: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(EXIT_FAILURE);
}

static const char *explain_open(void)
{
	switch (errno) {
	case ENOENT:
		if (access("/sys/kernel/tracing/trace", F_OK))
			return "tracefs is not mounted; as root: mount -t tracefs nodev /sys/kernel/tracing";
		return "this kernel is built without CONFIG_USER_EVENTS";
	case EACCES:
		return "run this as root, or let your group use it; as root: chgrp GROUP and chmod g+rw the file, and chmod a+x /sys/kernel/tracing";
	default:
		return strerror(errno);
	}
}

static const char *explain_register(void)
{
	switch (errno) {
	case EINVAL:
		return "the kernel does not accept this name or these fields";
	case EADDRINUSE:
		return "there is an event of this name with other fields";
	case EMFILE:
		return "there are too many user events; see /proc/sys/kernel/user_events_max";
	case ENODEV:
		return "the kernel has no event number left";
	case EPERM:
		return "not permitted";
	case ENOMEM:
		return "the kernel is out of memory, or cannot write the enable word";
	case ENOTTY:
		return "the kernel takes no registrations from 32-bit programs";
	default:
		return strerror(errno);
	}
}

static const char *explain_write(void)
{
	switch (errno) {
	case EINVAL:
		return "the record is shorter than the event's fields";
	case EFAULT:
		return "a dynamic field points outside of the record or its text has no end";
	default:
		return strerror(errno);
	}
}

static uint32_t event_register(int fd, const char *name)
{
	struct user_reg reg = {
		.size = sizeof(reg),
		.enable_bit = ENABLE_BIT,
		.enable_size = sizeof(enabled_word),
		.enable_addr = (uintptr_t)&enabled_word,
	};
	char *command;

	if (asprintf(&command, "%s %s", name, FIELDS) < 0)
		die("out of memory");
	reg.name_args = (uintptr_t)command;
	if (ioctl(fd, DIAG_IOCSREG, &reg))
		die("cannot register \"%s\": %s", command, explain_register());
	free(command);
	return reg.write_index;
}

static void event_unregister(int fd)
{
	struct user_unreg unreg = {
		.size = sizeof(unreg),
		.disable_bit = ENABLE_BIT,
		.disable_addr = (uintptr_t)&enabled_word,
	};

	if (ioctl(fd, DIAG_IOCSUNREG, &unreg))
		die("cannot unregister: %s", strerror(errno));
}

/*
 * Returns true if the event has a listener. Without one, this test is the whole
 * cost of the event.
 */
static bool event_enabled(void)
{
	return __atomic_load_n(&enabled_word, __ATOMIC_RELAXED) & (1U << ENABLE_BIT);
}

/* A record of this program. */
struct record {
	struct user_record head;
	uint32_t id;
	uint32_t bytes;
	uint32_t path_loc;
	char path[];
};

/* The usual paths have room in it. Longer ones are asked for. */
#define PATH_LEAST 40
/* The longest path that a record has room for. */
#define PATH_MOST 65000

/* Returns the bytes of the record, whose path has @length bytes at least. */
static uint32_t record_fill(struct record *record, uint32_t index, uint32_t id, uint32_t bytes,
			    const char *path, size_t length)
{
	/*
	 * Offsets count from the start of the record as it is stored: the kernel's
	 * header has as many bytes as struct user_record.
	 */
	uint32_t path_at = offsetof(struct record, path);
	size_t own = strlen(path);
	uint32_t path_size = (own > length ? own : length) + 1;

	record->head.size = path_at + path_size;
	record->head.write_index = index;
	record->id = id;
	record->bytes = bytes;
	record->path_loc = DYN_LOC(path_at, path_size);
	memset(record->path, '-', path_size - 1);
	memcpy(record->path, path, own);
	record->path[path_size - 1] = '\0';
	return record->head.size;
}

/* Writes one record, on a kernel without batches. */
static void write_one(int fd, const struct user_record *record)
{
	if (write(fd, &record->write_index, record->size - sizeof(record->size)) >= 0)
		return;
	/* Switched off between the look at the bit and here: nothing is wrong. */
	if (errno != EBADF)
		die("cannot write a record: %s", explain_write());
}

/* The bytes of one system call. The record that exceeds them is the first one of the next. */
#define BATCH_MOST (1u << 30)

/* Writes the records at @at, which are next to each other, with one system call. */
static void write_batch(int fd, const char *at, const char *end)
{
	static bool one_by_one;

	while (at < end) {
		size_t rest = end - at;
		struct user_batch batch = {
			.size = sizeof(batch),
			.len = rest < BATCH_MOST ? rest : BATCH_MOST,
			.records = (uintptr_t)at,
		};
		int handled = 1;

		if (one_by_one) {
			write_one(fd, (const struct user_record *)at);
		} else {
			handled = ioctl(fd, DIAG_IOCSBATCH, &batch);
			if (handled < 0 && errno == ENOTTY) {
				one_by_one = true;
				continue;
			}
			/* Switched off, and so no listener gets any of them. */
			if (handled < 0 && errno == EBADF)
				return;
			if (handled < 0)
				die("cannot write a record: %s", explain_write());
		}
		/* A signal may have arrived before the last one. */
		while (handled--)
			at += (((const struct user_record *)at)->size + 7) & ~7u;
	}
}

/* Returns the number of records, which is 0 without a listener. */
static unsigned int write_records(int fd, uint32_t index, unsigned int count, size_t length,
				  uint32_t *id)
{
	size_t room = sizeof(struct record) + (length > PATH_LEAST ? length : PATH_LEAST) + 8;
	size_t n = sizeof(requests) / sizeof(*requests);
	char *records, *at;
	unsigned int i;

	if (!event_enabled())
		return 0;
	records = calloc(count ?: 1, room);
	if (!records)
		die("out of memory");
	for (at = records, i = 0; i < count; i++) {
		size_t r = (*id)++ % n;
		uint32_t size = record_fill((struct record *)at, index, *id, requests[r].bytes,
					    requests[r].path, length);

		at += (size + 7) & ~7u;
	}
	write_batch(fd, records, at);
	free(records);
	return count;
}

/* Waits for input: the number of lines that were read, or -1 at its end. */
static int lines_read(void)
{
	struct pollfd fds = { .fd = STDIN_FILENO, .events = POLLIN };
	int ready = poll(&fds, 1, LOOK_EVERY_MS);
	char bytes[256];
	int lines = 0;
	ssize_t n;

	if (ready < 0)
		die("cannot wait for input: %s", strerror(errno));
	if (!ready)
		return 0;
	n = read(STDIN_FILENO, bytes, sizeof(bytes));
	if (n < 0)
		die("cannot read the input: %s", strerror(errno));
	if (!n)
		return -1;
	while (n--)
		lines += bytes[n] == '\n';
	return lines;
}

static void show_usage(void)
{
	fputs("Usage: client-c [-n RECORDS] [-l LENGTH] [EVENT]\n\n"
	      "Registers the user event EVENT (web_request) and writes RECORDS (6) records of\n"
	      "it for each line on its input, if the event is enabled. Ends with its input.\n"
	      "Paths are padded to LENGTH bytes, 65000 at most.\n", stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	const char *name = "web_request";
	unsigned long number, length = 0;
	unsigned int count = 6, written;
	uint32_t index, id = 0;
	int fd, opt, lines, shown = -1;
	char *end;

	while ((opt = getopt(argc, argv, "n:l:")) != -1) {
		if (opt == '?')
			show_usage();
		number = strtoul(optarg, &end, 10);
		if (end == optarg || *end || (opt == 'l' && number > PATH_MOST))
			show_usage();
		if (opt == 'n')
			count = number;
		else
			length = number;
	}
	if (optind < argc)
		name = argv[optind];

	setvbuf(stdout, NULL, _IOLBF, 0);

	fd = open(DATA_FILE, O_RDWR);
	if (fd < 0)
		die("cannot open " DATA_FILE ": %s", explain_open());
	index = event_register(fd, name);
	printf("registered %s, write index %u\n", name, index);

	for (;;) {
		bool enabled = event_enabled();

		if (shown != enabled) {
			printf("enable bit %d is %d\n", ENABLE_BIT, enabled);
			shown = enabled;
		}
		lines = lines_read();
		if (lines < 0)
			break;
		while (lines--) {
			written = write_records(fd, index, count, length, &id);
			if (written)
				printf("wrote %u records\n", written);
			else
				puts("nobody listens: nothing written");
		}
	}

	event_unregister(fd);
	printf("unregistered %s\n", name);
	return EXIT_SUCCESS;
}
