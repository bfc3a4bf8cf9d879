// SPDX-License-Identifier: GPL-2.0

#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/gfp.h>
#include <linux/percpu.h>
#include <linux/preempt.h>

__rust_helper void __percpu *rust_helper_alloc_percpu(size_t size, size_t align)
{
	return __alloc_percpu_gfp(size, align, GFP_KERNEL_ACCOUNT);
}

__rust_helper void *rust_helper_per_cpu_ptr(void __percpu *ptr, unsigned int cpu)
{
	return per_cpu_ptr(ptr, cpu);
}

__rust_helper void rust_helper_this_cpu_add_usize(size_t __percpu *ptr,
						      size_t n)
{
	this_cpu_add(*ptr, n);
}

__rust_helper bool rust_helper_cpu_possible(unsigned int cpu)
{
	return cpu_possible(cpu);
}

/*
 * Takes the lowest level that is free on this CPU, of those that have memory in
 * @levels, and disables preemption. A bit of @used is set for each one in use.
 */
__rust_helper void *rust_helper_percpu_level_enter(u32 __percpu *used,
						   void __percpu *const *levels,
						   u32 count, u32 *level)
{
	u32 bits;

	preempt_disable_notrace();
	do {
		bits = this_cpu_read(*used);
		*level = ffs(~bits) - 1;
		if (*level >= count) {
			preempt_enable_notrace();
			return NULL;
		}
		/* An interrupt may have changed them, if it left a level in use. */
	} while (this_cpu_cmpxchg(*used, bits, bits | BIT(*level)) != bits);
	return this_cpu_ptr(levels[*level]);
}

__rust_helper void rust_helper_percpu_level_leave(u32 __percpu *used, u32 level)
{
	this_cpu_and(*used, ~BIT(level));
	preempt_enable_notrace();
}
