// SPDX-License-Identifier: GPL-2.0

//! The types and functions that the code of [`trace_event!`](super::trace_event) uses.
//!
//! Nothing in here is to be used by hand. The macro generates a little code for each event; this
//! module has the functions that it calls:
//!
//! - `asm`: the entries of sections that C reads;
//! - `hit` and `bpf`: at the place where the tracepoint is, and `argument` what it has;
//! - `c_type`: arguments of tracepoints that C has as well;
//! - `record` and `source`: the probes of ftrace and perf, which write records;
//! - `scalar` and `value`: the types of fields;
//! - `print`, `names`, `number` and `text`: what people and tools read;
//! - `object`: the static objects that C finds by their sections, and `custom` what differs for
//!   events on foreign tracepoints.
//!
//! All of this can be inlined into modules, so it only uses what C exports.

mod argument;
mod asm;
#[cfg(CONFIG_BPF_EVENTS)]
mod bpf;
mod c_type;
mod custom;
mod hit;
mod names;
mod number;
mod object;
mod print;
mod record;
mod scalar;
mod source;
mod text;
mod value;

#[cfg(CONFIG_RUST_TRACE_KUNIT_TEST)]
mod tests;

use crate::prelude::*;

#[cfg(CONFIG_BPF_EVENTS)]
pub use self::bpf::*;
pub use self::{
    argument::*,
    asm::*,
    c_type::*,
    hit::*,
    names::{
        labels_size,
        Label,
        Labels,
        Mask,
        Name,
        Named, //
        NamedValue,
    },
    number::*,
    object::*,
    print::*,
    record::*,
    scalar::*,
    source::*,
    text::{
        size as text_size,
        Piece,
        Text, //
    }, //
};
#[cfg(CONFIG_PERF_EVENTS)]
pub use super::perf::PerfEvent;
pub use super::probe::TracepointRef;
pub use super::tracepoint::{
    CallGuard,
    FaultableGuard,
    ProbeGuard,
    Tracepoint, //
};
pub use super::tracepoint_str::{
    listed,
    Listed,
    TracepointStr, //
};
pub use crate::{
    error::Result,
    ffi::{
        c_int,
        c_void, //
    },
    str::as_char_ptr_in_const_context as c_str, //
};

/// Returns a tracepoint of C that code is linked with.
///
/// # Safety
///
/// `tracepoint` must be the address of a static, of the kernel proper or of a module that the code
/// which asks depends on.
pub unsafe fn linked(tracepoint: *mut crate::bindings::tracepoint) -> TracepointRef {
    // SAFETY: By the safety requirements, the tracepoint is a static. A module stays loaded as long
    // as one that depends on it is.
    TracepointRef::own(unsafe { Tracepoint::from_raw(tracepoint) })
}

/// Finds a tracepoint of the kernel proper by its name, which exactly one must have.
pub fn find_built_in(name: &CStr) -> crate::error::Result<TracepointRef> {
    super::probe::find_built_in(name).map(TracepointRef::own)
}

/// Finds a tracepoint by its name, for code of `owner`.
pub fn find(name: &CStr, owner: &'static crate::ThisModule) -> crate::error::Result<TracepointRef> {
    super::probe::find(name, owner)
}
