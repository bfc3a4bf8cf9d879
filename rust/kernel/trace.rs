// SPDX-License-Identifier: GPL-2.0

//! Trace events.
//!
//! This module is for kernel code that has trace events: events that appear under `events/` in
//! tracefs, that ftrace and perf record, and that filters, triggers and histograms work on. It is
//! also for code that runs when events happen. Modules can use all of it but [`builtin`], which has
//! events that are created at run time, and what else is registered with C permanently.
//!
//! # Declaring an event
//!
//! [`trace_event!`] does what `TRACE_EVENT()` does in C: a tracepoint that costs nothing when it
//! is off, a record with typed fields, and a print format that is checked against them.
//!
//! ```
//! mod events {
//!     use kernel::{
//!         prelude::*,
//!         trace::trace_event, //
//!     };
//!
//!     trace_event! {
//!         system: "my_driver";
//!
//!         /// A request has come.
//!         pub(super) event request(id: u32, name: &CStr) {
//!             fields {
//!                 id: u32 = id,
//!                 name: str = name,
//!             }
//!             print("id=%u name=%s", id, name)
//!         }
//!     }
//! }
//!
//! use events::{
//!     request,
//!     trace_request, //
//! };
//! use kernel::trace::trace;
//!
//! # fn next_name() -> &'static CStr { c"second" }
//! trace_request(1, c"first");
//! // Does not evaluate the arguments if the event is off.
//! trace!(request(2, next_name()));
//! ```
//!
//! The macro stands in a module: a function cannot declare an event.
//!
//! `Documentation/trace/rust/static_events.rst` is a guide, with the macros of C beside each step.
//!
//! # Probes
//!
//! A [`probe::Registration`] attaches a [`probe::Probe`] to a tracepoint, of Rust or of C.
//!
//! # Acting on events
//!
//! - A [`trigger::Command`] is a word that the `trigger` files of events understand. It creates
//!   triggers, which are hit by the event; [`trigger`] has an example.
//! - A [`trigger::Hit`] has the record, its time stamp and its origin.
//! - A hit can generate the event of a [`synth::EventRef`].
//! - [`instance::Instance`] and [`event_file::EventFile`] are what a command is about: a trace
//!   instance, and an event in it.
//!
//! # Events of the kinds of C
//!
//! - A [`SynthEvent`](synth::SynthEvent) is a synthetic event, created by a [`synth::Builder`] or
//!   declared by [`synth_event!`](crate::synth_event) with the types of its fields, so that the
//!   compiler checks their values.
//! - A [`KprobeEvent`](kprobe::KprobeEvent) happens where a kernel function is entered or left.
//! - An [`EventFile<Owned>`](event_file::Owned) is any event in an instance, to be enabled and
//!   disabled, and an [`instance::InstanceRef`] an instance that is found or created by its name.
//!
//! # Correspondence with C
//!
//! | Here | C |
//! | --- | --- |
//! | [`trace_event!`] | `TRACE_EVENT()`, `DECLARE_EVENT_CLASS()`, `DEFINE_EVENT()` |
//! | [`probe::Registration`] | `register_trace_*()`, `unregister_trace_*()` |
//! | `probe::ModuleWatch` | `register_tracepoint_module_notifier()` |
//! | [`TracepointStr`] | `tracepoint_string()` |
//! | [`builtin::event::Event`] | `trace_event_call`, `tracepoint` and `dyn_event` in one |
//! | [`builtin::event::Class`] | `trace_event_class` |
//! | [`builtin::field::FieldDef`] | `ftrace_event_field` |
//! | [`event_file::EventFile`] | `trace_event_file` |
//! | [`builtin::ring_buffer::Reservation`] | `trace_event_buffer` |
//! | [`event_mutex::Held`] | `lockdep_assert_held(&event_mutex)` |
//! | [`builtin::dynevent::Kind`] | `dyn_event_operations` |
//! | [`instance::Instance`], [`instance::InstanceRef`] | `trace_array` |
//! | [`event_file::Owned`] | `trace_get_event_file()`, `trace_put_event_file()` |
//! | [`event_file::FieldInfo`] | `ftrace_event_field`, of any event |
//! | [`trigger::CommandOps`] | `event_command` |
//! | [`trigger::Trigger`] | `event_trigger_data` |
//! | [`synth::EventRef`], [`synth::SynthEvent`] | `synth_event` |
//! | [`synth::Tracer`] | `synth_event_trace_array()`, `synth_event_trace_start()` |
//! | [`dynevent_cmd::Command`] | `dynevent_cmd` |
//! | [`kprobe::Builder`] | `kprobe_event_gen_cmd_start()`, `kretprobe_event_gen_cmd_start()` |
//! | [`perf::PerfEvent`] | `perf_event` |
//!
//! `Event` alone is the trace event of [`builtin::event`], which the other names of that module are
//! about. `SynthEvent`, `KprobeEvent` and `PerfEvent`, which are imported without their modules,
//! are named after `synth_event`, `kprobe_event_*()` and `perf_event` of C.
//!
//! What is different: in C an event has to be freed by hand after the last callback, here it is
//! reference counted; and `unregister` refuses to run in callbacks that C cannot stand it in.
//!
//! # Layers
//!
//! A module only uses those of its own line and of the lines above it, and no more than two files
//! use each other in a circle, which `scripts/modules.py` checks. The API consists of the public
//! modules except [`builtin`], which it never uses.
//!
//! | Modules | |
//! | --- | --- |
//! | `raw`, [`event_mutex`], [`tracepoint`] | C: functions, a mutex, tracepoints |
//! | `base`, `nesting`, `removal` | What the API and [`builtin`] use |
//! | [`dynevent_cmd`], [`perf`], [`probe`], [`tracefs`] | Parts of their own |
//! | `event_file`, `instance`, `static_event`, `synth`, `tracepoint_str`, `trigger` | Events |
//! | [`kprobe`] | Events of functions |
//! | [`builtin`] | What only built-in code can have |
//!
//! # Lock order
//!
//! `dyn_event_ops_mutex` > `event_mutex` > `trace_types_lock` > `trace_event_sem`.
//!
//! - `dyn_event_ops_mutex` is held while a dynamic event is created from a command:
//!   [`builtin::dynevent::Operations::create`] is called with it.
//!   [`builtin::dynevent::Kind::register`], [`kprobe::Builder::create`] and a
//!   [`dynevent_cmd::Command`] that creates a probe take it; so these must be called neither in
//!   `create` nor with `event_mutex` held.
//! - `trace_types_lock` is taken by what creates, drops or changes an [`instance::InstanceRef`], by
//!   [`builtin::event::Event::register`] and [`unregister`](builtin::event::Event::unregister), by
//!   a [`builtin::snapshot::ConditionalSnapshot`], and by a [`tracefs::Entry`] of a module. C holds
//!   it, inside of `event_mutex`, while it removes an instance, and calls
//!   [`trigger::Command::detached`] and [`builtin::event::Operations::detached`] then.
//! - `trace_event_sem` is taken by C only.
//!
//! `event_mutex` > `tracepoint_module_list_mutex`, which a `probe::ModuleWatch` is called with.
//! `tracepoints_mutex` is a leaf. C executes a line for a `trigger` file with `trigger_cmd_mutex`
//! held inside of `event_mutex`.
//!
//! C headers: [`include/linux/trace_events.h`](srctree/include/linux/trace_events.h),
//! [`kernel/trace/trace.h`](srctree/kernel/trace/trace.h).

