/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers of the user_events tests: everything returns 0, or a count, or a
 * negative errno, so that one EXPECT_EQ() says which call failed and how.
 */
#ifndef _USER_EVENTS_RUST_UE_H
#define _USER_EVENTS_RUST_UE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/perf_event.h>
#include <linux/user_events.h>

#define UE_TRACEFS	"/sys/kernel/tracing"
#define UE_DATA		UE_TRACEFS "/user_events_data"
#define UE_STATUS	UE_TRACEFS "/user_events_status"
#define UE_DYN		UE_TRACEFS "/dynamic_events"
#define UE_EVENTS	UE_TRACEFS "/events/user_events"
#define UE_MULTI	UE_TRACEFS "/events/user_events_multi"

/* Memory that is mapped as a whole: a page, or several, whatever size they have. */
#define UE_PAGE		65536

/* Time limit of a poll, in milliseconds: of the environment on a kernel that checks itself. */
static inline int ue_patience(void)
{
	const char *text = getenv("UE_PATIENCE");

	return text && atoi(text) > 0 ? atoi(text) : 10000;
}
#define UE_PATIENCE	ue_patience()

/* A time limit in milliseconds, as much longer as that of a poll is. */
static inline uint64_t ue_slow_ms(unsigned int ms)
{
	return (uint64_t)ms * UE_PATIENCE / 10000;
}

/* Polls an expression; the result is true if it was true in time. */
#define ue_poll_ms(cond, ms)						\
({									\
	bool __true = false;						\
	uint64_t __end = ue_now() + (ms) * 1000000ull;			\
									\
	do {								\
		__true = (cond);					\
		if (!__true)						\
			usleep(500);					\
	} while (!__true && ue_now() < __end);				\
	__true;								\
})
#define ue_poll(cond) ue_poll_ms(cond, UE_PATIENCE)

static inline uint64_t ue_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Returns true once the number is @n, or false if it stays the same for UE_PATIENCE. */
static inline bool ue_comes_to(volatile int *number, int n)
{
	int now;

	do {
		now = __atomic_load_n(number, __ATOMIC_ACQUIRE);
	} while (now != n && ue_poll(__atomic_load_n(number, __ATOMIC_ACQUIRE) != now));
	return now == n;
}

static inline long ue_err(long ret)
{
	return ret < 0 ? -errno : ret;
}

/* The kernel under test: some defects of the C one are not safe to provoke. */
static inline bool ue_is_rust(void)
{
	static int rust = -1;
	FILE *f;

	if (rust >= 0)
		return rust;
	f = popen("zcat /proc/config.gz 2>/dev/null", "r");
	rust = 0;
	if (f) {
		char line[256];

		while (fgets(line, sizeof(line), f))
			if (!strcmp(line, "CONFIG_USER_EVENTS_RUST=y\n"))
				rust = 1;
		pclose(f);
	}
	return rust;
}

/* For a test that would harm the whole run on an implementation without the fix. */
#define UE_RUST_ONLY(what)						\
do {									\
	if (!ue_is_rust())						\
		SKIP(return, "would harm the C implementation: " what);	\
} while (0)

/* Files: one write() of the text, and the whole content. */

static inline int ue_put_flags(const char *file, const char *text, int flags)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC | flags);
	long ret = 0;

	if (fd < 0)
		return -errno;
	if (*text)
		ret = ue_err(write(fd, text, strlen(text)));
	close(fd);
	return ret < 0 ? ret : 0;
}

static inline int ue_put(const char *file, const char *text)
{
	return ue_put_flags(file, text, O_APPEND);
}

static inline int ue_trunc(const char *file)
{
	return ue_put_flags(file, "", O_TRUNC);
}

static inline __attribute__((format(printf, 1, 2))) const char *ue_path(const char *fmt, ...)
{
	static char path[8][PATH_MAX];
	static int next;
	char *p = path[next++ % 8];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p, PATH_MAX, fmt, ap);
	va_end(ap);
	return p;
}

