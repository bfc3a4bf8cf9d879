// SPDX-License-Identifier: GPL-2.0

//! The models compile the kernel's code against this stand-in for the parts of the `kernel`
//! crate that it uses. Atomics, locks, grace periods and work items are those of a model checker,
//! see [`model`]; the rest is as simple as it can be.

#![allow(missing_docs, dead_code, non_snake_case, clippy::all)]

extern crate self as kernel;

pub mod alloc;
pub mod bindings;
pub mod error;
pub mod hash_table;
pub mod init;
pub mod irq_work;
pub mod list;
pub mod mm;
pub mod model;
pub mod percpu;
pub mod rbtree;
pub mod sync;
pub mod trace;
pub mod workqueue;

pub use macros;

pub mod task {
    /// The name of a task.
    pub struct Comm;

    impl Comm {
        pub const LEN: usize = 16;
    }

    /// A task that was not killed.
    pub struct Task;

    impl Task {
        pub fn fatal_signal_pending(&self) -> bool {
            false
        }
    }
}

#[macro_export]
macro_rules! current {
    () => {
        &$crate::task::Task
    };
}

pub mod prelude {
    pub use crate::uaccess::UserPtr;
    pub use crate::{
        alloc::{
            flags::*,
            KBox,
            KVVec,
            KVec,
            Zeroable, //
        },
        current,
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
        vtable,
        Zeroable, //
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
    /// Lets other threads run while this one waits.
    pub fn cpu_relax() {
        crate::model::yield_now();
    }
}

pub mod random {
    /// Returns a number that is always the same.
    pub fn get_u64() -> u64 {
        0x9e37_79b9_7f4a_7c15
    }
}

pub mod uaccess {
    /// An address of a process.
    pub struct UserPtr(usize);
}

pub mod page {
    pub const PAGE_SIZE: usize = 4096;
}

pub mod time {
    use std::sync::atomic::{
        AtomicI64,
        Ordering, //
    };

    pub type Jiffies = u64;
    pub type Msecs = u32;

    pub fn msecs_to_jiffies(msecs: Msecs) -> Jiffies {
        msecs.into()
    }

    /// In nanoseconds.
    #[derive(Clone, Copy, PartialEq, PartialOrd)]
    pub struct Delta(i64);

    impl core::ops::SubAssign for Delta {
        fn sub_assign(&mut self, other: Self) {
            self.0 -= other.0;
        }
    }

    pub struct Monotonic;

    /// A time. The time between two of them exceeds all limits of waiting, and the time in which
    /// such a limit is regained: a model has few steps. That of a few visits of shared words is
    /// within their limit.
    pub struct Instant<C>(i64, core::marker::PhantomData<C>);

    /// It is no part of what is modelled.
    static CLOCK: AtomicI64 = AtomicI64::new(0);

    fn clock() -> i64 {
        CLOCK.fetch_add(LONG, Ordering::Relaxed)
    }

    impl<C> Instant<C> {
        pub fn now() -> Self {
            Self(clock(), core::marker::PhantomData)
        }

        pub fn elapsed(&self) -> Delta {
            Delta(clock() - self.0)
        }
    }

    const LONG: i64 = 80_000_000;

    impl Delta {
        pub const ZERO: Self = Self(0);

        pub const fn from_nanos(n: i64) -> Self {
            Self(n)
        }

        pub const fn from_micros(n: i64) -> Self {
            Self(1_000 * n)
        }

        pub const fn from_millis(n: i64) -> Self {
            Self(1_000_000 * n)
        }

        pub const fn as_nanos(self) -> i64 {
            self.0
        }
    }

    pub mod delay {
        /// Lets other threads run, though they need not: in an exhaustive model this is no
        /// different from any other place.
        pub fn fsleep(_: super::Delta) {
            crate::model::before_access();
        }
    }
}

pub mod ioctl {
    pub const fn _IOW<T>(_: u32, nr: u32) -> u32 {
        nr
    }

    pub const fn _IOWR<T>(_: u32, nr: u32) -> u32 {
        nr
    }
}

pub mod transmute {
    /// # Safety
    ///
    /// All bytes are valid.
    pub unsafe trait FromBytes {}
}

pub mod str {
    /// A string of bytes.
    #[repr(transparent)]
    pub struct BStr([u8]);

    impl BStr {
        pub fn from_bytes(bytes: &[u8]) -> &Self {
            // SAFETY: It has the same layout.
            unsafe { &*(core::ptr::from_ref(bytes) as *const Self) }
        }
    }

    impl core::fmt::Display for BStr {
        fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            f.write_str(&String::from_utf8_lossy(&self.0))
        }
    }
}

#[macro_export]
macro_rules! static_assert {
    ($($all:tt)*) => {
        const _: () = ::core::assert!($($all)*);
    };
}

/// Ends the execution of the model.
#[macro_export]
macro_rules! warn_on {
    ($($all:tt)*) => {{
        let is_wrong: bool = $($all)*;

        ::core::assert!(!is_wrong, "warn_on!()");
        is_wrong
    }};
}

#[macro_export]
macro_rules! pr_err {
    ($($all:tt)*) => { ::std::eprint!($($all)*) };
}
#[macro_export]
macro_rules! pr_warn {
    ($($all:tt)*) => { $crate::model::remark(&::std::format!($($all)*)) };
}
#[macro_export]
macro_rules! pr_info {
    ($($all:tt)*) => { ::std::eprint!($($all)*) };
}
