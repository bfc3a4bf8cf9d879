// SPDX-License-Identifier: GPL-2.0

//! Records of synthetic events in one instance.
//!
//! C header: [`include/linux/trace_events.h`](srctree/include/linux/trace_events.h).

use super::{
    builder::Made,
    call,
    field::{
        fields,
        Field,
        ValueKind,
        MAX_FIELDS, //
    },
    SYSTEM, //
};
use crate::{
    bindings,
    error::to_result,
    prelude::*,
    sync::Arc,
    trace::{
        event_file::{
            EventFile,
            Owned, //
        },
        event_mutex,
        nesting::{
            NestingGuard,
            NestingKind, //
        },
        raw,
        tracepoint::{
            ReadGuard,
            Tracepoint, //
        },
        HEADER_SIZE, //
    },
};
use core::ptr::NonNull;

/// The longest record that perf takes without a warning.
const MAX_EMITTED: usize = bindings::PERF_MAX_TRACE_SIZE as usize;

/// The longest record whose strings can be found: their offsets have 16 bits.
const MAX_TRACED: usize = u16::MAX as usize;

/// The longest string whose length is not fixed, with its NUL. C copies no more, even if it has
/// allocated more.
const MAX_DYNAMIC: usize = bindings::PATH_MAX as usize;

/// A value for a field, which says what it is.
///
/// It fits a field if that is of its kind and can have the value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arg<'v> {
    /// A number that is not negative.
    Unsigned(u64),
    /// A number.
    Signed(i64),
    /// A string.
    Text(&'v CStr),
}

macro_rules! arg_from {
    ($variant:ident: $($ty:ty),*) => {
        $(impl From<$ty> for Arg<'_> {
            #[inline]
            fn from(value: $ty) -> Self {
                Self::$variant(value.into())
            }
        })*
    };
}

arg_from!(Unsigned: u8, u16, u32, u64, bool);
arg_from!(Signed: i8, i16, i32, i64);

impl From<usize> for Arg<'_> {
    #[inline]
    fn from(value: usize) -> Self {
        // CAST: It has 64 bits at most.
        Self::Unsigned(value as u64)
    }
}

impl From<isize> for Arg<'_> {
    #[inline]
    fn from(value: isize) -> Self {
        // CAST: As above.
        Self::Signed(value as i64)
    }
}

impl<'v> From<&'v CStr> for Arg<'v> {
    #[inline]
    fn from(value: &'v CStr) -> Self {
        Self::Text(value)
    }
}

/// The kind and the size of a field.
#[derive(Clone, Copy)]
struct Shape {
    kind: ValueKind,
    dynamic: bool,
    signed: bool,
    /// In bytes; not more than 8 for a number.
    size: usize,
}

impl Shape {
    const NONE: Self = Self {
        kind: ValueKind::Number,
        dynamic: false,
        signed: false,
        size: 0,
    };

    /// Returns the word that C expects for a value of this field.
    ///
    /// # Errors
    ///
    /// `EINVAL` if it does not fit.
    #[inline]
    fn word(self, arg: Arg<'_>) -> Result<u64> {
        // CAST: It is not more than 64.
        let bits = (self.size.min(8) * 8) as u32;

        match (self.kind, arg) {
            (ValueKind::Number, Arg::Unsigned(n)) => {
                let bits = if self.signed {
                    bits.saturating_sub(1)
                } else {
                    bits
                };

                if bits >= u64::BITS || n >> bits == 0 {
                    return Ok(n);
                }
            }
            (ValueKind::Number, Arg::Signed(n)) if self.signed => {
                let unused = u64::BITS.saturating_sub(bits);

                if unused < u64::BITS && (n << unused) >> unused == n {
                    // CAST: C takes the lower bits.
                    return Ok(n as u64);
                }
            }
            (ValueKind::Number, Arg::Signed(n)) => {
                if let Ok(n) = u64::try_from(n) {
                    return self.word(Arg::Unsigned(n));
                }
            }
            // CAST: Addresses fit in a `u64`.
            (ValueKind::String, Arg::Text(text))
                if !self.dynamic || text.to_bytes_with_nul().len() <= MAX_DYNAMIC =>
            {
                return Ok(text.as_char_ptr().expose_provenance() as u64);
            }
            _ => {}
        }
        Err(EINVAL)
    }
}

