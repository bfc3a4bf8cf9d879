// SPDX-License-Identifier: GPL-2.0

//! Counters with a part for each CPU.
//!
//! The parts are machine words: an NMI or another CPU could see the halves of anything larger
//! apart.
//!
//! C header: [`include/linux/percpu.h`](srctree/include/linux/percpu.h)

use super::PerCpuArray;
use crate::{
    bindings,
    cpu,
    error::{
        code::*,
        Result, //
    },
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

/// Returns the numbers of the possible CPUs.
fn possible_cpus() -> impl Iterator<Item = u32> {
    // SAFETY: The function only looks at a bit, and each CPU below the number of CPUs has one.
    (0..cpu::nr_cpu_ids()).filter(|&cpu| unsafe { bindings::cpu_possible(cpu) })
}

impl<T> PerCpuArray<T> {
    /// Returns the arrays of all possible CPUs.
    fn of_all_cpus(&self) -> impl Iterator<Item = *mut T> + '_ {
        possible_cpus()
            // SAFETY: By the type invariants this is a per-CPU pointer, and the CPU is possible.
            .map(|cpu| unsafe { bindings::per_cpu_ptr(self.as_ptr().cast(), cpu) }.cast())
    }
}

/// A counter with a part for each CPU.
///
/// Adding to it writes memory of this CPU only. The count is the sum of all parts, modulo
/// 2^[`usize::BITS`]. The memory is charged to the memory cgroup of the task that creates it.
///
/// # Examples
///
/// ```
/// use kernel::percpu::PerCpuCounter;
///
/// let counter = PerCpuCounter::new()?;
/// assert_eq!(counter.sum(), 0);
///
/// counter.add(1);
/// counter.add(41);
/// assert_eq!(counter.sum(), 42);
///
/// counter.add(0usize.wrapping_sub(2));
/// assert_eq!(counter.sum(), 40);
///
/// counter.reset();
/// assert_eq!(counter.sum(), 0);
/// # Ok::<(), Error>(())
/// ```
pub struct PerCpuCounter {
    parts: PerCpuArray<usize>,
}

impl PerCpuCounter {
    /// Creates a counter of 0. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn new() -> Result<Self> {
        Ok(Self {
            parts: PerCpuArray::new(1)?,
        })
    }

    /// Adds `n`, in any context.
    ///
    /// An addition of an NMI that interrupts another one on the same counter can be lost on
    /// architectures without an instruction for it, where `this_cpu_add()` is generic.
    #[inline]
    pub fn add(&self, n: usize) {
        // SAFETY: This is a per-CPU pointer to a `usize`. All accesses to it are atomic in respect
        // of the CPU that it belongs to, and of single copies in respect of others.
        unsafe { bindings::this_cpu_add_usize(self.parts.as_ptr(), n) };
    }

    /// Returns the count. Concurrent additions may or may not be included.
    pub fn sum(&self) -> u64 {
        self.atomics()
            .fold(0usize, |sum, part| sum.wrapping_add(part.load(Relaxed))) as u64
    }

    /// Sets the count to 0.
    ///
    /// An addition at the same time may be lost, or undo the reset of the part of a CPU.
    pub fn reset(&self) {
        self.atomics().for_each(|part| part.store(0, Relaxed));
    }

    fn atomics(&self) -> impl Iterator<Item = &Atomic<usize>> {
        self.parts.of_all_cpus().map(|part| {
            // SAFETY: This points to a `usize` that lives as long as `self`; it is only accessed by
            // atomic operations and by `this_cpu_add`, which does not race with them.
            unsafe { Atomic::from_ptr(part) }
        })
    }
}

/// An array of counters, each with a part for each CPU.
///
/// As many [`PerCpuCounter`]s in less memory: a `usize` each and CPU.
///
/// # Examples
///
/// ```
/// use kernel::percpu::Counters;
///
/// let counters = Counters::new(3)?;
///
/// counters.add(0, 1);
/// counters.add(2, 40);
/// counters.add(2, 2);
/// assert_eq!([counters.sum(0), counters.sum(1), counters.sum(2)], [1, 0, 42]);
/// assert_eq!(counters.size(), Counters::size_of(3));
///
/// // Beyond the end.
/// counters.add(3, 1);
/// assert_eq!(counters.sum(3), 0);
///
/// counters.reset();
/// assert_eq!(counters.sum(2), 0);
///
/// assert_eq!(Counters::new(0).err(), Some(EINVAL));
/// assert_eq!(Counters::new(Counters::MAX + 1).err(), Some(EINVAL));
/// # Ok::<(), Error>(())
/// ```
///
/// # Invariants
///
/// `parts` has `len` words.
pub struct Counters {
    parts: PerCpuArray<usize>,
    len: usize,
}

impl Counters {
    /// The largest number of counters in an array.
    pub const MAX: usize = super::MAX_SIZE / size_of::<usize>();

    /// Creates `len` counters of 0. May sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` if `len` is 0 or more than [`MAX`](Self::MAX); `ENOMEM`.
    pub fn new(len: usize) -> Result<Self> {
        if len == 0 || len > Self::MAX {
            return Err(EINVAL);
        }
        // INVARIANT: So many words are allocated.
        Ok(Self {
            parts: PerCpuArray::new(len)?,
            len,
        })
    }

    /// Returns the size that [`new`](Self::new) allocates for all CPUs, in bytes: 0 if it fails
    /// with `EINVAL`.
    pub fn size_of(len: usize) -> usize {
        if len > Self::MAX {
            return 0;
        }
        possible_cpus()
            .count()
            .saturating_mul(size_of::<usize>().wrapping_mul(len))
    }

    /// Returns the size of the memory of all CPUs, in bytes.
    pub fn size(&self) -> usize {
        Self::size_of(self.len)
    }

    /// Adds `n` to the counter of an index, in any context, without a memory barrier. Has no
    /// effect beyond the end of the array. Additions of NMIs are as for [`PerCpuCounter::add`].
    #[inline(always)]
    pub fn add(&self, index: usize, n: usize) {
        if index < self.len {
            // SAFETY: By the type invariant this is a per-CPU pointer to a `usize` in the array.
            // Accesses are those of `PerCpuCounter::add`.
            unsafe { bindings::this_cpu_add_usize(self.parts.as_ptr().wrapping_add(index), n) };
        }
    }

    /// Returns the count of an index, or 0 beyond the end of the array. Concurrent additions may
    /// or may not be included.
    pub fn sum(&self, index: usize) -> u64 {
        if index >= self.len {
            return 0;
        }
        self.parts.of_all_cpus().fold(0usize, |sum, parts| {
            // SAFETY: By the type invariant this points into the array of a CPU, which is only
            // accessed as that of a `PerCpuCounter` is.
            let part = unsafe { Atomic::from_ptr(parts.wrapping_add(index)) };

            sum.wrapping_add(part.load(Relaxed))
        }) as u64
    }

    /// Sets all counts to 0. Additions at the same time are as for [`PerCpuCounter::reset`].
    pub fn reset(&self) {
        for parts in self.parts.of_all_cpus() {
            for index in 0..self.len {
                // SAFETY: As in `sum`.
                unsafe { Atomic::from_ptr(parts.wrapping_add(index)) }.store(0, Relaxed);
            }
        }
    }
}
