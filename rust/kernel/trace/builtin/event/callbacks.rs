// SPDX-License-Identifier: GPL-2.0

//! The callbacks that C calls for an event.

use super::{
    super::output::{
        self,
        OutputLine, //
    },
    listeners,
    Event,
    Operations, //
};
use crate::{
    bindings,
    memcg::Unaccounted,
    prelude::*,
    sync::ArcBorrow,
    trace::{
        event_mutex::Held,
        removal::UnregisterScope, //
    },
};
use core::marker::PhantomData;

/// The functions of an event of `T`.
pub(super) struct Callbacks<T>(PhantomData<T>);

impl<T: Operations> Callbacks<T> {
    /// Returns the functions that print, which are not written to.
    pub(super) fn functions() -> *mut bindings::trace_event_functions {
        core::ptr::from_ref(&Self::FUNCTIONS).cast_mut()
    }

    /// C writes to entries that are not set, so all are.
    const FUNCTIONS: bindings::trace_event_functions = bindings::trace_event_functions {
        trace: if T::HAS_PRINT {
            Some(Self::print)
        } else {
            Some(output::print_fields)
        },
        raw: Some(output::print_nothing),
        hex: Some(output::print_nothing),
        binary: Some(output::print_nothing),
    };

    /// Returns the owner of an event.
    ///
    /// # Safety
    ///
    /// `call` must be that of an `Event<T>` that is registered, or being registered or
    /// unregistered, and stay so during `'a`.
    unsafe fn owner<'a>(call: *mut bindings::trace_event_call) -> ArcBorrow<'a, T> {
        // SAFETY: By the invariant of `Event` `data` is the pointer of an `Arc` with a reference
        // that is owned by the registration, so no `UniqueArc` exists either.
        unsafe { ArcBorrow::from_raw((*call).data.cast::<T>().cast_const()) }
    }

    /// Returns the event in its owner.
    fn event<'a>(owner: &ArcBorrow<'a, T>) -> &'a Event<T> {
        let owner = core::ptr::from_ref::<T>(owner);

        // SAFETY: `owner` is valid during `'a`, and its event is a field of it.
        unsafe { &*T::raw_event(owner.cast_mut()) }
    }

    /// Attaches or detaches a listener.
    ///
    /// # Safety
    ///
    /// `call` must be that of an `Event<T>` that is registered. `event_mutex` must be held unless
    /// `what` is about a single perf event. For `TRACE_REG_REGISTER` and `TRACE_REG_UNREGISTER`
    /// `data` must be the `trace_event_file` that listens.
    pub(super) unsafe extern "C" fn reg(
        call: *mut bindings::trace_event_call,
        what: bindings::trace_reg,
        data: *mut c_void,
    ) -> c_int {
        let (probe, attach) = match what {
            bindings::trace_reg::TRACE_REG_REGISTER => (listeners::FILE, true),
            bindings::trace_reg::TRACE_REG_UNREGISTER => (listeners::FILE, false),
            #[cfg(CONFIG_PERF_EVENTS)]
            bindings::trace_reg::TRACE_REG_PERF_REGISTER => (listeners::PERF, true),
            #[cfg(CONFIG_PERF_EVENTS)]
            bindings::trace_reg::TRACE_REG_PERF_UNREGISTER => (listeners::PERF, false),
            // The default of each is fine. These can be called without `event_mutex`.
            _ => return 0,
        };

        // SAFETY: By the safety requirements, the event is registered. It stays so as `event_mutex`
        // is held and `permission` forbids to unregister it.
        let owner = unsafe { Self::owner(call) };
        // SAFETY: C holds the mutex for all that attaches and detaches.
        let held = unsafe { Held::assume() };
        let event = Self::event(&owner);
        let _permission = UnregisterScope::none(held);

        if attach {
            // A charge could wait for the memory cgroup of the task, and all of tracing with it.
            let _unaccounted = Unaccounted::new();
            let attached = T::attaching(owner, held).and_then(|()| {
                // SAFETY: The function says what `data` is: a file, which C keeps for readers after
                // the probe is removed, as the event does; or perf, which also waits for them.
                unsafe { event.core.tracepoint.add_probe(probe, data) }
            });

            if let Err(e) = attached {
                return e.to_errno();
            }
            T::attached(owner, held);
        } else {
            event.core.tracepoint.remove_probe(probe, data);
            event.readers.listener_gone();
            T::detached(owner, held);
        }
        0
    }

    /// Returns the list of the fields to C.
    ///
    /// # Safety
    ///
    /// `call` must be that of an `Event<T>` that is registered, or being registered or
    /// unregistered.
    pub(super) unsafe extern "C" fn get_fields(
        call: *mut bindings::trace_event_call,
    ) -> *mut bindings::list_head {
        // SAFETY: By the safety requirements, `call` is that of an `Event<T>` that is registered,
        // or being registered or unregistered.
        let owner = unsafe { Self::owner(call) };

        Self::event(&owner).core.fields.head()
    }

    /// Prints a record.
    ///
    /// # Safety
    ///
    /// `event` must be that of the call of an `Event<T>` that is registered and stays so during the
    /// call, and `iter` have a record of it.
    unsafe extern "C" fn print(
        iter: *mut bindings::trace_iterator,
        _flags: c_int,
        event: *mut bindings::trace_event,
    ) -> bindings::print_line_t {
        // SAFETY: By the safety requirements, this is a field of a call.
        let call = unsafe { crate::container_of!(event, bindings::trace_event_call, event) };
        // SAFETY: By the safety requirements, the event is registered. A reader of `trace` holds
        // `trace_event_sem`, which unregistering takes; with `tp_printk` the record is being
        // written, which unregistering waits for. A user that has the kernel dump its buffers must
        // ensure that no event is removed concurrently, as with the dynamic events of C.
        let owner = unsafe { Self::owner(call) };
        // SAFETY: By the safety requirements, `iter` has a record, which is read only, and the
        // iterator is exclusive during the call.
        let mut line = unsafe { OutputLine::from_raw(iter, event) };

        T::print(&owner, &mut line);
        line.finish()
    }
}
