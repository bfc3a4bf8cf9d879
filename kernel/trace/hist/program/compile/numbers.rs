// SPDX-License-Identifier: GPL-2.0

//! The compiler of numbers.

use super::{
    index,
    Compiler, //
};
use crate::{
    command::expr::{
        Modifier,
        Operator, //
    },
    program::op::{
        Leaf,
        Op,
        Step,
        Value,
        REGISTERS, //
    },
    spec::field::{
        Expr,
        Field,
        FieldKind,
        HitProperty,
        Source, //
    },
};
use kernel::prelude::*;

/// Deepest tree of operators, those of modifiers included.
const DEPTH_MAX: u32 = 8;

impl Compiler<'_> {
    pub(super) fn value(&mut self, field: &Field) -> Result<Value> {
        let from = index(self.program.code.steps.len())?;
        let leaf = self.number(field, 0, DEPTH_MAX)?;
        let to = index(self.program.code.steps.len())?;
        let mut made = self.program.code.steps.iter().skip(from as usize);
        let chained = made.all(|step| step.to == 0);

        Ok(match to.wrapping_sub(from) {
            0 => Value::Leaf(leaf),
            1 => Value::Step(from),
            _ if chained => Value::Chain { from, to },
            _ => Value::Steps { from, to },
        })
    }

    /// Compiles a field to a number. Registers from `register` on may be used.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a string or a stack, and if an expression is too deep or needs too many
    /// registers. The builder takes numbers only as operands and values, and `SUBEXPRS_MAX`
    /// operators.
    fn number(&mut self, field: &Field, register: u32, depth: u32) -> Result<Leaf> {
        let depth = depth.checked_sub(1).ok_or(EINVAL)?;

        match &field.kind {
            FieldKind::Recorded(source) => recorded(source),
            FieldKind::Property(HitProperty::HitCount, _) => Ok(Leaf::Const(1)),
            FieldKind::Property(HitProperty::Timestamp, _) => Ok(Leaf::Time),
            FieldKind::Property(HitProperty::Cpu, _) => Ok(Leaf::Cpu),
            FieldKind::Const(n) => Ok(Leaf::Const(*n)),
            FieldKind::Ref(idx) | FieldKind::Alias(idx) => {
                self.spec.var_ref(*idx)?;
                Ok(Leaf::Slot(index(*idx)?))
            }
            FieldKind::Rounded(number) => {
                let (op, right) = match field.modifier {
                    Modifier::Buckets(width) => {
                        let signed = number.ty.signed;

                        (Op::Bucket { signed }, width)
                    }
                    Modifier::Log2Parts(bits) => {
                        let signed = number.ty.signed;

                        (Op::Part { signed }, bits.into())
                    }
                    _ => (Op::Log2, 0),
                };
                let left = self.number(number, register, depth)?;

                self.step(op, left, Leaf::Const(right), register)
            }
            FieldKind::Expr(expr) => self.operation(expr, register, depth),
            FieldKind::Property(HitProperty::Comm | HitProperty::Stack, _)
            | FieldKind::FirstComm(_) => Err(EINVAL),
        }
    }

    fn operation(&mut self, expr: &Expr, register: u32, depth: u32) -> Result<Leaf> {
        let left = self.number(&expr.left, register, depth)?;
        let Some((operator, operand)) = &expr.right else {
            return self.step(Op::Neg, left, Leaf::Const(0), register);
        };
        let free = match left {
            Leaf::Register(taken) => taken.wrapping_add(1),
            _ => register,
        };
        let right = self.number(operand, free, depth)?;
        let (left_signed, right_signed) = (expr.left.ty.signed, operand.ty.signed);

        let (op, right) = match (operator, right) {
            (Operator::Plus, _) => (Op::Add, right),
            (Operator::Minus, _) => (Op::Sub, right),
            (Operator::Mult, _) => (Op::Mul, right),
            // A shift does the same for powers of two.
            (Operator::Div, Leaf::Const(n))
                if n.is_power_of_two() && !left_signed && !right_signed =>
            {
                (Op::Shift, Leaf::Const(n.trailing_zeros().into()))
            }
            (Operator::Div, _) => {
                let op = Op::Div {
                    left_signed,
                    right_signed,
                };

                (op, right)
            }
        };

        self.step(op, left, right, register)
    }

    fn step(&mut self, op: Op, left: Leaf, right: Leaf, to: u32) -> Result<Leaf> {
        if to as usize >= REGISTERS {
            return Err(EINVAL);
        }
        let step = Step {
            op,
            to,
            left,
            right,
        };

        self.program.code.steps.push(step, GFP_KERNEL)?;
        Ok(Leaf::Register(to))
    }
}

/// Returns the leaf of a number of the record.
fn recorded(source: &Source) -> Result<Leaf> {
    if source.is_string() || source.is_stack() {
        return Err(EINVAL);
    }

    let leaf = match (source.ty.size, source.ty.signed) {
        (1, false) => Leaf::U8,
        (1, true) => Leaf::S8,
        (2, false) => Leaf::U16,
        (2, true) => Leaf::S16,
        (4, false) => Leaf::U32,
        (4, true) => Leaf::S32,
        (8, false) => Leaf::U64,
        (8, true) => Leaf::S64,
        _ => return Err(EINVAL),
    };

    Ok(leaf(source.offset))
}
