// SPDX-License-Identifier: GPL-2.0
/*
 * Everything at once with histograms, for a kernel that looks for races: they are
 * created, paused, cleared, read and removed while their events happen on all
 * processors, refer to each other, share names, and lose their events and their
 * instances.
 *
 * usage: hist_storm [SECONDS]
 *
 * One histogram is left alone, except that its hits are taken out by hist_raw while
 * they are counted: each has to be in one of the readings.
 *
 * At the end all of it is removed, what is left works, and each kind of operation
 * has succeeded at least once.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>

#if __has_include(<linux/hist_triggers.h>)
#include <linux/hist_triggers.h>
#else
/* The installed headers are those of a kernel without it. */
#define HIST_IOCSPOLLINTERVAL _IOW('*', 0x20, uint32_t)
#endif

#include "../user_events_rust/ue.h"
#include "../user_events_rust/storm.h"
#include "hist.h"

#define EVENTS	4

enum {
	WRITTEN, SET, CHANGED, REMOVED, READ, CREATED, DELETED,
	/* What is not in C. */
	BEYOND, RAW, LIMITED, COUNTED, TAKEN, SUMMED, KINDS
};

static const char * const kinds[KINDS] = {
	"records written", "triggers set", "triggers changed", "triggers removed", "tables read",
	"events and instances created", "events and instances deleted",
	"triggers set that C refuses", "tables for programs read", "intervals of polling set",
	"hits counted", "hits taken", "their values taken",
};
#define INSTANCE UE_TRACEFS "/instances/hist_storm"
#define TAKE UE_EVENTS "/hs_take"
#define ON_TAKE "hist:keys=id:vals=one:size=128"
#define TAKE_KEYS 100
static const char *event(unsigned int i)
{
	static char desc[EVENTS][64];

	snprintf(desc[i % EVENTS], sizeof(desc[0]), "hs%u u32 id; s32 delta; u64 total; char[8] tag", i % EVENTS);
	return desc[i % EVENTS];
}

/* The folder of an event, here or in the instance. */
static const char *dir(unsigned int r)
{
	return ue_path("%s/events/user_events/hs%u", r & 4 ? INSTANCE : UE_TRACEFS, r % EVENTS);
}

