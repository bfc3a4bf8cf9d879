// SPDX-License-Identifier: GPL-2.0

//! Events on tracepoints that are defined elsewhere.
//!
//! Until it is bound such an event has a name, and then the tracepoint in its place. Its readers
//! hold `event_mutex`, or read it for a record, which cannot exist before.
//!
//! C header:
//! [`include/trace/trace_custom_events.h`](srctree/include/trace/trace_custom_events.h).

use super::{
    super::{
        event_mutex,
        probe,
        tracepoint, //
    },
    object::Call, //
};
use crate::{
    bindings,
    module_ref::ModuleRef,
    prelude::*, //
};

const CUSTOM: c_int = bindings::TRACE_EVENT_FL_CUSTOM as c_int;
const TRACEPOINT: c_int = bindings::TRACE_EVENT_FL_TRACEPOINT as c_int;

impl Call {
    /// Binds a custom event to the tracepoint of its name. Sleeps.
    ///
    /// # Errors
    ///
    /// - `ENOENT` if the kernel proper has no tracepoint called `name`.
    /// - `EEXIST` if it has several.
    ///
    /// # Safety
    ///
    /// `name` must be the name that this was created with. The class must have been created as
    /// `custom`, and the probes of the class have the prototype of the tracepoint.
    pub unsafe fn bind(&'static self, name: &CStr) -> Result {
        let tracepoint = probe::find_built_in(name)?;
        let call = self.0.get();
        let _guard = event_mutex::lock();

        // SAFETY: The call is a static, and what is accessed here is with the mutex held.
        unsafe {
            if (*call).flags & CUSTOM != 0 {
                (*call).__bindgen_anon_1.tp = tracepoint.as_raw();
                (*call).flags = (*call).flags & !CUSTOM | TRACEPOINT;
            }
        }
        Ok(())
    }
}

/// Attaches or detaches the probe of ftrace or that of perf.
///
/// The tracepoint stays when the module of the event is unloaded, and C may leave the probe of an
/// event that has a trigger. So a probe that is attached keeps the module, and one that was
/// detached no longer runs when this returns.
///
/// # Safety
///
/// As for `trace_event_reg()`: `call` must be that of an event, and for what attaches or detaches
/// `event_mutex` be held, and `data` be the `trace_event_file` if it is not about perf.
pub(super) unsafe extern "C" fn register(
    call: *mut bindings::trace_event_call,
    what: bindings::trace_reg,
    data: *mut c_void,
) -> c_int {
    let attach = match what {
        bindings::trace_reg::TRACE_REG_REGISTER => true,
        bindings::trace_reg::TRACE_REG_UNREGISTER => false,
        #[cfg(CONFIG_PERF_EVENTS)]
        bindings::trace_reg::TRACE_REG_PERF_REGISTER => true,
        #[cfg(CONFIG_PERF_EVENTS)]
        bindings::trace_reg::TRACE_REG_PERF_UNREGISTER => false,
        // The others need no action.
        _ => return 0,
    };
    // SAFETY: By the safety requirements, the call is that of an event with this module, and
    // `event_mutex` is held.
    let (flags, module) = unsafe { ((*call).flags, bindings::trace_event_module(call)) };

    if attach {
        if flags & CUSTOM != 0 {
            return ENODEV.to_errno();
        }
        // SAFETY: C does not unload the module of an event without `event_mutex`, which is held.
        let Some(module) = (unsafe { ModuleRef::get_raw(module) }) else {
            return ENODEV.to_errno();
        };
        // SAFETY: The safety requirements are those of `trace_event_reg()`; the event has its
        // tracepoint.
        let result = unsafe { bindings::trace_event_reg(call, what, data) };
        if result == 0 {
            core::mem::forget(module);
        }
        result
    } else {
        // SAFETY: The safety requirements are those of `trace_event_reg()`; this function attached
        // the probe that is detached.
        let result = unsafe { bindings::trace_event_reg(call, what, data) };
        tracepoint::synchronize();
        // SAFETY: The reference was forgotten when the probe was attached.
        drop(unsafe { ModuleRef::from_forgotten(module) });
        result
    }
}
