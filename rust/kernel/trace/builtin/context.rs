// SPDX-License-Identifier: GPL-2.0

//! The context of a hit: the current task and its stack.
//!
//! C headers: [`include/linux/stacktrace.h`](srctree/include/linux/stacktrace.h),
//! [`include/linux/sched.h`](srctree/include/linux/sched.h).

use crate::bindings;

/// Size of the name of a task, with its NUL.
pub const COMM_LEN: usize = bindings::TASK_COMM_LEN as usize;

/// Saves the stack of the current task: return addresses, the innermost first.
///
/// Returns how many there are, the others are not changed. `skip` frames are left out, the first of
/// which is that of the caller; but functions that were inlined have none. In any context.
#[inline(always)]
pub fn save_stack(entries: &mut [usize], skip: u32) -> usize {
    let len = u32::try_from(entries.len()).unwrap_or(u32::MAX);

    // An address is an `unsigned long`, as is a `usize`.
    //
    // SAFETY: There is room for as many entries.
    #[cfg(CONFIG_STACKTRACE)]
    let n = unsafe { bindings::stack_trace_save(entries.as_mut_ptr().cast(), len, skip) };
    #[cfg(not(CONFIG_STACKTRACE))]
    let n = {
        let _ = (len, skip);
        0u32
    };

    // CAST: There are no more than the length.
    n as usize
}

/// Returns the name of the current task, padded with at least one NUL.
///
/// In any context. A name that is just being changed may be a bit of both.
#[inline]
pub fn current_comm() -> [u8; COMM_LEN] {
    // SAFETY: The current task is there, and has a name. Other threads may write to it, which C
    // does not lock against here either: so it is read once, and as bytes.
    let mut comm: [u8; COMM_LEN] =
        unsafe { core::ptr::read_volatile((&raw const (*bindings::get_current()).comm).cast()) };

    comm[COMM_LEN - 1] = 0;
    comm
}

/// The thread id of the current task, in the initial namespace; 0 for the idle task. In any
/// context.
#[inline]
pub fn current_pid() -> i32 {
    // SAFETY: The current task is there, and its id does not change but for `execve()`, for which
    // the load is one.
    unsafe { core::ptr::read_volatile(&raw const (*bindings::get_current()).pid) }
}
