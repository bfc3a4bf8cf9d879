// SPDX-License-Identifier: GPL-2.0

//! Charging memory cgroups for memory that is allocated with a lock held.
//!
//! An accounted allocation may wait for as long as the memory cgroup of the task lets it: for
//! reclaim if that is at its limit, and for seconds if it is above `memory.high`. All users of a
//! lock would wait with it if it happened with the lock held. So what is allocated then is not
//! accounted while [`Unaccounted`] exists. A [`Charge`] accounts it without waiting. A task above
//! `memory.high` is slowed down when it returns to user space.
//!
//! C header: [`include/linux/memcontrol.h`](srctree/include/linux/memcontrol.h)

use crate::{
    bindings,
    error::from_err_ptr,
    prelude::*,
    types::NotThreadSafe, //
};

/// Exempts the current task from being charged for its allocations, while it exists.
///
/// The drop restores the state of before. So sections have to end in the reverse of the order in
/// which they began, as those of local variables do: otherwise the task stays exempted.
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
    #[inline(never)]
    pub fn new() -> Self {
        // INVARIANT: This is what the function returns.
        Self {
            // SAFETY: The function has no requirements: the root cgroup exists always.
            before: unsafe { bindings::memcg_unaccounted_begin() },
            _not_sent: NotThreadSafe,
        }
    }
}

impl Drop for Unaccounted {
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: By the type invariant this was the state before: null, the root cgroup, which
        // exists always, or what C code around this one has set, which does not end before this is
        // dropped, as it is not sent to another task.
        unsafe { bindings::memcg_unaccounted_end(self.before) };
    }
}

/// Returns `true` if the current task is in an [`Unaccounted`] section, or in one of C with another
/// memory cgroup.
#[inline(never)]
pub fn is_unaccounted() -> bool {
    // SAFETY: The function has no safety requirements.
    unsafe { bindings::memcg_is_unaccounted() }
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

// SAFETY: A shared reference has no operations.
unsafe impl Sync for Charge {}

impl Charge {
    /// Charges `bytes` to the memory cgroup of the current task.
    ///
    /// In an [`Unaccounted`] section this does not sleep, and is refused if the cgroup is at its
    /// limit. Otherwise it waits for reclaim then.
    ///
    /// # Errors
    ///
    /// `ENOMEM` if the cgroup has no room, or for 4 GiB and more, which C cannot uncharge. The OOM
    /// killer is not called.
    ///
    /// # Examples
    ///
    /// ```
    /// use kernel::memcg::{
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
    #[inline(never)]
    pub fn new(bytes: usize) -> Result<Self> {
        let may_wait = !is_unaccounted();

        // `refill_obj_stock()` takes an `unsigned int`.
        u32::try_from(bytes).map_err(|_| ENOMEM)?;
        // INVARIANT: Just charged.
        Ok(Self {
            // SAFETY: The function has no requirements, but that the caller may sleep if it says
            // so.
            cgroup: from_err_ptr(unsafe { bindings::memcg_charge(bytes, may_wait) })?,
            bytes,
        })
    }
}

impl Drop for Charge {
    #[inline(never)]
    fn drop(&mut self) {
        if !self.cgroup.is_null() {
            // SAFETY: By the type invariant these bytes are charged to the cgroup.
            unsafe { bindings::memcg_uncharge(self.cgroup, self.bytes) };
        }
    }
}
