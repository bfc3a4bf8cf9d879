// SPDX-License-Identifier: GPL-2.0
/*
 * Everything at once, for a kernel that looks for races: processes that
 * register, fork, exec, exit and are killed, memory that is mapped and
 * unmapped, events that are switched, created and deleted, records that are
 * written and read.
 *
 * usage: storm [SECONDS]
 *
 * One event stays registered, and some write it that are not killed: the number of
 * its records in user_events_losses is how many they wrote.
 *
 * At the end all of it is removed, what is left works, and each kind of operation
 * has succeeded at least once.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>

#include "batch.h"
#include "storm.h"

/* Those that programs register, and with the one that is only created and deleted. */
#define EVENTS	4
#define ALL	5

/* The event that stays. */
#define LASTING	"storm_lasting"
#define LOSSES	UE_TRACEFS "/user_events_losses"

enum {
	SWITCHED, OPENED, WRITTEN, REGISTERED, UNREGISTERED, CREATED, DELETED, TRIGGERED, READ, COUNTED,
	/* What is not in C. */
	LONG, BATCHED, ASKED, NOTICED, KINDS
};

static const char * const kinds[KINDS] = {
	"events switched", "perf events opened", "records written", "registrations", "unregistrations",
	"events created", "events deleted", "triggers set", "traces read", "records counted",
	"long records written", "batches written", "lines of set_user_event", "changes of events noticed",
};

static char *self;

static const char *event(unsigned int i)
{
	static const char * const desc[ALL] = {
		"storm0 u32 a", "storm1 u32 a; __data_loc char[] s", "storm2", "storm3 u64 a; char[16] b",
		"storm4 u32 a",
	};

	return desc[i];
}

static const char *name(unsigned int i)
{
	static char buf[16];

	snprintf(buf, sizeof(buf), "storm%u", i % ALL);
	return buf;
}

/* Switches events, in the top instance and in another one. */
static void toggle(unsigned int seed)
{
	mkdir(UE_TRACEFS "/instances/storm", 0750);
	while (storm_going()) {
		unsigned int r = rand_r(&seed);

		if (r % 16 == 0)
			ue_put(UE_EVENTS "/enable", r & 64 ? "1" : "0");
		else if (r % 16 == 1)
			ue_put(ue_path("%s/instances/storm/events/user_events/%s/enable", UE_TRACEFS, name(r >> 8)),
			       r & 64 ? "1" : "0");
		else
			storm_did(SWITCHED, ue_enable(r % 16 == 2 ? LASTING : name(r >> 8), r & 64) == 0);
	}
}

/* A kernel without perf has no such user. */
static void perf_users(unsigned int seed)
{
	if (!ue_has_perf()) {
		storm_did(OPENED, true);
		return;
	}
	while (storm_going()) {
		struct ue_perf perf;

		if (ue_perf_open(&perf, rand_r(&seed) % 4 ? name(rand_r(&seed)) : LASTING) == 0) {
			storm_did(OPENED, true);
			usleep(rand_r(&seed) % 2000);
			ue_perf_close(&perf);
		}
	}
}

struct worker {
	int fd;
	volatile uint32_t *w;
	unsigned int seed;
	volatile bool stop;
};

static void *write_loop(void *arg)
{
	struct worker *k = arg;
	char rec[64] = {}, records[2048];

	while (!k->stop) {
		unsigned int r = rand_r(&k->seed);
		struct ue_batch b = { .buf = records };

		if (r & 7) {
			storm_did(WRITTEN, ue_writev(k->fd, r / 8 % EVENTS, rec, rand_r(&k->seed) % sizeof(rec)) > 0);
			continue;
		}
		for (; b.len < sizeof(records) - 2 * sizeof(rec); r++)
			ue_batch_add(&b, r % EVENTS, rec, 8 + r % (sizeof(rec) - 8));
		storm_did(WRITTEN, ue_batch(k->fd, &b) > 0);
	}
	return NULL;
}

