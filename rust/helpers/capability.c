// SPDX-License-Identifier: GPL-2.0

#include <linux/capability.h>

__rust_helper bool rust_helper_perfmon_capable(void)
{
	return perfmon_capable();
}
