/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The private parts of the tracing code that Rust code uses. The bindings and the
 * helpers of the kernel crate include no other header of kernel/trace.
 *
 * Rust code embeds or allocates structures of the first two of these headers, and
 * reads fields of those of the last one, so their definitions are needed, not only
 * their names.
 */
#ifndef _TRACE_RUST_H
#define _TRACE_RUST_H

#include <linux/percpu.h>

/* Instances, events and their fields, filters, triggers and their commands. */
#include "trace.h"
/* Kinds of dynamic events, and commands that create such events. */
#include "trace_dynevent.h"
/* The printing of records. */
#include "trace_output.h"
/* Synthetic events. */
#include "trace_synth.h"

/* Nesting depth of two kinds of operations, see rust/kernel/trace/nesting.rs. */
DECLARE_PER_CPU(unsigned int [2], rust_trace_nesting);

/* The probes of events that are created in Rust, see trace_rust.c. */
void rust_trace_file_probe(void *data);
void rust_trace_perf_probe(void *data);

#endif /* _TRACE_RUST_H */
