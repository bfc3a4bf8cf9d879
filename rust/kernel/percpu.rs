// SPDX-License-Identifier: GPL-2.0

//! Memory of which every CPU has its own copy.
//!
//! [`PerCpuCounter`] and [`Counters`] count without CPUs getting in each other's way, [`Pads`] is
//! scratch memory for code that may not allocate and has no room on the stack. Both are made where
//! sleeping is allowed, and used in any context, that of an NMI included.
//!
//! C header: [`include/linux/percpu.h`](srctree/include/linux/percpu.h)

use crate::{
    bindings,
    error::{
        code::*,
        Result, //
    },
    types::NotThreadSafe, //
};
use core::{
    ops::{
        Deref,
        DerefMut, //
    },
    ptr::NonNull,
    slice, //
};

mod counter;

pub use counter::{
    Counters,
    PerCpuCounter, //
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

    /// The per-CPU pointer, for the `this_cpu` operations.
    #[inline]
    fn as_ptr(&self) -> *mut T {
        self.ptr.as_ptr()
    }
}

impl<T> Drop for PerCpuArray<T> {
    fn drop(&mut self) {
        // SAFETY: By the type invariants the pointer was allocated and not freed, and nothing uses
        // the memory any more: what does borrows `self`.
        unsafe { bindings::free_percpu(self.as_ptr().cast()) };
    }
}

// SAFETY: The memory can be used and freed by any task.
unsafe impl<T: Send> Send for PerCpuArray<T> {}

// SAFETY: The pointer never changes. Whoever accesses the memory has to care for it.
unsafe impl<T: Send> Sync for PerCpuArray<T> {}

/// The most that the per-CPU allocator allocates at once (`PCPU_MIN_UNIT_SIZE`).
const MAX_SIZE: usize = 32 << 10;

/// Number of contexts that can nest on a CPU: a task, a soft interrupt, an interrupt, an NMI.
pub const NESTING: usize = 4;

/// Scratch memory for each CPU and each level of nesting.
///
/// The user of a pad has exclusive memory until it leaves the pad, with the contents of a previous
/// user. An interrupt in between uses other memory.
///
/// # Examples
///
/// ```
/// use kernel::percpu::Pads;
///
/// let pads = Pads::new(3)?;
///
/// let mut pad = pads.enter().ok_or(EBUSY)?;
/// assert_eq!(pad.len(), 3);
/// pad.fill(7);
///
/// // As an interrupt would.
/// let mut other = pads.enter().ok_or(EBUSY)?;
/// other.fill(8);
///
/// assert!(pad.iter().all(|word| *word == 7));
/// # Ok::<(), Error>(())
/// ```
///
/// There are only so many levels:
///
/// ```
/// use kernel::percpu::{Pads, NESTING};
///
/// let pads = Pads::new(1)?;
/// let mut guards = KVec::with_capacity(NESTING, GFP_KERNEL)?;
///
/// for _ in 0..NESTING {
///     guards.push_within_capacity(pads.enter().ok_or(EBUSY)?).map_err(|_| EINVAL)?;
/// }
/// assert!(pads.enter().is_none());
///
/// guards.pop();
/// assert!(pads.enter().is_some());
/// # Ok::<(), Error>(())
/// ```
pub struct Pads {
    /// A bit for each level that is in use.
    used: PerCpuArray<u32>,
    levels: [PerCpuArray<u64>; NESTING],
    words: usize,
}

impl Pads {
    /// Allocates pads of `words` 64-bit words. May sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` if `words` is 0 or more than 4096; `ENOMEM`.
    pub fn new(words: usize) -> Result<Self> {
        Ok(Self {
            used: PerCpuArray::new(1)?,
            levels: [
                PerCpuArray::new(words)?,
                PerCpuArray::new(words)?,
                PerCpuArray::new(words)?,
                PerCpuArray::new(words)?,
            ],
            words,
        })
    }

    /// Takes a pad, in any context. Preemption is off until the guard is dropped.
    ///
    /// Returns `None` if all levels are in use.
    #[inline]
    pub fn enter(&self) -> Option<PadGuard<'_>> {
        let mut level = 0;

        // SAFETY: `used` is a per-CPU pointer to a `u32`, and there are so many levels, which are
        // per-CPU pointers, as an array of which is represented like one of pointers.
        let words = unsafe {
            bindings::percpu_level_enter(
                self.used.as_ptr(),
                self.levels.as_ptr().cast(),
                NESTING as u32, // CAST: It is small.
                &mut level,
            )
        };

        // INVARIANT: The bit of the level was clear and has been set by this call, which has also
        // disabled preemption.
        Some(PadGuard {
            pads: self,
            words: NonNull::new(words.cast())?,
            level,
            _not_sent: NotThreadSafe,
        })
    }
}

/// A pad of [`Pads`], as long as it exists.
///
/// # Invariants
///
/// - This was made on the CPU that it is used on, on which it keeps preemption disabled.
/// - Of the bits of `pads.used` that this CPU has, that of `level` has been set for this guard
///   alone; `words` is the memory of this CPU that belongs to it.
pub struct PadGuard<'a> {
    pads: &'a Pads,
    words: NonNull<u64>,
    level: u32,
    _not_sent: NotThreadSafe,
}

impl Deref for PadGuard<'_> {
    type Target = [u64];

    #[inline]
    fn deref(&self) -> &[u64] {
        // SAFETY: By the type invariants this is memory of `pads.words` initialized words that no
        // other guard refers to, for as long as this guard exists.
        unsafe { slice::from_raw_parts(self.words.as_ptr(), self.pads.words) }
    }
}

impl DerefMut for PadGuard<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u64] {
        // SAFETY: As in `deref`, and `self` is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.words.as_ptr(), self.pads.words) }
    }
}

impl Drop for PadGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: This is a per-CPU pointer to a `u32`. By the type invariants the bit of this CPU
        // belongs to this guard, which has preemption disabled; the memory is not used any more.
        unsafe { bindings::percpu_level_leave(self.pads.used.as_ptr(), self.level) };
    }
}
