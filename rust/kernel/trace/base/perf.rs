// SPDX-License-Identifier: GPL-2.0

//! Records for perf.
//!
//! perf has one listener for all its events of a trace event. A record is assembled in a buffer of
//! the CPU, one for each of task, softirq, hardirq and NMI, and handed to every perf event that
//! wants it. One that is complete elsewhere is handed to them from there.
//!
//! C header: [`include/linux/trace_events.h`](srctree/include/linux/trace_events.h).

use crate::{
    bindings,
    error::{
        code::{
            E2BIG,
            EMSGSIZE,
            ENOSPC, //
        },
        to_result, //
    },
    ffi::c_int,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    task::Task,
    trace::{
        raw,
        tracepoint::ReadGuard,
        HEADER_SIZE, //
    },
};
use core::{
    marker::PhantomData,
    mem::ManuallyDrop,
    ptr,
    slice, //
};

const MAX_RECORD: usize = bindings::PERF_MAX_TRACE_SIZE as usize;

/// The longest payload of a record in the buffer of a CPU, in bytes.
pub const MAX_PAYLOAD: usize = MAX_RECORD - HEADER_SIZE;

/// Size of the longest sample: its header has 16 bits for it, and it is a multiple of 8.
const MAX_SAMPLE: usize = u16::MAX as usize & !(size_of::<u64>() - 1);

/// The longest record that any sample has room for. The length is in front of it.
const MAX_LONG_RECORD: usize =
    MAX_SAMPLE - size_of::<bindings::perf_event_header>() - size_of::<u32>();

/// The longest payload of a record that is [sent](Listener::send), in bytes. It is shorter by what
/// else a perf event wants in its samples.
pub const MAX_LONG_PAYLOAD: usize = MAX_LONG_RECORD - HEADER_SIZE;

/// The end of a record that was handed to perf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// No perf event has lost it.
    Delivered,
    /// The buffer of a perf event is full, or paused.
    Full,
    /// A sample with it would be too long, or longer than the buffer of a perf event. None has got
    /// it.
    TooLong,
    /// The same, but another perf event has got it.
    TooLongForSome,
    /// The context assembles another record.
    Busy,
}

impl Sent {
    #[inline]
    fn of(result: c_int) -> Self {
        match to_result(result) {
            Ok(()) => Self::Delivered,
            Err(e) if e == ENOSPC => Self::Full,
            Err(e) if e == E2BIG => Self::TooLong,
            Err(e) if e == EMSGSIZE => Self::TooLongForSome,
            Err(_) => Self::Busy,
        }
    }
}

/// perf, as a listener of an event.
///
/// # Invariants
///
/// `call` is valid during `'g`, and was attached to perf when a [`ReadGuard`] that lives during
/// `'g` existed already: its `perf_events` and perf's buffers are not freed during `'g`.
#[derive(Clone, Copy)]
pub struct Listener<'g> {
    call: *mut bindings::trace_event_call,
    _guard: PhantomData<&'g ReadGuard>,
}

impl<'g> Listener<'g> {
    /// Creates the view of perf as a listener of the event.
    ///
    /// # Safety
    ///
    /// `call` must be valid during `'g`. A [`ReadGuard`] must exist during `'g` under which perf
    /// was seen as a probe of the event.
    #[inline]
    pub(in crate::trace) unsafe fn new(call: *mut bindings::trace_event_call) -> Self {
        // INVARIANT: perf waits for all guards after it has removed the probe and before it frees
        // `perf_events` and the buffers. The rest is a safety requirement.
        Self {
            call,
            _guard: PhantomData,
        }
    }

    /// Returns the perf events of this CPU.
    #[inline]
    fn head(&self) -> *mut bindings::hlist_head {
        // SAFETY: By the type invariant `perf_events` is allocated, and the guard has preemption
        // disabled.
        unsafe { bindings::trace_event_perf_head(self.call) }
    }

    /// Returns `true` if perf wants records of the event on this CPU.
    #[inline]
    pub fn is_active(&self) -> bool {
        // SAFETY: By the type invariant the heads are not freed. perf changes them on this CPU,
        // with one store.
        let first = unsafe { Atomic::from_ptr(&raw mut (*self.head()).first) };

        !first.load(Relaxed).is_null()
    }

