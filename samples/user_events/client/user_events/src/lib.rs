// SPDX-License-Identifier: GPL-2.0

//! A client of Linux user_events.
//!
//! A program registers an event, and the kernel sets a bit in the memory of the program while
//! ftrace or perf listens to it. The program tests the bit, and writes its records if it is set:
//! one by one, or several in a [`Batch`] with one system call.
//!
//! ```no_run
//! use user_events::{Payload, Session};
//!
//! # fn main() -> std::io::Result<()> {
//! let session = Session::open()?;
//! let request = session.register("web_request u32 id;u32 bytes;__data_loc char[] path")?;
//! let mut payload = Payload::new();
//! let mut batch = session.batch();
//!
//! for id in 0..10u32 {
//!     if request.is_enabled() {
//!         payload.clear();
//!         payload.number(id).number(4096u32).text("/");
//!         batch.push(&request, payload.bytes())?;
//!     }
//! }
//! batch.flush()?;
//! # Ok(())
//! # }
//! ```
//!
//! All of the interface is safe, whatever is dropped, leaked or moved to another thread. The only
//! dependency is the C library, for `ioctl()`. The interface of the kernel is described in
//! `Documentation/trace/user_events.rst`.

#![deny(missing_docs, unsafe_op_in_unsafe_fn)]

mod batch;
mod payload;
mod session;
mod sys;

pub use batch::Batch;
pub use payload::{Number, Payload};
pub use session::{Event, Session};
pub use sys::ENABLE_BIT;
