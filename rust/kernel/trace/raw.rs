// SPDX-License-Identifier: GPL-2.0

//! Functions and variables of C that are not exported to modules.
//!
//! Generic functions, and those that are inlined, are compiled as part of the module that uses
//! them. All that a module may use therefore calls these functions, which are never inlined.
//! [`builtin`](super::builtin) is for code that is built in, and needs none of them, except for
//! records, which events that modules declare write as well.

#[cfg(CONFIG_DYNAMIC_EVENTS)]
use super::event_mutex::Held;
use crate::{
    bindings,
    prelude::*, //
};

/// Defines functions that call the functions of C with their names.
macro_rules! not_exported {
    ($(
        $(#[$attr:meta])*
        fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)?;
    )*) => {$(
        $(#[$attr])*
        ///
        /// # Safety
        ///
        /// As for the function of C.
        #[inline(never)]
        pub(super) unsafe fn $name($($arg: $ty),*) $(-> $ret)? {
            // SAFETY: The requirements are those of this function.
            unsafe { bindings::$name($($arg),*) }
        }
    )*};
}

#[cfg(CONFIG_EVENT_TRACING)]
not_exported! {
    /// Returns `true` if the address is that of a `tracepoint_string()`.
    fn trace_is_tracepoint_string(string: *const c_char) -> bool;
}

#[cfg(CONFIG_EVENT_TRACING)]
not_exported! {
    /// Discards a record that is reserved.
    #[cold]
    fn trace_event_discard(buffer: *mut bindings::trace_event_buffer);
}

#[cfg(all(CONFIG_EVENT_TRACING, CONFIG_MODULES))]
not_exported! {
    /// Calls `f` with each tracepoint of modules.
    fn for_each_module_tracepoint(f: TracepointFn, data: *mut c_void);

    /// Calls `f` with each tracepoint of `module`.
    fn for_each_tracepoint_in_module(
        module: *mut bindings::module,
        f: TracepointFn,
        data: *mut c_void,
    );
}

#[cfg(all(CONFIG_EVENT_TRACING, CONFIG_PERF_EVENTS))]
not_exported! {
    /// Releases the buffer of this context for records of perf.
    fn perf_swevent_put_recursion_context(context: c_int);

    /// Hands a record to the perf events of a CPU, and releases the context.
    fn perf_record(
        call: *mut bindings::trace_event_call,
        record: *mut c_void,
        len: c_int,
        regs: *mut bindings::pt_regs,
        head: *mut bindings::hlist_head,
        context: c_int,
    ) -> c_int;

    /// Hands a record that is not in a buffer of perf to the perf events of a CPU. The address of
    /// the sample is the one that this returns to.
    fn perf_event_record(
        call: *mut bindings::trace_event_call,
        record: *mut c_void,
        len: c_int,
        head: *mut bindings::hlist_head,
    ) -> c_int;

    /// Disables interrupts until they are enabled as often. Not for NMIs.
    fn local_interrupt_disable();

    /// Ends one call of `local_interrupt_disable`.
    fn local_interrupt_enable();
}

#[cfg(CONFIG_TRACING)]
not_exported! {
    /// Removes a file.
    fn tracefs_remove(dentry: *mut bindings::dentry);
}

#[cfg(CONFIG_DYNAMIC_EVENTS)]
not_exported! {
    /// Enables or disables an event in an instance.
    fn trace_event_enable_disable(
        file: *mut bindings::trace_event_file,
        enable: c_int,
        soft_disable: c_int,
    ) -> c_int;

    /// Finds a field of an event by its name.
    fn trace_find_event_field(
        call: *mut bindings::trace_event_call,
        name: *mut c_char,
    ) -> *mut bindings::ftrace_event_field;

    /// Finds an event that can be enabled.
    fn find_event_file(
        instance: *mut bindings::trace_array,
        system: *const c_char,
        event: *const c_char,
    ) -> *mut bindings::trace_event_file;

    /// Finds an event, even one that cannot be enabled.
    fn __find_event_file(
        instance: *mut bindings::trace_array,
        system: *const c_char,
        event: *const c_char,
    ) -> *mut bindings::trace_event_file;

    /// Takes a reference to an event, or to its module.
    fn trace_event_get(call: *mut bindings::trace_event_call) -> bool;

    /// Drops a reference to an event, or to its module.
    fn trace_event_put_ref(call: *mut bindings::trace_event_call);

    /// Returns the top instance, or null.
    fn top_trace_array() -> *mut bindings::trace_array;

    /// Takes a reference to an instance.
    fn trace_array_get(instance: *mut bindings::trace_array) -> c_int;

    /// Takes a reference to the instance of this name, if it exists.
    fn trace_array_find_get(name: *const c_char) -> *mut bindings::trace_array;

    /// Takes a reference to an instance, as opening one of its files does.
    fn tracing_check_open_get_tr(instance: *mut bindings::trace_array) -> c_int;

    /// Enables or disables events, by a line as `set_event` takes it.
    fn ftrace_set_clr_event(
        instance: *mut bindings::trace_array,
        text: *mut c_char,
        on: c_int,
    ) -> c_int;

    /// Selects the clock of an instance.
    fn tracing_set_clock(instance: *mut bindings::trace_array, name: *const c_char) -> c_int;

    /// Returns `true` if an instance has this clock.
    fn tracing_clock_is(instance: *mut bindings::trace_array, name: *const c_char) -> bool;

    /// Returns `true` if the clock of an instance counts nanoseconds.
    fn trace_clock_in_ns(instance: *mut bindings::trace_array) -> bool;

    /// Disables the buffer for records that may be filtered out if `set`, otherwise enables it
    /// again.
    fn tracing_set_filter_buffering(instance: *mut bindings::trace_array, set: bool) -> c_int;

    /// Adds an entry to `error_log`.
    fn tracing_log_err(
        instance: *mut bindings::trace_array,
        location: *const c_char,
        command: *const c_char,
        texts: *mut *const c_char,
        index: u8,
        pos: u16,
    );

    /// Registers a command of `trigger` files.
    fn register_event_command(command: *mut bindings::event_command) -> c_int;

    /// Unregisters a command of `trigger` files.
    fn unregister_event_command(command: *mut bindings::event_command) -> c_int;

    /// Returns `true` if a line begins with a command of `trigger` files.
    fn trigger_is_command(line: *const c_char) -> bool;

    /// Executes a line of a `trigger` file.
    fn trigger_process_regex(file: *mut bindings::trace_event_file, line: *mut c_char) -> c_int;

    /// Creates or removes the filter of a trigger.
    fn set_trigger_filter(
        text: *mut c_char,
        trigger: *mut bindings::event_trigger_data,
        file: *mut bindings::trace_event_file,
    ) -> c_int;

    /// Frees a filter.
    fn free_event_filter(filter: *mut bindings::event_filter);

    /// Frees a trigger of a command that enables or disables something in an event.
    fn event_enable_trigger_free(trigger: *mut bindings::event_trigger_data);

    /// Frees a trigger when no hit can use it.
    fn trigger_data_free(trigger: *mut bindings::event_trigger_data);

    /// Enables or disables triggers in an event.
    fn trace_event_trigger_enable_disable(
        file: *mut bindings::trace_event_file,
        on: c_int,
    ) -> c_int;

    /// Updates the flag for events with a trigger that needs the record.
    fn update_cond_flag(file: *mut bindings::trace_event_file);

    /// Returns `true` if a record is not in the ring buffer.
    fn trace_event_is_buffered(event: *mut bindings::ring_buffer_event) -> bool;

    /// Returns the time stamp of a record.
    fn tracing_event_time_stamp(
        buffer: *mut bindings::trace_buffer,
        event: *mut bindings::ring_buffer_event,
    ) -> u64;

    /// Counts one level of nesting, unless `most` are in use.
    fn trace_nesting_enter(what: c_uint, most: c_uint) -> bool;

    /// Leaves one level of nesting.
    fn trace_nesting_leave(what: c_uint);
}

#[cfg(all(CONFIG_DYNAMIC_EVENTS, CONFIG_MODULES))]
not_exported! {
    /// Returns `true` if the address is in a module.
    fn is_module_address(address: usize) -> bool;
}

#[cfg(all(CONFIG_DYNAMIC_EVENTS, CONFIG_TRACER_SNAPSHOT))]
not_exported! {
    /// Allocates the buffer for snapshots of the top instance.
    fn tracing_alloc_snapshot() -> c_int;
}

#[cfg(CONFIG_SYNTH_EVENTS)]
not_exported! {
    /// Finds a synthetic event by its name.
    fn find_synth_event(name: *const c_char) -> *mut bindings::synth_event;

    /// Finds the synthetic event of a call.
    fn find_synth_event_call(call: *mut bindings::trace_event_call) -> *mut bindings::synth_event;

    /// Clears the buffers of all instances.
    fn tracing_reset_all_online_cpus();
}

#[cfg(any(CONFIG_SYNTH_EVENTS, CONFIG_KPROBE_EVENTS))]
not_exported! {
    /// Initialises a word of a command.
    fn dynevent_arg_init(arg: *mut bindings::dynevent_arg, separator: c_char);

    /// Adds a word to a command.
    fn dynevent_arg_add(
        command: *mut bindings::dynevent_cmd,
        arg: *mut bindings::dynevent_arg,
        check: bindings::dynevent_check_arg_fn_t,
    ) -> c_int;

    /// Initialises a pair of texts of a command.
    fn dynevent_arg_pair_init(
        pair: *mut bindings::dynevent_arg_pair,
        operator: c_char,
        separator: c_char,
    );

    /// Adds a pair of texts to a command.
    fn dynevent_arg_pair_add(
        command: *mut bindings::dynevent_cmd,
        pair: *mut bindings::dynevent_arg_pair,
        check: bindings::dynevent_check_arg_fn_t,
    ) -> c_int;

    /// Adds a text to a command.
    fn dynevent_str_add(command: *mut bindings::dynevent_cmd, text: *const c_char) -> c_int;
}

/// A function that is called with tracepoints.
#[cfg(all(CONFIG_EVENT_TRACING, CONFIG_MODULES))]
type TracepointFn =
    Option<unsafe extern "C" fn(*mut bindings::tracepoint, *mut bindings::module, *mut c_void)>;

/// Locks `event_mutex`. Sleeps.
#[cfg(CONFIG_EVENT_TRACING)]
#[inline(never)]
pub(super) fn event_mutex_lock() {
    // SAFETY: `event_mutex` is a static mutex that is initialised at build time.
    unsafe { bindings::mutex_lock(&raw mut bindings::event_mutex) };
}

/// Unlocks `event_mutex`.
///
/// # Safety
///
/// The current task must have locked it.
#[cfg(CONFIG_EVENT_TRACING)]
#[inline(never)]
pub(super) unsafe fn event_mutex_unlock() {
    // SAFETY: By the safety requirements, the current task has locked it.
    unsafe { bindings::mutex_unlock(&raw mut bindings::event_mutex) };
}

/// Warns if `event_mutex` is not held, with lockdep.
#[cfg(CONFIG_EVENT_TRACING)]
#[inline(never)]
pub(super) fn event_mutex_assert_held() {
    // SAFETY: `event_mutex` is a static mutex that is initialised at build time.
    unsafe { bindings::mutex_assert_is_held(&raw mut bindings::event_mutex) };
}

/// Locks `trace_types_lock`. Sleeps.
#[cfg(CONFIG_TRACING)]
#[inline(never)]
pub(super) fn trace_types_lock() {
    // SAFETY: `trace_types_lock` is a static mutex that is initialised at build time.
    unsafe { bindings::mutex_lock(&raw mut bindings::trace_types_lock) };
}

/// Unlocks `trace_types_lock`.
///
/// # Safety
///
/// The current task must have locked it.
#[cfg(CONFIG_TRACING)]
#[inline(never)]
pub(super) unsafe fn trace_types_unlock() {
    // SAFETY: By the safety requirements, the current task has locked it.
    unsafe { bindings::mutex_unlock(&raw mut bindings::trace_types_lock) };
}

/// Returns the head of the list of all instances.
#[cfg(CONFIG_DYNAMIC_EVENTS)]
#[inline(never)]
pub(super) fn trace_arrays() -> *mut bindings::list_head {
    &raw mut bindings::ftrace_trace_arrays
}

/// Keeps the messages of `task` out of `error_log`, or those of no task if it is null.
#[cfg(CONFIG_DYNAMIC_EVENTS)]
#[inline(never)]
pub(super) fn mute_error_log(task: *mut bindings::task_struct, _held: Held<'_>) {
    // SAFETY: It is a static, which is written with `event_mutex` held and read in one piece.
    unsafe { core::ptr::write_volatile(&raw mut bindings::tracing_err_log_muted, task) };
}
