// SPDX-License-Identifier: GPL-2.0
/*
 * The events of the test module that are defined in C.
 *
 * The module starts in Rust, so the files of this part are module parameters:
 * fire_c, pointers_c, contexts, fire_in_nmi, cost_c and hooks_c in
 * /sys/module/rust_event_test/parameters.
 */
#include <linux/bottom_half.h>
#include <linux/completion.h>
#include <linux/in.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/socket.h>
#include <linux/stdarg.h>
#include <linux/timer.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

/* With the last one <linux/nmi.h> has register_nmi_handler(). */
#if defined(CONFIG_X86_LOCAL_APIC) && defined(CONFIG_PERF_EVENTS) && \
	defined(CONFIG_HAVE_ACPI_APEI_NMI)
#define CAN_SEND_NMI
#include <linux/delay.h>
#include <linux/nmi.h>
#include <linux/perf_event.h>
#include <asm/apic.h>
#endif

/* Declared in Rust. */
DECLARE_TRACE_EVENT(r_exported,
	TP_PROTO(int left, int right),
	TP_ARGS(left, right));

#define CREATE_TRACE_POINTS
#include "event_test.h"

static const char * const names[] = { "", "alpha", "beta gamma", NULL };
static const char * const notes[] = { "short", "a much longer note" };

static unsigned int attached, detached;
static bool refuse;

int event_test_attach(void)
{
	if (refuse)
		return -EBUSY;
	attached++;
	return 0;
}

void event_test_detach(void)
{
	detached++;
}

static void __printf(4, 5) fire_strings(const char *name, const char *note, u32 n,
					const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list va;

	va_start(va, fmt);
	vaf.va = &va;
	trace_c_strings(name, note, n, &vaf);
	va_end(va);
}

/* A socket address of IPv4, of IPv6, or of another kind, and its length. */
static u32 fill_address(struct sockaddr_in6 *address, u32 i)
{
	u8 *bytes = (u8 *)address;

	memset(address, 0, sizeof(*address));
	address->sin6_port = htons(8000 + i);
	switch (i % 3) {
	case 0:
		address->sin6_family = AF_INET;
		bytes[7] = i;
		return sizeof(struct sockaddr_in);
	case 1:
		address->sin6_family = AF_INET6;
		bytes[23] = i;
		return sizeof(struct sockaddr_in6);
	default:
		address->sin6_family = AF_UNIX;
		return sizeof(struct sockaddr);
	}
}

static int fire_c(const char *val, const struct kernel_param *kp)
{
	struct sockaddr_in6 address;
	u32 list[8];
	u32 i, n, len;
	int ret;

	ret = kstrtou32(val, 0, &n);
	if (ret)
		return ret;
	for (i = 0; i < ARRAY_SIZE(list); i++)
		list[i] = i * 0x1111;

	for (i = 0; i < n; i++) {
		trace_c_numbers(i);
		fire_strings(names[i % ARRAY_SIZE(names)], notes[i % ARRAY_SIZE(notes)], i,
			     "message %u of %u", i, n);
		trace_c_arrays(list, i % 8, cpumask_of(i % 2));
		trace_c_relative(list, i % 8, cpumask_of(i % 2));
		trace_c_parts(list, i % 8);
		trace_c_names(i, i * 1500000000ULL);
		len = fill_address(&address, i);
		trace_c_addresses(&address, len);
		trace_c_rel_address(&address, len);
		trace_c_quoted(i, notes[i % ARRAY_SIZE(notes)]);
		trace_c_dump(list, i % 8);
		trace_c_pair_first(i, 3);
		trace_c_pair_second(i, 3);
		trace_c_pair_third(i, 3);
		trace_c_hooked(i);
		trace_c_faultable(i, names[i % ARRAY_SIZE(names)]);
		trace_c_counted(i, NULL);
	}
	return 0;
}

static const struct kernel_param_ops fire_ops = { .set = fire_c };
module_param_cb(fire_c, &fire_ops, NULL, 0200);

