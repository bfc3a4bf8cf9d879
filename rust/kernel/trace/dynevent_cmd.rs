// SPDX-License-Identifier: GPL-2.0

//! Builders of commands that create dynamic events, word by word.
//!
//! They are what `synthetic_events` and `kprobe_events` of tracefs understand. Code that creates an
//! event with fields that are known has [`synth::Builder`](super::synth::Builder) and
//! [`kprobe::Builder`](super::kprobe::Builder), which ensure that the command means what it is
//! meant to; and events that are deleted when they are dropped.
//!
//! C header: [`include/linux/trace_events.h`](srctree/include/linux/trace_events.h).

use super::base::ctype::is_space;
use crate::{
    bindings,
    error::to_result,
    prelude::*,
    trace::raw, //
};
use core::marker::PhantomData;

/// Room for a command, with the NUL at its end.
const MAX_LEN: usize = bindings::MAX_DYNEVENT_CMD_LEN as usize;

/// The C function that initialises a command and determines the kind of its event.
type Init = unsafe extern "C" fn(*mut bindings::dynevent_cmd, *mut c_char, c_int);

/// A command, a `struct dynevent_cmd` with the buffer that it is written to.
///
/// It can have 2047 bytes. It is given up when it is [run](Self::run); that fails when something
/// that adds to it has failed, as it is not whole.
///
/// # Invariants
///
/// `raw` is initialised, with `_buffer` as its buffer, which is of `MAX_LEN` bytes. Strings that
/// C keeps the address of are valid for `'a`.
pub struct Command<'a> {
    raw: bindings::dynevent_cmd,
    _buffer: KVec<u8>,
    /// The result of all additions.
    whole: Result,
    _names: PhantomData<&'a CStr>,
}

impl<'a> Command<'a> {
    /// Creates a command for the synthetic event `name`: types and names of its fields are to be
    /// added as pairs, each followed by a semicolon.
    ///
    /// In C: `synth_event_cmd_init()`, `synth_event_gen_cmd_array_start()`.
    ///
    /// # Errors
    ///
    /// - `EINVAL` if `name` is no name: a letter or `_`, and then letters, digits and `_`.
    /// - `E2BIG` if it is too long.
    /// - `ENOMEM`.
    ///
    /// # Examples
    ///
    /// ```
    /// use kernel::trace::dynevent_cmd::Command;
    ///
    /// let mut command = Command::synth(c"rust_example_command")?;
    ///
    /// command.pair(c"u64", b' ', c"id", b';')?;
    /// command.pair(c"unsigned int", b' ', c"flags", b';')?;
    /// command.run()?;
    /// // An event that was created like this has no owner.
    /// kernel::trace::synth::delete(c"rust_example_command")?;
    /// # Ok::<(), Error>(())
    /// ```
    #[cfg(CONFIG_SYNTH_EVENTS)]
    pub fn synth(name: &'a CStr) -> Result<Self> {
        // With other characters in it, it would be more than a name: a field, or a command to
        // delete.
        if !is_name(name) {
            return Err(EINVAL);
        }
        // SAFETY: That is what this function of C does.
        let mut command = unsafe { Self::new(bindings::synth_event_cmd_init) }?;

        // C is not told a module: it would be set when the event may be enabled already.
        //
        // SAFETY: The command is initialised, and has no fields yet. C keeps the name, which is
        // valid as long as the command can be run.
        to_result(unsafe {
            bindings::synth_event_gen_cmd_array_start(
                command.as_raw(),
                name.as_char_ptr(),
                core::ptr::null_mut(),
                core::ptr::null_mut(),
                0,
            )
        })?;
        Ok(command)
    }

    /// Creates an empty command for `kprobe_events`, which creates or deletes a probe.
    ///
    /// In C: `kprobe_event_cmd_init()`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    #[cfg(CONFIG_KPROBE_EVENTS)]
    pub fn kprobe() -> Result<Self> {
        // SAFETY: That is what this function of C does.
        unsafe { Self::new(bindings::kprobe_event_cmd_init) }
    }

    /// Creates an empty command.
    ///
    /// # Safety
    ///
    /// `init` must initialise a `struct dynevent_cmd` with a buffer of the given length.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    unsafe fn new(init: Init) -> Result<Self> {
        let mut buffer = KVec::from_elem(0, MAX_LEN, GFP_KERNEL)?;
        let mut raw = bindings::dynevent_cmd::default();

