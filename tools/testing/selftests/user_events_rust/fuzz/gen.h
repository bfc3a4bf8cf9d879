/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Generation of programs: from the grammars of the texts, and from existing programs,
 * changed by operation, by word and by byte.
 */
#ifndef FUZZ_GEN_H
#define FUZZ_GEN_H

#include "prog.h"

static uint64_t rnd_state = 1;

static inline uint32_t rnd(uint32_t n)
{
	rnd_state ^= rnd_state << 13;
	rnd_state ^= rnd_state >> 7;
	rnd_state ^= rnd_state << 17;
	return n ? (uint32_t)(rnd_state >> 32) % n : 0;
}

static inline bool chance(unsigned int percent)
{
	return rnd(100) < percent;
}

#define PICK(...)							\
({									\
	static const char * const __of[] = { __VA_ARGS__ };		\
									\
	__of[rnd(sizeof(__of) / sizeof(__of[0]))];			\
})

/* A text that is being generated. */
struct text {
	size_t len;
	char s[TEXT_MAX + 1];
};

static inline __attribute__((format(printf, 2, 3))) void put(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->s + t->len, sizeof(t->s) - t->len, fmt, ap);
	va_end(ap);
	t->len += n;
	if (t->len > TEXT_MAX)
		t->len = TEXT_MAX;
}

static inline void put_number(struct text *t)
{
	if (chance(50))
		put(t, "%u", rnd(12));
	else
		put(t, "%s", PICK("16", "64", "100", "255", "256", "1024", "4096", "0x10", "010",
				  "0xffffffff", "4294967296", "9223372036854775807",
				  "-1", "-9223372036854775808", "18446744073709551615",
				  "18446744073709551616", "65535", "131072", "131073", "1000000"));
}

/*
 * The events that triggers and files are about: two user events, a synthetic one, three
 * static ones, and one that programs register, if they do.
 */
#define EVENTS	7
enum { EV_NUM, EV_PAIR, EV_SYN, EV_SWITCH, EV_WAKING, EV_ENTER, EV_OWN };

static const char * const event_path[EVENTS] = {
	"user_events/z0_num", "user_events/z0_pair", "synthetic/z0_syn", "sched/sched_switch",
	"sched/sched_waking", "raw_syscalls/sys_enter", "user_events/z0_x",
};

#define NUM_DESC	"z0_num u32 id; s64 delta; u64 total; u8 kind; char[8] tag; __rel_loc char[] msg"
#define PAIR_DESC	"z0_pair u32 id; u64 part; s32 tiny; char[16] note; __data_loc char[] txt"
#define SYN_DESC	"z0_syn u64 lat; pid_t pid; char comm[16]; char[] txt"

/* Texts that are right, as far as the grammar knows, reach the code after the parsers. */
static bool sane;

static inline const char *a_number(int ev)
{
	switch (ev) {
	case EV_NUM:
		return PICK("id", "delta", "total", "kind");
	case EV_PAIR:
		return PICK("id", "part", "tiny");
	case EV_SYN:
		return PICK("lat", "pid");
	case EV_SWITCH:
		return PICK("next_pid", "prev_pid", "prev_state", "next_prio");
	case EV_WAKING:
		return PICK("pid", "prio", "target_cpu");
	default:
		return PICK("id", "a", "b");
	}
}

static inline const char *a_field(int ev)
{
	if (sane && chance(12))
		return PICK("common_pid", "common_timestamp", "common_cpu", "common_comm",
			    "common_stacktrace");
	if (!sane && chance(12))
		return PICK("common_pid", "common_timestamp", "common_cpu", "common_comm",
			    "common_stacktrace", "common_type", "common_flags",
			    "common_preempt_count", "hitcount", "stacktrace", "cpu", "comm", "COMM",
			    "CPU", "STACKTRACE", "nosuch");
	switch (ev) {
	case EV_NUM:
		return PICK("id", "id", "delta", "total", "kind", "tag", "msg");
	case EV_PAIR:
		return PICK("id", "id", "part", "tiny", "note", "txt");
	case EV_SYN:
		return PICK("lat", "pid", "comm", "txt");
	case EV_SWITCH:
		return PICK("next_pid", "prev_pid", "next_comm", "prev_comm", "prev_state",
			    "next_prio", "prev_prio");
	case EV_WAKING:
		return PICK("pid", "comm", "prio", "target_cpu");
	case EV_ENTER:
		return PICK("id", "id", "args");
	default:
		return PICK("a", "b", "c", "id", "d");
	}
}

