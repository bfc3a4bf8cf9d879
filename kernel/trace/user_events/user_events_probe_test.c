// SPDX-License-Identifier: GPL-2.0
/*
 * Attaches a probe to the tracepoint of a user event, as any kernel code may
 * that has got hold of one, and counts how often it is called.
 *
 *   modprobe user_events_probe_test event=NAME
 *   cat /sys/module/user_events_probe_test/parameters/calls
 *
 * Or holds the lock of the folio at an address of a process, as a file system
 * may that waits for its server, until it is removed.
 *
 *   modprobe user_events_probe_test pid=PID addr=ADDRESS
 *
 * For tools/testing/selftests/user_events_rust/listeners_test.c and enable_word_test.c.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/trace_events.h>
#include <linux/tracepoint.h>

static char *event;
module_param(event, charp, 0444);
MODULE_PARM_DESC(event, "name of the user event");

static unsigned int calls;
module_param(calls, uint, 0444);
MODULE_PARM_DESC(calls, "how often the probe was called");

static int pid;
module_param(pid, int, 0444);
MODULE_PARM_DESC(pid, "process whose folio is locked");

static unsigned long addr;
module_param(addr, ulong, 0444);
MODULE_PARM_DESC(addr, "address in its memory");

static struct page *locked;

static struct trace_event_file *file;

/* Whatever it is called with, it looks at none of it. */
static void probe(void *a, void *b, void *c, void *d)
{
	calls++;
}

static int lock_folio_of(struct mm_struct *mm)
{
	long n;

	mmap_read_lock(mm);
	n = get_user_pages_remote(mm, addr, 1, FOLL_WRITE, &locked, NULL);
	mmap_read_unlock(mm);
	if (n != 1)
		return n < 0 ? n : -EFAULT;
	folio_lock(page_folio(locked));
	/* As when it is written back: a writer has to mark it again. */
	folio_clear_dirty_for_io(page_folio(locked));
	return 0;
}

static int lock_folio(void)
{
	struct pid *which = find_get_pid(pid);
	struct task_struct *task = get_pid_task(which, PIDTYPE_PID);
	struct mm_struct *mm = task ? get_task_mm(task) : NULL;
	int ret = mm ? lock_folio_of(mm) : -ESRCH;

	if (mm)
		mmput(mm);
	if (task)
		put_task_struct(task);
	put_pid(which);
	return ret;
}

static int __init user_events_probe_test_init(void)
{
	int ret;

	if (addr)
		return lock_folio();
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
	if (locked) {
		folio_mark_dirty(page_folio(locked));
		folio_unlock(page_folio(locked));
		put_page(locked);
		return;
	}
	tracepoint_probe_unregister(file->event_call->tp, probe, NULL);
	tracepoint_synchronize_unregister();
	trace_put_event_file(file);
}

module_init(user_events_probe_test_init);
module_exit(user_events_probe_test_exit);

MODULE_DESCRIPTION("Other kernel code in the way of user events");
MODULE_LICENSE("GPL");
