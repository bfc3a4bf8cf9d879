/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs of the fuzzer: a few operations each, and how they are written down.
 *
 *	trig 0 "hist:keys=id:vals=total"
 *	hit 0 3
 *	read hist 0
 *
 * One operation a line, an empty line between programs. Texts have \xHH, \n, \\ and \".
 * Each worker has events of its own: "z0_" in a text stands for the worker's prefix.
 */
#ifndef FUZZ_PROG_H
#define FUZZ_PROG_H

#include <stddef.h>

#include "../batch.h"

#define OPS_MAX		12
#define TEXT_MAX	700
#define ARGS_MAX	5

enum op_kind {
	OP_REG, OP_UNREG, OP_DEL, OP_WRITE, OP_DYN, OP_TRIG, OP_FILTER, OP_ENABLE, OP_READ,
	OP_TRUNC, OP_SYN, OP_SETEV, OP_HIT, OP_OPEN, OP_CLOSE, OP_RAW, OP_INSTANCE,
	/* These are not compared. */
	OP_FAIL, OP_BATCH, OP_LONG, OP_PATTERN,
	/* These, and what follows them, run in a process of their own. */
	OP_MUNMAP, OP_MMAP, OP_PROT, OP_ADVISE, OP_FORK, OP_CLONE, OP_EXEC,
	OP_KINDS
};

/* The commands of OP_RAW; DIAG_IOCSBATCH is not in C. */
#define RAW_BATCH	5
#define RAW_KINDS	6

static const struct op_desc {
	const char *name;
	unsigned char args;
	bool text;
} op_desc[OP_KINDS] = {
	/* slot flags size bit file */
	[OP_REG]	= { "reg", 5, true },
	/* slot bit file */
	[OP_UNREG]	= { "unreg", 3, false },
	/* file */
	[OP_DEL]	= { "del", 1, true },
	/* file slot pieces */
	[OP_WRITE]	= { "write", 3, true },
	[OP_DYN]	= { "dyn", 0, true },
	/* event */
	[OP_TRIG]	= { "trig", 1, true },
	[OP_FILTER]	= { "filter", 1, true },
	/* event value */
	[OP_ENABLE]	= { "enable", 2, false },
	/* file event */
	[OP_READ]	= { "read", 2, false },
	/* event */
	[OP_TRUNC]	= { "trunc", 1, false },
	[OP_SYN]	= { "syn", 0, true },
	[OP_SETEV]	= { "set_event", 0, true },
	/* event records */
	[OP_HIT]	= { "hit", 2, false },
	/* file */
	[OP_OPEN]	= { "open", 1, false },
	[OP_CLOSE]	= { "close", 1, false },
	/* file command; the text is the argument's memory */
	[OP_RAW]	= { "ioctl", 2, true },
	/* event; the trigger is set in an instance that is then removed */
	[OP_INSTANCE]	= { "instance", 1, true },
	/* which allocation of the next operation fails */
	[OP_FAIL]	= { "fail", 1, false },
	/* file slot records size place; the text is the payload of each record */
	[OP_BATCH]	= { "batch", 5, true },
	/* file slot size way; the text is the begin of the payload */
	[OP_LONG]	= { "long", 4, true },
	/* a line of set_user_event, of the worker's own events only */
	[OP_PATTERN]	= { "set_user_event", 0, true },
	/* page, page, page protection, page advice */
	[OP_MUNMAP]	= { "munmap", 1, false },
	[OP_MMAP]	= { "mmap", 1, false },
	[OP_PROT]	= { "mprotect", 2, false },
	[OP_ADVISE]	= { "madvise", 2, false },
	/* how many of the next operations the child, or the thread, does */
	[OP_FORK]	= { "fork", 1, false },
	[OP_CLONE]	= { "clone", 1, false },
	[OP_EXEC]	= { "exec", 0, false },
};

struct op {
	uint8_t kind;
	uint16_t len;
	uint32_t arg[ARGS_MAX];
	uint8_t text[TEXT_MAX];
};

