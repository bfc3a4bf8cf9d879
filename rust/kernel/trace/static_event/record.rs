// SPDX-License-Identifier: GPL-2.0

//! Writing the record of a static event.
//!
//! The sizes of the fields without a fixed size are added up in a [`Layout`], then the record is
//! reserved in its buffer, and its fields are written there.
//!
//! C headers: [`include/trace/trace_events.h`](srctree/include/trace/trace_events.h),
//! [`include/trace/perf.h`](srctree/include/trace/perf.h).

use super::{
    super::{
        event_file::{
            EventFile,
            Listening, //
        },
        tracepoint::ProbeGuard, //
    },
    source::Bits,
    Scalar, //
};
#[cfg(CONFIG_PERF_EVENTS)]
use crate::trace::base::perf;
use crate::{
    bindings,
    fmt,
    prelude::*,
    task::Task,
    trace::base::ring_buffer::{
        Reservation,
        ReservationStorage, //
    }, //
};
use core::{
    fmt::Write,
    marker::PhantomData,
    ptr,
    slice, //
};

/// The longest text of a `fmt` field, with its NUL, as for `__vstring`.
const TEXT_MAX: usize = bindings::TRACE_EVENT_STR_MAX as usize;

/// The destination of records.
///
/// # Safety
///
/// What [`reserve`](Self::reserve) returns is a record as its [`Room`] describes.
pub unsafe trait Sink {
    /// A record that is being written.
    type Room<'s>: Room
    where
        Self: 's;

    /// Reserves `len` bytes, of which [`HEADER_SIZE`](super::super::HEADER_SIZE) are the header's.
    ///
    /// `slot` is for what a sink has to keep until the record is committed.
    fn reserve<'s>(self, len: usize, slot: &'s mut ReservationStorage) -> Option<Self::Room<'s>>
    where
        Self: 's;
}

/// Returns storage for the state that a sink keeps while a record is written.
#[inline(always)]
pub fn slot() -> ReservationStorage {
    ReservationStorage::new()
}

/// A record that is being written.
///
/// # Safety
///
/// The pointer that [`base`](Self::base) returns is valid for as many bytes as were reserved, which
/// no other code accesses.
pub unsafe trait Room {
    /// Returns the start of the record, its header.
    fn base(&mut self) -> *mut u8;

    /// Commits the record as `count` hits, also to perf events of `task`, if that is given.
    fn commit(self, count: u64, task: Option<&Task>);
}

/// Returns the count of a record.
#[inline(always)]
pub fn perf_count(count: u64) -> u64 {
    count
}

/// Returns the task that a record is for.
#[inline(always)]
pub fn perf_task<'a>(task: impl Into<Option<&'a Task>>) -> Option<&'a Task> {
    task.into()
}

/// The file of an event in a trace instance, as the target of its probe.
///
/// # Invariants
///
/// During `'g` this is in a probe, with a [`ProbeGuard`].
pub struct FileSink<'g>(EventFile<Listening<'g>>);

impl<'g> FileSink<'g> {
    /// Creates the sink of an instance, or returns `None` if no record is wanted.
    ///
    /// # Safety
    ///
    /// `data` must be the `trace_event_file` that the probe was registered with, and the tracepoint
    /// be calling the probe.
    #[inline(always)]
    pub unsafe fn new(data: *mut c_void, _guard: &'g ProbeGuard) -> Option<Self> {
        // SAFETY: By the safety requirements, `data` is a file, which C keeps until its readers are
        // done; the tracepoint is one and the guard has preemption disabled.
        let file = unsafe { EventFile::from_probe(data.cast()) };

        // INVARIANT: By the safety requirements, `data` is the `trace_event_file` of the probe, and
        // the guard shows that the tracepoint is calling it.
        file.wants_record().then_some(Self(file))
    }
}

// SAFETY: A reservation in the ring buffer is for its writer alone until it is committed.
unsafe impl<'g> Sink for FileSink<'g> {
    type Room<'s>
        = Reservation<'s>
    where
        Self: 's;

