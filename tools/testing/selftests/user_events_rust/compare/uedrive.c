// SPDX-License-Identifier: GPL-2.0
/*
 * Drives user_events by a script of one command per line, and prints the result
 * of each: what it prints on two kernels can be compared.
 *
 * usage: uedrive [SCRIPT]       (default: stdin)
 *        uedrive --reset        only leaves tracing as it was at first
 *
 *   seq NAME            from here to the next one in a process of its own, with
 *                       everything reset before it
 *   fd N                use file N from here on, opened when it is first used
 *   close N
 *   reg [slot=N] [bit=N] [width=N] [flags=N] [size=N] [off=N] [addr=N] [tail=HEX] [null] : DESC
 *   unreg [slot=N] [bit=N] [size=N] [off=N] [r1=N] [r2=N] [tail=HEX]
 *   del NAME            (what is about to become unused is waited for)
 *   ioctl NR
 *   w INDEX ITEM...     write(); ITEM is u8:N u16:N u32:N u64:N, s:TEXT, z:TEXT
 *                       (with NUL), h:HEX, n:COUNT (of zero bytes)
 *   wv INDEX ITEM...    writev(), index and payload apart
 *   pw POS INDEX ITEM...
 *   raw HEX             write() without an index
 *   read, lseek POS
 *   val SLOT [8]        the enable word
 *   wait SLOT VALUE     the same, when it has the value or has not got it in time
 *   poke SLOT VALUE
 *   prot PAGE none|r|rw, drop PAGE
 *   put FILE TEXT, trunc FILE, cat FILE    in tracefs
 *   gone EVENT          whether an event is removed
 *   list                events and their users, without what is not ours to choose
 *   trace               the records in the buffer
 *   fork ... end        in a child
 *   thread ... end      in a thread
 *   sh COMMAND, exec COMMAND, echo TEXT
 *
 * Numbers are as in C. \n, \t, \\ and \xNN stand for characters. A slot is a
 * 4-byte word of a mapping of 16 KiB.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <pthread.h>
#include <stdarg.h>

#include "../ue.h"

#define FILES	16
#define SETTLE	400	/* ms: longer than a grace period and a work item */

static char *lines[1 << 16];
static int nlines;
static int files[FILES], cur;
static volatile uint32_t *mem;

static const char *name_of(int err)
{
	static char other[32];

	switch (err) {
#define E(e) case e: return #e
	E(EPERM); E(ENOENT); E(ESRCH); E(EINTR); E(E2BIG); E(EBADF); E(EAGAIN); E(ENOMEM);
	E(EACCES); E(EFAULT); E(EBUSY); E(EEXIST); E(ENODEV); E(EINVAL); E(EMFILE); E(ENOTTY);
	E(ESPIPE); E(EADDRINUSE); E(ENOSPC); E(EOPNOTSUPP); E(EDOM); E(ERANGE); E(ENOTDIR); E(EISDIR);
	}
	snprintf(other, sizeof(other), "errno %d", err);
	return other;
}

static void say(const char *what, long ret)
{
	if (ret < 0)
		printf("%s -> %s\n", what, name_of(-ret));
	else
		printf("%s -> %ld\n", what, ret);
}

static int file(void)
{
	if (files[cur] < 0)
		files[cur] = ue_open();
	return files[cur];
}

/* Takes the first word off a line. */
static char *word(char **s)
{
	char *w = *s;

	w += strspn(w, " ");
	*s = w + strcspn(w, " ");
	if (**s)
		*(*s)++ = '\0';
	return w;
}

static long number(const char *s)
{
	return (long)strtoull(s, NULL, 0);
}

/* Replaces the escapes in place; the result is the length. */
static size_t unescape(char *s)
{
	char *to = s, *from = s;

	while (*from) {
		if (*from != '\\') {
			*to++ = *from++;
			continue;
		}
		from++;
		switch (*from) {
		case 'n':
			*to++ = '\n';
			from++;
			break;
		case 't':
			*to++ = '\t';
			from++;
			break;
		case 'x': {
			char hex[3] = { from[1], from[1] ? from[2] : 0 };

			*to++ = strtol(hex, NULL, 16);
			from += 1 + strlen(hex);
			break;
		}
		case '\0':
			*to++ = '\\';
			break;
		default:
			*to++ = *from++;
		}
	}
	*to = '\0';
	return to - s;
}

