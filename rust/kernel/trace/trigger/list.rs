// SPDX-License-Identifier: GPL-2.0

//! The list of triggers that an event has.

use super::super::{
    event_file::{
        EventFile,
        Locked, //
    },
    event_mutex::Held, //
};
use crate::{
    bindings,
    error::to_result,
    interop::list::{
        clist_create,
        CListIter, //
    },
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    trace::raw,
    types::Opaque, //
};
use core::mem::offset_of;

/// The lists of triggers of all events.
///
/// A shared reference permits its holder to read triggers, an exclusive one to attach and detach
/// them. So no reference to a trigger exists while it is being detached.
///
/// # Invariants
///
/// `event_mutex` is held during `'h`, and this is the only value.
pub struct TriggersMut<'h> {
    held: Held<'h>,
    /// Given to a command, which C calls with `trigger_cmd_mutex` held.
    in_command: bool,
}

impl<'h> TriggersMut<'h> {
    /// Creates the token.
    ///
    /// # Safety
    ///
    /// No other one must exist as long as this one exists.
    pub(in crate::trace) unsafe fn new(held: Held<'h>) -> Self {
        // INVARIANT: `held` is evidence of the first, and the second is a safety requirement.
        Self {
            held,
            in_command: false,
        }
    }

    /// Creates the token for a command that executes a line.
    ///
    /// # Safety
    ///
    /// As for [`new`](Self::new).
    pub(super) unsafe fn for_command(held: Held<'h>) -> Self {
        // INVARIANT: As in `new`.
        Self {
            held,
            in_command: true,
        }
    }

    /// Returns `true` if a command has this: it cannot have another line executed.
    pub(super) fn is_in_command(&self) -> bool {
        self.in_command
    }

    /// Returns the token for functions that need `event_mutex` held.
    pub fn held(&self) -> Held<'h> {
        self.held
    }
}

// CAST: It is one bit.
const LINE: c_int = bindings::EVENT_TRIGGER_FL_LINE as c_int;

/// The number of flags below those that tell lines apart.
const MARK_SHIFT: u32 = 8;

// CAST: The same bits.
const MARK_MASK: c_int = (u32::MAX << MARK_SHIFT) as c_int | LINE;

impl EventFile<Locked<'_>> {
    /// Returns `true` if the event has a trigger that [`execute`](Self::execute) has not added.
    pub fn has_other_triggers(self, lists: &TriggersMut<'_>) -> bool {
        all(self, lists).any(|trigger| flags(trigger).load(Relaxed) & LINE == 0)
    }

    /// Returns `true` if the event has a trigger that [`execute`](Self::execute) has added for this
    /// line. Others of the same command do not count.
    pub fn has_trigger_of(self, line: &CStr, lists: &TriggersMut<'_>) -> bool {
        let wanted = mark(line);

        all(self, lists).any(|trigger| flags(trigger).load(Relaxed) & MARK_MASK == wanted)
    }
}

/// Returns the flags that a line sets on its trigger: one for all lines, and a hash of its text.
///
/// Two lines of the same hash, which is one pair in 16 million, are taken for one another if they
/// are about the same event and the command refuses the second of them.
fn mark(line: &CStr) -> c_int {
    // FNV-1a, folded to the number of bits.
    let hash = line.to_bytes().iter().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    });

    let hash = (hash ^ (hash >> (u32::BITS - MARK_SHIFT))) << MARK_SHIFT;

    // CAST: The same bits.
    hash as c_int | LINE
}

/// Returns the flags of a trigger.
fn flags(trigger: &AnyTrigger) -> &Atomic<c_int> {
    // SAFETY: It is valid. C writes to them before others know the trigger, then only
    // `mark_new` does.
    unsafe { Atomic::from_ptr(&raw mut (*trigger.get()).flags) }
}

