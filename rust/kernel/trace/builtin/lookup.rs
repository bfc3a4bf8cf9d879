// SPDX-License-Identifier: GPL-2.0

//! Events that are created at run time, as an instance has them.

use super::event::{
    Class,
    Event,
    Operations, //
};
use crate::trace::{
    event_file::{
        EventFile,
        Locked, //
    },
    instance::{
        search_files,
        Instance, //
    }, //
};

impl<'h> Instance<'h> {
    /// Finds the file of an event. `None` if the instance does not have the system of the event, or
    /// outside of the functions and callbacks in which no event can be unregistered.
    pub fn file_of<T>(self, event: &Event<T>) -> Option<EventFile<Locked<'h>>> {
        // The files of the newest events are the first ones.
        search_files(self, |file| {
            (file.call() == event.as_call()).then_some(file)
        })
    }

    /// Calls `f` with each event of a class and with its file. Does nothing outside of the
    /// functions and callbacks in which no event can be unregistered.
    pub fn for_each_of<T: Operations>(
        self,
        class: &'static Class<T>,
        mut f: impl FnMut(&T, EventFile<Locked<'h>>),
    ) {
        search_files(self, |file| {
            let call = file.call();

            // SAFETY: By the type invariant of the file the event is there.
            if unsafe { (*call).class } == class.as_raw() {
                // SAFETY: Only the `Event` of a `T` has this class. It is registered, as C has a
                // file of it, so `data` points to the `T`, which is kept until the event is
                // unregistered.
                f(unsafe { &*(*call).data.cast::<T>() }, file);
            }
            None::<()>
        });
    }
}