struct prog {
	int n;
	struct op op[OPS_MAX];
};

static inline bool prog_forks(const struct prog *p)
{
	for (int i = 0; i < p->n; i++) {
		if (p->op[i].kind >= OP_MUNMAP)
			return true;
	}
	return false;
}

/* Returns true for what only the implementations in Rust take. */
static inline bool op_is_beyond(const struct op *op)
{
	static const char * const words[] = {
		"log2=", ".min", ".max", ".avg", "onmin(", "quantiles", "reuse",
	};

	if (op->kind == OP_RAW && op->arg[1] % RAW_KINDS == RAW_BATCH)
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (memmem(op->text, op->len, words[i], strlen(words[i])))
			return true;
	}
	return false;
}

/* Returns true if a program has the same result on each correct kernel. */
static inline bool prog_compares(const struct prog *p)
{
	for (int i = 0; i < p->n; i++) {
		if (p->op[i].kind >= OP_FAIL || op_is_beyond(&p->op[i]))
			return false;
	}
	return true;
}

/* The text form of an operation, in a buffer that the next call reuses. */
static inline const char *op_text(const struct op *op)
{
	static char out[TEXT_MAX * 4 + 128];
	char *p = out;

	p += sprintf(p, "%s", op_desc[op->kind].name);
	for (int i = 0; i < op_desc[op->kind].args; i++)
		p += sprintf(p, " %u", op->arg[i]);
	if (op_desc[op->kind].text) {
		p += sprintf(p, " \"");
		for (int i = 0; i < op->len; i++) {
			uint8_t c = op->text[i];

			if (c == '\n')
				p += sprintf(p, "\\n");
			else if (c == '"' || c == '\\')
				p += sprintf(p, "\\%c", c);
			else if (c < 0x20 || c >= 0x7f)
				p += sprintf(p, "\\x%02x", c);
			else
				*p++ = c;
		}
		p += sprintf(p, "\"");
	}
	*p = '\0';
	return out;
}

static inline void prog_print(FILE *f, const struct prog *p)
{
	for (int i = 0; i < p->n; i++)
		fprintf(f, "%s\n", op_text(&p->op[i]));
	fprintf(f, "\n");
}

/* Returns true if a line is an operation. */
static inline bool op_parse(const char *line, struct op *op)
{
	size_t word = strcspn(line, "\n ");
	char *at = (char *)line + word;

	memset(op, 0, offsetof(struct op, text));
	for (op->kind = 0; op->kind < OP_KINDS; op->kind++) {
		if (strlen(op_desc[op->kind].name) == word &&
		    !strncmp(line, op_desc[op->kind].name, word))
			break;
	}
	if (op->kind == OP_KINDS)
		return false;
	for (int i = 0; i < op_desc[op->kind].args; i++)
		op->arg[i] = strtoul(at, &at, 0);
	if (!op_desc[op->kind].text)
		return true;
	at = strchr(at, '"');
	if (!at)
		return false;
	for (at++; *at && *at != '"' && op->len < TEXT_MAX; at++) {
		unsigned int c = (uint8_t)*at;

		if (c == '\\') {
			at++;
			if (*at == 'n')
				c = '\n';
			else if (*at == 'x' && sscanf(at + 1, "%2x", &c) == 1)
				at += 2;
			else
				c = *at;
		}
		op->text[op->len++] = c;
	}
	return *at == '"';
}

/* Reads the next program of a file; true if the file has one. */
static inline bool prog_read(FILE *f, struct prog *p)
{
	char line[TEXT_MAX * 4 + 128];

	p->n = 0;
	while (fgets(line, sizeof(line), f)) {
		if (line[0] == '#')
			continue;
		if (line[0] == '\n') {
			if (p->n)
				return true;
			continue;
		}
		if (p->n < OPS_MAX && op_parse(line, &p->op[p->n]))
			p->n++;
	}
	return p->n > 0;
}

#endif
