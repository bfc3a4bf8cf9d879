// SPDX-License-Identifier: GPL-2.0

//! Memory of which every CPU has its own copy.
//!
//! [`PerCpuCounter`] and [`Counters`] count without CPUs getting in each other's way,
//! [`ScratchPool`] is scratch memory for code that may not allocate and has no room on the stack.
//! All are created where sleeping is allowed, and used in any context, that of an NMI included.
//!
//! C header: [`include/linux/percpu.h`](srctree/include/linux/percpu.h)

use crate::{
    bindings,
    error::{
        code::*,
        Result, //
    }, //
};
use core::ptr::NonNull;

mod counter;
mod scratch;

pub use self::{
    counter::{
        Counters,
        PerCpuCounter, //
    },
    scratch::{
        ScratchGuard,
        ScratchPool,
        NESTING, //
    }, //
};

/// An array of zeroed words for each possible CPU.
///
/// # Invariants
///
/// `ptr` is a per-CPU pointer that `alloc_percpu` returned for an array of `T`, and that has not
/// been given to `free_percpu`.
#[repr(transparent)]
struct PerCpuArray<T> {
    ptr: NonNull<T>,
}

impl<T> PerCpuArray<T> {
    /// Allocates `len` words for each CPU. May sleep.
    fn new(len: usize) -> Result<Self>
    where
        T: pin_init::Zeroable,
    {
        let size = size_of::<T>().checked_mul(len).ok_or(EINVAL)?;

        if size == 0 || size > MAX_SIZE {
            return Err(EINVAL);
        }

        // SAFETY: The function has no requirements but that the caller may sleep.
        let ptr = unsafe { bindings::alloc_percpu(size, align_of::<T>()) };

        // INVARIANT: It was just allocated.
        Ok(Self {
            ptr: NonNull::new(ptr.cast()).ok_or(ENOMEM)?,
        })
    }

    /// Returns the per-CPU pointer, for the `this_cpu` operations.
    #[inline]
    fn as_ptr(&self) -> *mut T {
        self.ptr.as_ptr()
    }
}

impl<T> Drop for PerCpuArray<T> {
    fn drop(&mut self) {
        // SAFETY: By the type invariants the pointer was allocated and not freed, and nothing uses
        // the memory now: what does borrows `self`.
        unsafe { bindings::free_percpu(self.as_ptr().cast()) };
    }
}

// SAFETY: The memory can be used and freed by any task.
unsafe impl<T: Send> Send for PerCpuArray<T> {}

// SAFETY: The pointer never changes. Code that accesses the memory has to care for it.
unsafe impl<T: Send> Sync for PerCpuArray<T> {}

/// The most that the per-CPU allocator allocates at once (`PCPU_MIN_UNIT_SIZE`).
const MAX_SIZE: usize = 32 << 10;