    #[inline(always)]
    fn reserve<'s>(self, len: usize, slot: &'s mut ReservationStorage) -> Option<Reservation<'s>>
    where
        Self: 's,
    {
        // SAFETY: By the type invariant preemption is disabled, and stays so until the record is
        // done.
        unsafe { self.0.reserve_in_probe(len, slot) }
    }
}

// SAFETY: By the invariant of `Reservation` the entry has as many bytes.
unsafe impl Room for Reservation<'_> {
    #[inline(always)]
    fn base(&mut self) -> *mut u8 {
        self.as_mut_ptr()
    }

    #[inline(always)]
    fn commit(self, _count: u64, _task: Option<&Task>) {
        Reservation::commit(self)
    }
}

/// perf, as the target of its probe.
///
/// # Invariants
///
/// During `'g` this is in a probe, with a [`ProbeGuard`].
#[cfg(CONFIG_PERF_EVENTS)]
pub struct PerfSink<'g>(perf::Listener<'g>);

#[cfg(CONFIG_PERF_EVENTS)]
impl<'g> PerfSink<'g> {
    /// Creates the sink of perf, or returns `None` if no perf event and no BPF program wants a
    /// record on this CPU.
    ///
    /// # Safety
    ///
    /// `data` must be the `trace_event_call` that the probe was registered with, and the tracepoint
    /// be calling the probe.
    #[inline(always)]
    pub unsafe fn new(data: *mut c_void, _guard: &'g ProbeGuard) -> Option<Self> {
        // SAFETY: By the safety requirements, this is the call of an event that perf is attached
        // to, and the tracepoint is one of the readers which perf waits for; the guard has
        // preemption disabled.
        let listener = unsafe { perf::Listener::new(data.cast()) };

        // INVARIANT: By the safety requirements, `data` is the `trace_event_call` of the probe, and
        // the guard shows that the tracepoint is calling it.
        (listener.has_program() || listener.is_active()).then_some(Self(listener))
    }

    /// Creates the sink of perf for an event that has a task, which may have perf events of its
    /// own. A record is always wanted, as in C.
    ///
    /// # Safety
    ///
    /// As for [`new`](Self::new).
    #[inline(always)]
    pub unsafe fn for_task(data: *mut c_void, _guard: &'g ProbeGuard) -> Option<Self> {
        // INVARIANT: As in `new`.
        //
        // SAFETY: As in `new`.
        Some(Self(unsafe { perf::Listener::new(data.cast()) }))
    }
}

#[cfg(CONFIG_PERF_EVENTS)]
// SAFETY: The buffer of the context is for its writer alone until it is committed.
unsafe impl<'g> Sink for PerfSink<'g> {
    type Room<'s>
        = PerfReservation<'g>
    where
        Self: 's;

    #[inline(always)]
    fn reserve<'s>(
        self,
        len: usize,
        _slot: &'s mut ReservationStorage,
    ) -> Option<PerfReservation<'g>>
    where
        Self: 's,
    {
        Some(PerfReservation(self.0.reserve_sample(len)?))
    }
}

/// A record for perf that is being written.
#[cfg(CONFIG_PERF_EVENTS)]
pub struct PerfReservation<'g>(perf::Reservation<'g>);

#[cfg(CONFIG_PERF_EVENTS)]
// SAFETY: By the invariant of `Reservation` the record has `len` bytes.
unsafe impl Room for PerfReservation<'_> {
    #[inline(always)]
    fn base(&mut self) -> *mut u8 {
        self.0.as_mut_ptr()
    }

    #[inline(always)]
    fn commit(self, count: u64, task: Option<&Task>) {
        self.0.submit(count, task)
    }
}

/// The place of a part of variable size in a record.
#[derive(Clone, Copy)]
pub struct Span {
    start: usize,
    len: usize,
}

impl Span {
    /// Returns the value of a `__data_loc` field.
    #[inline(always)]
    fn data_loc(self) -> u32 {
        // CAST: A layout is reserved only if it ends within 16 bits.
        (self.len as u32) << 16 | self.start as u32
    }

    /// Returns the value of a `__rel_loc` field that ends at `end`.
    #[inline(always)]
    fn rel_loc(self, end: usize) -> u32 {
        // CAST: As above.
        (self.len as u32) << 16 | self.start.wrapping_sub(end) as u32
    }
}

