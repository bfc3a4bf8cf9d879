// SPDX-License-Identifier: GPL-2.0

//! Creates fields: values, variables and keys from expressions, and the sort order of them.

use kernel::{
    prelude::*,
    str::CString,
    trace::event_file::FieldKind as RecordKind, //
};

use super::Builder;
use crate::{
    command::{
        clauses::VarDef,
        expr::{
            self,
            parse_u64,
            Modifier,
            Operator,
            Qualified,
            Role,
            Root, //
        },
        ErrorKind,
        Span, //
    },
    limits::{
        KEYS_MAX,
        KEY_SIZE_MAX,
        SORT_KEYS_MAX,
        STATISTICS_MAX,
        STR_MAX,
        SUBEXPRS_MAX,
        VALS_MAX,
        WORD, //
    },
    spec::{
        field::{
            Expr,
            Field,
            FieldKind,
            HitProperty,
            Origin,
            Source, //
        },
        SortKey,
        Var,
        VarKind, //
    },
    text_buf::{
        c_string,
        TextBuf, //
    },
};

impl<'a> Builder<'a, '_> {
    /// Creates the values: the hit count, and the fields of `vals=`.
    ///
    /// A `hitcount` in the list is the one that every histogram has; only another one is a value of
    /// its own.
    pub(super) fn create_vals(&mut self) -> Result {
        self.push_val(Field::property(HitProperty::HitCount)?)?;

        if let Some(vals) = self.clauses.vals {
            self.create_listed_vals(vals)?;
        }
        if self.spec.no_hitcount && self.spec.n_vals <= 1 {
            self.log.report_at(ErrorKind::NeedNohcVal, 0);
            return Err(ENOENT);
        }
        Ok(())
    }

    fn create_listed_vals(&mut self, vals: Span<'_>) -> Result {
        let mut had_hitcount = false;
        let mut rest = Some(vals);
        // C does not know of statistics, which do not count for its limits.
        let (mut n_listed, mut n_statistics) = (0usize, 0usize);

        while let Some(list) = rest {
            let (val, behind) = list.split(b',');
            let is_hitcount = val.is(b"hitcount") && !had_hitcount;

            if expr::is_statistic(val) {
                n_statistics = n_statistics.wrapping_add(1);
                if n_statistics > STATISTICS_MAX {
                    break;
                }
            } else {
                let is_full =
                    n_listed >= VALS_MAX || self.spec.n_vals.wrapping_sub(n_statistics) >= VALS_MAX;
                // As in C, the hit count can be the last of a full list. Statistics may follow it.
                let precedes_statistic =
                    || behind.is_some_and(|behind| expr::is_statistic(behind.split(b',').0));

                if is_full && !(is_hitcount && precedes_statistic()) {
                    break;
                }
                n_listed = n_listed.wrapping_add(1);
            }
            rest = behind;
            if is_hitcount {
                had_hitcount = true;
                continue;
            }
            self.create_val(val)?;
        }
        match rest {
            Some(rest) if !rest.is(b"hitcount") => Err(EINVAL),
            _ => Ok(()),
        }
    }

    fn create_val(&mut self, text: Span<'_>) -> Result {
        let field = self.whole(text, Role::Value, None)?;
        let kind = self.spec.var_kind(&field);

        // A modifier that only a key can have.
        if kind == VarKind::Stack(())
            || field.modifier.is_rounding()
            || matches!(
                field.modifier,
                Modifier::Sym | Modifier::SymOffset | Modifier::Syscall
            )
        {
            return Err(self.log.report(ErrorKind::BadFieldModifier, text));
        }
        if kind != VarKind::Number {
            return Err(self.log.report(ErrorKind::InvalidStrOperand, text));
        }
        self.push_val(field)
    }

    /// Adds a value or a variable.
    fn push_val(&mut self, field: Field) -> Result {
        self.spec.fields.push(field, GFP_KERNEL)?;
        self.spec.n_vals = self.spec.n_vals.wrapping_add(1);
        Ok(())
    }

    /// Creates the variables that the command defines.
    pub(super) fn create_vars(&mut self) -> Result {
        for i in 0..self.defs.len() {
            let Some(&VarDef { name, expr }) = self.defs.get(i) else {
                break;
            };

            self.create_var(name, expr)?;
        }
        Ok(())
    }

    fn create_var(&mut self, name: Span<'_>, expr: Span<'_>) -> Result {
        if self.mode != super::Mode::Remove && self.defined(name.bytes()) {
            return Err(self.log.report(ErrorKind::DuplicateVar, name));
        }

        let mut field = self.whole(expr, Role::Var, Some(name))?;

        if field.modifier.is_rounding() {
            return Err(self.log.report(ErrorKind::BadFieldModifier, expr));
        }
        if field.modifier == Modifier::ExecName {
            field = field.into_first_comm()?;
        }
        self.push_val(field)
    }

    /// Creates the keys, and lays them out.
    pub(super) fn create_keys(&mut self) -> Result {
        let keys = self.clauses.keys;

        for key in keys.spans(b',').take(KEYS_MAX) {
            self.create_key(key)?;
        }
        if keys.spans(b',').nth(KEYS_MAX).is_some() {
            return Err(EINVAL);
        }
        Ok(())
    }

    fn create_key(&mut self, text: Span<'_>) -> Result {
        let mut field = if text.is(b"stacktrace") {
            Field::property(HitProperty::Stack)?
        } else {
            self.whole(text, Role::Key, None)?
        };

        if field.has_vars() {
            return Err(self.log.report(ErrorKind::InvalidRefKey, text));
        }

        // CAST: Small.
        let size = field.ty.size.checked_next_multiple_of(WORD as u32);

        field.ty.size = size.ok_or(EINVAL)?;
        // CAST: A `usize` has 32 bits at least.
        self.spec.key_size = self.spec.key_size.saturating_add(field.ty.size as usize);
        if self.spec.key_size > KEY_SIZE_MAX {
            return Err(EINVAL);
        }
        self.spec.fields.push(field, GFP_KERNEL)?;
        Ok(())
    }

    /// Creates the sort order, which without a clause is that of the hit count.
    pub(super) fn create_sort_keys(&mut self) -> Result {
        self.spec.n_sort_keys = 1;
        let Some(list) = self.clauses.sort else {
            return Ok(());
        };
        // The clause as a whole is in front of its value.
        let clause = list.at().wrapping_sub(b"sort=".len());
        let report = |kind| {
            self.log.report_at(kind, clause);
            EINVAL
        };
        let mut sort_keys = [SortKey::default(); SORT_KEYS_MAX];
        let mut n = 0usize;
        let mut rest = Some(list);

        for key in &mut sort_keys {
            let Some((text, behind)) = rest.map(|list| list.split(b',')) else {
                break;
            };

            rest = behind;
            n = n.wrapping_add(1);
            if text.is_empty() {
                return Err(report(ErrorKind::EmptySortField));
            }
            if n == SORT_KEYS_MAX && rest.is_some() {
                return Err(report(ErrorKind::TooManySortFields));
            }
            if text.bytes().first() == Some(&b'.') {
                return Err(report(ErrorKind::EmptySortField));
            }
            *key = self.sort_key(text)?;
        }

        self.spec.sort_keys = sort_keys;
        self.spec.n_sort_keys = n;
        Ok(())
    }

    /// Parses `field[.ascending|.descending]`, where a field is named by its label or by its text
    /// in the line of the trigger.
    ///
    /// # Errors
    ///
    /// The error has been logged.
    fn sort_key(&self, text: Span<'_>) -> Result<SortKey> {
        let (field, descending) = split_direction(text);

        if let Some(field_idx) = self.sort_field(field)? {
            return Ok(SortKey {
                field_idx,
                descending,
            });
        }

        // As in C, where the name ends at the first dot.
        let (name, modifier) = text.split(b'.');

        Err(match modifier {
            Some(modifier) if self.sort_field(name)?.is_some() => {
                self.log.report(ErrorKind::InvalidSortModifier, modifier)
            }
            _ => self.log.report(ErrorKind::InvalidSortField, name),
        })
    }

    /// Returns the index of the field of this label or, failing that, of this text. The label
    /// alone does not name a statistic.
    fn sort_field(&self, name: Span<'_>) -> Result<Option<usize>> {
        if name.is(b"hitcount") {
            return Ok(Some(0));
        }

        let refs = &self.spec.refs;
        let mut fields = self.spec.sort_fields().enumerate().skip(1);

        let called = fields.find(|(_, field)| {
            !field.modifier.is_statistic() && field.is_called(name.bytes(), refs)
        });

        if let Some((i, _)) = called {
            return Ok(Some(i));
        }
        for (i, field) in self.spec.sort_fields().enumerate().skip(1) {
            let mut text = TextBuf::new();

            field.write(&mut text, refs);
            if name.is(text.bytes()?) {
                return Ok(Some(i));
            }
        }
        Ok(None)
    }

    /// Creates a field of the whole expression `text`: a key, a value, or the variable `var`.
    fn whole(&mut self, text: Span<'_>, role: Role, var: Option<Span<'_>>) -> Result<Field> {
        let mut field = self.expr(text, role, var.is_some(), &mut 0)?;

        if let Some(name) = var {
            field.var = Some(Var {
                name: name.to_c_string()?,
                idx: 0,
            });
        }
        Ok(field)
    }

    /// Creates a field of an expression. `n_operators` counts the operators so far.
    fn expr(
        &mut self,
        text: Span<'_>,
        role: Role,
        alias: bool,
        n_operators: &mut u32,
    ) -> Result<Field> {
        if *n_operators > SUBEXPRS_MAX {
            return Err(self.log.report(ErrorKind::TooManySubexpr, text));
        }
        let root = expr::root(text);
        if let Root::Atom = root {
            return self.atom(text, role, alias);
        }
        *n_operators = n_operators.wrapping_add(1);

        match root {
            Root::Negation if *n_operators > SUBEXPRS_MAX => {
                Err(self.log.report(ErrorKind::TooManySubexpr, text))
            }
            Root::Binary {
                operator,
                left,
                right,
            } => self.binary(operator, left, right, n_operators),
            _ => self.negation(text, n_operators),
        }
    }

    /// Creates an operand, which must be a number.
    fn operand(&mut self, text: Span<'_>, n_operators: &mut u32) -> Result<Field> {
        let operand = self.expr(text, Role::Value, false, n_operators)?;

        if self.spec.var_kind(&operand) != VarKind::Number {
            return Err(self.log.report(ErrorKind::InvalidStrOperand, text));
        }
        if operand.modifier.is_statistic() {
            return Err(self.log.report(ErrorKind::BadFieldModifier, text));
        }
        Ok(operand)
    }

    /// Creates a field of `-(...)`.
    fn negation(&mut self, text: Span<'_>, n_operators: &mut u32) -> Result<Field> {
        let inner = expr::negated(text).map_err(|e| self.log.parse_error(e))?;
        let left = self.operand(inner, n_operators)?;
        let mut text = TextBuf::new();

        text.put(b"-(");
        left.write_operand(&mut text, &self.spec.refs);
        text.put(b")");
        Field::expression(Expr {
            usecs: left.is_usecs(&self.spec.refs),
            left,
            right: None,
            divisor: None,
            text: bounded(&text)?,
        })
    }

    /// Creates a field of an operation on two operands, or a constant if both are.
    fn binary(
        &mut self,
        operator: Operator,
        left: Span<'_>,
        right: Span<'_>,
        n_operators: &mut u32,
    ) -> Result<Field> {
        if left.is_empty() || right.is_empty() {
            return Err(EINVAL);
        }
        let a = self.operand(left, n_operators)?;
        let b = self.operand(right, n_operators)?;
        let refs = &mut self.spec.refs;
        let usecs = a.is_usecs(refs);
        let (a_const, b_const) = (a.as_constant(refs), b.as_constant(refs));

        if usecs != b.is_usecs(refs) {
            self.log.report_at(ErrorKind::TimestampMismatch, 0);
            return Err(EINVAL);
        }
        for operand in [&a, &b] {
            if let FieldKind::Ref(idx) = operand.kind {
                if let Some(var_ref) = refs.get_mut(idx) {
                    var_ref.read_once = true;
                }
            }
        }

        let divisor = b_const.filter(|_| operator == Operator::Div);
        if divisor == Some(0) {
            self.log.report_at(ErrorKind::DivisionByZero, right.at());
            return Err(EDOM);
        }
        if let (Some(a), Some(b)) = (a_const, b_const) {
            return Field::constant(expr::fold(operator, a, b)?);
        }

        let mut text = TextBuf::new();

        a.write_operand(&mut text, refs);
        text.put(expr::sign(operator));
        b.write_operand(&mut text, refs);
        Field::expression(Expr {
            left: a,
            right: Some((operator, b)),
            divisor,
            text: bounded(&text)?,
            usecs,
        })
    }

    /// Creates a field of a text without operator, or of a reference to a variable, which is an
    /// `alias` if the field is to be a variable.
    pub(super) fn atom(&mut self, text: Span<'_>, role: Role, alias: bool) -> Result<Field> {
        if text.bytes().first().is_some_and(u8::is_ascii_digit) {
            let value = parse_u64(text.bytes())
                .map_err(|_| self.log.report(ErrorKind::ExpectNumber, text))?;

            return Field::constant(value);
        }

        let target = expr::qualified(text);

        if let Some(definition) = self.local_field(target) {
            return self.field(expr::qualified(definition).name, role);
        }
        match self.find_reference(target) {
            Some(idx) => Field::reference(idx, self.spec.var_ref(idx)?, alias),
            None => self.field(target.name, role),
        }
    }

    /// Returns the definition of a variable of the same command, if that is a field of the event.
    ///
    /// A variable that is an expression, or a reference, cannot be used in the command that defines
    /// it, except by actions.
    fn local_field(&self, target: Qualified<'_>) -> Option<Span<'a>> {
        let name = expr::variable(target.name)?;

        if !self.is_own_event(target.event) {
            return None;
        }
        self.defs
            .iter()
            .filter(|def| def.name.is(name.bytes()))
            .map(|def| def.expr)
            .find(|expr| {
                matches!(expr::root(*expr), Root::Atom)
                    && expr::variable(expr::qualified(*expr).name).is_none()
            })
    }

    /// Finds a variable of another histogram, and returns the reference to it. If `target` is a
    /// reference and the variable does not exist, that is logged.
    fn find_reference(&mut self, target: Qualified<'_>) -> Option<usize> {
        let name = expr::variable(target.name)?;
        let idx = self
            .find_event_var(target.event, name)
            .and_then(|found| self.reference(&found, target.event).ok());

        if idx.is_none() {
            self.log.report(ErrorKind::VarNotFound, name);
        }
        idx
    }

    /// Creates a field of `name[.modifier]`: a property of the hit, or a field of the event.
    fn field(&mut self, text: Span<'_>, role: Role) -> Result<Field> {
        let (name, modifier_text) = text.split(b'.');
        let modifier = match modifier_text {
            Some(modifier) => {
                Modifier::parse(name, modifier, role).map_err(|e| self.log.parse_error(e))?
            }
            None => Modifier::None,
        };
        let origin = match HitProperty::by_name(name.bytes()) {
            Some(property) => Origin::Property(property, None),
            None => self.event_field(name)?,
        };
        let bad = |text| Err(self.log.report(ErrorKind::BadFieldModifier, text));
        // The first bytes of a string can be shown as a number, as in C. Those of a stack are
        // addresses of the kernel.
        let wrong = match &origin {
            Origin::Recorded(source) if source.is_stack() => modifier.is_for_numbers(),
            _ if modifier == Modifier::Stacktrace => return bad(text),
            Origin::Property(HitProperty::Stack, _) => modifier.is_for_numbers(),
            Origin::Property(HitProperty::Comm, _) => modifier.is_rounding(),
            Origin::Property(HitProperty::HitCount, _) => modifier.is_statistic(),
            Origin::Recorded(source) if source.is_string() => modifier.is_rounding(),
            _ => false,
        };

        if let Origin::Property(HitProperty::Timestamp, _) = origin {
            self.spec.timestamps = true;
            self.spec.usecs |= modifier == Modifier::Usecs;
        }
        if wrong {
            return bad(modifier_text.unwrap_or(text));
        }
        Field::new(origin, modifier)
    }

    /// Finds the field of the event with this name: one that is in the record, or one of those for
    /// the processor, the name of the task, and the stack.
    fn event_field(&self, name: Span<'_>) -> Result<Origin> {
        let text = name.to_c_string()?;
        let found = self.file.field(&text).filter(|field| {
            let is_property = matches!(
                field.kind(),
                RecordKind::Cpu | RecordKind::Comm | RecordKind::Stacktrace
            );

            field.size() != 0 || is_property
        });
        let Some(info) = found else {
            return Err(self.log.report(ErrorKind::FieldNotFound, name));
        };
        let source = Source::new(info)?;

        Ok(match source.kind {
            _ if source.ty.size > 0 => Origin::Recorded(source),
            RecordKind::Cpu => Origin::Property(HitProperty::Cpu, Some(source.name)),
            RecordKind::Comm => Origin::Property(HitProperty::Comm, Some(source.name)),
            _ => Origin::Property(HitProperty::Stack, None),
        })
    }
}

/// Splits the direction off, which ascends by default. The result is `true` if it descends.
fn split_direction(text: Span<'_>) -> (Span<'_>, bool) {
    let directions: [(&[u8], bool); 2] = [(b".ascending", false), (b".descending", true)];

    for (suffix, descending) in directions {
        if let Some(field) = text.bytes().strip_suffix(suffix) {
            return (text.to(field.len()), descending);
        }
    }
    (text, false)
}

/// Returns the text of an expression.
///
/// # Errors
///
/// `E2BIG` if it is too long.
fn bounded(text: &TextBuf) -> Result<CString> {
    let text = text.bytes()?;

    if text.len() >= STR_MAX {
        return Err(E2BIG);
    }
    c_string(text)
}
