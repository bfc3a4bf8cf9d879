// SPDX-License-Identifier: GPL-2.0

//! The context of a hit (its record, the time, the task), and the evaluator of numbers.
//!
//! The reasons for what is inlined and what is not are those of [`hit`](super).

use core::cell::Cell;
use kernel::{
    prelude::*,
    stacktrace,
    trace::trigger::Hit, //
};

use crate::{
    limits::STACK_DEPTH,
    map::Comm,
    program::op::{
        Code,
        Leaf,
        Op,
        Step,
        Value,
        REGISTERS, //
    },
};

/// Number of functions that a stack leaves out at its top: those between the event and the one that
/// saves it.
///
/// C leaves out five, one of which is its trigger. It is the same here: all is inlined in what C
/// calls.
const STACK_SKIP: u32 = 5;

/// An occurrence of an event.
pub(crate) trait HitContext {
    /// Returns the record.
    fn record(&self) -> &[u8];

    /// Returns the time stamp.
    fn time(&self) -> u64;

    /// Returns `true` if time stamps are in nanoseconds.
    fn clock_in_ns(&self) -> bool;

    fn cpu(&self) -> u32;

    /// Returns the name of the current task.
    fn comm(&self) -> Comm;

    /// Returns the name that a new element keeps: that of the current task, or a substitute for
    /// the idle task of a CPU.
    fn first_comm(&self) -> Comm;

    /// Writes the addresses of the stack that led to the event to the beginning of `to`, and
    /// returns their number. Must be inlined in the function that C calls, see [`STACK_SKIP`].
    fn stack(&self, to: &mut [u64; STACK_DEPTH]) -> usize;
}

impl HitContext for Hit<'_> {
    #[inline]
    fn record(&self) -> &[u8] {
        Hit::record(self)
    }

    #[inline]
    fn time(&self) -> u64 {
        self.timestamp()
    }

    #[inline]
    fn clock_in_ns(&self) -> bool {
        Hit::clock_in_ns(self)
    }

    #[inline]
    fn cpu(&self) -> u32 {
        Hit::cpu(self)
    }

    #[inline]
    fn comm(&self) -> Comm {
        current!().comm_bytes()
    }

    fn first_comm(&self) -> Comm {
        if current!().pid() == 0 {
            return *b"<idle>\0\0\0\0\0\0\0\0\0\0";
        }
        HitContext::comm(self)
    }

    #[inline(always)]
    fn stack(&self, to: &mut [u64; STACK_DEPTH]) -> usize {
        <[usize]>::mut_from_bytes(to.as_mut_bytes())
            .map_or(0, |addresses| stacktrace::save(addresses, STACK_SKIP))
    }
}

/// The input that numbers are computed from.
pub(crate) struct Eval<'a, M> {
    context: &'a M,
    record: &'a [u8],
    code: &'a Code,
    /// The time stamp was needed, and is in `time`.
    timed: Cell<bool>,
    time: Cell<u64>,
}

impl<'a, M: HitContext> Eval<'a, M> {
    #[inline(always)]
    pub(crate) fn new(context: &'a M, code: &'a Code) -> Self {
        Self::with_record(context, context.record(), code)
    }

    /// Creates the evaluation, with the record of the context.
    #[inline(always)]
    pub(crate) fn with_record(context: &'a M, record: &'a [u8], code: &'a Code) -> Self {
        Self {
            context,
            record,
            code,
            timed: Cell::new(false),
            time: Cell::new(0),
        }
    }

