// SPDX-License-Identifier: GPL-2.0

//! All instances, and the events of one.

use super::{
    Instance,
    InstanceRef, //
};
use crate::{
    bindings,
    trace::{
        event_file::{
            EventFile,
            Locked, //
        },
        event_mutex,
        raw,
        removal::UnregisterScope,
        trigger::TriggersMut, //
    },
};
use core::{
    mem::offset_of,
    ptr::NonNull, //
};

/// A number that no other instance has as long as the one exists that it was taken from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct InstanceId(usize);

impl InstanceId {
    /// Returns the id of the instance at an address.
    pub fn of_address<T>(address: *const T) -> Self {
        Self(address.addr())
    }
}

impl Instance<'_> {
    /// Returns the id of the instance.
    pub fn id(self) -> InstanceId {
        InstanceId::of_address(self.as_raw())
    }
}

impl InstanceRef {
    /// Returns the id of the instance.
    pub fn id(&self) -> InstanceId {
        InstanceId::of_address(self.as_raw())
    }

    /// Calls `f` with the instance and the triggers of its events. No event can be unregistered in
    /// `f`, and it must not lock `event_mutex`.
    pub fn with_triggers<R>(
        &self,
        guard: &mut event_mutex::Guard,
        f: impl for<'h> FnOnce(Instance<'h>, &mut TriggersMut<'h>) -> R,
    ) -> R {
        let held = guard.held();
        let _permission = UnregisterScope::none(held);
        // SAFETY: A callback of a trigger, which could have one, is called with `event_mutex` held,
        // so it has no guard. The guard is borrowed exclusively as long as this exists.
        let mut lists = unsafe { TriggersMut::new(held) };

        f(self.get(held), &mut lists)
    }
}

/// Calls `f` with each instance and the triggers of its events. No event can be unregistered in
/// `f`, and it must not lock `event_mutex`.
///
/// # Examples
///
/// ```
/// use kernel::trace::{
///     event_mutex,
///     instance, //
/// };
///
/// let mut guard = event_mutex::lock();
/// let mut count = 0;
///
/// instance::for_each(&mut guard, |_instance, _triggers| count += 1);
/// assert!(count > 0);
/// ```
pub fn for_each(
    guard: &mut event_mutex::Guard,
    mut f: impl for<'h> FnMut(Instance<'h>, &mut TriggersMut<'h>),
) {
    let held = guard.held();
    let _permission = UnregisterScope::none(held);
    // SAFETY: As in `with_triggers`.
    let mut lists = unsafe { TriggersMut::new(held) };
    let mut next = None;

    loop {
        // SAFETY: `event_mutex` is held, and what was returned before was not removed.
        next = unsafe { next_instance(next) };
        let Some(instance) = next else {
            break;
        };

        // SAFETY: It is in the list, which it leaves with `event_mutex` held only, and nothing that
        // can be called in `f` removes it.
        f(unsafe { Instance::from_raw(instance, held) }, &mut lists);
    }
}

/// Calls `f` with each file of an event in an instance, the newest first, until it returns
/// something. Does nothing outside of the functions and callbacks in which no event can be
/// unregistered.
pub(in crate::trace) fn search_files<'h, R>(
    instance: Instance<'h>,
    mut f: impl FnMut(EventFile<Locked<'h>>) -> Option<R>,
) -> Option<R> {
    if !UnregisterScope::is_none(instance.held) {
        return None;
    }
    let mut next = None;

    loop {
        // SAFETY: The instance is there by the type invariant. `event_mutex` is held and no event
        // can be unregistered in `f`, so no file leaves the list.
        next = unsafe { next_file(instance, next) };
        // SAFETY: As above, it is in the list of the instance, and nothing that holds `event_mutex`
        // now can have an event removed.
        let file = unsafe { EventFile::from_raw(next?, instance.held) };

        if let Some(found) = f(file) {
            return Some(found);
        }
    }
}

/// Returns the instance that follows one, or the first.
///
/// # Safety
///
/// `event_mutex` must be held, and must have been since `before` was returned.
unsafe fn next_instance(
    before: Option<NonNull<bindings::trace_array>>,
) -> Option<NonNull<bindings::trace_array>> {
    let head = raw::trace_arrays();
    // SAFETY: By the safety requirements, `before` is in the list, which does not change.
    let next = unsafe {
        match before {
            Some(before) => (*before.as_ptr()).list.next,
            None => (*head).next,
        }
    };

    if core::ptr::eq(next, head) {
        return None;
    }
    NonNull::new(
        next.wrapping_byte_sub(offset_of!(bindings::trace_array, list))
            .cast(),
    )
}

/// Returns the file that follows one in the list of an instance, or the first.
///
/// # Safety
///
/// The instance must be valid, and the list must not have changed since `before` was returned
/// except at its start.
unsafe fn next_file(
    instance: Instance<'_>,
    before: Option<NonNull<bindings::trace_event_file>>,
) -> Option<NonNull<bindings::trace_event_file>> {
    // SAFETY: By the safety requirements, the instance is valid.
    let head = unsafe { &raw mut (*instance.as_raw()).events };
    // SAFETY: By the safety requirements, `before` is in the list.
    let next = unsafe {
        match before {
            Some(before) => (*before.as_ptr()).list.next,
            None => (*head).next,
        }
    };

    if core::ptr::eq(next, head) {
        return None;
    }
    NonNull::new(
        next.wrapping_byte_sub(offset_of!(bindings::trace_event_file, list))
            .cast(),
    )
}
