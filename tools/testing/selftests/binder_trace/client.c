// SPDX-License-Identifier: GPL-2.0
/*
 * Exercises a binder driver step by step, so that its trace events can be compared with those of
 * another one.
 *
 * usage: client BINDERFS [DEVICE]
 *
 * A DEVICE other than "binder" is created if it does not exist.
 *
 * Three processes talk to each other: a context manager and two clients. A fourth one tells them
 * when to do what, and waits until it is done: at any time one process runs, none sleeps in the
 * driver, and the events are in the same order each time. The output has a line "process NAME PID"
 * for each process and a line "step NAME" for each step.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/android/binder.h>
#include <linux/android/binderfs.h>
#include <linux/android/binder_netlink.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>

#define MAP_SIZE (1 << 20)
#define PAGE 4096
/* Addresses and cookies of the clients' objects. The driver does not interpret them. */
#define ALICE_PTR 0xa11ce000
#define ALICE_COOKIE 0xa11cec00
#define BOB_PTR 0xb0b000
#define BOB_COOKIE 0xb0bc00
#define DEATH_COOKIE 0xdead

enum { MAIN, SERVER, ALICE, BOB, PROCESSES };

static const char *const names[PROCESSES] = { "main", "server", "alice", "bob" };
static pid_t pids[PROCESSES];
/* To a process, and back from it. */
static int orders[PROCESSES][2], answers[PROCESSES][2];
static int me;

/* The driver. */
static char device[256];
static int fd = -1;

/* Static, as its address is an argument of events. */
static struct binder_write_read bwr;
static uint8_t out[1024];
static size_t out_len;
static uint8_t in[512];

/* The result of the last read. */
static struct {
	int transactions, replies, completes, spawns;
	int dead, failed, frozen, pending, dead_replies, spam;
	uint64_t cookie;
	struct binder_transaction_data last;
} got;

/* Handles of objects of others. */
static uint32_t alice_handle;

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", names[me]);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, " (%s)\n", strerror(errno));
	exit(1);
}