static inline void put_field(struct text *t, int ev)
{
	if (sane && chance(40)) {
		put(t, "%s%s", a_number(ev), PICK("", ".hex", ".log2", ".usecs", ".buckets=10", ".sym",
						  ".sym-offset", ".syscall", ".percent", ".graph",
						  ".log2=3", ".min", ".max", ".avg"));
		return;
	}
	put(t, "%s", a_field(ev));
	if (sane)
		return;
	if (chance(25))
		put(t, ".%s", PICK("hex", "sym", "sym-offset", "log2", "usecs", "execname",
				   "syscall", "stacktrace", "percent", "graph", "descending",
				   "ascending", "foo", "", "min", "max", "avg"));
	else if (chance(8)) {
		put(t, "%s", PICK(".buckets=", ".bucket=", ".buckets", ".log2="));
		put_number(t);
	}
}

static inline void put_var(struct text *t)
{
	if (sane) {
		put(t, "%s", PICK("$x0", "$x0", "$x1", "$lat"));
		return;
	}
	if (chance(30))
		put(t, "%s", PICK("user_events.z0_num.", "user_events.z0_pair.", "user_events.",
				  "sched.sched_switch.", "sched.sched_waking."));
	put(t, "$%s", PICK("x0", "x0", "x1", "x2", "y0", "lat", "ts0", "nosuch"));
}

static inline void put_expr(struct text *t, int ev, int depth)
{
	int n = chance(45) ? 1 : 1 + rnd(3);

	for (int i = 0; i < n; i++) {
		if (i)
			put(t, "%s", PICK("+", "-", "*", "/", "-", "+"));
		if (chance(8))
			put(t, "-");
		if (depth < 3 && chance(12)) {
			put(t, "(");
			put_expr(t, ev, depth + 1);
			put(t, ")");
		} else if (chance(30)) {
			put_number(t);
		} else if (chance(35)) {
			put_var(t);
		} else if (sane) {
			put(t, "%s", chance(15) ? "common_timestamp" : a_number(ev));
		} else {
			put_field(t, ev);
		}
	}
}

static inline void put_filter(struct text *t, int ev, int depth)
{
	int n = 1 + rnd(2);

	for (int i = 0; i < n; i++) {
		if (i)
			put(t, " %s ", PICK("&&", "||", "and", ""));
		if (depth < 2 && chance(15)) {
			put(t, "%s(", PICK("", "!"));
			put_filter(t, ev, depth + 1);
			put(t, ")");
			continue;
		}
		put(t, "%s %s ", a_field(ev), PICK("==", "!=", "<", ">", "<=", ">=", "&", "~", "="));
		if (chance(70))
			put_number(t);
		else
			put(t, "%s", PICK("\"a*\"", "\"bb\"", "ab", "'x", "CPUS{0-1}", "\"*o*\""));
	}
}

static inline void put_params(struct text *t, int ev)
{
	int n = 1 + rnd(4);

	for (int i = 0; i < n; i++) {
		if (i)
			put(t, ",");
		if (chance(45))
			put_var(t);
		else
			put(t, "%s", a_field(ev));
	}
}

static inline void put_action(struct text *t, int ev)
{
	if (sane) {
		const char *var = PICK("$x0", "$lat");
		bool match = chance(50);

		if (match)
			put(t, "onmatch(%s)", PICK("user_events.z0_num", "user_events.z0_num",
						   "user_events.z0_pair", "sched.sched_waking"));
		else
			put(t, "%s(%s)", PICK("onmax", "onchange", "onmin"), var);
		if (!match && chance(30)) {
			put(t, ".save(%s,%s)", a_field(ev), a_number(ev));
		} else if (!match && chance(20)) {
			put(t, ".snapshot()");
		} else {
			put(t, "%s%s,common_pid,common_comm,%s)", PICK(".trace(z0_syn,", ".z0_syn("),
			    PICK("$x0", "$lat", "$x1", "total", "part"),
			    PICK("msg", "txt", "$x2", "user_events.z0_num.msg"));
		}
		return;
	}
	switch (rnd(4)) {
	case 0:
		put(t, "onmatch(%s)", PICK("user_events.z0_num", "user_events.z0_num",
					   "user_events.z0_pair", "sched.sched_waking",
					   "sched.sched_switch", "z0_num", "", "no.such"));
		break;
	case 1:
		put(t, "onmax(");
		put_var(t);
		put(t, ")");
		break;
	case 2:
		put(t, "onmin(");
		put_var(t);
		put(t, ")");
		break;
	default:
		put(t, "onchange(");
		put_var(t);
		put(t, ")");
	}
	switch (rnd(5)) {
	case 0:
		put(t, ".save(");
		put_params(t, ev);
		put(t, ")");
		break;
	case 1:
		put(t, ".snapshot()");
		break;
	case 2:
		put(t, ".%s(z0_syn,", PICK("trace", "trace", "tracer"));
		put(t, "%s", PICK("$x0,common_pid,common_comm,", "$lat,$x1,", "total,common_pid,", ""));
		put_params(t, ev);
		put(t, ")");
		break;
	case 3:
		put(t, ".trace(z0_syn,%s,common_pid,common_comm,%s)",
		    PICK("$x0", "$lat", "total", "part", "$x1"), PICK("msg", "txt", "$x2", "tag"));
		break;
	default:
		put(t, ".z0_syn(");
		put_params(t, ev);
		put(t, ")");
	}
}