    /// Returns `true` if a BPF program is attached to the event.
    #[inline]
    pub(in crate::trace) fn has_program(&self) -> bool {
        #[cfg(CONFIG_BPF_EVENTS)]
        {
            // SAFETY: By the type invariant the call is valid. C changes the pointer with one
            // store.
            let programs = unsafe { Atomic::from_ptr(&raw mut (*self.call).prog_array) };

            !programs.load(Relaxed).is_null()
        }
        #[cfg(not(CONFIG_BPF_EVENTS))]
        false
    }

    /// Starts a record with a payload of `payload_len` bytes after the header.
    ///
    /// `None` if that is more than [`MAX_PAYLOAD`], or if a record is being assembled already in
    /// this context.
    #[inline]
    pub fn reserve(self, payload_len: usize) -> Option<Reservation<'g>> {
        if payload_len > MAX_PAYLOAD {
            return None;
        }
        let len = HEADER_SIZE + payload_len;

        self.alloc(len, len.next_multiple_of(size_of::<u64>()))
    }

    /// Hands a record to the perf events of this CPU without copying it first, in place of
    /// [`reserve`](Self::reserve) and [`commit`](Reservation::commit).
    ///
    /// The first [`HEADER_SIZE`] bytes are for the header, which perf writes to them. The record
    /// has to be aligned to 8 bytes, else it is [`Sent::Busy`], and its payload to be no longer
    /// than [`MAX_LONG_PAYLOAD`].
    ///
    /// The address that the sample is for is in the function that this is inlined in.
    #[inline(always)]
    pub fn send(self, record: &mut [u8]) -> Sent {
        if record.len() > MAX_LONG_RECORD {
            return Sent::TooLong;
        }
        if record.len() < HEADER_SIZE || !record.as_ptr().cast::<u64>().is_aligned() {
            return Sent::Busy;
        }
        // SAFETY: By the type invariant the call is valid, and the perf events of the head are kept
        // by the disabled preemption. The record is ours to write to, and its length fits in an
        // `int`. C does not keep a pointer to it.
        Sent::of(unsafe {
            raw::perf_event_record(
                self.call,
                record.as_mut_ptr().cast(),
                record.len() as c_int,
                self.head(),
            )
        })
    }

    /// Starts a record of at least `len` bytes, including the header, whose length is rounded up
    /// for the sample. Bytes after `len` are zero.
    #[inline(always)]
    pub(in crate::trace) fn reserve_sample(self, len: usize) -> Option<Reservation<'g>> {
        // perf stores the length before the record, in four bytes.
        if len > MAX_RECORD - size_of::<u32>() {
            return None;
        }
        let len = (len + size_of::<u32>()).next_multiple_of(size_of::<u64>()) - size_of::<u32>();

        self.alloc(len, len)
    }

    /// Takes a buffer of `size` bytes, which is at most `MAX_RECORD`, for a record of `len` bytes.
    #[inline(always)]
    fn alloc(self, len: usize, size: usize) -> Option<Reservation<'g>> {
        let mut regs = ptr::null_mut();
        let mut context: c_int = -1;

        // SAFETY: By the type invariant perf's buffers are valid, and the guard has preemption
        // disabled. The size is at most that of a buffer.
        let record =
            unsafe { bindings::perf_trace_buf_alloc(size as c_int, &mut regs, &mut context) };
        if record.is_null() {
            return None;
        }
        // It stores the return address of the function that this is inlined into. For a probe, in
        // which all is inlined, that is where the tracepoint is.
        //
        // SAFETY: `regs` was set to registers of this CPU and context as a buffer was given out.
        unsafe { bindings::perf_fetch_caller_regs(regs) };

        // INVARIANT: The buffer is the context's own, and the context was just taken.
        Some(Reservation {
            listener: self,
            record: record.cast(),
            len,
            context,
            regs,
        })
    }
}

