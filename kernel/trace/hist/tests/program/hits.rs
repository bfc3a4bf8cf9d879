// SPDX-License-Identifier: GPL-2.0

//! Tests of hits, with real maps.

use super::*;

#[kunit_tests(hist_hits)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_built() -> Result {
        let mut spec = spec()?;
        let dynamic = source(0, 4, false, RecordKind::DynString)?;

        add_key(&mut spec, recorded(dynamic)?)?;
        add_key(&mut spec, Field::property(HitProperty::Comm)?)?;
        add_key(&mut spec, number(4, 4, true, Modifier::None)?)?;
        let hist = hist(spec)?;
        // A string of four bytes after two words; then other bytes.
        let record = words([4 << 16 | 8, 0u32.wrapping_sub(2), 0, 0]);
        let mut record = *record.as_flattened().first_chunk::<16>().ok_or(EINVAL)?;

        record[8..].copy_from_slice(b"ab\0.....");
        assert_eq!(hit(&hist, &Fake::new(&record))?, Some(0));
        // Bytes after the end of the string are not part of the key.
        record[11] = b'!';
        assert_eq!(hit(&hist, &Fake::new(&record))?, Some(0));

        let rows = hist.map.snapshot()?;
        let row = rows.row(0).ok_or(EINVAL)?;

        assert_eq!(rows.len(), 1);
        assert_eq!(row.sum(0), 2);
        assert_eq!(row.key()[..32], words_of::<32>(b"ab"));
        assert_eq!(row.key()[32..34], words_of::<2>(b"a task"));
        assert_eq!(row.key()[34], 0u64.wrapping_sub(2));
        assert_eq!(row.key().len(), 35);
        Ok(())
    }

    #[test]
    fn stacks_are_keys() -> Result {
        let mut spec = spec()?;

        add_key(&mut spec, Field::property(HitProperty::Stack)?)?;
        let hist = hist(spec)?;
        let mut context = Fake::new(&[]);

        context.stack = &[11, 12, 13];
        hit(&hist, &context)?;
        let rows = hist.map.snapshot()?;
        let key = rows.row(0).ok_or(EINVAL)?.key();

        assert_eq!(key[..4], [11, 12, 13, 0]);
        assert!(key[4..].iter().all(|word| *word == 0));
        Ok(())
    }

    /// Creates the histogram `keys=id:vals=common_timestamp-$ts`.
    fn latencies(stamps: &Arc<Histogram>) -> Result<Arc<Histogram>> {
        let mut spec = spec()?;
        let ts = add_ref(&mut spec, owner(stamps), 0, true)?;
        let ts = Field::reference(ts, &spec.refs[ts], false)?;
        let time = Field::property(HitProperty::Timestamp)?;

        add(&mut spec, binary(Operator::Minus, time, ts)?)?;
        add_key(&mut spec, word(0)?)?;
        hist_with(spec, &[stamps.clone()])
    }

    #[test]
    fn references_are_resolved_once() -> Result {
        let stamps = stamps()?;
        let latencies = latencies(&stamps)?;
        let record = words([7]);
        let other = words([8]);
        let at = |time: u64| Fake {
            time,
            ..Fake::new(record.as_flattened())
        };

        assert!(latencies.program.path == HitPath::Small);
        // Nothing has begun yet.
        assert_eq!(hit(&latencies, &at(50))?, None);
        hit(&stamps, &at(100))?;
        assert_eq!(hit(&latencies, &Fake::new(other.as_flattened()))?, None);
        assert_eq!(hit(&latencies, &at(130))?, Some(0));
        // It has been read.
        assert_eq!(hit(&latencies, &at(140))?, None);
        hit(&stamps, &at(200))?;
        assert_eq!(hit(&latencies, &at(204))?, Some(0));

        let rows = latencies.map.snapshot()?;
        assert_eq!(rows.len(), 1);
        assert_eq!(rows.row(0).ok_or(EINVAL)?.sum(0), 2);
        assert_eq!(rows.row(0).ok_or(EINVAL)?.sum(1), 34);
        assert_eq!(latencies.map.hits(), 2);
        assert_eq!(latencies.map.drops(), 0);
        Ok(())
    }

    #[test]
    fn nothing_is_read_if_not_all_is_there() -> Result {
        let (one, two) = (stamps()?, stamps()?);
        let mut spec = spec()?;
        let a = add_ref(&mut spec, owner(&one), 0, true)?;
        let b = add_ref(&mut spec, owner(&two), 0, true)?;

        let a = Field::reference(a, &spec.refs[a], false)?;
        let b = Field::reference(b, &spec.refs[b], false)?;

        add(&mut spec, binary(Operator::Minus, b, a)?)?;
        add_key(&mut spec, word(0)?)?;
        let both = hist_with(spec, &[one.clone(), two.clone()])?;
        let record = words([7]);
        let at = |time: u64| Fake {
            time,
            ..Fake::new(record.as_flattened())
        };

        hit(&one, &at(1))?;
        assert_eq!(hit(&both, &at(0))?, None);
        hit(&two, &at(5))?;
        // The first has not been lost.
        assert_eq!(hit(&both, &at(0))?, Some(0));
        assert_eq!(hit(&both, &at(0))?, None);
        let rows = both.map.snapshot()?;
        assert_eq!(rows.row(0).ok_or(EINVAL)?.sum(1), 4);
        Ok(())
    }

    /// Takes the variable of a key for a histogram that refers to it, and restores it after
    /// `meanwhile` has run.
    fn restore(of: &Histogram, taker: &Histogram, meanwhile: impl FnOnce()) -> Result<bool> {
        let source = taker.program.sources.first().ok_or(EINVAL)?;
        let find = || match of.map.reuses() {
            true => of.map.lookup_live(&[7]),
            false => of.map.lookup_u64(7),
        };
        let element = find().ok_or(EINVAL)?;

        assert!(!source.once.is_empty());
        let stamp = element
            .consume(
                &mut Polls::new(),
                source.once,
                || false,
                |vars| Some(Stamp::of(&element, vars)),
            )
            .map_err(|_| EBUSY)?
            .ok_or(EINVAL)?;
        meanwhile();

        // With a buffer of the pool nothing may sleep.
        let pool = ScratchRef::new()?;
        let mut buffer = pool.enter().ok_or(EBUSY)?;
        let mut polls = Polls::new();
        let mut scratch = Scratch::new(&mut buffer, 1, &mut polls).ok_or(EINVAL)?;

        scratch.key[0] = 7;
        Ok(restore_vars(&taker.program, &mut scratch, &[stamp]))
    }

    #[test]
    fn what_was_taken_is_restored() -> Result {
        let one = stamps()?;
        let both = latencies(&one)?;
        let record = words([7]);
        let at = |time: u64| Fake {
            time,
            ..Fake::new(record.as_flattened())
        };

        hit(&one, &at(1))?;
        assert!(restore(&one, &both, || ())?);
        assert_eq!(hit(&both, &at(3))?, Some(0));
        // What was written since has been taken as well, or not.
        hit(&one, &at(1))?;
        assert!(restore(&one, &both, || {
            let _ = hit(&one, &at(2)).and_then(|_| hit(&both, &at(3)));
        })?);
        assert_eq!(hit(&both, &at(3))?, None);
        // It is no longer in an element.
        hit(&one, &at(1))?;
        assert!(!restore(&one, &both, || one.map.clear(|| ()))?);
        Ok(())
    }

    #[test]
    fn what_cannot_be_restored_is_lost() -> Result {
        let mut spec = spec()?;
        let time = Field::property(HitProperty::Timestamp)?;

        spec.reuse = true;
        add(&mut spec, var(time, 0)?)?;
        add_key(&mut spec, word(0)?)?;
        let one = hist(spec)?;
        let both = latencies(&one)?;
        let write = || {
            one.map.hit_live(
                &[7],
                |_| (),
                |_, vars| {
                    if let Some(vars) = vars {
                        vars.set_var(0, 1);
                    }
                },
            )
        };
        let is_there = || {
            let element = one.map.lookup_live(&[7])?;

            element.read(|vars| vars.var(0)).flatten()
        };

        assert!(write().is_some());
        assert!(restore(&one, &both, || ())?);
        assert_eq!(is_there(), Some(1));
        assert_eq!(one.map.reused(), Some((0, 0)));
        assert!(restore(&one, &both, || {
            one.map.clear(|| ());
        })?);
        assert_eq!(one.map.reused(), Some((0, 1)));

        // The key has another element.
        assert!(write().is_some());
        assert!(restore(&one, &both, || {
            one.map.clear(|| ());
            for key in 8..12 {
                let _ = one.map.hit_live(&[key], |_| (), |_, _| ());
            }
            write();
        })?);
        assert_eq!(one.map.reused(), Some((0, 1)));
        assert_eq!(is_there(), Some(1));
        Ok(())
    }

    /// Checks that a reference to one number that does not unset it is resolved while another hit
    /// is writing.
    #[test]
    fn one_number_needs_no_lock() -> Result {
        let stamps = stamps()?;
        let mut spec = spec()?;
        let ts = add_ref(&mut spec, owner(&stamps), 0, false)?;
        let ts = Field::reference(ts, &spec.refs[ts], true)?;

        add(&mut spec, var(ts, 0)?)?;
        add_key(&mut spec, word(0)?)?;
        let reader = hist_with(spec, &[stamps.clone()])?;
        let taker = latencies(&stamps)?;
        let record = words([7]);
        let context = Fake::new(record.as_flattened());

        hit(&stamps, &context)?;
        let element = stamps.map.lookup_u64(7).ok_or(EINVAL)?;
        let writer = element.write(&mut Polls::new()).ok_or(EBUSY)?;

        assert_eq!(hit(&reader, &context)?, Some(0));
        assert_eq!((reader.map.hits(), reader.map.drops()), (1, 0));
        assert_eq!(hit(&taker, &context)?, None);
        assert_eq!((taker.map.hits(), taker.map.drops()), (0, 1));
        drop(writer);
        assert_eq!(hit(&taker, &context)?, Some(0));
        assert_eq!(hit(&reader, &context)?, None);
        Ok(())
    }

    #[test]
    fn texts_are_variables() -> Result {
        let mut one = spec()?;

        // The stack, a string, the name of the first task.
        let stack = Field::property(HitProperty::Stack)?;
        let name = word(0)?.into_first_comm()?;
        add(&mut one, var(stack, 0)?)?;
        add(&mut one, var(string(4)?, 1)?)?;
        add(&mut one, var(name, 2)?)?;
        add_key(&mut one, word(0)?)?;
        let one = hist(one)?;

        assert!(one.program.place(0).kind == VarKind::Stack(0));
        assert!(one.program.place(1).kind == VarKind::String(1));
        assert!(one.program.place(2).kind == VarKind::Comm);
        assert!(one.program.layout.comm);
        assert_eq!(one.program.layout.string_slots, 2);

        // Aliases of them.
        let mut two = spec()?;
        for idx in 0..3 {
            let place = one.program.place(idx);
            let i = add_ref(&mut two, owner(&one), idx, false)?;

            two.refs[i].kind = place.kind.map(|_| ());
            let alias = Field::reference(i, &two.refs[i], true)?;
            add(&mut two, var(alias, idx)?)?;
        }
        add_key(&mut two, word(0)?)?;
        let two = hist_with(two, &[one.clone()])?;
        assert!(two.program.place(0).kind == VarKind::Stack(0));
        assert!(two.program.place(1).kind == VarKind::String(1));
        assert!(two.program.place(2).kind == VarKind::String(2));

        let mut record = [0; 20];
        record[4..11].copy_from_slice(b"string\0");
        let mut context = Fake::new(&record);
        context.stack = &[21, 22];
        assert_eq!(hit(&two, &context)?, None);
        hit(&one, &context)?;
        context.comm = *b"another task\0\0\0\0";
        context.stack = &[];
        assert_eq!(hit(&two, &context)?, Some(0));

        for (hist, rows) in [(&one, one.map.snapshot()?), (&two, two.map.snapshot()?)] {
            let row = rows.row(0).ok_or(EINVAL)?;
            let element = hist.map.lookup(&[0]).ok_or(EINVAL)?;
            let mut texts = [[0; 32]; 2];

            element
                .read(|vars| {
                    vars.copy_stack(0, &mut texts[0]);
                    vars.copy_string(1, &mut texts[1]);
                })
                .ok_or(EBUSY)?;
            assert_eq!(texts[0][..3], [2, 21, 22]);
            assert_eq!(texts[1][0], words_of::<1>(b"string")[0]);
            // They are not shown.
            assert!(row.string(0).is_empty());
            for idx in 0..3 {
                let place = hist.program.place(idx).var.ok_or(EINVAL)?;
                assert!(row.var(place).is_some());
            }
        }
        let element = two.map.lookup(&[0]).ok_or(EINVAL)?;
        let mut name = [0; 32];

        element
            .read(|vars| vars.copy_string(2, &mut name))
            .ok_or(EBUSY)?;
        assert_eq!(name[0], words_of::<1>(b"a task")[0]);
        Ok(())
    }

    /// Creates the histogram `keys=id:v=value:HANDLER($v).save(other,name)`, for records `id,
    /// value, other, name`.
    fn watched(larger: bool, signed: bool) -> Result<Arc<Histogram>> {
        hist(with_actions(larger, signed, None)?)
    }

    /// Returns the description of [`watched`], with a further action.
    fn with_actions(larger: bool, signed: bool, more: Option<Action>) -> Result<Spec> {
        let mut spec = spec()?;

        add(&mut spec, var(number(4, 4, signed, Modifier::None)?, 0)?)?;
        add_key(&mut spec, word(0)?)?;
        let var_ref = add_ref(&mut spec, Owner::Own, 0, false)?;
        spec.refs[var_ref].ty.signed = signed;

        for (idx, val) in [(2, word(8)?), (3, string(12)?)] {
            let var = own_var(b"saved", idx)?;

            spec.save_vars.push(FieldVar { var, val }, GFP_KERNEL)?;
        }

        let text: &[u8] = if larger {
            b"onmax($v).save(saved)"
        } else {
            b"onchange($v).save(saved)"
        };
        let action = Action {
            clause: clause(text)?,
            track: Some(Track {
                var_ref,
                var: own_var(b"__max", 1)?,
            }),
            refs: KVec::new(),
        };

        spec.actions.push(action, GFP_KERNEL)?;
        if let Some(action) = more {
            spec.actions.push(action, GFP_KERNEL)?;
        }
        Ok(spec)
    }

    /// Counts a hit with this value, and returns `true` if the handler ran, with the values that
    /// are kept and saved then.
    fn watch(hist: &Histogram, value: u32, saved: &[u8; 1]) -> Result<(bool, u64, u64, u64)> {
        let mut record = [0; 28];

        record[4..8].copy_from_slice(&value.to_ne_bytes());
        record[8..12].copy_from_slice(&value.wrapping_add(1).to_ne_bytes());
        record[12..13].copy_from_slice(saved);
        let run = hit(hist, &Fake::new(&record))?.ok_or(EINVAL)?;
        let rows = hist.map.snapshot()?;
        let row = rows.row(0).ok_or(EINVAL)?;
        let var = |idx: usize| {
            let place = hist.program.place(idx).var?;
            row.var(place)
        };

        Ok((
            run == 1,
            var(1).unwrap_or(0),
            var(2).unwrap_or(0),
            row.string(0)[0],
        ))
    }

    #[test]
    fn maximum_and_what_is_saved() -> Result {
        let hist = watched(true, false)?;
        let a = words_of::<1>(b"a")[0];
        let b = words_of::<1>(b"b")[0];

        assert!(hist.program.place(3).kind == VarKind::String(0));
        assert_eq!(watch(&hist, 0, b"x")?, (false, 0, 0, 0));
        assert_eq!(watch(&hist, 10, b"a")?, (true, 10, 11, a));
        assert_eq!(watch(&hist, 10, b"x")?, (false, 10, 11, a));
        assert_eq!(watch(&hist, 9, b"x")?, (false, 10, 11, a));
        assert_eq!(watch(&hist, u32::MAX, b"b")?, (true, u32::MAX.into(), 0, b));
        Ok(())
    }

    /// Checks hits that interrupt a hit of their CPU which is writing the element. They neither
    /// wait nor lose actions, unless they have to compare.
    #[test]
    fn actions_of_interrupted_writers() -> Result {
        let on_match = || -> Result<Action> {
            let mut clause = clause(b"onmatch(system.event).syn(saved)")?;

            // So that it needs no event.
            clause.kind = ActionKind::Save;
            Ok(Action {
                clause,
                track: None,
                refs: KVec::new(),
            })
        };
        let record = [0; 28];
        let interrupt = |hist: &Histogram| -> Result<Option<u32>> {
            hit(hist, &Fake::new(&record))?;
            let element = hist.map.lookup(&[0]).ok_or(EINVAL)?;
            let mut writer = element.write(&mut Polls::new()).ok_or(EBUSY)?;

            writer.set_var(0, 5);
            let run = hit(hist, &Fake::new(&record))?;

            drop(writer);
            // The one that was interrupted is the later one.
            assert_eq!(element.read(|vars| vars.var(0)), Some(Some(5)));
            Ok(run)
        };

        // A number, then a text.
        for text in [false, true] {
            let mut spec = spec()?;
            let field = if text { string(4)? } else { word(4)? };

            add(&mut spec, var(field, 0)?)?;
            add_key(&mut spec, word(0)?)?;
            spec.actions.push(on_match()?, GFP_KERNEL)?;
            let hist = hist(spec)?;

            assert_eq!(interrupt(&hist)?, Some(1));
            assert_eq!((hist.map.hits(), hist.map.drops()), (2, 0));
        }

        // The handler that watches a variable is the first action.
        let watched = hist(with_actions(true, false, Some(on_match()?))?)?;

        assert_eq!(interrupt(&watched)?, Some(2));
        assert_eq!((watched.map.hits(), watched.map.drops()), (2, 1));
        Ok(())
    }

    /// A context whose time is asked for while the element is not locked.
    struct Unlocked<'a> {
        fake: Fake<'a>,
        hist: &'a Histogram,
        asked: Cell<bool>,
    }

    impl HitContext for Unlocked<'_> {
        fn record(&self) -> &[u8] {
            self.fake.record()
        }

        fn time(&self) -> u64 {
            let element = self.hist.map.lookup(&[0]);

            self.asked
                .set(element.is_some_and(|element| element.read(|_| ()).is_some()));
            self.fake.time()
        }

        fn clock_in_ns(&self) -> bool {
            self.fake.clock_in_ns()
        }

        fn cpu(&self) -> u32 {
            self.fake.cpu()
        }

        fn comm(&self) -> Comm {
            self.fake.comm()
        }

        fn first_comm(&self) -> Comm {
            self.fake.first_comm()
        }

        fn stack(&self, to: &mut [u64; STACK_DEPTH]) -> usize {
            self.fake.stack(to)
        }
    }

    #[test]
    fn what_is_saved_is_computed_first() -> Result {
        let mut spec = with_actions(true, false, None)?;

        spec.save_vars[0].val = Field::property(HitProperty::Timestamp)?;
        let hist = hist(spec)?;
        let mut record = [0; 28];

        record[4] = 9;
        let context = Unlocked {
            fake: Fake::new(&record),
            hist: &hist,
            asked: Cell::new(false),
        };

        assert_eq!(hit(&hist, &context)?, Some(1));
        assert!(context.asked.get());
        Ok(())
    }

    #[test]
    fn signed_maximum() -> Result {
        let hist = watched(true, true)?;
        let minus = |n: u32| 0u32.wrapping_sub(n);
        let kept = |n: u64| 0u64.wrapping_sub(n);

        assert_eq!(watch(&hist, minus(5), b"x")?.1, kept(5));
        assert!(!watch(&hist, minus(6), b"x")?.0);
        assert!(watch(&hist, minus(4), b"x")?.0);
        assert!(watch(&hist, 0, b"x")?.0);
        assert_eq!(watch(&hist, minus(1), b"x")?.1, 0);
        Ok(())
    }

    #[test]
    fn change() -> Result {
        let hist = watched(false, false)?;

        assert!(!watch(&hist, 0, b"x")?.0);
        assert!(watch(&hist, 2, b"x")?.0);
        assert!(!watch(&hist, 2, b"x")?.0);
        assert!(watch(&hist, 1, b"x")?.0);
        assert!(watch(&hist, 0, b"x")?.0);
        Ok(())
    }

    #[test]
    fn long_chains_are_dropped() -> Result {
        // So long that nothing that is done for each on top of the other fits on a stack.
        const LENGTH: usize = 1000;

        let mut last = stamps()?;

        for _ in 1..LENGTH {
            let mut spec = spec()?;
            let idx = add_ref(&mut spec, owner(&last), 0, false)?;
            let field = Field::reference(idx, &spec.refs[idx], false)?;

            add(&mut spec, var(field, 0)?)?;
            add_key(&mut spec, word(0)?)?;
            last = hist_with(spec, &[last.clone()])?;
        }

        // Objects with other references do not change.
        let mut middle = last.clone();
        for _ in 0..LENGTH / 2 {
            let other = middle.program.sources[0].hist.clone();

            middle = other;
        }
        drop(last);
        assert_eq!(middle.program.sources.len(), 1);
        Ok(())
    }
}