static inline void put_hist(struct text *t, int ev)
{
	int n = 1 + rnd(chance(10) ? 5 : 2);

	put(t, "%s", PICK("hist:keys=", "hist:keys=", "hist:key="));
	if (chance(45)) {
		/* The fields that references can match. */
		put(t, "%s", ev == EV_SWITCH ? "next_pid" : ev == EV_WAKING ? "pid" : "id");
	} else {
		for (int i = 0; i < n; i++) {
			if (i)
				put(t, ",");
			if (chance(85))
				put_field(t, ev);
			else
				put_expr(t, ev, 1);
		}
	}
	if (chance(40)) {
		put(t, ":%s=", PICK("vals", "val", "values"));
		n = 1 + rnd(3);
		for (int i = 0; i < n; i++) {
			if (i)
				put(t, ",");
			if (chance(80))
				put_field(t, ev);
			else
				put_expr(t, ev, 1);
		}
	}
	for (n = chance(60) ? rnd(4) : 0; n; n--) {
		put(t, "%s%s=", chance(70) ? ":" : ",", PICK("x0", "x1", "x2", "y0", "lat", "ts0"));
		put_expr(t, ev, 0);
	}
	if (chance(20)) {
		put(t, ":sort=");
		n = 1 + rnd(3);
		for (int i = 0; i < n; i++) {
			if (i)
				put(t, ",");
			put(t, "%s%s", a_field(ev), PICK("", "", ".descending", ".ascending", ".hex",
								 ".min", ".max", ".avg"));
		}
	}
	if (chance(15)) {
		put(t, ":size=");
		put_number(t);
	}
	if (chance(12))
		put(t, ":name=%s", PICK("one", "one", "two", "z0_num"));
	if (chance(12))
		put(t, ":%s", PICK("pause", "cont", "continue", "clear", "nohitcount", "NOHC",
				   "clock=mono", "clock=global", "clock=x86-tsc", "clock=", "foo",
				   "quantiles", "quantiles", "reuse", "reuse"));
	for (n = chance(45) ? 1 + rnd(2) : 0; n; n--) {
		put(t, ":");
		put_action(t, ev);
	}
	if (chance(12)) {
		put(t, " if ");
		put_filter(t, ev, 0);
	}
}

static inline void put_trigger(struct text *t, int ev)
{
	if (chance(12))
		put(t, "!");
	if (chance(88)) {
		put_hist(t, ev);
		return;
	}
	put(t, "%s", PICK("enable_hist", "disable_hist", "enable_event", "disable_event",
			  "stacktrace", "snapshot", "traceon", "traceoff", "hist", ""));
	if (chance(80))
		put(t, ":%s", PICK("user_events:z0_num", "user_events:z0_pair", "synthetic:z0_syn",
				   "sched:sched_switch", "no:such", "3", "sched", ""));
	if (chance(30)) {
		put(t, ":");
		put_number(t);
	}
	if (chance(15)) {
		put(t, " if ");
		put_filter(t, ev, 0);
	}
}

static inline void put_type(struct text *t)
{
	switch (rnd(7)) {
	case 0:
		put(t, "%s[", PICK("char", "unsigned char", "u8", "u32"));
		put_number(t);
		put(t, "]");
		break;
	case 1:
		put(t, "%s %s", PICK("__data_loc", "__rel_loc"),
		    PICK("char[]", "unsigned char[]", "u8[]", "u32[]", "char", "s16"));
		break;
	case 2:
		put(t, "struct %s", PICK("s", "my_struct", "x.y"));
		break;
	default:
		put(t, "%s", PICK("s8", "u8", "char", "unsigned char", "s16", "u16", "short",
				  "unsigned short", "s32", "u32", "int", "unsigned int", "s64",
				  "u64", "bool", "long", "unsigned", "u128"));
	}
}