static void *register_loop(void *arg)
{
	struct worker *k = arg;

	while (!k->stop) {
		unsigned int r = rand_r(&k->seed);
		volatile uint32_t *w = &k->w[(r >> 4) % 32 * 33];

		if (r & 1)
			storm_did(REGISTERED, ue_reg_full(k->fd, w, r >> 10 & 31, 4, r >> 20 & 2, event((r >> 16) % EVENTS), NULL) == 0);
		else
			storm_did(UNREGISTERED, ue_unreg(k->fd, w, r >> 10 & 31) == 0);
	}
	return NULL;
}

static void *memory_loop(void *arg)
{
	struct worker *k = arg;

	while (!k->stop) {
		unsigned int r = rand_r(&k->seed);
		char *page = (char *)k->w + UE_PAGE * (1 + r / 16 % 3);

		switch (r % 4) {
		case 0:
			madvise(page, UE_PAGE, MADV_DONTNEED);
			break;
		case 1:
			mprotect(page, UE_PAGE, PROT_READ);
			mprotect(page, UE_PAGE, PROT_READ | PROT_WRITE);
			break;
		case 2:
			mmap(page, UE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
			break;
		default:
			sched_yield();
		}
	}
	return NULL;
}

/* A process with threads that do all that for a moment, fork, and end in a way. */
static void process(unsigned int seed)
{
	int depth = 0;
	struct worker k[4];
	pthread_t t[4];
	void *(*fn[4])(void *) = { write_loop, register_loop, register_loop, memory_loop };
	char *args[] = { self, "--exec", NULL };
	volatile uint32_t *w;
	int fd;

again:
	fd = ue_open();
	w = mmap(NULL, 4 * UE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fd < 0 || w == MAP_FAILED)
		_exit(1);
	for (int i = 0; i < 16; i++)
		ue_reg(fd, &w[i * 200], i, event((seed + i) % EVENTS));
	for (int i = 0; i < 4; i++) {
		k[i] = (struct worker) { .fd = fd, .w = w, .seed = seed + i };
		if (pthread_create(&t[i], NULL, fn[i], &k[i]))
			_exit(1);
	}
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();

		if (pid)
			continue;
		if (i || depth == 2) {
			execl(self, self, "--exec", NULL);
			_exit(1);
		}
		/* The threads stay: it starts some of its own. */
		seed *= 31;
		depth++;
		goto again;
	}
	/* This one shares the memory until it has its own. */
	posix_spawn(NULL, self, NULL, NULL, args, environ);
	usleep(rand_r(&seed) % 20000);
	switch (rand_r(&seed) % 4) {
	case 0:
		_exit(0);		/* with the threads at work */
	case 1:
		kill(getpid(), SIGKILL);
		break;
	case 2:
		execl(self, self, "--exec", NULL);
		break;
	}
	for (int i = 0; i < 4; i++)
		k[i].stop = true;
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 16; i++)
		ue_unreg(fd, &w[i * 200], i);
	exit(0);
}

static void processes(unsigned int seed)
{
	while (storm_going()) {
		pid_t pid = fork();

		if (!pid) {
			setpgid(0, 0);
			process(seed);
		}
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		/* Grandchildren that are at it still. */
		if (seed % 3 == 0)
			kill(-pid, SIGKILL);
		seed++;
	}
}

/* Half of the time the event that no program registers: a slow machine never deletes another. */
static unsigned int made(unsigned int r)
{
	return r & 8 ? ALL - 1 : (r >> 8) % ALL;
}

