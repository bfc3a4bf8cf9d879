// SPDX-License-Identifier: GPL-2.0

//! Names of kernel addresses.
//!
//! C header: [`include/linux/kallsyms.h`](srctree/include/linux/kallsyms.h).

use crate::{
    bindings,
    prelude::*, //
};

/// Size of the longest name, with offset, size and module: more than `KSYM_SYMBOL_LEN`.
const NAME_LEN: usize = 1024;

static_assert!(NAME_LEN > bindings::KSYM_NAME_LEN as usize + 256);

/// A buffer for the name of an address.
///
/// # Examples
///
/// ```
/// use kernel::kallsyms::SymbolName;
///
/// let mut name = SymbolName::new();
///
/// // There is nothing at this address.
/// # #[cfg(CONFIG_KALLSYMS)]
/// assert_eq!(name.lookup(1, true), b"0x1");
/// # #[cfg(not(CONFIG_KALLSYMS))]
/// # assert_eq!(name.lookup(1, true), b"0x0000000000000001");
/// ```
pub struct SymbolName([u8; NAME_LEN]);

impl SymbolName {
    /// Creates an empty buffer.
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
    /// With `offset` the name is followed by the offset of the address in the symbol and the size
    /// of the symbol, `+0x10/0x40`. A symbol of a module is followed by the name of the module,
    /// `[module]`. This is what `%pS` and `%ps` print. Without `CONFIG_KALLSYMS` it is always the
    /// address, with all of its digits. Does not sleep.
    #[doc(alias = "sprint_symbol")]
    pub fn lookup(&mut self, address: usize, offset: bool) -> &[u8] {
        // SAFETY: The buffer has `NAME_LEN` bytes.
        let len = unsafe { sprint(self.0.as_mut_ptr(), address, offset) };

        usize::try_from(len)
            .ok()
            .and_then(|len| self.0.get(..len))
            .unwrap_or(&[])
    }
}

/// Returns `true` if the current task may see addresses of the kernel, as in `/proc/kallsyms`: this
/// depends on its capabilities and on `kernel.kptr_restrict`.
#[doc(alias = "kallsyms_show_value")]
#[inline(never)]
pub fn may_show_addresses() -> bool {
    // SAFETY: The subjective credentials of the current task are valid, and only that task replaces
    // them.
    unsafe { bindings::kallsyms_show_value((*bindings::get_current()).cred) }
}

/// Prints the symbol that contains `address`, with the offset in it or without, and returns the
/// length.
///
/// # Safety
///
/// `buffer` must have room for `NAME_LEN` bytes.
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

/// Prints the address, since the functions of C for symbols write nothing without kallsyms.
///
/// # Safety
///
/// `buffer` must have room for `NAME_LEN` bytes.
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
