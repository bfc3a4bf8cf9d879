// SPDX-License-Identifier: GPL-2.0
/*
 * Data of the tracing code in Rust that has to be defined in C, once: helpers
 * are inline functions, of which each Rust object may have a copy.
 */

#include "trace_rust.h"

DEFINE_PER_CPU(unsigned int [2], rust_trace_nesting);