/// Returns the addresses of the first and the last trigger of an event.
pub(super) fn ends(file: EventFile<Locked<'_>>, lists: &TriggersMut<'_>) -> [*const AnyTrigger; 2] {
    let mut all = all(file, lists).map(core::ptr::from_ref);
    let first = all.next().unwrap_or(core::ptr::null());

    [first, all.last().unwrap_or(first)]
}

/// Marks the trigger that a line has added, at either end, since [`ends`] has returned `before`.
pub(super) fn mark_new(
    file: EventFile<Locked<'_>>,
    line: &CStr,
    before: [*const AnyTrigger; 2],
    lists: &mut TriggersMut<'_>,
) {
    let mut all = all(file, lists);
    let Some(first) = all.next() else {
        return;
    };
    let last = all.last().unwrap_or(first);

    for (trigger, before) in [first, last].into_iter().zip(before) {
        if !core::ptr::eq(trigger, before) {
            let flags = flags(trigger);

            // No other code writes to them.
            flags.store(flags.load(Relaxed) | mark(line), Relaxed);
        }
    }
}

/// A trigger of any command, as C has it.
type AnyTrigger = Opaque<bindings::event_trigger_data>;

/// The return type of [`all`].
pub(super) type All<'a> =
    CListIter<'a, AnyTrigger, { offset_of!(bindings::event_trigger_data, list) }>;

/// Returns the triggers of an event, of any command. They are complete, and in the list during
/// `'a`.
pub(super) fn all<'a>(file: EventFile<Locked<'a>>, _lists: &'a TriggersMut<'_>) -> All<'a> {
    // SAFETY: The file is valid, and it is not accessed through the pointer here.
    let head = unsafe { &raw mut (*file.as_raw()).triggers };

    // SAFETY: C has initialised the list with the file, which is valid as long as the handle.
    // It does not change during `'a`, as for that an exclusive reference to `_lists` is needed. All
    // that is in it are triggers, and the type is transparent.
    unsafe { clist_create!(head, AnyTrigger, bindings::event_trigger_data, list) }.iter()
}

/// Returns `true` if the event has a trigger of this type, whatever its command.
pub(super) fn has_type(file: EventFile<Locked<'_>>, ty: u32, lists: &TriggersMut<'_>) -> bool {
    all(file, lists).any(|trigger| {
        // SAFETY: It is in the list, so it is valid and has a command.
        let found = unsafe { (*(*trigger.get()).cmd_ops).trigger_type };

        found == ty
    })
}

/// Appends a trigger to the list, and enables triggers in the event.
///
/// # Safety
///
/// `trigger` must be complete, in no list, and stay valid until it has been [unlinked](unlink) and
/// [synchronized with](super::synchronize). `event_mutex` must be held, and the list not be walked
/// under it.
pub(super) unsafe fn link(
    file: EventFile<Locked<'_>>,
    trigger: *mut bindings::event_trigger_data,
) -> Result {
    let file = file.as_raw();

    // SAFETY: The file is valid, and the rest is a safety requirement.
    let ret = unsafe {
        bindings::list_add_tail_rcu(&raw mut (*trigger).list, &raw mut (*file).triggers);
        raw::update_cond_flag(file);
        raw::trace_event_trigger_enable_disable(file, 1)
    };

    to_result(ret)
}

/// Removes a trigger from the list of the file that it was [linked](link) to, even if linking has
/// failed.
///
/// # Safety
///
/// It must be in that list. `event_mutex` must be held, and the list not be walked under it.
pub(super) unsafe fn unlink(
    file: EventFile<Locked<'_>>,
    trigger: *mut bindings::event_trigger_data,
) {
    let file = file.as_raw();

    // An event that cannot be disabled stays enabled, which is no harm but what it costs.
    //
    // SAFETY: The file is valid, and the rest is a safety requirement.
    unsafe {
        bindings::list_del_rcu(&raw mut (*trigger).list);
        raw::trace_event_trigger_enable_disable(file, 0);
        raw::update_cond_flag(file);
    }
}