/* The text of a registration: sometimes with flags, as in dynamic_events. */
static inline void put_event(struct text *t)
{
	int n = chance(10) ? 0 : 1 + rnd(chance(20) ? 9 : 3);

	put(t, "%s", PICK("z0_x", "z0_x", "z0_x", "z0_xy", "z0_num", "z0_a.b", "z0_+", "z0_", "x:y"));
	for (int i = 0; i < n; i++) {
		put(t, "%s", i ? PICK(";", "; ", " ;", ";;", ";  ") : " ");
		if (chance(5))
			continue;
		put_type(t);
		put(t, " %s", PICK("a", "b", "c", "id", "d", "a", "common_pid", "a_1", "1a", "a+b", ""));
		if (chance(15)) {
			put(t, " ");
			put_number(t);
		}
	}
	if (chance(8))
		put(t, ";");
}

static inline void put_dyn(struct text *t)
{
	if (chance(25)) {
		put(t, "-:%s%s", PICK("", "", "user_events/"), PICK("z0_x", "z0_xy", "z0_num", "nosuch"));
		return;
	}
	put(t, "%s", PICK("u:", "u:", "u:user_events/", "u:other/", "u", "u1:", ":"));
	put_event(t);
}

static inline void put_syn(struct text *t)
{
	if (chance(25)) {
		put(t, "!z0_s%s", PICK("1", "2", ""));
		return;
	}
	put(t, "z0_s%s", PICK("1", "2", " "));
	for (int n = rnd(4); n; n--) {
		put(t, " %s %s;", PICK("u64", "pid_t", "char[]", "char[16]", "int", "s8", "unsigned long",
				       "gfp_t", "bool", "foo"), PICK("lat", "pid", "a", "b", "c[4]"));
	}
}

/* A record: for the event's fields as they may be, whatever they are. */
static inline void put_record(struct text *t)
{
	int n = rnd(10);

	for (int i = 0; i < n; i++) {
		uint64_t v = chance(60) ? rnd(4) : chance(50) ? ~0ull >> rnd(60) : rnd_state;
		size_t size = 1 << rnd(4);

		if (t->len + 24 > TEXT_MAX)
			return;
		if (chance(20)) {
			/* A place and a length. */
			v = rnd(40) << 16 | rnd(chance(20) ? 65536 : 64);
			size = 4;
		}
		if (chance(15)) {
			put(t, "%s", PICK("ab", "hello", "x\ty", "aaaaaaaaaaaaaaa"));
			t->s[t->len++] = '\0';
			continue;
		}
		memcpy(t->s + t->len, &v, size);
		t->len += size;
	}
}

/* The values of a user_reg, user_unreg or user_batch, with invalid addresses. */
static inline void put_ioctl(struct text *t)
{
	static const uint32_t sizes[] = { 0, 4, 8, 16, 20, 24, 26, 28, 29, 32, 64, 4096, 4097, ~0u };
	uint32_t size = sizes[rnd(sizeof(sizes) / sizeof(sizes[0]))];

	memcpy(t->s, &size, 4);
	t->len = 4;
	while (t->len < 40 && chance(95)) {
		t->s[t->len++] = chance(60) ? 0 : rnd_state;
		rnd(2);
	}
}

/* The words in texts of each kind, for changes by word. */
static const char * const words[] = {
	"keys=", "vals=", "sort=", "size=", "name=", "clock=", "pause", "cont", "clear", "hitcount",
	"nohitcount", "onmatch(", "onmax(", "onchange(", ".trace(", ".save(", ".snapshot()", "$x0",
	"$lat", "common_pid", "common_timestamp", "common_stacktrace", "common_comm", "common_cpu",
	".hex", ".sym", ".sym-offset", ".log2", ".buckets=", ".usecs", ".execname", ".syscall",
	".stacktrace", ".percent", ".graph", ".descending", " if ", "id", "total", "tag", "msg",
	"user_events.z0_num", "z0_syn", "hist:", "!", "!hist:", ":", ",", "=", ".", "(", ")", "-",
	"+", "*", "/", "$", ";", " ", "__data_loc ", "__rel_loc ", "char[]", "char[16]", "struct s ",
	"unsigned ", "u32 ", "u64 ", "s8 ", "0", "1", "-1", "0x", "18446744073709551615", "z0_x",
	"u:", "-:", "[", "]", "\n", "\"", "user_events/", "onmin(", ".log2=", ".min", ".max", ".avg",
	"quantiles", "reuse", ":reuse",
};

static inline uint32_t a_size(void)
{
	return chance(70) ? 4 : chance(50) ? 8 : rnd(17);
}

