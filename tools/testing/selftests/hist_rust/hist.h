/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions shared by the tests of histograms in C.
 */
#ifndef HIST_RUST_HIST_H
#define HIST_RUST_HIST_H

#include <stdbool.h>
#include <stdlib.h>

/* Returns true if the histograms of this kernel are those in Rust. */
static inline bool hist_is_rust(void)
{
	return system("zgrep -q '^CONFIG_HIST_TRIGGERS_RUST=y' /proc/config.gz") == 0;
}

#endif
