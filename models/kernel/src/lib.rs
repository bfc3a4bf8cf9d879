// SPDX-License-Identifier: GPL-2.0

//! What the models compile the kernel's code against: a stand-in for the parts of the `kernel`
//! crate that it uses. Atomics, locks, grace periods and work items are those of a model checker,
//! see [`model`]; the rest is as simple as it can be.

#![allow(missing_docs, clippy::all)]

extern crate self as kernel;

pub mod alloc;
pub mod error;
pub mod init;
pub mod irq_work;
pub mod model;
pub mod percpu;
pub mod sync;
pub mod workqueue;

pub use macros;

pub mod prelude {
    pub use crate::{
        alloc::{
            flags::*,
            KBox,
            KVVec,
            KVec, //
        },
        error::{
            code::*,
            Error,
            Result, //
        },
        pin_init, pr_err, pr_info, pr_warn, static_assert, try_pin_init,
    };
    pub use core::{
        ffi::{
            c_int,
            c_void,
            CStr, //
        },
        mem::{
            size_of,
            size_of_val, //
        },
        pin::Pin,
        prelude::v1::*, //
    };
    pub use macros::{
        pin_data,
        vtable, //
    };
    pub use zerocopy::{
        FromBytes,
        IntoBytes, //
    };
}

pub mod cpu {
    /// The number of a CPU.
    pub struct CpuId(u32);

    impl CpuId {
        pub fn current() -> Self {
            Self(crate::model::cpu())
        }

        pub fn as_u32(&self) -> u32 {
            self.0
        }
    }
}

pub mod processor {
    /// Lets others run while something is waited for.
    pub fn cpu_relax() {
        crate::model::yield_now();
    }
}

pub mod random {
    /// A number that is always the same.
    pub fn get_u64() -> u64 {
        0x9e37_79b9_7f4a_7c15
    }
}

pub mod trace {
    pub mod context {
        /// Size of the name of a task.
        pub const COMM_LEN: usize = 16;
    }
}

#[macro_export]
macro_rules! static_assert {
    ($($all:tt)*) => {
        const _: () = ::core::assert!($($all)*);
    };
}

#[macro_export]
macro_rules! pr_err {
    ($($all:tt)*) => { ::std::eprint!($($all)*) };
}
#[macro_export]
macro_rules! pr_warn {
    ($($all:tt)*) => { ::std::eprint!($($all)*) };
}
#[macro_export]
macro_rules! pr_info {
    ($($all:tt)*) => { ::std::eprint!($($all)*) };
}