/// The parts of a record of type `R`.
pub struct Layout<R> {
    /// The start of the next part of variable size.
    end: usize,
    /// The start of the first one.
    start: usize,
    _record: PhantomData<R>,
}

impl<R> Layout<R> {
    /// Creates the layout of a record whose fields end at `start`.
    #[inline(always)]
    pub fn new(start: usize) -> Self {
        Self {
            end: start,
            start,
            _record: PhantomData,
        }
    }

    /// Appends data of `len` bytes to the layout, and returns its place.
    #[inline(always)]
    pub fn add(&mut self, len: usize) -> Span {
        let start = self.end;

        self.end = start.saturating_add(len);
        Span { start, len }
    }

    /// Reserves the record.
    ///
    /// `None` if the target has no room for it, or if its size does not fit in 16 bits.
    #[inline(always)]
    pub fn reserve<'s, T: Sink + 's>(
        self,
        target: T,
        slot: &'s mut ReservationStorage,
    ) -> Option<ReservedRecord<R, T::Room<'s>>> {
        let len = size_of::<R>().saturating_add(self.end.wrapping_sub(self.start));

        // Without anything of variable size this is known when it is compiled.
        if len > usize::from(u16::MAX) {
            return None;
        }
        let mut room = target.reserve(len, slot)?;

        // INVARIANT: The entry has as many bytes as just asked for.
        Some(ReservedRecord {
            base: room.base(),
            len,
            room,
            _record: PhantomData,
        })
    }
}

/// A record of type `R` that is being written.
///
/// # Invariants
///
/// `base` is the start of the record, whose `len` bytes are valid for writes and exclusive to it.
pub struct ReservedRecord<R, M> {
    base: *mut u8,
    len: usize,
    room: M,
    _record: PhantomData<R>,
}

impl<R, M: Room> ReservedRecord<R, M> {
    /// Writes zeroes to the part after the header of a record that has gaps between its fields.
    #[inline(always)]
    pub fn clear(&mut self) {
        let header = super::super::HEADER_SIZE;
        // A record that consists of its header may be no larger than its alignment.
        let end = self.len.wrapping_sub(align_of::<R>()).max(header);

        // SAFETY: By the type invariant the record has as many bytes, and a record has a header.
        unsafe {
            ptr::write_bytes(self.base.add(header), 0, size_of::<R>() - header);
            // The bytes after the last part of variable size.
            ptr::write_bytes(self.base.add(end), 0, self.len.wrapping_sub(end));
        }
    }

    /// Writes a field.
    ///
    /// # Safety
    ///
    /// The record must have a field of this type and offset.
    #[inline(always)]
    pub unsafe fn put<T: Copy>(&mut self, offset: usize, value: T) {
        // SAFETY: By the type invariant and the safety requirements, this is in the record. A
        // record need not be aligned for its fields.
        unsafe { self.base.add(offset).cast::<T>().write_unaligned(value) };
    }

    /// Writes a string to a field that is an array of `len` characters, and pads it with NULs. A
    /// string that is too long is cut.
    ///
    /// # Safety
    ///
    /// The record must have a field of this offset and size.
    #[inline(always)]
    pub unsafe fn put_chars(&mut self, offset: usize, len: usize, string: &[u8]) {
        let used = string.len().min(len.saturating_sub(1));

        // SAFETY: By the type invariant and the safety requirements, this is in the record.
        unsafe {
            let field = self.base.add(offset);
            ptr::copy_nonoverlapping(string.as_ptr(), field, used);
            ptr::write_bytes(field.add(used), 0, len - used);
        }
    }

    /// Writes the field that locates the data at `span`.
    ///
    /// # Safety
    ///
    /// The record must have a field of four bytes at this offset.
    #[inline(always)]
    pub unsafe fn put_span(&mut self, offset: usize, relative: bool, span: Span) {
        let loc = if relative {
            span.rel_loc(offset + size_of::<u32>())
        } else {
            span.data_loc()
        };

        // SAFETY: By the safety requirements, the record has a field of four bytes at this offset.
        unsafe { self.put(offset, loc) };
    }