/// The shapes of the fields of an event.
///
/// # Invariants
///
/// It has as many as the event has fields, in their order; `n_words` is how many words of a record
/// they take.
pub(super) struct Shapes {
    fields: [Shape; MAX_FIELDS],
    n_fields: usize,
    n_words: usize,
}

impl Shapes {
    /// Returns the shapes of the fields of an event.
    ///
    /// # Safety
    ///
    /// `event` must be a registered event.
    pub(super) unsafe fn new(event: *const bindings::synth_event) -> Self {
        let mut shapes = [Shape::NONE; MAX_FIELDS];
        // SAFETY: By the safety requirements, `event` is a registered event, of which neither
        // changes. CAST: The number is small.
        let (fields, n_words) = unsafe { (fields(event), (*event).n_u64 as usize) };
        let n_fields = fields.len().min(MAX_FIELDS);

        for (shape, field) in shapes.iter_mut().zip(fields) {
            *shape = Shape {
                kind: field.kind(),
                dynamic: field.is_dynamic(),
                signed: field.is_signed(),
                size: field.size(),
            };
        }
        // INVARIANT: C does not create events with more fields than fit.
        Self {
            fields: shapes,
            n_fields,
            n_words,
        }
    }

    fn iter(&self) -> impl Iterator<Item = &Shape> {
        self.fields.iter().take(self.n_fields)
    }

    /// Writes the words that C expects for these values to `room`, and returns them.
    ///
    /// # Errors
    ///
    /// `EINVAL` if they are not as many as the fields, or one does not fit its field.
    #[inline]
    pub(super) fn words<'w>(
        &self,
        args: &[Arg<'_>],
        room: &'w mut [u64; MAX_FIELDS],
    ) -> Result<&'w mut [u64]> {
        let words = match room.get_mut(..args.len()) {
            Some(words) if args.len() == self.n_fields => words,
            _ => return Err(EINVAL),
        };

        for ((word, shape), arg) in words.iter_mut().zip(self.iter()).zip(args) {
            *word = shape.word(*arg)?;
        }
        Ok(words)
    }

    /// Returns the length of a record of these values, in bytes.
    #[inline]
    pub(super) fn len_with(&self, args: &[Arg<'_>]) -> usize {
        let texts = self.iter().zip(args).map(|(shape, arg)| match arg {
            Arg::Text(text) if shape.dynamic => text.to_bytes_with_nul().len(),
            _ => 0,
        });

        texts.fold(
            HEADER_SIZE + self.n_words * size_of::<u64>(),
            usize::saturating_add,
        )
    }
}

