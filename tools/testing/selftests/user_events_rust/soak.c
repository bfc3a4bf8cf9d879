// SPDX-License-Identifier: GPL-2.0
/*
 * Everything at once, and the sums have to be right at the end.
 *
 * usage: soak [SECONDS]	(default 60)
 *
 * Two threads write records of one event, which an instance records and counts in a
 * histogram. Other processes register, fork, exit and are killed with bits of that event;
 * the top instance switches it, sets, clears and removes histograms of it; perf opens it;
 * instances are created and removed; a reader takes the records out. CPU 1 is taken
 * offline and online again. Two processes write pairs of records, for each of which a
 * histogram of another instance writes a record of a synthetic event.
 *
 * It fails unless the histogram has counted each record that was written, in its total
 * and in the sum of its entries, and the instance accounts for each: read, in the buffer,
 * or in one of its own counts of lost records. "read events" differs from the number of
 * lines that trace_pipe has returned if a read returns a record twice or drops it. The file
 * user_events_losses has to have the number of records that were written, and about that
 * of the records that all instances account for. Each pair has to be one record of the
 * synthetic event, and one hit of its histogram. A third instance records the first of each
 * pair, which nothing switches: there user_events_losses has to have exactly the records
 * that the instance accounts for.
 */
#define _GNU_SOURCE
#include <linux/membarrier.h>
#include <signal.h>
#include <sys/prctl.h>

#include "storm.h"
#include "trouble.h"

#define INSTANCE	UE_TRACEFS "/instances/soak"
#define OTHER		UE_TRACEFS "/instances/soak_other"
#define PAIRS		UE_TRACEFS "/instances/soak_pairs"
#define STEADY		UE_TRACEFS "/instances/soak_steady"
#define SYNTH		PAIRS "/events/synthetic/soak_synth"
#define EVENT		"soak u32 a"
#define FROM		"soak_from u32 a; u64 b"
#define TO		"soak_to u32 a; u64 b"
/* The difference of the fields b of a pair. */
#define DIFFERENCE	7

enum { FORKED, SWITCHED, TRIGGERED, CLEARED, REMOVED, OPENED, INSTANCES, OFFLINE, PAIRED, KINDS };

static const char * const kinds[KINDS] = {
	"processes forked", "switches", "histograms set", "histograms cleared", "histograms removed",
	"perf events opened", "instances", "times CPU 1 was offline", "pairs written",
};

/* The records of the instances that were removed. */
static long *others_had;

static void processes(unsigned int seed)
{
	volatile uint32_t *w = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = ue_open();

	if (w == MAP_FAILED || fd < 0)
		_exit(1);
	while (storm_going()) {
		unsigned int r = rand_r(&seed);
		pid_t pid;

		ue_reg(fd, &w[r % 64], r >> 8 & 31, EVENT);
		pid = fork();
		if (!pid) {
			ue_unreg(fd, &w[r % 64], r >> 8 & 31);
			ue_reg(fd, &w[r >> 16 & 63], 0, EVENT);
			if (r & 0x1000000)
				kill(getpid(), SIGKILL);
			_exit(0);
		}
		storm_did(FORKED, pid > 0);
		if (pid > 0)
			waitpid(pid, NULL, 0);
		ue_unreg(fd, &w[r % 64], r >> 8 & 31);
	}
}

static void switches(unsigned int seed)
{
	while (storm_going())
		storm_did(SWITCHED, ue_enable("soak", rand_r(&seed) & 1) == 0);
}

static void histograms(unsigned int seed)
{
	const char *trigger = UE_EVENTS "/soak/trigger";

	while (storm_going()) {
		storm_did(TRIGGERED, ue_put(trigger, "hist:keys=a:vals=a") == 0);
		if (rand_r(&seed) & 1)
			storm_did(CLEARED, ue_put(trigger, "hist:keys=a:vals=a:clear") == 0);
		ue_slurp(UE_EVENTS "/soak/hist");
		storm_did(REMOVED, ue_put(trigger, "!hist:keys=a:vals=a") == 0);
	}
}

