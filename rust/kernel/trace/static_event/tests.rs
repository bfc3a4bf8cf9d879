// SPDX-License-Identifier: GPL-2.0

//! Tests of events that are declared in Rust, built into the kernel, and of probes.

use super::{
    text_size,
    Piece,
    Text, //
};
use crate::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    trace::{
        probe::{
            foreign_tracepoint,
            Event,
            Registration, //
        },
        trace_event, //
    }, //
};

trace_event! {
    system: "rust_kunit";

    /// The event of these tests.
    event rust_kunit_hit(number: u32, name: &CStr) {
        attach: attach;
        detach: detach;
        fields {
            number: u32 = number,
            name: str = name,
        }
        print("number=%u name=%s", number, name)
    }

    class rust_kunit_class(number: u32) {
        fields {
            number: u32 = number,
        }
        print("number=%u", number)
    }

    /// With a condition.
    event rust_kunit_odd: rust_kunit_class {
        if number % 2 == 1;
    }

    tracepoint rust_kunit_bare(number: u32);
}

static ATTACHED: Atomic<u32> = Atomic::new(0);
static DETACHED: Atomic<u32> = Atomic::new(0);
static REFUSE: Atomic<u32> = Atomic::new(0);

fn attach() -> Result {
    if REFUSE.load(Relaxed) != 0 {
        return Err(EBUSY);
    }
    ATTACHED.fetch_add(1, Relaxed);
    Ok(())
}

fn detach() {
    DETACHED.fetch_add(1, Relaxed);
}

foreign_tracepoint! {
    // There is none.
    unsafe tracepoint rust_kunit_nowhere(number: u32);
}

/// Attaches `f` to `E`.
fn probe<E: Event, F>(f: F) -> Result<Pin<KBox<Registration<E, F>>>>
where
    F: for<'a> Fn(E::Args<'a>) + Send + Sync + 'static,
{
    KBox::pin_init(Registration::new(f), GFP_KERNEL)
}

#[macros::kunit_tests(rust_kernel_static_event)]
mod suite {
    use super::*;

    #[test]
    fn texts() {
        const PIECES: &[Piece] = &[
            Piece::Text("a["),
            Piece::Num(0),
            Piece::Text("]"),
            Piece::Num(-120),
            Piece::Num(u64::MAX as i128),
        ];
        static TEXT: Text<{ text_size(PIECES) }> = Text::new(PIECES);

        // SAFETY: It is a string.
        let text = unsafe { CStr::from_char_ptr(TEXT.as_char_ptr()) };
        assert_eq!(text.to_bytes(), b"a[0]-12018446744073709551615");
    }

    #[test]
    fn probe_is_called_while_it_is_there() -> Result {
        static SUM: Atomic<u32> = Atomic::new(0);

        assert!(!trace_rust_kunit_hit_enabled());
        {
            let _probe = probe::<rust_kunit_hit, _>(|(number, name)| {
                SUM.fetch_add(number + name.count_bytes() as u32, Relaxed);
            })?;

            assert!(trace_rust_kunit_hit_enabled());
            trace_rust_kunit_hit(10, c"four");
        }
        assert!(!trace_rust_kunit_hit_enabled());
        trace_rust_kunit_hit(1000, c"");
        assert_eq!(SUM.load(Relaxed), 14);
        Ok(())
    }

    #[test]
    fn hooks_are_called_once() -> Result {
        let (attached, detached) = (ATTACHED.load(Relaxed), DETACHED.load(Relaxed));
        {
            let _one = probe::<rust_kunit_hit, _>(|_| ())?;
            let _two = probe::<rust_kunit_hit, _>(|_| ())?;
        }
        assert_eq!(ATTACHED.load(Relaxed), attached + 1);
        assert_eq!(DETACHED.load(Relaxed), detached + 1);

        REFUSE.store(1, Relaxed);
        assert_eq!(probe::<rust_kunit_hit, _>(|_| ()).err(), Some(EBUSY));
        REFUSE.store(0, Relaxed);
        assert_eq!(DETACHED.load(Relaxed), detached + 1);
        Ok(())
    }

    #[test]
    fn priorities() -> Result {
        static ORDER: Atomic<u32> = Atomic::new(0);

        fn digit(digit: u32) {
            ORDER.store(ORDER.load(Relaxed) * 10 + digit, Relaxed);
        }

        let _normal = probe::<rust_kunit_bare, _>(|_| digit(2))?;
        let _late = KBox::pin_init(
            Registration::<rust_kunit_bare, _>::with_priority(|_| digit(4), 1),
            GFP_KERNEL,
        )?;
        let _first = KBox::pin_init(
            Registration::<rust_kunit_bare, _>::with_priority(|_| digit(1), 100),
            GFP_KERNEL,
        )?;
        let _same = probe::<rust_kunit_bare, _>(|_| digit(3))?;

        trace_rust_kunit_bare(0);
        assert_eq!(ORDER.load(Relaxed), 1234);
        Ok(())
    }

    #[test]
    fn conditions_and_arguments() -> Result {
        static HITS: Atomic<u32> = Atomic::new(0);
        static EVALUATED: Atomic<u32> = Atomic::new(0);

        fn argument(number: u32) -> u32 {
            EVALUATED.fetch_add(1, Relaxed);
            number
        }

        crate::trace!(rust_kunit_odd(argument(1)));
        assert_eq!(EVALUATED.load(Relaxed), 0);

        let probe = probe::<rust_kunit_odd, _>(|_| {
            HITS.fetch_add(1, Relaxed);
        })?;
        for i in 0..4 {
            crate::trace!(rust_kunit_odd(argument(i)));
        }
        drop(probe);
        crate::trace!(rust_kunit_odd(argument(5)));

        assert_eq!(EVALUATED.load(Relaxed), 4);
        assert_eq!(HITS.load(Relaxed), 2);
        Ok(())
    }

    #[test]
    fn no_such_tracepoint() {
        assert_eq!(probe::<rust_kunit_nowhere, _>(|_| ()).err(), Some(ENOENT));
    }

    #[test]
    fn tracepoint_is_found_by_name() -> Result {
        let found = crate::trace::probe::find(c"rust_kunit_bare").ok_or(ENOENT)?;

        assert!(core::ptr::eq(found, rust_kunit_bare::tracepoint()?));
        Ok(())
    }
}
