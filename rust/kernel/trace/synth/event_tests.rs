// SPDX-License-Identifier: GPL-2.0

//! Tests of synthetic events that kernel code generates.

use super::{
    Arg,
    Builder,
    DeclaredTracer,
    DynString,
    FixedString,
    Pid,
    SynthEvent,
    Tracer,
    Type,
    MAX_FIELDS, //
};
use crate::{
    bindings,
    module::this_module,
    prelude::*,
    trace::{
        dynevent_cmd::Command,
        event_file::{
            EventFile,
            Owned, //
        },
        event_mutex,
        instance::InstanceRef, //
    },
    LocalModule, //
};

/// An instance for these tests only, so that it has no other records.
pub(super) const INSTANCE: &CStr = c"rust_synth_test";

pub(super) const FIELDS: [(Type, &CStr); 4] = [
    (Type::U8, c"small"),
    (Type::S16, c"signed"),
    (Type::String(8), c"text"),
    (Type::U64, c"large"),
];

crate::synth_event! {
    /// An event with the types that C has names of its own for.
    struct Named: c"rust_test_named" {
        a: super::Char,
        b: super::UnsignedChar,
        c: super::Int,
        d: super::UnsignedInt,
        e: super::Long,
        f: super::UnsignedLong,
        g: usize,
        h: isize,
    }
}

crate::synth_event! {
    /// One of each kind.
    struct Declared: c"rust_test_declared" {
        pid: Pid,
        yes: bool,
        text: FixedString<8>,
        more: DynString,
        small: i8,
        large: u64,
    }
}

crate::synth_event! {
    /// A field that has a keyword for a name.
    struct Keyword: c"rust_test_keyword" {
        r#type: u32,
        what: DynString,
    }
}

pub(super) fn module() -> &'static crate::ThisModule {
    this_module::<LocalModule>()
}

fn builder(name: &CStr) -> Result<Builder<'_>> {
    Builder::new(name, module())
}

/// Calls `f` with an event that is enabled in an instance, and returns the number of records.
pub(super) fn records(
    name: &CStr,
    fields: &[(Type, &CStr)],
    f: impl FnOnce(&Tracer) -> Result,
) -> Result<u64> {
    let event = SynthEvent::create(name, fields, module())?;
    let instance = InstanceRef::get_by_name(INSTANCE, Some(c"synthetic")).ok_or(ENOMEM)?;

    let count = {
        let tracer = event.tracer(Some(INSTANCE))?;

        tracer.file().set_enabled(true)?;
        f(&tracer)?;
        tracer.file().set_enabled(false)?;
        count(tracer.file())
    };
    event.delete().map_err(|failed| failed.error)?;
    instance.destroy()?;
    Ok(count)
}

fn count(file: &EventFile<Owned>) -> u64 {
    // SAFETY: The file is kept, and its instance has a buffer.
    unsafe {
        let instance = (*file.as_raw()).tr;

        bindings::ring_buffer_entries((*instance).array_buffer.buffer) as u64
    }
}

pub(super) fn args<'v>(small: u64, signed: i64, text: &'v CStr, large: u64) -> [Arg<'v>; 4] {
    [small.into(), signed.into(), text.into(), large.into()]
}

#[macros::kunit_tests(rust_kernel_trace_synth_events)]
mod events {
    use super::*;

    #[test]
    fn names_are_names() {
        // C would take these for fields, for a command to delete, or for nothing.
        for name in [
            c"", c"!gone", c"a b", c"a;u64 b", c"1a", c"a-b", c"a/b", c"a\n",
        ] {
            assert_eq!(builder(name).err(), Some(EINVAL));
        }
        for name in [c"", c"a b", c"a;u64 b", c"a[3]", c"1"] {
            let field = builder(c"rust_test").and_then(|b| b.field(Type::U64, name));

            assert_eq!(field.err(), Some(EINVAL));
        }
        for size in [0, 257, u16::MAX] {
            let field = builder(c"rust_test").and_then(|b| b.field(Type::String(size), c"a"));

            assert_eq!(field.err(), Some(EINVAL));
        }
    }

