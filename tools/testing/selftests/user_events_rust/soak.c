// SPDX-License-Identifier: GPL-2.0
/*
 * Everything at once, and the sums have to be right at the end.
 *
 * usage: soak [SECONDS]	(default 60)
 *
 * Two threads write records of one event, which an instance records and counts in a
 * histogram. Other processes register, fork, exit and are killed with bits
 * of that event; the top instance switches it, sets, clears and removes histograms
 * of it; perf opens it; instances come and go; a reader takes the records out.
 *
 * It fails unless the histogram has counted each record that was written, in its total
 * and in the sum of its entries, and the instance accounts for each: read, in the buffer,
 * or in one of its own counts of lost records. "read events" differs from the number of
 * lines that trace_pipe has returned if a read returns a record twice or drops it.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/prctl.h>

#include "storm.h"
#include "trouble.h"

#define INSTANCE	UE_TRACEFS "/instances/soak"
#define EVENT		"soak u32 a"

enum { FORKED, SWITCHED, TRIGGERED, CLEARED, REMOVED, OPENED, INSTANCES, KINDS };

static const char * const kinds[KINDS] = {
	"processes forked", "switches", "histograms set", "histograms cleared", "histograms removed",
	"perf events opened", "instances",
};

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

static void others(unsigned int seed)
{
	const char *dir = UE_TRACEFS "/instances/soak_other";

	while (storm_going()) {
		struct ue_perf perf;

		if (ue_perf_open(&perf, "soak") == 0) {
			storm_did(OPENED, true);
			ue_perf_close(&perf);
		}
		if (mkdir(dir, 0750) == 0) {
			ue_put(ue_path("%s/events/user_events/soak/trigger", dir), "hist:keys=a");
			ue_put(ue_path("%s/events/user_events/soak/enable", dir), "1");
			ue_slurp(ue_path("%s/trace", dir));
			storm_did(INSTANCES, ue_poll(rmdir(dir) == 0));
		}
		rand_r(&seed);
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

static int soak(int seconds)
{
	static const storm_part parts[] = { processes, processes, switches, histograms, others };
	const size_t n = sizeof(parts) / sizeof(*parts);
	static volatile uint32_t word;
	int fd = ue_open(), index, bad = 0;
	struct writer w[2];
	unsigned long written = 0;
	pthread_t thread;
	pid_t pid[8];
	void *failed;

	index = fd < 0 ? fd : ue_reg_index(fd, &word, 0, EVENT);
	if (index < 0 || storm_init(KINDS) || mkdir(INSTANCE, 0750) ||
	    ue_put(INSTANCE "/events/user_events/soak/trigger", "hist:keys=a") ||
	    ue_put(INSTANCE "/events/user_events/soak/enable", "1") || word != 1) {
		printf("# it cannot be set up\n");
		return 1;
	}
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
	/* All of it goes. */
	ue_trunc(UE_EVENTS "/soak/trigger");
	ue_enable("soak", false);
	bad |= same("removing the instance", ue_poll(rmdir(INSTANCE) == 0), true);
	bad |= same("the bit", ue_poll(word == 0) ? 0 : 1, 0);
	ue_unreg(fd, &word, 0);
	close(fd);
	bad |= same("the event is gone", ue_gone("soak"), true);
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