/* Registered words: 16 in each of four pages, and addresses that are not for them. */
#define SLOTS	70

static inline void gen_op(struct op *op)
{
	/* Texts for the surfaces that have most code are generated most often. */
	static const uint8_t kinds[] = {
		OP_REG, OP_REG, OP_REG, OP_REG, OP_UNREG, OP_UNREG, OP_DEL, OP_WRITE, OP_WRITE,
		OP_WRITE, OP_DYN, OP_DYN, OP_TRIG, OP_TRIG, OP_TRIG, OP_TRIG, OP_TRIG, OP_TRIG,
		OP_TRIG, OP_TRIG, OP_FILTER, OP_ENABLE, OP_ENABLE, OP_READ, OP_READ, OP_READ, OP_BATCH, OP_BATCH,
		OP_LONG, OP_LONG, OP_PATTERN, OP_PATTERN,
		OP_TRUNC, OP_SYN, OP_SETEV, OP_HIT, OP_HIT, OP_HIT, OP_OPEN, OP_CLOSE, OP_FAIL, OP_FAIL, OP_RAW, OP_INSTANCE,
		OP_MUNMAP, OP_MMAP, OP_PROT, OP_ADVISE, OP_FORK, OP_CLONE, OP_EXEC,
	};
	struct text t = { };
	int ev;

	memset(op, 0, offsetof(struct op, text));
	sane = chance(50);
	op->kind = kinds[rnd(sizeof(kinds))];
	ev = chance(40) ? EV_NUM : chance(40) ? EV_PAIR : rnd(EVENTS);
	switch (op->kind) {
	case OP_REG:
		op->arg[0] = chance(85) ? rnd(8) : rnd(SLOTS);
		op->arg[1] = chance(70) ? 0 : rnd(8);
		op->arg[2] = a_size();
		op->arg[3] = chance(80) ? rnd(3) : rnd(70);
		op->arg[4] = chance(80) ? 0 : rnd(3);
		put_event(&t);
		break;
	case OP_UNREG:
		op->arg[0] = chance(85) ? rnd(8) : rnd(SLOTS);
		op->arg[1] = chance(80) ? rnd(3) : rnd(70);
		op->arg[2] = chance(80) ? 0 : rnd(3);
		break;
	case OP_DEL:
		op->arg[0] = chance(80) ? 0 : rnd(3);
		put(&t, "%s", PICK("z0_x", "z0_x", "z0_xy", "z0_num", "nosuch", ""));
		break;
	case OP_WRITE:
		op->arg[0] = chance(80) ? 0 : rnd(3);
		op->arg[1] = chance(85) ? rnd(8) : rnd(SLOTS);
		op->arg[2] = rnd(4);
		put_record(&t);
		break;
	case OP_BATCH:
		op->arg[0] = chance(80) ? 0 : rnd(3);
		op->arg[1] = chance(85) ? rnd(8) : rnd(SLOTS);
		op->arg[2] = rnd(chance(80) ? 5 : 100);
		op->arg[3] = chance(50) ? 0 : rnd(40);
		op->arg[4] = chance(80) ? 1 : rnd(20);
		put_record(&t);
		break;
	case OP_LONG: {
		static const uint16_t near[] = { 128, 2048, 4096, 8184, 16384, 32768, 65508, 65535 };

		op->arg[0] = chance(80) ? 0 : rnd(3);
		op->arg[1] = chance(85) ? rnd(8) : rnd(SLOTS);
		op->arg[2] = chance(50) ? near[rnd(8)] + rnd(60) - 30 : rnd(70000);
		op->arg[3] = rnd(4);
		put_record(&t);
		break;
	}
	case OP_PATTERN:
		put(&t, "%s%s", PICK("", "", "!"), PICK("z0_x", "z0_*", "user_events:z0_*", "user_*:z0_x", "z0_?"));
		if (chance(30)) {
			put(&t, " ");
			put_trigger(&t, EV_OWN);
		}
		break;
	case OP_DYN:
		put_dyn(&t);
		break;
	case OP_TRIG:
		op->arg[0] = ev;
		put_trigger(&t, ev);
		break;
	case OP_FILTER:
		op->arg[0] = ev;
		if (chance(20))
			put(&t, "0");
		else
			put_filter(&t, ev, 0);
		break;
	case OP_ENABLE:
		op->arg[0] = chance(60) ? EV_OWN : ev;
		op->arg[1] = chance(60);
		break;
	case OP_READ:
		op->arg[0] = rnd(72);
		op->arg[1] = ev;
		break;
	case OP_TRUNC:
		op->arg[0] = ev;
		break;
	case OP_SYN:
		put_syn(&t);
		break;
	case OP_SETEV:
		put(&t, "%s%s", PICK("", "!"), PICK("user_events:z0_x", "user_events:", "z0_num", "synthetic:*"));
		break;
	case OP_HIT:
		op->arg[0] = rnd(2);
		op->arg[1] = 1 + rnd(chance(5) ? 300 : 6);
		break;
	case OP_OPEN:
	case OP_CLOSE:
		op->arg[0] = rnd(3);
		break;
	case OP_RAW:
		op->arg[0] = chance(80) ? 0 : rnd(3);
		op->arg[1] = rnd(RAW_KINDS);
		put_ioctl(&t);
		break;
	case OP_INSTANCE:
		op->arg[0] = ev;
		put_trigger(&t, ev);
		break;
	case OP_FAIL:
		op->arg[0] = 1 + rnd(chance(30) ? 60 : 12);
		break;
	case OP_MUNMAP:
	case OP_MMAP:
	case OP_PROT:
	case OP_ADVISE:
		op->arg[0] = rnd(4);
		op->arg[1] = rnd(4);
		break;
	case OP_FORK:
	case OP_CLONE:
		op->arg[0] = 1 + rnd(4);
		break;
	}
	memcpy(op->text, t.s, t.len);
	op->len = t.len;
}

