// SPDX-License-Identifier: GPL-2.0

//! Tests of events that are declared in Rust, built into the kernel, and of probes.

use super::{
    part,
    text_size,
    Argument,
    Call,
    Piece,
    Room,
    Scalar,
    Sink,
    Text,
    TracepointStr, //
};
use crate::{
    bindings,
    ffi::c_int,
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    task::Task,
    time::{
        delay::fsleep,
        Delta, //
    },
    trace::{
        base::ring_buffer::ReservationStorage,
        probe::{
            detach_all,
            Attached,
            Registration,
            Target, //
        },
        trace_event,
        tracepoint_string, //
    },
    tracepoint::declare_trace, //
};

mod declared;
mod printed;
mod waits;

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

    /// With hooks, and the fields of the class.
    event rust_kunit_hooked: rust_kunit_class {
        attach: attach;
        detach: detach;
    }

    /// An event with gaps between and after its fields.
    event rust_kunit_gaps(number: u64, name: &CStr) {
        fields {
            small: u8 = 0x11,
            large: u64 = number,
            name: str = name,
        }
        print("%u %llu %s", small, large, name)
    }

    /// An event with all texts that are formatted in the buffer of the iterator.
    event rust_kunit_made(bits: &[usize], name: &CStr) {
        fields {
            word: [char; 8] = name,
            bits: bitmask = bits,
        }
        print("word=%s bits=%s hex=%s", word, bits, hex(word))
    }

    /// With a string that is listed.
    event rust_kunit_listed(state: TracepointStr) {
        fields {
            state: TracepointStr = state,
            number: u32 = 7,
        }
        print("state=%s number=%u", state, number)
    }

    /// An event whose probes may fault.
    faultable event rust_kunit_faultable: rust_kunit_class;

    tracepoint rust_kunit_bare(number: u32);

    faultable tracepoint rust_kunit_bare_faultable(number: u32);

    /// With a condition and hooks, but no event.
    tracepoint rust_kunit_bare_odd(number: u32) {
        if number % 2 == 1;
        attach: attach;
        detach: detach;
    }
}

/// Memory, as the target of a probe.
struct Memory<'a>(&'a mut [u8]);

// SAFETY: The record has room only if the memory is as large as it.
unsafe impl Sink for Memory<'_> {
    type Room<'s>
        = Self
    where
        Self: 's;

    fn reserve<'s>(self, len: usize, _slot: &'s mut ReservationStorage) -> Option<Self>
    where
        Self: 's,
    {
        (len <= self.0.len()).then_some(self)
    }
}

// SAFETY: It is as large as the record.
unsafe impl Room for Memory<'_> {
    fn base(&mut self) -> *mut u8 {
        self.0.as_mut_ptr()
    }

    fn commit(self, _count: u64, _task: Option<&Task>) {}
}

