/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The events of event_test_main.rs, in C. Both are to have the same format, but
 * for the prefix of the name, and are fired with the same values.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM event_test_c

#if !defined(_EVENT_TEST_H) || defined(TRACE_HEADER_MULTI_READ)
#define _EVENT_TEST_H

#include <linux/cpumask.h>
#include <linux/in6.h>
#include <linux/tracepoint.h>

#ifndef EVENT_TEST_ONCE
#define EVENT_TEST_ONCE
#define TEST_LEN 6

struct test_place {
	u32 row;
	u32 column;
};

enum test_state { TEST_IDLE, TEST_BUSY = 5, TEST_DONE = 9 };

struct task_struct;

int event_test_attach(void);
void event_test_detach(void);

/* Called when a record of r_counted is complete, before it is committed. */
void event_test_built(void);

/* In Rust: hits r_counted for a task. */
void rust_event_test_counted(u32 n, struct task_struct *task);
#endif

TRACE_EVENT(c_numbers,
	TP_PROTO(u64 n),
	TP_ARGS(n),
	TP_STRUCT__entry(
		__field(u8, a)
		__field(s8, b)
		__field(u16, c)
		__field(s16, d)
		__field(u32, e)
		__field(s32, f)
		__field(u64, g)
		__field(s64, h)
		__field(unsigned long, i)
		__field(long, j)
		__field(bool, k)
		__field(pid_t, l)
		__field(const void *, m)
		__field(unsigned long, ip)
	),
	TP_fast_assign(
		__entry->a = n;
		__entry->b = -(s64)n;
		__entry->c = n * 3;
		__entry->d = -(s64)n * 3;
		__entry->e = n * 5;
		__entry->f = -(s64)n * 5;
		__entry->g = n << 33;
		__entry->h = -(s64)(n << 33);
		__entry->i = n * 7;
		__entry->j = -(s64)n * 7;
		__entry->k = n & 1;
		__entry->l = n + 1;
		__entry->m = (void *)(unsigned long)n;
		__entry->ip = 0;
	),
	TP_printk(
		"a=%u b=%d c=%hx d=%d e=%08x f=%d g=%llu h=%lld i=%lu j=%ld k=%d l=%-5d| m=%p ip=%pS 100%%",
		  __entry->a, __entry->b, __entry->c, __entry->d, __entry->e,
		  __entry->f, __entry->g, __entry->h, __entry->i, __entry->j,
		  __entry->k, __entry->l, (void *)__entry->m, (void *)__entry->ip)
);

TRACE_EVENT(c_strings,
	TP_PROTO(const char *name, const char *note, u32 n, struct va_format *vaf),
	TP_ARGS(name, note, n, vaf),
	TP_STRUCT__entry(
		__array(char, comm, 8)
		__string(name, name)
		__field(u8, odd)
		__string_len(part, note, n % 4)
		__rel_string(note, note)
		__vstring(message, vaf->fmt, vaf->va)
	),
	TP_fast_assign(
		strscpy_pad(__entry->comm, note, 8);
		__assign_str(name);
		__entry->odd = n & 1;
		__assign_str(part);
		__assign_rel_str(note);
		__assign_vstr(message, vaf->fmt, vaf->va);
	),
	TP_printk("comm=%s name=%s odd=%u part=%s note=%-12s| message=%s",
		  __entry->comm, __get_str(name), __entry->odd,
		  __get_str(part), __get_rel_str(note), __get_str(message))
);

TRACE_EVENT(c_arrays,
	TP_PROTO(const u32 *list, u32 len, const struct cpumask *cpus),
	TP_ARGS(list, len, cpus),
	TP_STRUCT__entry(
		__array(u8, mac, TEST_LEN)
		__array(u32, fixed, 2)
		__array(u8, addr, 4)
		__dynamic_array(u32, list, len)
		__bitmask(bits, 70)
		__cpumask(cpus)
	),
	TP_fast_assign(
		unsigned long words[2] = { len | 0x100, 0x21 };

		memset(__entry->mac, len, TEST_LEN);
		__entry->fixed[0] = len;
		__entry->fixed[1] = len + 1;
		__entry->addr[0] = 127;
		__entry->addr[1] = 0;
		__entry->addr[2] = 0;
		__entry->addr[3] = len;
		memcpy(__get_dynamic_array(list), list, len * sizeof(u32));
		__assign_bitmask(bits, words, 70);
		__assign_cpumask(cpus, cpumask_bits(cpus));
	),
	TP_printk("%pM %s %s %pI4 %s %s len=%u %s %s",
		  __entry->mac,
		  __print_hex(__entry->mac, 6),
		  __print_array(__entry->fixed, 2, 4),
		  __entry->addr,
		  __print_array(__get_dynamic_array(list), __get_dynamic_array_len(list) / 4, 4),
		  __print_hex_str(__get_dynamic_array(list), __get_dynamic_array_len(list)),
		  __get_dynamic_array_len(list),
		  __get_bitmask(bits), __get_cpumask(cpus))
);