    #[test]
    fn all_types() -> Result {
        use Type::*;

        let types = [
            U8,
            U16,
            U32,
            U64,
            S8,
            S16,
            S32,
            S64,
            Char,
            UnsignedChar,
            Int,
            UnsignedInt,
            Long,
            UnsignedLong,
            Bool,
            Pid,
            Gfp,
            String(1),
            String(256),
            DynString,
            Stack,
            SignedStack,
        ];
        let names = [
            c"a", c"b", c"c", c"d", c"e", c"f", c"g", c"h", c"i", c"j", c"k", c"l", c"m", c"n",
            c"o", c"p", c"q", c"r", c"s", c"t", c"u", c"v",
        ];
        let mut event = builder(c"rust_test_types")?;

        for (ty, name) in types.into_iter().zip(names) {
            event = event.field(ty, name)?;
        }
        event.create()?.delete().map_err(|failed| failed.error)
    }

    #[test]
    fn as_many_fields_as_there_can_be() -> Result {
        let many = || {
            let mut event = builder(c"rust_test_many")?;

            for i in 0..MAX_FIELDS {
                let name = crate::str::CString::try_from_fmt(fmt!("f{i}"))?;

                event = event.field(Type::U8, &name)?;
            }
            Ok::<_, Error>(event)
        };

        many()?.create()?.delete().map_err(|failed| failed.error)?;
        assert_eq!(many()?.field(Type::U8, c"one_more").err(), Some(EINVAL));

        // And not less than one.
        assert_eq!(builder(c"rust_test_none")?.create().err(), Some(EINVAL));
        Ok(())
    }

    #[test]
    fn commands_by_hand() -> Result {
        assert_eq!(Command::synth(c"!rust_test_hand").err(), Some(EINVAL));
        let mut command = Command::synth(c"rust_test_hand")?;

        for (lhs, rhs) in [(c"", c"a"), (c"u8", c""), (c"u8", c"a;"), (c"u8;u8", c"a")] {
            assert_eq!(command.pair(lhs, b' ', rhs, b';'), Err(EINVAL));
        }
        assert_eq!(command.pair(c"u8", 0x80, c"a", b';'), Err(EINVAL));
        assert_eq!(command.word(c"u8 a;"), Err(EINVAL));
        command.pair(c"unsigned int", b' ', c"a", b';')?;
        // Something is missing in it.
        assert_eq!(command.run(), Err(EINVAL));

        let mut command = Command::synth(c"rust_test_hand")?;
        command.pair(c"unsigned int", b' ', c"a", b';')?;
        command.pair(c"char[8]", 0, c"b", 0)?;
        command.run()?;

        let tracer = Tracer::open(None, c"rust_test_hand")?;
        let names = {
            let guard = event_mutex::lock();
            let file = tracer.file().file(guard.held());

            file.field(c"a").is_some_and(|field| field.size() == 4) && file.field(c"b").is_some()
        };
        assert!(names);
        drop(tracer);
        super::super::delete(c"rust_test_hand")?;

        // It does not get longer than it can be.
        let mut long = Command::synth(c"rust_test_hand")?;
        let mut added = Ok(());
        for _ in 0..300 {
            added = added.and_then(|()| long.pair(c"u64", b' ', c"number", b';'));
        }
        assert_eq!(added, Err(E2BIG));
        assert_eq!(long.run(), Err(E2BIG));
        Ok(())
    }

    #[test]
    fn a_long_command_is_refused() -> Result {
        let mut name = KVec::from_elem(b'x', 1000, GFP_KERNEL)?;
        name.push(0, GFP_KERNEL)?;
        let name = CStr::from_bytes_with_nul(&name).map_err(|_| EINVAL)?;
        let event = builder(c"rust_test_long")?.field(Type::U8, name)?;

        assert_eq!(
            event
                .field(Type::U8, name)
                .and_then(|b| b.field(Type::U8, name))
                .err(),
            Some(E2BIG)
        );
        Ok(())
    }

