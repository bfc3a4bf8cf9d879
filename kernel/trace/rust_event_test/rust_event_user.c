// SPDX-License-Identifier: GPL-2.0
/*
 * Uses a tracepoint that the module rust_event_test declares in Rust and exports:
 * hits it as often as is written to the parameter fire, and has a probe, which
 * the parameters hits and sum are about.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/tracepoint.h>

DECLARE_TRACE_EVENT(r_exported,
	TP_PROTO(int left, int right),
	TP_ARGS(left, right));

static int hits, sum;

static void probe(void *data, int left, int right)
{
	hits++;
	sum += left + right;
}

static int fire(const char *val, const struct kernel_param *kp)
{
	int i, n, ret;

	ret = kstrtoint(val, 0, &n);
	if (ret)
		return ret;
	for (i = 0; i < n; i++)
		trace_r_exported(i, 100);
	return 0;
}

static const struct kernel_param_ops fire_ops = { .set = fire };
module_param_cb(fire, &fire_ops, NULL, 0200);
module_param(hits, int, 0400);
module_param(sum, int, 0400);

static int __init user_init(void)
{
	return register_trace_r_exported(probe, NULL);
}

static void __exit user_exit(void)
{
	unregister_trace_r_exported(probe, NULL);
	tracepoint_synchronize_unregister();
}

module_init(user_init);
module_exit(user_exit);
MODULE_DESCRIPTION("User of a tracepoint that is declared in Rust");
MODULE_LICENSE("GPL");
