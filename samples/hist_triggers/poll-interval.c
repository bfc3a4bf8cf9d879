// SPDX-License-Identifier: GPL-2.0
/*
 * Shows the number of hits of a histogram whenever it has changed, but not more
 * often than once in so many milliseconds. Hits in between do not wake this program,
 * and none is missed. The histograms in C do not have HIST_IOCSPOLLINTERVAL: there
 * each hit wakes it.
 *
 *   # cd /sys/kernel/tracing
 *   # echo 'hist:keys=next_pid' > events/sched/sched_switch/trigger
 *   # poll-interval events/sched/sched_switch/hist 500
 */

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/types.h>

#if __has_include(<linux/hist_triggers.h>)
#include <linux/hist_triggers.h>
#else
/* The installed headers are those of a kernel without it. */
#define HIST_IOCSPOLLINTERVAL _IOW('*', 0x20, __u32)
#endif

/* Reading the file to its end is what the next poll() compares with. */
static void show_hits(FILE *hist)
{
	char line[4096];

	rewind(hist);
	while (fgets(line, sizeof(line), hist)) {
		if (!strncmp(line, "    Hits: ", 10))
			fputs(line, stdout);
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	__u32 interval = argc > 2 ? strtoul(argv[2], NULL, 0) : 1000;
	/* Without a number of reports it runs until it is stopped. */
	long reports = argc > 3 ? strtol(argv[3], NULL, 0) : -1;
	struct pollfd wanted = { .events = POLLIN };
	FILE *hist;

	if (argc < 2)
		errx(2, "usage: poll-interval HIST [MILLISECONDS [REPORTS]]");
	hist = fopen(argv[1], "r");
	if (!hist)
		err(1, "%s", argv[1]);
	wanted.fd = fileno(hist);

	/* Before the first poll(). */
	if (ioctl(wanted.fd, HIST_IOCSPOLLINTERVAL, &interval)) {
		if (errno != ENOTTY)
			err(1, "%u ms", interval);
		warnx("this kernel has the histograms in C: each hit is reported");
	}

	while (reports--) {
		if (poll(&wanted, 1, -1) < 0)
			err(1, "poll");
		if (wanted.revents & POLLERR)
			errx(1, "the event is gone");
		show_hits(hist);
	}
	return 0;
}