/* Fires c_pointers as often. */
static int pointers_c(const char *val, const struct kernel_param *kp)
{
	u32 i, n;
	int ret;

	ret = kstrtou32(val, 0, &n);
	if (ret)
		return ret;
	for (i = 0; i < n; i++)
		trace_c_pointers(notes[i % ARRAY_SIZE(notes)], i % 2);
	return 0;
}

static const struct kernel_param_ops pointers_ops = { .set = pointers_c };
module_param_cb(pointers_c, &pointers_ops, NULL, 0200);

struct task_work {
	struct work_struct work;
	struct task_struct *task;
	u32 n;
};

static void hit_for_task(struct work_struct *work)
{
	struct task_work *hits = container_of(work, struct task_work, work);
	u32 i;

	for (i = 0; i < hits->n; i++) {
		/* perf takes a lock of the task that interrupts take as well. */
		local_irq_disable();
		trace_c_counted(i, hits->task);
		local_irq_enable();
	}
}

/* Hits c_counted in another task, for this one. */
static int fire_task_c(const char *val, const struct kernel_param *kp)
{
	struct task_work hits = { .task = current };
	int ret;

	ret = kstrtou32(val, 0, &hits.n);
	if (ret)
		return ret;
	INIT_WORK_ONSTACK(&hits.work, hit_for_task);
	schedule_work(&hits.work);
	flush_work(&hits.work);
	destroy_work_on_stack(&hits.work);
	return 0;
}

static const struct kernel_param_ops fire_task_ops = { .set = fire_task_c };
module_param_cb(fire_task_c, &fire_task_ops, NULL, 0200);

/* The number is the context's. */
static void hit_both(int n)
{
	trace_c_pair_first(n, 0);
	trace_r_exported(n, 0);
}

static void hit_in_hardirq(struct irq_work *work)
{
	hit_both(20);
}

struct soft_hit {
	struct timer_list timer;
	struct completion done;
};

static void hit_in_softirq(struct timer_list *timer)
{
	struct soft_hit *hit = container_of(timer, struct soft_hit, timer);

	hit_both(21);
	complete(&hit->done);
}

static void hit_in_interrupts(void)
{
	struct irq_work hard = IRQ_WORK_INIT_HARD(hit_in_hardirq);
	struct soft_hit soft;

	irq_work_queue(&hard);
	irq_work_sync(&hard);

	init_completion(&soft.done);
	timer_setup_on_stack(&soft.timer, hit_in_softirq, 0);
	mod_timer(&soft.timer, jiffies + 1);
	wait_for_completion(&soft.done);
	timer_delete_sync(&soft.timer);
	timer_destroy_on_stack(&soft.timer);
}

/* Hits c_pair_first and r_exported in each context that the flags of a record tell. */
static int contexts(const char *val, const struct kernel_param *kp)
{
	unsigned long flags;
	int i;

	hit_both(0);
	for (i = 1; i <= 3; i++) {
		preempt_disable();
		hit_both(i);
	}
	while (--i)
		preempt_enable();

	local_bh_disable();
	hit_both(4);
	preempt_disable();
	hit_both(5);
	preempt_enable();
	local_bh_enable();

	migrate_disable();
	hit_both(6);
	preempt_disable();
	hit_both(7);
	preempt_enable();
	migrate_enable();

	local_bh_disable();
	local_irq_save(flags);
	hit_both(8);
	local_irq_restore(flags);
	local_bh_enable();

	local_irq_save(flags);
	hit_both(9);
	set_need_resched_current();
	hit_both(10);
	local_irq_restore(flags);
	cond_resched();

	hit_in_interrupts();
	return 0;
}

static const struct kernel_param_ops contexts_ops = { .set = contexts };
module_param_cb(contexts, &contexts_ops, NULL, 0200);

#ifdef CAN_SEND_NMI
static struct {
	/* An NMI hits r_counted for this task. */
	struct task_struct *task;
	/* The CPU that it is sent to, until it is handled. */
	int cpu;
	bool sent;
	/* One is sent whenever a record is complete and not committed. */
	bool when_built;
} nmi;

