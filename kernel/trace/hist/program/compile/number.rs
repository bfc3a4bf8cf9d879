// SPDX-License-Identifier: GPL-2.0

//! The compiler of numbers.

use super::{
    index,
    Compiler, //
};
use crate::{
    field::{
        Field,
        Func,
        Operand, //
    },
    program::op::{
        Leaf,
        Op,
        Step,
        Value,
        REGISTERS, //
    },
};
use kernel::prelude::*;

/// Deepest tree of operators, those of modifiers included.
const DEPTH_MAX: u32 = 8;

impl Compiler<'_> {
    /// Whether the number that a field gives is signed.
    pub(super) fn signed(&self, field: &Field) -> bool {
        match field.func {
            Func::Log2 => false,
            Func::Bucket => self.operand_signed(field, 0),
            _ => field.signed,
        }
    }

    fn operand_signed(&self, field: &Field, n: usize) -> bool {
        match field.operands.get(n) {
            Some(Some(Operand::Field(operand))) => self.signed(operand),
            Some(Some(Operand::Ref(idx))) => self.spec.refs.get(*idx).is_some_and(|var| var.signed),
            _ => false,
        }
    }

    pub(super) fn value(&mut self, field: &Field) -> Result<Value> {
        let from = index(self.steps.len())?;
        let leaf = self.number(field, 0, DEPTH_MAX)?;
        let to = index(self.steps.len())?;
        let mut made = self.steps.iter().skip(from as usize);
        let chained = made.all(|step| step.to == 0);

        Ok(match to.wrapping_sub(from) {
            0 => Value::Leaf(leaf),
            1 => Value::Step(from),
            _ if chained => Value::Chain { from, to },
            _ => Value::Steps { from, to },
        })
    }

    /// Compiles what computes a number; registers from `register` on may be used.
    fn number(&mut self, field: &Field, register: u32, depth: u32) -> Result<Leaf> {
        let depth = depth.checked_sub(1).ok_or(EINVAL)?;
        let offset = field.source.as_ref().map(|source| source.offset);
        let field_at = |leaf: fn(u32) -> Leaf| offset.map(leaf).ok_or(EINVAL);

        match field.func {
            Func::U8 => field_at(Leaf::U8),
            Func::S8 => field_at(Leaf::S8),
            Func::U16 => field_at(Leaf::U16),
            Func::S16 => field_at(Leaf::S16),
            Func::U32 => field_at(Leaf::U32),
            Func::S32 => field_at(Leaf::S32),
            Func::U64 => field_at(Leaf::U64),
            Func::S64 => field_at(Leaf::S64),
            Func::Const => Ok(Leaf::Const(field.constant)),
            Func::Counter => Ok(Leaf::Const(1)),
            Func::Timestamp => Ok(Leaf::Time),
            Func::Cpu => Ok(Leaf::Cpu),
            Func::VarRef => self.slot(field.ref_idx),
            Func::Log2 => self.unary(Op::Log2, field, register, depth),
            Func::UMinus => self.unary(Op::Neg, field, register, depth),
            Func::Bucket => {
                let op = Op::Bucket {
                    signed: self.operand_signed(field, 0),
                };
                let left = self.operand(field, 0, register, depth)?;

                self.step(op, left, Leaf::Const(field.buckets), register)
            }
            Func::Plus => self.binary(Op::Add, field, register, depth),
            Func::Minus => self.binary(Op::Sub, field, register, depth),
            Func::Mult => self.binary(Op::Mul, field, register, depth),
            Func::Div | Func::DivPower2 | Func::DivNotPower2 | Func::DivMultShift => {
                self.division(field, register, depth)
            }
            Func::Nop
            | Func::Comm
            | Func::String
            | Func::DynString
            | Func::RelDynString
            | Func::ExecName
            | Func::Stack => Err(EINVAL),
        }
    }

    fn slot(&self, idx: usize) -> Result<Leaf> {
        if idx >= self.spec.refs.len() {
            return Err(EINVAL);
        }
        Ok(Leaf::Slot(index(idx)?))
    }

    fn operand(&mut self, field: &Field, n: usize, register: u32, depth: u32) -> Result<Leaf> {
        match field.operands.get(n) {
            Some(Some(Operand::Field(operand))) => self.number(operand, register, depth),
            Some(Some(Operand::Ref(idx))) => self.slot(*idx),
            _ => Err(EINVAL),
        }
    }

    fn unary(&mut self, op: Op, field: &Field, register: u32, depth: u32) -> Result<Leaf> {
        let left = self.operand(field, 0, register, depth)?;

        self.step(op, left, Leaf::Const(0), register)
    }

    fn binary(&mut self, op: Op, field: &Field, register: u32, depth: u32) -> Result<Leaf> {
        let left = self.operand(field, 0, register, depth)?;
        let free = match left {
            Leaf::Register(taken) => taken.wrapping_add(1),
            _ => register,
        };
        let right = self.operand(field, 1, free, depth)?;

        self.step(op, left, right, register)
    }

    fn division(&mut self, field: &Field, register: u32, depth: u32) -> Result<Leaf> {
        let left_signed = self.operand_signed(field, 0);
        let right_signed = self.operand_signed(field, 1);
        let leaf = self.binary(
            Op::Div {
                left_signed,
                right_signed,
            },
            field,
            register,
            depth,
        )?;

        // A shift does the same for powers of two.
        if let Some(step) = self.steps.last_mut() {
            if let Leaf::Const(divisor) = step.right {
                if divisor.is_power_of_two() && !left_signed && !right_signed {
                    step.op = Op::Shift;
                    step.right = Leaf::Const(divisor.trailing_zeros().into());
                }
            }
        }
        Ok(leaf)
    }

    fn step(&mut self, op: Op, left: Leaf, right: Leaf, to: u32) -> Result<Leaf> {
        if to as usize >= REGISTERS {
            return Err(EINVAL);
        }
        self.steps.push(
            Step {
                op,
                to,
                left,
                right,
            },
            GFP_KERNEL,
        )?;
        Ok(Leaf::Register(to))
    }
}
