// SPDX-License-Identifier: GPL-2.0

//! Trace events for code that is built into the kernel.
//!
//! All of it is registered with C permanently, or calls functions of C that are not exported to
//! modules: events that are created at run time and listed in `dynamic_events`, their records,
//! files of events and of instances, and snapshots.
//!
//! # Creating an event
//!
//! - Embed an [`event::Event`] in a type, and name the field with
//!   [`impl_has_event!`](crate::impl_has_event).
//! - Implement [`event::Operations`] and [`dynevent::Operations`] for that type.
//! - Define one static [`dynevent::Kind`] of it, and [register](dynevent::Kind::register) it once.
//! - Define one static [`event::Class`] of it for each directory that its events are in.
//! - Create the event from an [`event::Definition`], a name and a list of
//!   [fields](field::FieldDef), in an [`Arc`](crate::sync::Arc), and
//!   [register](event::Event::register) it with [`event_mutex`](super::event_mutex) held.
//!
//! The registration is one of the owners of the [`Arc`](crate::sync::Arc): an event exists as long
//! as C code may call into it.
//!
//! # Writing records
//!
//! - [`Event::is_enabled`](event::Event::is_enabled) costs two loads and returns `true` if the
//!   event has a listener.
//! - A [`ReadGuard`](super::tracepoint::ReadGuard) protects the listeners while
//!   [`Event::listeners`](event::Event::listeners) iterates over them.
//! - Each kind of listener has a `reserve`, whose reservation is filled and then committed; a
//!   reservation that is dropped leaves no record.
//!
//! Nothing on this path allocates, sleeps or takes a lock.
//!
//! # Acting on events
//!
//! - [`syscall`] has the names of the system calls that records contain as numbers.
//! - A hit can take a snapshot of the buffer by a [`snapshot::ConditionalSnapshot`].
//! - An [`event_seq::EventSeqFile`] is the text of a file of an event, and an
//!   [`instance_file::InstanceFile`] a file of each instance whose lines can be written.
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
//!         builtin::{
//!             dynevent::{
//!                 self,
//!                 Args,
//!                 Kind, //
//!             },
//!             event::{
//!                 self,
//!                 Class,
//!                 Definition,
//!                 Event,
//!                 Listener, //
//!             },
//!             field::{
//!                 FieldDef,
//!                 FilterKind, //
//!             },
//!             ring_buffer::ReservationStorage,
//!         },
//!         event_mutex::{
//!             self,
//!             Held, //
//!         },
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
//!     let mut slot = ReservationStorage::new();
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

#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub mod dynevent;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub mod event;
#[cfg(CONFIG_HIST_TRIGGERS)]
pub mod event_seq;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub mod field;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub mod instance_file;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
mod lookup;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub mod output;
#[cfg(CONFIG_HIST_TRIGGERS)]
pub mod snapshot;
pub mod syscall;

#[cfg(CONFIG_PERF_EVENTS)]
pub use super::base::perf;
pub use super::base::{
    charge,
    ring_buffer, //
};
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub use crate::impl_has_event;