    #[test]
    fn made_once() -> Result {
        let event = SynthEvent::create(c"rust_test_once", &FIELDS, module())?;

        assert!(event.name() == c"rust_test_once");
        assert_eq!(
            SynthEvent::create(c"rust_test_once", &FIELDS, module()).err(),
            Some(EEXIST)
        );
        // Not by its name as long as it has an owner.
        assert_eq!(super::super::delete(c"rust_test_once"), Err(EBUSY));
        drop(event);
        assert_eq!(super::super::delete(c"rust_test_once"), Err(ENOENT));
        SynthEvent::create(c"rust_test_once", &FIELDS, module())?;
        Ok(())
    }

    #[test]
    fn deleted_when_nobody_uses_it() -> Result {
        let event = SynthEvent::create(c"rust_test_used", &FIELDS, module())?;
        let tracer = event.tracer(None)?;

        let failed = event.delete().err().ok_or(EINVAL)?;
        assert_eq!(failed.error, EBUSY);

        // The tracer keeps the event, which is deleted with the last of the two.
        drop(failed.event);
        let again = Tracer::open(None, c"rust_test_used")?;
        drop(again);
        drop(tracer);
        assert_eq!(Tracer::open(None, c"rust_test_used").err(), Some(EINVAL));
        Ok(())
    }

    #[test]
    fn enabled_it_is_kept() -> Result {
        let event = SynthEvent::create(c"rust_test_enabled", &FIELDS, module())?;

        assert!(!event.is_enabled());
        event.set_enabled(true)?;
        assert!(event.is_enabled());
        let failed = event.delete().err().ok_or(EINVAL)?;
        assert_eq!(failed.error, EBUSY);
        // The drop disables it.
        drop(failed.event);
        assert_eq!(super::super::delete(c"rust_test_enabled"), Err(ENOENT));
        Ok(())
    }

    #[test]
    fn as_many_values_as_fields() -> Result {
        let n = records(c"rust_test_values", &FIELDS, |tracer| {
            let all = args(1, -1, c"text", u64::MAX);

            tracer.trace(&all)?;
            for n in 0..all.len() {
                assert_eq!(tracer.trace(&all[..n]), Err(EINVAL));
                assert_eq!(tracer.emit(&all[..n]), Err(EINVAL));
            }
            let [a, b, c, d] = all;
            assert_eq!(tracer.trace(&[a, b, c, d, d]), Err(EINVAL));
            tracer.emit(&all)
        })?;

        // A refused value leaves no record.
        assert_eq!(n, 2);
        Ok(())
    }

    #[test]
    fn values_fit() -> Result {
        let n = records(c"rust_test_fit", &FIELDS, |tracer| {
            for (small, signed) in [(0, -0x8000), (255, 0x7fff)] {
                tracer.trace(&args(small, signed, c"", 0))?;
            }
            for (small, signed) in [(256, 0), (u64::MAX, 0), (0, -0x8001), (0, 0x8000)] {
                assert_eq!(tracer.trace(&args(small, signed, c"", 0)), Err(EINVAL));
            }
            let [a, b, c, d] = args(1, 1, c"text", 1);
            // A string for a number and the other way round, and less than nothing.
            for wrong in [[c, b, c, d], [a, b, a, d], [a, b, c, Arg::Signed(-1)]] {
                assert_eq!(tracer.trace(&wrong), Err(EINVAL));
            }
            tracer.trace(&[Arg::Signed(1), Arg::Unsigned(1), c, Arg::Signed(i64::MAX)])
        })?;

        assert_eq!(n, 3);
        Ok(())
    }

    #[test]
    fn piece_by_piece() -> Result {
        let n = records(c"rust_test_pieces", &FIELDS, |tracer| {
            let mut record = tracer.in_order()?;
            assert_eq!(record.add(256u32), Err(EINVAL));
            for value in args(1, -1, c"text", 2) {
                record.add(value)?;
            }
            assert_eq!(record.add(1u8), Err(EINVAL));
            drop(record);

            let mut record = tracer.by_name()?;
            record.set(c"large", 7u8)?;
            record.set(c"text", c"seven")?;
            record.set(c"large", 8u8)?;
            // C would write this to the last field.
            assert_eq!(record.set(c"no_such", 9u8), Err(EINVAL));
            assert_eq!(record.set(c"text", 9u8), Err(EINVAL));
            drop(record);

            // Nothing is a value as well.
            drop(tracer.in_order()?);
            Ok(())
        })?;

        assert_eq!(n, 3);
        Ok(())
    }