/* The content of a file, in a buffer that the next call reuses. */
static inline char *ue_slurp(const char *file)
{
	static char *buf;
	static size_t size;
	size_t len = 0;
	ssize_t n = 0;
	int fd;

	if (!buf) {
		size = 1 << 16;
		buf = malloc(size);
	}
	buf[0] = '\0';
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return buf;
	while ((n = read(fd, buf + len, size - len - 1)) > 0) {
		len += n;
		if (size - len < 4096) {
			size *= 2;
			buf = realloc(buf, size);
		}
	}
	close(fd);
	buf[len] = '\0';
	return buf;
}

static inline int ue_count(const char *text, const char *what)
{
	int n = 0;

	while ((text = strstr(text, what))) {
		text++;
		n++;
	}
	return n;
}

/* The ioctls. */

static inline int ue_open(void)
{
	return ue_err(open(UE_DATA, O_RDWR | O_CLOEXEC));
}

static inline int ue_reg_full(int fd, const volatile void *word, int bit, int size, int flags,
			      const char *desc, uint32_t *index)
{
	struct user_reg reg = {
		.size = sizeof(reg),
		.enable_bit = bit,
		.enable_size = size,
		.flags = flags,
		.enable_addr = (uintptr_t)word,
		.name_args = (uintptr_t)desc,
		.write_index = 0xffffffff,
	};
	int ret = ue_err(ioctl(fd, DIAG_IOCSREG, &reg));

	if (index)
		*index = reg.write_index;
	return ret;
}

static inline int ue_reg(int fd, const volatile void *word, int bit, const char *desc)
{
	return ue_reg_full(fd, word, bit, 4, 0, desc, NULL);
}

static inline int ue_reg_flags(int fd, const volatile void *word, int bit, int flags,
			       const char *desc)
{
	return ue_reg_full(fd, word, bit, 4, flags, desc, NULL);
}

/* The write index that the registration got, or its negative errno. */
static inline int ue_reg_index(int fd, const volatile void *word, int bit, const char *desc)
{
	uint32_t index;
	int ret = ue_reg_full(fd, word, bit, 4, 0, desc, &index);

	return ret < 0 ? ret : (int)index;
}

static inline int ue_unreg(int fd, const volatile void *word, int bit)
{
	struct user_unreg unreg = {
		.size = sizeof(unreg),
		.disable_bit = bit,
		.disable_addr = (uintptr_t)word,
	};

	return ue_err(ioctl(fd, DIAG_IOCSUNREG, &unreg));
}

static inline int ue_del(int fd, const char *name)
{
	return ue_err(ioctl(fd, DIAG_IOCSDEL, name));
}

/*
 * Deletes an event that is about to lose its last user: a task that
 * unregisters, exits or closes may be done before the kernel is.
 */
static inline int ue_del_wait(int fd, const char *name)
{
	int ret = -EBUSY;

	ue_poll((ret = ue_del(fd, name)) != -EBUSY);
	return ret;
}

/* Writes a record: the index and the payload in two pieces. */
static inline long ue_writev(int fd, int index, const void *payload, size_t len)
{
	struct iovec io[2] = {
		{ &index, sizeof(index) },
		{ (void *)payload, len },
	};

	return ue_err(writev(fd, io, len ? 2 : 1));
}

/* The same in one piece. */
static inline long ue_write(int fd, int index, const void *payload, size_t len)
{
	char *buf = malloc(sizeof(index) + len + 1);
	long ret;

	memcpy(buf, &index, sizeof(index));
	memcpy(buf + sizeof(index), payload, len);
	ret = ue_err(write(fd, buf, sizeof(index) + len));
	free(buf);
	return ret;
}

static inline long ue_write_u32(int fd, int index, uint32_t value)
{
	return ue_write(fd, index, &value, sizeof(value));
}

/* Events in tracefs. */

static inline bool ue_exists(const char *event)
{
	return !access(ue_path(UE_EVENTS "/%s/enable", event), F_OK);
}

static inline bool ue_gone(const char *event)
{
	return ue_poll(!ue_exists(event));
}

