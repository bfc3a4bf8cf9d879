// SPDX-License-Identifier: GPL-2.0

//! Tests of records of synthetic events: their contents, and their maximum number.

use super::{
    event_tests::{
        args,
        module,
        records,
        FIELDS,
        INSTANCE, //
    },
    SynthEvent, //
};
use crate::{
    bindings,
    prelude::*,
    trace::{
        event_file::{
            tests::set_filter,
            EventFile,
            Owned, //
        },
        instance::InstanceRef,
        tracepoint::ReadGuard,
        HEADER_SIZE, //
    },
};
use core::ptr::null_mut;

/// Reads the payload of the next record on this CPU, which is removed from the buffer.
fn next_payload(file: &EventFile<Owned>, payload: &mut [u8]) -> Result {
    // SAFETY: The file is kept, and its instance has a buffer; a consumed record is not overwritten
    // until another one is consumed, which only this test could do. It has a header.
    unsafe {
        let buffer = (*(*file.as_raw()).tr).array_buffer.buffer;
        let cpu = bindings::raw_smp_processor_id() as c_int;
        let event = bindings::ring_buffer_consume(buffer, cpu, null_mut(), null_mut());

        if event.is_null() {
            return Err(ENOENT);
        }
        let data = bindings::ring_buffer_event_data(event).cast::<u8>();
        payload
            .as_mut_ptr()
            .copy_from(data.add(HEADER_SIZE), payload.len());
    }
    Ok(())
}

#[macros::kunit_tests(rust_kernel_trace_synth_records)]
mod suite {
    use super::*;

    #[test]
    fn what_is_not_given_is_zero() -> Result {
        let event = SynthEvent::create(c"rust_test_zero", &FIELDS, module())?;
        let instance = InstanceRef::get_by_name(INSTANCE, Some(c"synthetic")).ok_or(ENOMEM)?;
        let tracer = event.tracer(Some(INSTANCE))?;
        let file = tracer.file();
        // Numbers take a word each, and a string of fixed size 256 bytes.
        let mut payload = [0x55u8; 3 * 8 + 256];

        set_filter(file, c"small == 255 || small == 0")?;
        file.set_enabled(true)?;
        {
            // Both are written to the page of this CPU, one over the other.
            let _guard = ReadGuard::new();

            tracer.trace(&args(255, -1, c"seventy", u64::MAX))?;
            drop(tracer.in_order()?);
            let mut record = tracer.by_name()?;
            record.set(c"small", 255u8)?;
            drop(record);

            next_payload(file, &mut payload)?;
            assert!(payload[0] == 255 && payload[8] == 255 && &payload[16..23] == b"seventy");
            next_payload(file, &mut payload)?;
            assert!(payload == [0; 3 * 8 + 256]);
            next_payload(file, &mut payload)?;
            assert!(payload[0] == 255 && payload[1..] == [0; 3 * 8 + 255]);
        }
        file.set_enabled(false)?;
        set_filter(file, c"0")?;

        drop(tracer);
        event.delete().map_err(|failed| failed.error)?;
        instance.destroy()
    }

    #[test]
    fn so_many_records_at_once() -> Result {
        let n = records(c"rust_test_nested", &FIELDS, |tracer| {
            for _ in 0..2 {
                let one = tracer.in_order()?;
                let two = tracer.by_name()?;
                let three = tracer.in_order()?;

                assert_eq!(tracer.in_order().err(), Some(EBUSY));
                assert_eq!(tracer.by_name().err(), Some(EBUSY));
                assert_eq!(tracer.trace(&args(1, 1, c"", 1)), Err(EBUSY));
                assert_eq!(tracer.emit(&args(1, 1, c"", 1)), Err(EBUSY));
                // In any order.
                drop(two);
                tracer.trace(&args(1, 1, c"", 1))?;
                drop(one);
                drop(three);
            }
            // Those of an event that is off are none.
            tracer.file().set_enabled(false)?;
            // Nothing may be allocated with a record open: PREEMPT_RT can sleep for that.
            let mut off = KVec::with_capacity(10, GFP_KERNEL)?;
            for _ in 0..10 {
                off.push_within_capacity(tracer.in_order()?)?;
            }
            Ok(())
        })?;

        assert_eq!(n, 8);
        Ok(())
    }
}
