// SPDX-License-Identifier: GPL-2.0
/*
 * A fuzzer of user_events and of histogram triggers, guided by the coverage and the
 * comparisons of kcov. See scripts/fuzz.
 *
 * usage: fuzz [-s SECONDS] [-n WORKERS] [-r SEED] [-k COUNT] -o DIR [CORPUS...]
 *	  fuzz -p [-k COUNT] [-r SEED] FILE...
 *
 * The first form runs programs, those of the corpus to begin with, and keeps in DIR:
 * the smallest programs that reach all that was reached (corpus/SURFACE.txt), the
 * addresses that were reached (pcs), and what each worker ran last (running.N, which is
 * written before it is run, so that it exists after a crash).
 *
 * The second form runs the programs of files once, and COUNT programs derived from
 * them with SEED, and prints what each operation returned: the same on two kernels
 * that do the same. Programs that need a process of their own are left out with -k.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include <linux/kcov.h>
#if __has_include(<linux/hist_triggers.h>)
#include <linux/hist_triggers.h>
#else
/* The installed headers are those of a kernel without it. */
#define HIST_IOCSPOLLINTERVAL _IOW('*', 0x20, uint32_t)
#endif

#include "../uring.h"
#include "gen.h"

#define WORKERS_MAX	8
#define CORPUS_MAX	6000
#define COVER_SIZE	(64 << 10)
#define EDGES_MAX	(1 << 17)
#define FILES		3
#define PAGES		4

/* Time limit of a program, in seconds. */
#define PATIENCE	120

/*
 * Size of the last programs of a worker in its file: their number, and the bytes of each.
 */
#define LAST_PROGS	64
#define LAST_SIZE	16384

static struct shared {
	uint64_t edges[EDGES_MAX];
	unsigned int n_edges;
	unsigned int n_corpus;
	unsigned int findings;
	struct worker {
		unsigned long programs;
		unsigned long operations;
		unsigned long succeeded;
		uint64_t began;
		struct prog now;
	} worker[WORKERS_MAX];
	unsigned long kinds[OP_KINDS][2];
	struct prog corpus[CORPUS_MAX];
	uint8_t ready[CORPUS_MAX];
} *shared;

static int me;
static bool printing, tainted;
static int base_fd = -1, base_index[2];
static uint32_t base_word[2];
static char instance[64];
static const char *out_dir;

/* kcov. A kernel that is only compared with has none. */

static int kcov = -1;
static unsigned long *cover;

static void cover_open(void)
{
	kcov = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	if (kcov < 0)
		return;
	if (ioctl(kcov, KCOV_INIT_TRACE, COVER_SIZE) < 0)
		exit(1);
	cover = mmap(NULL, COVER_SIZE * sizeof(*cover), PROT_READ | PROT_WRITE, MAP_SHARED, kcov, 0);
	if (cover == MAP_FAILED)
		exit(1);
}

static void cover_start(int mode)
{
	if (kcov < 0)
		return;
	__atomic_store_n(&cover[0], 0, __ATOMIC_RELAXED);
	ioctl(kcov, KCOV_ENABLE, mode);
}

static void cover_stop(void)
{
	if (kcov >= 0)
		ioctl(kcov, KCOV_DISABLE, 0);
}

static unsigned long covered(void)
{
	return kcov < 0 ? 0 : __atomic_load_n(&cover[0], __ATOMIC_RELAXED);
}

/* The place of an address in the table, also of a missing one. */
static unsigned int edge_slot(uint64_t pc)
{
	unsigned int i = pc * 0x9e3779b97f4a7c15ull >> 40;

	for (;; i++) {
		uint64_t old = __atomic_load_n(&shared->edges[i % EDGES_MAX], __ATOMIC_RELAXED);

		if (!old || old == pc)
			return i % EDGES_MAX;
	}
}

/* Adds what has been covered; what is new is added to @new. */
static int cover_add(uint64_t *new, int max)
{
	unsigned long n = covered();
	int found = 0;

	for (unsigned long i = 1; i <= n && i < COVER_SIZE; i++) {
		uint64_t pc = cover[i], old = 0;
		unsigned int slot;

		do {
			slot = edge_slot(pc);
			old = __atomic_load_n(&shared->edges[slot], __ATOMIC_RELAXED);
		} while (!old && !__atomic_compare_exchange_n(&shared->edges[slot], &old, pc, false,
							      __ATOMIC_RELAXED, __ATOMIC_RELAXED) && old != pc);
		if (old == pc)
			continue;
		__atomic_fetch_add(&shared->n_edges, 1, __ATOMIC_RELAXED);
		if (found < max)
			new[found] = pc;
		found++;
	}
	return found < max ? found : max;
}

/* Returns true if all of @pcs have been covered. */
static bool cover_has(const uint64_t *pcs, int n)
{
	unsigned long all = covered();

	for (int i = 0; i < n; i++) {
		unsigned long j = 1;

		while (j <= all && cover[j] != pcs[i])
			j++;
		if (j > all)
			return false;
	}
	return true;
}

/* Takes the comparisons that the kernel has executed. */
static void take_cmps(void)
{
	unsigned long n = covered();

	n_cmps = 0;
	for (unsigned long i = 0; i < n && n_cmps < CMPS_MAX - 1 && i * 4 + 4 < COVER_SIZE; i++) {
		uint64_t type = cover[i * 4 + 1], a = cover[i * 4 + 2], b = cover[i * 4 + 3];
		int size = 1 << (type >> 1 & 3);

		if (a == b)
			continue;
		/* They are many: a sample, if they do not all have room. */
		if (n > CMPS_MAX && rnd(n) > CMPS_MAX)
			continue;
		cmps[n_cmps++] = (struct cmp){ b, a, size };
		if (!(type & KCOV_CMP_CONST))
			cmps[n_cmps++] = (struct cmp){ a, b, size };
	}
}