#[cfg(CONFIG_EVENT_TRACING)]
mod base;
#[cfg(CONFIG_EVENT_TRACING)]
pub mod builtin;
#[cfg(any(CONFIG_SYNTH_EVENTS, CONFIG_KPROBE_EVENTS))]
pub mod dynevent_cmd;
#[cfg(CONFIG_EVENT_TRACING)]
pub mod event_file;
#[cfg(CONFIG_EVENT_TRACING)]
pub mod event_mutex;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub mod instance;
#[cfg(CONFIG_KPROBE_EVENTS)]
pub mod kprobe;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
mod nesting;
#[cfg(all(CONFIG_EVENT_TRACING, CONFIG_PERF_EVENTS))]
pub mod perf;
#[cfg(CONFIG_EVENT_TRACING)]
pub mod probe;
#[cfg(CONFIG_TRACING)]
mod raw;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
mod removal;
#[cfg(CONFIG_EVENT_TRACING)]
#[doc(hidden)]
pub mod static_event;
#[cfg(CONFIG_SYNTH_EVENTS)]
pub mod synth;
#[cfg(CONFIG_TRACING)]
pub mod tracefs;
#[cfg(CONFIG_EVENT_TRACING)]
pub mod tracepoint;
mod tracepoint_str;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub mod trigger;

#[cfg(all(CONFIG_RUST_TRACE_KUNIT_TEST, CONFIG_DYNAMIC_EVENTS))]
mod tests;

#[cfg(CONFIG_EVENT_TRACING)]
pub use self::static_event::{
    Argument,
    CArgument,
    CType,
    Scalar, //
};
pub use self::tracepoint_str::TracepointStr;
pub use crate::tracepoint_string;
pub use macros::{
    trace_event,
    TraceValue, //
};

/// Size of `struct trace_entry`, the header that C writes before the payload of every record.
#[cfg(CONFIG_EVENT_TRACING)]
pub const HEADER_SIZE: usize = size_of::<crate::bindings::trace_entry>();

/// Hits a tracepoint, and evaluates the arguments only if it is on.
///
/// # Examples
///
/// ```
/// mod events {
///     use kernel::trace::trace_event;
///
///     trace_event! {
///         system: "my_queue";
///
///         pub(super) event queued(id: u32, len: usize) {
///             fields {
///                 id: u32 = id,
///                 len: usize = len,
///             }
///             print("id=%u len=%lu", id, len)
///         }
///     }
/// }
///
/// let queue = [1, 2, 3];
/// // The length is only counted if the event is on.
/// kernel::trace!(events::queued(7, queue.iter().count()));
/// ```
#[macro_export]
macro_rules! trace {
    ($($event:ident)::+ ( $($arg:expr),* $(,)? )) => {
        if $($event)::+::enabled() {
            $($event)::+::call($($arg),*);
        }
    };
}
pub use trace;
