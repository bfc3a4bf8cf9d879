// SPDX-License-Identifier: GPL-2.0

//! Static strings, of which a record has the address only.
//!
//! C header: [`include/linux/tracepoint.h`](srctree/include/linux/tracepoint.h).

#[cfg(CONFIG_EVENT_TRACING)]
use super::{
    raw,
    static_event::{
        Argument,
        Scalar, //
    },
};
use crate::prelude::*;

/// A string that tools find by its address in the file `printk_formats` of tracefs.
///
/// As the type of a field it takes as much room as a pointer, however long the string is, and is
/// printed by `%s`. [`tracepoint_string!`](crate::trace::tracepoint_string) creates it.
///
/// # Invariants
///
/// A permanent string.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct TracepointStr(*const c_char);

// SAFETY: The string is not written to.
unsafe impl Send for TracepointStr {}
// SAFETY: As above.
unsafe impl Sync for TracepointStr {}

/// The string of a record whose address is not that of a registered string.
#[cfg(CONFIG_EVENT_TRACING)]
// SAFETY: The literal is a string of the kernel proper.
const BROKEN: TracepointStr = unsafe { TracepointStr::new(c"(broken)") };

impl TracepointStr {
    /// Creates an entry, for a static in the section of these strings.
    ///
    /// # Safety
    ///
    /// `text` must be permanent: a string of the kernel proper, not of a module.
    #[doc(hidden)]
    pub const unsafe fn new(text: &'static CStr) -> Self {
        // INVARIANT: By the safety requirements.
        Self(crate::str::as_char_ptr_in_const_context(text))
    }

    /// Returns the string at the address in a record, or a substitute if it is not a registered
    /// string.
    #[cfg(CONFIG_EVENT_TRACING)]
    fn look_up(address: *const c_char) -> Self {
        // SAFETY: C compares the address with those of the section.
        if unsafe { raw::trace_is_tracepoint_string(address) } {
            // INVARIANT: It is one of them.
            Self(address)
        } else {
            BROKEN
        }
    }

    /// Returns the string.
    pub fn as_c_str(&self) -> &'static CStr {
        // SAFETY: By the type invariant.
        unsafe { CStr::from_char_ptr(self.0) }
    }
}

#[cfg(CONFIG_EVENT_TRACING)]
// SAFETY: A pointer, which may have any value. C takes it for the address of a string, which it is,
// and checks that before it prints; no arrays of it exist.
unsafe impl Scalar for TracepointStr {
    type Bits = *const c_char;
    type Shown = Self;
    const NAME: &'static str = "const char *";
    const SIGNED: bool = false;
    const IN_ARRAYS: bool = false;

    #[inline(always)]
    fn to_bits(self) -> *const c_char {
        self.0
    }

    #[inline(always)]
    fn shown(bits: *const c_char) -> Self {
        Self::look_up(bits)
    }
}

#[cfg(CONFIG_EVENT_TRACING)]
impl Argument for TracepointStr {
    #[inline(always)]
    fn to_word(self) -> u64 {
        self.0.to_word()
    }
}

/// A field with a single value that `%s` can print.
///
/// # Safety
///
/// [`listed`](Self::listed) returns a string.
#[cfg(CONFIG_EVENT_TRACING)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be printed by `%s`",
    note = "that is for strings: a field that is `str`, `[char; N]` or a `TracepointStr`"
)]
pub unsafe trait Listed {
    /// Returns the argument for C.
    fn listed(self) -> *const c_char;
}

#[cfg(CONFIG_EVENT_TRACING)]
// SAFETY: By the type invariant.
unsafe impl Listed for TracepointStr {
    fn listed(self) -> *const c_char {
        self.0
    }
}

/// Returns the argument for C of a field that `%s` prints.
#[cfg(CONFIG_EVENT_TRACING)]
#[inline(always)]
pub fn listed<T: Listed>(value: T) -> *const c_char {
    value.listed()
}

/// Defines a [`TracepointStr`](crate::trace::TracepointStr) of a literal.
///
/// The address and the text appear in the file `printk_formats` of tracefs. That is so for code
/// that is built into the kernel only, and using this in a module is an error: it has `str` fields.
///
/// # Examples
///
/// ```
/// use kernel::trace::tracepoint_string;
///
/// let state = tracepoint_string!(c"waiting for room");
///
/// assert_eq!(state.as_c_str(), c"waiting for room");
/// ```
#[macro_export]
macro_rules! tracepoint_string {
    ($text:literal) => {{
        #[cfg(all(MODULE, CONFIG_EVENT_TRACING))]
        ::core::compile_error!("the strings of modules are not listed: use a field that is `str`");
        const TEXT: &::core::ffi::CStr = $text;
        #[used]
        #[cfg_attr(CONFIG_EVENT_TRACING, link_section = "__tracepoint_str")]
        static LISTED: $crate::trace::TracepointStr =
            // SAFETY: This is a literal of the kernel proper, as modules are refused above.
            unsafe { $crate::trace::TracepointStr::new(TEXT) };
        LISTED
    }};
}
