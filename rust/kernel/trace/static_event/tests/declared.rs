// SPDX-License-Identifier: GPL-2.0

//! Tests of what a declaration can have: attributes, and fields without a size.

use super::{
    printed,
    probe,
    Memory, //
};
use crate::{
    bindings,
    cpu::CpuId,
    prelude::*,
    str::CString,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    task::Kuid,
    time::{
        Delta,
        Instant,
        Monotonic, //
    },
    trace::{
        trace_event,
        TraceValue, //
    },
    transmute::AsBytes, //
};

/// Has no size.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Aligned;

// SAFETY: The type has no bytes.
unsafe impl AsBytes for Aligned {}

/// A number that has names.
#[derive(Clone, Copy, TraceValue)]
#[repr(u8)]
enum State {
    Idle,
    Busy = 5,
}

/// A structure with one field.
#[derive(Clone, Copy, TraceValue)]
struct Id(u64);

const STATES: [(State, &CStr); 2] = [(State::Idle, c"idle"), (State::Busy, c"busy")];
const FLAGS: &[(u32, &str)] = &[(1, "read"), (0x8000_0000, "write")];

/// An iterator that returns fewer elements than it says.
struct Few(u32);

impl Iterator for Few {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        self.0 = self.0.checked_sub(1)?;
        Some(7)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (3, Some(3))
    }
}

impl ExactSizeIterator for Few {}

trace_event! {
    system: "rust_kunit";

    /// With types of the kernel crate and of its own, tables of names, a condition that is a field,
    /// a list that is filled in place, and an argument without use.
    event rust_kunit_values(
        state: State,
        id: Id,
        result: Result,
        list: &[u32],
        ready: bool,
        unused: u32,
    ) {
        fields {
            state: State = state,
            id: Id = id,
            result: Result as "int" = result,
            ready: bool = ready,
            list: [u64] in list.iter().map(|number| u64::from(*number) + 1),
        }
        print(
            "%s %s %s %u %d %s %u",
            symbolic(state, STATES),
            flags(id, "|", FLAGS),
            if ready { "ready" } else { "not" },
            size(list),
            result,
            array(list),
            as_c("(REC->state) >> 1", state as u32 >> 1)
        )
    }

    /// With types of the kernel crate only.
    event rust_kunit_types(
        result: Result,
        error: Error,
        took: Delta,
        at: Instant<Monotonic>,
        cpu: CpuId,
        uid: Kuid,
    ) {
        fields {
            result: Result as "int" = result,
            error: Error = error,
            took: Delta = took,
            at: Instant<Monotonic> as "ktime_t" = at,
            cpu: CpuId = cpu,
            uid: Kuid as "uid_t" = uid,
        }
        print("%d %d %lld %lld %u %u", result, error, took, at, cpu, uid)
    }

    /// With a table of another event, and a list that has less than it says.
    event rust_kunit_few(number: u32) {
        fields {
            number: u32 = number,
            list: [u16] in Few(number),
        }
        print("%s %s", flags(number, "|", FLAGS), array(list))
    }

    /// An event whose payload consists only of padding for the alignment.
    event rust_kunit_aligned(_number: u32) {
        fields {
            none: struct Aligned = Aligned,
        }
        print("none")
    }

    #[cfg(CONFIG_RUST_TRACE_KUNIT_TEST)]
    class rust_kunit_built(number: u32) {
        fields {
            number: u32 = number,
        }
        print("number=%u", number)
    }

    /// That is configured.
    #[cfg(CONFIG_RUST_TRACE_KUNIT_TEST)]
    #[allow(clippy::unreadable_literal)]
    event rust_kunit_configured: rust_kunit_built {
        if number != 1000000;
    }

    #[cfg(not(CONFIG_RUST_TRACE_KUNIT_TEST))]
    class rust_kunit_left_out(number: NoSuchType) {
        fields {
            number: NoSuchType = number,
        }
        print("number=%u", number)
    }

    /// That is not, with the name of one that is.
    #[cfg(not(CONFIG_RUST_TRACE_KUNIT_TEST))]
    event rust_kunit_configured: rust_kunit_left_out;

    /// The same with a class of its own, and all items of an exported event.
    #[cfg(not(CONFIG_RUST_TRACE_KUNIT_TEST))]
    export event rust_kunit_aligned(number: NoSuchType) {
        attach: no_such_function;
        fields {
            number: NoSuchType = number,
        }
        print("number=%u", number)
    }

    #[cfg(not(CONFIG_RUST_TRACE_KUNIT_TEST))]
    tracepoint rust_kunit_configured(number: NoSuchType);
}

/// An event of the same name in another system.
mod other {
    use crate::trace::trace_event;