        // SAFETY: The buffer has that length, and stays at its address as long as it is not
        // dropped; the rest is a safety requirement. CAST: It is a small number.
        unsafe { init(&raw mut raw, buffer.as_mut_ptr().cast(), MAX_LEN as c_int) };
        // INVARIANT: It was just initialised, and has no names yet.
        Ok(Self {
            raw,
            _buffer: buffer,
            whole: Ok(()),
            _names: PhantomData,
        })
    }

    /// Returns the command for functions of C that add to it.
    ///
    /// If they keep a string it has to be one that is valid for `'a`.
    #[cfg(CONFIG_SYNTH_EVENTS)]
    pub(in crate::trace) fn as_raw(&mut self) -> *mut bindings::dynevent_cmd {
        &raw mut self.raw
    }

    /// Records the result of an addition.
    fn added(&mut self, result: Result) -> Result {
        if result.is_err() {
            self.whole = result;
        }
        result
    }

    /// Adds this text as it is. In C: `dynevent_str_add()`.
    ///
    /// # Errors
    ///
    /// `E2BIG` if it does not fit.
    pub fn text(&mut self, text: &CStr) -> Result {
        // SAFETY: By the type invariant it is initialised; the string is copied.
        let ret = unsafe { raw::dynevent_str_add(&raw mut self.raw, text.as_char_ptr()) };

        self.added(to_result(ret))
    }

    /// Adds a word, with a space on either side. In C: `dynevent_arg_add()`.
    ///
    /// # Errors
    ///
    /// - `EINVAL` if it is not one word: C would take it for several ones.
    /// - `E2BIG` if it does not fit.
    pub fn word(&mut self, word: &CStr) -> Result {
        if !is_word(word) {
            return self.added(Err(EINVAL));
        }
        let mut arg = bindings::dynevent_arg::default();

        // SAFETY: By the type invariant the command is initialised, and the argument is here; the
        // string is copied.
        let result = to_result(unsafe {
            raw::dynevent_arg_init(&raw mut arg, 0);
            arg.str_ = word.as_char_ptr();
            raw::dynevent_arg_add(&raw mut self.raw, &raw mut arg, None)
        });

        self.added(result)
    }

    /// Appends a space, two texts with `operator` between them, and `end`. In C:
    /// `dynevent_arg_pair_add()`, which appends a space for each 0.
    ///
    /// # Errors
    ///
    /// - `EINVAL` if one of the texts is empty or has `end` in it, unless that is a space, or
    ///   `operator` or `end` is no ASCII character.
    /// - `E2BIG` if it does not fit.
    pub fn pair(&mut self, lhs: &CStr, operator: u8, rhs: &CStr, end: u8) -> Result {
        let is_text = |text: &CStr| {
            let text = text.to_bytes();

            !text.is_empty() && (end == b' ' || !text.contains(&end))
        };

        if !is_text(lhs) || !is_text(rhs) || !operator.is_ascii() || !end.is_ascii() {
            return self.added(Err(EINVAL));
        }
        let mut pair = bindings::dynevent_arg_pair::default();

        // SAFETY: By the type invariant the command is initialised, and the pair is here; the
        // strings are copied. CAST: ASCII characters are the same with a sign.
        let result = to_result(unsafe {
            raw::dynevent_arg_pair_init(&raw mut pair, operator as c_char, end as c_char);
            pair.lhs = lhs.as_char_ptr();
            pair.rhs = rhs.as_char_ptr();
            raw::dynevent_arg_pair_add(&raw mut self.raw, &raw mut pair, None)
        });

        self.added(result)
    }

    /// Runs the command. Sleeps: takes `event_mutex`, which must not be held. In C:
    /// `dynevent_create()`.
    ///
    /// One that creates a kprobe event takes `dyn_event_ops_mutex` outside of that, so it must not
    /// be run in [`Operations::create`](super::builtin::dynevent::Operations::create).
    ///
    /// # Errors
    ///
    /// - What kept something from being added to it.
    /// - What is wrong with the command. Mostly `error_log` of tracefs has more about it.
    pub fn run(mut self) -> Result {
        self.whole?;
        // SAFETY: By the type invariant it is initialised, and what it refers to is valid.
        to_result(unsafe { bindings::dynevent_create(&raw mut self.raw) })
    }
}

/// Returns `true` if C parses this text as one word.
pub(in crate::trace) fn is_word(text: &CStr) -> bool {
    let text = text.to_bytes();

    !text.is_empty() && !text.iter().any(|&b| is_space(b))
}

/// Returns `true` if this is a valid name of an event or a field for C, as `is_good_name()` does.
pub(in crate::trace) const fn is_name(name: &CStr) -> bool {
    let mut rest = name.to_bytes();
    let mut is_first = true;

    while let [byte, behind @ ..] = rest {
        let is_alpha = byte.is_ascii_alphabetic() || *byte == b'_';

        if !is_alpha && (is_first || !byte.is_ascii_digit()) {
            return false;
        }
        is_first = false;
        rest = behind;
    }
    !is_first
}
