// SPDX-License-Identifier: GPL-2.0
/*
 * Attaches a probe to the tracepoint of a user event, as any kernel code may
 * that has got hold of one, and counts how often it is called.
 *
 *   modprobe user_events_probe_test event=NAME
 *   cat /sys/module/user_events_probe_test/parameters/calls
 *
 * For tools/testing/selftests/user_events_rust/listeners_test.c.
 */
#include <linux/module.h>
#include <linux/trace_events.h>
#include <linux/tracepoint.h>

static char *event;
module_param(event, charp, 0444);
MODULE_PARM_DESC(event, "name of the user event");

static unsigned int calls;
module_param(calls, uint, 0444);
MODULE_PARM_DESC(calls, "how often the probe was called");

static struct trace_event_file *file;

/* Whatever it is called with, it looks at none of it. */
static void probe(void *a, void *b, void *c, void *d)
{
	calls++;
}

static int __init user_events_probe_test_init(void)
{
	int ret;

	if (!event)
		return -EINVAL;
	/* The event stays as long as the file is held. */
	file = trace_get_event_file(NULL, "user_events", event);
	if (IS_ERR(file))
		return PTR_ERR(file);

	ret = tracepoint_probe_register(file->event_call->tp, probe, NULL);
	if (ret)
		trace_put_event_file(file);
	return ret;
}

static void __exit user_events_probe_test_exit(void)
{
	tracepoint_probe_unregister(file->event_call->tp, probe, NULL);
	tracepoint_synchronize_unregister();
	trace_put_event_file(file);
}

module_init(user_events_probe_test_init);
module_exit(user_events_probe_test_exit);

MODULE_DESCRIPTION("A probe of other kernel code on a user event");
MODULE_LICENSE("GPL");
