// SPDX-License-Identifier: GPL-2.0

//! User trace events.
//!
//! A process describes an event by a line of text and names a bit in its own memory. From then on
//! the event is a trace event as any other: it has a directory in tracefs, filters, triggers and
//! perf see it. While anybody listens the kernel keeps the bit set; the process looks at the bit
//! and, when it is set, hands its records to the kernel by a `write`.
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
//!                     |   sites ------------------------------->|  (addr, bit) -> EventUse  |
//!                     +-----------------+                       |  the mms that share it    |
//!                                                               +---------------------------+
//! ```
//!
//! - [`event::UserEvent`]: one event. Whoever needs it to stay holds an [`event::EventUse`]: the
//!   index table of a file, an enabled address, an attached probe. When the last use goes, an event
//!   that is not persistent is removed by a work item.
//! - [`registry::Registry`]: all events by name, and the only place that makes and removes them.
//! - [`enabler::EnablerSet`]: the enabled addresses of a process. A fork shares the parent's set;
//!   who changes a shared set takes a copy first.
//! - [`mm::MmState`]: what an address space has: its set, and the words that could not be written
//!   yet because their page was not there. It belongs to the `mm_struct`, not to a task: it does
//!   not matter which thread registers, unregisters, forks or exits.
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
mod defs;
mod dynevent;
mod enabler;
mod event;
mod exports;
mod faults;
mod file;
mod init;
mod ioctl;
mod mm;
mod num;
mod parse;
mod print_fmt;
mod probe;
mod reaper;
mod registry;
mod signature;
mod status;
mod switch;
mod table;
mod types;
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
