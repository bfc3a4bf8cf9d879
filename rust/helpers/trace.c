// SPDX-License-Identifier: GPL-2.0

#include <linux/cpumask.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/poll.h>
#include <linux/preempt.h>
#include <linux/srcu.h>
#include <linux/trace_events.h>
#include <linux/tracepoint.h>

#ifdef CONFIG_PERF_EVENTS
#include "../../kernel/events/internal.h"
#endif
#include "../../kernel/trace/trace_rust.h"

/*
 * As trace_event_try_get_ref(), but not while the module is initialised either. Rust
 * code may leak references: no more are taken well before their number would wrap.
 */
__rust_helper bool rust_helper_trace_event_get(struct trace_event_call *call)
{
	if (call->flags & TRACE_EVENT_FL_DYNAMIC)
		return atomic_read(&call->refcnt) <= INT_MAX / 2 &&
		       trace_event_dyn_try_get_ref(call);
	return rust_helper_module_ref_get(call->module);
}

__rust_helper void rust_helper_trace_event_put_ref(struct trace_event_call *call)
{
	trace_event_put_ref(call);
}

__rust_helper struct trace_array *rust_helper_top_trace_array(void)
{
	return top_trace_array();
}

/* The module that has the code of @call; NULL if it has none. */
__rust_helper struct module *
rust_helper_trace_event_module(struct trace_event_call *call)
{
	return call->flags & TRACE_EVENT_FL_DYNAMIC ? NULL : call->module;
}

__rust_helper struct srcu_ctr __percpu *rust_helper_tracepoint_read_lock(void)
{
	struct srcu_ctr __percpu *scp;

	scp = srcu_read_lock_fast_notrace(&tracepoint_srcu);
	preempt_disable_notrace();
	return scp;
}

__rust_helper void rust_helper_tracepoint_read_unlock(struct srcu_ctr __percpu *scp)
{
	preempt_enable_notrace();
	srcu_read_unlock_fast_notrace(&tracepoint_srcu, scp);
}

__rust_helper struct srcu_ctr __percpu *rust_helper_tracepoint_call_lock(void)
{
	return srcu_read_lock_fast_notrace(&tracepoint_srcu);
}

__rust_helper void rust_helper_tracepoint_call_unlock(struct srcu_ctr __percpu *scp)
{
	srcu_read_unlock_fast_notrace(&tracepoint_srcu, scp);
}

/* For tracepoints whose probes may fault. */
__rust_helper void rust_helper_tracepoint_faultable_lock(void)
{
	rcu_read_lock_trace();
}

__rust_helper void rust_helper_tracepoint_faultable_unlock(void)
{
	rcu_read_unlock_trace();
}

/* The condition of every tracepoint without one of its own. */
__rust_helper bool rust_helper_tracepoint_cpu_online(void)
{
	return cpu_online(raw_smp_processor_id());
}

__rust_helper void rust_helper_trace_preempt_disable(void)
{
	preempt_disable_notrace();
}

__rust_helper void rust_helper_trace_preempt_enable(void)
{
	preempt_enable_notrace();
}

/*
 * Preemption must be off. Interrupts restore the count before they return.
 */
__rust_helper bool rust_helper_trace_nesting_enter(unsigned int what,
						   unsigned int most)
{
	if (this_cpu_read(rust_trace_nesting[what]) >= most)
		return false;
	this_cpu_inc(rust_trace_nesting[what]);
	return true;
}

__rust_helper void rust_helper_trace_nesting_leave(unsigned int what)
{
	this_cpu_dec(rust_trace_nesting[what]);
}

/* Returns the number of words of the mask of a __cpumask field. */
__rust_helper size_t rust_helper_trace_cpumask_words(void)
{
	return BITS_TO_LONGS(nr_cpumask_bits);
}

__rust_helper void rust_helper_tracepoint_synchronize_unregister(void)
{
	tracepoint_synchronize_unregister();
}

__rust_helper const char *
rust_helper_trace_event_name(struct trace_event_call *call)
{
	return trace_event_name(call);
}

#if defined(CONFIG_RUST_TRACE_KUNIT_TEST) && defined(CONFIG_TREE_SRCU)
/*
 * Returns the number of sections of tracepoint_srcu that were entered, or left,
 * on this CPU. The caller must not be migrated.
 */
__rust_helper unsigned long rust_helper_tracepoint_reads(bool left)
{
	struct srcu_data *sdp = this_cpu_ptr(tracepoint_srcu.sda);
	unsigned long sum = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(sdp->srcu_ctrs); i++)
		sum += atomic_long_read(left ? &sdp->srcu_ctrs[i].srcu_unlocks :
					       &sdp->srcu_ctrs[i].srcu_locks);
	return sum;
}
#endif

