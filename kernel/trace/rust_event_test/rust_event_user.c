// SPDX-License-Identifier: GPL-2.0
/*
 * Uses tracepoints that the module rust_event_test declares in Rust and exports:
 * hits them as often as is written to the parameter fire, and has a probe on each.
 * The parameters hits and sum are about the first one, passed is how often the
 * second one got what fits together.
 */
#include <linux/cpumask.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/tracepoint.h>

DECLARE_TRACE_EVENT(r_exported,
	TP_PROTO(int left, int right),
	TP_ARGS(left, right));

DECLARE_TRACE_EVENT(r_passed,
	TP_PROTO(struct task_struct *task, struct task_struct *other,
		 const struct cpumask *cpus, bool odd, s16 n),
	TP_ARGS(task, other, cpus, odd, n));

static int hits, sum, passed;

static void probe(void *data, int left, int right)
{
	hits++;
	sum += left + right;
}

static void passed_probe(void *data, struct task_struct *task, struct task_struct *other,
			 const struct cpumask *cpus, bool odd, s16 n)
{
	if (task == current && other == (odd ? task : NULL) &&
	    cpumask_test_cpu(odd, cpus) && n < 0)
		passed++;
}

static int fire(const char *val, const struct kernel_param *kp)
{
	int i, n, ret;

	ret = kstrtoint(val, 0, &n);
	if (ret)
		return ret;
	for (i = 0; i < n; i++) {
		trace_r_exported(i, 100);
		trace_r_passed(current, i & 1 ? current : NULL, cpumask_of(i & 1), i & 1, -i - 1);
	}
	return 0;
}

static const struct kernel_param_ops fire_ops = { .set = fire };
module_param_cb(fire, &fire_ops, NULL, 0200);
module_param(hits, int, 0400);
module_param(sum, int, 0400);
module_param(passed, int, 0400);

static int __init user_init(void)
{
	int ret;

	ret = register_trace_r_exported(probe, NULL);
	if (ret)
		return ret;
	ret = register_trace_r_passed(passed_probe, NULL);
	if (ret) {
		unregister_trace_r_exported(probe, NULL);
		tracepoint_synchronize_unregister();
	}
	return ret;
}

static void __exit user_exit(void)
{
	unregister_trace_r_passed(passed_probe, NULL);
	unregister_trace_r_exported(probe, NULL);
	tracepoint_synchronize_unregister();
}

module_init(user_init);
module_exit(user_exit);
MODULE_DESCRIPTION("User of a tracepoint that is declared in Rust");
MODULE_LICENSE("GPL");
