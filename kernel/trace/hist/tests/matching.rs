// SPDX-License-Identifier: GPL-2.0

//! Tests of splitting a line at its `if`, and of which histograms are the same.

use kernel::prelude::*;

#[kunit_tests(hist_matching)]
mod tests {
    use super::*;
    use crate::{
        command::{
            action::ActionClause,
            expr::{
                Modifier,
                Operator, //
            },
            Span, //
        },
        limits::SORT_KEYS_MAX,
        spec::{
            field::{
                Expr,
                Field,
                HitProperty,
                Origin,
                Source,
                Type, //
            },
            Action,
            FieldVar,
            Owner,
            SortKey,
            Spec,
            Track,
            Var,
            VarKind,
            VarRef, //
        },
        text_buf::c_string,
        trigger::split_filter, //
    };
    use kernel::trace::event_file::FieldKind as RecordKind;

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
            let split = split_filter(Span::new(line, 5));

            assert!(split.is_ok_and(|(a, b)| { a.is(clauses) && b.map(Span::bytes) == filter }));
        }
        for line in [
            &b"if a == 1"[..],
            b"ifs=a:keys=b",
            b"keys=a if",
            b"keys=a if ",
        ] {
            assert!(split_filter(Span::new(line, 5)).is_err());
        }
    }

    #[test]
    fn columns_of_filters() {
        let Ok((clauses, Some(filter))) = split_filter(Span::new(b"keys=a if b", 5)) else {
            assert!(false);
            return;
        };

        assert_eq!(clauses.at(), 5);
        assert_eq!(filter.at(), 12);
    }

    fn source(name: &[u8]) -> Result<Source> {
        Ok(Source {
            name: c_string(name)?,
            ty: Type::new(c"u32", 4, false)?,
            offset: 8,
            kind: RecordKind::Number,
            string: false,
        })
    }

    fn number(name: &[u8], modifier: Modifier) -> Result<Field> {
        Field::new(Origin::Recorded(source(name)?), modifier)
    }

    fn spec() -> Result<Spec> {
        let mut fields = KVec::new();

        fields.push(Field::property(HitProperty::HitCount)?, GFP_KERNEL)?;
        fields.push(number(b"len", Modifier::None)?, GFP_KERNEL)?;
        fields.push(number(b"pid", Modifier::None)?, GFP_KERNEL)?;
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
            quantiles: false,
            reuse: false,
            timestamps: false,
            usecs: false,
            map_bits: 11,
            actions: KVec::new(),
            field_vars: KVec::new(),
            save_vars: KVec::new(),
            n_map_vars: 0,
        })
    }

    /// Returns `true` if a description is still the same after `change`.
    ///
    /// # Errors
    ///
    /// `EIO` if it matters which of the two has been changed.
    fn after(change: impl Fn(&mut Spec) -> Result) -> Result<bool> {
        let old = spec()?;
        let mut new = spec()?;

        change(&mut new)?;

        let result = new.is_same(&[], &old);

        if old.is_same(&[], &new) == result {
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
            number(b"tid", Modifier::None)?
        ))?);
        assert!(!after(|spec| replace(
            spec,
            2,
            number(b"pid", Modifier::Hex)?
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
        assert!(!after(|spec| {
            spec.quantiles = true;
            Ok(())
        })?);
        assert!(!after(|spec| {
            spec.reuse = true;
            Ok(())
        })?);
        // An unused field does not matter.
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

        assert!(named(b"name=a")?.is_same(&[], &named(b"name=a")?));
        assert!(!named(b"name=a")?.is_same(&[], &named(b"name=ab")?));
        Ok(())
    }

    fn var(name: &[u8]) -> Result<Var> {
        Ok(Var {
            name: c_string(name)?,
            idx: 0,
        })
    }

    fn variable(name: &[u8]) -> Result<Field> {
        let mut field = number(b"len", Modifier::None)?;

        field.var = Some(var(name)?);
        Ok(field)
    }

    #[test]
    fn names_of_variables() -> Result {
        let with = |name: &[u8]| -> Result<Spec> {
            let mut spec = spec()?;

            replace(&mut spec, 1, variable(name)?)?;
            Ok(spec)
        };

        assert!(with(b"a")?.is_same(&[], &with(b"a")?));
        assert!(!with(b"a")?.is_same(&[], &with(b"b")?));
        Ok(())
    }

    /// Returns a field whose value is rounded down to a multiple of `width`.
    fn bucket(width: u64) -> Result<Field> {
        number(b"pid", Modifier::Buckets(width))
    }

    /// Returns the field `len` followed by an operator and a constant, or `-(len)` without them.
    fn expression(right: Option<(Operator, u64)>) -> Result<Field> {
        let right = match right {
            Some((operator, n)) => Some((operator, Field::constant(n)?)),
            None => None,
        };

        Field::expression(Expr {
            left: number(b"len", Modifier::None)?,
            right,
            divisor: None,
            text: c_string(b"")?,
            usecs: false,
        })
    }

    /// Returns `true` if histograms with these values of their own are the same.
    fn alike(i: usize, a: Field, b: Field) -> Result<bool> {
        let mut new = spec()?;
        let mut old = spec()?;

        replace(&mut new, i, a)?;
        replace(&mut old, i, b)?;
        Ok(new.is_same(&[], &old))
    }

    #[test]
    fn what_values_are_computed_from() -> Result {
        assert!(alike(2, bucket(4)?, bucket(4)?)?);
        assert!(!alike(2, bucket(4)?, bucket(8)?)?);

        let plus = |n| expression(Some((Operator::Plus, n)));
        assert!(alike(1, plus(1)?, plus(1)?)?);
        assert!(!alike(1, plus(1)?, plus(2)?)?);
        let minus = expression(Some((Operator::Minus, 1)))?;
        assert!(!alike(1, plus(1)?, minus)?);

        let negated = || expression(None);
        assert!(alike(1, negated()?, negated()?)?);
        assert!(!alike(1, plus(1)?, negated()?)?);
        Ok(())
    }

    /// Returns a stack of the record.
    fn stack(modifier: Modifier) -> Result<Field> {
        let mut source = source(b"stk")?;

        source.kind = RecordKind::Stacktrace;
        Field::new(Origin::Recorded(source), modifier)
    }

    #[test]
    fn stacks_with_and_without_the_modifier() -> Result {
        let with = || stack(Modifier::Stacktrace);
        let without = || stack(Modifier::None);

        assert!(alike(2, without()?, with()?)?);
        assert!(alike(2, with()?, without()?)?);
        assert!(!alike(2, without()?, number(b"stk", Modifier::None)?)?);
        Ok(())
    }

    /// Returns a histogram that keeps the field `aa`, which begins at `offset`, for `save()` or
    /// for a synthetic event.
    fn using(offset: u32, saves: bool) -> Result<Spec> {
        let mut spec = spec()?;
        let mut source = source(b"aa")?;

        source.offset = offset;

        let used = FieldVar {
            var: var(b"aa")?,
            val: Field::new(Origin::Recorded(source), Modifier::None)?,
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
            assert!(using(8, saves)?.uses_same(&using(8, saves)?));
            assert!(!using(8, saves)?.uses_same(&using(16, saves)?));
            assert!(!using(8, saves)?.uses_same(&using(8, !saves)?));
            assert!(!using(8, saves)?.uses_same(&spec()?));
        }
        // The other one emits no synthetic event, or one of another variable.
        assert!(!passing(Some(3))?.uses_same(&passing(None)?));
        assert!(!passing(Some(3))?.uses_same(&passing(Some(4))?));
        assert!(passing(Some(3))?.uses_same(&passing(Some(3))?));
        Ok(())
    }

    /// Returns a histogram with an action that passes a variable, or none, to a synthetic event.
    fn passing(var_idx: Option<usize>) -> Result<Spec> {
        let mut spec = match var_idx {
            Some(idx) => reading(idx, false)?,
            None => spec()?,
        };
        let mut action = action(b"onmatch(a.b).syn($ab)", None)?;

        if var_idx.is_some() {
            action.refs.push(0, GFP_KERNEL)?;
        }
        spec.actions.push(action, GFP_KERNEL)?;
        Ok(spec)
    }

    /// Returns a histogram with a value that is read from the variable `var_idx`, by its second
    /// reference if `late` is set.
    fn reading(var_idx: usize, late: bool) -> Result<Spec> {
        let reference = |var_idx| -> Result<VarRef> {
            Ok(VarRef {
                owner: Owner::Own,
                var_idx,
                name: c_string(b"a")?,
                at: 0,
                event: None,
                ty: Type::new(c"u64", 8, false)?,
                usecs: false,
                constant: None,
                read_once: false,
                kind: VarKind::Number,
            })
        };
        let mut spec = spec()?;

        if late {
            spec.refs.push(reference(9)?, GFP_KERNEL)?;
        }

        let field = Field::reference(spec.refs.len(), &reference(var_idx)?, false)?;

        spec.refs.push(reference(var_idx)?, GFP_KERNEL)?;
        replace(&mut spec, 1, field)?;
        Ok(spec)
    }

    #[test]
    fn references() -> Result {
        assert!(reading(3, false)?.is_same(&[], &reading(3, false)?));
        assert!(!reading(3, false)?.is_same(&[], &reading(4, false)?));
        // It is the variable that matters, not when it was met.
        assert!(reading(3, true)?.is_same(&[], &reading(3, false)?));
        Ok(())
    }

    fn clause(text: &[u8]) -> Result<ActionClause<Span<'_>>> {
        ActionClause::parse(Span::new(text, 0), |_, _| true).map_err(|error| error.errno)
    }

    fn action(text: &[u8], track: Option<Track>) -> Result<Action> {
        Ok(Action {
            clause: clause(text)?.to_owned()?,
            track,
            refs: KVec::new(),
        })
    }

    #[test]
    fn actions() -> Result {
        let track = Track {
            var_ref: 0,
            var: var(b"__max")?,
        };
        let mut old = spec()?;

        old.actions.push(
            action(b"onmax($lat).save(comm,prio)", Some(track))?,
            GFP_KERNEL,
        )?;

        let new = spec()?;
        let matches = |text: &[u8]| -> Result<bool> { Ok(new.is_same(&[clause(text)?], &old)) };

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
        assert!(!new.is_same(&[], &old));
        let clauses = [clause(b"onmax($lat).save(comm,prio)")?];
        assert!(!spec()?.is_same(&clauses, &spec()?));
        Ok(())
    }
}
