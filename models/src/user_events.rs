// SPDX-License-Identifier: GPL-2.0

//! The environment of the files of user_events. Events have no fields, and their only listener is
//! the one that the model attaches.

pub(crate) mod append_vec;
pub(crate) mod defs;
pub(crate) mod enabler;
pub(crate) mod event;
pub(crate) mod mm;
mod switch;
mod table;
mod visit_list;

use kernel::prelude::*;

/// As in the root of the crate `user_events`.
fn seed() -> u64 {
    kernel::random::get_u64()
}

/// A use of an event.
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

mod dynevent {
    use super::event::UserEvent;
    use kernel::trace::builtin::dynevent::Kind;

    pub(super) static KIND: Kind<UserEvent> = Kind::new();
}

mod faults {
    use kernel::workqueue::{
        self,
        Queue, //
    };

    /// The one queue of a model.
    pub(super) fn queue() -> &'static Queue {
        workqueue::system_percpu()
    }

    pub(super) fn may_warn() -> bool {
        true
    }
}

mod deliver {
    use super::event::{
        listens,
        UserEvent, //
    };

    pub(super) fn listeners(event: &UserEvent) -> u32 {
        if event.trace().is_enabled() {
            listens::FTRACE
        } else {
            0
        }
    }
}

mod reaper {
    use super::mm::MmState;
    use kernel::sync::Arc;

    /// At once.
    pub(super) fn reap_later(mm: Arc<MmState>) {
        mm.leave();
    }
}

mod registry {
    use super::event::UserEvent;
    use kernel::sync::Arc;

    /// No event is removed.
    pub(super) fn reap_later(_: Arc<UserEvent>) {}
}
