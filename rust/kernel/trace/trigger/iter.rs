// SPDX-License-Identifier: GPL-2.0

//! The triggers of one command that an event has.

use super::{
    super::event_file::{
        EventFile,
        Locked, //
    },
    data,
    list::{
        all,
        unlink,
        All,
        TriggersMut, //
    },
    Command,
    Trigger, //
};
use crate::{
    bindings,
    types::Opaque, //
};
use core::marker::PhantomData;

impl EventFile<Locked<'_>> {
    /// Returns the triggers of one command, in the order they were attached in.
    pub fn triggers<'a, T: Command>(self, lists: &'a TriggersMut<'_>) -> Iter<'a, T>
    where
        Self: 'a,
    {
        Iter {
            all: all(self, lists),
            _triggers: PhantomData,
        }
    }

    /// Detaches the first trigger of a command for which `pred` returns `true`, and frees it
    /// later.
    ///
    /// Returns `true` if the list had one. `gone` is called with its data when it is in the list no
    /// more; it may still be hit, until [`synchronize`](super::synchronize) has been called. It is
    /// freed after `gone` has returned. Sleeps.
    pub fn detach<T: Command>(
        self,
        lists: &mut TriggersMut<'_>,
        mut pred: impl FnMut(&Trigger<T>) -> bool,
        gone: impl FnOnce(&T::Data),
    ) -> bool {
        let held = lists.held();
        let mut iter = self.triggers::<T>(lists);
        let trigger = loop {
            let Some(trigger) = iter.next_raw() else {
                return false;
            };
            // SAFETY: It is in the list, so it is not freed.
            if pred(unsafe { Trigger::from_c(trigger) }) {
                break trigger;
            }
        };

        // SAFETY: The trigger is in the list of this file, and as `lists` is borrowed exclusively
        // no reference to it exists, but for those in hits. The list releases it here.
        unsafe {
            unlink(self, trigger);
            data::retire::<T>(trigger, held, gone);
        }
        true
    }
}

/// The triggers of one command and one event. See [`EventFile::triggers`].
pub struct Iter<'a, T> {
    all: All<'a>,
    _triggers: PhantomData<&'a T>,
}

impl<T: Command> Iter<'_, T> {
    /// Returns the next trigger of this command, which is that of a `Trigger<T>` in the list.
    fn next_raw(&mut self) -> Option<*mut bindings::event_trigger_data> {
        let ours = T::ops().as_raw();

        self.all.by_ref().map(Opaque::get).find(|trigger| {
            // Only a `Trigger<T>` has this command: a `CommandOps<T>` is at this address
            // permanently, and its address is private to the module above.
            //
            // SAFETY: It is in the list, so it is valid; the command is set before it is added.
            let command = unsafe { (**trigger).cmd_ops };

            command == ours
        })
    }
}

impl<'a, T: Command> Iterator for Iter<'a, T> {
    type Item = &'a Trigger<T>;

    fn next(&mut self) -> Option<Self::Item> {
        let trigger = self.next_raw()?;

        // SAFETY: It is in the list during `'a`, so it is not freed.
        Some(unsafe { Trigger::from_c(trigger) })
    }
}