    trace_event! {
        system: "rust_kunit-other";

        /// An event of the same name as one in the other system.
        pub(super) event rust_kunit_configured(number: u32) {
            fields {
                number: u32 = number,
            }
            print("number=%u", number)
        }
    }
}

#[macros::kunit_tests(rust_kernel_static_event_declared)]
mod suite {
    use super::*;

    #[test]
    fn headers_are_left_alone() {
        let mut record = [0xff; 32];

        __write_rust_kunit_aligned(Memory(&mut record), 1);
        assert_eq!(record[..8], [0xff; 8]);
        assert_eq!(record[8..16], [0; 8]);
        assert_eq!(record[16..], [0xff; 16]);
    }

    #[test]
    fn what_is_not_configured_is_left_out() -> Result {
        static SUM: Atomic<u32> = Atomic::new(0);

        let _probe = probe::<rust_kunit_configured, _>(|(number,)| {
            SUM.fetch_add(number, Relaxed);
        })?;

        trace_rust_kunit_configured(3);
        trace_rust_kunit_configured(1_000_000);
        assert_eq!(SUM.load(Relaxed), 3);
        Ok(())
    }

    /// Checks that systems can have events of the same name, though built-in code shares the
    /// symbols of the linker.
    #[test]
    fn systems_can_have_the_same_names() -> Result {
        static SUM: Atomic<u32> = Atomic::new(0);

        let _probe = probe::<rust_kunit_configured, _>(|(number,)| {
            SUM.fetch_add(number, Relaxed);
        })?;
        let _other = probe::<other::rust_kunit_configured, _>(|(number,)| {
            SUM.fetch_add(number * 100, Relaxed);
        })?;

        trace_rust_kunit_configured(1);
        other::trace_rust_kunit_configured(2);
        assert_eq!(SUM.load(Relaxed), 201);
        Ok(())
    }

    #[test]
    fn values_names_and_lists() -> Result {
        let mut record = [0; 128];
        // The name of the event is free for variables.
        let rust_kunit_values = [1, 2];

        __write_rust_kunit_values(
            Memory(&mut record),
            State::Busy,
            Id(0x8000_0001),
            Err(EINVAL),
            &rust_kunit_values,
            true,
            0,
        );
        // SAFETY: This is a record and the function of the event.
        let text = unsafe {
            printed(
                __output_rust_kunit_values,
                &__event_rust_kunit_values,
                &mut record,
                128,
            )?
        };
        assert_eq!(
            &*text,
            b"rust_kunit_values: busy read|write ready 16 -22 {0x2,0x3} 2\n"
        );
        // SAFETY: It is a string.
        let format = unsafe { CStr::from_char_ptr(__print_fmt_rust_kunit_values.as_char_ptr()) };
        assert_eq!(
            format.to_bytes(),
            b"\"%s %s %s %u %d %s %u\", \
              __print_symbolic(REC->state, { 0, \"idle\" }, { 5, \"busy\" }), \
              __print_flags(REC->id, \"|\", { 1, \"read\" }, { 2147483648, \"write\" }), \
              REC->ready ? \"ready\" : \"not\", __get_dynamic_array_len(list), REC->result, \
              __print_array(__get_dynamic_array(list), __get_dynamic_array_len(list) / 8, 8), \
              (REC->state) >> 1"
        );
        Ok(())
    }

    #[test]
    fn types_of_the_crate() -> Result {
        let mut record = [0; 64];
        let at = Instant::<Monotonic>::now();

        __write_rust_kunit_types(
            Memory(&mut record),
            Ok(()),
            ENOMEM,
            Delta::from_micros(-3),
            at,
            CpuId::from_u32(0).ok_or(EINVAL)?,
            Kuid::from_raw(bindings::kuid_t { val: 4_000_000_000 }),
        );
        // SAFETY: This is a record and the function of the event.
        let text = unsafe {
            printed(
                __output_rust_kunit_types,
                &__event_rust_kunit_types,
                &mut record,
                64,
            )?
        };
        let wanted = CString::try_from_fmt(fmt!(
            "rust_kunit_types: 0 -12 -3000 {} 0 4000000000\n",
            at.as_nanos()
        ))?;
        assert_eq!(&*text, wanted.to_bytes());
        Ok(())
    }

    #[test]
    fn missing_elements_are_zero() {
        let mut record = [0xff; 32];

        __write_rust_kunit_few(Memory(&mut record), 1);
        assert_eq!(record[12..16], (6u32 << 16 | 16).to_ne_bytes());
        assert_eq!(record[16..18], 7u16.to_ne_bytes());
        assert_eq!(record[18..22], [0; 4]);
    }
}