static int hit_in_nmi(unsigned int type, struct pt_regs *regs)
{
	if (!READ_ONCE(nmi.sent) || nmi.cpu != smp_processor_id())
		return NMI_DONE;
	rust_event_test_counted(100, nmi.task);
	WRITE_ONCE(nmi.sent, false);
	return NMI_HANDLED;
}

/* Sends an NMI to this CPU, which handles it before this returns. */
static void nmi_here(void)
{
	unsigned int i;

	nmi.cpu = smp_processor_id();
	WRITE_ONCE(nmi.sent, true);
	__apic_send_IPI_mask(cpumask_of(nmi.cpu), NMI_VECTOR);
	for (i = 0; i < USEC_PER_SEC && READ_ONCE(nmi.sent); i++)
		udelay(1);
}

void event_test_built(void)
{
	if (READ_ONCE(nmi.when_built) && !in_nmi())
		nmi_here();
}

struct nmi_work {
	struct work_struct work;
	int ret;
};

static void hit_around_nmis(struct work_struct *work)
{
	struct nmi_work *hits = container_of(work, struct nmi_work, work);
	/* The task waits for this, so it keeps them. */
	struct perf_event_context *ctx = nmi.task->perf_event_ctxp;
	unsigned long flags;

	hits->ret = -EINVAL;
	if (!ctx)
		return;

	/* While the records of another hit for the task are not committed. */
	preempt_disable();
	WRITE_ONCE(nmi.when_built, true);
	rust_event_test_counted(1, nmi.task);
	WRITE_ONCE(nmi.when_built, false);
	preempt_enable();

	/* While this CPU has the lock that perf takes for the perf events of the task. */
	raw_spin_lock_irqsave(&ctx->lock, flags);
	nmi_here();
	raw_spin_unlock_irqrestore(&ctx->lock, flags);
	hits->ret = READ_ONCE(nmi.sent) ? -ETIME : 0;
}

/* Hits r_counted in another task, and in NMIs, for this one. */
static int fire_in_nmi(const char *val, const struct kernel_param *kp)
{
	struct nmi_work hits;
	int ret;

	nmi.task = current;
	ret = register_nmi_handler(NMI_LOCAL, hit_in_nmi, 0, "rust_event_test");
	if (ret)
		return ret;
	INIT_WORK_ONSTACK(&hits.work, hit_around_nmis);
	schedule_work(&hits.work);
	flush_work(&hits.work);
	destroy_work_on_stack(&hits.work);
	unregister_nmi_handler(NMI_LOCAL, "rust_event_test");
	return hits.ret;
}

static const struct kernel_param_ops fire_in_nmi_ops = { .set = fire_in_nmi };
module_param_cb(fire_in_nmi, &fire_in_nmi_ops, NULL, 0200);
#else
void event_test_built(void)
{
}
#endif

/* The cost of a hit of the events c_cost and c_cost_string, in ps. */
static int cost_c(char *buffer, const struct kernel_param *kp)
{
	static const char name[16] = "fifteen letters";
	const u32 count = 100000;
	u64 start, one, two;
	u32 i;

	start = ktime_get_ns();
	for (i = 0; i < count; i++)
		trace_c_cost(i, i, name);
	one = ktime_get_ns() - start;

	start = ktime_get_ns();
	for (i = 0; i < count; i++)
		trace_c_cost_string(i, name);
	two = ktime_get_ns() - start;

	return sysfs_emit(buffer, "%llu %llu\n", div_u64(one * 1000, count),
			  div_u64(two * 1000, count));
}

static const struct kernel_param_ops cost_ops = { .get = cost_c };
module_param_cb(cost_c, &cost_ops, NULL, 0400);

static int hooks_c(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%u %u\n", attached, detached);
}

static const struct kernel_param_ops hooks_ops = { .get = hooks_c };
module_param_cb(hooks_c, &hooks_ops, NULL, 0400);
module_param_named(refuse_c, refuse, bool, 0600);