#define want(what)                                                                                 \
	do {                                                                                       \
		if (!(what))                                                                       \
			die("line %d: not so: %s", __LINE__, #what);                               \
	} while (0)

static void open_device(void)
{
	fd = open(device, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		die("open %s", device);
}

static void map_device(void)
{
	if (mmap(NULL, MAP_SIZE, PROT_READ, MAP_PRIVATE | MAP_NORESERVE, fd, 0) == MAP_FAILED)
		die("mmap");
}

static void put(const void *data, size_t size)
{
	want(out_len + size <= sizeof(out));
	memcpy(out + out_len, data, size);
	out_len += size;
}

static void put_command(uint32_t cmd)
{
	put(&cmd, sizeof(cmd));
}

/* Executes the queued commands. */
static void flush_out(void)
{
	memset(&bwr, 0, sizeof(bwr));
	bwr.write_buffer = (uintptr_t)out;
	bwr.write_size = out_len;
	if (ioctl(fd, BINDER_WRITE_READ, &bwr))
		die("BINDER_WRITE_READ: %zu bytes are written", out_len);
	want(bwr.write_consumed == out_len);
	out_len = 0;
}

static void command(uint32_t cmd)
{
	put_command(cmd);
	flush_out();
}

static void free_buffer(void)
{
	uint64_t buffer = got.last.data.ptr.buffer;

	put_command(BC_FREE_BUFFER);
	put(&buffer, sizeof(buffer));
}

/* Reads once. Returns false if no work was queued. Answers references. */
static bool read_in(void)
{
	uint8_t *at = in, *end;

	memset(&got, 0, sizeof(got));
	memset(&bwr, 0, sizeof(bwr));
	bwr.read_buffer = (uintptr_t)in;
	bwr.read_size = sizeof(in);
	if (ioctl(fd, BINDER_WRITE_READ, &bwr)) {
		if (errno == EAGAIN)
			return false;
		die("BINDER_WRITE_READ: read");
	}
	end = in + bwr.read_consumed;
	while (at < end) {
		struct binder_ptr_cookie ref;
		uint32_t cmd;

		memcpy(&cmd, at, sizeof(cmd));
		at += sizeof(cmd);
		switch (cmd) {
		case BR_NOOP:
			break;
		case BR_SPAWN_LOOPER:
			got.spawns++;
			break;
		case BR_TRANSACTION_COMPLETE:
			got.completes++;
			break;
		case BR_TRANSACTION_PENDING_FROZEN:
			got.pending++;
			break;
		case BR_FAILED_REPLY:
			got.failed++;
			break;
		case BR_FROZEN_REPLY:
			got.frozen++;
			break;
		case BR_DEAD_REPLY:
			got.dead_replies++;
			break;
		case BR_ONEWAY_SPAM_SUSPECT:
			got.spam++;
			break;
		case BR_TRANSACTION:
			got.transactions++;
			memcpy(&got.last, at, sizeof(got.last));
			break;
		case BR_REPLY:
			got.replies++;
			memcpy(&got.last, at, sizeof(got.last));
			break;
		case BR_DEAD_BINDER:
			got.dead++;
			memcpy(&got.cookie, at, sizeof(got.cookie));
			break;
		case BR_INCREFS:
		case BR_ACQUIRE:
			memcpy(&ref, at, sizeof(ref));
			put_command(cmd == BR_INCREFS ? BC_INCREFS_DONE : BC_ACQUIRE_DONE);
			put(&ref, sizeof(ref));
			break;
		case BR_RELEASE:
		case BR_DECREFS:
			break;
		default:
			die("a return code that nobody expects: %#x", cmd);
		}
		at += _IOC_SIZE(cmd);
	}
	if (out_len)
		flush_out();
	return true;
}

static void send_data(uint32_t cmd, uint32_t handle, uint32_t code, uint32_t flags,
		      const void *data, size_t size, const uint64_t *offsets, size_t count,
		      uint64_t extra)
{
	struct binder_transaction_data_sg t = {
		.transaction_data = {
			.target.handle = handle,
			.code = code,
			.flags = flags,
			.data_size = size,
			.offsets_size = count * sizeof(*offsets),
			.data.ptr = { (uintptr_t)data, (uintptr_t)offsets },
		},
		.buffers_size = extra,
	};

	put_command(cmd);
	put(&t, _IOC_SIZE(cmd));
}

static const uint8_t bytes[3 * 65536];
/* An offset that no object can have. */
static const uint64_t bad_offset = 3;

static void call(uint32_t handle, uint32_t code, uint32_t flags, size_t size)
{
	send_data(BC_TRANSACTION, handle, code, flags, bytes, size, NULL, 0, 0);
	flush_out();
}

static void reply(uint32_t code, size_t size)
{
	free_buffer();
	send_data(BC_REPLY, 0, code, 0, bytes, size, NULL, 0, 0);
	flush_out();
	want(read_in() && got.completes == 1);
}

/* Replies with an object of another process. */
static void reply_object(uint32_t handle)
{
	static struct flat_binder_object object;
	static const uint64_t offset;

	object.hdr.type = BINDER_TYPE_HANDLE;
	object.handle = handle;
	free_buffer();
	send_data(BC_REPLY, 0, 0, 0, &object, sizeof(object), &offset, 1, 0);
	flush_out();
	want(read_in() && got.completes == 1);
}

static void take_reply(void)
{
	want(read_in() && got.replies == 1);
	free_buffer();
	flush_out();
}

/* The object in the last transaction or reply. */
static struct flat_binder_object object_of_last(void)
{
	struct flat_binder_object object;

	want(got.last.data_size >= sizeof(object) && got.last.offsets_size >= sizeof(uint64_t));
	memcpy(&object, (void *)(uintptr_t)got.last.data.ptr.buffer, sizeof(object));
	return object;
}

/* Steps. */

static void server_starts(void)
{
	struct flat_binder_object object = { .flags = FLAT_BINDER_FLAG_ACCEPTS_FDS };
	struct binder_version version;
	uint32_t threads = 1;

	open_device();
	map_device();
	want(!ioctl(fd, BINDER_VERSION, &version));
	want(version.protocol_version == BINDER_CURRENT_PROTOCOL_VERSION);
	want(!ioctl(fd, BINDER_SET_MAX_THREADS, &threads));
	want(!ioctl(fd, BINDER_SET_CONTEXT_MGR_EXT, &object));
	want(ioctl(fd, BINDER_SET_IDLE_TIMEOUT, &threads) == -1 && errno == EINVAL);
	command(BC_ENTER_LOOPER);
	want(!read_in());
}

static void client_starts(void)
{
	open_device();
	map_device();
}

static void client_enters(void)
{
	command(BC_ENTER_LOOPER);
}

static void calls(void)
{
	call(0, 1, 0, 100);
	want(!read_in());
}

/* A thread that waits for a reply cannot start another call, whose receiver is not reported. */
static void calls_twice(void)
{
	calls();
	call(0, 20, 0, 8);
	want(read_in() && got.failed == 1);
}

static void calls_with_much(void)
{
	call(0, 2, 0, sizeof(bytes));
}

static void server_answers(void)
{
	want(read_in() && got.transactions == 1 && got.last.code == 1 && got.spawns == 1);
	reply(0, 50);
}

static void server_answers_again(void)
{
	want(read_in() && got.transactions == 1 && got.last.code == 1);
	reply(0, 8);
}

static void server_answers_with_much(void)
{
	want(read_in() && got.transactions == 1 && got.last.code == 2);
	reply(0, sizeof(bytes) / 2);
}

static struct {
	struct flat_binder_object object;
	struct binder_fd_object file;
} parcel;

static void sends_objects(uint64_t ptr, uint64_t cookie)
{
	static const uint64_t offsets[2] = { 0, sizeof(struct flat_binder_object) };

	parcel.object.hdr.type = BINDER_TYPE_BINDER;
	parcel.object.binder = ptr;
	parcel.object.cookie = cookie;
	parcel.file.hdr.type = BINDER_TYPE_FD;
	parcel.file.fd = STDIN_FILENO;
	send_data(BC_TRANSACTION, 0, 3, 0, &parcel, sizeof(parcel), offsets, 2, 0);
	flush_out();
}

static void alice_sends_objects(void)
{
	sends_objects(ALICE_PTR, ALICE_COOKIE);
}

static void server_keeps_object(void)
{
	struct binder_handle_cookie death = { .cookie = DEATH_COOKIE };
	struct binder_fd_object file;
	struct flat_binder_object object;

	want(read_in() && got.transactions == 1 && got.last.code == 3);
	object = object_of_last();
	want(object.hdr.type == BINDER_TYPE_HANDLE);
	alice_handle = death.handle = object.handle;
	memcpy(&file, (void *)(uintptr_t)(got.last.data.ptr.buffer + sizeof(object)), sizeof(file));
	want(file.hdr.type == BINDER_TYPE_FD && !close(file.fd));

	put_command(BC_INCREFS);
	put(&alice_handle, sizeof(alice_handle));
	put_command(BC_ACQUIRE);
	put(&alice_handle, sizeof(alice_handle));
	put_command(BC_REQUEST_DEATH_NOTIFICATION);
	put(&death, sizeof(death));
	flush_out();
	reply_object(alice_handle);
}

static void alice_gets_own_object(void)
{
	struct flat_binder_object object;

	/* References to the object may be read separately. */
	do {
		want(read_in());
	} while (!got.replies);
	object = object_of_last();
	want(object.hdr.type == BINDER_TYPE_BINDER && object.binder == ALICE_PTR);
	free_buffer();
	flush_out();
}

static void asks_for_object(void)
{
	call(0, 4, 0, 8);
}

static void server_passes_object(void)
{
	want(read_in() && got.transactions == 1 && got.last.code == 4);
	reply_object(alice_handle);
}

static void bob_gets_object(void)
{
	struct flat_binder_object object;

	want(read_in() && got.replies == 1);
	object = object_of_last();
	want(object.hdr.type == BINDER_TYPE_HANDLE);
	alice_handle = object.handle;
	put_command(BC_ACQUIRE);
	put(&alice_handle, sizeof(alice_handle));
	free_buffer();
	flush_out();
}

static void tells_alice(void)
{
	call(alice_handle, 5, TF_ONE_WAY, 24);
	want(read_in() && got.completes == 1);
}

static void alice_hears(void)
{
	want(read_in() && got.transactions == 1 && got.last.code == 5);
	free_buffer();
	flush_out();
}

/* Alice calls the server, which calls her before it replies. */
static void server_calls_back(void)
{
	want(read_in() && got.transactions == 1 && got.last.code == 1);
	free_buffer();
	flush_out();
	call(alice_handle, 6, 0, 16);
}

static void alice_answers_within(void)
{
	want(read_in() && got.transactions == 1 && got.last.code == 6);
	reply(7, 16);
}

static void server_answers_at_last(void)
{
	want(read_in() && got.replies == 1);
	reply(0, 8);
}

/* Descriptors in an array, which is in a buffer of its own. */
static void sends_array(void)
{
	/* The driver in C takes a buffer at offset 0 for none. */
	static const uint64_t offsets[2] = { 8, 8 + sizeof(struct binder_buffer_object) };
	static uint32_t fds[2] = { STDIN_FILENO, STDOUT_FILENO };
	static struct {
		uint64_t pad;
		struct binder_buffer_object buffer;
		struct binder_fd_array_object array;
	} objects;

	objects.buffer.hdr.type = BINDER_TYPE_PTR;
	objects.buffer.buffer = (uintptr_t)fds;
	objects.buffer.length = sizeof(fds);
	objects.array.hdr.type = BINDER_TYPE_FDA;
	objects.array.num_fds = 2;
	send_data(BC_TRANSACTION_SG, 0, 8, 0, &objects, sizeof(objects), offsets, 2, sizeof(fds));
	flush_out();
}

static void server_takes_array(void)
{
	want(read_in() && got.transactions == 1 && got.last.code == 8);
	reply(0, 0);
}

static void sends_nonsense(void)
{
	send_data(BC_TRANSACTION, 0, 9, 0, bytes, 64, &bad_offset, 1, 0);
	flush_out();
	want(read_in() && got.failed == 1);
	call(77, 10, 0, 8);
	want(read_in() && got.failed == 1);
}

/* Offsets whose size is not a multiple of that of one. */
static void sends_odd_offsets(void)
{
	struct binder_transaction_data t = {
		.code = 13,
		.data_size = 8,
		.offsets_size = 4,
		.data.ptr = { (uintptr_t)bytes, (uintptr_t)bytes },
	};

	put_command(BC_TRANSACTION);
	put(&t, sizeof(t));
	flush_out();
	want(read_in() && got.failed == 1);
}

static void main_freezes(void)
{
	struct binder_freeze_info info = { .pid = pids[ALICE], .enable = 1 };

	want(!ioctl(fd, BINDER_FREEZE, &info));
}

static void main_thaws(void)
{
	struct binder_freeze_info info = { .pid = pids[ALICE] };

	want(!ioctl(fd, BINDER_FREEZE, &info));
}

/* The first one is pending, the second one waits for it, the third one replaces that. */
static void tells_frozen_alice(void)
{
	for (int i = 0; i < 3; i++) {
		call(alice_handle, 11, TF_ONE_WAY | TF_UPDATE_TXN, 32);
		want(read_in() && got.pending == 1);
	}
	call(alice_handle, 12, 0, 8);
	want(read_in() && got.frozen == 1);
}

static void alice_hears_twice(void)
{
	for (int i = 0; i < 2; i++) {
		want(read_in() && got.transactions == 1 && got.last.code == 11);
		free_buffer();
		flush_out();
	}
}

static void main_shrinks(void)
{
	int file = open("/proc/sys/vm/drop_caches", O_WRONLY);

	want(file >= 0 && write(file, "2", 1) == 1);
	close(file);
}

/* The second one is delivered after the first one is freed. */
static void tells_server_pages(void)
{
	for (int i = 0; i < 2; i++) {
		call(0, 14, TF_ONE_WAY, PAGE);
		want(read_in() && got.completes == 1);
	}
}

/* In the place of both: the first page is freed, the second one is in the list of the shrinker. */
static void tells_server_both_pages(void)
{
	call(0, 14, TF_ONE_WAY, 2 * PAGE);
	want(read_in() && got.completes == 1);
}

static void server_hears(void)
{
	want(read_in() && got.transactions == 1 && got.last.code == 14);
	free_buffer();
	flush_out();
}

/* A file, and nothing else. */
static void send_file(uint32_t cmd, uint32_t code)
{
	static const uint64_t offset;
	static struct binder_fd_object file;

	file.hdr.type = BINDER_TYPE_FD;
	file.fd = STDIN_FILENO;
	send_data(cmd, 0, code, 0, &file, sizeof(file), &offset, 1, 0);
	flush_out();
}

/* Reads while no descriptor can be allocated. */
static bool read_in_without_files(void)
{
	struct rlimit limit, none;
	bool some;

	want(!getrlimit(RLIMIT_NOFILE, &limit));
	none = limit;
	none.rlim_cur = 0;
	want(!setrlimit(RLIMIT_NOFILE, &none));
	some = read_in();
	want(!setrlimit(RLIMIT_NOFILE, &limit));
	return some;
}

static void calls_with_file(void)
{
	send_file(BC_TRANSACTION, 15);
}

static void calls_for_file(void)
{
	call(0, 1, TF_ACCEPT_FDS, 100);
	want(!read_in());
}

/* The call with the file fails, and the next one has none. It is answered with a file. */
static void server_gets_no_file(void)
{
	want(read_in_without_files() && got.transactions == 1 && got.last.code == 1);
	free_buffer();
	send_file(BC_REPLY, 0);
	want(read_in() && got.completes == 1);
}

/* The call with the file fails, and no other work is queued. */
static void server_gets_nothing(void)
{
	want(!read_in_without_files());
}

/* By a thread that is no looper, so that it is for nothing of the process. */
static void finds_nothing(void)
{
	want(!read_in());
}

static void reads_to_nowhere(void)
{
	memset(&bwr, 0, sizeof(bwr));
	bwr.read_buffer = 8;
	bwr.read_size = sizeof(in);
	want(ioctl(fd, BINDER_WRITE_READ, &bwr) == -1 && errno == EFAULT);
}

static void server_fails_to_answer(void)
{
	want(read_in() && got.transactions == 1 && got.last.code == 1);
	free_buffer();
	send_data(BC_REPLY, 0, 9, 0, bytes, 64, &bad_offset, 1, 0);
	flush_out();
	want(read_in() && got.completes == 1);
}

/* Alice calls the server, which fails to call her. */
static void server_fails_to_call_back(void)
{
	want(read_in() && got.transactions == 1 && got.last.code == 1);
	free_buffer();
	send_data(BC_TRANSACTION, alice_handle, 9, 0, bytes, 64, &bad_offset, 1, 0);
	flush_out();
	want(read_in() && got.failed == 1);
	send_data(BC_REPLY, 0, 0, 0, bytes, 8, NULL, 0, 0);
	flush_out();
	want(read_in() && got.completes == 1);
}

/* Alice calls the server, and Bob calls her. She cannot be frozen before she answers. */
static void calls_alice(void)
{
	call(alice_handle, 17, 0, 16);
}

static pid_t freezer;

/* Starts to freeze Alice, and does not end. */
static void main_begins_to_freeze(void)
{
	struct binder_freeze_info info = { .pid = pids[ALICE], .enable = 1, .timeout_ms = 1000000 };
	char path[32], state = 0;

	freezer = fork();
	want(freezer >= 0);
	if (!freezer)
		_exit(!ioctl(fd, BINDER_FREEZE, &info));
	snprintf(path, sizeof(path), "/proc/%d/stat", freezer);
	for (int i = 0; state != 'S'; i++) {
		FILE *file = fopen(path, "r");

		want(file && fscanf(file, "%*d %*s %c", &state) == 1);
		fclose(file);
		want(i < 3000);
		usleep(10000);
	}
}

/* The call back is for the thread of Alice that waits for the reply. */
static void server_calls_back_in_vain(void)
{
	want(read_in() && got.transactions == 1 && got.last.code == 1);
	free_buffer();
	flush_out();
	call(alice_handle, 18, 0, 16);
	want(read_in() && got.frozen == 1);
	send_data(BC_REPLY, 0, 0, 0, bytes, 8, NULL, 0, 0);
	flush_out();
	want(read_in() && got.completes == 1);
}

static void main_ends_freezing(void)
{
	int status;

	want(!kill(freezer, SIGKILL));
	want(waitpid(freezer, &status, 0) == freezer && WIFSIGNALED(status));
}

static void alice_answers_bob(void)
{
	want(read_in() && got.transactions == 1 && got.last.code == 17);
	reply(0, 8);
}

/* With the third one, more than 4/5 of the room for oneway transactions is Bob's. */
static void sends_spam(void)
{
	uint32_t on = 1;

	want(!ioctl(fd, BINDER_ENABLE_ONEWAY_SPAM_DETECTION, &on));
	for (int i = 0; i < 3; i++) {
		call(0, 14, TF_ONE_WAY, i < 2 ? sizeof(bytes) : sizeof(bytes) / 3);
		want(read_in() && got.spam == (i == 2) && got.completes == (i < 2));
	}
}

/* The last two bytes are the beginning of another command, whose rest is beyond the end. */
static void writes_part_of_command(void)
{
	put_command(BC_ENTER_LOOPER);
	put_command(BC_EXIT_LOOPER);
	memset(&bwr, 0, sizeof(bwr));
	bwr.write_buffer = (uintptr_t)out;
	bwr.write_size = sizeof(uint32_t) + 2;
	want(!ioctl(fd, BINDER_WRITE_READ, &bwr));
	out_len = 0;
}

/* The caller has mapped no memory for replies. */
static void main_gets_no_reply(void)
{
	want(read_in() && got.completes == 1 && got.dead_replies == 1);
}

static void gets_failure(void)
{
	want(read_in() && got.replies == 0 && got.failed == 1);
}

static void gets_no_file(void)
{
	want(read_in_without_files() && got.replies == 0 && got.failed == 1);
}

/* The thread that called ends, though not the process. */
static void calls_and_ends(void)
{
	int unused = 0;

	call(0, 1, 0, 100);
	want(!ioctl(fd, BINDER_THREAD_EXIT, &unused));
}

static void server_answers_nobody(void)
{
	want(read_in() && got.transactions == 1 && got.last.code == 1);
	reply(0, 50);
}

/* The second one waits until the first one is freed. Each is in a page of its own. */
static void server_tells_alice(void)
{
	for (int i = 0; i < 2; i++) {
		call(alice_handle, 5, TF_ONE_WAY, PAGE);
		want(read_in() && got.completes == 1);
	}
}

static void alice_hears_and_keeps(void)
{
	want(read_in() && got.transactions == 1 && got.last.code == 5);
}

static void calls_alice_with_page(void)
{
	call(alice_handle, 19, 0, PAGE);
}

/* The buffer has room for BR_NOOP. The call cannot be written after it. */
static void alice_reads_to_edge(void)
{
	uint8_t *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	want(pages != MAP_FAILED && !munmap(pages + PAGE, PAGE));
	memset(&bwr, 0, sizeof(bwr));
	bwr.read_buffer = (uintptr_t)pages + PAGE - sizeof(uint32_t);
	bwr.read_size = sizeof(in);
	want(ioctl(fd, BINDER_WRITE_READ, &bwr) == -1 && errno == EFAULT);
}

static void alice_leaves(void)
{
	exit(0);
}

/* The file is released by a work item. One that is queued after it, on each CPU, has ended. */
static void main_waits_for_release(void)
{
	int file = open("/proc/sys/vm/stat_refresh", O_WRONLY);

	want(file >= 0 && write(file, "1", 1) == 1);
	close(file);
}

/* Alice has left with the call of the server. */
static void server_sees_death(void)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	want(read_in() && got.completes == 1 && got.dead_replies == 1);
	want(poll(&poll_fd, 1, 30000) == 1);
	want(read_in() && got.dead == 1 && got.cookie == DEATH_COOKIE);
	/* The call has no receiver. */
	call(alice_handle, 16, 0, 8);
	want(read_in() && got.dead_replies == 1);
	put_command(BC_DEAD_BINDER_DONE);
	put(&got.cookie, sizeof(got.cookie));
	put_command(BC_RELEASE);
	put(&alice_handle, sizeof(alice_handle));
	put_command(BC_DECREFS);
	put(&alice_handle, sizeof(alice_handle));
	command(BC_EXIT_LOOPER);
}

static const struct step {
	const char *name;
	int who;
	void (*does)(void);
} steps[] = {
	{ "start", SERVER, server_starts },
	{ "start", ALICE, client_starts },
	{ "start", BOB, client_starts },
	{ "start", MAIN, open_device },

	{ "call", ALICE, calls },
	{ "call", SERVER, server_answers },
	{ "call", ALICE, take_reply },

	{ "pages", BOB, calls_with_much },
	{ "pages", SERVER, server_answers_with_much },
	{ "pages", BOB, take_reply },

	{ "objects", ALICE, alice_sends_objects },
	{ "objects", SERVER, server_keeps_object },
	{ "objects", ALICE, alice_gets_own_object },

	{ "pass", BOB, asks_for_object },
	{ "pass", SERVER, server_passes_object },
	{ "pass", BOB, bob_gets_object },

	{ "oneway", ALICE, client_enters },
	{ "oneway", BOB, tells_alice },
	{ "oneway", ALICE, alice_hears },

	{ "nested", ALICE, calls },
	{ "nested", SERVER, server_calls_back },
	{ "nested", ALICE, alice_answers_within },
	{ "nested", SERVER, server_answers_at_last },
	{ "nested", ALICE, take_reply },

	{ "array", BOB, sends_array },
	{ "array", SERVER, server_takes_array },
	{ "array", BOB, take_reply },

	{ "failure", BOB, sends_nonsense },
	{ "failure", BOB, sends_odd_offsets },

	{ "frozen", MAIN, main_freezes },
	{ "frozen", BOB, tells_frozen_alice },
	{ "frozen", MAIN, main_thaws },
	{ "frozen", ALICE, alice_hears_twice },

	{ "shrink", MAIN, main_shrinks },
	{ "shrink", BOB, asks_for_object },
	{ "shrink", SERVER, server_passes_object },
	{ "shrink", BOB, take_reply },

	{ "order", BOB, tells_server_pages },
	{ "order", SERVER, server_hears },
	{ "order", MAIN, main_shrinks },
	{ "order", SERVER, server_hears },
	{ "order", BOB, tells_server_both_pages },
	{ "order", SERVER, server_hears },

	{ "no file", BOB, calls_with_file },
	{ "no file", ALICE, calls_for_file },
	{ "no file", SERVER, server_gets_no_file },
	{ "no file", BOB, gets_failure },
	{ "no file", ALICE, gets_no_file },

	{ "nothing", BOB, calls_with_file },
	{ "nothing", SERVER, server_gets_nothing },
	{ "nothing", BOB, gets_failure },
	{ "nothing", BOB, finds_nothing },
	{ "nothing", BOB, reads_to_nowhere },

	{ "no reply", BOB, calls },
	{ "no reply", SERVER, server_fails_to_answer },
	{ "no reply", BOB, gets_failure },

	{ "no call", ALICE, calls },
	{ "no call", SERVER, server_fails_to_call_back },
	{ "no call", ALICE, take_reply },

	{ "stack", BOB, calls_twice },
	{ "stack", SERVER, server_answers_again },
	{ "stack", BOB, take_reply },

	{ "unmapped", MAIN, calls },
	{ "unmapped", SERVER, server_answers_again },
	{ "unmapped", MAIN, main_gets_no_reply },

	{ "frozen call", ALICE, calls },
	{ "frozen call", BOB, calls_alice },
	{ "frozen call", MAIN, main_begins_to_freeze },
	{ "frozen call", SERVER, server_calls_back_in_vain },
	{ "frozen call", MAIN, main_ends_freezing },
	{ "frozen call", ALICE, take_reply },
	{ "frozen call", ALICE, alice_answers_bob },
	{ "frozen call", BOB, take_reply },

	{ "spam", BOB, sends_spam },
	{ "spam", SERVER, server_hears },
	{ "spam", SERVER, server_hears },
	{ "spam", SERVER, server_hears },

	{ "part", BOB, writes_part_of_command },

	{ "nobody", ALICE, calls_and_ends },
	{ "nobody", SERVER, server_answers_nobody },

	{ "death", ALICE, client_enters },
	{ "death", SERVER, server_tells_alice },
	{ "death", ALICE, alice_hears_and_keeps },
	{ "death", BOB, calls_alice_with_page },
	{ "death", SERVER, calls_alice_with_page },
	{ "death", ALICE, alice_reads_to_edge },
	{ "death", BOB, gets_failure },
	{ "death", ALICE, alice_leaves },
	{ "death", MAIN, main_waits_for_release },
	{ "death", SERVER, server_sees_death },
};

#define STEPS (sizeof(steps) / sizeof(steps[0]))

/* Executes the steps of a process other than main. */
static void __attribute__((noreturn)) follow(void)
{
	unsigned char n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, names[me]);
	for (int i = 0; i < PROCESSES; i++) {
		close(orders[i][1]);
		close(answers[i][0]);
		if (i != me)
			close(answers[i][1]);
	}
	while (read(orders[me][0], &n, 1) == 1) {
		steps[n].does();
		want(write(answers[me][1], &n, 1) == 1);
	}
	exit(0);
}