__rust_helper int rust_helper_tracepoint_preempt_count(void)
{
	return preempt_count();
}

__rust_helper bool rust_helper_trace_in_nmi(void)
{
	return in_nmi();
}

/* With one of these the record may not be written to the buffer at all, or not at once. */
#define SPECIAL_FLAGS	(EVENT_FILE_FL_PID_FILTER | EVENT_FILE_FL_SOFT_DISABLED | \
			 EVENT_FILE_FL_FILTERED)

/*
 * As tracing_gen_ctx_dec(), at once in the context of a task whose flags only say
 * how often preemption was disabled, and whether interrupts are.
 */
static __always_inline unsigned int trace_ctx_dec(void)
{
	unsigned int depth = preempt_count();

	if (!IS_ENABLED(CONFIG_PREEMPTION) || unlikely(depth - 1 >= 0xf) ||
	    unlikely(read_thread_flags() & (_TIF_NEED_RESCHED | _TIF_NEED_RESCHED_LAZY)) ||
	    unlikely(test_preempt_need_resched()))
		return tracing_gen_ctx_dec();
	/* With PREEMPT_RT this is a count of the task, which preempt_count() has not got. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && unlikely(softirq_count()))
		return tracing_gen_ctx_dec();
#ifdef CONFIG_SMP
	if (unlikely(current->migration_disabled))
		return tracing_gen_ctx_dec();
#endif
	return (irqs_disabled() ? TRACE_FLAG_IRQS_OFF << 16 : 0) | (depth - 1);
}

/* As ring_buffer_event_data(), at once for a short record without a time stamp. */
static __always_inline void *trace_event_data(struct ring_buffer_event *event)
{
	if (likely(event->type_len - 1U < RINGBUF_TYPE_DATA_TYPE_LEN_MAX))
		return event->array;
	return ring_buffer_event_data(event);
}

/* Returns true if the buffer is off, on this CPU or on all of them. */
__rust_helper bool rust_helper_trace_event_is_off(struct trace_event_file *file)
{
	struct trace_buffer *buffer = file->tr->array_buffer.buffer;

	return !ring_buffer_record_is_on(buffer) ||
	       !ring_buffer_record_is_on_cpu(buffer, smp_processor_id());
}

/* Returns true if the instance wants no records of the current task. */
__rust_helper bool rust_helper_trace_event_ignores_task(struct trace_event_file *file)
{
	return READ_ONCE(file->flags) & EVENT_FILE_FL_PID_FILTER &&
	       trace_event_ignore_this_pid(file);
}

/* Returns true if the oldest records are kept if the buffer is full. */
__rust_helper bool rust_helper_trace_event_keeps_old(struct trace_event_file *file)
{
	return !(file->tr->trace_flags & TRACE_ITER(OVERWRITE));
}

/*
 * Returns true if a record that is in a separate buffer until the filter has
 * accepted it may be lost then, unseen. With a filter it can be written to the
 * ring buffer as well.
 */
static __always_inline bool
trace_filter_may_lose(struct trace_event_file *file, unsigned long flags)
{
	return (flags & SPECIAL_FLAGS) == EVENT_FILE_FL_FILTERED &&
	       (rust_helper_trace_event_keeps_old(file) ||
		rust_helper_trace_event_is_off(file));
}

/* As trace_event_buffer_reserve(), with all that it calls for most files in one piece. */
__rust_helper void *
rust_helper_trace_event_reserve(struct trace_event_buffer *fbuffer,
				struct trace_event_file *file,
				unsigned long len)
{
	struct trace_buffer *buffer = file->tr->array_buffer.buffer;
	unsigned long flags = READ_ONCE(file->flags);
	struct ring_buffer_event *event;
	struct trace_entry *entry;
	unsigned int trace_ctx;

	if (unlikely(flags & SPECIAL_FLAGS)) {
		if (rust_helper_trace_event_ignores_task(file))
			return NULL;
		flags &= ~EVENT_FILE_FL_PID_FILTER;
		if (flags & SPECIAL_FLAGS && !trace_filter_may_lose(file, flags))
			return trace_event_buffer_reserve(fbuffer, file, len);
	}

	/* Before the ring buffer disables preemption once more. */
	trace_ctx = trace_ctx_dec();
	event = ring_buffer_lock_reserve(buffer, len);
	if (unlikely(!event)) {
		if (!(flags & EVENT_FILE_FL_TRIGGER_COND))
			return NULL;
		buffer = trace_temp_buffer;
		event = ring_buffer_lock_reserve(buffer, len);
		if (!event)
			return NULL;
	}
	fbuffer->buffer = buffer;
	fbuffer->event = event;
	fbuffer->trace_file = file;
	fbuffer->entry = entry = trace_event_data(event);
	fbuffer->trace_ctx = trace_ctx;
	fbuffer->regs = NULL;
	tracing_generic_entry_update(entry, file->event_call->event.type, trace_ctx);
	return entry;
}

/* Returns true if the record is for triggers only, and has no reader. */
__rust_helper bool
rust_helper_trace_event_is_unread(const struct trace_event_buffer *fbuffer)
{
	return fbuffer->buffer == trace_temp_buffer ||
	       fbuffer->trace_file->flags & EVENT_FILE_FL_SOFT_DISABLED;
}

__rust_helper void rust_helper_trace_event_nest(struct trace_event_file *file)
{
	ring_buffer_nest_start(file->tr->array_buffer.buffer);
}

__rust_helper void rust_helper_trace_event_unnest(struct trace_event_file *file)
{
	ring_buffer_nest_end(file->tr->array_buffer.buffer);
}

__rust_helper void rust_helper_trace_event_discard(struct trace_event_buffer *fbuffer)
{
	__trace_event_discard_commit(fbuffer->buffer, fbuffer->event);
}

__rust_helper unsigned long rust_helper_trace_event_max_size(struct trace_event_file *file)
{
	return ring_buffer_max_event_size(file->tr->array_buffer.buffer);
}

__rust_helper bool
rust_helper_trace_event_is_buffered(struct ring_buffer_event *event)
{
	return this_cpu_read(trace_buffered_event) == event;
}

__rust_helper struct trace_event_file *
rust_helper_event_file_file(struct file *filp)
{
	return event_file_file(filp);
}

#ifndef CONFIG_FTRACE_SYSCALLS
__rust_helper const char *rust_helper_get_syscall_name(int syscall)
{
	return get_syscall_name(syscall);
}
#endif

#ifdef CONFIG_HIST_TRIGGERS
/* For after the counting of a hit. */
__rust_helper bool rust_helper_hist_poll_idle(void)
{
	/* Pairs with the barrier in poll_wait(). */
	smp_mb();
	/* With the barrier above, a task that waits now has seen the hit or is seen. */
	return !waitqueue_active(&hist_poll_wq);
}

__rust_helper void rust_helper_hist_poll_wakeup(void)
{
	hist_poll_wakeup();
}

__rust_helper void rust_helper_hist_poll_wait(struct file *filp,
					      poll_table *wait)
{
	hist_poll_wait(filp, wait);
}
#endif

#ifdef CONFIG_PERF_EVENTS
__rust_helper struct hlist_head *
rust_helper_trace_event_perf_head(struct trace_event_call *call)
{
	return this_cpu_ptr(call->perf_events);
}

__rust_helper void rust_helper_perf_fetch_caller_regs(struct pt_regs *regs)
{
	perf_fetch_caller_regs(regs);
}

/* As perf_tp_event_lost(). */
__rust_helper int rust_helper_perf_record(struct trace_event_call *call, void *record,
					  int len, struct pt_regs *regs,
					  struct hlist_head *head, int context)
{
	return perf_tp_event_lost(call->event.type, 1, record, len, regs, head,
				  context, NULL);
}

/*
 * As perf_trace_buf_alloc() and perf_tp_event_lost(), for a record that needs no
 * buffer. Returns -EBUSY if a record is being written in this context.
 */
__rust_helper int rust_helper_perf_event_record(struct trace_event_call *call,
						void *record, int len,
						struct hlist_head *head)
{
	int context = perf_swevent_get_recursion_context();
	struct pt_regs *regs;

	if (context < 0)
		return -EBUSY;
	regs = this_cpu_ptr(&__perf_regs[context]);
	perf_fetch_caller_regs(regs);
	return rust_helper_perf_record(call, record, len, regs, head, context);
}
#endif

#ifdef CONFIG_DYNAMIC_EVENTS
__rust_helper int rust_helper_dyn_event_add(struct dyn_event *ev,
					    struct trace_event_call *call)
{
	return dyn_event_add(ev, call);
}

__rust_helper void rust_helper_dyn_event_remove(struct dyn_event *ev)
{
	dyn_event_remove(ev);
}
#endif
