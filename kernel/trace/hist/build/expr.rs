// SPDX-License-Identifier: GPL-2.0

//! From expressions to fields.

use kernel::{
    prelude::*,
    str::CString, //
};

use super::Build;
use crate::{
    expr::{
        self,
        Root, //
    },
    field::{
        Facts,
        Field,
        Flags,
        Operand,
        Operator,
        Owner,
        Var,
        VarKind, //
    },
    log::ErrorKind,
    out::Out,
    text::{
        c_string,
        Piece, //
    },
    STR_MAX,
    SUBEXPRS_MAX, //
};

/// What an expression takes over from its first operand.
const TIME: Flags = Flags::TIMESTAMP.with(Flags::TIMESTAMP_USECS);

impl Build<'_, '_> {
    /// Makes a field of the whole expression `text`: a key, a value, or the variable `var`.
    pub(super) fn whole(
        &mut self,
        text: Piece<'_>,
        flags: Flags,
        var: Option<Piece<'_>>,
    ) -> Result<Field> {
        let mut field = match self.expr(text, flags, var, &mut 0)? {
            Operand::Field(field) => KBox::into_inner(field),
            Operand::Ref(idx) => Field::reference(idx, self.spec.refs.get(idx).ok_or(EINVAL)?)?,
        };

        if let Some(name) = var {
            field.var = Some(Var {
                name: name.to_c_string()?,
                idx: 0,
            });
        }
        Ok(field)
    }

    /// Makes a field of an expression, or refers to a variable. `n_operators` counts the operators
    /// that there were so far.
    fn expr(
        &mut self,
        text: Piece<'_>,
        flags: Flags,
        var: Option<Piece<'_>>,
        n_operators: &mut u32,
    ) -> Result<Operand> {
        if *n_operators > SUBEXPRS_MAX {
            return Err(self.log.wrong(ErrorKind::TooManySubexpr, text));
        }
        let root = expr::root(text);
        if let Root::Atom = root {
            return self.atom(text, flags, var);
        }
        *n_operators = n_operators.wrapping_add(1);

        let field = match root {
            Root::Negation if *n_operators > SUBEXPRS_MAX => {
                return Err(self.log.wrong(ErrorKind::TooManySubexpr, text));
            }
            Root::Binary {
                operator,
                left,
                right,
            } => self.binary(operator, left, right, flags, n_operators)?,
            _ => self.negation(text, flags, n_operators)?,
        };

        Ok(Operand::Field(KBox::new(field, GFP_KERNEL)?))
    }

    /// Makes an operand, which must be a number.
    fn operand(&mut self, text: Piece<'_>, n_operators: &mut u32) -> Result<Operand> {
        let operand = self.expr(text, Flags::NONE, None, n_operators)?;

        if self.facts(&operand)?.text {
            return Err(self.log.wrong(ErrorKind::InvalidStrOperand, text));
        }
        Ok(operand)
    }

    /// Makes a field of `-(...)`.
    fn negation(&mut self, text: Piece<'_>, flags: Flags, n_operators: &mut u32) -> Result<Field> {
        let inner = expr::negated(text).map_err(|f| self.log.fault(f))?;
        let operand = self.operand(inner, n_operators)?;
        let facts = self.facts(&operand)?;
        let mut label = Out::new();

        label.put(b"-(");
        self.put_operand(&operand, &mut label);
        label.put(b")");

        let mut field = Field::expression(
            Operator::UnaryMinus,
            expr::function(Operator::UnaryMinus, None),
            flags | facts.flags.and(TIME),
            &facts,
        )?;
        field.name = Some(bounded(&label)?);
        field.operands = [Some(operand), None];
        Ok(field)
    }

    /// Makes a field of an operation on two operands; a constant if both are.
    fn binary(
        &mut self,
        operator: Operator,
        left: Piece<'_>,
        right: Piece<'_>,
        flags: Flags,
        n_operators: &mut u32,
    ) -> Result<Field> {
        if left.is_empty() || right.is_empty() {
            return Err(EINVAL);
        }
        let a = self.operand(left, n_operators)?;
        let b = self.operand(right, n_operators)?;
        let (a_flags, a_const) = self.nature(&a)?;
        let (b_flags, b_const) = self.nature(&b)?;

        if a_flags.and(Flags::TIMESTAMP_USECS) != b_flags.and(Flags::TIMESTAMP_USECS) {
            self.log.error(ErrorKind::TimestampMismatch, 0);
            return Err(EINVAL);
        }
        for operand in [&a, &b] {
            if let Operand::Ref(idx) = operand {
                self.spec.refs.get_mut(*idx).ok_or(EINVAL)?.read_once = true;
            }
        }

        let divisor = b_const.filter(|_| operator == Operator::Div);
        if divisor == Some(0) {
            self.log.error(ErrorKind::DivisionByZero, right.at());
            return Err(EDOM);
        }

        let facts = self.facts(&a)?;
        let flags = flags | facts.flags.and(TIME);
        let mut label = Out::new();

        if let (Some(a), Some(b)) = (a_const, b_const) {
            let mut field = Field::constant(expr::fold(operator, a, b)?, flags)?;

            field.put_text(&mut label);
            field.name = Some(bounded(&label)?);
            return Ok(field);
        }

        self.put_operand(&a, &mut label);
        label.put(expr::sign(operator));
        self.put_operand(&b, &mut label);

        let func = expr::function(operator, divisor);
        let mut field = Field::expression(operator, func, flags, &facts)?;
        field.name = Some(bounded(&label)?);
        field.constant = divisor.unwrap_or(0);
        field.operands = [Some(a), Some(b)];
        Ok(field)
    }

    fn facts<'s>(&'s self, operand: &'s Operand) -> Result<Facts<'s>> {
        match operand {
            Operand::Field(field) => Ok(field.facts()),
            Operand::Ref(idx) => Ok(self.spec.refs.get(*idx).ok_or(EINVAL)?.facts()),
        }
    }

    /// The flags of an operand, and its value if it is a constant. A reference has those of its
    /// variable.
    fn nature(&self, operand: &Operand) -> Result<(Flags, Option<u64>)> {
        let field = match operand {
            Operand::Field(field) => field,
            Operand::Ref(idx) => {
                let var_ref = self.spec.refs.get(*idx).ok_or(EINVAL)?;
                let owner = match &var_ref.owner {
                    Owner::Own => &self.spec,
                    Owner::Other(hist) => &hist.spec,
                };

                owner.var(var_ref.name.to_bytes()).ok_or(EINVAL)?
            }
        };
        let constant = field.flags.any(Flags::CONST).then_some(field.constant);

        Ok((field.flags, constant))
    }

    /// Whether the value of a field is a string or a stack.
    pub(super) fn is_text(&self, field: &Field) -> bool {
        if field.flags.any(Flags::VAR_REF) {
            let var_ref = self.spec.refs.get(field.ref_idx);
            return var_ref.is_some_and(|var_ref| var_ref.kind != VarKind::Number);
        }
        field.facts().text
    }

    fn put_operand(&self, operand: &Operand, out: &mut Out) {
        match operand {
            Operand::Field(field) => field.put_text(out),
            Operand::Ref(idx) => {
                if let Some(var_ref) = self.spec.refs.get(*idx) {
                    var_ref.put_text(out);
                }
            }
        }
    }
}

/// The text of an expression.
///
/// # Errors
///
/// `E2BIG` if it is too long.
fn bounded(text: &Out) -> Result<CString> {
    let text = text.bytes()?;

    if text.len() >= STR_MAX {
        return Err(E2BIG);
    }
    c_string(text)
}