/// Returns the printed line of `record` if C passes a size of `size` bytes.
///
/// # Safety
///
/// `record` must be a whole record of `event`, and `output` its function.
unsafe fn printed(
    output: unsafe extern "C" fn(
        *mut bindings::trace_iterator,
        c_int,
        *mut bindings::trace_event,
    ) -> bindings::print_line_t,
    event: &Call,
    record: &mut [u8],
    size: c_int,
) -> Result<KVec<u8>> {
    let iter = KBox::<bindings::trace_iterator>::init(pin_init::init_zeroed(), GFP_KERNEL)?;
    let iter = KBox::into_raw(iter);
    let call: *const bindings::trace_event_call = core::ptr::from_ref(event).cast();

    // SAFETY: The iterator is our own, with the members that C sets to print one. A registered
    // event does not change. By the safety requirements, `record` is a whole record of `event`, and
    // `output` its function.
    unsafe {
        let seq = &raw mut (*iter).seq;
        (*seq).seq.buffer = (&raw mut (*seq).buffer).cast();
        (*seq).seq.size = (*seq).buffer.len();
        (*iter).ent = record.as_mut_ptr().cast();
        (*iter).ent_size = size;
        (*(*iter).ent).type_ = (*call).event.type_ as u16;
        output(iter, 0, (&raw const (*call).event).cast_mut());
    }
    // SAFETY: It is the result of `into_raw()`.
    let iter = unsafe { KBox::from_raw(iter) };
    let text = iter.seq.buffer.get(..iter.seq.seq.len).ok_or(EINVAL)?;
    let mut out = KVec::new();

    out.extend_from_slice(text, GFP_KERNEL)?;
    Ok(out)
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

declare_trace! {
    // SAFETY: None exists.
    #[by_name(unchecked)]
    unsafe fn rust_kunit_nowhere(number: u32);
}

/// Attaches `f` to `E`.
fn probe<E: Target, F>(f: F) -> Result<Pin<KBox<Registration<E, F>>>>
where
    F: for<'a> Fn(E::Args<'a>) + Send + Sync + 'static,
{
    KBox::pin_init(Registration::from_fn(f), GFP_KERNEL)
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
    fn gaps_are_zero() {
        let mut record = [0xff; 64];

        __write_rust_kunit_gaps(Memory(&mut record), 0x2222_2222_2222_2222, c"abc");
        assert_eq!(record[8], 0x11);
        assert_eq!(record[9..16], [0; 7]);
        assert_eq!(record[16..24], [0x22; 8]);
        // The place of the string, then the string, and zeroes up to the end.
        assert_eq!(record[24..28], (4u32 << 16 | 28).to_ne_bytes());
        assert_eq!(record[28..36], *b"abc\0\0\0\0\0");
        assert_eq!(record[36..], [0xff; 28]);
    }

    #[test]
    fn what_is_printed_needs_a_size() -> Result {
        let mut record = [0; 128];
        let mut made = [0; 128];

        __write_rust_kunit_hit(Memory(&mut record), 7, c"seven");
        __write_rust_kunit_made(Memory(&mut made), &[0x21, 0], c"abc");
        // SAFETY: These are the records and the functions of the events.
        let (text, text_made, nothing) = unsafe {
            (
                printed(
                    __output_rust_kunit_hit,
                    &__event_rust_kunit_hit,
                    &mut record,
                    128,
                )?,
                printed(
                    __output_rust_kunit_made,
                    &__event_rust_kunit_made,
                    &mut made,
                    128,
                )?,
                printed(
                    __output_rust_kunit_made,
                    &__event_rust_kunit_made,
                    &mut made,
                    0,
                )?,
            )
        };
        assert_eq!(&*text, b"rust_kunit_hit: number=7 name=seven\n");
        assert_eq!(
            &*text_made,
            b"rust_kunit_made: word=abc bits=00000000,00000000,00000000,00000021 \
              hex=61 62 63 00 00 00 00 00\n"
        );
        assert_eq!(&*nothing, b"rust_kunit_made: (broken)\n");
        Ok(())
    }

    #[test]
    fn listed_strings_are_printed() -> Result {
        let mut record = [0; 64];
        let state = tracepoint_string!(c"listed by a test");

        assert_eq!(state.as_c_str(), c"listed by a test");
        __write_rust_kunit_listed(Memory(&mut record), state);
        assert_eq!(record[8..16], (state.to_word() as usize).to_ne_bytes());
        // The padding after the last field may be missing.
        for size in [24, 20] {
            // SAFETY: This is a record and the function of the event.
            let text = unsafe {
                printed(
                    __output_rust_kunit_listed,
                    &__event_rust_kunit_listed,
                    &mut record,
                    size,
                )?
            };
            assert_eq!(
                &*text,
                b"rust_kunit_listed: state=listed by a test number=7\n"
            );
        }
        Ok(())
    }

    #[test]
    fn other_addresses_are_no_listed_strings() {
        let bits = tracepoint_string!(c"listed by a test").to_word() as usize;

        for address in [0, 1, bits - 1, bits + 1, usize::MAX] {
            let found = TracepointStr::shown(core::ptr::with_exposed_provenance(address));
            assert_eq!(found.as_c_str(), c"(broken)");
        }
    }

    #[test]
    fn broken_records_are_told() -> Result {
        let mut record = [0; 64];

        __write_rust_kunit_hit(Memory(&mut record), 7, c"seven");
        // SAFETY: This is a record and the function of the event.
        let short = unsafe {
            printed(
                __output_rust_kunit_hit,
                &__event_rust_kunit_hit,
                &mut record,
                10,
            )?
        };
        assert_eq!(&*short, b"rust_kunit_hit: (broken)\n");

        // A string that ends after the record. SAFETY: As above.
        let cut = unsafe {
            printed(
                __output_rust_kunit_hit,
                &__event_rust_kunit_hit,
                &mut record,
                18,
            )?
        };
        assert_eq!(&*cut, b"rust_kunit_hit: number=7 name=(broken)\n");
        Ok(())
    }

    #[test]
    fn parts_of_arrays() {
        let bytes = [1, 2, 3, 4, 5, 6];

        assert_eq!(part(&bytes, 0, 2), b"");
        assert_eq!(part(&bytes, 2, 2), &[1, 2, 3, 4]);
        assert_eq!(part(&bytes, 3, 2), &bytes);
        // A record may tell anything.
        assert_eq!(part(&bytes, 4, 2), &bytes);
        assert_eq!(part(&bytes, usize::MAX, 2), &bytes);
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
    fn members_of_a_class_have_hooks() -> Result {
        let (attached, detached) = (ATTACHED.load(Relaxed), DETACHED.load(Relaxed));

        drop(probe::<rust_kunit_hooked, _>(|_| ())?);
        drop(probe::<rust_kunit_odd, _>(|_| ())?);
        assert_eq!(ATTACHED.load(Relaxed), attached + 1);
        assert_eq!(DETACHED.load(Relaxed), detached + 1);
        Ok(())
    }

    #[test]
    fn bare_tracepoints_have_options() -> Result {
        static SUM: Atomic<u32> = Atomic::new(0);
        let (attached, detached) = (ATTACHED.load(Relaxed), DETACHED.load(Relaxed));
        {
            let _probe = probe::<rust_kunit_bare_odd, _>(|(number,)| {
                SUM.fetch_add(number, Relaxed);
            })?;

            for i in 0..4 {
                trace_rust_kunit_bare_odd(i);
            }
        }
        assert_eq!(SUM.load(Relaxed), 4);
        assert_eq!(ATTACHED.load(Relaxed), attached + 1);
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

    /// Returns the nesting of the current task in Tasks Trace RCU, in which a probe that may fault
    /// is called, and the preemption count.
    fn context() -> (i32, i32) {
        let task = crate::current!().as_ptr();

        // SAFETY: The current task changes this itself. The function has no safety requirements.
        unsafe {
            (
                (*task).trc_reader_nesting,
                bindings::tracepoint_preempt_count(),
            )
        }
    }

    #[test]
    fn faultable_probes_can_sleep() -> Result {
        static READERS: Atomic<i32> = Atomic::new(0);
        static PREEMPT: Atomic<i32> = Atomic::new(0);

        fn look(_: (u32,)) {
            let (readers, preempt) = context();

            READERS.store(readers, Relaxed);
            PREEMPT.store(preempt, Relaxed);
        }

        fn look_and_sleep(number: (u32,)) {
            look(number);
            fsleep(Delta::from_millis(1));
        }

        let (readers, preempt) = context();

        let one = probe::<rust_kunit_faultable, _>(look_and_sleep)?;
        trace_rust_kunit_faultable(1);
        assert_eq!(READERS.load(Relaxed), readers + 1);
        assert_eq!(PREEMPT.load(Relaxed), preempt);
        // With two it is the iterator that calls them.
        let two = probe::<rust_kunit_faultable, _>(look_and_sleep)?;
        READERS.store(-1, Relaxed);
        crate::trace!(rust_kunit_faultable(1));
        assert_eq!(READERS.load(Relaxed), readers + 1);
        drop((one, two));

        let bare = probe::<rust_kunit_bare_faultable, _>(look_and_sleep)?;
        READERS.store(-1, Relaxed);
        trace_rust_kunit_bare_faultable(1);
        assert_eq!(READERS.load(Relaxed), readers + 1);
        drop(bare);

        // Any other one must not.
        let other = probe::<rust_kunit_bare, _>(look)?;
        trace_rust_kunit_bare(1);
        assert_eq!(READERS.load(Relaxed), readers);
        #[cfg(CONFIG_PREEMPT_COUNT)]
        assert_eq!(PREEMPT.load(Relaxed), preempt + 1);
        drop(other);

        assert_eq!(context(), (readers, preempt));
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
    fn several_are_detached_at_once() -> Result {
        static HITS: Atomic<u32> = Atomic::new(0);

        let mut bare = probe::<rust_kunit_bare, _>(|_| {
            HITS.fetch_add(1, Relaxed);
        })?;
        let mut hit = probe::<rust_kunit_hit, _>(|_| {
            HITS.fetch_add(10, Relaxed);
        })?;
        let detached = DETACHED.load(Relaxed);

        trace_rust_kunit_bare(0);
        trace_rust_kunit_hit(0, c"");
        assert_eq!(HITS.load(Relaxed), 11);
        // Once is enough.
        for _ in 0..2 {
            let probes: [Pin<&mut dyn Attached>; 2] = [bare.as_mut(), hit.as_mut()];

            detach_all(probes);
            assert!(!trace_rust_kunit_hit_enabled());
            assert_eq!(DETACHED.load(Relaxed), detached + 1);
        }
        trace_rust_kunit_bare(0);
        trace_rust_kunit_hit(0, c"");
        drop((bare, hit));
        assert_eq!(HITS.load(Relaxed), 11);
        assert_eq!(DETACHED.load(Relaxed), detached + 1);
        Ok(())
    }

    #[test]
    fn no_such_tracepoint() {
        assert_eq!(probe::<rust_kunit_nowhere, _>(|_| ()).err(), Some(ENOENT));
    }

    #[test]
    fn tracepoint_is_found_by_name() -> Result {
        let owner = crate::module::this_module::<crate::LocalModule>();
        let found = crate::trace::probe::find(c"rust_kunit_bare", owner)?;

        assert!(found == rust_kunit_bare::tracepoint()?);
        Ok(())
    }
}
