/* SPDX-License-Identifier: GPL-2.0 */

#include <linux/static_call.h>

/* The names are operands, and the statement is a string. */
#undef STATIC_CALL_TRAMP_STR
#define STATIC_CALL_TRAMP_STR(name) #name
#define asm(...) ::kernel::concat_literals!(__VA_ARGS__)

// Cut here.

ARCH_DEFINE_STATIC_CALL_TRAMP({trampoline}, {target})