static size_t unhex(char *out, const char *hex)
{
	size_t n = 0;
	unsigned int byte;

	while (sscanf(hex + 2 * n, "%2x", &byte) == 1)
		out[n++] = byte;
	return n;
}

static size_t payload(char *out, char *items)
{
	char *item, *v;
	size_t n = 0, len;
	uint64_t num;

	while (*(item = word(&items))) {
		v = strchr(item, ':');
		if (!v) {
			printf("? item %s\n", item);
			continue;
		}
		*v++ = '\0';
		num = number(v);
		if (item[0] == 'u') {
			len = number(item + 1) / 8;
			memcpy(out + n, &num, len);
		} else if (item[0] == 'h') {
			len = unhex(out + n, v);
		} else if (item[0] == 'n') {
			len = num;
			memset(out + n, 0, len);
		} else {
			len = unescape(v) + (item[0] == 'z');
			memcpy(out + n, v, len);
		}
		n += len;
	}
	return n;
}

/* One value of a list of key=value. */
static long option(const char *opts, const char *key, long otherwise)
{
	const char *p = opts;
	size_t len = strlen(key);

	while ((p = strstr(p, key))) {
		if ((p == opts || p[-1] == ' ') && p[len] == '=')
			return number(p + len + 1);
		p++;
	}
	return otherwise;
}

static void do_reg(char *s)
{
	struct {
		struct user_reg reg;
		char tail[8192];
	} arg = {};
	char *desc = strstr(s, ": "), *tail;
	long ret;

	if (desc) {
		*desc = '\0';
		desc += 2;
	} else {
		desc = s + strlen(s);
		if (desc > s && desc[-1] == ':')
			desc[-1] = '\0';
	}
	unescape(desc);
	arg.reg = (struct user_reg) {
		.size = option(s, "size", sizeof(arg.reg)),
		.enable_bit = option(s, "bit", 31),
		.enable_size = option(s, "width", 4),
		.flags = option(s, "flags", 0),
		.enable_addr = option(s, "addr", (long)(mem + option(s, "slot", 0)) + option(s, "off", 0)),
		.name_args = strstr(s, "null") ? 0 : (uintptr_t)desc,
		.write_index = 0xffff,
	};
	tail = strstr(s, "tail=");
	if (tail)
		unhex(arg.tail, tail + 5);
	ret = ue_err(ioctl(file(), DIAG_IOCSREG, &arg));
	if (ret)
		printf("reg -> %s%s\n", name_of(-ret),
		       arg.reg.write_index == 0xffff ? "" : ", index changed");
	else
		printf("reg -> index %u\n", arg.reg.write_index);
}

static void do_unreg(char *s)
{
	struct {
		struct user_unreg unreg;
		char tail[8192];
	} arg = {};
	char *tail = strstr(s, "tail=");

	arg.unreg = (struct user_unreg) {
		.size = option(s, "size", sizeof(arg.unreg)),
		.disable_bit = option(s, "bit", 31),
		.__reserved = option(s, "r1", 0),
		.__reserved2 = option(s, "r2", 0),
		.disable_addr = (long)(mem + option(s, "slot", 0)) + option(s, "off", 0),
	};
	if (tail)
		unhex(arg.tail, tail + 5);
	say("unreg", ue_err(ioctl(file(), DIAG_IOCSUNREG, &arg)));
}

static void do_write(const char *how, char *s)
{
	static char buf[1 << 18];
	struct iovec io[2];
	long pos = 0;
	int index;
	size_t n;

	if (!strcmp(how, "pw"))
		pos = number(word(&s));
	index = number(word(&s));
	memcpy(buf, &index, 4);
	n = payload(buf + 4, s);
	if (!strcmp(how, "w")) {
		say(how, ue_err(write(file(), buf, 4 + n)));
	} else if (!strcmp(how, "pw")) {
		say(how, ue_err(pwrite(file(), buf, 4 + n, pos)));
	} else {
		io[0] = (struct iovec) { buf, 4 };
		io[1] = (struct iovec) { buf + 4, n };
		say(how, ue_err(writev(file(), io, 2)));
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char **)a, *(char **)b);
}

/*
 * Multi-format events have numbers that count on from boot: here they count
 * from 0 in each list. Sorted, as the order is not part of the interface.
 */
