// SPDX-License-Identifier: GPL-2.0

//! The messages that `error_log` has.
//!
//! C keeps a pointer to a table of them, which it follows when the log is read. A table in a module
//! can be freed by then, so a copy is used in place of it.

#[cfg(CONFIG_MODULES)]
use crate::trace::raw;
use crate::{
    prelude::*,
    str::CString,
    sync::SetOnce, //
};

/// The messages that a subsystem can log. See [`Instance::log_error`](super::Instance::log_error).
///
/// # Examples
///
/// ```
/// use kernel::trace::instance::ErrorTexts;
///
/// static TEXTS: ErrorTexts<2> = ErrorTexts::new([c"No error", c"Something is wrong"]);
/// ```
///
/// # Invariants
///
/// All are strings that are valid as long as the code that has the table.
#[repr(transparent)]
pub struct ErrorTexts<const N: usize>([*const c_char; N]);

// SAFETY: Neither the pointers nor the strings are ever changed.
unsafe impl<const N: usize> Send for ErrorTexts<N> {}
// SAFETY: As above.
unsafe impl<const N: usize> Sync for ErrorTexts<N> {}

impl<const N: usize> ErrorTexts<N> {
    pub(super) fn as_ptr(&self) -> *const *const c_char {
        self.0.as_ptr()
    }

    /// Creates the table, for a static.
    pub const fn new(texts: [&'static CStr; N]) -> Self {
        let mut table = [core::ptr::null(); N];
        let mut i = 0;

        while i < N {
            table[i] = crate::str::as_char_ptr_in_const_context(texts[i]);
            i += 1;
        }
        // INVARIANT: All entries have been set to static strings.
        Self(table)
    }
}

/// Maximum number of messages of modules that are kept.
const MOST: usize = 64;

/// For those that are not.
static REFUSED: ErrorTexts<1> = ErrorTexts::new([c"Refused by a module"]);

/// A message of a module, in a list of all that were logged.
struct Kept {
    text: CString,
    table: ErrorTexts<1>,
    next: SetOnce<KBox<Kept>>,
}

static FIRST: SetOnce<KBox<Kept>> = SetOnce::new();

impl Kept {
    fn new(text: &CStr) -> Result<KBox<Self>> {
        let text = CString::try_from(text)?;

        // INVARIANT: The string is not moved, and what is in the list stays there.
        let table = ErrorTexts([text.as_char_ptr()]);
        let next = SetOnce::new();

        Ok(KBox::new(Self { text, table, next }, GFP_KERNEL)?)
    }

    /// Finds the table with this message in the list, or adds it. Returns `None` if it cannot be
    /// added.
    fn find(text: &CStr) -> Option<&'static ErrorTexts<1>> {
        let mut place = &FIRST;

        for _ in 0..MOST {
            if place.as_ref().is_none() {
                place.populate(Self::new(text).ok()?);
            }

            let kept = place.as_ref()?;
            if *kept.text == *text {
                return Some(&kept.table);
            }
            place = &kept.next;
        }
        None
    }
}

/// Returns the table and the index if they are static, or those of a permanent copy.
///
/// # Safety
///
/// `texts` must be the table of an [`ErrorTexts`], with more than `index` strings.
pub(super) unsafe fn lasting(texts: *const *const c_char, index: u8) -> (*const *const c_char, u8) {
    // SAFETY: By the safety requirements, `texts` has more than `index` strings.
    let text = unsafe { *texts.add(index.into()) };

    if !is_in_module(texts.addr()) && !is_in_module(text.addr()) {
        return (texts, index);
    }
    // SAFETY: By the invariant of `ErrorTexts` it is a string, which is valid: its module has
    // called this.
    let copy = Kept::find(unsafe { CStr::from_char_ptr(text) });

    (copy.unwrap_or(&REFUSED).as_ptr(), 0)
}

#[cfg(CONFIG_MODULES)]
fn is_in_module(address: usize) -> bool {
    // SAFETY: The function has no requirements.
    unsafe { raw::is_module_address(address) }
}

#[cfg(not(CONFIG_MODULES))]
fn is_in_module(_address: usize) -> bool {
    false
}