static inline void prog_insert(struct prog *p, int at, const struct op *op)
{
	if (p->n == OPS_MAX)
		p->n--;
	if (at > p->n)
		at = p->n;
	memmove(&p->op[at + 1], &p->op[at], (p->n - at) * sizeof(*op));
	p->op[at] = *op;
	p->n++;
}

static inline void prog_remove(struct prog *p, int at)
{
	memmove(&p->op[at], &p->op[at + 1], (p->n - at - 1) * sizeof(p->op[0]));
	p->n--;
}

/* Replaces @old bytes at @at by a text. */
static inline void text_splice(struct op *op, int at, int old, const void *new, int len)
{
	if (at > op->len)
		at = op->len;
	if (at + old > op->len)
		old = op->len - at;
	if (op->len - old + len > TEXT_MAX)
		return;
	memmove(op->text + at + len, op->text + at + old, op->len - at - old);
	memcpy(op->text + at, new, len);
	op->len += len - old;
}

/* A comparison by the kernel, of a value with a constant or another one. */
struct cmp {
	uint64_t from, to;
	int size;
};

/* The most recent ones, of the program that is being changed. */
#define CMPS_MAX	512
static struct cmp cmps[CMPS_MAX];
static int n_cmps;

/* Writes what the kernel compared with, where the text has what it compared. */
static inline bool mutate_by_cmp(struct op *op)
{
	const struct cmp *c;
	char from[24], to[24];
	int at, n, start;

	if (!n_cmps || !op->len)
		return false;
	c = &cmps[rnd(n_cmps)];
	start = rnd(op->len);
	for (int i = 0; i < op->len; i++) {
		at = (start + i) % op->len;
		if (at + c->size <= op->len && !memcmp(op->text + at, &c->from, c->size)) {
			memcpy(op->text + at, &c->to, c->size);
			return true;
		}
	}
	/* As a number. */
	snprintf(from, sizeof(from), "%lld", (long long)c->from);
	n = snprintf(to, sizeof(to), "%lld", (long long)c->to + (int)rnd(3) - 1);
	for (at = 0; at + strlen(from) <= op->len; at++) {
		if (!memcmp(op->text + at, from, strlen(from))) {
			text_splice(op, at, strlen(from), to, n);
			return true;
		}
	}
	/* The length of something. */
	if (c->from < 300 && c->to < 300 && c->from < op->len && c->to > c->from && chance(20)) {
		uint8_t fill[300];

		memset(fill, op->text[at % op->len], sizeof(fill));
		text_splice(op, start, 0, fill, c->to - c->from);
		return true;
	}
	return false;
}