/// Generates a synthetic event for all listeners. See
/// [`SynthEvent::emit`](super::SynthEvent::emit).
///
/// # Safety
///
/// `tracepoint` must be that of a synthetic event which is kept, and `shapes` those of its fields.
pub(super) unsafe fn emit(tracepoint: &Tracepoint, shapes: &Shapes, args: &[Arg<'_>]) -> Result {
    if !tracepoint.is_enabled() {
        return Ok(());
    }
    if shapes.len_with(args) > MAX_EMITTED {
        return Err(E2BIG);
    }
    let mut room = [0; MAX_FIELDS];
    let words = shapes.words(args, &mut room)?;
    let guard = ReadGuard::new();
    // SAFETY: The guard, which has preemption off, is dropped later.
    let level = unsafe { NestingGuard::enter(NestingKind::Records) }.ok_or(EBUSY)?;

    // SAFETY: The number of values is that of the fields, and each has the form that C expects for
    // its field: numbers, and addresses of strings, which are borrowed for longer than this call.
    // The guard is such a section. The rest is a safety requirement.
    unsafe { call(tracepoint, words, None) };
    drop(level);
    drop(guard);
    Ok(())
}

/// Generates a synthetic event in one instance, as the functions of C do: if it is enabled there,
/// that instance receives a record, and neither another one nor perf does.
///
/// [`trace`](Self::trace) takes all values at once; an [`InOrder`] or a [`ByName`] takes them one
/// by one. [`emit`](Self::emit) generates the event for all listeners.
///
/// As long as this exists, neither the event nor the instance can be removed. The drop sleeps: it
/// takes `event_mutex`, which must not be held.
///
/// In C: `synth_event_trace_array()`, `synth_event_trace_start()` and what follows it.
///
/// # Invariants
///
/// `file` is a file of `event`, whose fields `shapes` are those of.
pub struct Tracer {
    // The reference is dropped before the event is deleted: fields are dropped in their order.
    file: EventFile<Owned>,
    event: NonNull<bindings::synth_event>,
    shapes: Shapes,
    _made: Option<Arc<Made>>,
}

// SAFETY: What is read of the event does not change.
unsafe impl Send for Tracer {}
// SAFETY: As above.
unsafe impl Sync for Tracer {}

impl Tracer {
    /// Finds a synthetic event by its name and that of the instance, or in the top one, even if
    /// another user has created it. Sleeps: takes `event_mutex`.
    ///
    /// # Errors
    ///
    /// - As for [`EventFile::get`].
    /// - `EINVAL` if it is no synthetic event: others can be in the same system.
    /// - `ENOTSUPP` if it has a stack trace, which C would take for a number.
    pub fn open(instance: Option<&CStr>, name: &CStr) -> Result<Self> {
        Self::of(EventFile::get(instance, SYSTEM, name)?, None)
    }

    pub(super) fn of(file: EventFile<Owned>, made: Option<Arc<Made>>) -> Result<Self> {
        let (event, shapes) = {
            let guard = event_mutex::lock();
            // SAFETY: `event_mutex` is held, and the event of a file that is kept is valid.
            let event = unsafe { raw::find_synth_event_call(file.file(guard.held()).call()) };
            let event = NonNull::new(event).ok_or(EINVAL)?;

            // SAFETY: It is registered.
            (event, unsafe { Shapes::new(event.as_ptr()) })
        };

        if shapes.iter().any(|shape| shape.kind == ValueKind::Stack) {
            return Err(ENOTSUPP);
        }
        // INVARIANT: `find_call` has found the event of the file.
        Ok(Self {
            file,
            event,
            shapes,
            _made: made,
        })
    }

    /// Returns the event in its instance, to enable it there.
    pub fn file(&self) -> &EventFile<Owned> {
        &self.file
    }

    /// Generates the event, if it is enabled. Any context.
    ///
    /// # Errors
    ///
    /// If it is enabled:
    ///
    /// - `EINVAL` if the number of values is not that of the fields, or one is not of the kind of
    ///   its field or does not fit it; nothing is recorded then, while C would have a record of no
    ///   meaning.
    /// - `EINVAL` if a string whose length is not fixed has more than 4095 bytes: C would copy no
    ///   more of it into the room that it has reserved for all.
    /// - `EINVAL` if the buffer has no room, or tracing is off.
    /// - `EBUSY` if kernel code is writing three records on this CPU already, as this is called by
    ///   what a record has caused.
    pub fn trace(&self, args: &[Arg<'_>]) -> Result {
        if !self.file.is_enabled() {
            return Ok(());
        }
        let mut room = [0; MAX_FIELDS];
        let words = self.shapes.words(args, &mut room)?;
        if self.shapes.len_with(args) > MAX_TRACED {
            return Err(EINVAL);
        }
        // C calls triggers, which must not be freed concurrently.
        let guard = ReadGuard::new();
        // SAFETY: The guard, which has preemption off, is dropped later.
        let level = unsafe { NestingGuard::enter(NestingKind::Records) }.ok_or(EBUSY)?;
        // SAFETY: By the type invariant it is a file of a synthetic event, which is kept. The
        // number of values is that of the fields, and each has the form that C expects for its
        // field: numbers, and addresses of strings, which are borrowed for longer than this call.
        let ret = unsafe {
            bindings::synth_event_trace_array(
                self.file.as_raw(),
                words.as_mut_ptr(),
                // CAST: They are not more than `MAX_FIELDS`.
                words.len() as c_uint,
            )
        };
        drop(level);
        drop(guard);
        to_result(ret)
    }

    /// Generates the event: each listener receives a record, in all instances and in perf. Any
    /// context. See [`SynthEvent::emit`](super::SynthEvent::emit).
    pub fn emit(&self, args: &[Arg<'_>]) -> Result {
        // SAFETY: By the type invariant the event is kept, and it is registered, so it has a
        // tracepoint, which `shapes` belong to.
        unsafe {
            let tracepoint = Tracepoint::from_raw((*self.event.as_ptr()).tp);

            emit(tracepoint, &self.shapes, args)
        }
    }

    /// Begins a record whose values are given in the order of the fields.
    ///
    /// # Errors
    ///
    /// If the event is enabled:
    ///
    /// - `ENOTSUPP` if it has a string whose length is not fixed.
    /// - `EINVAL` if the buffer has no room, or tracing is off.
    /// - `EBUSY` if three records are open on this CPU already, of this or of other events.
    pub fn in_order(&self) -> Result<InOrder<'_>> {
        Ok(InOrder {
            record: Record::new(self)?,
            next: 0,
        })
    }

    /// Begins a record whose values are given with the names of their fields. See
    /// [`in_order`](Self::in_order).
    pub fn by_name(&self) -> Result<ByName<'_>> {
        Ok(ByName {
            record: Record::new(self)?,
        })
    }

    /// Returns the names of the fields.
    fn names(&self) -> impl Iterator<Item = &CStr> {
        // SAFETY: By the type invariant the event is kept, and it is registered.
        unsafe { fields(self.event.as_ptr()) }.map(Field::name)
    }
}

/// A record that is being written, and that is committed by the drop.
///
/// # Invariants
///
/// `state` is that of a record which C has reserved, and which was not committed; or `None` if the
/// event was off. It has no strings whose length is not fixed.
struct Record<'t> {
    tracer: &'t Tracer,
    state: Option<bindings::synth_event_trace_state>,
    // Dropped before the guard that has preemption off.
    _level: Option<NestingGuard>,
    /// Keeps triggers, and the CPU that the record is on.
    _guard: ReadGuard,
}