/* Creates and deletes events by all ways, and looks at the existing ones. */
static void dynamic(unsigned int seed)
{
	int fd = ue_open();

	while (storm_going()) {
		unsigned int r = rand_r(&seed);
		char cmd[128];

		switch (r % 8) {
		case 0:
			snprintf(cmd, sizeof(cmd), "u:%s", event(made(r)));
			storm_did(CREATED, ue_put(UE_DYN, cmd) == 0);
			break;
		case 1:
			snprintf(cmd, sizeof(cmd), "-:%s", event(made(r)));
			storm_did(DELETED, ue_put(UE_DYN, cmd) == 0);
			break;
		case 2:
		case 3:
			storm_did(DELETED, ue_del(fd, name(made(r))) == 0);
			break;
		case 4:
			ue_slurp(UE_DYN);
			break;
		case 5:
			ue_slurp(ue_path(UE_EVENTS "/%s/format", name(r >> 8)));
			break;
		default:
			ue_slurp(UE_STATUS);
		}
	}
}

/*
 * Writes records of the event that stays, up to 64 KiB, and batches of another one: those
 * that it returns as handled may have had no listener.
 */
static void count(unsigned int seed)
{
	static char rec[65000], records[4096];
	bool is_rust = ue_is_rust();
	volatile uint32_t words[2] = {};
	int fd = ue_open(), index = ue_reg_index(fd, &words[0], 0, LASTING " u32 a");
	int other = ue_reg_index(fd, &words[1], 0, event(0));

	while (storm_going()) {
		unsigned int r = rand_r(&seed);
		struct ue_batch b = { .buf = records };
		long done;

		if (!is_rust || r % 4) {
			size_t len = is_rust && r % 8 == 1 ? 4 + (r >> 8) % (sizeof(rec) - 4) : 4 + (r >> 8) % 60;

			done = ue_writev(fd, index, rec, len);
			storm_did(COUNTED, done > 0);
			storm_did(LONG, done > 8192);
			continue;
		}
		for (; b.len < sizeof(records) - 128; r += 3)
			ue_batch_add(&b, other, rec, 4 + r % 64);
		done = ue_batch(fd, &b);
		storm_did(BATCHED, done > 0);
	}
	ue_unreg(fd, &words[0], 0);
	ue_unreg(fd, &words[1], 0);
	close(fd);
}

/* Returns true if the records that were counted are those of user_events_losses. */
static bool is_counted(void)
{
	const char *line = strstr(ue_slurp(LOSSES), "\n" LASTING "\t");
	unsigned long written = line ? strtoul(line + strlen("\n" LASTING "\t"), NULL, 10) : 0;

	if (written == storm_count(COUNTED))
		return true;
	printf("%lu records were written, and %lu counted\n", storm_count(COUNTED), written);
	return false;
}

/* Asks for events before they exist, here and in the instance. */
static void ask(unsigned int seed)
{
	static const char * const lines[] = {
		"storm*", "storm1", "user_events:storm2", "storm3 hist:keys=common_pid:size=128",
		"storm* hist:keys=common_pid", "# removed",
	};
	char line[64];

	while (storm_going()) {
		unsigned int r = rand_r(&seed);
		const char *file = ue_path(UE_TRACEFS "%s/set_user_event", r & 1 ? "/instances/storm" : "");

		snprintf(line, sizeof(line), "%s%s", r & 2 ? "!" : "", lines[(r >> 8) % 6]);
		if (r & 28)
			storm_did(ASKED, ue_put(file, line) == 0);
		else if (r & 32)
			ue_trunc(file);
		else
			ue_slurp(file);
		usleep(r >> 16 & 1023);
	}
}

/* Waits for events that are created or removed. */
static void notice(unsigned int seed)
{
	int fd = open(UE_STATUS, O_RDONLY | O_CLOEXEC);
	char buf[512];

	while (storm_going()) {
		struct pollfd p = { .fd = fd, .events = POLLPRI };

		storm_did(NOTICED, poll(&p, 1, 1 + rand_r(&seed) % 20) == 1 && p.revents & POLLPRI);
		lseek(fd, 0, SEEK_SET);
		while (read(fd, buf, sizeof(buf)) > 0 && rand_r(&seed) % 8)
			;
		if (rand_r(&seed) % 4 == 0)
			ue_slurp(LOSSES);
	}
	close(fd);
}