static inline void mutate_text(struct op *op, const struct op *other)
{
	const char *word = words[rnd(sizeof(words) / sizeof(words[0]))];
	int at = rnd(op->len + 1), n;
	struct text t = { };
	uint8_t byte;

	switch (rnd(12)) {
	case 0:
		byte = rnd(256);
		text_splice(op, at, rnd(2), &byte, 1);
		break;
	case 1:
		if (at < op->len)
			op->text[at] ^= 1 << rnd(8);
		break;
	case 2:
		text_splice(op, at, 1 + rnd(chance(20) ? 40 : 5), "", 0);
		break;
	case 3:
	case 4:
		text_splice(op, at, rnd(2) ? 0 : strlen(word), word, strlen(word));
		break;
	case 5:
		/* A piece again. */
		n = rnd(chance(20) ? 60 : 12);
		if (at + n <= op->len) {
			uint8_t piece[64];

			memcpy(piece, op->text + at, n);
			text_splice(op, rnd(op->len + 1), 0, piece, n);
		}
		break;
	case 6:
		put_number(&t);
		text_splice(op, at, rnd(3), t.s, t.len);
		break;
	case 7:
	case 8:
		/* The end, or a clause, of another text. */
		if (other && other->len) {
			int from = rnd(other->len), to;

			while (from && other->text[from] != ':' && other->text[from] != ';')
				from--;
			for (to = from + 1; to < other->len && other->text[to] != ':' && other->text[to] != ';'; )
				to++;
			if (chance(30))
				to = other->len;
			while (at && at < op->len && op->text[at] != ':' && op->text[at] != ';')
				at--;
			text_splice(op, at, chance(30) ? TEXT_MAX : 0, other->text + from, to - from);
		}
		break;
	case 9:
		/* The same, to be taken away or changed. */
		if (op->kind == OP_TRIG) {
			if (op->len && op->text[0] == '!')
				text_splice(op, 0, 1, "", 0);
			else if (chance(50))
				text_splice(op, 0, 0, "!", 1);
			else {
				word = PICK(":pause", ":cont", ":clear", ":name=one");
				text_splice(op, op->len, 0, word, strlen(word));
			}
		}
		break;
	case 10:
		/* Words of the grammar at the place. */
		if (op->kind == OP_TRIG)
			put_expr(&t, op->arg[0] % EVENTS, 1);
		else
			put_type(&t);
		text_splice(op, at, rnd(6), t.s, t.len);
		break;
	default:
		mutate_by_cmp(op);
	}
}

static inline void mutate_args(struct op *op)
{
	unsigned int i;

	if (!op_desc[op->kind].args)
		return;
	i = rnd(op_desc[op->kind].args);
	op->arg[i] = chance(80) ? rnd(12) : chance(80) ? rnd(80) : (uint32_t)rnd_state;
}

/* Changes a program; @other is one to take from. */
static inline void mutate(struct prog *p, const struct prog *other)
{
	int n = 1 + rnd(chance(20) ? 8 : 3);

	while (n--) {
		int at = rnd(p->n);
		struct op op;

		switch (rnd(10)) {
		case 0:
			gen_op(&op);
			prog_insert(p, rnd(p->n + 1), &op);
			break;
		case 1:
			if (p->n > 1)
				prog_remove(p, at);
			break;
		case 2:
			/* Again, after itself or changed. */
			op = p->op[at];
			if (op_desc[op.kind].text && chance(60))
				mutate_text(&op, NULL);
			prog_insert(p, at + 1 + rnd(p->n - at), &op);
			break;
		case 3:
			if (other)
				prog_insert(p, rnd(p->n + 1), &other->op[rnd(other->n)]);
			break;
		case 4:
			mutate_args(&p->op[at]);
			break;
		default: {
			const struct op *from = other ? &other->op[rnd(other->n)] : NULL;

			if (op_desc[p->op[at].kind].text)
				mutate_text(&p->op[at], from && from->kind == p->op[at].kind ? from : NULL);
			else
				mutate_args(&p->op[at]);
		}
		}
	}
}

static inline void add_op(struct prog *p, enum op_kind kind, uint32_t a, uint32_t b,
			  const struct text *t)
{
	struct op *op = &p->op[p->n++];

	memset(op, 0, offsetof(struct op, text));
	op->kind = kind;
	op->arg[0] = a;
	op->arg[1] = b;
	if (t) {
		memcpy(op->text, t->s, t->len);
		op->len = t->len;
	}
}

