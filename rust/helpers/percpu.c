// SPDX-License-Identifier: GPL-2.0

#include <linux/cpumask.h>
#include <linux/percpu.h>
#include <linux/preempt.h>

__rust_helper void __percpu *rust_helper_alloc_percpu(size_t size, size_t align)
{
	return __alloc_percpu(size, align);
}

__rust_helper void *rust_helper_per_cpu_ptr(void __percpu *ptr, unsigned int cpu)
{
	return per_cpu_ptr(ptr, cpu);
}

__rust_helper void *rust_helper_this_cpu_ptr(void __percpu *ptr)
{
	return this_cpu_ptr(ptr);
}

__rust_helper void rust_helper_this_cpu_add_u64(u64 __percpu *ptr, u64 n)
{
	this_cpu_add(*ptr, n);
}

__rust_helper u32 rust_helper_this_cpu_read_u32(u32 __percpu *ptr)
{
	return this_cpu_read(*ptr);
}

__rust_helper u32 rust_helper_this_cpu_cmpxchg_u32(u32 __percpu *ptr, u32 old, u32 new)
{
	return this_cpu_cmpxchg(*ptr, old, new);
}

__rust_helper void rust_helper_this_cpu_and_u32(u32 __percpu *ptr, u32 mask)
{
	this_cpu_and(*ptr, mask);
}

__rust_helper bool rust_helper_cpu_possible(unsigned int cpu)
{
	return cpu_possible(cpu);
}

__rust_helper void rust_helper_percpu_preempt_disable(void)
{
	preempt_disable_notrace();
}

__rust_helper void rust_helper_percpu_preempt_enable(void)
{
	preempt_enable_notrace();
}
