// SPDX-License-Identifier: GPL-2.0

//! The names of numbers, which print formats look up.
//!
//! They are written in the print format, or are in a table: a constant array of numbers and
//! strings, which several events can use.
//!
//! C header: [`include/linux/tracepoint-defs.h`](srctree/include/linux/tracepoint-defs.h).

use crate::{
    bindings,
    prelude::*, //
};

/// A number by which flags and symbols are looked up.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number that has names",
    note = "names are for integers"
)]
pub trait Named {
    /// Returns the value as C takes it.
    fn named(self) -> Mask;
}

/// A number as C compares it with those of a table.
#[cfg(CONFIG_64BIT)]
pub type Mask = usize;
/// A number as C compares it with those of a table: the functions for 64 bits are used.
#[cfg(not(CONFIG_64BIT))]
pub type Mask = u64;

#[cfg(CONFIG_64BIT)]
type RawName = bindings::trace_print_flags;
#[cfg(not(CONFIG_64BIT))]
type RawName = bindings::trace_print_flags_u64;

macro_rules! named {
    ($($ty:ty)*) => {$(
        impl Named for $ty {
            #[inline(always)]
            fn named(self) -> Mask {
                // CAST: As C does: the sign is extended.
                self as Mask
            }
        }
    )*};
}

named! { u8 i8 u16 i16 u32 i32 u64 i64 usize isize }

/// A number and its name.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Name(RawName);

// SAFETY: It is not written to.
unsafe impl Sync for Name {}

impl Name {
    /// Creates a pair of a number and its name.
    pub const fn new(value: i128, name: &'static CStr) -> Self {
        Self::from_raw(value, crate::str::as_char_ptr_in_const_context(name))
    }

    const fn from_raw(value: i128, name: *const c_char) -> Self {
        // CAST: As C does: what is too large loses its high bits, and a sign is extended.
        Self(RawName {
            mask: value as Mask,
            name,
        })
    }

    /// Returns the names of a table, whose strings are in `labels`.
    pub const fn table<const N: usize, const SIZE: usize>(
        entries: &[NamedValue; N],
        labels: &'static Labels<SIZE>,
    ) -> [Self; N] {
        let mut names = [Self::new(0, c""); N];
        let (mut i, mut at) = (0, 0);

        while i < N {
            let string = labels.0.as_slice().split_at(at).1;

            names[i] = Self::from_raw(entries[i].value, string.as_ptr().cast());
            at += entries[i].label.len() + 1;
            i += 1;
        }
        names
    }
}

/// Returns the names of flags in the buffer of `seq`, with `delimiter` between them.
///
/// # Safety
///
/// `seq` must be valid, and not be used by other code.
pub(super) unsafe fn print_flags(
    seq: *mut bindings::trace_seq,
    delimiter: &CStr,
    value: Mask,
    names: &'static [Name],
) -> *const c_char {
    #[cfg(CONFIG_64BIT)]
    use bindings::trace_print_flags_seq as print;
    #[cfg(not(CONFIG_64BIT))]
    use bindings::trace_print_flags_seq_u64 as print;

    // SAFETY: By the safety requirements, the buffer is valid. A `Name` is what C has.
    unsafe {
        print(
            seq,
            delimiter.as_char_ptr(),
            value,
            names.as_ptr().cast(),
            names.len(),
        )
    }
}

/// Returns the name of a number in the buffer of `seq`.
///
/// # Safety
///
/// As for [`print_flags`].
pub(super) unsafe fn print_symbol(
    seq: *mut bindings::trace_seq,
    value: Mask,
    names: &'static [Name],
) -> *const c_char {
    #[cfg(CONFIG_64BIT)]
    use bindings::trace_print_symbols_seq as print;
    #[cfg(not(CONFIG_64BIT))]
    use bindings::trace_print_symbols_seq_u64 as print;

    // SAFETY: As in `print_flags`.
    unsafe { print(seq, value, names.as_ptr().cast(), names.len()) }
}

/// The string of an entry of a table, of either type.
pub struct Label<T>(pub T);

impl Label<&'static str> {
    /// Returns the bytes.
    pub const fn label(self) -> &'static str {
        self.0
    }
}

impl Label<&'static CStr> {
    /// Returns the bytes.
    pub const fn label(self) -> &'static str {
        match core::str::from_utf8(self.0.to_bytes()) {
            Ok(label) => label,
            Err(_) => panic!("a name in a table is UTF-8"),
        }
    }
}

/// An entry of a table.
#[derive(Clone, Copy)]
pub struct NamedValue {
    pub(super) value: i128,
    pub(super) label: &'static str,
}

impl NamedValue {
    /// An entry that is yet to be set.
    pub const UNSET: Self = Self::new(0, "");

    /// Creates a pair of a number and its name.
    pub const fn new(value: i128, label: &'static str) -> Self {
        Self { value, label }
    }

    /// Returns `true` if tools print the name as it is written.
    pub const fn is_plain(label: &str) -> bool {
        let bytes = label.as_bytes();
        let mut i = 0;

        while i < bytes.len() {
            if matches!(bytes[i], b'"' | b'\\' | 0..=0x1f | 0x7f) {
                return false;
            }
            i += 1;
        }
        true
    }
}

/// Returns the size of the strings of a table, each with its NUL.
pub const fn labels_size(entries: &[NamedValue]) -> usize {
    let (mut size, mut i) = (0, 0);

    while i < entries.len() {
        size += entries[i].label.len() + 1;
        i += 1;
    }
    size
}

/// The strings of a table, each with its NUL.
pub struct Labels<const SIZE: usize>([u8; SIZE]);

impl<const SIZE: usize> Labels<SIZE> {
    /// Joins the strings, whose [size](labels_size) must be `SIZE`.
    pub const fn new(entries: &[NamedValue]) -> Self {
        let mut labels = [0; SIZE];
        let (mut at, mut i) = (0, 0);

        while i < entries.len() {
            let label = entries[i].label.as_bytes();
            let mut j = 0;

            while j < label.len() {
                labels[at] = label[j];
                at += 1;
                j += 1;
            }
            at += 1;
            i += 1;
        }
        assert!(at == SIZE);
        Self(labels)
    }
}