    /// Writes the data at `span`, which may be one NUL longer than `source`.
    ///
    /// # Safety
    ///
    /// `span` must be one of the layout that this was reserved for, and have been added with the
    /// size of `source`, or one more.
    #[inline(always)]
    pub unsafe fn put_data<T: Copy>(&mut self, span: Span, source: &[T]) {
        let len = size_of_val(source);

        // SAFETY: By the type invariant and the safety requirements, this is in the record.
        unsafe {
            let data = self.base.add(span.start);
            ptr::copy_nonoverlapping(source.as_ptr().cast::<u8>(), data, len);
            if span.len > len {
                data.add(len).write(0);
            }
        }
    }

    /// Writes the elements of `source` to `span`, and zeroes for those that it lacks.
    ///
    /// # Safety
    ///
    /// `span` must be one of the layout that this was reserved for.
    #[inline(always)]
    pub unsafe fn put_each<T: Scalar>(&mut self, span: Span, source: impl Iterator<Item = T>) {
        let size = size_of::<T::Bits>();
        let count = span.len.checked_div(size).unwrap_or(0);
        let mut source = source.fuse();

        for i in 0..count {
            // SAFETY: By the type invariant and the safety requirements, this is in the record.
            unsafe {
                let element = self.base.add(span.start).cast::<T::Bits>().add(i);
                match source.next() {
                    Some(value) => element.write_unaligned(value.to_bits()),
                    None => ptr::write_bytes(element.cast::<u8>(), 0, size),
                }
            }
        }
    }

    /// Writes bits to `span`.
    ///
    /// # Safety
    ///
    /// `span` must be one of the layout that this was reserved for, and have been added with the
    /// size of `bits`.
    #[inline(always)]
    pub unsafe fn put_bits(&mut self, span: Span, bits: Bits<'_>) {
        // SAFETY: By the type invariant and the safety requirements, this is in the record.
        let data = unsafe { self.base.add(span.start) };

        for (i, word) in bits.words().enumerate() {
            // SAFETY: As `span.len` bytes at `data` are valid.
            unsafe { data.cast::<usize>().add(i).write_unaligned(word) };
        }
    }

    /// Writes a text and its NUL to `span`.
    ///
    /// # Safety
    ///
    /// `span` must be one of the layout that this was reserved for.
    #[inline(always)]
    pub unsafe fn put_text(&mut self, span: Span, text: fmt::Arguments<'_>) {
        // SAFETY: By the type invariant and the safety requirements, this is in the record. It is
        // initialised before a reference to it exists.
        let room = unsafe {
            let data = self.base.add(span.start);
            ptr::write_bytes(data, 0, span.len);
            slice::from_raw_parts_mut(data, span.len)
        };

        write_text(room, text);
    }

    /// Commits the record as `count` hits, also to perf events of `task`, if that is given.
    #[inline(always)]
    pub fn commit(self, count: u64, task: Option<&Task>) {
        self.room.commit(count, task);
    }
}

/// Counts bytes.
struct Count(usize);

impl Write for Count {
    fn write_str(&mut self, s: &str) -> core::fmt::Result {
        self.0 = self.0.saturating_add(s.len());
        Ok(())
    }
}

/// Takes what fits, and leaves one byte.
struct Fill<'a>(&'a mut [u8]);

impl Write for Fill<'_> {
    fn write_str(&mut self, s: &str) -> core::fmt::Result {
        let room = core::mem::take(&mut self.0);
        let len = s.len().min(room.len().saturating_sub(1));
        let (to, rest) = room.split_at_mut_checked(len).ok_or(core::fmt::Error)?;

        for (to, from) in to.iter_mut().zip(s.as_bytes()) {
            *to = *from;
        }
        self.0 = rest;
        Ok(())
    }
}

/// Returns the size of a text with its NUL, up to the length at which a text is cut.
#[inline(never)]
pub fn text_len(text: fmt::Arguments<'_>) -> usize {
    let mut count = Count(1);

    let _ = count.write_fmt(text);
    count.0.min(TEXT_MAX)
}

/// Writes a text to `room`, which is all zeroes.
#[inline(never)]
fn write_text(room: &mut [u8], text: fmt::Arguments<'_>) {
    let _ = Fill(room).write_fmt(text);
}