static inline int ue_enable(const char *event, bool on)
{
	return ue_put(ue_path(UE_EVENTS "/%s/enable", event), on ? "1" : "0");
}

static inline int ue_event_id(const char *event)
{
	char *id = ue_slurp(ue_path(UE_EVENTS "/%s/id", event));

	return *id ? atoi(id) : -ENOENT;
}

/* Returns the number of records of an event in the buffer of an instance. */
static inline int ue_records_in(const char *instance, const char *event)
{
	char what[512];

	snprintf(what, sizeof(what), ": %s:", event);
	return ue_count(ue_slurp(ue_path("%s/%strace", UE_TRACEFS, instance)), what);
}

static inline int ue_records(const char *event)
{
	return ue_records_in("", event);
}

/* Returns the line of the last record of an event in trace, after "event:". */
static inline const char *ue_last_record(const char *event)
{
	static char out[4096];
	char what[512], *text = ue_slurp(UE_TRACEFS "/trace"), *last = NULL;

	snprintf(what, sizeof(what), ": %s:", event);
	while ((text = strstr(text, what)))
		last = text += strlen(what);
	out[0] = '\0';
	if (last)
		snprintf(out, sizeof(out), "%.*s", (int)strcspn(last, "\n"), last);
	return out;
}

/* The line of an event in user_events_status; empty if it has none. */
static inline const char *ue_status(const char *event)
{
	static char out[1024];
	char *text = ue_slurp(UE_STATUS), *line;
	size_t len = strlen(event);

	out[0] = '\0';
	while ((line = strsep(&text, "\n"))) {
		if (!strncmp(line, event, len) && (!line[len] || line[len] == ' '))
			snprintf(out, sizeof(out), "%s", line);
	}
	return out;
}

/* The lines of a format file that describe the event's own fields. */
static inline const char *ue_format_fields(const char *event)
{
	static char out[8192];
	char *text = ue_slurp(ue_path(UE_EVENTS "/%s/format", event)), *from, *to;

	out[0] = '\0';
	/* They are in between the empty lines; an event without fields has one. */
	from = strstr(text, "\n\n");
	if (!from)
		return out;
	to = strstr(from + 2, "\n\nprint fmt:");
	if (!to)
		return out;
	snprintf(out, sizeof(out), "%.*s\n", (int)(to - from - 2), from + 2);
	return out;
}

static inline const char *ue_print_fmt(const char *event)
{
	static char out[8192];
	char *text = ue_slurp(ue_path(UE_EVENTS "/%s/format", event));
	char *fmt = strstr(text, "print fmt: ");

	snprintf(out, sizeof(out), "%s", fmt ? fmt + strlen("print fmt: ") : "");
	out[strcspn(out, "\n")] = '\0';
	return out;
}

/* Removes the triggers of all events of a group; what refers to others first. */
static inline void ue_drop_triggers(const char *group)
{
	for (int round = 0; round < 4; round++) {
		DIR *events = opendir(ue_path(UE_TRACEFS "/events/%s", group));
		struct dirent *d;

		while (events && (d = readdir(events))) {
			if (d->d_name[0] != '.')
				ue_trunc(ue_path(UE_TRACEFS "/events/%s/%s/trigger", group, d->d_name));
		}
		if (events)
			closedir(events);
	}
}

/*
 * Back to a known state: nothing is enabled, no dynamic event is left, the
 * buffers are empty. Events that are about to be removed may take their time.
 */
static inline bool ue_reset(void)
{
	DIR *instances = opendir(UE_TRACEFS "/instances");
	struct dirent *d;

	/* Leftovers of an aborted test. */
	while (instances && (d = readdir(instances))) {
		if (d->d_name[0] != '.')
			rmdir(ue_path(UE_TRACEFS "/instances/%s", d->d_name));
	}
	if (instances)
		closedir(instances);
	/* Missing in C. Before events are disabled and removed, as it would enable new ones. */
	ue_trunc(UE_TRACEFS "/set_user_event");
	ue_put(UE_TRACEFS "/tracing_on", "1");
	ue_drop_triggers("user_events");
	ue_drop_triggers("synthetic");
	ue_trunc(UE_TRACEFS "/set_event");
	ue_trunc(UE_TRACEFS "/set_event_pid");
	if (!ue_poll(ue_trunc(UE_DYN) != -EBUSY))
		return false;
	ue_trunc(UE_TRACEFS "/trace");
	ue_trunc(UE_TRACEFS "/error_log");
	return true;
}

