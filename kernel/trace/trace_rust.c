// SPDX-License-Identifier: GPL-2.0
/*
 * Data and functions of the tracing code in Rust that have to be defined in C,
 * once: helpers are inline functions, of which each Rust object may have a copy.
 */

#include <linux/bug.h>

#include "trace_rust.h"

DEFINE_PER_CPU(unsigned int [2], rust_trace_nesting);

/*
 * The tracepoint of an event that is created in Rust is never called. The code that
 * writes a record looks at the probes of the tracepoint: this one, whose data is the
 * trace_event_file, is that of a trace instance.
 */
void rust_trace_file_probe(void *data)
{
	WARN_ON_ONCE(1);
}

/* The same for perf. The probe has no data. */
void rust_trace_perf_probe(void *data)
{
	WARN_ON_ONCE(1);
}
