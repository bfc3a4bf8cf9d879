// SPDX-License-Identifier: GPL-2.0

//! Capabilities.
//!
//! Permissions of the current task beyond those of its user IDs.
//!
//! C header: [`include/linux/capability.h`](srctree/include/linux/capability.h).

use crate::bindings;

/// Returns `true` if the current task may use the performance monitoring facilities.
///
/// It may when it has `CAP_PERFMON` or `CAP_SYS_ADMIN` in the initial user namespace. A positive
/// answer also marks the task as having used superuser privileges (`PF_SUPERPRIV`), so ask only
/// when the privilege is about to be used.
///
/// # Context
///
/// Process context, since the answer is about the current task. The security modules that are
/// asked may write an audit record.
///
/// # Examples
///
/// ```
/// use kernel::capability::perfmon_capable;
///
/// fn set_sampling(_on: bool) -> Result {
///     if !perfmon_capable() {
///         return Err(EPERM);
///     }
///     Ok(())
/// }
///
/// // A kernel thread has all capabilities.
/// set_sampling(true)?;
/// # Ok::<(), Error>(())
/// ```
#[inline]
pub fn perfmon_capable() -> bool {
    // SAFETY: `perfmon_capable()` has no requirements: it only reads the credentials of the current
    // task, which only that task replaces, and sets a flag in the current task.
    unsafe { bindings::perfmon_capable() }
}
