// SPDX-License-Identifier: GPL-2.0

//! The instructions of a compiled histogram, for numbers, blobs and keys.
//!
//! Numbers are mostly a field of the record, which is a [`Leaf`]. An expression is a list of
//! [`Step`]s, each of which combines two leaves and leaves its result in a register, which later
//! steps can use as a leaf. A hit walks no trees and calls through no pointers.

use kernel::prelude::*;

/// A number that takes no computation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Leaf {
    Const(u64),
    /// A field of the record; these have its offset in bytes.
    U8(u32),
    S8(u32),
    U16(u32),
    S16(u32),
    U32(u32),
    S32(u32),
    U64(u32),
    S64(u32),
    /// The time stamp of the event, in the units that the histogram wants.
    Time,
    /// The processor.
    Cpu,
    /// A slot: the value of a reference or of a variable.
    Slot(u32),
    /// The result of a step.
    Register(u32),
}

impl Leaf {
    /// Returns `true` for a field of the record.
    pub(crate) const fn is_recorded(self) -> bool {
        matches!(
            self,
            Self::U8(_)
                | Self::S8(_)
                | Self::U16(_)
                | Self::S16(_)
                | Self::U32(_)
                | Self::S32(_)
                | Self::U64(_)
                | Self::S64(_)
        )
    }
}

/// Number of registers. The deepest expression that the operators allow takes three.
pub(crate) const REGISTERS: usize = 4;

/// The operation of a step on its two leaves.
///
/// Numbers are 64 bits and wrap around.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
// Keeps the tag in a byte of its own. Else it would share one with the flags of a variant, and
// matching would have to unpack it.
#[repr(u8)]
pub(crate) enum Op {
    Add,
    Sub,
    Mul,
    /// Minus the left one.
    Neg,
    /// The quotient without its fraction; all ones if the divisor is 0.
    ///
    /// The signs of the operands matter if they are negative: the quotient is that of the numbers
    /// as they are shown.
    Div {
        left_signed: bool,
        right_signed: bool,
    },
    /// Division of an unsigned number by two to the power of the right one.
    Shift,
    /// The logarithm to base 2, rounded up. That of 0 is taken for 0, and that of a negative number
    /// for 64.
    Log2,
    /// The start of the part of a power of two that the left one is in, of two to the power of the
    /// right one.
    Part {
        signed: bool,
    },
    /// The largest multiple of the right one that is not above the left one.
    Bucket {
        signed: bool,
    },
}

/// One operation of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Step {
    pub(crate) op: Op,
    /// The register that gets the result.
    pub(crate) to: u32,
    pub(crate) left: Leaf,
    pub(crate) right: Leaf,
}

/// The code that computes numbers.
pub(crate) struct Code {
    /// The operations of all expressions.
    pub(crate) steps: KVec<Step>,
    /// Time stamps are in microseconds, if the clock counts nanoseconds.
    pub(crate) usecs: bool,
}

/// A number that is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Value {
    Leaf(Leaf),
    /// The result of this step of the program.
    Step(u32),
    /// The result of the last of these steps of the program, which need the first register only:
    /// no step uses more than the result of the one before it.
    Chain {
        from: u32,
        to: u32,
    },
    /// The result of the last of these steps of the program.
    Steps {
        from: u32,
        to: u32,
    },
}

/// The origin of a blob, which is a string or a stack.
///
/// In the scratch memory a string is its bytes, a NUL, and zeros up to the end of that word; the
/// last word ends with a NUL as well. A stack is the number of its addresses and then the
/// addresses, followed by zeros.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BlobOrigin {
    /// A field of the record that is a string of at most `size` bytes.
    Static { offset: u32, size: u32 },
    /// A string of varying length, which the word at `offset` has the place and the size of.
    Dynamic { offset: u32 },
    /// The same, with a place that is relative to the end of that word.
    Relative { offset: u32 },
    /// The name of the current task.
    Comm,
    /// The name of the task that had the first hit of the element.
    FirstComm,
    /// A field of the record that is a stack.
    Recorded { offset: u32 },
    /// A blob that is in the scratch memory already.
    Scratch(u32),
}

