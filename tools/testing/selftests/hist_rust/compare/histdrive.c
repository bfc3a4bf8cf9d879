// SPDX-License-Identifier: GPL-2.0
/*
 * Writes many trigger commands in one process, and prints the result of each:
 * what it prints on two kernels can be compared
 * (user_events_rust/compare/judge.pl).
 *
 * usage: histdrive [SCRIPT]       (default: stdin)
 *
 *   seq NAME            from here to the next one, without any trigger before it
 *   try EVENT TEXT      writes to the event's trigger file: the result and error_log
 *   full EVENT TEXT     the same; and if it is taken, feeds, shows the event and
 *                       the synthetic ones that have a trigger, and removes it
 *   feed                the records, always the same ones
 *   signed              from here to the next sequence the signed numbers of these
 *                       records are negative, too
 *   feed SPEC...        records of one's own: num:ID:DELTA:TOTAL:TAG:MSG or
 *                       pair:ID:PART:TOTAL:TAG:NOTE
 *   show EVENT          trigger, hist and hist_debug
 *   trigger EVENT       the trigger file alone
 *   cat FILE            a file of tracefs
 *   put FILE TEXT       writes to one, and prints the result
 *
 * With WRITE_BACK in the environment each line of a trigger that "try" or "full"
 * creates is removed by its own text and written again.
 *
 * An EVENT is num, pair, or the name of a synthetic event. In TEXT, \t and \xNN
 * stand for characters. The process keeps to one CPU.
 */
#define _GNU_SOURCE
#include <sched.h>

#include "../../user_events_rust/ue.h"

struct num {
	uint32_t id;
	int32_t delta;
	uint64_t total;
	char tag[8];
	uint16_t kind;
	int8_t tiny;
	char pad;
	uint32_t msg;
	char blob[12];
} __attribute__((packed));

struct pair {
	uint32_t id;
	uint32_t part;
	uint64_t total;
	char tag[16];
	uint32_t note;
} __attribute__((packed));

static const char NUM[] = "num u32 id; s32 delta; u64 total; char[8] tag; u16 kind; s8 tiny; u8 pad; "
	"__data_loc char[] msg; struct blob raw 12";
static const char PAIR[] = "pair u32 id; u32 part; u64 total; char[16] tag; __data_loc char[] note";
static const char * const synth[] = {
	"syn u64 lat; u32 who", "syn_text char[] text; u64 len", "syn_fixed char[8] label; s32 diff",
	"syn_stack u64 lat; unsigned long[] stk", "syn_one u64 only",
};

#define SYNTH (sizeof(synth) / sizeof(synth[0]))

static volatile uint32_t words[2];
static int data;
static bool negative;

static const char *name_of(int err)
{
	static char other[32];

	switch (err) {
#define E(e) case e: return #e
	E(EPERM); E(ENOENT); E(E2BIG); E(ENOMEM); E(EFAULT); E(EBUSY); E(EEXIST); E(ENODEV);
	E(EINVAL); E(ENOSPC); E(EOPNOTSUPP); E(EDOM); E(ERANGE);
	}
	snprintf(other, sizeof(other), "errno %d", err);
	return other;
}

static const char *dir_of(const char *event)
{
	const char *group = !strcmp(event, "num") || !strcmp(event, "pair") ? "user_events" : "synthetic";

	return ue_path(UE_TRACEFS "/events/%s/%s", group, event);
}

/* error_log without the times; emptied. */
static void log_out(void)
{
	char *text = strdup(ue_slurp(UE_TRACEFS "/error_log")), *rest = text, *line;

	while ((line = strsep(&rest, "\n"))) {
		char *end = *line == '[' ? strstr(line, "] ") : NULL;

		if (end)
			line = end + 2;
		if (*line)
			printf("%s\n", line);
	}
	free(text);
	ue_trunc(UE_TRACEFS "/error_log");
}

/* Returns true if a line, without its state, is one of a text. */
static bool has_line(const char *text, const char *line, size_t len)
{
	for (const char *at = text; (at = strstr(at, "hist:")); at++) {
		if ((at == text || at[-1] == '\n') && !strncmp(at, line, len) && !strncmp(at + len, " [", 2))
			return true;
	}
	return false;
}

static void removed_by(const char *file, const char *line)
{
	char *cmd;

	if (asprintf(&cmd, "!%s", line) < 0)
		exit(2);
	if (ue_put(file, cmd) || has_line(ue_slurp(file), line, strlen(line)))
		printf("? not removed by %s\n", cmd);
	free(cmd);
}

/*
 * Removes each new histogram by the text of its own line, and writes that again,
 * which prints nothing if it works. In the end the command is there as before.
 */
