// SPDX-License-Identifier: GPL-2.0

//! The condition of a snapshot, and what it needs of its crate.

pub(crate) mod condition;

mod moment {
    pub(crate) use kernel::trace::context::COMM_LEN;
}