/// The origin of a key. `word` is its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KeyPart {
    Number {
        word: u32,
        value: Value,
    },
    String {
        word: u32,
        words: u32,
        blob: BlobOrigin,
    },
    /// The addresses of the stack that led to the event: all of the key, and there already.
    Saved,
    /// The addresses of a stack that is in the scratch memory.
    Stack {
        word: u32,
        scratch: u32,
    },
    /// The addresses of a stack that is a field of the record.
    Recorded {
        word: u32,
        offset: u32,
    },
}

/// The destination of the stack that led to the event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SavedStack {
    /// It is the key, and nothing else.
    Key,
    /// This blob of the scratch memory.
    Blob(u32),
}

/// A variable of the histogram that is a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NumberVar {
    pub(crate) value: Value,
    /// The slot that it is computed into.
    pub(crate) slot: u32,
}

/// A variable of the histogram that is a number and stays in the element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KeptNumber {
    pub(crate) value: Value,
    /// The slot that has it.
    pub(crate) slot: u32,
    /// Number of the variable in the element.
    pub(crate) place: u32,
}

/// A variable of the histogram that is a blob.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BlobVar {
    pub(crate) blob: BlobOrigin,
    /// The blob of the scratch memory that gets it, if it is used and not there already.
    pub(crate) scratch: Option<u32>,
    /// Its place in the element, if any.
    pub(crate) kept: Option<KeptBlob>,
}

/// The place of a blob in an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KeptBlob {
    /// Number of the variable in the element.
    pub(crate) place: u32,
    pub(crate) at: BlobSlot,
}

/// The form of a blob in an element; these have its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BlobSlot {
    /// The name of the task that had the first hit, which is there anyway.
    Comm,
    String(u32),
    Stack(u32),
}

/// A variable that `save()` stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Save {
    Number { value: Value, place: u32 },
    Blob { blob: BlobOrigin, kept: KeptBlob },
}

/// A variable that another histogram has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ReferredVar {
    /// Number of the variable in the other element.
    pub(crate) place: u32,
    /// The slot that gets it.
    pub(crate) slot: u32,
    /// The blob that is copied as well.
    pub(crate) blob: Option<ReferredBlob>,
}

/// A blob that another histogram has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ReferredBlob {
    /// Its place in the other element.
    pub(crate) at: BlobSlot,
    /// The blob of the scratch memory that gets it.
    pub(crate) scratch: u32,
}

/// The condition on which a handler runs its action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HandlerCondition {
    /// The number is larger than the one that is kept.
    Larger { signed: bool },
    /// The number is smaller than the one that is kept.
    Smaller { signed: bool },
    /// The number is another one than is kept.
    Other,
}

impl HandlerCondition {
    /// Returns `true` if the handler runs for `new` after `kept`.
    ///
    /// If nothing was kept yet, anything counts but 0, which is what a reader sees there. 0 counts
    /// as the smallest number, too.
    #[inline]
    pub(crate) fn holds(self, new: u64, kept: Option<u64>) -> bool {
        let Some(kept) = kept else {
            return new != 0 || matches!(self, Self::Smaller { .. });
        };

        match self {
            Self::Other => new != kept,
            Self::Larger { signed: false } => new > kept,
            // CAST: The values were sign-extended to 64 bits.
            Self::Larger { signed: true } => new as i64 > kept as i64,
            Self::Smaller { signed: false } => new < kept,
            // CAST: As above.
            Self::Smaller { signed: true } => (new as i64) < kept as i64,
        }
    }
}

/// A variable that is watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Watch {
    /// Index of the action.
    pub(crate) action: u32,
    /// The slot of the number; of a blob a number that stands for it is watched.
    pub(crate) slot: u32,
    pub(crate) scratch: Option<u32>,
    /// The blob is a stack.
    pub(crate) stack: bool,
    /// Number of the variable, in the element, that has the number that is kept.
    pub(crate) place: u32,
    pub(crate) condition: HandlerCondition,
    /// The `save()` variables are stored.
    pub(crate) save: bool,
}
