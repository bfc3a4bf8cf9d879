// SPDX-License-Identifier: GPL-2.0

//! Stack traces.
//!
//! C header: [`include/linux/stacktrace.h`](srctree/include/linux/stacktrace.h).

#[cfg(CONFIG_STACKTRACE)]
use crate::bindings;

/// Saves the stack of the current task: return addresses, the innermost first.
///
/// Returns the number of addresses, and does not change the other entries. `skip` frames are left
/// out, the first of which is that of the caller. An inlined function has no frame. Without
/// `CONFIG_STACKTRACE` it returns no addresses.
///
/// # Context
///
/// Any context. No lock is taken.
///
/// # Examples
///
/// ```
/// let mut entries = [0; 4];
/// let n = kernel::stacktrace::save(&mut entries, 0);
///
/// // User-Mode Linux has none.
/// assert!(n <= entries.len());
/// assert!(entries.iter().take(n).all(|address| *address != 0));
/// ```
#[doc(alias = "stack_trace_save")]
#[inline(always)]
pub fn save(entries: &mut [usize], skip: u32) -> usize {
    #[cfg(CONFIG_STACKTRACE)]
    {
        let len = u32::try_from(entries.len()).unwrap_or(u32::MAX);

        // CAST: An address is an `unsigned long`, as is a `usize`. The result is not more than the
        // length.
        //
        // SAFETY: `entries` has room for `len` addresses.
        unsafe { bindings::stack_trace_save(entries.as_mut_ptr().cast(), len, skip) as usize }
    }
    #[cfg(not(CONFIG_STACKTRACE))]
    {
        let _ = (entries, skip);
        0
    }
}
