// SPDX-License-Identifier: GPL-2.0

//! What [`trace_event!`](super::trace_event) makes its events of.
//!
//! Nothing in here is to be used by hand. The macro makes a little code for each event; it is in
//! here what that code does:
//!
//! - [`hit`] and [`bpf`]: at the place where the tracepoint is;
//! - [`record`]: the probes of ftrace and perf, which write records;
//! - [`print`] and [`text`]: what people and tools read;
//! - [`object`]: the static objects that C finds by their sections.
//!
//! All of this can be inlined into modules, so it only uses what C exports.

mod bpf;
mod hit;
mod object;
mod print;
mod record;
mod text;

#[cfg(CONFIG_RUST_TRACE_KUNIT_TEST)]
mod tests;

use crate::{
    fmt,
    prelude::*, //
};

pub use self::{
    bpf::*,
    hit::*,
    object::*,
    print::*,
    record::*,
    text::{
        size as text_size,
        Piece,
        Text, //
    }, //
};
pub use super::tracepoint::{
    CallGuard,
    ProbeGuard,
    Tracepoint, //
};
pub use crate::{
    bindings::{
        print_line_t as RawPrintLine,
        trace_entry as Header,
        trace_event as RawEvent,
        trace_event_printf,
        trace_iterator as RawIterator,
        ANNOTYPE_NOENDBR, //
    },
    ffi::{
        c_int,
        c_void, //
    },
    str::as_char_ptr_in_const_context as c_str, //
};

/// The elements that an array of variable size is written from.
#[inline(always)]
pub fn array_source<T: Scalar>(source: &[T]) -> &[T] {
    source
}

/// The text that a `text` field is written from.
#[inline(always)]
pub fn text_source(source: fmt::Arguments<'_>) -> fmt::Arguments<'_> {
    source
}

/// Finds a tracepoint of the kernel proper by its name.
pub fn find(name: &CStr) -> Option<&'static Tracepoint> {
    super::probe::find(name)
}