/* A text as it is given to the kernel, with the worker's own names. */
static void own(char *to, const void *from, size_t len)
{
	memcpy(to, from, len);
	to[len] = '\0';
	for (size_t i = 0; i + 3 <= len; i++) {
		if (to[i] == 'z' && to[i + 1] == '0' && to[i + 2] == '_')
			to[i + 1] = '0' + me;
	}
}

static const char *own_name(const char *name)
{
	static __thread char out[8][128];
	static __thread int next;
	char *to = out[next++ % 8];

	own(to, name, strlen(name));
	return to;
}

static long put_len(const char *file, const void *text, size_t len, int flags)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC | flags);
	long ret = 0;

	if (fd < 0)
		return -errno;
	if (len)
		ret = ue_err(write(fd, text, len));
	close(fd);
	return ret;
}

static void path_of(char *out, unsigned int ev, const char *file)
{
	snprintf(out, 256, "%s/events/%s/%s", instance, own_name(event_path[ev % EVENTS]), file);
}

static void finding(const char *what, const struct prog *p)
{
	__atomic_fetch_add(&shared->findings, 1, __ATOMIC_RELAXED);
	flockfile(stdout);
	printf("# FOUND: %s\n", what);
	if (p)
		prog_print(stdout, p);
	fflush(stdout);
	funlockfile(stdout);
}

/* The memory with the words that programs register. */

static uint8_t *area;

static uintptr_t slot_addr(uint32_t slot)
{
	static const uintptr_t others[] = {
		0, 4, 0x7ffffffff000, 0xffff800000000000, 0xfffffffffffffff8, 0x1000,
	};

	slot %= SLOTS;
	if (slot < 16 * PAGES)
		return (uintptr_t)area + (slot / 16) * 4096 + (slot % 16) * 8;
	return others[slot - 16 * PAGES];
}

static struct state {
	int file[FILES];
	int index[SLOTS];
	/* Registrations of this process, to be unregistered. */
	struct { uint8_t slot, bit, file; } reg[OPS_MAX];
	int n_reg;
	bool triggers, filters, enables, patterns, synthetic, events;
} st;

