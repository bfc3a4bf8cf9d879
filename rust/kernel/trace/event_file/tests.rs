// SPDX-License-Identifier: GPL-2.0

//! Tests of references to events and instances.

use super::EventFile;
#[cfg(CONFIG_SYNTH_EVENTS)]
use super::Owned;
#[cfg(CONFIG_SYNTH_EVENTS)]
use crate::error::to_result;
use crate::{
    bindings,
    prelude::*,
    trace::{
        event_mutex,
        instance::{
            top,
            InstanceRef, //
        },
        tracepoint::ReadGuard, //
    },
};
use core::{
    mem::offset_of,
    ptr::null_mut, //
};

const NAME: &CStr = c"rust_instance_test";

/// Sets a filter, so that the records of an event are first written to a page aside, or removes it
/// if `filter` is `0`.
#[cfg(CONFIG_SYNTH_EVENTS)]
pub(in crate::trace) fn set_filter(file: &EventFile<Owned>, filter: &CStr) -> Result {
    let mut text = KVec::new();
    text.extend_from_slice(filter.to_bytes_with_nul(), GFP_KERNEL)?;
    let _guard = event_mutex::lock();

    // SAFETY: The file is kept, `event_mutex` is held, and the text can be written to.
    to_result(unsafe { bindings::apply_event_filter(file.as_raw(), text.as_mut_ptr().cast()) })
}

#[macros::kunit_tests(rust_kernel_trace_references)]
mod references {
    use super::*;

    #[test]
    fn instance_by_name() -> Result {
        let made = InstanceRef::get_by_name(NAME, Some(c"sched,irq")).ok_or(ENOMEM)?;
        let found = InstanceRef::get_by_name(NAME, None).ok_or(ENOMEM)?;

        assert!(made == found);
        // It has the events of these systems.
        assert!(EventFile::get(Some(NAME), c"sched", c"sched_switch").is_ok());
        assert_eq!(
            EventFile::get(Some(NAME), c"timer", c"timer_start").err(),
            Some(EINVAL)
        );
        // And stays as long as it is referenced.
        assert_eq!(made.destroy(), Err(EBUSY));
        found.destroy()
    }

    #[test]
    fn clock_of_a_read_only_instance() -> Result {
        const READ_ONLY: c_uint = bindings::TRACE_ARRAY_FL_RDONLY;

        let instance = InstanceRef::get_by_name(NAME, None).ok_or(ENOMEM)?;
        // SAFETY: The instance is kept.
        let flags = unsafe { &raw mut (*instance.as_raw()).flags };
        let guard = event_mutex::lock();
        let clock = instance.get(guard.held());

        clock.set_clock(c"mono")?;
        // SAFETY: Nothing else changes the flags of an instance that only this test uses.
        unsafe { *flags |= READ_ONLY };
        assert_eq!(clock.set_clock(c"global"), Err(EACCES));
        assert!(clock.clock_is(c"mono"));
        // SAFETY: As above.
        unsafe { *flags &= !READ_ONLY };
        clock.set_clock(c"global")?;
        assert!(clock.clock_is(c"global"));
        drop(guard);
        instance.destroy()
    }

    #[test]
    fn events_of_an_instance() -> Result {
        let instance = InstanceRef::get_by_name(NAME, Some(c"sched")).ok_or(ENOMEM)?;
        let switch = EventFile::get(Some(NAME), c"sched", c"sched_switch")?;
        let waking = EventFile::get(Some(NAME), c"sched", c"sched_waking")?;

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
        let file = EventFile::get(None, c"sched", c"sched_process_exec")?;

        top::set_event(Some(c"sched"), Some(c"sched_process_exec"), true)?;
        assert!(file.is_enabled());
        file.set_enabled(false)?;
        assert!(!file.is_enabled());
        assert_eq!(top::set_event(Some(c"no_such"), None, true), Err(EINVAL));
        Ok(())
    }

    #[test]
    fn on_and_off() -> Result {
        let file = EventFile::get(None, c"sched", c"sched_process_exec")?;
        // SAFETY: The file is kept, and its instance has a buffer.
        let buffer = unsafe { (*(*file.as_raw()).tr).array_buffer.buffer };
        // SAFETY: The buffer is permanent.
        let takes_records = || unsafe { bindings::ring_buffer_record_is_set_on(buffer) };

        assert!(top::is_on() && takes_records());
        top::tracing_off();
        assert!(!top::is_on() && !takes_records());
        top::tracing_on();
        assert!(top::is_on() && takes_records());
        Ok(())
    }

