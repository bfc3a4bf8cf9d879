// SPDX-License-Identifier: GPL-2.0

//! Modules that both the API and [`builtin`](super::builtin) use.
//!
//! Other code gets them from `builtin`, which re-exports them. Loadable modules contain what is
//! inlined of them, as the events that modules declare write records.

pub mod charge;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub(super) mod ctype;
#[cfg(CONFIG_PERF_EVENTS)]
pub mod perf;
pub mod ring_buffer;
