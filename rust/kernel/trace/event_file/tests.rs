// SPDX-License-Identifier: GPL-2.0

//! Tests of references to events and instances.

use super::EventFileRef;
use crate::{
    prelude::*,
    trace::{
        event_mutex,
        instance::{
            self,
            InstanceRef, //
        },
    },
};

const NAME: &CStr = c"rust_instance_test";

#[macros::kunit_tests(rust_kernel_trace_references)]
mod references {
    use super::*;

    #[test]
    fn instance_by_name() -> Result {
        let made = InstanceRef::get_by_name(NAME, Some(c"sched,irq")).ok_or(ENOMEM)?;
        let found = InstanceRef::get_by_name(NAME, None).ok_or(ENOMEM)?;

        assert!(made == found);
        // It has the events of these systems.
        assert!(EventFileRef::get(Some(NAME), c"sched", c"sched_switch").is_ok());
        assert_eq!(
            EventFileRef::get(Some(NAME), c"timer", c"timer_start").err(),
            Some(EINVAL)
        );
        // And stays as long as there is a reference.
        assert_eq!(made.destroy(), Err(EBUSY));
        found.destroy()
    }

    #[test]
    fn events_of_an_instance() -> Result {
        let instance = InstanceRef::get_by_name(NAME, Some(c"sched")).ok_or(ENOMEM)?;
        let switch = EventFileRef::get(Some(NAME), c"sched", c"sched_switch")?;
        let waking = EventFileRef::get(Some(NAME), c"sched", c"sched_waking")?;

        instance.set_event(Some(c"sched"), Some(c"sched_switch"), true)?;
        assert!(switch.is_enabled() && !waking.is_enabled());
        instance.set_event(None, None, true)?;
        assert!(switch.is_enabled() && waking.is_enabled());
        instance.set_event(Some(c"sched"), None, false)?;
        assert!(!switch.is_enabled() && !waking.is_enabled());
        assert_eq!(
            instance.set_event(None, Some(c"no_such_event"), true),
            Err(EINVAL)
        );

        {
            let guard = event_mutex::lock();
            let held = guard.held();

            assert!(switch.file(held).name() == c"sched_switch");
            assert!(switch.file(held).system() == c"sched");
            assert!(instance == switch.file(held).instance());
        }
        drop((switch, waking));
        instance.destroy()
    }

    #[test]
    fn the_top_instance() -> Result {
        let file = EventFileRef::get(None, c"sched", c"sched_process_exec")?;

        instance::set_event(Some(c"sched"), Some(c"sched_process_exec"), true)?;
        assert!(file.is_enabled());
        file.set_enabled(false)?;
        assert!(!file.is_enabled());
        assert_eq!(
            instance::set_event(Some(c"no_such"), None, true),
            Err(EINVAL)
        );
        Ok(())
    }
}
