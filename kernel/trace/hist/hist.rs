// SPDX-License-Identifier: GPL-2.0

//! Histogram triggers: aggregation of events in the kernel.
//!
//! A line `hist:keys=...` that is written to the `trigger` file of an event makes a histogram of
//! it. On each hit, the values of the keys choose an element of the histogram's map, and the sums
//! and variables of that element are updated. Variables can be read by histograms of other events,
//! and handlers act on the elements that they belong to: they make synthetic events, keep the
//! maximum, take snapshots.
//!
//! # From a command to a histogram
//!
//! | Step | Module |
//! | --- | --- |
//! | The command is cut in clauses, each piece knows its column | [`text`], [`attrs`] |
//! | Fields, expressions, keys, values, variables and the sort order are made of them | [`build`] |
//! | Handlers and actions, and the histograms that they need on other events | [`action`] |
//! | What has been made is compiled to a form that is quick to run | [`program`] |
//! | It is put on the event, found again, paused, cleared and removed | [`trigger`], [`registry`] |
//!
//! # When an event happens
//!
//! [`update`] runs in any context, with preemption off: it allocates nothing, takes no lock that
//! could block, and cannot panic. It computes the key, looks up the variables of other histograms,
//! finds or claims the element in the [`map`], updates it, and runs the actions.
//!
//! # Reading
//!
//! [`show`] writes the `hist` file of an event from a copy of the map, [`line`](mod@line) the line
//! of a trigger as the `trigger` file has it, [`debug`] the `hist_debug` file.
//!
//! # Lock order
//!
//! `event_mutex` > each of: the lock of the [`registry`], that of the [pads](update::pad), and that
//! of a [`map`] while it is copied or wiped. None of these is taken while another of them is held.
//! [`show`] takes the last one, and the drop of a histogram may take that of the pads, without
//! `event_mutex`. Elements have seqlock-like locks of their own, for which waiting is bounded.
//!
//! C header: [`kernel/trace/trace.h`](srctree/kernel/trace/trace.h).

use kernel::{
    prelude::*,
    ModuleMetadata,
    ThisModule, //
};

mod action;
mod attrs;
mod build;
mod data;
#[cfg(CONFIG_HIST_TRIGGERS_DEBUG)]
mod debug;
mod exports;
mod expr;
mod field;
mod line;
mod log;
mod map;
mod out;
mod program;
mod registry;
mod show;
mod text;
mod trigger;
mod update;
mod var;

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

/// Most keys of a histogram.
const KEYS_MAX: usize = 3;

/// Most values of a histogram, the hit count being one of them.
const VALS_MAX: usize = 3;

/// Most variables of a histogram, and most references to variables in one.
const VARS_MAX: usize = map::VARS_MAX;

/// Most fields to sort by.
const SORT_KEYS_MAX: usize = 2;

/// Most `handler.action` clauses of a histogram.
const ACTIONS_MAX: usize = 8;

/// Most parameters of an action, and most fields of a synthetic event.
const PARAMS_MAX: usize = kernel::trace::synth::MAX_FIELDS;

/// Room for a string, with its NUL: a dynamic string key, a string variable, the text of an
/// expression.
const STR_MAX: usize = 256;

/// Most return addresses of a stack.
const STACK_DEPTH: usize = 31;

/// Size of a stack in a key, in bytes.
const STACK_SIZE: usize = STACK_DEPTH * size_of::<usize>();

/// Largest size of a key, in bytes.
const KEY_SIZE_MAX: usize = STR_MAX + STACK_SIZE;

/// Size of a word in bytes.
const WORD: usize = size_of::<u64>();

/// Largest number of operators of an expression.
const SUBEXPRS_MAX: u32 = 3;