/* Waits until all writes that have begun are done with their listeners. */
static void grace_period(void)
{
	if (syscall(__NR_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		usleep(100000);
}

/* Reads some records: the writers add them faster than they can be read. */
static void read_some(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	char buf[4096];

	for (int i = 0; i < 64 && read(fd, buf, sizeof(buf)) > 0; i++)
		;
	close(fd);
}

static void others(unsigned int seed)
{
	while (storm_going()) {
		struct ue_perf perf;

		if (ue_perf_open(&perf, "soak") == 0) {
			storm_did(OPENED, true);
			ue_perf_close(&perf);
		}
		if (mkdir(OTHER, 0750) == 0) {
			ue_put(OTHER "/events/user_events/soak/trigger", "hist:keys=a");
			ue_put(OTHER "/events/user_events/soak/enable", "1");
			read_some(OTHER "/trace");
			ue_put(OTHER "/events/user_events/soak/enable", "0");
			grace_period();
			*others_had += records_accounted(OTHER);
			storm_did(INSTANCES, ue_poll(rmdir(OTHER) == 0));
		}
		rand_r(&seed);
	}
}

static void cpus(unsigned int seed)
{
	if (access(CPU1, W_OK) || sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		printf("# no CPU can be taken offline here\n");
		fflush(stdout);
		storm_did(OFFLINE, true);
		return;
	}
	while (storm_going()) {
		usleep(500000 + rand_r(&seed) % 2000000);
		storm_did(OFFLINE, ue_put(CPU1, "0") == 0);
		usleep(rand_r(&seed) % 500000);
		ue_put(CPU1, "1");
	}
}

/* Each of these processes has keys of its own, so that each second record has its first. */
static void pairs(unsigned int seed)
{
	struct { uint32_t a; uint64_t b; } __attribute__((packed)) rec;
	static volatile uint32_t word[2];
	int fd = ue_open(), from = ue_reg_index(fd, &word[0], 0, FROM);
	int to = ue_reg_index(fd, &word[1], 0, TO);
	unsigned int first = seed * 64;

	for (uint32_t i = 0; storm_going(); i++) {
		rec.a = first + i % 64;
		rec.b = i;
		if (ue_write(fd, from, &rec, sizeof(rec)) < 0)
			_exit(1);
		rec.b += DIFFERENCE;
		if (ue_write(fd, to, &rec, sizeof(rec)) < 0)
			_exit(2);
		storm_did(PAIRED, true);
		if (i % 16 == 0)
			usleep(rand_r(&seed) % 1000);
	}
}

/* Takes the records out of the instance, and counts them. */
static unsigned long returned;
static bool reading = true;

static void *reader(void *arg)
{
	int fd = open(INSTANCE "/trace_pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	static char buf[1 << 16];
	size_t kept = 0;
	ssize_t n;

	if (fd < 0)
		return (void *)1;
	for (;;) {
		bool last = !__atomic_load_n(&reading, __ATOMIC_ACQUIRE);
		char *from = buf, *end;

		n = read(fd, buf + kept, sizeof(buf) - kept - 1);
		if (n <= 0) {
			/* Nothing more after the writers have ended: it has all been read. */
			if (last)
				break;
			usleep(1000);
			continue;
		}
		buf[kept + n] = '\0';
		while ((end = strchr(from, '\n'))) {
			*end = '\0';
			returned += !!strstr(from, ": soak: ");
			from = end + 1;
		}
		kept = strlen(from);
		memmove(buf, from, kept + 1);
	}
	close(fd);
	return NULL;
}

static long sum_of(const char *word)
{
	long sum = 0;

	for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++)
		sum += number_after(ue_slurp(ue_path(INSTANCE "/per_cpu/cpu%d/stats", cpu)), word);
	return sum;
}

static int same(const char *what, long got, long wanted)
{
	printf("# %s: %ld\n", what, got);
	if (got == wanted)
		return 0;
	printf("# %s: %ld, but it has to be %ld\n", what, got, wanted);
	return 1;
}

static volatile uint32_t pair_word[2];

/* Sets the histogram that writes a record of the synthetic event for each pair. */
static int pairs_setup(int fd)
{
	if (ue_reg(fd, &pair_word[0], 0, FROM) || ue_reg(fd, &pair_word[1], 0, TO) ||
	    ue_put(UE_TRACEFS "/synthetic_events", "soak_synth u64 d") || mkdir(PAIRS, 0750) ||
	    ue_put(PAIRS "/events/user_events/soak_from/trigger", "hist:keys=a:x=b") ||
	    ue_put(PAIRS "/events/user_events/soak_to/trigger",
		   "hist:keys=a:d=b-$x:onmatch(user_events.soak_from).trace(soak_synth,$d)") ||
	    ue_put(SYNTH "/trigger", "hist:keys=d") ||
	    ue_put(SYNTH "/enable", "1") || mkdir(STEADY, 0750) ||
	    ue_put(STEADY "/events/user_events/soak_from/enable", "1"))
		return -1;
	return pair_word[0] == 1 && pair_word[1] == 1 ? 0 : -1;
}

/* What user_events_losses has of an event: records written and refused, and those of instances. */
struct losses {
	long written, failed, ftrace;
};

static bool losses_of(const char *event, struct losses *l)
{
	enum { WRITTEN, FAILED, FTRACE, PERF = 7 };
	const char *name = ue_path("\n%s\t", event);
	const char *line = strstr(ue_slurp(UE_TRACEFS "/user_events_losses"), name);
	long column[PERF];
	char *at;

	if (!line)
		return false;
	at = (char *)line + strlen(name) - 1;
	for (int i = 0; i < PERF; i++)
		column[i] = strtol(at + 1, &at, 10);
	*l = (struct losses){ .written = column[WRITTEN], .failed = column[FAILED] };
	for (int i = FTRACE; i < PERF; i++)
		l->ftrace += column[i];
	return true;
}

/* Checks the first of each pair, whose event is never switched. */
static int steady_check(long written)
{
	struct losses l;
	int bad = 0;

	bad |= same("records of the first of pairs", records_accounted(STEADY), written);
	if (!ue_is_rust())
		return bad;
	if (!losses_of("soak_from", &l))
		return bad | same("lines of the first in user_events_losses", 0, 1);
	bad |= same("written of it there", l.written, written);
	bad |= same("failed of it there", l.failed, 0);
	bad |= same("taken and lost of it there", l.ftrace, written);
	return bad;
}

static int pairs_check(void)
{
	long written = storm_count(PAIRED);
	const char *hist;
	int bad = 0;

	bad |= same("hits of the first of pairs", hist_total(PAIRS, "soak_from", "Hits: "), written);
	bad |= same("hits of the second", hist_total(PAIRS, "soak_to", "Hits: "), written);
	bad |= same("dropped of these", hist_total(PAIRS, "soak_from", "Dropped: ") +
					hist_total(PAIRS, "soak_to", "Dropped: "), 0);
	bad |= same("records of the synthetic event", records_accounted(PAIRS), written);
	hist = ue_slurp(SYNTH "/hist");
	bad |= same("its hits", number_after(hist, "Hits: "), written);
	bad |= same("its entries", number_after(hist, "Entries: "), 1);
	bad |= same("its key", number_after(hist, "{ d:"), DIFFERENCE);
	return bad | steady_check(written);
}

static int pairs_remove(int fd)
{
	int bad;

	ue_trunc(PAIRS "/events/user_events/soak_to/trigger");
	ue_trunc(PAIRS "/events/user_events/soak_from/trigger");
	ue_trunc(SYNTH "/trigger");
	ue_put(SYNTH "/enable", "0");
	ue_put(STEADY "/events/user_events/soak_from/enable", "0");
	bad = same("removing the steady instance", ue_poll(rmdir(STEADY) == 0), true);
	bad |= same("removing the instance of pairs", ue_poll(rmdir(PAIRS) == 0), true);
	bad |= same("removing the synthetic event",
		    ue_poll(ue_put(UE_TRACEFS "/synthetic_events", "!soak_synth") == 0), true);
	for (int i = 0; i < 2; i++) {
		bad |= same("the bit of an event of pairs", ue_poll(pair_word[i] == 0) ? 0 : 1, 0);
		bad |= same("unregistering it", ue_unreg(fd, &pair_word[i], 0), 0);
	}
	return bad;
}

/*
 * Compares user_events_losses with what was written, and with what all instances account for. A
 * record is counted before it is committed. If its event, which has a trigger, is disabled in
 * between, it is not recorded; if it is enabled, it is. So each switch may cause a
 * difference of one record of each of the two writers.
 */
static int losses_check(long written, long instances)
{
	long switched = storm_count(SWITCHED) + 2 * storm_count(INSTANCES);
	struct losses l;
	int bad;

	if (!losses_of("soak", &l))
		return same("lines of user_events_losses", 0, 1);
	bad = same("written in user_events_losses", l.written, written);
	bad |= same("failed there", l.failed, 0);
	printf("# taken and lost by instances there: %ld, records that they had: %ld\n", l.ftrace, instances);
	bad |= same("difference beyond two for each switch", labs(l.ftrace - instances) > 2 * switched, false);
	return bad;
}

static int soak(int seconds)
{
	static const storm_part parts[] = {
		processes, processes, switches, histograms, others, cpus, pairs, pairs,
	};
	const size_t n = sizeof(parts) / sizeof(*parts);
	static volatile uint32_t word;
	int fd = ue_open(), index, bad = 0;
	struct writer w[2];
	unsigned long written = 0;
	long had_before;
	pthread_t thread;
	pid_t pid[sizeof(parts) / sizeof(*parts)];
	void *failed;

	others_had = mmap(NULL, UE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	index = fd < 0 ? fd : ue_reg_index(fd, &word, 0, EVENT);
	if (index < 0 || others_had == MAP_FAILED || storm_init(KINDS) || mkdir(INSTANCE, 0750) ||
	    ue_put(INSTANCE "/events/user_events/soak/trigger", "hist:keys=a") ||
	    ue_put(INSTANCE "/events/user_events/soak/enable", "1") || word != 1 || pairs_setup(fd)) {
		printf("# it cannot be set up\n");
		return 1;
	}
	had_before = records_accounted(UE_TRACEFS);
	fflush(stdout);
	storm_begin(seconds);
	for (size_t i = 0; i < n; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			parts[i](i + 1);
			_exit(0);
		}
	}
	pthread_create(&thread, NULL, reader, NULL);
	for (int i = 0; i < 2; i++)
		writer_start(&w[i], fd, index);
	for (size_t i = 0; i < n; i++) {
		int status = -1;

		waitpid(pid[i], &status, 0);
		bad |= same("status of a part", status, 0);
	}
	for (int i = 0; i < 2; i++) {
		writer_stop(&w[i]);
		written += w[i].written;
		bad |= same("errors of a writer", w[i].error, 0);
		bad |= same("records refused", w[i].refused, 0);
	}
	__atomic_store_n(&reading, false, __ATOMIC_RELEASE);
	pthread_join(thread, &failed);
	bad |= same("the reader's status", (long)failed, 0);
	bad |= storm_idle(kinds);
	printf("# records written: %lu\n", written);
	bad |= same("hits", hist_total(INSTANCE, "soak", "Hits: "), written);
	bad |= same("sum of hit counts", hist_sum(INSTANCE, "soak"), written);
	bad |= same("hits dropped", hist_total(INSTANCE, "soak", "Dropped: "), 0);
	printf("# overrun: %ld, dropped: %ld\n", sum_of("\noverrun: "), sum_of("dropped events: "));
	bad |= same("records accounted for", records_accounted(INSTANCE), written);
	bad |= same("records returned by reads", returned, sum_of("read events: "));
	if (ue_is_rust()) {
		bad |= losses_check(written, records_accounted(INSTANCE) + *others_had +
					     records_accounted(UE_TRACEFS) - had_before);
	}
	bad |= pairs_check();
	if (!access(CPU1, F_OK))
		bad |= same("CPU 1 is online", atoi(ue_slurp(CPU1)), 1);
	/* All of it is removed. */
	bad |= pairs_remove(fd);
	ue_trunc(UE_EVENTS "/soak/trigger");
	ue_enable("soak", false);
	bad |= same("removing the instance", ue_poll(rmdir(INSTANCE) == 0), true);
	bad |= same("the bit", ue_poll(word == 0) ? 0 : 1, 0);
	ue_unreg(fd, &word, 0);
	close(fd);
	bad |= same("the events are gone",
		    ue_gone("soak") && ue_gone("soak_from") && ue_gone("soak_to"), true);
	return bad;
}

int main(int argc, char **argv)
{
	const char *seconds = argc > 1 ? argv[1] : NULL;
	int bad;

	if (!ue_reset()) {
		printf("# what was there before cannot be removed\n");
		bad = 1;
	} else {
		bad = soak(seconds ? atoi(seconds) : 60);
	}
	printf("%sok 1 soak\n", bad ? "not " : "");
	return bad;
}
