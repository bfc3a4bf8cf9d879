// SPDX-License-Identifier: GPL-2.0

//! Random numbers.
//!
//! C header: [`include/linux/random.h`](srctree/include/linux/random.h)

use crate::bindings;

/// Returns an unpredictable random number, for example as the seed of a hash function.
///
/// Can be called in any context but that of an NMI. Early in the boot, before the generator has
/// been seeded, the numbers may be guessed; the C function warns about that where it is configured
/// to.
///
/// # Examples
///
/// ```
/// use kernel::random::get_u64;
///
/// // Ten equal numbers in a row are not random.
/// let first = get_u64();
/// assert!((0..10).any(|_| get_u64() != first));
/// ```
#[inline]
pub fn get_u64() -> u64 {
    // SAFETY: The function has no requirements.
    unsafe { bindings::get_random_u64() }
}