    #[inline]
    pub(crate) fn record(&self) -> &'a [u8] {
        self.record
    }

    #[inline]
    pub(crate) fn context(&self) -> &'a M {
        self.context
    }

    /// Returns the number that `value` computes, with the variables in `slots`.
    #[inline(always)]
    pub(crate) fn value(&self, value: &Value, slots: &[u64]) -> u64 {
        match value {
            Value::Leaf(leaf) => self.leaf(leaf, self.record, slots, |_| 0),
            _ => self.expression(value, slots),
        }
    }

    #[inline(always)]
    fn expression(&self, value: &Value, slots: &[u64]) -> u64 {
        let steps = &self.code.steps;
        let some = |from: u32, to: u32| {
            debug_assert!(from < to && to as usize <= steps.len());
            steps.get(from as usize..to as usize).unwrap_or(&[])
        };

        match *value {
            Value::Leaf(_) => 0,
            Value::Step(n) => {
                debug_assert!((n as usize) < steps.len());
                steps
                    .get(n as usize)
                    .map_or(0, |step| self.step(step, slots))
            }
            Value::Chain { from, to } => self.chain(some(from, to), slots),
            Value::Steps { from, to } => self.steps(some(from, to), slots),
        }
    }

    /// Returns the number as [`value`](Self::value) does, with more code where one operator is
    /// most frequent.
    #[inline(always)]
    pub(crate) fn variable(&self, value: &Value, slots: &[u64]) -> u64 {
        match *value {
            Value::Step(n) => {
                debug_assert!((n as usize) < self.code.steps.len());
                match self.code.steps.get(n as usize) {
                    Some(step) => self.step_here(step, slots),
                    None => 0,
                }
            }
            _ => self.value(value, slots),
        }
    }

    /// Returns the value of an expression of one operator, as most are.
    #[inline(never)]
    fn step(&self, step: &Step, slots: &[u64]) -> u64 {
        self.step_here(step, slots)
    }

    #[inline(always)]
    fn step_here(&self, step: &Step, slots: &[u64]) -> u64 {
        let record = self.record;
        let left = self.leaf(&step.left, record, slots, |_| 0);
        let right = self.leaf(&step.right, record, slots, |_| 0);

        apply(&step.op, left, right)
    }

    /// Returns the value of an expression that needs one register, which is one of the processor.
    #[inline(never)]
    fn chain(&self, steps: &[Step], slots: &[u64]) -> u64 {
        let record = self.record;
        let mut result = 0;

        for step in steps {
            let left = self.leaf(&step.left, record, slots, |_| result);
            let right = self.leaf(&step.right, record, slots, |_| result);

            result = apply(&step.op, left, right);
        }
        result
    }

    /// Returns the value of an expression that needs several registers.
    #[inline(never)]
    fn steps(&self, steps: &[Step], slots: &[u64]) -> u64 {
        let record = self.record;
        let mut registers = [0; REGISTERS];
        let mut result = 0;

        for step in steps {
            let register = |n: u32| {
                debug_assert!((n as usize) < REGISTERS);
                registers.get(n as usize).copied().unwrap_or(0)
            };
            let left = self.leaf(&step.left, record, slots, register);
            let right = self.leaf(&step.right, record, slots, register);

            result = apply(&step.op, left, right);
            debug_assert!((step.to as usize) < REGISTERS);
            if let Some(register) = registers.get_mut(step.to as usize) {
                *register = result;
            }
        }
        result
    }

    /// Returns a number that is not computed.
    // All in one `match`, so that it is one jump. `record` is that of the hit: a copy of the caller
    // stays in registers.
    #[inline(always)]
    fn leaf(
        &self,
        leaf: &Leaf,
        record: &[u8],
        slots: &[u64],
        register: impl Fn(u32) -> u64,
    ) -> u64 {
        match *leaf {
            Leaf::Const(n) => n,
            Leaf::Time => self.time(),
            Leaf::Cpu => self.context.cpu().into(),
            Leaf::Slot(n) => {
                debug_assert!((n as usize) < slots.len());
                slots.get(n as usize).copied().unwrap_or(0)
            }
            Leaf::Register(n) => register(n),
            Leaf::U8(at) => load(Leaf::U8(at), record),
            Leaf::S8(at) => load(Leaf::S8(at), record),
            Leaf::U16(at) => load(Leaf::U16(at), record),
            Leaf::S16(at) => load(Leaf::S16(at), record),
            Leaf::U32(at) => load(Leaf::U32(at), record),
            Leaf::S32(at) => load(Leaf::S32(at), record),
            Leaf::U64(at) | Leaf::S64(at) => load(Leaf::U64(at), record),
        }
    }

    #[inline(never)]
    fn time(&self) -> u64 {
        if !self.timed.get() {
            let mut time = self.context.time();

            if self.code.usecs && self.context.clock_in_ns() {
                time = div(time.wrapping_add(500), 1000);
            }
            self.time.set(time);
            self.timed.set(true);
        }
        self.time.get()
    }
}

/// Returns the `N` bytes at `at`, or zeros if the record does not have all of them.
#[inline]
pub(crate) fn bytes_at<const N: usize>(record: &[u8], at: u32) -> [u8; N] {
    let at = at as usize;

    record
        .get(at..at.wrapping_add(N))
        .and_then(<[u8]>::first_chunk::<N>)
        .copied()
        .unwrap_or([0; N])
}

/// Returns a field of the record, or 0 if the record does not have all of it.
#[inline(always)]
pub(crate) fn load(leaf: Leaf, record: &[u8]) -> u64 {
    // CAST: Signed numbers are extended to 64 bits.
    match leaf {
        Leaf::U8(at) => u8::from_ne_bytes(bytes_at(record, at)).into(),
        Leaf::S8(at) => i8::from_ne_bytes(bytes_at(record, at)) as u64,
        Leaf::U16(at) => u16::from_ne_bytes(bytes_at(record, at)).into(),
        Leaf::S16(at) => i16::from_ne_bytes(bytes_at(record, at)) as u64,
        Leaf::U32(at) => u32::from_ne_bytes(bytes_at(record, at)).into(),
        Leaf::S32(at) => i32::from_ne_bytes(bytes_at(record, at)) as u64,
        Leaf::U64(at) | Leaf::S64(at) => u64::from_ne_bytes(bytes_at(record, at)),
        Leaf::Const(_) | Leaf::Time | Leaf::Cpu | Leaf::Slot(_) | Leaf::Register(_) => 0,
    }
}

