/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The files hist and hist_raw of trace events, where histograms are those in Rust.
 */
#ifndef _UAPI_LINUX_HIST_TRIGGERS_H
#define _UAPI_LINUX_HIST_TRIGGERS_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * Sets the shortest time between two wake-ups of the tasks that poll this open file, in
 * milliseconds. Hits in between are told about when it has passed, to all of them. It can be
 * set once, before the file is polled for the first time.
 *
 * EINVAL for 0 or more than HIST_POLL_INTERVAL_MAX, EBUSY if it is too late or was
 * set already, ENOTTY if the kernel does not have this.
 */
#define HIST_IOCSPOLLINTERVAL _IOW('*', 0x20, __u32)

#define HIST_POLL_INTERVAL_MAX 60000

#endif /* _UAPI_LINUX_HIST_TRIGGERS_H */
