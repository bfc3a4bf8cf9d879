// SPDX-License-Identifier: GPL-2.0

//! System calls, as the events of C know them.
//!
//! C header: [`kernel/trace/trace.h`](srctree/kernel/trace/trace.h).

use crate::{
    bindings,
    prelude::*, //
};

/// Returns the name of a system call, or `None` if the number is unknown.
pub fn name(nr: u64) -> Option<&'static CStr> {
    // SAFETY: C looks the number up, and returns null for one that it does not have.
    let name = unsafe { bindings::get_syscall_name(c_int::try_from(nr).ok()?) };

    // SAFETY: A pointer that is not null is a permanent string.
    (!name.is_null()).then(|| unsafe { CStr::from_char_ptr(name) })
}