impl<'t> Record<'t> {
    fn new(tracer: &'t Tracer) -> Result<Self> {
        let guard = ReadGuard::new();
        if !tracer.file.is_enabled() {
            return Ok(Self {
                tracer,
                state: None,
                _level: None,
                _guard: guard,
            });
        }
        // SAFETY: The guard, which has preemption off, is dropped later, also as a field.
        let level = unsafe { NestingGuard::enter(NestingKind::Records) }.ok_or(EBUSY)?;
        let mut state = bindings::synth_event_trace_state::default();

        // SAFETY: By the invariant of `Tracer` it is a file of a synthetic event, which is kept.
        to_result(unsafe {
            bindings::synth_event_trace_start(tracer.file.as_raw(), &raw mut state)
        })?;
        let state = if state.disabled {
            None
        } else {
            // Fields that nothing is given for must not show what was in the buffer.
            //
            // SAFETY: C has reserved room for a header and as many words as the fields take.
            unsafe {
                let payload = state.entry.cast::<u8>().add(HEADER_SIZE);

                payload.write_bytes(0, tracer.shapes.n_words * size_of::<u64>());
            }
            Some(state)
        };

        // INVARIANT: It was just reserved; C does not do so if the event has such strings.
        Ok(Self {
            tracer,
            state,
            _level: Some(level),
            _guard: guard,
        })
    }
}

