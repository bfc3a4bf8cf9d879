// SPDX-License-Identifier: GPL-2.0

//! Errors.

use std::num::NonZeroI32;

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Error(NonZeroI32);

pub type Result<T = (), E = Error> = core::result::Result<T, E>;

impl Error {
    pub fn to_errno(self) -> i32 {
        self.0.get()
    }
}

impl core::fmt::Debug for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Converts the number that C returns to an error, unless it is 0.
pub fn to_result(errno: i32) -> Result {
    match NonZeroI32::new(errno) {
        Some(errno) => Err(Error(errno)),
        None => Ok(()),
    }
}

pub mod code {
    use super::Error;
    use std::num::NonZeroI32;

    macro_rules! errors {
        ($($name:ident = $n:literal,)*) => { $(
            pub const $name: Error = Error(match NonZeroI32::new(-$n) {
                Some(n) => n,
                None => panic!(),
            });
        )* };
    }

    errors! {
        ENOENT = 2, ESRCH = 3, EINTR = 4, EAGAIN = 11, ENOMEM = 12, EFAULT = 14, EBUSY = 16,
        EEXIST = 17, ENODEV = 19, EINVAL = 22, ENOSPC = 28, EADDRINUSE = 98,
    }
}