static void write_back(const char *event, const char *text, const char *before)
{
	char *file = strdup(ue_path("%s/trigger", dir_of(event)));
	char *after = strdup(ue_slurp(file)), *lines = strdup(after), *rest = lines, *line;

	while ((line = strsep(&rest, "\n"))) {
		char *state = strrchr(line, '[');

		if (strncmp(line, "hist:", 5) || !state)
			continue;
		state[-1] = '\0';
		if (has_line(before, line, strlen(line)))
			continue;
		removed_by(file, line);
		if (ue_put(file, line) || !has_line(ue_slurp(file), line, strlen(line)))
			printf("? not written again: %s\n", line);
		removed_by(file, line);
		if (ue_put(file, text))
			printf("? not taken again: %s\n", text);
	}
	if (strcmp(ue_slurp(file), after))
		printf("? in the end it is\n%s", ue_slurp(file));
	ue_trunc(UE_TRACEFS "/error_log");
	free(lines);
	free(after);
	free(file);
}

static int try(const char *event, const char *text)
{
	char *before = getenv("WRITE_BACK") ? strdup(ue_slurp(ue_path("%s/trigger", dir_of(event)))) : NULL;
	int ret = ue_put(ue_path("%s/trigger", dir_of(event)), text);

	printf("[%s %s] %s\n", event, text, ret ? name_of(-ret) : "ok");
	log_out();
	if (before && !ret)
		write_back(event, text, before);
	free(before);
	return ret;
}

static void write_num(uint32_t id, int32_t delta, int8_t tiny, uint64_t total, const char *tag, const char *msg)
{
	struct {
		struct num n;
		char text[256];
	} r = { .n = { .id = id, .delta = delta, .total = total, .kind = id * 3 + 1, .tiny = tiny } };
	size_t len = strlen(msg) + 1;

	memcpy(r.n.tag, tag, strnlen(tag, sizeof(r.n.tag)));
	r.n.msg = len << 16 | (8 + sizeof(r.n));
	memcpy(r.text, msg, len);
	if (ue_writev(data, 0, &r, sizeof(r.n) + len) < 0 && errno != EBADF)
		printf("? a record is refused: %s\n", name_of(errno));
}

static void write_pair(uint32_t id, uint32_t part, uint64_t total, const char *tag, const char *note)
{
	struct {
		struct pair p;
		char text[256];
	} r = { .p = { .id = id, .part = part, .total = total } };
	size_t len = strlen(note) + 1;

	memcpy(r.p.tag, tag, strnlen(tag, sizeof(r.p.tag)));
	r.p.note = len << 16 | (8 + sizeof(r.p));
	memcpy(r.text, note, len);
	if (ue_writev(data, 1, &r, sizeof(r.p) + len) < 0 && errno != EBADF)
		printf("? a record is refused: %s\n", name_of(errno));
}

/*
 * Small numbers, ones that fill their types, strings of several lengths; negative
 * numbers, which are shown otherwise on purpose, only after "signed".
 */
static void feed(void)
{
	static const int32_t deltas[] = { -1, 10, -10, INT32_MIN, 0, INT32_MAX, -300 };
	static const char * const tags[] = { "a", "bb", "ccc", "longest" };
	static const char * const texts[] = { "x", "some text", "another, longer text with 37 letters.", "" };

	for (unsigned int i = 0; i < 24; i++) {
		uint64_t total = i % 7 == 6 ? 1ull << (20 + i) : i * i * 8;
		int32_t delta = negative ? deltas[i % 7] : i % 4 * 10;
		int8_t tiny = !negative || i % 2 ? total % 100 : i % 6 ? -(int)(total % 100) : INT8_MIN;

		write_num(i % 5, delta, tiny, total, tags[i % 3], texts[i % 3]);
		if (i % 2)
			write_pair(i % 7, i * 4, total + 64, tags[i % 4], texts[i % 3]);
		/* The same again, for what is done on a change only. */
		if (i == 10)
			write_num(i % 5, delta, tiny, total, tags[i % 3], texts[i % 3]);
	}
}

static void feed_own(char *specs)
{
	char *spec, *part[6];

	while ((spec = strsep(&specs, " "))) {
		int n = 0;

		while (n < 6 && (part[n] = strsep(&spec, ":")))
			n++;
		if (n != 6)
			printf("? feed\n");
		else if (!strcmp(part[0], "num"))
			write_num(strtoul(part[1], NULL, 0), strtol(part[2], NULL, 0), strtoull(part[3], NULL, 0) % 100,
				  strtoull(part[3], NULL, 0), part[4], part[5]);
		else
			write_pair(strtoul(part[1], NULL, 0), strtoul(part[2], NULL, 0), strtoull(part[3], NULL, 0),
				   part[4], part[5]);
	}
}

static void cat(const char *file)
{
	char *text = ue_slurp(file);

	if (*text)
		printf("%s%s", text, text[strlen(text) - 1] == '\n' ? "" : "\n");
	else
		printf("(empty)\n");
}

/* The triggers of an event, or nothing. */
static void triggers(const char *event)
{
	char *text = ue_slurp(ue_path("%s/trigger", dir_of(event)));

	printf("%s: %s", event, *text == '#' ? "no trigger\n" : text);
}