/// Returns the result of a step.
#[inline(always)]
pub(crate) fn apply(op: &Op, left: u64, right: u64) -> u64 {
    // The most frequent ones, which take one instruction.
    match *op {
        Op::Add => left.wrapping_add(right),
        Op::Sub => left.wrapping_sub(right),
        Op::Mul => left.wrapping_mul(right),
        _ => apply_other(op, left, right),
    }
}

#[inline(never)]
fn apply_other(op: &Op, left: u64, right: u64) -> u64 {
    match *op {
        Op::Add | Op::Sub | Op::Mul => 0,
        Op::Neg => left.wrapping_neg(),
        Op::Div {
            left_signed,
            right_signed,
        } => divide(left, left_signed, right, right_signed),
        // CAST: The shift is by at most 64 bits.
        Op::Shift => left.wrapping_shr(right as u32),
        Op::Log2 => log2(left),
        // CAST: It is small.
        Op::Part { signed } => part(left, right as u32, signed),
        Op::Bucket { signed } => bucket(left, right, signed),
    }
}

/// Returns the magnitude of a number, and `true` if it is negative.
fn magnitude(n: u64, signed: bool) -> (u64, bool) {
    // CAST: The value was sign-extended to 64 bits.
    match n as i64 {
        n if signed && n < 0 => (n.unsigned_abs(), true),
        _ => (n, false),
    }
}

fn divide(left: u64, left_signed: bool, right: u64, right_signed: bool) -> u64 {
    if right == 0 {
        return u64::MAX;
    }
    let (left, left_negative) = magnitude(left, left_signed);
    let (right, right_negative) = magnitude(right, right_signed);
    let quotient = div(left, right);

    if left_negative == right_negative {
        quotient
    } else {
        quotient.wrapping_neg()
    }
}

/// Returns ceil(log2(n)), or 0 for 0.
fn log2(n: u64) -> u64 {
    match n {
        0 | 1 => 0,
        _ => u64::from(u64::BITS.wrapping_sub(n.wrapping_sub(1).leading_zeros())),
    }
}

/// Returns the bits that numbers of this magnitude have below the highest one and the `bits` that
/// follow it: those in which the numbers of one part of a power of two differ.
#[inline(always)]
fn part_mask(magnitude: u64, bits: u32) -> u64 {
    let log2 = (u64::BITS - 1).wrapping_sub((magnitude | 1).leading_zeros());

    1u64.wrapping_shl(log2.saturating_sub(bits)).wrapping_sub(1)
}

/// Returns the lowest number of the part of a power of two that a number is in. The parts of
/// negative numbers are those of their magnitudes, so that their lowest number has the largest
/// magnitude. The lowest signed number is a part of its own.
#[inline(always)]
fn part(n: u64, bits: u32, signed: bool) -> u64 {
    let (magnitude, negative) = magnitude(n, signed);
    let mask = part_mask(magnitude, bits);

    if negative {
        return (magnitude | mask)
            .min(i64::MIN.unsigned_abs())
            .wrapping_neg();
    }
    n & !mask
}

/// Returns the highest number of the part that `start` is the lowest of.
#[inline]
pub(crate) fn part_end(start: u64, bits: u32, signed: bool) -> u64 {
    let (magnitude, negative) = magnitude(start, signed);
    let mask = part_mask(magnitude, bits);

    if negative {
        (magnitude & !mask).wrapping_neg()
    } else {
        start | mask
    }
}

/// Returns the start of the bucket of a number. A bucket that would begin below the lowest signed
/// number begins there.
#[inline(always)]
fn bucket(n: u64, width: u64, signed: bool) -> u64 {
    let (magnitude, negative) = magnitude(n, signed);

    if width == 0 {
        return n;
    }
    if negative {
        let (start, _) = bucket_below(magnitude, width);

        return start.min(i64::MIN.unsigned_abs()).wrapping_neg();
    }
    div(n, width).wrapping_mul(width)
}

/// Returns the bounds of the bucket that a negative number is in, without their signs: the lower
/// one first, which has the larger magnitude.
#[inline(always)]
pub(crate) fn bucket_below(magnitude: u64, width: u64) -> (u64, u64) {
    // Counted from -1 down: -1 to -width are one bucket.
    let end = div(magnitude.wrapping_sub(1), width).saturating_mul(width);

    (end.saturating_add(width), end.saturating_add(1))
}

/// Returns the quotient of two numbers without its fraction, or all ones for a division by 0.
#[inline]
fn div(left: u64, right: u64) -> u64 {
    left.checked_div(right).unwrap_or(u64::MAX)
}
