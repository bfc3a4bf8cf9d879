// SPDX-License-Identifier: GPL-2.0

//! Histogram triggers: aggregation of events in the kernel.
//!
//! A line `hist:keys=...` that is written to the `trigger` file of an event creates a histogram of
//! it. On each hit, the values of the keys choose an element of the histogram's map, and the sums
//! and variables of that element are updated. Variables can be read by histograms of other events,
//! and handlers act on the elements that they belong to: they generate synthetic events, keep the
//! maximum, take snapshots.
//!
//! # Layers
//!
//! A module only uses those of its own line and of the lines above it, which `scripts/modules.py`
//! checks:
//!
//! | Modules | |
//! | --- | --- |
//! | [`limits`], [`text_buf`] | Sizes; a buffer for text |
//! | [`command`], [`map`] | The text of a command; elements by key |
//! | [`spec`] | What a command says |
//! | [`program`], [`histogram`], [`scratch`] | What runs, and its memory |
//! | [`hit`](mod@hit) | What happens when an event happens |
//! | [`registry`], [`backlog`] | Histograms on events |
//! | [`builder`] | From a command to a [`spec`] |
//! | [`lifecycle`] | Attaching, detaching |
//! | [`trigger`], [`show`] | The files of an event |
//! | [`exports`] | What C finds by its name |
//!
//! # When an event happens
//!
//! [`hit`](mod@hit) runs in any context, with preemption off: it allocates nothing, takes no lock
//! that could block, and cannot panic. It computes the key, looks up the variables of other
//! histograms, finds or claims the element in the [`map`], updates it, and runs the actions.
//!
//! # Lock order
//!
//! `event_mutex` > each of: the lock of the [`registry`], that of the [`scratch`] memory, that of
//! the [`backlog`], and that of a [`map`] while it is copied or wiped. None of these is taken while
//! another of them is held. [`show`] takes the last one, and the drop of the data of a trigger
//! takes those of the scratch memory and of the backlog, without `event_mutex`. Elements have
//! seqlock-like locks of their own, for which waiting is bounded.
//!
//! C header: [`kernel/trace/trace.h`](srctree/kernel/trace/trace.h).

use kernel::{
    ModuleMetadata,
    ThisModule, //
};

mod backlog;
mod builder;
mod command;
mod exports;
mod histogram;
mod hit;
mod lifecycle;
mod limits;
mod map;
mod program;
mod registry;
mod scratch;
mod show;
mod spec;
mod text_buf;
mod trigger;

#[cfg(CONFIG_HIST_TRIGGERS_RUST_KUNIT_TEST)]
mod tests;

/// Prefix of the log messages of this crate.
const __LOG_PREFIX: &[u8] = b"hist\0";

/// Stands for the module that owns the vtables of this crate: it is always built in.
struct LocalModule;

impl ModuleMetadata for LocalModule {
    const NAME: &'static kernel::str::CStr = c"hist";

    const THIS_MODULE: ThisModule = {
        // SAFETY: Built-in code has no module; the C side takes a null pointer for that.
        unsafe { ThisModule::from_ptr(core::ptr::null_mut()) }
    };
}
