// SPDX-License-Identifier: GPL-2.0
/*
 * The events of the test module that are defined in C.
 */
#include <linux/module.h>