/* Apart from the others, as libtraceevent cannot print all of it. */
TRACE_EVENT(c_relative,
	TP_PROTO(const u32 *list, u32 len, const struct cpumask *cpus),
	TP_ARGS(list, len, cpus),
	TP_STRUCT__entry(
		__field(u8, len)
		__rel_dynamic_array(u32, list, len)
		__rel_bitmask(bits, 70)
		__rel_cpumask(cpus)
	),
	TP_fast_assign(
		unsigned long words[2] = { len | 0x100, 0x21 };

		__entry->len = len;
		memcpy(__get_rel_dynamic_array(list), list, len * sizeof(u32));
		__assign_rel_bitmask(bits, words, 70);
		__assign_rel_cpumask(cpus, cpumask_bits(cpus));
	),
	TP_printk("len=%u %s %s %s", __entry->len,
		  __print_array(__get_rel_dynamic_array(list),
				__get_rel_dynamic_array_len(list) / 4, 4),
		  __get_rel_bitmask(bits), __get_rel_cpumask(cpus))
);

TRACE_EVENT(c_parts,
	TP_PROTO(const u32 *list, u32 len),
	TP_ARGS(list, len),
	TP_STRUCT__entry(
		__array(u8, mac, TEST_LEN)
		__field(u8, used)
		__dynamic_array(u32, list, len)
	),
	TP_fast_assign(
		memset(__entry->mac, len, TEST_LEN);
		__entry->used = len / 2;
		memcpy(__get_dynamic_array(list), list, len * sizeof(u32));
	),
	TP_printk("%s %s %s",
		  __print_hex(__entry->mac, 2),
		  __print_array(__get_dynamic_array(list), __entry->used, 4),
		  __print_hex_str(__get_dynamic_array(list), (u32)__entry->used * 4))
);

TRACE_DEFINE_ENUM(TEST_IDLE);
TRACE_DEFINE_ENUM(TEST_BUSY);
TRACE_DEFINE_ENUM(TEST_DONE);

TRACE_EVENT(c_names,
	TP_PROTO(u32 n, u64 ns),
	TP_ARGS(n, ns),
	TP_STRUCT__entry(
		__field(u32, flags)
		__field(u8, state)
		__field(u64, ns)
	),
	TP_fast_assign(
		__entry->flags = n;
		__entry->state = n;
		__entry->ns = ns;
	),
	TP_printk("%s %s %s %llu.%09u low=%u %s next=%u hard=%d soft=%d irq=%d",
		  __print_flags(__entry->flags, "|",
				{ 1, "READ" }, { 0x2, "WRITE" }, { 12, "BOTH" }),
		  __print_symbolic(__entry->state,
				   { TEST_IDLE, "idle" }, { TEST_BUSY, "busy" },
				   { TEST_DONE, "done" }),
		  __print_symbolic(__entry->flags & 0x3, { 0, "none" }, { 3, "all" }),
		  __print_ns_to_secs(__entry->ns), __print_ns_without_secs(__entry->ns),
		  (__entry->flags >> 2) & 3,
		  __entry->flags > 3 ? "big" : "small",
		  (u32)__entry->state + 1,
		  __event_in_hardirq(), __event_in_softirq(), __event_in_irq())
);

TRACE_EVENT(c_addresses,
	TP_PROTO(const struct sockaddr_in6 *address, u32 len),
	TP_ARGS(address, len),
	TP_STRUCT__entry(
		__field(u8, len)
		__sockaddr(addr, len)
		__array(u8, fixed, 28)
	),
	TP_fast_assign(
		__entry->len = len;
		__assign_sockaddr(addr, address, len);
		memcpy(__entry->fixed, address, 28);
	),
	TP_printk("len=%u %pISpc %pIS", __entry->len, __get_sockaddr(addr), __entry->fixed)
);

/* Apart from the others, as libtraceevent cannot print it. */
TRACE_EVENT(c_rel_address,
	TP_PROTO(const struct sockaddr_in6 *address, u32 len),
	TP_ARGS(address, len),
	TP_STRUCT__entry(
		__field(u8, len)
		__rel_sockaddr(addr, len)
	),
	TP_fast_assign(
		__entry->len = len;
		__assign_rel_sockaddr(addr, address, len);
	),
	TP_printk("len=%u %pISpfsc", __entry->len, __get_rel_sockaddr(addr))
);

TRACE_EVENT(c_quoted,
	TP_PROTO(u32 n, const char *name),
	TP_ARGS(n, name),
	TP_STRUCT__entry(
		__field(u32, type)
		__array(u8, match, 2)
		__array(char, word, 8)
		__string(ref, name)
		__field_struct(struct test_place, place)
		__field_struct(struct test_place, other)
	),
	TP_fast_assign(
		__entry->type = n;
		memset(__entry->match, n, 2);
		strscpy_pad(__entry->word, name, 8);
		__assign_str(ref);
		__entry->place.row = n;
		__entry->place.column = 3;
		__entry->other.row = 4;
		__entry->other.column = n;
	),
	TP_printk("\"%u\" back\\slash %s\t%s %s inverse=%d",
		  __entry->type,
		  __print_hex(__entry->match, 2),
		  __entry->type > 2 ? __entry->word : __get_str(ref),
		  __print_symbolic(__entry->type, { 0, "none" }, { 1, "one" }),
		  ~__entry->type)
);

