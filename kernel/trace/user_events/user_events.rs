// SPDX-License-Identifier: GPL-2.0

//! User trace events.
//!
//! A process describes an event by a line of text and names a bit in its own memory. From then on
//! the event is an ordinary trace event: it has a directory in tracefs, and filters, triggers and
//! perf support it. While the event has a listener, the kernel keeps the bit set; the process tests
//! the bit and, if it is set, passes its records to the kernel by a `write`.
//!
//! # Objects
//!
//! ```text
//!   user_events_data (file)              registry                    address space (mm_struct)
//!   +--------------------+        +--------------------+        +---------------------------+
//!   | index -> EventUse  |---+    | name -> UserEvent  |        | MmState                   |
//!   +--------------------+   |    +--------------------+        |   pending faults          |
//!                            v              |                   |   set ---+                |
//!                     +-----------------+   |                   +----------|----------------+
//!                     | UserEvent       |<--+                              v
//!                     |   trace event   |                       +---------------------------+
//!                     |   uses, status  |<----------------------| EnablerSet                |
//!                     |   enablers ---------------------------->|  (addr, bit) -> EventUse  |
//!                     +-----------------+                       |  the mms that share it    |
//!                                                               +---------------------------+
//! ```
//!
//! - [`event::UserEvent`]: one event. An [`event::EventUse`] keeps it: the index table of a file,
//!   an enabled address and an attached probe hold one. After the last use is dropped, a work item
//!   removes an event that is not persistent ([`unused`]).
//! - [`registry::Registry`]: all events by name. Only the registry creates and removes them.
//! - [`enabler::EnablerSet`]: the enabled addresses of a process. A fork shares the parent's set; a
//!   change of a shared set copies it first.
//! - [`mm::MmState`]: the state of an address space: its set, and the words that could not be
//!   written yet because their page was not present. It belongs to the `mm_struct` instead of a
//!   task: any thread may register, unregister, fork or exit.
//!
//! # Layers
//!
//! A module only uses those of its own line and of the lines above it, which `scripts/modules.py`
//! checks:
//!
//! | Modules | |
//! | --- | --- |
//! | [`defs`], [`num`] | The ABI; numbers in text |
//! | [`append_vec`], [`visit_list`] | Containers |
//! | [`progress`], [`patience`], [`faults`], [`listens`] | State of switches; listeners as bits |
//! | [`types`], [`validate`] | The types of fields, the checks of a record |
//! | [`parse`], [`print_fmt`], [`canonical_fields`] | The text of a description |
//! | [`enabler`], [`mm`] | Enable bits, their words, and the address spaces that have them |
//! | [`switch`] | Writing the words that follow something |
//! | [`counts`], [`patterns`] | Counters of records; the lines of `set_user_event` |
//! | [`event`], [`unused`] | An event and its uses |
//! | [`deliver`], [`registry`] | Records of an event; all events by name |
//! | [`batch`], [`dynevent`], [`losses`], [`reaper`], [`status`] | Files; the end of a process |
//! | [`mm_struct`] | The state of an address space, from its `mm_struct` |
//! | [`file`](mod@file), [`ioctl`] | `user_events_data` |
//! | [`exports`], [`init`](mod@init) | Entry points for C |
//!
//! The modules up to [`switch`] do not know events: bits follow something that is on or off
//! ([`enabler::Followed`]), which a [`event::UserEvent`] is.
//!
//! # Locking
//!
//! The locks, their order and the reasons for it are in `Documentation/trace/rust/user_events.rst`.
//! Records are written without a lock: the index table is read without one ([`append_vec`]), and
//! the probes of an event under the guard of its tracepoint.
//!
//! C headers: [`include/linux/user_events.h`](srctree/include/linux/user_events.h),
//! [`include/uapi/linux/user_events.h`](srctree/include/uapi/linux/user_events.h)

use kernel::{
    ModuleMetadata,
    ThisModule, //
};

mod append_vec;
mod batch;
mod canonical_fields;
mod counts;
mod defs;
mod deliver;
mod dynevent;
mod enabler;
mod event;
mod exports;
mod faults;
mod file;
mod init;
mod ioctl;
mod listens;
mod losses;
mod mm;
mod mm_struct;
mod num;
mod parse;
mod patience;
mod patterns;
mod print_fmt;
mod progress;
mod reaper;
mod registry;
mod status;
mod switch;
mod types;
mod unused;
mod validate;
mod visit_list;

#[cfg(CONFIG_USER_EVENTS_RUST_KUNIT_TEST)]
mod tests;

/// Prefix of the log messages of this crate.
const __LOG_PREFIX: &[u8] = b"user_events\0";

/// Stands for the module that owns the vtables of this crate: it is always built in.
struct LocalModule;

impl ModuleMetadata for LocalModule {
    const NAME: &'static kernel::str::CStr = c"user_events";

    const THIS_MODULE: ThisModule = {
        // SAFETY: Built-in code has no module; the C side takes a null pointer for that.
        unsafe { ThisModule::from_ptr(core::ptr::null_mut()) }
    };
}

/// Returns an unpredictable number, for hash tables whose keys a process may choose.
fn seed() -> u64 {
    kernel::random::get_u64()
}