/* Returns true if the first records are of these events. */
static bool read_trace(void)
{
	int fd = open(UE_TRACEFS "/trace", O_RDONLY | O_CLOEXEC);
	char buf[4096 + 1];
	bool found = false;
	ssize_t n;

	for (int i = 0; i < 16 && (n = read(fd, buf, sizeof(buf) - 1)) > 0; i++) {
		buf[n] = '\0';
		found |= !!strstr(buf, ": storm");
	}
	close(fd);
	return found;
}

static void tracing(unsigned int seed)
{
	while (storm_going()) {
		unsigned int r = rand_r(&seed);
		const char *trigger = ue_path(UE_EVENTS "/%s/trigger", name(r >> 8));

		switch (r % 6) {
		case 0:
			storm_did(TRIGGERED, ue_put(trigger, "hist:keys=common_pid") == 0);
			break;
		case 1:
			ue_put(trigger, "!hist:keys=common_pid");
			break;
		case 2:
			ue_put(ue_path(UE_EVENTS "/%s/filter", name(r >> 8)), r & 64 ? "common_pid > 1" : "0");
			break;
		case 3:
			storm_did(READ, read_trace());
			break;
		case 4:
			ue_trunc(UE_TRACEFS "/trace");
			break;
		default:
			rmdir(UE_TRACEFS "/instances/storm");
			mkdir(UE_TRACEFS "/instances/storm", 0750);
		}
	}
}

int main(int argc, char **argv)
{
	static const storm_part few[] = {
		toggle, processes, processes, dynamic, perf_users, tracing, count, ask, notice,
	};
	/* Each of processes is many already. */
	static const storm_part more[] = { tracing, toggle, dynamic, count };
	storm_part parts[STORM_PARTS_MAX];
	size_t n = storm_parts(parts, few, sizeof(few) / sizeof(few[0]), more, sizeof(more) / sizeof(more[0]));
	int seconds = argc > 1 ? atoi(argv[1]) : 10, bad, fd;
	volatile uint32_t word = 0;

	if (argc > 1 && !strcmp(argv[1], "--exec"))
		return 0;
	self = argv[0];
	if (storm_init(KINDS) || !ue_reset()) {
		printf("cannot start: events are in use\n");
		return 1;
	}
	fd = ue_open();
	if (ue_reg(fd, &word, 0, LASTING " u32 a")) {
		printf("cannot start: no event\n");
		return 1;
	}
	if (!ue_is_rust()) {
		for (int kind = LONG; kind < KINDS; kind++)
			storm_did(kind, true);
	}
	bad = storm_run(parts, n, seconds, 60);
	bad |= ue_is_rust() && !is_counted();
	ue_unreg(fd, &word, 0);
	close(fd);
	word = 0;
	for (int i = 0; i < ALL; i++) {
		const char *trigger = ue_path(UE_EVENTS "/%s/trigger", name(i));

		ue_put(trigger, "!hist:keys=common_pid");
	}
	if (!ue_poll(rmdir(UE_TRACEFS "/instances/storm") == 0 || errno == ENOENT)) {
		printf("the instance stays: errno %d\n", errno);
		bad = 1;
	}
	if (!ue_reset() || !ue_poll(!strcmp("\nActive: 0\nBusy: 0\n", ue_slurp(UE_STATUS)))) {
		printf("events stay: %s", ue_slurp(UE_STATUS));
		bad = 1;
	}
	/* And all works as before. */
	fd = ue_open();
	if (ue_reg(fd, &word, 0, "storm_after u32 a") || ue_enable("storm_after", true) || word != 1 ||
	    ue_write_u32(fd, 0, 1) != 8 || ue_enable("storm_after", false) || word || ue_unreg(fd, &word, 0)) {
		printf("an event does not work afterwards\n");
		bad = 1;
	}
	close(fd);
	if (!ue_gone("storm_after")) {
		printf("an event does not go afterwards\n");
		bad = 1;
	}
	bad |= storm_idle(kinds);
	printf("%s 1 storm of %d s\n", bad ? "not ok" : "ok", seconds);
	return bad;
}