    #[test]
    fn not_piece_by_piece_with_dynamic_strings() -> Result {
        let fields = [(Type::U8, c"a"), (Type::DynString, c"b")];
        let n = records(c"rust_test_dynamic", &fields, |tracer| {
            assert_eq!(tracer.in_order().err(), Some(ENOTSUPP));
            assert_eq!(tracer.by_name().err(), Some(ENOTSUPP));
            tracer.trace(&[Arg::from(1), Arg::from(c"a string of any length")])?;
            tracer.emit(&[Arg::from(1), Arg::from(c"")])
        })?;

        assert_eq!(n, 2);
        Ok(())
    }

    #[test]
    fn long_strings() -> Result {
        let mut text = KVec::from_elem(b'x', 10_000, GFP_KERNEL)?;
        text.push(0, GFP_KERNEL)?;
        let text = CStr::from_bytes_with_nul(&text).map_err(|_| EINVAL)?;
        let half = CStr::from_bytes_with_nul(text.to_bytes_with_nul().split_at(5_000).1)
            .map_err(|_| EINVAL)?;
        let n = records(c"rust_test_strings", &[(Type::DynString, c"a")], |tracer| {
            // No warning of perf, and no room in the buffer.
            assert_eq!(tracer.emit(&[text.into()]), Err(E2BIG));
            assert_eq!(tracer.trace(&[text.into()]), Err(EINVAL));
            // Nor a record of what C would copy half of.
            assert_eq!(tracer.emit(&[half.into()]), Err(EINVAL));
            Ok(())
        })?;

        assert_eq!(n, 0);
        // One of fixed size is cut.
        let n = records(c"rust_test_cut", &[(Type::String(8), c"a")], |tracer| {
            tracer.trace(&[text.into()])?;
            let mut record = tracer.in_order()?;
            record.add(text)
        })?;
        assert_eq!(n, 2);
        Ok(())
    }

    #[test]
    fn off_there_is_nothing() -> Result {
        let event = SynthEvent::create(c"rust_test_off", &FIELDS, module())?;
        let tracer = event.tracer(None)?;

        // As in C the values are not used.
        tracer.trace(&[])?;
        event.emit(&[])?;
        let mut record = tracer.in_order()?;
        for value in args(1, 1, c"text", 1) {
            record.add(value)?;
        }
        drop(record);
        tracer.by_name()?.set(c"large", 1u8)?;
        Ok(())
    }

    #[test]
    fn declared() -> Result {
        let event = Declared::create()?;
        let tracer = event.tracer(None)?;

        event.event().set_enabled(true)?;
        let values = Declared {
            pid: 1,
            yes: true,
            text: c"text",
            more: c"more of it",
            small: -128,
            large: u64::MAX,
        };
        let before = count(tracer.tracer().file());
        tracer.trace(&values)?;
        event.emit(&values)?;
        assert!(count(tracer.tracer().file()) >= before + 2);
        event.event().set_enabled(false)?;
        drop(tracer);
        event.delete().map_err(|failed| failed.error)
    }

