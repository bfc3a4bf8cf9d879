// SPDX-License-Identifier: GPL-2.0

//! Which events can be unregistered in a callback.
//!
//! C walks lists of events, or uses the event that it calls about, before and after a callback. An
//! event must not be removed from under it.

use crate::{
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    trace::event_mutex::Held, //
};

/// Not in a callback.
const ANY: usize = 0;
/// In a callback in which no event can be unregistered. Not the address of anything.
const NONE: usize = 1;

/// [`ANY`], [`NONE`], or the event that alone can be unregistered.
///
/// Only accessed with `event_mutex` held, so by the task that is in the callback.
static PERMITTED: Atomic<usize> = Atomic::new(ANY);

/// Says, while it exists, what can be unregistered.
///
/// These are nested: the previous value is restored by the drop.
pub(super) struct UnregisterScope<'a> {
    before: usize,
    _held: Held<'a>,
}

impl<'a> UnregisterScope<'a> {
    /// Creates the scope of a callback in which no event can be unregistered.
    pub(super) fn none(held: Held<'a>) -> Self {
        Self::set(NONE, held)
    }

    /// Creates the scope of a callback in which only the event with this
    /// [id](super::builtin::event::Event::permission_id) can be unregistered.
    pub(super) fn only(id: usize, held: Held<'a>) -> Self {
        Self::set(id, held)
    }

    /// Returns `true` if no event can be unregistered now.
    pub(super) fn is_none(_held: Held<'_>) -> bool {
        PERMITTED.load(Relaxed) == NONE
    }

    fn set(value: usize, held: Held<'a>) -> Self {
        let before = PERMITTED.load(Relaxed);
        PERMITTED.store(value, Relaxed);

        Self {
            before,
            _held: held,
        }
    }

    /// Returns `true` if the event with this id can be unregistered now.
    pub(super) fn covers(id: usize, _held: Held<'_>) -> bool {
        let permitted = PERMITTED.load(Relaxed);

        permitted == ANY || permitted == id
    }
}

impl Drop for UnregisterScope<'_> {
    fn drop(&mut self) {
        PERMITTED.store(self.before, Relaxed);
    }
}