    #[test]
    #[cfg(CONFIG_TRACER_SNAPSHOT)]
    fn snapshots() -> Result {
        let file = EventFile::get(None, c"sched", c"sched_process_exec")?;
        // SAFETY: The file is kept, and its instance is permanent.
        let buffer = || unsafe { (*(*file.as_raw()).tr).array_buffer.buffer };
        let before = buffer();

        top::alloc_snapshot()?;
        top::snapshot_alloc();
        assert!(buffer() != before);
        top::snapshot();
        assert!(buffer() == before);
        assert!(top::is_on());
        Ok(())
    }

    #[test]
    fn without_filter_buffering() -> Result {
        let made = InstanceRef::get_by_name(NAME, Some(c"sched")).ok_or(ENOMEM)?;
        let other = EventFile::get(None, c"sched", c"sched_switch")?;

        {
            let guard = event_mutex::lock();
            let held = guard.held();
            let instance = made.get(held);
            // SAFETY: The instance is valid, and no other code changes its count.
            let sections = || unsafe { (*instance.as_raw()).no_filter_buffering_ref };

            let section = instance.disable_filter_buffering();
            drop(instance.disable_filter_buffering());
            assert_eq!(sections(), 1);

            // It lasts, and is not ended by another instance.
            other
                .file(held)
                .instance()
                .enable_filter_buffering(section.keep());
            assert_eq!(sections(), 1);

            let kept = instance.disable_filter_buffering().keep();
            assert_eq!(sections(), 2);
            instance.enable_filter_buffering(kept);
            assert_eq!(sections(), 1);
        }
        drop(other);
        made.destroy()
    }

    #[test]
    fn texts_in_an_instance() -> Result {
        let made = InstanceRef::get_by_name(NAME, Some(c"sched")).ok_or(ENOMEM)?;
        let file = EventFile::get(Some(NAME), c"sched", c"sched_switch")?;
        let top = EventFile::get(None, c"sched", c"sched_switch")?;
        let top = top.file(event_mutex::lock().held()).instance().pin()?;

        // Not to the top instance, which all users share.
        assert_eq!(top.init_printk(), Err(EINVAL));
        assert_eq!(top.print(fmt!("nobody sees this")), 0);

        made.init_printk()?;
        {
            let _guard = ReadGuard::new();
            assert_eq!(made.print(fmt!("{} and {}", 1, c"two")), 9);

            // SAFETY: The instance has a buffer, which no other code writes to or reads. The entry
            // is that of a text, which ends with a NUL.
            let (text, ip) = unsafe {
                let buffer = (*(*file.as_raw()).tr).array_buffer.buffer;
                let cpu = bindings::raw_smp_processor_id() as c_int;
                let event = bindings::ring_buffer_consume(buffer, cpu, null_mut(), null_mut());

                if event.is_null() {
                    return Err(ENOENT);
                }
                // A record need not be aligned for its fields.
                let entry = bindings::ring_buffer_event_data(event).cast::<u8>();
                let ip = entry.add(offset_of!(bindings::print_entry, ip));
                let text = entry.add(offset_of!(bindings::print_entry, buf));

                (
                    CStr::from_char_ptr(text.cast()),
                    ip.cast::<usize>().read_unaligned(),
                )
            };
            assert!(text == c"1 and two");

            // The loss of the record is not reported.
            //
            // SAFETY: The instance has a buffer.
            unsafe { bindings::ring_buffer_record_off((*(*file.as_raw()).tr).array_buffer.buffer) };
            assert_eq!(made.print(fmt!("lost")), 4);
            // It is shown as from this function.
            // Elsewhere it is that of the function that prints.
            if cfg!(any(CONFIG_X86_64, CONFIG_ARM64)) {
                assert!(ip.abs_diff(texts_in_an_instance as *const () as usize) < 0x10000);
            }
        }
        // It is permanent, whatever its references.
        assert_eq!(top.destroy(), Err(EBUSY));
        drop(file);
        made.destroy()
    }
}