/* Histograms that refer to each other, hits, and what is shown of them. */
static inline void gen_linked(struct prog *p)
{
	const char *reuse = chance(25) ? ":reuse" : "";
	struct text t = { };

	sane = true;
	p->n = 0;
	put(&t, "hist:keys=id:x0=%s", PICK("total", "common_timestamp.usecs", "common_timestamp", "delta"));
	if (chance(50)) {
		put(&t, "%sx1=", PICK(":", ","));
		put_expr(&t, EV_NUM, 1);
	}
	if (chance(40))
		put(&t, "%sx2=%s", PICK(":", ","), PICK("msg", "tag", "common_comm", "common_stacktrace"));
	put(&t, "%s", reuse);
	add_op(p, OP_TRIG, EV_NUM, 0, &t);
	t.len = 0;
	put(&t, "hist:keys=id%s:lat=", PICK("", "", ":vals=part", ":vals=tiny,part"));
	if (chance(60))
		put(&t, "%s-$x0", PICK("common_timestamp.usecs", "part", "tiny", "common_timestamp"));
	else
		put_expr(&t, EV_PAIR, 0);
	for (int n = 1 + rnd(2); n; n--) {
		put(&t, ":");
		put_action(&t, EV_PAIR);
	}
	if (chance(70))
		put(&t, "%s", reuse);
	if (chance(20)) {
		put(&t, " if ");
		put_filter(&t, EV_PAIR, 1);
	}
	add_op(p, OP_TRIG, EV_PAIR, 0, &t);
	t.len = 0;
	put_hist(&t, EV_SYN);
	if (chance(60))
		add_op(p, OP_TRIG, EV_SYN, 0, &t);
	add_op(p, OP_HIT, 0, 1 + rnd(20), NULL);
	add_op(p, OP_HIT, 1, 1 + rnd(20), NULL);
	add_op(p, OP_READ, 0, rnd(3), NULL);
	add_op(p, OP_READ, chance(50) ? 1 : 6, rnd(3), NULL);
}

/* An event, its records, and a histogram of it. */
static inline void gen_own(struct prog *p)
{
	struct text t = { };
	struct op op;

	p->n = 0;
	put(&t, "z0_x ");
	for (int n = 1 + rnd(4), i = 0; i < n; i++)
		put(&t, "%s%s %c", i ? "; " : "",
		    PICK("u8", "s16", "u32", "s64", "u64", "char[8]", "unsigned char[3]", "__data_loc char[]",
			 "__rel_loc char[]", "__data_loc u8[]"), 'a' + i);
	add_op(p, OP_REG, 0, 0, &t);
	p->op[0].arg[2] = 4;
	if (chance(70)) {
		add_op(p, OP_ENABLE, EV_OWN, 1, NULL);
	} else {
		sane = true;
		t.len = 0;
		put_hist(&t, EV_OWN);
		add_op(p, OP_TRIG, EV_OWN, 0, &t);
	}
	for (int n = 1 + rnd(4); n; n--) {
		gen_op(&op);
		t.len = 0;
		put_record(&t);
		add_op(p, OP_WRITE, 0, 0, &t);
		p->op[p->n - 1].arg[2] = rnd(4);
	}
	if (chance(20))
		add_op(p, OP_UNREG, 0, 0, NULL);
	add_op(p, OP_READ, rnd(12), EV_OWN, NULL);
	add_op(p, OP_READ, 11, EV_OWN, NULL);
	if (chance(50)) {
		gen_op(&op);
		prog_insert(p, rnd(p->n + 1), &op);
	}
}

/* Registered words, switched while their memory and their processes are created and removed. */
static inline void gen_memory(struct prog *p)
{
	struct text t = { };
	struct op op;

	p->n = 0;
	put(&t, "z0_x u32 a");
	for (int n = 1 + rnd(3), i = 0; i < n; i++) {
		add_op(p, OP_REG, rnd(chance(70) ? 4 : 64), 0, &t);
		p->op[p->n - 1].arg[2] = chance(50) ? 4 : 8;
		p->op[p->n - 1].arg[3] = rnd(3);
	}
	for (int n = 1 + rnd(6); n; n--) {
		const struct op *reg = &p->op[rnd(p->n)];

		switch (rnd(6)) {
		case 0:
			add_op(p, OP_ENABLE, EV_OWN, rnd(2), NULL);
			break;
		case 1:
			if (reg->kind == OP_REG)
				add_op(p, OP_UNREG, reg->arg[0], reg->arg[3], NULL);
			break;
		case 2:
			add_op(p, OP_FORK + rnd(2), 1 + rnd(3), 0, NULL);
			break;
		case 3:
			gen_op(&op);
			prog_insert(p, p->n, &op);
			break;
		default:
			add_op(p, OP_MUNMAP + rnd(4), rnd(4), rnd(4), NULL);
		}
	}
	if (chance(30))
		add_op(p, OP_ENABLE, EV_OWN, 1, NULL);
	if (chance(20))
		add_op(p, OP_EXEC, 0, 0, NULL);
}

static inline void gen_prog(struct prog *p)
{
	int n = 1 + rnd(6);

	if (chance(15)) {
		gen_memory(p);
		return;
	}

	if (chance(25)) {
		gen_linked(p);
		return;
	}
	if (chance(20)) {
		gen_own(p);
		return;
	}
	p->n = 0;
	while (n--)
		gen_op(&p->op[p->n++]);
}

#endif