static void do_list(void)
{
	static char *rows[4096];
	char *text, *line;
	int n = 0;

	text = strdup(ue_slurp(UE_STATUS));
	for (char *rest = text; (line = strsep(&rest, "\n")) && *line && n < 4096; ) {
		char *dot = strrchr(line, '.'), *end;
		char id[32] = "";

		if (dot && strtoul(dot + 1, &end, 16) < 0x1000000 && end > dot + 1 &&
		    (!*end || *end == ' ')) {
			snprintf(id, sizeof(id), "%.*s", (int)(end - dot - 1), dot + 1);
			if (!access(ue_path(UE_MULTI "/%.*s.%s", (int)(dot - line), line, id), F_OK))
				memset(dot + 1, '#', end - dot - 1);
			else
				id[0] = '\0';
		}
		/* The fields tell them apart. */
		if (id[0]) {
			char *f = ue_slurp(ue_path(UE_MULTI "/%.*s.%s/format", (int)(dot - line), line, id));
			char *fmt = strstr(f, "print fmt:");
			char *row = NULL;

			if (asprintf(&row, "%.*s.#%s %.*s", (int)(dot - line), line, end,
				     fmt ? (int)strcspn(fmt, "\n") : 0, fmt) > 0)
				rows[n++] = row;
		} else {
			rows[n++] = strdup(line);
		}
	}
	qsort(rows, n, sizeof(rows[0]), by_text);
	for (int i = 0; i < n; i++)
		printf("  event %s\n", rows[i]);
	text = strdup(ue_slurp(UE_DYN));
	n = 0;
	for (char *rest = text; (line = strsep(&rest, "\n")) && *line && n < 4096; )
		rows[n++] = line;
	qsort(rows, n, sizeof(rows[0]), by_text);
	for (int i = 0; i < n; i++)
		printf("  %s\n", rows[i]);
	text = ue_slurp(UE_STATUS);
	line = strstr(text, "Active:");
	if (line)
		printf("  %.*s, %s", (int)strcspn(line, "\n"), line, line + strcspn(line, "\n") + 1);
}

/* Without task, processor, flags and time. */
static void do_trace(void)
{
	char *text = ue_slurp(UE_TRACEFS "/trace"), *line, *p;

	while ((line = strsep(&text, "\n"))) {
		if (*line == '#' || !*line)
			continue;
		p = strstr(line, ": ");
		printf("  %s\n", p ? p + 2 : line);
	}
}

static void run(int from, int to);

struct block { int from, to; };

static void *run_thread(void *arg)
{
	struct block *b = arg;

	run(b->from, b->to);
	return NULL;
}