/* perf: every record of an event that this thread writes. */

struct ue_perf {
	int fd;
	size_t size;
	struct perf_event_mmap_page *page;
};

/* As perf_event_open(2) says. */
static inline bool ue_has_perf(void)
{
	return !access("/proc/sys/kernel/perf_event_paranoid", F_OK);
}

static inline int ue_perf_open(struct ue_perf *perf, const char *event)
{
	struct perf_event_attr pe = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(pe),
		.config = ue_event_id(event),
		.sample_type = PERF_SAMPLE_RAW,
		.sample_period = 1,
		.wakeup_events = 1,
	};

	perf->fd = ue_err(syscall(__NR_perf_event_open, &pe, 0, -1, -1, 0));
	if (perf->fd < 0)
		return perf->fd;
	perf->size = (1 + 64) * sysconf(_SC_PAGESIZE);
	perf->page = mmap(NULL, perf->size, PROT_READ | PROT_WRITE, MAP_SHARED, perf->fd, 0);
	if (perf->page == MAP_FAILED) {
		close(perf->fd);
		return -errno;
	}
	return 0;
}

/*
 * Takes the oldest record out of the buffer: the length of its raw data (what
 * perf adds to align it included), or -ENOENT if the buffer is empty. The
 * buffer must not have wrapped.
 */
static inline int ue_perf_next(struct ue_perf *perf, void *raw, size_t size)
{
	uint64_t head = __atomic_load_n(&perf->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = perf->page->data_tail;
	char *data = (char *)perf->page + perf->page->data_offset;
	struct perf_event_header *h;
	uint32_t len;

	while (tail < head) {
		h = (void *)(data + tail % perf->page->data_size);
		tail += h->size;
		perf->page->data_tail = tail;
		if (h->type != PERF_RECORD_SAMPLE)
			continue;
		len = *(uint32_t *)(h + 1);
		memcpy(raw, (char *)(h + 1) + sizeof(len), len < size ? len : size);
		return len;
	}
	return -ENOENT;
}

static inline void ue_perf_close(struct ue_perf *perf)
{
	munmap(perf->page, perf->size);
	close(perf->fd);
}

/* An emulated machine with sanitizers is slow: more than the 30 s of the harness. */
#undef TEST_F
#define TEST_F(fixture_name, test_name) TEST_F_TIMEOUT(fixture_name, test_name, 150)

/* The fixture that the tests share: a file, a page for the enable words. */
#define UE_FIXTURE(name)						\
FIXTURE(name) {								\
	int fd;								\
	volatile uint32_t *w;						\
};									\
FIXTURE_SETUP(name) {							\
	if (access(UE_DATA, F_OK))					\
		SKIP(return, "no user_events_data in tracefs");		\
	ASSERT_TRUE(ue_reset());					\
	self->fd = ue_open();						\
	ASSERT_LE(0, self->fd);						\
	self->w = mmap(NULL, 4 * UE_PAGE, PROT_READ | PROT_WRITE,		\
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);		\
	ASSERT_NE(MAP_FAILED, (void *)self->w);				\
	self->w[0] = 0;							\
}									\
FIXTURE_TEARDOWN(name) {						\
	/* Before the enable words are unmapped: a write to them would be missed. */ \
	ue_trunc(UE_TRACEFS "/set_user_event");				\
	ue_trunc(UE_TRACEFS "/set_event");				\
	close(self->fd);						\
	munmap((void *)self->w, 4 * UE_PAGE);				\
}

#endif /* _USER_EVENTS_RUST_UE_H */