static void show(const char *event)
{
	triggers(event);
	cat(ue_path("%s/hist", dir_of(event)));
	cat(ue_path("%s/hist_debug", dir_of(event)));
}

static bool has_triggers(const char *event)
{
	return *ue_slurp(ue_path("%s/trigger", dir_of(event))) != '#';
}

static const char *synth_name(int i)
{
	static char name[32];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(synth[i], " "), synth[i]);
	return name;
}

static void full(const char *event, const char *text)
{
	char remove[4096];

	if (try(event, text))
		return;
	feed();
	show(event);
	for (size_t i = 0; i < SYNTH; i++) {
		if (strcmp(event, synth_name(i)) && has_triggers(synth_name(i)))
			show(synth_name(i));
	}
	snprintf(remove, sizeof(remove), "!%s", text);
	try(event, remove);
	triggers(event);
	/* For the next one, whatever the result of that was. */
	ue_trunc(ue_path("%s/trigger", dir_of(event)));
}

/*
 * Removes all triggers: one that refers to a variable of another one is removed
 * first, so it may take some rounds.
 */
static bool clean(void)
{
	const char *names[2 + SYNTH] = { "num", "pair" };
	bool left = true;

	for (size_t i = 0; i < SYNTH; i++)
		names[2 + i] = strdup(synth_name(i));
	for (int round = 0; left && round < 6; round++) {
		left = false;
		for (size_t i = 0; i < 2 + SYNTH; i++) {
			char *file = strdup(ue_path("%s/trigger", dir_of(names[i]))), *text, *line;

			if (has_triggers(names[i])) {
				ue_trunc(file);
				/* Those that are not histograms. */
				text = strdup(ue_slurp(file));
				for (char *rest = text; (line = strsep(&rest, "\n")); ) {
					char cmd[256];

					if (*line && *line != '#' && strncmp(line, "hist:", 5)) {
						snprintf(cmd, sizeof(cmd), "!%.*s", (int)strcspn(line, " "), line);
						ue_put(file, cmd);
					}
				}
				free(text);
				left |= has_triggers(names[i]);
			}
			free(file);
		}
	}
	ue_trunc(UE_TRACEFS "/error_log");
	return !left;
}

static void put(const char *file, const char *text)
{
	int ret = ue_put(ue_path("%s/%s", UE_TRACEFS, file), text);

	printf("%s <- %s: %s\n", file, text, ret ? name_of(-ret) : "ok");
}

static void unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (s[0] == '\\' && s[1] == 't') {
			*to++ = '\t';
			s += 2;
		} else if (s[0] == '\\' && s[1] == 'x' && s[2] && s[3]) {
			char hex[3] = { s[2], s[3] };

			*to++ = strtol(hex, NULL, 16);
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

static void run(char *line)
{
	char *cmd = strsep(&line, " "), *arg;

	unescape(line ? line : cmd);
	if (!strcmp(cmd, "feed")) {
		if (line)
			feed_own(line);
		else
			feed();
		return;
	}
	if (!strcmp(cmd, "signed")) {
		negative = true;
		return;
	}
	arg = line ? strsep(&line, " ") : "";
	if (!strcmp(cmd, "try"))
		try(arg, line ? line : "");
	else if (!strcmp(cmd, "full"))
		full(arg, line ? line : "");
	else if (!strcmp(cmd, "show"))
		show(arg);
	else if (!strcmp(cmd, "trigger"))
		triggers(arg);
	else if (!strcmp(cmd, "cat"))
		cat(ue_path("%s/%s", UE_TRACEFS, arg));
	else if (!strcmp(cmd, "put"))
		put(arg, line ? line : "");
	else
		printf("? %s\n", cmd);
}

static bool start(void)
{
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	if (!ue_reset())
		return false;
	data = ue_open();
	if (ue_reg(data, &words[0], 0, NUM) || ue_reg(data, &words[1], 0, PAIR))
		return false;
	for (size_t i = 0; i < SYNTH; i++) {
		if (ue_put(UE_TRACEFS "/synthetic_events", synth[i]))
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	FILE *in = argc > 1 ? fopen(argv[1], "r") : stdin;
	char *line = NULL;
	size_t size = 0;
	ssize_t n;

	if (!in) {
		perror(argv[1]);
		return 2;
	}
	if (!start()) {
		printf("? cannot start\n");
		return 1;
	}
	while ((n = getline(&line, &size, in)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		if (!*line || *line == '#')
			continue;
		if (!strncmp(line, "seq ", 4)) {
			if (!clean()) {
				printf("? triggers stay\n");
				return 1;
			}
			printf("== %s\n", line + 4);
			negative = false;
		} else {
			run(line);
		}
		fflush(stdout);
	}
	if (!clean())
		printf("? triggers stay\n");
	close(data);
	return 0;
}
