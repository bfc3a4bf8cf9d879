// SPDX-License-Identifier: GPL-2.0

//! The symbols that C uses: the commands, which `glue.c` registers, the operations of the files of
//! an event, which `trace_events.c` creates, and the memory that the writer of a line for a
//! `trigger` file waits for.
//!
//! C headers: [`kernel/trace/hist/commands.h`](srctree/kernel/trace/hist/commands.h),
//! [`kernel/trace/trace.h`](srctree/kernel/trace/trace.h).

#[cfg(CONFIG_HIST_TRIGGERS_DEBUG)]
use crate::show::debug::DebugFile;
use crate::{
    backlog,
    registry::{
        self,
        HistCommand, //
    },
    scratch,
    show::{
        raw::RawFile,
        HistFile, //
    },
    trigger::HIST_COMMAND, //
};
use kernel::{
    error::from_result,
    prelude::*,
    trace::{
        builtin::{
            charge,
            event_seq::FileOperations, //
        },
        event_mutex::Held,
        trigger::{
            CommandOps,
            Switch, //
        },
    },
};

/// The command `hist`: what is referred to is a `struct event_command`.
#[no_mangle]
static trigger_hist_rust_cmd: &CommandOps<HistCommand> = &HIST_COMMAND;

/// The command `enable_hist`.
#[no_mangle]
static trigger_hist_rust_enable_cmd: Switch = Switch::enable_hist();

/// The command `disable_hist`.
#[no_mangle]
static trigger_hist_rust_disable_cmd: Switch = Switch::disable_hist();

/// The file `hist`.
#[no_mangle]
static event_hist_fops: FileOperations<HistFile> = FileOperations::new();

/// The file `hist_raw`.
#[no_mangle]
static event_hist_raw_fops: FileOperations<RawFile> = FileOperations::new();

/// The file `hist_debug`.
#[cfg(CONFIG_HIST_TRIGGERS_DEBUG)]
#[no_mangle]
static event_hist_debug_fops: FileOperations<DebugFile> = FileOperations::new();

/// Prepares for the first command.
///
/// # Safety
///
/// It must be called once, before the commands are registered.
#[export]
unsafe extern "C" fn trigger_hist_rust_init() -> c_int {
    // SAFETY: By the safety requirements.
    unsafe {
        registry::init();
        scratch::init();
    }
    from_result(|| backlog::init().map(|()| 0))
}

/// Returns how much memory the last line lacked that its command would have had to wait for.
///
/// # Safety
///
/// `event_mutex` must be held.
#[export]
unsafe extern "C" fn trigger_missing_memory() -> usize {
    // SAFETY: By the safety requirements, `event_mutex` is held.
    charge::take_missing(unsafe { Held::assume() })
}

/// Waits for so much memory. Returns 0 or a negative error.
///
/// # Safety
///
/// None: it is unsafe because C functions are.
#[export]
unsafe extern "C" fn trigger_wait_for_memory(missing: usize) -> c_int {
    from_result(|| charge::wait(missing).map(|()| 0))
}
