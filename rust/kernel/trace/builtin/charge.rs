// SPDX-License-Identifier: GPL-2.0

//! Memory cgroups and memory that is allocated with `event_mutex` held.
//!
//! An accounted allocation may wait for as long as the memory cgroup of the task lets it: for
//! reclaim if that is at its limit, and for seconds if it is above `memory.high`. All of tracing
//! would wait with it, if it happened with `event_mutex` held, and any program can be in such a
//! cgroup. So what is allocated then is not accounted while [`Unaccounted`] exists. A [`Charge`]
//! accounts it without waiting. A task above `memory.high` is slowed down when it returns to user
//! space.
//!
//! C header: [`include/linux/memcontrol.h`](srctree/include/linux/memcontrol.h)

use crate::{
    bindings,
    error::from_err_ptr,
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    trace::event_mutex::Held,
    types::NotThreadSafe, //
};

/// Size of the charge that was refused last, see [`Unaccounted::take_missing`].
///
/// Only written inside of an [`Unaccounted`] section.
static MISSING: Atomic<usize> = Atomic::new(0);

/// Exempts the current task from being charged for its allocations, while it exists.
///
/// These are nested: the previous state is restored by the drop.
///
/// # Invariants
///
/// `before` is what the current task had as its active memory cgroup.
#[must_use = "allocations are accounted again when it is dropped"]
pub struct Unaccounted {
    before: *mut c_void,
    _not_sent: NotThreadSafe,
}

impl Unaccounted {
    /// Begins a section without charges.
    #[expect(clippy::new_without_default)]
    pub fn new() -> Self {
        // INVARIANT: This is what the function returns.
        Self {
            before: begin(),
            _not_sent: NotThreadSafe,
        }
    }

    /// Returns the size of the last [`Charge`] that was refused, in a section that began with
    /// `event_mutex` held, since the last call, or 0.
    pub fn take_missing(&self, _held: Held<'_>) -> usize {
        let missing = MISSING.load(Relaxed);

        MISSING.store(0, Relaxed);
        missing
    }
}

impl Drop for Unaccounted {
    fn drop(&mut self) {
        // SAFETY: By the type invariant this is the previous state. Later ones were restored, as
        // this is not sent to another task and sections are nested.
        unsafe { end(self.before) };
    }
}

/// A charge of the memory cgroup of the task that has created it. It ends with the drop.
///
/// # Invariants
///
/// `cgroup` is null, or was returned for `bytes` that are charged to it.
pub struct Charge {
    cgroup: *mut c_void,
    bytes: usize,
}

// SAFETY: A cgroup can be uncharged by any task.
unsafe impl Send for Charge {}

// SAFETY: There is nothing to be done with a reference.
unsafe impl Sync for Charge {}

impl Charge {
    /// Charges the memory cgroup of the current task.
    ///
    /// In an [`Unaccounted`] section that the caller is in, this does not sleep, and is refused if
    /// the cgroup is at its limit. Otherwise it waits for reclaim then.
    ///
    /// # Errors
    ///
    /// `ENOMEM` if the cgroup has no room. The OOM killer is not called.
    ///
    /// # Examples
    ///
    /// ```
    /// use kernel::trace::builtin::charge::{
    ///     Charge,
    ///     Unaccounted, //
    /// };
    ///
    /// let unaccounted = Unaccounted::new();
    /// let memory = KVVec::from_elem(0u8, 100_000, GFP_KERNEL_ACCOUNT)?;
    /// let charge = Charge::new(memory.len())?;
    /// # drop((charge, memory, unaccounted));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(bytes: usize) -> Result<Self> {
        let may_wait = !is_unaccounted();

        match charge(bytes, may_wait) {
            // INVARIANT: Just charged.
            Ok(cgroup) => Ok(Self { cgroup, bytes }),
            Err(e) => {
                if !may_wait {
                    MISSING.store(bytes, Relaxed);
                }
                Err(e)
            }
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if !self.cgroup.is_null() {
            // SAFETY: By the type invariant these bytes are charged to the cgroup.
            unsafe { uncharge(self.cgroup, self.bytes) };
        }
    }
}

fn begin() -> *mut c_void {
    // SAFETY: There are no requirements: the root cgroup exists always.
    unsafe { bindings::trace_unaccounted_begin() }
}

/// # Safety
///
/// The current task must have got `before` of [`begin`], and have ended the sections that it began
/// after that.
unsafe fn end(before: *mut c_void) {
    // SAFETY: As the caller guarantees it, `before` is null or the root cgroup, or what the task
    // was set to by C code around this one.
    unsafe { bindings::trace_unaccounted_end(before) };
}

fn is_unaccounted() -> bool {
    // SAFETY: There are no requirements.
    unsafe { bindings::trace_is_unaccounted() }
}

fn charge(bytes: usize, may_wait: bool) -> Result<*mut c_void> {
    // SAFETY: There are no requirements, but that the caller may sleep if it says so.
    from_err_ptr(unsafe { bindings::trace_charge(bytes, may_wait) })
}

/// # Safety
///
/// [`charge`] must have returned `cgroup` for `bytes`, which are uncharged once.
unsafe fn uncharge(cgroup: *mut c_void, bytes: usize) {
    // SAFETY: The caller guarantees it.
    unsafe { bindings::trace_uncharge(cgroup, bytes) };
}
