/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of histograms that are in C share.
 */
#ifndef HIST_RUST_HIST_H
#define HIST_RUST_HIST_H

#include <stdbool.h>
#include <stdlib.h>

/* Whether the histograms of this kernel are the Rust ones. */
static inline bool hist_is_rust(void)
{
	return system("zgrep -q '^CONFIG_HIST_TRIGGERS_RUST=y' /proc/config.gz") == 0;
}

#endif
