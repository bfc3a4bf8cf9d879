// SPDX-License-Identifier: GPL-2.0

//! Trace events.
//!
//! This module is for kernel code that has trace events: events that appear under `events/` in
//! tracefs, that ftrace and perf record, and that filters, triggers and histograms work on. They
//! are declared, or made at run time and then listed in `dynamic_events`. And it is for code that
//! does something when events happen.
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
//! # Making an event at run time
//!
//! - Embed an [`event::Event`] in a type of your own and say so with [`impl_has_event!`].
//! - Implement [`event::Operations`] and [`dynevent::Operations`] for that type.
//! - Make one static [`dynevent::Kind`] of it and [register](dynevent::Kind::register) it once.
//! - Make one static [`event::Class`] of it for each directory that its events are in.
//! - Build the event from an [`event::Definition`], a name and a list of
//!   [fields](field::FieldDef), in an [`Arc`](crate::sync::Arc), and
//!   [register](event::Event::register) it with [`event_mutex`] held.
//!
//! The registration is one of the owners of the [`Arc`](crate::sync::Arc): an event exists as long
//! as C code may call into it.
//!
//! # Writing records
//!
//! - [`Event::is_enabled`](event::Event::is_enabled) costs two loads and returns `true` if the
//!   event has a listener.
//! - A [`tracepoint::ReadGuard`] protects the listeners while
//!   [`Event::listeners`](event::Event::listeners) iterates over them.
//! - Each kind of listener has a `reserve`, whose reservation is filled and then committed; a
//!   reservation that is dropped leaves no record.
//!
//! Nothing on this path allocates, sleeps or takes a lock.
//!
//! # Acting on events
//!
//! - A [`trigger::Command`] is a word that the `trigger` files of events understand. It makes
//!   triggers, which are hit when the event happens; there is an example in [`trigger`].
//! - A [`trigger::Hit`] has the record, its time stamp and where it comes from; [`context`] tells
//!   what the current task is.
//! - A hit can make the event of a [`synth::EventRef`] happen, and take a snapshot of the buffer by
//!   a [`snapshot::ConditionalSnapshot`].
//! - An [`event_text::EventText`] is the text of a file of an event that shows what has come of it,
//!   and an [`instance::file::InstanceFile`] a file of each instance whose lines can be written.
//! - [`instance::Instance`] and [`event_file::EventFile`] are what a command is about: a trace
//!   instance, and an event in it. [`symbol`] has names for what is in the records.
//!
//! Modules can register commands, and files in [`tracefs`]. [Kinds](dynevent::Kind) of dynamic
//! events, and the files of events, are registered with C permanently, so these are for built-in
//! code only.
//!
//! # Events that C knows how to make
//!
//! - A [`synth::Event`] is a synthetic event, made by a [`synth::Builder`] or declared by
//!   [`synth_event!`](crate::synth_event) with the types of its fields, so that the compiler checks
//!   what is given for them.
//! - A [`kprobe::Event`] happens where a kernel function is entered or left.
//! - An [`event_file::EventFileRef`] is any event in an instance, to be enabled and disabled, and
//!   an [`instance::InstanceRef`] an instance that is found or made by its name.
//!
//! # Examples
//!
//! An event with one field, a number.
//!
//! ```no_run
//! use kernel::{
//!     impl_has_event,
//!     seq_file::SeqFile,
//!     seq_print,
//!     sync::{
//!         Arc,
//!         ArcBorrow, //
//!     },
//!     trace::{
//!         dynevent::{
//!             self,
//!             Args,
//!             Kind, //
//!         },
//!         event::{
//!             self,
//!             Class,
//!             Definition,
//!             Event,
//!             Listener, //
//!         },
//!         event_mutex::{
//!             self,
//!             Held, //
//!         },
//!         field::{
//!             FieldDef,
//!             FilterKind, //
//!         },
//!         ring_buffer::Slot,
//!         tracepoint::ReadGuard,
//!         HEADER_SIZE, //
//!     },
//! };
//!
//! struct Beat {
//!     event: Event<Self>,
//! }
//!
//! impl_has_event! {
//!     impl HasEvent for Beat { self.event }
//! }
//!
//! static KIND: Kind<Beat> = Kind::new();
//! static CLASS: Class<Beat> = Class::new(c"beats");
//!
//! #[vtable]
//! impl event::Operations for Beat {
//!     fn kind() -> &'static Kind<Self> {
//!         &KIND
//!     }
//! }
//!
//! #[vtable]
//! impl dynevent::Operations for Beat {
//!     fn create(_command: &CStr) -> Result {
//!         Err(ECANCELED)
//!     }
//!
//!     fn show(&self, m: &SeqFile, _held: Held<'_>) {
//!         seq_print!(m, "beat:{}\n", self.event.name());
//!     }
//!
//!     fn is_busy(&self, _held: Held<'_>) -> bool {
//!         self.event.is_enabled()
//!     }
//!
//!     fn free(this: ArcBorrow<'_, Self>, held: Held<'_>) -> Result {
//!         this.event.unregister(held)
//!     }
//!
//!     fn matches(
//!         &self,
//!         _system: Option<&CStr>,
//!         event: &CStr,
//!         _args: Args<'_>,
//!         _held: Held<'_>,
//!     ) -> bool {
//!         event == self.event.name()
//!     }
//! }
//!
//! fn add() -> Result<Arc<Beat>> {
//!     let fields = [FieldDef {
//!         ty: b"u32",
//!         name: b"count",
//!         offset: HEADER_SIZE as u32,
//!         size: 4,
//!         signed: false,
//!         len: 0,
//!         filter: FilterKind::Auto,
//!     }];
//!     let definition = Definition {
//!         name: b"beat",
//!         print_fmt: b"\"count=%u\", REC->count",
//!         fields: &fields,
//!         note: b"",
//!     };
//!     // SAFETY: A record is a whole `u32`, see `write()`.
//!     let event = unsafe { Event::new(&CLASS, definition)? };
//!     let beat = Arc::new(Beat { event }, GFP_KERNEL)?;
//!
//!     KIND.register()?;
//!     let guard = event_mutex::lock();
//!     Event::register(beat.as_arc_borrow(), guard.held())?;
//!
//!     Ok(beat)
//! }
//!
//! fn write(beat: &Beat, count: u32) {
//!     if !beat.event.is_enabled() {
//!         return;
//!     }
//!     let payload = count.to_ne_bytes();
//!     let guard = ReadGuard::new();
//!     let mut slot = Slot::new();
//!
//!     for listener in beat.event.listeners(&guard) {
//!         match listener {
//!             Listener::File(file) if file.is_recording() => {
//!                 if let Some(mut record) = file.reserve(&guard, payload.len(), &mut slot) {
//!                     record.payload_mut().copy_from_slice(&payload);
//!                     record.commit();
//!                 }
//!             }
//!             #[cfg(CONFIG_PERF_EVENTS)]
//!             Listener::Perf(perf) if perf.is_active() => {
//!                 if let Some(mut record) = perf.reserve(payload.len()) {
//!                     record.payload_mut().copy_from_slice(&payload);
//!                     record.commit();
//!                 }
//!             }
//!             _ => {}
//!         }
//!     }
//! }
//! # fn run() -> Result {
//! # write(&*add()?, 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Correspondence with C
//!
//! | Here | C |
//! | --- | --- |
//! | [`trace_event!`] | `TRACE_EVENT()`, `DECLARE_EVENT_CLASS()`, `DEFINE_EVENT()` |
//! | [`probe::Registration`] | `register_trace_*()`, `unregister_trace_*()` |
//! | `probe::ModuleWatch` | `register_tracepoint_module_notifier()` |
//! | [`TracepointStr`] | `tracepoint_string()` |
//! | [`event::Event`] | `trace_event_call`, `tracepoint` and `dyn_event` in one |
//! | [`event::Class`] | `trace_event_class` |
//! | [`field::FieldDef`] | `ftrace_event_field` |
//! | [`file::File`], [`event_file::EventFile`] | `trace_event_file` |
//! | [`ring_buffer::Reservation`] | `trace_event_buffer` |
//! | [`event_mutex::Held`] | `lockdep_assert_held(&event_mutex)` |
//! | [`dynevent::Kind`] | `dyn_event_operations` |
//! | [`instance::Instance`], [`instance::InstanceRef`] | `trace_array` |
//! | [`event_file::EventFileRef`] | `trace_get_event_file()`, `trace_put_event_file()` |
//! | [`event_file::FieldInfo`] | `ftrace_event_field`, of any event |
//! | [`trigger::CommandOps`] | `event_command` |
//! | [`trigger::Trigger`] | `event_trigger_data` |
//! | [`synth::EventRef`], [`synth::Event`] | `synth_event` |
//! | [`synth::Tracer`] | `synth_event_trace_array()`, `synth_event_trace_start()` |
//! | [`dynevent::cmd::Command`] | `dynevent_cmd` |
//! | [`kprobe::Builder`] | `kprobe_event_gen_cmd_start()`, `kretprobe_event_gen_cmd_start()` |
//!
//! What is different: in C an event has to be freed by hand after the last callback, here it is
//! reference counted; and `unregister` refuses to run in callbacks that C cannot stand it in.
//!
//! # Lock order
//!
//! `dyn_event_ops_mutex` > `event_mutex` > `trace_types_lock` > `trace_event_sem`.
//!
//! - `dyn_event_ops_mutex` is held while a dynamic event is made of a command:
//!   [`dynevent::Operations::create`] is called with it. [`dynevent::Kind::register`],
//!   [`kprobe::Builder::create`] and a [`dynevent::cmd::Command`] that makes a probe take it; so
//!   these must be called neither in `create` nor with `event_mutex` held.
//! - `trace_types_lock` is taken by what makes, drops or changes an [`instance::InstanceRef`], by
//!   [`event::Event::register`] and [`unregister`](event::Event::unregister), by a
//!   [`snapshot::ConditionalSnapshot`], and by a [`tracefs::File`] of a module. C holds it, inside
//!   of `event_mutex`, while it removes an instance, and calls [`trigger::Command::detached`] and
//!   [`event::Operations::detached`] then.
//! - `trace_event_sem` is taken by C only.
//!
//! `event_mutex` > `tracepoint_module_list_mutex`, which a `probe::ModuleWatch` is called with.
//! `tracepoints_mutex` is a leaf. C executes a line for a `trigger` file with `trigger_cmd_mutex`
//! held inside of `event_mutex`.
//!
//! C headers: [`include/linux/trace_events.h`](srctree/include/linux/trace_events.h),
//! [`kernel/trace/trace.h`](srctree/kernel/trace/trace.h).