static void run1(char *s)
{
	char *cmd, *arg;
	long ret;

	s += strspn(s, " \t");
	if (!*s || *s == '#')
		return;
	cmd = word(&s);
	if (!strcmp(cmd, "reg")) {
		do_reg(s);
	} else if (!strcmp(cmd, "unreg")) {
		do_unreg(s);
	} else if (!strcmp(cmd, "del")) {
		unescape(s);
		ret = -EBUSY;
		(void)ue_poll_ms((ret = ue_del(file(), s)) != -EBUSY, SETTLE);
		say(cmd, ret);
	} else if (!strcmp(cmd, "ioctl")) {
		say(cmd, ue_err(ioctl(file(), number(s), 0)));
	} else if (!strcmp(cmd, "w") || !strcmp(cmd, "wv") || !strcmp(cmd, "pw")) {
		do_write(cmd, s);
	} else if (!strcmp(cmd, "raw")) {
		char buf[4096];

		ret = unhex(buf, s);
		say(cmd, ue_err(write(file(), buf, ret)));
	} else if (!strcmp(cmd, "read")) {
		char buf[8];

		say(cmd, ue_err(read(file(), buf, sizeof(buf))));
	} else if (!strcmp(cmd, "lseek")) {
		say(cmd, ue_err(lseek(file(), number(s), SEEK_SET)));
	} else if (!strcmp(cmd, "val")) {
		ret = number(word(&s));
		if (*s == '8')
			printf("val %ld = 0x%llx\n", ret, *(volatile unsigned long long *)&mem[ret]);
		else
			printf("val %ld = 0x%x\n", ret, mem[ret]);
	} else if (!strcmp(cmd, "wait")) {
		uint32_t want;

		ret = number(word(&s));
		want = number(s);
		(void)ue_poll_ms(mem[ret] == want, 5000);
		printf("wait %ld = 0x%x\n", ret, mem[ret]);
	} else if (!strcmp(cmd, "poke")) {
		ret = number(word(&s));
		mem[ret] = number(s);
	} else if (!strcmp(cmd, "prot")) {
		ret = number(word(&s));
		mprotect((char *)mem + getpagesize() * ret, getpagesize(), *s != 'r' ? PROT_NONE :
			 s[1] == 'w' ? PROT_READ | PROT_WRITE : PROT_READ);
	} else if (!strcmp(cmd, "drop")) {
		madvise((char *)mem + getpagesize() * number(s), getpagesize(), MADV_DONTNEED);
	} else if (!strcmp(cmd, "put")) {
		arg = word(&s);
		unescape(s);
		say(cmd, ue_put(ue_path("%s/%s", UE_TRACEFS, arg), s));
	} else if (!strcmp(cmd, "trunc")) {
		say(cmd, ue_trunc(ue_path("%s/%s", UE_TRACEFS, s)));
	} else if (!strcmp(cmd, "cat")) {
		printf("%s", ue_slurp(ue_path("%s/%s", UE_TRACEFS, s)));
	} else if (!strcmp(cmd, "gone")) {
		printf("%s %s\n", s, ue_poll_ms(!ue_exists(s), 2000) ? "gone" : "there");
	} else if (!strcmp(cmd, "list")) {
		do_list();
	} else if (!strcmp(cmd, "trace")) {
		do_trace();
	} else if (!strcmp(cmd, "fd")) {
		cur = number(s) % FILES;
	} else if (!strcmp(cmd, "close")) {
		ret = number(s) % FILES;
		if (files[ret] >= 0)
			close(files[ret]);
		files[ret] = -1;
	} else if (!strcmp(cmd, "sh")) {
		fflush(stdout);
		if (system(s) < 0)
			printf("? sh\n");
	} else if (!strcmp(cmd, "exec")) {
		fflush(stdout);
		execlp("sh", "sh", "-c", s, NULL);
	} else if (!strcmp(cmd, "echo")) {
		printf("%s\n", s);
	} else {
		printf("? %s\n", cmd);
	}
}

static int block_end(int from, int to)
{
	int depth = 1;

	for (; from < to; from++) {
		char *s = lines[from] + strspn(lines[from], " \t");

		if (!strcmp(s, "fork") || !strcmp(s, "thread"))
			depth++;
		else if (!strcmp(s, "end") && !--depth)
			break;
	}
	return from;
}

/*
 * After a fork the pages are shared until they are written to. C leaves the words of such a
 * page to a work item, so that it depends on the scheduler when they are written. Writing nothing
 * to the first page, in which the slots usually are, copies it.
 */
static void own_page(void)
{
	__atomic_fetch_or(&mem[0], 0, __ATOMIC_SEQ_CST);
}

/*
 * Forks. Parent and child have pages of their own before the child continues, as it may
 * switch events whose words the parent has as well.
 */
static pid_t fork_apart(void)
{
	int ready[2];
	pid_t pid;
	char c;

	if (pipe2(ready, O_CLOEXEC))
		abort();
	pid = fork();
	own_page();
	close(ready[1]);
	/* Returns when the parent has closed its end. */
	if (!pid && read(ready[0], &c, 1))
		abort();
	close(ready[0]);
	return pid;
}

static void run(int from, int to)
{
	while (from < to) {
		char *s = lines[from] + strspn(lines[from], " \t");

		from++;
		if (!strcmp(s, "fork")) {
			int end = block_end(from, to);
			pid_t pid;

			fflush(stdout);
			pid = fork_apart();
			if (!pid) {
				run(from, end);
				fflush(stdout);
				_exit(0);
			}
			waitpid(pid, NULL, 0);
			from = end + 1;
		} else if (!strcmp(s, "thread")) {
			struct block b = { from, block_end(from, to) };
			pthread_t t;

			pthread_create(&t, NULL, run_thread, &b);
			pthread_join(t, NULL);
			from = b.to + 1;
		} else {
			char *copy = strdup(s);

			run1(copy);
			free(copy);
		}
	}
	fflush(stdout);
}

