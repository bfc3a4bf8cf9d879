// SPDX-License-Identifier: GPL-2.0

//! The environment of the files of user_events. Events have no fields, and their only listener is
//! the one that the model attaches.

pub(crate) mod append_vec;
pub(crate) mod defs;
pub(crate) mod enabler;
pub(crate) mod event;
pub(crate) mod mm;
mod patience;
mod progress;
mod switch;
mod visit_list;

use kernel::prelude::*;

/// Returns a number as in the root of the crate `user_events`.
fn seed() -> u64 {
    kernel::random::get_u64()
}

/// Uses up the visits of words in processes that share enable bits, for the following switches.
pub(crate) fn spend_shared_visits() {
    let mut patience = patience::Patience::begin();

    // More than is regained before the model has ended.
    patience.visited_shared(usize::MAX, kernel::time::Instant::now());
    patience.keep();
}

/// Creates a use of an event.
pub(crate) fn event_use(event: &kernel::sync::Arc<event::UserEvent>) -> event::EventUse {
    event::EventUse::new(event.clone())
}

pub(crate) mod parse {
    use super::validate::Validator;
    use kernel::prelude::*;

    pub(crate) struct Layout<'a> {
        pub(crate) fields: &'a [()],
        pub(crate) validators: Pin<KBox<[Validator]>>,
        pub(crate) min_size: usize,
    }
}

pub(crate) mod validate {
    pub(crate) struct Validator;
}

mod counts {
    use kernel::prelude::*;

    pub(crate) struct Counts;

    impl Counts {
        pub(crate) fn new() -> Self {
            Self
        }

        pub(crate) fn allocate(&self) -> Result {
            Ok(())
        }
    }
}

/// The lines of `set_user_event`: the models have none.
mod patterns {
    pub(super) fn exist() -> bool {
        false
    }
}

pub(crate) mod faults {
    use kernel::workqueue::{
        self,
        Queue, //
    };

    pub(crate) fn queue() -> &'static Queue {
        workqueue::system_percpu()
    }

    pub(crate) fn waiting() -> &'static Queue {
        workqueue::system_long()
    }

    pub(super) fn try_copy<R>(f: impl FnOnce() -> R) -> Option<R> {
        Some(f())
    }

    pub(super) fn may_warn() -> bool {
        true
    }
}

mod listens {
    use kernel::trace::builtin::event::Event;

    pub(super) const FTRACE: u32 = 1 << 0;
    pub(super) const PERF: u32 = 1 << 1;

    pub(super) fn to<T>(event: &Event<T>) -> u32 {
        if event.is_enabled() {
            FTRACE
        } else {
            0
        }
    }
}

pub(crate) mod reaper {
    use super::{
        event::UserEvent,
        mm::MmState, //
    };
    use kernel::sync::Arc;

    /// Releases the state at once.
    pub(crate) fn release(mm: Arc<MmState<UserEvent>>) {
        MmState::close(&mm);
        mm.leave();
    }
}

pub(crate) mod unused {
    use super::event::UserEvent;
    use kernel::{
        list::ListArc,
        sync::Arc, //
    };
    use std::cell::RefCell;

    thread_local! {
        /// The list of unused events, of the models that have one.
        static LIST: RefCell<Option<Vec<ListArc<UserEvent>>>> = const { RefCell::new(None) };
    }

    /// Lists the event, unless it is listed or the model has no list. None is removed.
    pub(super) fn reap_later(event: Arc<UserEvent>) {
        if LIST.with_borrow(|list| list.is_none()) {
            return;
        }

        let event = ListArc::try_from_arc_or_drop(event);

        LIST.with_borrow_mut(|list| {
            if let Some(list) = list {
                list.extend(event);
            }
        });
    }

    /// Begins a model with an empty list.
    pub(crate) fn begin() {
        LIST.set(Some(Vec::new()));
    }

    /// Takes the next event off the list.
    pub(crate) fn next() -> Option<ListArc<UserEvent>> {
        LIST.with_borrow_mut(|list| list.as_mut()?.pop())
    }

    /// Ends a model. Returns `true` if an event was left on the list.
    pub(crate) fn end() -> bool {
        LIST.take().is_some_and(|list| !list.is_empty())
    }
}
