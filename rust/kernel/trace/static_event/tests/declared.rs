// SPDX-License-Identifier: GPL-2.0

//! Tests of what a declaration can have: attributes, and fields without a size.

use super::{
    probe,
    Memory, //
};
use crate::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    trace::trace_event,
    transmute::AsBytes, //
};

/// Has no size.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Aligned;

// SAFETY: There is no byte.
unsafe impl AsBytes for Aligned {}

trace_event! {
    system: "rust_kunit";

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

    /// Built-in code shares the symbols of the linker.
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
}