/// A record for perf that is not submitted yet.
///
/// Its payload has the previous contents of the buffer; fill all of it before
/// [committing](Self::commit). Dropping it discards the record.
///
/// # Invariants
///
/// This instance owns perf's recursion context `context` of this CPU, so the `len` bytes at
/// `record` and `regs` are its own. `len` is at least [`HEADER_SIZE`] and at most the size of
/// perf's buffer.
#[must_use = "the record is discarded if it is not committed"]
pub struct Reservation<'g> {
    listener: Listener<'g>,
    record: *mut u8,
    len: usize,
    context: c_int,
    regs: *mut bindings::pt_regs,
}

impl Reservation<'_> {
    /// Returns the record without its header.
    #[inline]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        // SAFETY: By the type invariant `len` bytes are our own, the header being the first; the
        // borrow of `self` keeps it so.
        unsafe { slice::from_raw_parts_mut(self.record.add(HEADER_SIZE), self.len - HEADER_SIZE) }
    }

    /// Returns the record with its header, which field offsets count from.
    ///
    /// Unlike in a trace buffer the header has no values yet.
    #[inline]
    pub fn record(&self) -> &[u8] {
        // SAFETY: By the type invariant `len` bytes are our own; the borrow of `self` keeps them
        // from being written to.
        unsafe { slice::from_raw_parts(self.record, self.len) }
    }

    /// Returns the start of the record.
    #[inline]
    pub(in crate::trace) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.record
    }

    /// Runs the BPF programs of the event on the record, and hands it to the perf events of this
    /// CPU and of `task`, as C does for events with a tracepoint. It counts as `count` hits.
    #[inline]
    pub(in crate::trace) fn submit(self, count: u64, task: Option<&Task>) {
        match task {
            // SAFETY: The task is null.
            None => unsafe { self.submit_to(count, ptr::null_mut()) },
            Some(task) => self.submit_for(count, task),
        }
    }

    /// Submits the record to the perf events of a task. Their lock is taken in interrupts as well,
    /// and its holder may be interrupted by an NMI. The events of C that have a task happen with
    /// interrupts disabled, and not in NMIs.
    fn submit_for(self, count: u64, task: &Task) {
        // Interrupts are not disabled in an NMI, which C warns about.
        //
        // SAFETY: The function has no safety requirements.
        if unsafe { bindings::trace_in_nmi() } {
            // SAFETY: The task is null.
            return unsafe { self.submit_to(count, ptr::null_mut()) };
        }

        // SAFETY: This is no NMI. They are enabled again below.
        unsafe { raw::local_interrupt_disable() };
        // SAFETY: The task is kept by the reference. This is no NMI, and interrupts are disabled.
        unsafe { self.submit_to(count, task.as_ptr()) };
        // SAFETY: They were disabled above.
        unsafe { raw::local_interrupt_enable() };
    }

    /// Submits the record with the given head and task.
    ///
    /// # Safety
    ///
    /// `task` must be null, or a task that is valid during the call, with interrupts disabled and
    /// not in an NMI.
    #[inline(always)]
    unsafe fn submit_to(self, count: u64, task: *mut bindings::task_struct) {
        let this = ManuallyDrop::new(self);

        // SAFETY: By the type invariant the record and the registers are our own, and `len` fits in
        // an `int`. This releases the context; `this` is not used or dropped from here on. Disabled
        // preemption protects the perf events of the head and the programs. By the safety
        // requirements, `task` is null or exists during the call, with interrupts disabled and not
        // in an NMI.
        unsafe {
            bindings::perf_trace_run_bpf_submit(
                this.record.cast(),
                this.len as c_int,
                this.context,
                this.listener.call,
                count,
                this.regs,
                this.listener.head(),
                task,
            )
        };
    }

    /// Hands the record to the perf events of this CPU.
    #[inline]
    pub fn commit(self) -> Sent {
        let this = ManuallyDrop::new(self);

        // SAFETY: By the type invariant the record and the registers are our own, and `len` fits in
        // an `int`. The call is valid by the invariant of the listener. This releases the context;
        // `this` is not used or dropped from here on. The perf events of the head are kept by the
        // disabled preemption.
        Sent::of(unsafe {
            raw::perf_record(
                this.listener.call,
                this.record.cast(),
                this.len as c_int,
                this.regs,
                this.listener.head(),
                this.context,
            )
        })
    }
}

impl Drop for Reservation<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: By the type invariant the context is taken.
        unsafe { raw::perf_swevent_put_recursion_context(self.context) };
    }
}