static void area_map(int page)
{
	void *at = area + page * 4096;

	if (mmap(at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at)
		exit(1);
}

static long do_reg(const struct op *op, const char *text)
{
	struct user_reg reg = {
		.size = sizeof(reg),
		.enable_bit = op->arg[3],
		.enable_size = op->arg[2],
		.flags = op->arg[1],
		.enable_addr = slot_addr(op->arg[0]),
		.name_args = (uintptr_t)text,
		.write_index = -1,
	};
	long ret = ue_err(ioctl(st.file[op->arg[4] % FILES], DIAG_IOCSREG, &reg));

	if (ret == 0) {
		st.index[op->arg[0] % SLOTS] = reg.write_index;
		if (st.n_reg < OPS_MAX) {
			st.reg[st.n_reg].slot = op->arg[0] % SLOTS;
			st.reg[st.n_reg++].bit = op->arg[3];
		}
		if (op->arg[1])
			st.events = true;
	}
	return ret;
}

static long do_unreg(int file, uint32_t slot, uint32_t bit)
{
	struct user_unreg unreg = {
		.size = sizeof(unreg),
		.disable_bit = bit,
		.disable_addr = slot_addr(slot),
	};

	return ue_err(ioctl(st.file[file % FILES], DIAG_IOCSUNREG, &unreg));
}

static long do_write(const struct op *op)
{
	int index = st.index[op->arg[1] % SLOTS], n = 0;
	char buf[TEXT_MAX + 4];
	size_t len = op->len;
	struct iovec io[4];

	memcpy(buf, &index, 4);
	memcpy(buf + 4, op->text, len);
	if (op->arg[2] % 4 == 0)
		return ue_err(write(st.file[op->arg[0] % FILES], buf, 4 + len));
	if (op->arg[2] % 4 == 3) {
		io[n++] = (struct iovec){ buf, 3 };
		io[n++] = (struct iovec){ buf + 3, 1 };
	} else {
		io[n++] = (struct iovec){ buf, 4 };
	}
	if (op->arg[2] % 4 == 2)
		io[n++] = (struct iovec){ buf + 4, len / 2 };
	else
		io[n++] = (struct iovec){ buf + 4, len };
	if (op->arg[2] % 4 == 2)
		io[n++] = (struct iovec){ buf + 4 + len / 2, len - len / 2 };
	return ue_err(writev(st.file[op->arg[0] % FILES], io, n));
}

/*
 * A batch. The fourth operand is what is added to the size of every third record. The last
 * one tells where the batch is, where anything may be mapped if it is 0, and what is added
 * to its size.
 */
static long do_batch(const struct op *op)
{
	static char buf[100 * (TEXT_MAX + 16)] __attribute__((aligned(8)));
	struct ue_batch b = { .buf = buf };

	for (uint32_t i = 0; i < op->arg[2] % 100; i++) {
		int index = st.index[(op->arg[1] + i % 2) % SLOTS];
		uint32_t size = sizeof(struct user_record) + op->len;

		ue_batch_add_sized(&b, i % 3 == 2 ? size + op->arg[3] : size, index, op->text, op->len);
	}
	return ue_batch_at(st.file[op->arg[0] % FILES],
			   op->arg[4] ? buf : (void *)slot_addr(op->arg[1]), b.len + op->arg[4] - 1);
}

#define LONG_MAX_SIZE 80000

/* A record that may be long, in each of the ways in which one can be written. */
static long do_long(const struct op *op)
{
	static struct {
		struct user_record head;
		char payload[LONG_MAX_SIZE];
	} rec __attribute__((aligned(8)));
	int index = st.index[op->arg[1] % SLOTS], fd = st.file[op->arg[0] % FILES];
	uint32_t len = op->arg[2] % LONG_MAX_SIZE;
	struct iovec io = { &rec.head.write_index, 4 + len };
	struct uring u;
	long ret;

	rec.head = (struct user_record){ sizeof(rec.head) + len, index };
	memcpy(rec.payload, op->text, op->len < len ? op->len : len);
	switch (op->arg[3] % 4) {
	case 0:
		return ue_err(write(fd, io.iov_base, io.iov_len));
	case 1:
		return ue_err(pwritev2(fd, &io, 1, -1, RWF_NOWAIT));
	case 2:
		return ue_batch_at(fd, &rec, rec.head.size);
	}
	if (uring_open(&u))
		return -EOPNOTSUPP;
	ret = uring_writev(&u, fd, &io, 1, 0);
	uring_close(&u);
	return ret;
}

/* Records of the two events that are always there. */
static long do_hit(const struct op *op)
{
	long ret = 0, n = op->arg[1] % 1000;
	bool pair = op->arg[0] & 1;

	for (uint32_t i = 0; i < n; i++) {
		struct __attribute__((packed)) {
			int index;
			uint32_t id;
			uint64_t wide;
			union {
				struct __attribute__((packed)) {
					uint64_t total;
					uint8_t kind;
					char tag[8];
					uint32_t msg;
					char text[8];
				} num;
				struct __attribute__((packed)) {
					int32_t tiny;
					char note[16];
					uint32_t txt;
					char text[8];
				} pair;
			};
		} rec = { .index = base_index[pair], .id = i % 7, .wide = i * 13 - (i & 1) };
		size_t len = offsetof(typeof(rec), num) + (pair ? sizeof(rec.pair) : sizeof(rec.num));

		if (pair) {
			rec.pair.tiny = 3 - (int)i;
			snprintf(rec.pair.note, sizeof(rec.pair.note), "note %u", i % 3);
			rec.pair.txt = 8 << 16 | 44;
			snprintf(rec.pair.text, sizeof(rec.pair.text), "b%u", i % 5);
		} else {
			rec.num.total = (uint64_t)i << (i % 50);
			rec.num.kind = i;
			memset(rec.num.tag, 'a' + i % 3, i % 9);
			rec.num.msg = 8 << 16;
			snprintf(rec.num.text, sizeof(rec.num.text), "msg%u", i % 11);
		}
		ret = ue_err(write(base_fd, &rec, len));
	}
	return ret;
}

/* Files that are read: of an event, of the worker's instance, and of all. */
static const struct read_file {
	const char *name;
	enum { OF_EVENT, OF_INSTANCE, OF_ALL } of;
	/* It says the same on two kernels that do the same. */
	bool same;
	/* What is read is taken out. */
	bool taken;
} read_files[] = {
	{ "hist", OF_EVENT, false }, { "trigger", OF_EVENT, true }, { "format", OF_EVENT, false },
	{ "enable", OF_EVENT, true }, { "id", OF_EVENT, false }, { "filter", OF_EVENT, true },
	{ "hist_debug", OF_EVENT, false }, { "user_events_status", OF_ALL, false },
	{ "dynamic_events", OF_ALL, false }, { "error_log", OF_INSTANCE, false },
	{ "synthetic_events", OF_ALL, false }, { "trace", OF_INSTANCE, false },
	{ "../../../proc/sys/kernel/user_events_max", OF_ALL, true },
	{ "user_events_data", OF_ALL, true }, { "user_events_losses", OF_ALL, false },
	{ "set_user_event", OF_INSTANCE, false }, { "hist_raw", OF_EVENT, false },
	{ "hist_raw", OF_EVENT, false, true },
};

static long do_read(const struct op *op)
{
	const struct read_file *f = &read_files[op->arg[0] % (sizeof(read_files) / sizeof(read_files[0]))];
	static const int sizes[] = { 4096, 65536, 1, 100 };
	char path[256], buf[65536];
	size_t all = 0;
	long ret;
	int fd;

	if (f->of == OF_EVENT)
		path_of(path, op->arg[1], f->name);
	else
		snprintf(path, sizeof(path), "%s/%s", f->of == OF_ALL ? UE_TRACEFS : instance, f->name);
	fd = open(path, (f->taken ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (op->arg[0] & 1) {
		struct pollfd pollfd = { fd, POLLIN | POLLPRI, 0 };
		uint32_t interval = op->arg[0] / 4;

		/* Of a histogram: 0 is too little. */
		if (op->arg[0] & 2)
			ioctl(fd, HIST_IOCSPOLLINTERVAL, &interval);
		poll(&pollfd, 1, 0);
		lseek(fd, op->arg[0], SEEK_SET);
		ret = read(fd, buf, 10);
		lseek(fd, 0, SEEK_SET);
	}
	do {
		ret = ue_err(read(fd, buf, sizes[all % 4]));
		if (printing && f->same && ret > 0)
			printf("%.*s", (int)ret, buf);
		if (ret > 0)
			all += ret;
	} while (ret > 0 && all < 300000);
	close(fd);
	return ret < 0 ? ret : 0;
}

/* An ioctl with any memory, also none and some that is shorter. */
static long do_ioctl(const struct op *op)
{
	static const unsigned long cmds[] = {
		DIAG_IOCSREG, DIAG_IOCSUNREG, DIAG_IOCSDEL, DIAG_IOCSREG + 1, 0,
		[RAW_BATCH] = DIAG_IOCSBATCH,
	};
	unsigned long cmd = cmds[op->arg[1] % RAW_KINDS];
	char *page = (char *)area + PAGES * 4096, *at = page - op->len;

	/* The page after it is not mapped. */
	memcpy(at, op->text, op->len);
	return ue_err(ioctl(st.file[op->arg[0] % FILES], cmd, op->len ? at : NULL));
}

static long do_instance(const struct op *op, const char *text)
{
	char dir[80], path[256];
	long ret;

	snprintf(dir, sizeof(dir), "%s_b", instance);
	if (mkdir(dir, 0750))
		return -errno;
	snprintf(path, sizeof(path), "%s/events/%s/trigger", dir, own_name(event_path[op->arg[0] % EVENTS]));
	ret = put_len(path, text, op->len, O_APPEND);
	ue_poll(rmdir(dir) == 0);
	return ret;
}

static void run_ops(const struct prog *p, int from, int to);

struct job {
	const struct prog *p;
	int from, to;
};

static void *job_run(void *arg)
{
	struct job *job = arg;

	run_ops(job->p, job->from, job->to);
	return NULL;
}

static long run_op(const struct prog *p, int *at, int to);

/* The next operation, with an allocation that fails. */
static long do_fail(const struct prog *p, int *at, int to)
{
	static const char file[] = "/proc/thread-self/fail-nth";
	int n = p->op[*at].arg[0], kind = p->op[*at + 1].kind;
	long ret;

	/* Not where other code of the kernel is known not to take it well. */
	if (kind == OP_ENABLE || kind == OP_SETEV || kind == OP_SYN || kind >= OP_INSTANCE || n < 1 || n > 1000)
		return 0;
	if (ue_put(file, own_name(ue_path("%d", n))) < 0)
		return 0;
	++*at;
	ret = run_op(p, at, to);
	ue_put(file, "0");
	return ret;
}

static long run_op(const struct prog *p, int *at, int to)
{
	const struct op *op = &p->op[*at];
	char text[TEXT_MAX + 1], path[256];
	long ret = 0;

	own(text, op->text, op->len);
	switch (op->kind) {
	case OP_REG:
		return do_reg(op, text);
	case OP_UNREG:
		return do_unreg(op->arg[2], op->arg[0], op->arg[1]);
	case OP_DEL:
		return ue_err(ioctl(st.file[op->arg[0] % FILES], DIAG_IOCSDEL, text));
	case OP_WRITE:
		return do_write(op);
	case OP_BATCH:
		return do_batch(op);
	case OP_LONG:
		return do_long(op);
	case OP_PATTERN:
		/* Events of others would be kept. */
		if (!strstr(text, own_name("z0_")))
			return 0;
		st.patterns = st.enables = st.triggers = true;
		snprintf(path, sizeof(path), "%s/set_user_event", instance);
		return put_len(path, text, op->len, O_APPEND);
	case OP_DYN:
		st.events = true;
		return put_len(UE_DYN, text, op->len, O_APPEND);
	case OP_TRIG:
		st.triggers = true;
		path_of(path, op->arg[0], "trigger");
		return put_len(path, text, op->len, O_APPEND);
	case OP_FILTER:
		st.filters = true;
		path_of(path, op->arg[0], "filter");
		return put_len(path, text, op->len, 0);
	case OP_ENABLE:
		st.enables = true;
		path_of(path, op->arg[0], "enable");
		return put_len(path, op->arg[1] & 1 ? "1" : "0", 1, 0);
	case OP_READ:
		return do_read(op);
	case OP_TRUNC:
		path_of(path, op->arg[0], "trigger");
		return put_len(path, "", 0, O_TRUNC);
	case OP_SYN:
		st.synthetic = true;
		return put_len(UE_TRACEFS "/synthetic_events", text, op->len, O_APPEND);
	case OP_SETEV:
		st.enables = true;
		snprintf(path, sizeof(path), "%s/set_event", instance);
		return put_len(path, text, op->len, O_APPEND);
	case OP_HIT:
		return do_hit(op);
	case OP_OPEN:
		if (st.file[op->arg[0] % FILES] < 0)
			st.file[op->arg[0] % FILES] = open(UE_DATA, O_RDWR | O_CLOEXEC);
		return 0;
	case OP_CLOSE:
		ret = ue_err(close(st.file[op->arg[0] % FILES]));
		st.file[op->arg[0] % FILES] = -1;
		return ret;
	case OP_RAW:
		return do_ioctl(op);
	case OP_INSTANCE:
		return do_instance(op, text);
	case OP_FAIL:
		if (*at + 1 < to)
			return do_fail(p, at, to);
		return 0;
	case OP_MUNMAP:
		return ue_err(munmap(area + op->arg[0] % PAGES * 4096, 4096));
	case OP_MMAP:
		area_map(op->arg[0] % PAGES);
		return 0;
	case OP_PROT: {
		static const int prot[] = { PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE, PROT_EXEC };

		return ue_err(mprotect(area + op->arg[0] % PAGES * 4096, 4096, prot[op->arg[1] % 4]));
	}
	case OP_ADVISE: {
		static const int advice[] = { MADV_DONTNEED, MADV_DONTFORK, MADV_WIPEONFORK, MADV_FREE };

		return ue_err(madvise(area + op->arg[0] % PAGES * 4096, 4096, advice[op->arg[1] % 4]));
	}
	case OP_FORK: {
		int n = op->arg[0] % OPS_MAX;
		pid_t pid = fork();

		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			run_ops(p, *at + 1, *at + 1 + n < to ? *at + 1 + n : to);
			_exit(0);
		}
		return pid < 0 ? -errno : 0;
	}
	case OP_CLONE: {
		struct job job = { p, *at + 1, *at + 1 + (int)(op->arg[0] % OPS_MAX) };
		pthread_t thread;

		if (job.to > to)
			job.to = to;
		if (pthread_create(&thread, NULL, job_run, &job))
			return -EAGAIN;
		run_ops(p, job.from, to);
		pthread_join(thread, NULL);
		*at = to;
		return 0;
	}
	case OP_EXEC:
		execl("/proc/self/exe", "fuzz", "-x", NULL);
		return -errno;
	}
	return 0;
}

static void run_ops(const struct prog *p, int from, int to)
{
	for (int i = from; i < to; i++) {
		const struct op *op = &p->op[i];
		long ret = run_op(p, &i, to);

		__atomic_fetch_add(&shared->kinds[op->kind][ret >= 0], 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&shared->worker[me].operations, 1, __ATOMIC_RELAXED);
		if (ret >= 0)
			__atomic_fetch_add(&shared->worker[me].succeeded, 1, __ATOMIC_RELAXED);
		if (printing && ret < 0)
			printf("%s -> %s\n", op_text(op), strerrorname_np(-ret));
		else if (printing)
			printf("%s -> ok\n", op_text(op));
	}
}

/* Returns true if a trigger file has no trigger. */
static bool no_trigger(const char *path)
{
	const char *text = ue_slurp(path);

	return !*text || *text == '#';
}

/* The part of a line that removes it: without the state, and without a count. */
static size_t removing(const char *line)
{
	const char *end = strrchr(line, '[');
	size_t len = 0;
	int colons = 0;

	if (!strncmp(line, "hist:", 5))
		return end && end > line ? end - line - 1 : (int)strlen(line);
	/* The names of enable_event and the like are followed by an event. */
	while (line[len] && line[len] != ' ' && (line[len] != ':' || (strchr(line, '_') && colons++ < 2)))
		len++;
	return len;
}

/*
 * Removes the existing ones line by line: O_TRUNC only takes histograms away, and
 * none if one has variables that others refer to.
 */
static void remove_lines(const char *path)
{
	char *text = strdup(ue_slurp(path)), *rest = text, *line;

	while ((line = strsep(&rest, "\n"))) {
		char cmd[TEXT_MAX * 4];
		size_t len = removing(line);

		if (!*line || *line == '#' || len > sizeof(cmd) - 2)
			continue;
		snprintf(cmd, sizeof(cmd), "!%.*s", (int)len, line);
		put_len(path, cmd, strlen(cmd), O_APPEND);
	}
	free(text);
}

static void drop_triggers(void)
{
	char path[256];

	/* Those that refer to others are to be removed first. */
	for (int round = 0; round < 8; round++) {
		bool left = false;

		for (int ev = EVENTS - 1; ev >= 0; ev--) {
			path_of(path, ev, "trigger");
			if (no_trigger(path))
				continue;
			put_len(path, "", 0, O_TRUNC);
			if (!no_trigger(path))
				remove_lines(path);
			if (!no_trigger(path))
				left = true;
		}
		if (!left)
			return;
	}
	finding("a trigger cannot be removed", &shared->worker[me].now);
	for (int ev = 0; ev < EVENTS; ev++) {
		path_of(path, ev, "trigger");
		if (!no_trigger(path))
			printf("# %s: %s", path, ue_slurp(path));
	}
	fflush(stdout);
	/* It would be found again and again. */
	tainted = true;
}

/* Deletes events that the program has left, but for those of other workers; how many. */
static int delete_events(void)
{
	char *text = ue_slurp(UE_DYN), *line;
	int n = 0;

	while ((line = strsep(&text, "\n"))) {
		char name[600];

		if (strncmp(line, "u:", 2) || sscanf(line + 2, "%599s", name) != 1)
			continue;
		if (name[0] == 'z' && name[1] >= '0' && name[1] <= '9' && name[2] == '_') {
			if (name[1] != '0' + me || !strcmp(name + 3, "num") || !strcmp(name + 3, "pair"))
				continue;
		} else if (me) {
			continue;
		}
		/* By its name, whatever its fields are. */
		ue_del(base_fd, name);
		n++;
	}
	return n;
}

static void put_own(const char *file, const char *text)
{
	ue_put(file, own_name(text));
}

/* Back to where each program begins. */
static void reset(void)
{
	char path[256];

	for (int i = 0; i < st.n_reg; i++) {
		if (st.file[0] < 0)
			st.file[0] = open(UE_DATA, O_RDWR | O_CLOEXEC);
		do_unreg(0, st.reg[i].slot, st.reg[i].bit);
	}
	for (int i = 0; i < FILES; i++) {
		if (st.file[i] >= 0)
			close(st.file[i]);
	}
	if (st.patterns) {
		snprintf(path, sizeof(path), "%s/set_user_event", instance);
		ue_trunc(path);
	}
	if (st.enables) {
		snprintf(path, sizeof(path), "%s/set_event", instance);
		ue_trunc(path);
	}
	if (st.triggers && !tainted)
		drop_triggers();
	if (st.filters) {
		for (int ev = 0; ev < EVENTS; ev++) {
			path_of(path, ev, "filter");
			put_len(path, "0", 1, 0);
		}
	}
	/* C does it some time later: the next program is not to see that. */
	if (printing)
		ue_poll_ms(delete_events() == 0, 2000);
	else if (st.events)
		delete_events();
	if (st.synthetic) {
		put_own(UE_TRACEFS "/synthetic_events", "!z0_s");
		put_own(UE_TRACEFS "/synthetic_events", "!z0_s1");
		put_own(UE_TRACEFS "/synthetic_events", "!z0_s2");
	}
	memset(&st, 0, sizeof(st));
	st.file[0] = st.file[1] = st.file[2] = -1;
	for (int i = 0; i < SLOTS; i++)
		st.index[i] = i;
}

/* Records the program for the case of a crash. */
static void note(const struct prog *p)
{
	static int fd = -1;
	static char *buf;
	static unsigned long n;
	struct worker *w = &shared->worker[me];
	FILE *f;

	w->now = *p;
	__atomic_store_n(&w->began, ue_now(), __ATOMIC_RELAXED);
	if (!out_dir)
		return;
	if (fd < 0) {
		fd = open(ue_path("%s/running.%d", out_dir, me), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		buf = malloc(LAST_SIZE + 1);
	}
	memset(buf, '\n', LAST_SIZE);
	f = fmemopen(buf, LAST_SIZE, "w");
	fprintf(f, "# %lu\n", ++n);
	prog_print(f, p);
	fclose(f);
	for (int i = 0; i < LAST_SIZE; i++) {
		if (!buf[i])
			buf[i] = '\n';
	}
	if (pwrite(fd, buf, LAST_SIZE, n % LAST_PROGS * LAST_SIZE) != LAST_SIZE)
		exit(1);
	/* To the host, where the folder is one of it. */
	sync_file_range(fd, n % LAST_PROGS * LAST_SIZE, LAST_SIZE,
			SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
}

/*
 * A trigger line is to be taken back by the text that it is shown as, and to be taken
 * again. Of one that stands alone this is known.
 */
static void check_read_back(const struct prog *p)
{
	char path[256], line[TEXT_MAX * 4], why[TEXT_MAX * 4 + 80];
	const char *text;
	int at = -1;
	long ret;

	for (int i = 0; i < p->n; i++) {
		if (p->op[i].kind != OP_TRIG)
			continue;
		if (at >= 0 || p->op[i].text[0] == '!')
			return;
		at = i;
	}
	if (at < 0)
		return;
	path_of(path, p->op[at].arg[0], "trigger");
	text = ue_slurp(path);
	if (strncmp(text, "hist:", 5) || strchr(text, '\n') != strrchr(text, '\n') || strlen(text) > sizeof(line) - 10)
		return;
	line[0] = '!';
	strcpy(line + 1, text);
	line[strcspn(line, "\n")] = '\0';
	line[1 + removing(line + 1)] = '\0';
	ret = put_len(path, line, strlen(line), O_APPEND);
	text = ue_slurp(path);
	if (ret < 0 || *text != '#') {
		snprintf(why, sizeof(why), "a trigger is not removed by the text that it is shown as: %s: %ld", line, ret);
		finding(why, p);
		return;
	}
	ret = put_len(path, line + 1, strlen(line + 1), O_APPEND);
	if (ret < 0) {
		snprintf(why, sizeof(why), "a trigger is not taken as it is shown: %s: %ld", line + 1, ret);
		finding(why, p);
	}
}

static void run_prog(const struct prog *p, int mode)
{
	struct worker *w = &shared->worker[me];

	note(p);
	__atomic_fetch_add(&w->programs, 1, __ATOMIC_RELAXED);
	st.file[0] = open(UE_DATA, O_RDWR | O_CLOEXEC);
	if (prog_forks(p)) {
		pid_t pid = fork();

		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			cover_start(mode);
			run_ops(p, 0, p->n);
			cover_stop();
			/* Those that it has forked are not to be left. */
			while (wait(NULL) > 0)
				;
			fflush(stdout);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		/* It did what this process has to take back. */
		st.triggers = st.filters = st.enables = st.synthetic = st.events = true;
	} else {
		cover_start(mode);
		run_ops(p, 0, p->n);
		cover_stop();
	}
}

static void end_prog(const struct prog *p)
{
	if (!printing && st.triggers && !prog_forks(p) && chance(20))
		check_read_back(p);
	reset();
	__atomic_store_n(&shared->worker[me].began, 0, __ATOMIC_RELAXED);
}

/* The worker's own world. */

static void world(void)
{
	char path[256];

	snprintf(instance, sizeof(instance), UE_TRACEFS "/instances/fuzz%d", me);
	mkdir(instance, 0750);
	ue_put(ue_path("%s/buffer_size_kb", instance), "64");
	area = mmap(NULL, (PAGES + 1) * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area != MAP_FAILED)
		munmap(area + PAGES * 4096, 4096);
	base_fd = ue_open();
	/* See fault.h. */
	ue_put(UE_TRACEFS "/events/sched/sched_process_hang/enable", "1");
	ue_put("/sys/kernel/debug/failslab/ignore-gfp-wait", "0");
	ue_put("/sys/kernel/debug/failslab/verbose", "0");
	ue_put("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "0");
	ue_put("/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem", "0");
	ue_put("/sys/kernel/debug/fail_page_alloc/min-order", "0");
	ue_put("/sys/kernel/debug/fail_page_alloc/verbose", "0");
	ue_poll((base_index[0] = ue_reg_index(base_fd, &base_word[0], 0, own_name(NUM_DESC))) >= 0);
	ue_poll((base_index[1] = ue_reg_index(base_fd, &base_word[1], 0, own_name(PAIR_DESC))) >= 0);
	put_own(UE_TRACEFS "/synthetic_events", SYN_DESC);
	path_of(path, EV_NUM, "trigger");
	if (area == MAP_FAILED || base_index[0] < 0 || base_index[1] < 0 || access(path, W_OK)) {
		printf("# worker %d: cannot make its events\n", me);
		fflush(stdout);
		exit(1);
	}
	/* Leftovers of a worker that died. */
	st.triggers = st.filters = st.enables = st.synthetic = st.events = true;
	st.file[0] = st.file[1] = st.file[2] = -1;
	reset();
}

/* Runs a program and adds it to the corpus if it reaches what none has reached. */
static void try(const struct prog *p)
{
	static struct prog best, less;
	uint64_t new[64];
	int n, runs = 0;
	unsigned int at;

	run_prog(p, KCOV_TRACE_PC);
	n = cover_add(new, 64);
	end_prog(p);
	if (!n)
		return;
	best = *p;
	/* As short as it can be; unstable coverage is not worth that. */
	run_prog(&best, KCOV_TRACE_PC);
	if (!cover_has(new, n))
		runs = 1000;
	cover_add(NULL, 0);
	end_prog(&best);
	for (int i = best.n - 1; i >= 0 && best.n > 1 && runs < 60; i--, runs++) {
		less = best;
		prog_remove(&less, i);
		run_prog(&less, KCOV_TRACE_PC);
		if (cover_has(new, n))
			best = less;
		cover_add(NULL, 0);
		end_prog(&less);
	}
	for (int i = 0; i < best.n; i++) {
		for (int to = best.op[i].len; to > 0 && runs < 60; ) {
			int from = to - 1;

			while (from > 0 && !strchr(":,; ", best.op[i].text[from]))
				from--;
			less = best;
			text_splice(&less.op[i], from, to - from, "", 0);
			run_prog(&less, KCOV_TRACE_PC);
			if (cover_has(new, n))
				best = less;
			cover_add(NULL, 0);
			end_prog(&less);
			to = from;
			runs++;
		}
	}
	at = __atomic_fetch_add(&shared->n_corpus, 1, __ATOMIC_RELAXED);
	if (at >= CORPUS_MAX)
		return;
	shared->corpus[at] = best;
	__atomic_store_n(&shared->ready[at], 1, __ATOMIC_RELEASE);
}

static const struct prog *from_corpus(void)
{
	unsigned int n = __atomic_load_n(&shared->n_corpus, __ATOMIC_RELAXED), at;

	if (n > CORPUS_MAX)
		n = CORPUS_MAX;
	if (!n)
		return NULL;
	/* Rather the recent ones. */
	at = chance(40) && n > 50 ? n - 1 - rnd(n / 5) : rnd(n);
	return __atomic_load_n(&shared->ready[at], __ATOMIC_ACQUIRE) ? &shared->corpus[at] : NULL;
}

static void worker(char *files[], int n_files, int workers)
{
	static struct prog p;
	unsigned long n = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	cover_open();
	world();
	/* The corpus, a share for each. */
	for (int i = 0; i < n_files; i++) {
		FILE *f = fopen(files[i], "re");

		while (f && prog_read(f, &p)) {
			if (n++ % workers == (unsigned int)me)
				try(&p);
		}
		if (f)
			fclose(f);
	}
	for (;;) {
		const struct prog *from = from_corpus();

		if (!from || chance(15)) {
			gen_prog(&p);
			try(&p);
			continue;
		}
		p = *from;
		n_cmps = 0;
		if (chance(25)) {
			run_prog(&p, KCOV_TRACE_CMP);
			take_cmps();
			end_prog(&p);
		}
		/* Several times from the same one, as comparisons are dear. */
		for (int i = 0; i < (n_cmps ? 12 : 3); i++) {
			mutate(&p, from_corpus());
			try(&p);
			if (chance(60))
				p = *from;
		}
	}
}

/* The end: the smallest programs that reach everything, by surface. */

static int prog_size(const struct prog *p)
{
	int size = 0;

	for (int i = 0; i < p->n; i++)
		size += 20 + p->op[i].len;
	return size + (prog_forks(p) ? 100 : 0);
}

static int by_size(const void *a, const void *b)
{
	return prog_size(&shared->corpus[*(const int *)a]) - prog_size(&shared->corpus[*(const int *)b]);
}

static const char *surface(const struct prog *p)
{
	const char *s = "files";

	if (prog_forks(p))
		return "memory";
	for (int i = 0; i < p->n; i++) {
		switch (p->op[i].kind) {
		case OP_TRIG:
			return "triggers";
		case OP_REG:
		case OP_WRITE:
		case OP_UNREG:
			s = "registrations";
			break;
		case OP_DYN:
		case OP_DEL:
			if (strcmp(s, "registrations"))
				s = "dynamic_events";
			break;
		}
	}
	return s;
}

static void keep_corpus(unsigned int n)
{
	static int order[CORPUS_MAX];
	unsigned int kept = 0;

	me = 0;
	cover_open();
	world();
	/* The reached edges are written already; this is about the programs. */
	memset(shared->edges, 0, sizeof(shared->edges));
	shared->n_edges = 0;
	mkdir(ue_path("%s/corpus", out_dir), 0755);
	for (unsigned int i = 0; i < n; i++)
		order[i] = i;
	qsort(order, n, sizeof(order[0]), by_size);
	for (unsigned int i = 0; i < n; i++) {
		const struct prog *p = &shared->corpus[order[i]];
		uint64_t new[1];
		FILE *f;

		if (!shared->ready[order[i]])
			continue;
		run_prog(p, KCOV_TRACE_PC);
		if (cover_add(new, 1)) {
			f = fopen(ue_path("%s/corpus/%s.txt", out_dir, surface(p)), "ae");
			if (f) {
				prog_print(f, p);
				fclose(f);
			}
			kept++;
		}
		end_prog(p);
	}
	printf("# corpus: %u of %u programs reach %u edges\n", kept, n, shared->n_edges);
}

static void keep_edges(void)
{
	FILE *f = fopen(ue_path("%s/pcs", out_dir), "we");

	for (int i = 0; f && i < EDGES_MAX; i++) {
		if (shared->edges[i])
			fprintf(f, "%lx\n", (unsigned long)shared->edges[i]);
	}
	if (f)
		fclose(f);
}

static void say_progress(int seconds, int workers)
{
	unsigned long programs = 0, operations = 0, succeeded = 0;

	for (int i = 0; i < workers; i++) {
		programs += shared->worker[i].programs;
		operations += shared->worker[i].operations;
		succeeded += shared->worker[i].succeeded;
	}
	printf("# %d s: %lu programs, %lu operations (%lu%% succeeded), %u edges, %u programs in the corpus\n",
	       seconds, programs, operations, operations ? succeeded * 100 / operations : 0,
	       shared->n_edges, shared->n_corpus);
	fflush(stdout);
}

/* The stack of a process that is stuck. */
static void say_stuck(pid_t pid, int i)
{
	finding("a program does not come to an end", &shared->worker[i].now);
	printf("# %s\n", ue_slurp(ue_path("/proc/%d/stack", pid)));
	fflush(stdout);
}

/* Grace periods take most of the time that a trigger does. */
static void be_quick(void)
{
	ue_put("/sys/kernel/rcu_expedited", "1");
}

static int fuzz(int seconds, int workers, uint64_t seed, char *files[], int n_files)
{
	pid_t pids[WORKERS_MAX] = { };
	uint64_t begin = ue_now(), said = begin;
	unsigned int deaths = 0, n;
	bool stuck = false;

	while (!stuck && ue_now() < begin + seconds * 1000000000ull) {
		for (int i = 0; i < workers; i++) {
			uint64_t began = __atomic_load_n(&shared->worker[i].began, __ATOMIC_RELAXED);

			if (!pids[i]) {
				fflush(stdout);
				pids[i] = fork();
				if (pids[i] == 0) {
					me = i;
					rnd_state = (seed + i) * 0x9e3779b97f4a7c15ull + deaths + 1;
					worker(files, n_files, workers);
				}
			} else if (waitpid(pids[i], NULL, WNOHANG) == pids[i]) {
				pids[i] = 0;
				if (++deaths > 100) {
					finding("workers die", NULL);
					stuck = true;
				}
			} else if (began && ue_now() > began + PATIENCE * 1000000000ull) {
				say_stuck(pids[i], i);
				stuck = true;
			}
		}
		usleep(100000);
		if (ue_now() > said + 30 * 1000000000ull) {
			said = ue_now();
			say_progress((said - begin) / 1000000000, workers);
		}
	}
	for (int i = 0; i < workers; i++) {
		if (pids[i] > 0) {
			kill(pids[i], SIGKILL);
			if (!stuck)
				waitpid(pids[i], NULL, 0);
		}
	}
	say_progress((ue_now() - begin) / 1000000000, workers);
	for (int i = 0; i < OP_KINDS; i++)
		printf("# %s: %lu succeeded, %lu failed\n", op_desc[i].name, shared->kinds[i][1], shared->kinds[i][0]);
	if (deaths)
		printf("# %u workers died\n", deaths);
	keep_edges();
	n = shared->n_corpus < CORPUS_MAX ? shared->n_corpus : CORPUS_MAX;
	if (!stuck) {
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (!pid) {
			keep_corpus(n);
			fflush(stdout);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	if (shared->findings) {
		printf("not ok 1 %u findings\n", shared->findings);
		return 1;
	}
	printf("ok 1 no finding\n");
	return 0;
}

/* Runs programs once and prints what they did. */

static void replay_one(const struct prog *p)
{
	static unsigned int n;
	char path[256];

	printf("== %u\n", ++n);
	fflush(stdout);
	run_prog(p, KCOV_TRACE_PC);
	for (int ev = 0; ev < EVENTS; ev++) {
		const char *text;

		path_of(path, ev, "trigger");
		text = ue_slurp(path);
		if (*text && *text != '#')
			printf("%s: %s", event_path[ev], text);
	}
	path_of(path, EV_OWN, "format");
	printf("%s", strstr(ue_slurp(path), "\n\n") ?: "");
	fflush(stdout);
	end_prog(p);
}

static int replay(char *files[], int n_files, int count, uint64_t seed)
{
	static struct prog p;

	rnd_state = seed * 0x9e3779b97f4a7c15ull + 1;
	printing = true;
	world();
	for (int i = 0; i < n_files; i++) {
		FILE *f = fopen(files[i], "re");

		if (!f)
			return 1;
		while (prog_read(f, &p)) {
			if (count >= 0 && !prog_compares(&p))
				continue;
			if (shared->n_corpus < CORPUS_MAX) {
				shared->ready[shared->n_corpus] = 1;
				shared->corpus[shared->n_corpus++] = p;
			}
			replay_one(&p);
		}
		fclose(f);
	}
	while (count-- > 0) {
		const struct prog *from = from_corpus();

		do {
			if (!from || chance(30)) {
				gen_prog(&p);
			} else {
				p = *from;
				mutate(&p, from_corpus());
			}
		} while (!prog_compares(&p));
		replay_one(&p);
	}
	return 0;
}

int main(int argc, char *argv[])
{
	int seconds = 60, workers = 3, count = -1, opt;
	bool once = false;
	uint64_t seed = 1;

	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	while ((opt = getopt(argc, argv, "s:n:r:k:o:px")) != -1) {
		switch (opt) {
		case 's':
			seconds = atoi(optarg);
			break;
		case 'n':
			workers = atoi(optarg);
			break;
		case 'r':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'k':
			count = atoi(optarg);
			break;
		case 'o':
			out_dir = optarg;
			break;
		case 'p':
			once = true;
			break;
		default:
			/* Programs executed by a program of the fuzzer. */
			return 0;
		}
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || workers < 1 || workers > WORKERS_MAX)
		return 1;
	be_quick();
	if (once)
		return replay(argv + optind, argc - optind, count, seed);
	if (!out_dir || access("/sys/kernel/debug/kcov", F_OK)) {
		fprintf(stderr, "there is no kcov, or no folder for the results\n");
		return 1;
	}
	return fuzz(seconds, workers, seed, argv + optind, argc - optind);
}
