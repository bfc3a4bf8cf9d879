// SPDX-License-Identifier: GPL-2.0

//! The part of the C code for conditions of snapshots.

#![allow(non_camel_case_types)]

use crate::sync::Mutex;
use std::{
    ffi::{
        c_int,
        c_void, //
    },
    ptr, //
};

type Update = unsafe extern "C" fn(*mut trace_array, *mut c_void) -> bool;

pub struct cond_snapshot {
    pub cond_data: *mut c_void,
    update: Update,
}

pub struct trace_array {
    pub cond_snapshot: *mut cond_snapshot,
    max_lock: Mutex<()>,
    pub(crate) pins: usize,
    pub(crate) freed: bool,
}

impl trace_array {
    pub(crate) fn new() -> Self {
        Self {
            cond_snapshot: ptr::null_mut(),
            max_lock: Mutex::new(()),
            pins: 0,
            freed: false,
        }
    }
}

/// Enables the condition of an instance.
///
/// # Safety
///
/// `array` must be that of a model.
pub unsafe fn tracing_snapshot_cond_enable(
    array: *mut trace_array,
    cond_data: *mut c_void,
    update: Option<Update>,
) -> c_int {
    let update = update.expect("it is given");

    // SAFETY: It is valid.
    unsafe {
        let _guard = (*array).max_lock.lock();

        (*array).cond_snapshot = Box::into_raw(Box::new(cond_snapshot { cond_data, update }));
    }
    0
}

/// Disables the condition of an instance.
///
/// # Safety
///
/// As above.
pub unsafe fn tracing_snapshot_cond_disable(array: *mut trace_array) -> c_int {
    // SAFETY: It is valid, and the condition is that which was allocated above.
    unsafe {
        let _guard = (*array).max_lock.lock();

        drop(Box::from_raw((*array).cond_snapshot));
        (*array).cond_snapshot = ptr::null_mut();
    }
    0
}

/// Evaluates the condition of an instance.
///
/// # Safety
///
/// As above.
#[track_caller]
pub unsafe fn tracing_snapshot_cond(array: *mut trace_array, cond_data: *mut c_void) {
    // SAFETY: The memory of it is valid; the model checks that it may be used.
    unsafe {
        assert!(!(*array).freed, "the instance is gone");
        let _guard = (*array).max_lock.lock();
        let condition = (*array).cond_snapshot;

        assert!(!(*array).freed, "the instance is gone");
        if !condition.is_null() {
            ((*condition).update)(array, cond_data);
        }
    }
}
