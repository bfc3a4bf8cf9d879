// SPDX-License-Identifier: GPL-2.0

//! Names of what is only known by a number: symbols and pointers.
//!
//! C headers: [`include/linux/kallsyms.h`](srctree/include/linux/kallsyms.h),
//! [`include/linux/sprintf.h`](srctree/include/linux/sprintf.h).

use crate::{
    bindings,
    prelude::*, //
};

/// Room for the name of any symbol, with offset, size and module: more than `KSYM_SYMBOL_LEN`.
const NAME_LEN: usize = 1024;

static_assert!(NAME_LEN > bindings::KSYM_NAME_LEN as usize + 256);

/// A buffer for a name.
///
/// # Examples
///
/// ```
/// use kernel::trace::builtin::symbol::Name;
///
/// let mut name = Name::new();
///
/// // There is nothing at this address.
/// # #[cfg(CONFIG_KALLSYMS)]
/// assert_eq!(name.lookup(1, true), b"0x1");
/// # #[cfg(not(CONFIG_KALLSYMS))]
/// # assert_eq!(name.lookup(1, true), b"0x0000000000000001");
/// assert!(!name.hashed(1).is_empty());
/// ```
pub struct Name([u8; NAME_LEN]);

impl Name {
    /// An empty place.
    #[expect(
        clippy::new_without_default,
        reason = "a kilobyte that is asked for by name"
    )]
    pub const fn new() -> Self {
        Self([0; NAME_LEN])
    }

    /// Returns the symbol that contains an address, or the address in hexadecimal, with `0x`, if no
    /// symbol does.
    ///
    /// With `offset` the name is followed by how far the address is into the symbol and by the size
    /// of that, `+0x10/0x40`. A symbol of a module is followed by the name of that, `[module]`.
    /// This is what `%pS` and `%ps` print. Without `CONFIG_KALLSYMS` it is always the address, with
    /// all of its digits. Does not sleep.
    pub fn lookup(&mut self, address: usize, offset: bool) -> &[u8] {
        // SAFETY: There is room for the longest name that there can be.
        let len = unsafe { sprint(self.0.as_mut_ptr(), address, offset) };

        self.text(len)
    }

    /// Returns the output of `%p` for a pointer: a number that only identifies it.
    pub fn hashed(&mut self, address: usize) -> &[u8] {
        // SAFETY: The format takes one pointer, which is not read from; C writes no more than there
        // is room for.
        let len = unsafe {
            bindings::snprintf(
                self.0.as_mut_ptr().cast(),
                NAME_LEN,
                c"%p".as_char_ptr(),
                core::ptr::without_provenance::<c_void>(address),
            )
        };

        self.text(len)
    }

    /// The first `len` bytes.
    fn text(&self, len: c_int) -> &[u8] {
        let len = usize::try_from(len).unwrap_or(0);

        self.0.get(..len).unwrap_or(&[])
    }
}

/// Returns `true` if the current task may see addresses of the kernel, as in `/proc/kallsyms`: this
/// depends on its capabilities and on `kernel.kptr_restrict`.
pub fn address_allowed() -> bool {
    // SAFETY: There are no requirements.
    unsafe { bindings::trace_may_show_addresses() }
}

/// Returns the name of a system call, or `None` if the number is unknown.
pub fn syscall_name(nr: u64) -> Option<&'static CStr> {
    // SAFETY: C looks the number up, and returns null for one that it does not have.
    let name = unsafe { bindings::get_syscall_name(c_int::try_from(nr).ok()?) };

    // SAFETY: A pointer that is not null is a permanent string.
    (!name.is_null()).then(|| unsafe { CStr::from_char_ptr(name) })
}

/// # Safety
///
/// There must be room for `NAME_LEN` bytes at `buffer`.
#[cfg(CONFIG_KALLSYMS)]
unsafe fn sprint(buffer: *mut u8, address: usize, offset: bool) -> c_int {
    if offset {
        // SAFETY: By the safety requirements, `buffer` has `NAME_LEN` bytes.
        unsafe { bindings::sprint_symbol(buffer.cast(), address) }
    } else {
        // SAFETY: By the safety requirements, `buffer` has `NAME_LEN` bytes.
        unsafe { bindings::sprint_symbol_no_offset(buffer.cast(), address) }
    }
}

/// Without symbols, C's functions for them are empty; what prints pointers knows what to do.
///
/// # Safety
///
/// There must be room for `NAME_LEN` bytes at `buffer`.
#[cfg(not(CONFIG_KALLSYMS))]
unsafe fn sprint(buffer: *mut u8, address: usize, _offset: bool) -> c_int {
    // SAFETY: By the safety requirements, `buffer` has `NAME_LEN` bytes. The format takes one
    // pointer, which is not read from.
    unsafe {
        bindings::snprintf(
            buffer.cast(),
            NAME_LEN,
            c"%pS".as_char_ptr(),
            core::ptr::without_provenance::<c_void>(address),
        )
    }
}