static void start(void)
{
	for (int i = 0; i < FILES; i++)
		files[i] = -1;
	cur = 0;
	mem = mmap(NULL, 4 * getpagesize(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		abort();
}

/* Removes the triggers of an event, the last one first. */
static void drop_triggers(const char *event)
{
	char *file = strdup(ue_path("%s/trigger", event)), *text = strdup(ue_slurp(file)), *line;
	char cmd[4096];

	/* All histograms at once, and those that cannot be removed by what they show as. */
	if (strstr(text, "hist:")) {
		ue_trunc(file);
		text = strdup(ue_slurp(file));
	}
	for (;;) {
		while (*text && text[strlen(text) - 1] == '\n')
			text[strlen(text) - 1] = '\0';
		line = strrchr(text, '\n');
		line = line ? line + 1 : text;
		if (*line && *line != '#') {
			char *state = strstr(line, " [active]");

			if (!state)
				state = strstr(line, " [paused]");
			snprintf(cmd, sizeof(cmd), "!%.*s", state ? (int)(state - line) : (int)strlen(line), line);
			ue_put(file, cmd);
		}
		if (line == text)
			return;
		line[-1] = '\0';
	}
}

static void for_each_dir(const char *path, void (*fn)(const char *))
{
	DIR *dir = opendir(path);
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		if (d->d_type == DT_DIR && d->d_name[0] != '.')
			fn(strdup(ue_path("%s/%s", path, d->d_name)));
	}
	if (dir)
		closedir(dir);
}

static void drop_instance(const char *path)
{
	/* Variables of a histogram hold the instance. */
	for_each_dir(ue_path("%s/events/user_events", path), drop_triggers);
	rmdir(path);
}

/* The events of others that the sequences have triggers on. */
static void drop_other_triggers(void)
{
	static const char * const events[] = {
		"sched/sched_waking", "sched/sched_switch", "kmem/kmalloc", "raw_syscalls/sys_enter",
		"raw_syscalls/sys_exit", "ftrace/print",
	};

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		drop_triggers(ue_path(UE_TRACEFS "/events/%s", events[i]));
	for_each_dir(UE_TRACEFS "/events/synthetic", drop_triggers);
}

static int reset(void)
{
	ue_put(UE_TRACEFS "/tracing_on", "1");
	ue_trunc(UE_TRACEFS "/set_event_notrace_pid");
	/* A trigger that refers to a variable has to be removed before its owner. */
	for (int i = 0; i < 3; i++) {
		drop_other_triggers();
		for_each_dir(UE_EVENTS, drop_triggers);
		for_each_dir(UE_MULTI, drop_triggers);
	}
	for_each_dir(UE_TRACEFS "/instances", drop_instance);
	if (ue_reset())
		return 0;
	printf("? the reset failed, events stay:\n%s", ue_slurp(UE_DYN));
	fflush(stdout);
	return 1;
}

int main(int argc, char **argv)
{
	FILE *in = argc > 1 ? fopen(argv[1], "r") : stdin;
	size_t size = 0;
	ssize_t n;
	char *line = NULL;
	int i;

	if (argc > 1 && !strcmp(argv[1], "--reset"))
		return reset();
	if (!in) {
		perror(argv[1]);
		return 2;
	}
	while ((n = getline(&line, &size, in)) > 0 && nlines < (int)(sizeof(lines) / sizeof(lines[0]))) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		lines[nlines++] = strdup(line);
	}
	if (strncmp(nlines ? lines[0] : "", "seq ", 4)) {
		start();
		run(0, nlines);
		return 0;
	}
	for (i = 0; i < nlines; ) {
		int from = i + 1, status;
		pid_t pid;

		printf("== %s\n", lines[i] + 4);
		for (i = from; i < nlines && strncmp(lines[i], "seq ", 4); )
			i++;
		fflush(stdout);
		if (reset())
			return 1;
		pid = fork();
		if (!pid) {
			alarm(30);
			start();
			run(from, i);
			fflush(stdout);
			_exit(0);
		}
		waitpid(pid, &status, 0);
		if (WIFSIGNALED(status))
			printf("? ended by signal %d\n", WTERMSIG(status));
	}
	return reset();
}
