/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TRACE_RUST_H
#define _TRACE_RUST_H

#include <linux/percpu.h>

/* Nesting depth of two kinds of operations, see rust/kernel/trace/nesting.rs. */
DECLARE_PER_CPU(unsigned int [2], rust_trace_nesting);

#endif /* _TRACE_RUST_H */
