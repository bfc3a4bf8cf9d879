// SPDX-License-Identifier: GPL-2.0

//! Tests of what is before and behind the `if` of a line, and of which histograms are the same.

use kernel::prelude::*;

#[kunit_tests(hist_matching)]
mod tests {
    use super::*;
    use crate::{
        action::{
            parse::Clause,
            Action,
            ActionKind,
            Handler,
            Track, //
        },
        data::{
            FieldVar,
            SortKey,
            Spec, //
        },
        field::{
            Field,
            Flags,
            Operand,
            Operator,
            Owner,
            Source,
            Var,
            VarKind,
            VarRef, //
        },
        text::{
            c_string,
            Piece, //
        },
        trigger::{
            same,
            same_uses,
            split_filter, //
        },
        SORT_KEYS_MAX,
    };
    use kernel::{
        str::CString,
        trace::event_file::FieldKind, //
    };

    /// A line, what it is without the filter, and the filter.
    type Split<'a> = (&'a [u8], &'a [u8], Option<&'a [u8]>);

    #[test]
    fn filters() {
        let rows: [Split<'_>; 8] = [
            (b"keys=a", b"keys=a", None),
            (b"keys=a if b == 1", b"keys=a", Some(b"if b == 1")),
            (b"keys=a \tif\tb == 1", b"keys=a", Some(b"if\tb == 1")),
            // The first one counts.
            (b"keys=a if b if c", b"keys=a", Some(b"if b if c")),
            (b"keys=elif", b"keys=elif", None),
            (b"keys=a ify b", b"keys=a ify b", None),
            (b"keys=a xif if b", b"keys=a xif", Some(b"if b")),
            // Without a filter nothing is trimmed.
            (b"keys=a ", b"keys=a ", None),
        ];

        for (line, clauses, filter) in rows {
            let split = split_filter(Piece::new(line, 5));

            assert!(split.is_ok_and(|(a, b)| { a.is(clauses) && b.map(Piece::bytes) == filter }));
        }
        for line in [
            &b"if a == 1"[..],
            b"ifs=a:keys=b",
            b"keys=a if",
            b"keys=a if ",
        ] {
            assert!(split_filter(Piece::new(line, 5)).is_err());
        }
    }

    #[test]
    fn columns_of_filters() {
        let Ok((clauses, Some(filter))) = split_filter(Piece::new(b"keys=a if b", 5)) else {
            assert!(false);
            return;
        };

        assert_eq!(clauses.at(), 5);
        assert_eq!(filter.at(), 12);
    }

    fn source(name: &[u8]) -> Result<Source> {
        Ok(Source {
            name: c_string(name)?,
            ty: c_string(b"u32")?,
            offset: 8,
            size: 4,
            signed: false,
            kind: FieldKind::Number,
            string: false,
        })
    }

    fn number(name: &[u8], flags: Flags) -> Result<Field> {
        Field::new(Some(source(name)?), flags)
    }

    fn spec() -> Result<Spec> {
        let mut fields = KVec::new();

        fields.push(Field::hitcount()?, GFP_KERNEL)?;
        fields.push(number(b"len", Flags::NONE)?, GFP_KERNEL)?;
        fields.push(number(b"pid", Flags::KEY)?, GFP_KERNEL)?;
        Ok(Spec {
            fields,
            n_vals: 2,
            key_size: 8,
            refs: KVec::new(),
            sort_keys: [SortKey::default(); SORT_KEYS_MAX],
            n_sort_keys: 1,
            name: None,
            clock: c_string(b"global")?,
            no_hitcount: false,
            timestamps: false,
            usecs: false,
            map_bits: 11,
            actions: KVec::new(),
            field_vars: KVec::new(),
            save_vars: KVec::new(),
            n_map_vars: 0,
        })
    }

    /// Whether it is still the same after `change`.
    ///
    /// # Errors
    ///
    /// `EIO` if it matters which of the two has been changed.
    fn after(change: impl Fn(&mut Spec) -> Result) -> Result<bool> {
        let old = spec()?;
        let mut new = spec()?;

        change(&mut new)?;

        let result = same(&new, &[], &old);

        if same(&old, &[], &new) == result {
            Ok(result)
        } else {
            Err(EIO)
        }
    }

    fn replace(spec: &mut Spec, i: usize, field: Field) -> Result {
        *spec.fields.get_mut(i).ok_or(EINVAL)? = field;
        Ok(())
    }

    #[test]
    fn plain_histograms() -> Result {
        assert!(after(|_| Ok(()))?);

        // Neither size nor clock matter.
        assert!(after(|spec| {
            spec.map_bits = 8;
            spec.clock = c_string(b"mono")?;
            Ok(())
        })?);

        assert!(!after(|spec| {
            spec.name = Some(c_string(b"name=a")?);
            Ok(())
        })?);
        assert!(!after(|spec| replace(
            spec,
            2,
            number(b"tid", Flags::KEY)?
        ))?);
        assert!(!after(|spec| replace(
            spec,
            2,
            number(b"pid", Flags::KEY | Flags::HEX)?
        ))?);
        assert!(!after(|spec| {
            spec.fields.pop();
            Ok(())
        })?);
        assert!(!after(|spec| {
            spec.n_vals = 1;
            Ok(())
        })?);
        assert!(!after(|spec| {
            spec.n_sort_keys = 2;
            Ok(())
        })?);
        assert!(!after(|spec| {
            spec.sort_keys[0].descending = true;
            Ok(())
        })?);
        // What is not used does not matter.
        assert!(after(|spec| {
            spec.sort_keys[1].descending = true;
            Ok(())
        })?);
        Ok(())
    }

    #[test]
    fn names_do_not_begin_alike() -> Result {
        let named = |name: &[u8]| -> Result<Spec> {
            let mut spec = spec()?;

            spec.name = Some(c_string(name)?);
            Ok(spec)
        };

        assert!(same(&named(b"name=a")?, &[], &named(b"name=a")?));
        assert!(!same(&named(b"name=a")?, &[], &named(b"name=ab")?));
        Ok(())
    }

    fn variable(name: &[u8]) -> Result<Field> {
        let mut field = number(b"len", Flags::VAR)?;

        field.var = Some(Var {
            name: c_string(name)?,
            idx: 0,
        });
        Ok(field)
    }

    #[test]
    fn names_of_variables() -> Result {
        let with = |name: &[u8]| -> Result<Spec> {
            let mut spec = spec()?;

            replace(&mut spec, 1, variable(name)?)?;
            Ok(spec)
        };

        assert!(same(&with(b"a")?, &[], &with(b"a")?));
        assert!(!same(&with(b"a")?, &[], &with(b"b")?));
        Ok(())
    }

    /// A field whose value is rounded down to a multiple of `width`.
    fn bucket(width: u64) -> Result<Field> {
        let mut field = number(b"pid", Flags::KEY | Flags::BUCKET)?;

        field.buckets = width;
        Ok(field)
    }

    /// `len operator n`
    fn expression(operator: Operator, n: u64) -> Result<Field> {
        let operand =
            |field| -> Result<Operand> { Ok(Operand::Field(KBox::new(field, GFP_KERNEL)?)) };
        let mut field = number(b"len", Flags::EXPR)?;

        field.source = None;
        field.operator = operator;
        field.operands = [
            Some(operand(number(b"len", Flags::NONE)?)?),
            Some(operand(Field::constant(n, Flags::CONST)?)?),
        ];
        Ok(field)
    }

    /// Whether histograms with these values of their own are the same.
    fn alike(i: usize, a: Field, b: Field) -> Result<bool> {
        let mut new = spec()?;
        let mut old = spec()?;

        replace(&mut new, i, a)?;
        replace(&mut old, i, b)?;
        Ok(same(&new, &[], &old))
    }

    #[test]
    fn what_values_are_computed_from() -> Result {
        assert!(alike(2, bucket(4)?, bucket(4)?)?);
        assert!(!alike(2, bucket(4)?, bucket(8)?)?);

        let plus = |n| expression(Operator::Plus, n);
        assert!(alike(1, plus(1)?, plus(1)?)?);
        assert!(!alike(1, plus(1)?, plus(2)?)?);
        assert!(!alike(1, plus(1)?, expression(Operator::Minus, 1)?)?);

        let mut one_sided = plus(1)?;
        one_sided.operands[1] = None;
        assert!(!alike(1, plus(1)?, one_sided)?);
        Ok(())
    }

    /// A stack of the record.
    fn stack(flags: Flags) -> Result<Field> {
        let mut source = source(b"stk")?;

        source.kind = FieldKind::Stacktrace;
        Field::new(Some(source), flags)
    }

    #[test]
    fn stacks_with_and_without_the_modifier() -> Result {
        let with = || stack(Flags::KEY | Flags::STACKTRACE);
        let without = || stack(Flags::KEY);

        assert!(alike(2, without()?, with()?)?);
        assert!(alike(2, with()?, without()?)?);
        assert!(!alike(2, without()?, number(b"stk", Flags::KEY)?)?);
        Ok(())
    }

    /// A histogram that keeps the field `aa`, which begins at `offset`, for `save()` or for a
    /// synthetic event.
    fn using(offset: u32, saves: bool) -> Result<Spec> {
        let mut spec = spec()?;
        let mut source = source(b"aa")?;

        source.offset = offset;

        let used = FieldVar {
            var: variable(b"aa")?,
            val: Field::new(Some(source), Flags::VAR)?,
        };

        if saves {
            spec.save_vars.push(used, GFP_KERNEL)?;
        } else {
            spec.field_vars.push(used, GFP_KERNEL)?;
        }
        Ok(spec)
    }

    #[test]
    fn what_actions_use() -> Result {
        for saves in [false, true] {
            assert!(same_uses(&using(8, saves)?, &[], &using(8, saves)?));
            assert!(!same_uses(&using(8, saves)?, &[], &using(16, saves)?));
            assert!(!same_uses(&using(8, saves)?, &[], &using(8, !saves)?));
            assert!(!same_uses(&using(8, saves)?, &[], &spec()?));
        }
        // The other one makes no synthetic event.
        assert!(!same_uses(&reading(3, false)?, &[0], &spec()?));
        Ok(())
    }

    /// A histogram with a value that is read from the variable `var_idx`, the second one that it
    /// refers to if `late` is set.
    fn reading(var_idx: usize, late: bool) -> Result<Spec> {
        let reference = |var_idx| -> Result<VarRef> {
            Ok(VarRef {
                owner: Owner::Own,
                var_idx,
                flags: Flags::VAR_REF,
                name: c_string(b"a")?,
                at: 0,
                system: None,
                event: None,
                ty: c_string(b"u64")?,
                size: 8,
                signed: false,
                read_once: false,
                kind: VarKind::Number,
            })
        };
        let mut spec = spec()?;

        if late {
            spec.refs.push(reference(9)?, GFP_KERNEL)?;
        }

        let field = Field::reference(spec.refs.len(), &reference(var_idx)?)?;

        spec.refs.push(reference(var_idx)?, GFP_KERNEL)?;
        replace(&mut spec, 1, field)?;
        Ok(spec)
    }

    #[test]
    fn references() -> Result {
        assert!(same(&reading(3, false)?, &[], &reading(3, false)?));
        assert!(!same(&reading(3, false)?, &[], &reading(4, false)?));
        // It is the variable that matters, not when it was met.
        assert!(same(&reading(3, true)?, &[], &reading(3, false)?));
        Ok(())
    }

    fn clause(text: &[u8]) -> Result<Clause<'_>> {
        Clause::parse(Piece::new(text, 0), |_, _| true).map_err(|fault| fault.errno)
    }

    fn action(handler: Handler, params: &[&[u8]]) -> Result<Action> {
        let mut copies: KVec<CString> = KVec::new();

        for param in params {
            copies.push(c_string(param)?, GFP_KERNEL)?;
        }
        Ok(Action {
            handler,
            kind: ActionKind::Save,
            name: c_string(b"save")?,
            params: copies,
            traced: None,
        })
    }

    #[test]
    fn actions() -> Result {
        let track = Track {
            var_str: c_string(b"$lat")?,
            var_ref: 0,
            track_var: variable(b"__max")?,
        };
        let mut old = spec()?;

        old.actions.push(
            action(Handler::OnMax(track), &[b"comm", b"prio"])?,
            GFP_KERNEL,
        )?;

        let new = spec()?;
        let matches = |text: &[u8]| -> Result<bool> { Ok(same(&new, &[clause(text)?], &old)) };

        assert!(matches(b"onmax($lat).save(comm,prio)")?);
        assert!(matches(b"onmax($lat).save( comm , prio )")?);
        assert!(!matches(b"onmax($lat).save(prio,comm)")?);
        assert!(!matches(b"onmax($lat).save(comm)")?);
        assert!(!matches(b"onmax($la).save(comm,prio)")?);
        assert!(!matches(b"onchange($lat).save(comm,prio)")?);
        assert!(!matches(b"onmax($lat).snapshot()")?);
        assert!(!matches(b"onmax($lat).syn(comm,prio)")?);
        assert!(!matches(b"onmatch(a.b).syn(comm,prio)")?);
        // With one action more, or one less.
        assert!(!same(&new, &[], &old));
        assert!(!same(
            &spec()?,
            &[clause(b"onmax($lat).save(comm,prio)")?],
            &spec()?
        ));
        Ok(())
    }
}