/* Listens to the reports of the driver on netlink. Without a listener it sends none. */
static void listen_to_reports(void)
{
	static union {
		struct nlmsghdr head;
		uint8_t bytes[4096];
	} m;
	struct genlmsghdr *genl = NLMSG_DATA(&m.head);
	struct sockaddr_nl address = { .nl_family = AF_NETLINK };
	int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	uint32_t group = 0;
	struct nlattr *a;
	uint8_t *end;
	ssize_t n;

	want(sock >= 0 && !bind(sock, (struct sockaddr *)&address, sizeof(address)));
	m.head.nlmsg_type = GENL_ID_CTRL;
	m.head.nlmsg_flags = NLM_F_REQUEST;
	genl->cmd = CTRL_CMD_GETFAMILY;
	a = (void *)(genl + 1);
	a->nla_type = CTRL_ATTR_FAMILY_NAME;
	a->nla_len = NLA_HDRLEN + sizeof(BINDER_FAMILY_NAME);
	memcpy(a + 1, BINDER_FAMILY_NAME, sizeof(BINDER_FAMILY_NAME));
	m.head.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN + NLA_ALIGN(a->nla_len));
	want(send(sock, &m, m.head.nlmsg_len, 0) == (ssize_t)m.head.nlmsg_len);
	n = recv(sock, &m, sizeof(m), 0);
	want(n > (ssize_t)NLMSG_LENGTH(GENL_HDRLEN) && m.head.nlmsg_type == GENL_ID_CTRL);

	/* Only one group exists. Its id is an attribute in an attribute in an attribute. */
	end = m.bytes + n;
	for (a = (void *)(genl + 1); (uint8_t *)a < end; a = (void *)((uint8_t *)a + NLA_ALIGN(a->nla_len))) {
		struct nlattr *item, *part;

		if ((a->nla_type & NLA_TYPE_MASK) != CTRL_ATTR_MCAST_GROUPS)
			continue;
		item = a + 1;
		for (part = item + 1; (uint8_t *)part < (uint8_t *)a + a->nla_len;
		     part = (void *)((uint8_t *)part + NLA_ALIGN(part->nla_len))) {
			if ((part->nla_type & NLA_TYPE_MASK) == CTRL_ATTR_MCAST_GRP_ID)
				memcpy(&group, part + 1, sizeof(group));
		}
	}
	want(group);
	want(!setsockopt(sock, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)));
}

