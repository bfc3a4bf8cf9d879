// SPDX-License-Identifier: GPL-2.0

//! Commands that make dynamic events, put together word by word.
//!
//! C header: [`include/linux/trace_events.h`](srctree/include/linux/trace_events.h).

use crate::{
    bindings,
    error::to_result,
    prelude::*, //
};
use core::marker::PhantomData;

/// Room for a command, with the NUL at its end.
const MAX_LEN: usize = bindings::MAX_DYNEVENT_CMD_LEN as usize;

/// What initialises a command, and decides about what it makes.
pub(in crate::trace) type Init =
    unsafe extern "C" fn(*mut bindings::dynevent_cmd, *mut c_char, c_int);

/// A `struct dynevent_cmd` with the buffer that it is written to.
///
/// It is given up when it is [run](Self::run), and who uses it gives it up when something has gone
/// wrong: so nothing is run that is not whole.
///
/// # Invariants
///
/// `raw` is initialised, with `_buffer` as its buffer, which is of [`MAX_LEN`] bytes. Strings that
/// C keeps the address of are there for `'a`.
pub(in crate::trace) struct Command<'a> {
    raw: bindings::dynevent_cmd,
    _buffer: KVec<u8>,
    _names: PhantomData<&'a CStr>,
}

impl Command<'_> {
    /// An empty command.
    ///
    /// # Safety
    ///
    /// `init` must initialise a `struct dynevent_cmd` with a buffer of the given length.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(in crate::trace) unsafe fn new(init: Init) -> Result<Self> {
        let mut buffer = KVec::from_elem(0, MAX_LEN, GFP_KERNEL)?;
        let mut raw = bindings::dynevent_cmd::default();

        // SAFETY: The buffer has that length, and stays at its address as long as it is not
        // dropped; the caller promises the rest. CAST: It is a small number.
        unsafe { init(&raw mut raw, buffer.as_mut_ptr().cast(), MAX_LEN as c_int) };
        // INVARIANT: It was just initialised, and has no names yet.
        Ok(Self {
            raw,
            _buffer: buffer,
            _names: PhantomData,
        })
    }

    /// For functions of C that add to the command.
    ///
    /// If they keep a string it has to be one that is there for `'a`.
    pub(in crate::trace) fn as_raw(&mut self) -> *mut bindings::dynevent_cmd {
        &raw mut self.raw
    }

    /// Adds this text as it is.
    ///
    /// # Errors
    ///
    /// `E2BIG` if there is no room for it.
    #[inline(never)]
    pub(in crate::trace) fn text(&mut self, text: &CStr) -> Result {
        // SAFETY: By the type invariant it is initialised; the string is copied.
        to_result(unsafe { bindings::dynevent_str_add(&raw mut self.raw, text.as_char_ptr()) })
    }

    /// Adds a word, with a space on either side.
    ///
    /// # Errors
    ///
    /// - `EINVAL` if it is not one word: C would take it for several ones.
    /// - `E2BIG` if there is no room for it.
    #[inline(never)]
    pub(in crate::trace) fn word(&mut self, word: &CStr) -> Result {
        if !is_word(word) {
            return Err(EINVAL);
        }
        let mut arg = bindings::dynevent_arg::default();

        // SAFETY: By the type invariant the command is initialised, and the argument is here; the
        // string is copied.
        to_result(unsafe {
            bindings::dynevent_arg_init(&raw mut arg, 0);
            arg.str_ = word.as_char_ptr();
            bindings::dynevent_arg_add(&raw mut self.raw, &raw mut arg, None)
        })
    }

    /// Has the command obeyed. Sleeps: takes `event_mutex`.
    pub(in crate::trace) fn run(mut self) -> Result {
        // SAFETY: By the type invariant it is initialised, and what it refers to is there.
        to_result(unsafe { bindings::dynevent_create(&raw mut self.raw) })
    }
}

/// Whether C takes this for one word.
pub(in crate::trace) fn is_word(text: &CStr) -> bool {
    let text = text.to_bytes();

    // `isspace()` is that of Latin 1.
    !text.is_empty()
        && !text
            .iter()
            .any(|b| matches!(b, b'\t'..=b'\r' | b' ' | 0xa0))
}

/// Whether this is a name of an event or a field for C, as `is_good_name()` tells.
pub(in crate::trace) fn is_name(name: &CStr) -> bool {
    let is_alpha = |b: u8| b.is_ascii_alphabetic() || b == b'_';

    match name.to_bytes() {
        [first, rest @ ..] => {
            is_alpha(*first) && rest.iter().all(|b| is_alpha(*b) || b.is_ascii_digit())
        }
        [] => false,
    }
}
