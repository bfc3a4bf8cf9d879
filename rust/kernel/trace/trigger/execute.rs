// SPDX-License-Identifier: GPL-2.0

//! Execution of the lines that are written to the file `trigger` of an event.
//!
//! C header: [`kernel/trace/trace.h`](srctree/kernel/trace/trace.h)

use super::{
    super::{
        event_file::{
            EventFile,
            Locked, //
        },
        event_mutex::Held, //
    },
    list,
    TriggersMut, //
};
use crate::{
    bindings,
    error::to_result,
    prelude::*,
    trace::raw, //
};

/// Returns `true` if a line begins with the name of a command. Sleeps: takes `trigger_cmd_mutex`,
/// with which [`Command::parse`](super::Command::parse) is called.
///
/// # Examples
///
/// ```
/// use kernel::trace::trigger::is_command;
///
/// assert!(is_command(c"traceoff:1 if common_pid == 1"));
/// assert!(!is_command(c"trace"));
/// ```
pub fn is_command(line: &CStr) -> bool {
    // SAFETY: It is a string, which C only reads.
    unsafe { raw::trigger_is_command(line.as_char_ptr()) }
}

/// The execution of a line, see [`EventFile::execute`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Execution {
    /// Executes the line with a `!` before it.
    pub remove: bool,
    /// Keeps the messages of the command out of `error_log`.
    pub quiet: bool,
}

impl EventFile<Locked<'_>> {
    /// Executes a line as if it were written to the file `trigger`.
    ///
    /// A trigger that is added is marked, see [`has_other_triggers`](Self::has_other_triggers) and
    /// [`has_trigger_of`](Self::has_trigger_of).
    ///
    /// # Errors
    ///
    /// Those of the command; `EINVAL` if no command has this name, `ENOMEM`. `EDEADLK` in
    /// [`Command::parse`](super::Command::parse): C has its commands locked there.
    pub fn execute(self, line: &CStr, how: Execution, lists: &mut TriggersMut<'_>) -> Result {
        if lists.is_in_command() {
            return Err(EDEADLK);
        }
        let text = line.to_bytes_with_nul();
        let mut copy = KVec::with_capacity(text.len().saturating_add(1), GFP_KERNEL)?;

        if how.remove {
            copy.push(b'!', GFP_KERNEL)?;
        }
        copy.extend_from_slice(text, GFP_KERNEL)?;

        let before = list::ends(self, lists);
        let _muted = how.quiet.then(|| Muted::new(lists.held()));
        // SAFETY: By the type invariant the file is valid, and `event_mutex` is held. As the lists
        // of triggers are borrowed exclusively, no reference to one that the command detaches
        // exists. The copy is a string, which C takes apart in place and does not keep.
        to_result(unsafe { raw::trigger_process_regex(self.as_raw(), copy.as_mut_ptr().cast()) })?;
        if !how.remove {
            list::mark_new(self, line, before, lists);
        }
        Ok(())
    }
}

/// Keeps the messages of the current task out of `error_log` while it exists.
struct Muted<'h>(Held<'h>);

impl<'h> Muted<'h> {
    fn new(held: Held<'h>) -> Self {
        // SAFETY: The function has no safety requirements.
        raw::mute_error_log(unsafe { bindings::get_current() }, held);
        Self(held)
    }
}

impl Drop for Muted<'_> {
    fn drop(&mut self) {
        raw::mute_error_log(core::ptr::null_mut(), self.0);
    }
}