/* Apart from the others, as libtraceevent cannot print it. */
TRACE_EVENT(c_dump,
	TP_PROTO(const u32 *list, u32 len),
	TP_ARGS(list, len),
	TP_STRUCT__entry(
		__field(u8, n)
		__dynamic_array(u32, list, len)
	),
	TP_fast_assign(
		__entry->n = len;
		memcpy(__get_dynamic_array(list), list, len * sizeof(u32));
	),
	TP_printk("%s%s",
		  __print_flags(__entry->n, "\t\"", { 1, "A" }, { 2, "B" }),
		  __print_hex_dump("\"\\: ", DUMP_PREFIX_OFFSET, 16, 4,
				   __get_dynamic_array(list),
				   __get_dynamic_array_len(list), true))
);

DECLARE_EVENT_CLASS(c_pair,
	TP_PROTO(int left, int right),
	TP_ARGS(left, right),
	TP_STRUCT__entry(
		__field(int, left)
		__field(int, right)
	),
	TP_fast_assign(
		__entry->left = left;
		__entry->right = right;
	),
	TP_printk("left=%d right=%d", __entry->left, __entry->right)
);

DEFINE_EVENT(c_pair, c_pair_first,
	TP_PROTO(int left, int right),
	TP_ARGS(left, right));

DEFINE_EVENT_CONDITION(c_pair, c_pair_second,
	TP_PROTO(int left, int right),
	TP_ARGS(left, right),
	TP_CONDITION(left != right));

DEFINE_EVENT_PRINT(c_pair, c_pair_third,
	TP_PROTO(int left, int right),
	TP_ARGS(left, right),
	TP_printk("sum=%d", __entry->left + __entry->right));

TRACE_EVENT_FN(c_hooked,
	TP_PROTO(u32 n),
	TP_ARGS(n),
	TP_STRUCT__entry(
		__field(u32, n)
	),
	TP_fast_assign(
		__entry->n = n;
	),
	TP_printk("n=%u", __entry->n),
	event_test_attach, event_test_detach
);

TRACE_EVENT(c_pointers,
	TP_PROTO(const char *text, u32 cpu),
	TP_ARGS(text, cpu),
	TP_STRUCT__entry(
		__field_ext(const void *, text, FILTER_PTR_STRING)
		__field_ext(unsigned long, ip, FILTER_TRACE_FN)
		__field_ext(u32, cpu, FILTER_CPU)
		__field(const char *, also)
	),
	TP_fast_assign(
		__entry->text = text;
		__entry->ip = 0;
		__entry->cpu = cpu;
		__entry->also = text;
	),
	TP_printk("ip=%ps cpu=%u", (void *)__entry->ip, __entry->cpu)
);

TRACE_EVENT_SYSCALL(c_faultable,
	TP_PROTO(u32 n, const char *name),
	TP_ARGS(n, name),
	TP_STRUCT__entry(
		__field(u32, n)
		__string(name, name)
	),
	TP_fast_assign(
		__entry->n = n;
		__assign_str(name);
	),
	TP_printk("n=%u name=%s", __entry->n, __get_str(name)),
	event_test_attach, event_test_detach
);

DECLARE_EVENT_CLASS(c_counted,
	TP_PROTO(u32 n, struct task_struct *task),
	TP_ARGS(__perf_count(n), __perf_task(task)),
	TP_STRUCT__entry(
		__field(u32, n)
		__field(u32, next)
		__field(u32, square)
		__field(bool, has_task)
	),
	TP_fast_assign(
		u32 next = n + 1;

		__entry->n = n;
		__entry->next = next;
		__entry->square = next * next;
		__entry->has_task = task;
	),
	TP_printk("n=%u next=%u square=%u task=%d", __entry->n, __entry->next,
		  __entry->square, __entry->has_task)
);

DEFINE_EVENT(c_counted, c_counted,
	TP_PROTO(u32 n, struct task_struct *task),
	TP_ARGS(n, task));

TRACE_EVENT(c_cost,
	TP_PROTO(u64 a, u32 b, const char *name),
	TP_ARGS(a, b, name),
	TP_STRUCT__entry(
		__field(u64, a)
		__field(u32, b)
		__array(char, name, 16)
	),
	TP_fast_assign(
		__entry->a = a;
		__entry->b = b;
		memcpy(__entry->name, name, 16);
	),
	TP_printk("a=%llu b=%u name=%s", __entry->a, __entry->b, __entry->name)
);

TRACE_EVENT(c_cost_string,
	TP_PROTO(u32 a, const char *name),
	TP_ARGS(a, name),
	TP_STRUCT__entry(
		__field(u32, a)
		__string(name, name)
	),
	TP_fast_assign(
		__entry->a = a;
		__assign_str(name);
	),
	TP_printk("a=%u name=%s", __entry->a, __get_str(name))
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE event_test
#include <trace/define_trace.h>