static const char * const commands[] = {
	"hist:keys=id:size=128",
	"hist:keys=id:vals=total,delta:sort=total.descending:size=256",
	"hist:keys=tag,id.log2:vals=hitcount.percent:size=128 if id > 3",
	"hist:keys=common_stacktrace:size=128",
	"hist:keys=common_pid.execname,common_comm:size=128",
	"hist:keys=id:x1=total:t1=common_timestamp.usecs:size=128",
	"hist:keys=id:lat=total-$x1:onmatch(user_events.hs0).trace(hs_syn,$lat,id):size=128",
	"hist:keys=id:mx=total:onmax($mx).save(delta,tag):onchange($mx).trace(hs_text,tag,$mx):size=128",
	"hist:keys=id:lt=total-$x1:onmatch(user_events.hs0).hs_tag($lt,user_events.hs0.tag):size=128",
	"hist:name=one:keys=id:vals=total:size=128",
	"hist:name=one:keys=id:vals=total:size=128 if id > 1",
	"hist:name=two:keys=id:st=common_stacktrace:ss=tag:size=128",
	"hist:keys=id:mm=total:onmax($mm).snapshot():size=128",
	"hist:keys=id:r1=total,r2=tag:size=128:reuse",
	"hist:keys=id:rl=total-$r1:onmatch(user_events.hs0).trace(hs_syn,$rl,id):size=128:reuse",
	"hist:keys=nosuch",
	"hist:keys=id:vals=$nosuch",
	"hist:keys=id.log2=3,tag:vals=total.min,delta.max,total.avg:quantiles:size=256",
	"hist:keys=total.log2=5:vals=delta.min:sort=delta.min:size=128",
	"hist:keys=id:mn=total:onmin($mn).save(delta,tag):size=128",
	"hist:keys=id:ml=total-$x1:onmin($ml).trace(hs_syn,$ml,id):size=128",
	"hist:name=three:keys=id.log2=1:vals=total.avg:quantiles:size=128",
	"hist:name=three:keys=id.log2=1:vals=total.avg:quantiles:size=128 if id > 9",
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* The first of those that C refuses, but for reuse. */
#define FIRST_BEYOND (COMMANDS - 6)

/* Writes records of all events. */
static void write_records(unsigned int seed)
{
	volatile uint32_t *w = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = ue_open(), round = 0;
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(seed % sysconf(_SC_NPROCESSORS_ONLN), &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	while (storm_going()) {
		/* The events are created and removed: this keeps them for a while. */
		for (int i = 0; i < EVENTS; i++)
			ue_reg(fd, &w[i], 0, event(i));
		for (int n = 0; n < 3000 && storm_going(); n++) {
			unsigned int r = rand_r(&seed);
			struct {
				uint32_t id;
				int32_t delta;
				uint64_t total;
				char tag[8];
			} rec = { r % 200, (int)(r >> 8) % 100 - 50, r, "tagtag" };

			rec.tag[r % 7] = '\0';
			storm_did(WRITTEN, ue_writev(fd, r % EVENTS, &rec, sizeof(rec)) > 0);
		}
		for (int i = 0; i < EVENTS; i++)
			ue_unreg(fd, &w[i], 0);
		if (round++ % 4 == 3) {
			close(fd);
			fd = ue_open();
		}
	}
	close(fd);
}

static void set_triggers(unsigned int seed)
{
	char cmd[512];

	while (storm_going()) {
		unsigned int r = rand_r(&seed);
		unsigned int nr = (r >> 4) % COMMANDS;
		const char *c = commands[nr], *how[] = { "", ":pause", ":cont", ":clear" };
		const char *filter = strstr(c, " if ");
		bool is_set;
		int plain = filter ? (int)(filter - c) : (int)strlen(c), kind = SET;

		switch (r >> 16 & 7) {
		case 0:
		case 1:
			snprintf(cmd, sizeof(cmd), "!%s", c);
			kind = REMOVED;
			break;
		case 2:
			kind = CHANGED;
			snprintf(cmd, sizeof(cmd), "%.*s%s%s", plain, c, how[1 + (r >> 20) % 3], filter ?: "");
			break;
		case 3:
			if (r >> 24 & 3) {
				snprintf(cmd, sizeof(cmd), "%sable_hist:user_events:hs%u:%u", r & 8 ? "en" : "dis",
					 r >> 26 & 3, r >> 20 & 7);
			} else {
				ue_trunc(ue_path("%s/trigger", dir(r)));
				continue;
			}
			break;
		default:
			snprintf(cmd, sizeof(cmd), "%s", c);
		}
		is_set = ue_put(ue_path("%s/trigger", dir(r)), cmd) == 0;
		storm_did(kind, is_set);
		storm_did(BEYOND, is_set && kind == SET && nr >= FIRST_BEYOND);
	}
}

static void read_files(unsigned int seed)
{
	while (storm_going()) {
		unsigned int r = rand_r(&seed);
		const char *what[] = { "hist", "hist_debug", "trigger", "hist", "hist_raw" };
		const char *file = ue_path("%s/%s", dir(r), what[(r >> 8) % 5]);
		struct pollfd p = { .events = POLLIN | POLLPRI };
		uint32_t interval = 1 + (r >> 16) % 20;
		char buf[4096];

		if (r >> 12 & 7) {
			char *text = ue_slurp(file);

			storm_did(READ, strstr(text, "} hitcount: "));
			storm_did(RAW, strstr(text, "\thitcount"));
			continue;
		}
		/* Held for a while, whatever happens to the event. */
		p.fd = open(file, r >> 21 & 1 ? O_RDWR : O_RDONLY);
		if (p.fd < 0)
			continue;
		if (r >> 22 & 1)
			storm_did(LIMITED, ioctl(p.fd, HIST_IOCSPOLLINTERVAL, &interval) == 0);
		poll(&p, 1, rand_r(&seed) % 20);
		while (read(p.fd, buf, sizeof(buf)) > 0 && rand_r(&seed) % 4)
			;
		poll(&p, 1, 1);
		close(p.fd);
		if (r >> 20 & 1)
			ue_slurp(UE_TRACEFS "/error_log");
	}
}

/* Writes records of the event whose hits are taken. */
static void count(unsigned int seed)
{
	volatile uint32_t word = 0;
	int fd = ue_open(), index = ue_reg_index(fd, &word, 0, "hs_take u32 id; u32 one");

	while (storm_going()) {
		struct {
			uint32_t id, one;
		} rec = { rand_r(&seed) % TAKE_KEYS, 1 };

		storm_did(COUNTED, ue_writev(fd, index, &rec, sizeof(rec)) > 0);
	}
	close(fd);
}

/* One reading of all rows. Each hit has the value 1, so the sums agree. */
static void take_once(unsigned long *hits, unsigned long *sum)
{
	static char text[65536];
	int fd = open(TAKE "/hist_raw", O_RDWR | O_CLOEXEC);
	ssize_t n, len = 0;

	while ((n = read(fd, text + len, sizeof(text) - 1 - len)) > 0)
		len += n;
	close(fd);
	text[len] = '\0';
	for (char *line = text; (line = strchr(line, '\n')) && *++line;) {
		unsigned int id;
		unsigned long more, one;

		if (sscanf(line, "%u\t%lu\t%lu", &id, &more, &one) != 3)
			continue;
		*hits += more;
		*sum += one;
	}
}

static void take(unsigned int seed)
{
	while (storm_going()) {
		unsigned long hits = 0, sum = 0;

		take_once(&hits, &sum);
		storm_did_many(TAKEN, hits);
		storm_did_many(SUMMED, sum);
		usleep(rand_r(&seed) % 3000);
	}
}

/* Creates and removes the events, the instance, and the synthetic events. */
static void come_and_go(unsigned int seed)
{
	static const char * const synth[] = {
		"hs_syn u64 lat; u32 id", "hs_text char[] text; u64 val", "hs_tag u64 lat; char[8] tag",
	};
	char cmd[128];

	while (storm_going()) {
		unsigned int r = rand_r(&seed);

		switch (r % 8) {
		case 0:
			snprintf(cmd, sizeof(cmd), "u:%s", event(r >> 8));
			storm_did(CREATED, ue_put(UE_DYN, cmd) == 0);
			break;
		case 1:
			ue_trunc(ue_path("%s/trigger", dir(r >> 8 & 3)));
			snprintf(cmd, sizeof(cmd), "-:%s", event(r >> 8));
			storm_did(DELETED, ue_put(UE_DYN, cmd) == 0);
			break;
		case 2:
			storm_did(DELETED, rmdir(INSTANCE) == 0);
			break;
		case 3:
			storm_did(CREATED, mkdir(INSTANCE, 0750) == 0);
			break;
		case 4:
			storm_did(CREATED, ue_put(UE_TRACEFS "/synthetic_events", synth[r / 8 % 3]) == 0);
			break;
		case 5:
			snprintf(cmd, sizeof(cmd), "!%s", synth[r / 8 % 3]);
			storm_did(DELETED, ue_put(UE_TRACEFS "/synthetic_events", cmd) == 0);
			break;
		case 6:
			ue_put(UE_TRACEFS "/events/synthetic/hs_syn/trigger", r & 16 ? "hist:keys=id:size=128" : "!hist:keys=id:size=128");
			break;
		default:
			ue_put(UE_TRACEFS "/trace_clock", r & 16 ? "global" : "local");
			usleep(1000);
		}
	}
}

/*
 * Removes all triggers of an event, also those which refer to each other: as long as
 * one of them is referred to the event cannot be rid of all at once.
 */
static void remove_all(const char *file)
{
	char *text, *line, *next, cmd[1024];

	ue_trunc(file);
	text = strdup(ue_slurp(file));
	for (line = text; line && *line && *line != '#'; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		snprintf(cmd, sizeof(cmd), "!%s", line);
		if (strstr(cmd, " [active]") || strstr(cmd, " [paused]"))
			*strrchr(cmd, '[') = '\0';
		ue_put(file, cmd);
	}
	free(text);
}

/* Nothing may refer to anything at the end. */
static bool clean(void)
{
	for (int round = 0; round < 8; round++) {
		for (int i = 0; i < EVENTS; i++) {
			for (int in = 0; in < 2; in++)
				remove_all(ue_path("%s/trigger", dir(i | in << 2)));
		}
		ue_trunc(UE_TRACEFS "/events/synthetic/hs_syn/trigger");
	}
	ue_put(UE_TRACEFS "/snapshot", "0");
	ue_put(UE_TRACEFS "/trace_clock", "local");
	return (rmdir(INSTANCE) == 0 || errno == ENOENT) && ue_reset();
}

int main(int argc, char **argv)
{
	static const storm_part few[] = {
		write_records, write_records, set_triggers, set_triggers, read_files, read_files, come_and_go,
		count, count, take, take,
	};
	static const storm_part more[] = { write_records, set_triggers, count };
	storm_part parts[STORM_PARTS_MAX];
	size_t n = storm_parts(parts, few, sizeof(few) / sizeof(few[0]), more, sizeof(more) / sizeof(more[0]));
	int seconds = argc > 1 ? atoi(argv[1]) : 10, bad, fd;
	unsigned long hits = 0, sum = 0, dropped = 0;
	volatile uint32_t word = 0;
	char *text;

	if (storm_init(KINDS) || !clean()) {
		printf("cannot start: events are in use\n");
		return 1;
	}
	fd = ue_open();
	if (ue_reg(fd, &word, 0, "hs_take u32 id; u32 one") || ue_put(TAKE "/trigger", ON_TAKE)) {
		printf("cannot start: no histogram\n");
		return 1;
	}
	if (!hist_is_rust()) {
		for (int kind = BEYOND; kind < KINDS; kind++)
			storm_did(kind, true);
	}
	bad = storm_run(parts, n, seconds, 120);
	take_once(&hits, &sum);
	storm_did_many(TAKEN, hits);
	storm_did_many(SUMMED, sum);
	text = strstr(ue_slurp(TAKE "/hist"), "Dropped: ");
	if (text)
		dropped = strtoul(text + strlen("Dropped: "), NULL, 10);
	if (hist_is_rust() && (storm_count(TAKEN) + dropped != storm_count(COUNTED) || storm_count(SUMMED) != storm_count(TAKEN))) {
		printf("of %lu hits %lu were taken, with %lu values, and %lu dropped\n", storm_count(COUNTED),
		       storm_count(TAKEN), storm_count(SUMMED), dropped);
		bad = 1;
	}
	ue_put(TAKE "/trigger", "!" ON_TAKE);
	ue_unreg(fd, &word, 0);
	close(fd);
	if (!ue_poll(clean())) {
		printf("something stays: %s", ue_slurp(UE_DYN));
		for (unsigned int i = 0; i < 8; i++)
			printf("# %s:\n%s", ue_path("%s/trigger", dir(i)), ue_slurp(ue_path("%s/trigger", dir(i))));
		bad = 1;
	}
	/* And all works as before. */
	fd = ue_open();
	if (ue_reg(fd, &word, 0, "hs_after u32 id") || ue_put(UE_EVENTS "/hs_after/trigger", "hist:keys=id") || word != 1 ||
	    ue_write_u32(fd, 0, 7) != 8 || !strstr(ue_slurp(UE_EVENTS "/hs_after/hist"), "{ id:          7 } hitcount:          1\n") ||
	    ue_trunc(UE_EVENTS "/hs_after/trigger") || word || ue_unreg(fd, &word, 0)) {
		printf("a histogram does not work afterwards\n");
		bad = 1;
	}
	close(fd);
	if (!ue_gone("hs_after")) {
		printf("an event does not go afterwards\n");
		bad = 1;
	}
	bad |= storm_idle(kinds);
	printf("%s 1 storm of %d s\n", bad ? "not ok" : "ok", seconds);
	return bad;
}