static void ends(int who)
{
	int status;

	close(orders[who][1]);
	want(waitpid(pids[who], &status, 0) == pids[who]);
	if (status)
		die("%s has ended with %#x", names[who], status);
}

static void add_device(const char *binderfs, const char *name)
{
	struct binderfs_device new = { 0 };
	char control[256];
	int file;

	snprintf(control, sizeof(control), "%s/binder-control", binderfs);
	snprintf(new.name, sizeof(new.name), "%s", name);
	file = open(control, O_RDONLY | O_CLOEXEC);
	want(file >= 0 && (!ioctl(file, BINDER_CTL_ADD, &new) || errno == EEXIST));
	close(file);
}

int main(int argc, char **argv)
{
	if (argc != 2 && argc != 3)
		die("usage: client BINDERFS [DEVICE]");
	if (argc == 3)
		add_device(argv[1], argv[2]);
	snprintf(device, sizeof(device), "%s/%s", argv[1], argc == 3 ? argv[2] : "binder");
	setvbuf(stdout, NULL, _IOLBF, 0);
	pids[MAIN] = getpid();
	prctl(PR_SET_NAME, names[MAIN]);
	for (int i = 1; i < PROCESSES; i++)
		want(!pipe2(orders[i], O_CLOEXEC) && !pipe2(answers[i], O_CLOEXEC));
	/* The pids of all are known to all. */
	for (int i = 1; i < PROCESSES; i++) {
		pids[i] = fork();
		want(pids[i] >= 0);
		if (!pids[i]) {
			me = i;
			follow();
		}
	}
	for (int i = 1; i < PROCESSES; i++) {
		close(orders[i][0]);
		close(answers[i][1]);
	}
	for (int i = 0; i < PROCESSES; i++)
		printf("process %s %d\n", names[i], pids[i]);
	listen_to_reports();

	for (unsigned char n = 0; n < STEPS; n++) {
		const struct step *step = &steps[n];
		unsigned char answer;

		printf("step %s: %s\n", step->name, names[step->who]);
		if (step->who == MAIN) {
			step->does();
			continue;
		}
		want(write(orders[step->who][1], &n, 1) == 1);
		if (step->does == alice_leaves) {
			ends(ALICE);
			continue;
		}
		if (read(answers[step->who][0], &answer, 1) != 1)
			ends(step->who);
		want(answer == n);
	}
	ends(BOB);
	ends(SERVER);
	return 0;
}