impl Drop for Record<'_> {
    fn drop(&mut self) {
        if let Some(state) = &mut self.state {
            // SAFETY: By the type invariant it was reserved and not committed.
            unsafe { bindings::synth_event_trace_end(state) };
        }
    }
}

/// A record whose values are given in the order of the fields.
///
/// It is committed by the drop, even if values are missing; these are 0 or empty. Until then
/// nothing may sleep, and the record cannot be handed to another thread. If the event was off all
/// values are taken, and no record is written. Three can be open at once on a CPU: each takes one
/// of the few levels that the ring buffer can be nested in.
///
/// # Examples
///
/// ```
/// # use kernel::{module::this_module, trace::synth::{SynthEvent, Type}};
/// # let fields = [(Type::U32, c"id"), (Type::String(16), c"what")];
/// # let module = this_module::<crate::LocalModule>();
/// # let event = SynthEvent::create(c"rust_example_in_order", &fields, module)?;
/// let tracer = event.tracer(None)?;
/// tracer.file().set_enabled(true)?;
///
/// let mut record = tracer.in_order()?;
/// record.add(7u32)?;
/// record.add(c"seven")?;
/// assert_eq!(record.add(8u32), Err(EINVAL));
/// drop(record);
///
/// tracer.file().set_enabled(false)?;
/// # Ok::<(), Error>(())
/// ```
///
/// The other way of setting values is another type, so the two cannot be mixed. A record cannot be
/// moved to another thread.
#[must_use = "the record is committed if this is dropped"]
pub struct InOrder<'t> {
    record: Record<'t>,
    next: usize,
}

impl InOrder<'_> {
    /// Sets the value of the next field.
    ///
    /// # Errors
    ///
    /// `EINVAL` if all fields are set, or the value does not fit, in which case the field is still
    /// the next one.
    pub fn add<'v>(&mut self, value: impl Into<Arg<'v>>) -> Result {
        let Some(state) = &mut self.record.state else {
            return Ok(());
        };
        let shapes = &self.record.tracer.shapes;
        let shape = shapes.iter().nth(self.next).ok_or(EINVAL)?;
        let word = shape.word(value.into())?;

        // SAFETY: By the invariant of `Record` it is reserved and not committed, and the next field
        // of C is `next`: the word has the form that it expects for this field.
        to_result(unsafe { bindings::synth_event_add_next_val(word, state) })?;
        self.next += 1;
        Ok(())
    }
}

/// A record whose values are given with the names of their fields, in any order. See [`InOrder`].
#[must_use = "the record is committed if this is dropped"]
pub struct ByName<'t> {
    record: Record<'t>,
}

impl ByName<'_> {
    /// Sets the value of the field of this name, and replaces a previous one.
    ///
    /// # Errors
    ///
    /// `EINVAL` if no such field exists, or the value does not fit.
    pub fn set<'v>(&mut self, name: &CStr, value: impl Into<Arg<'v>>) -> Result {
        let tracer = self.record.tracer;
        let Some(state) = &mut self.record.state else {
            return Ok(());
        };
        // For a name that it does not know C would write to the last field.
        let mut fields = tracer.names().zip(tracer.shapes.iter());
        let (_, shape) = fields.find(|(known, _)| *known == name).ok_or(EINVAL)?;
        let word = shape.word(value.into())?;

        // SAFETY: By the invariant of `Record` it is reserved and not committed. A field of this
        // name exists, and C finds the same one: the first. The word has the form that it expects
        // for it.
        to_result(unsafe { bindings::synth_event_add_val(name.as_char_ptr(), word, state) })
    }
}
