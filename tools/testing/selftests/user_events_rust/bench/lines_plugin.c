// SPDX-License-Identifier: GPL-2.0
/*
 * A plugin for QEMU (TCG): which instructions of the kernel each CPU executes between two
 * marks, and which cache lines they read and write.
 *
 *   -plugin file=lines_plugin.so,out=FILE
 *
 * A program marks the CPU that it is on: the instruction XCHG BX,BX begins a phase, XCHG
 * CX,CX ends it; the first phase of a CPU is 0. The file gets a line for each phase, CPU,
 * and block of code, or instruction and line of memory:
 *
 *   PHASE CPU x ADDRESS NUMBER COUNT   a block of NUMBER instructions was executed
 *   PHASE CPU r ADDRESS LINE COUNT     an instruction read a line (physical address / 64)
 *   PHASE CPU w ADDRESS LINE COUNT     or wrote to it
 *
 * Each CPU is a thread of QEMU, and writes to a table of its own only.
 */

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines_qemu.h"

API int qemu_plugin_version = 3;

#define CPUS_MAX 64
#define ROWS_MAX (1 << 19)
#define LINE_SHIFT 6
/* The kernel's code is in the last 2 GiB of addresses, so 32 bits tell where. */
#define KERNEL 0xffffffff80000000
#define ADDRESS_TOP 0xffffffff00000000

/* @what: the address, with the kind and the phase above it. @count is 0 in a free row. */
struct row {
	uint64_t what, where, count;
};

static struct cpu {
	struct row *rows;
	unsigned int used, phases;
	bool counting;
} cpus[CPUS_MAX];

static const char kinds[] = "xrw";
static const char *out;

static void count(struct cpu *cpu, unsigned int kind, uint32_t address, uint64_t where)
{
	uint64_t what = address | (uint64_t)kind << 32 | (uint64_t)(cpu->phases - 1) << 34;
	uint64_t at = (what * 31 + where) * 0x9e3779b97f4a7c15 >> 32;
	struct row *row;

	for (;; at++) {
		row = &cpu->rows[at % ROWS_MAX];
		if (!row->count)
			break;
		if (row->what == what && row->where == where)
			break;
	}
	if (!row->count++) {
		row->what = what;
		row->where = where;
		if (++cpu->used == ROWS_MAX) {
			fputs("lines_plugin: too much memory was accessed\n", stderr);
			exit(1);
		}
	}
}

static void executed(unsigned int cpu, void *data)
{
	if (cpus[cpu].counting)
		count(&cpus[cpu], 0, (uintptr_t)data, (uintptr_t)data >> 32);
}

static void accessed(unsigned int cpu, uint32_t info, uint64_t vaddr, void *data)
{
	struct qemu_plugin_hwaddr *memory;

	if (!cpus[cpu].counting)
		return;
	memory = qemu_plugin_get_hwaddr(info, vaddr);
	if (memory)
		count(&cpus[cpu], qemu_plugin_mem_is_store(info) ? 2 : 1, (uintptr_t)data,
		      qemu_plugin_hwaddr_phys_addr(memory) >> LINE_SHIFT);
}

static void begin(unsigned int index, void *data)
{
	struct cpu *cpu = &cpus[index];

	(void)data;
	if (!cpu->rows)
		cpu->rows = calloc(ROWS_MAX, sizeof(*cpu->rows));
	if (!cpu->rows)
		abort();
	cpu->phases++;
	cpu->counting = true;
}

static void end(unsigned int cpu, void *data)
{
	(void)data;
	cpus[cpu].counting = false;
}

static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb), i;
	struct qemu_plugin_insn *insn;
	executed_fn *mark;
	uint64_t address;
	uint8_t code[3];

	(void)id;
	for (i = 0; i < n; i++) {
		insn = qemu_plugin_tb_get_insn(tb, i);
		address = qemu_plugin_insn_vaddr(insn);
		if (address >= KERNEL) {
			address &= ~ADDRESS_TOP;
			if (!i)
				qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, NO_REGISTERS,
								     (void *)(address | n << 32));
			qemu_plugin_register_vcpu_mem_cb(insn, accessed, NO_REGISTERS,
							 READS_AND_WRITES, (void *)address);
		} else if (qemu_plugin_insn_data(insn, code, 3) == 3) {
			mark = !memcmp(code, "\x66\x87\xdb", 3) ? begin :
			       !memcmp(code, "\x66\x87\xc9", 3) ? end : NULL;
			if (mark)
				qemu_plugin_register_vcpu_insn_exec_cb(insn, mark, NO_REGISTERS,
								       NULL);
		}
	}
}

static void write_rows(uint64_t id, void *data)
{
	FILE *file = fopen(out, "w");
	const struct row *row;
	unsigned int cpu, i;

	(void)id;
	(void)data;
	for (cpu = 0; file && cpu < CPUS_MAX; cpu++) {
		for (i = 0; cpus[cpu].rows && i < ROWS_MAX; i++) {
			row = &cpus[cpu].rows[i];
			if (row->count)
				fprintf(file, "%u %u %c %" PRIx64 " %" PRIx64 " %" PRIu64 "\n",
					(unsigned int)(row->what >> 34), cpu,
					kinds[row->what >> 32 & 3], row->what | ADDRESS_TOP,
					row->where, row->count);
		}
	}
	if (!file || fclose(file))
		fprintf(stderr, "lines_plugin: cannot write %s\n", out);
}

API int qemu_plugin_install(uint64_t id, const struct qemu_info_t *info, int argc, char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "out=", 4))
		return -1;
	out = argv[0] + 4;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, write_rows, NULL);
	return 0;
}