#[cfg(CONFIG_EVENT_TRACING)]
pub mod charge;
#[cfg(CONFIG_HIST_TRIGGERS)]
pub mod context;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub mod dynevent;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub mod event;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub mod event_file;
#[cfg(CONFIG_EVENT_TRACING)]
pub mod event_mutex;
#[cfg(CONFIG_HIST_TRIGGERS)]
pub mod event_text;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub mod field;
#[cfg(CONFIG_EVENT_TRACING)]
pub mod file;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub mod instance;
#[cfg(CONFIG_KPROBE_EVENTS)]
pub mod kprobe;
#[cfg(CONFIG_EVENT_TRACING)]
mod module_ref;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
mod nesting;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub mod output;
#[cfg(all(CONFIG_EVENT_TRACING, CONFIG_PERF_EVENTS))]
pub mod perf;
#[cfg(CONFIG_EVENT_TRACING)]
pub mod probe;
#[cfg(CONFIG_EVENT_TRACING)]
pub mod ring_buffer;
#[cfg(CONFIG_HIST_TRIGGERS)]
pub mod snapshot;
#[cfg(CONFIG_EVENT_TRACING)]
#[doc(hidden)]
pub mod static_event;
#[cfg(CONFIG_TRACING)]
pub mod symbol;
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
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub use crate::impl_has_event;
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