    #[test]
    fn declared_by_a_keyword() -> Result {
        let event = Keyword::create()?;

        assert!(<Keyword<'static> as super::super::Declared>::FIELDS[0].1 == c"type");
        event.event().set_enabled(true)?;
        event.emit(&Keyword {
            r#type: 1,
            what: c"",
        })?;
        event.event().set_enabled(false)?;
        event.delete().map_err(|failed| failed.error)
    }

    #[test]
    fn opened_as_declared() -> Result {
        use Type::*;

        let open = || DeclaredTracer::<Keyword<'static>>::open(None).err();
        let with = |fields: &[(Type, &CStr)]| {
            let event = SynthEvent::create(c"rust_test_keyword", fields, module())?;
            let error = open();

            event.delete().map_err(|failed| failed.error)?;
            Ok::<_, Error>(error)
        };

        assert_eq!(open(), Some(EINVAL));
        assert_eq!(with(&[(U32, c"type"), (DynString, c"what")])?, None);
        for fields in [
            // Another type, which takes the same values; another name; another order.
            [(UnsignedInt, c"type"), (DynString, c"what")],
            [(U64, c"type"), (DynString, c"what")],
            [(U32, c"type"), (String(16), c"what")],
            [(U32, c"kind"), (DynString, c"what")],
            [(DynString, c"what"), (U32, c"type")],
        ] {
            assert_eq!(with(&fields)?, Some(EINVAL));
        }
        assert_eq!(with(&[(U32, c"type")])?, Some(EINVAL));
        let more = [(U32, c"type"), (DynString, c"what"), (U8, c"more")];
        assert_eq!(with(&more)?, Some(EINVAL));
        Ok(())
    }

    #[test]
    fn declared_by_names_of_c() -> Result {
        let event = Named::create()?;
        let types = [
            c"char",
            c"unsigned char",
            c"int",
            c"unsigned int",
            c"long",
            c"unsigned long",
            c"unsigned long",
            c"long",
        ];
        let found = {
            let guard = event_mutex::lock();
            let held = guard.held();
            let synth = super::super::EventRef::find(c"rust_test_named", held).ok_or(ENOENT)?;
            let found = (0..types.len())
                .filter(|&i| synth.field(i, held).is_some_and(|f| f.ty() == types[i]))
                .count();

            synth.release_unused(held);
            found
        };
        assert_eq!(found, types.len());

        event.event().set_enabled(true)?;
        event.emit(&Named {
            a: i8::MIN,
            b: u8::MAX,
            c: i32::MIN,
            d: u32::MAX,
            e: isize::MIN,
            f: usize::MAX,
            g: usize::MAX,
            h: isize::MAX,
        })?;
        event.event().set_enabled(false)?;
        event.delete().map_err(|failed| failed.error)
    }

    #[test]
    fn stacks_are_for_triggers() -> Result {
        let fields = [(Type::U32, c"number"), (Type::Stack, c"stack")];
        let event = SynthEvent::create(c"rust_test_stack", &fields, module())?;

        assert_eq!(event.tracer(None).err(), Some(ENOTSUPP));
        assert_eq!(Tracer::open(None, c"rust_test_stack").err(), Some(ENOTSUPP));
        event.set_enabled(true)?;
        for stack in [Arg::from(1u64), Arg::from(c"text")] {
            assert_eq!(event.emit(&[1u32.into(), stack]), Err(EINVAL));
        }
        event.set_enabled(false)?;
        // A refused operation leaves no reference.
        event.delete().map_err(|failed| failed.error)
    }

    #[test]
    fn there_are_such_events_only() {
        assert_eq!(Tracer::open(None, c"no_such_event").err(), Some(EINVAL));
        assert_eq!(
            Tracer::open(Some(c"no_such_instance"), c"no_such_event").err(),
            Some(ENOENT)
        );
    }

    #[test]
    #[cfg(CONFIG_KPROBE_EVENTS)]
    fn only_synthetic_events() -> Result {
        // It is in the same directory as those are.
        let mut probe = Command::kprobe()?;
        probe.text(c"p:synthetic/rust_test_probe")?;
        probe.word(c"do_sys_openat2")?;
        probe.run()?;

        let file = EventFile::get(None, c"synthetic", c"rust_test_probe");
        let tracer = Tracer::open(None, c"rust_test_probe").err();
        let found = file.is_ok();
        drop(file);

        let mut delete = Command::kprobe()?;
        delete.text(c"-:synthetic/rust_test_probe")?;
        // Nor is anything left of the failure.
        delete.run()?;
        assert!(found);
        assert_eq!(tracer, Some(EINVAL));
        Ok(())
    }
}
