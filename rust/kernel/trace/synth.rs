// SPDX-License-Identifier: GPL-2.0

//! Synthetic events: events that users define, and that triggers or kernel code generate.
//!
//! - Code that generates such events declares them by [`synth_event!`](crate::synth_event), so that
//!   the compiler checks the values, or builds them by a [`Builder`]. A [`SynthEvent`] is deleted
//!   when it is dropped. It is generated for all listeners, or by a [`Tracer`] in one instance.
//! - Triggers generate events of other users by an [`EventRef`].
//!
//! C header: [`kernel/trace/trace_synth.h`](srctree/kernel/trace/trace_synth.h).

mod builder;
mod declare;
mod field;
mod record;
mod trace;

pub use self::{
    builder::{
        delete,
        Builder,
        NotDeleted,
        SynthEvent,
        Type, //
    },
    declare::{
        check_declared,
        field_name,
        Char,
        Declared,
        DeclaredEvent,
        DeclaredTracer,
        DynString,
        FieldType,
        FixedString,
        Gfp,
        Int,
        Long,
        Pid,
        UnsignedChar,
        UnsignedInt,
        UnsignedLong, //
    },
    field::{
        Field,
        ValueKind,
        MAX_FIELDS,
        TEXT_WORDS, //
    },
    trace::{
        Arg,
        ByName,
        InOrder,
        Tracer, //
    },
};
pub use crate::synth_event;

#[cfg(CONFIG_RUST_TRACE_KUNIT_TEST)]
mod event_tests;
#[cfg(CONFIG_RUST_TRACE_KUNIT_TEST)]
mod record_tests;
#[cfg(all(CONFIG_RUST_TRACE_KUNIT_TEST, CONFIG_64BIT))]
mod tests;

use self::{
    field::fields,
    record::Records, //
};
use super::{
    event_file::{
        EventFile,
        Locked, //
    },
    event_mutex::Held,
    raw,
    static_event::cpu_is_online,
    tracepoint::{
        synchronize,
        CallGuard,
        Tracepoint, //
    },
    trigger::Hit, //
};
use crate::{
    bindings,
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
};
use core::{
    mem,
    ptr::NonNull, //
};

/// The system of these events.
const SYSTEM: &CStr = c"synthetic";

/// Length of the longest string of fixed size, and what each of them takes in a record.
const STRING_MAX: u16 = bindings::MAX_FILTER_STR_VAL as u16;

/// Maximum number of words of a stack trace that C reads, including the count.
const STACK_DEPTH: u64 = bindings::HIST_STACKTRACE_DEPTH as u64;

// Strings and stack traces fit in the words.
static_assert!(TEXT_WORDS * size_of::<u64>() == STRING_MAX as usize);
static_assert!(STRING_MAX as u32 == bindings::MAX_FILTER_STR_VAL);
static_assert!(STACK_DEPTH as usize == TEXT_WORDS - 1);

/// A value for a field.
#[derive(Clone, Copy, Debug)]
pub enum Value<'v> {
    /// A number.
    Number(u64),
    /// A string, in the order of bytes in memory, that ends at its first NUL. The last byte has to
    /// be one.
    String(&'v [u64; TEXT_WORDS]),
    /// A stack trace: the number of its entries, the entries, at most 31, and a zero if the entries
    /// are fewer than 30.
    Stack(&'v [u64; TEXT_WORDS]),
}

/// An empty string, and a stack trace without entries.
static NOTHING: [u64; TEXT_WORDS] = [0; TEXT_WORDS];

impl Value<'_> {
    /// Returns the word that C expects for a field of this kind: a number, or the address of a
    /// string or a stack trace that is read no further than its end.
    #[inline]
    fn word(self, kind: ValueKind) -> u64 {
        let text = match (kind, self) {
            (ValueKind::Number, Self::Number(n)) => return n,
            (ValueKind::Number, _) => return 0,
            (ValueKind::String, Self::String(text)) if is_string(text) => text,
            (ValueKind::Stack, Self::Stack(stack)) if is_stack(stack) => stack,
            _ => &NOTHING,
        };

        // CAST: Addresses fit in a `u64`.
        text.as_ptr().expose_provenance() as u64
    }
}

/// Returns `true` if the last byte is a NUL, as in a string.
#[inline]
fn is_string(text: &[u64; TEXT_WORDS]) -> bool {
    text[TEXT_WORDS - 1].to_ne_bytes()[7] == 0
}

/// Returns `true` if C finds the end of the stack trace before the end of the buffer that it
/// allocates for it.
///
/// It reserves the count and as many entries as that says, and copies all up to the first zero or
/// up to [`STACK_DEPTH`] words.
#[inline]
fn is_stack(stack: &[u64; TEXT_WORDS]) -> bool {
    let n = stack[0];

    // C takes the words for `unsigned long`s.
    cfg!(CONFIG_64BIT)
        && n <= STACK_DEPTH
        && (n + 1 >= STACK_DEPTH || stack.get(n as usize + 1).is_some_and(|end| *end == 0))
}

/// The indices of the values for C, in the order of the fields.
static IN_ORDER: [c_uint; MAX_FIELDS] = {
    let mut order = [0; MAX_FIELDS];
    let mut i = 0;

    while i < MAX_FIELDS {
        // CAST: It is less than 64.
        order[i] = i as c_uint;
        i += 1;
    }
    order
};

/// The event can be used.
const KEPT: u32 = 0;
/// It can no longer be used, but may be in use still.
const CLOSED: u32 = 1;
/// It may have been removed.
const RELEASED: u32 = 2;

/// A synthetic event that is kept from being removed, until it is [released](Self::release).
///
/// If this is dropped without having been released, the event can never be removed.
///
/// # Invariants
///
/// - Unless `state` is `RELEASED`, a reference to `event` is counted that belongs to this; so it
///   is valid. Hits that have seen `KEPT` are over when it becomes that.
/// - `state` changes with `event_mutex` held only.
/// - `n_fields` is the number of its fields, and `kinds` are theirs.
/// - `records` is that of this event.
pub struct EventRef {
    event: NonNull<bindings::synth_event>,
    state: Atomic<u32>,
    n_fields: usize,
    kinds: [ValueKind; MAX_FIELDS],
    records: Option<Records>,
}

// SAFETY: All that changes in an event is its count, with `event_mutex` held.
unsafe impl Send for EventRef {}
// SAFETY: As above.
unsafe impl Sync for EventRef {}

impl EventRef {
    /// Finds an event by its name, without the system. Returns `None` if it does not exist, or if
    /// its reference count is exhausted.
    pub fn find(name: &CStr, held: Held<'_>) -> Option<Self> {
        // SAFETY: `held` is evidence that `event_mutex` is held.
        let event = NonNull::new(unsafe { raw::find_synth_event(name.as_char_ptr()) })?;

        // SAFETY: It is in the list of events.
        unsafe { Self::new(event, held) }
    }

    /// Returns the event of a file, if it is a synthetic one. Returns `None` also if its reference
    /// count is exhausted.
    pub fn of_file(file: EventFile<Locked<'_>>, held: Held<'_>) -> Option<Self> {
        // SAFETY: `event_mutex` is held, and the event of a file is valid then.
        let event = NonNull::new(unsafe { raw::find_synth_event_call(file.call()) })?;

        // SAFETY: It is in the list of events.
        unsafe { Self::new(event, held) }
    }

    /// Takes a reference to the event, or returns `None` if the count is exhausted because
    /// references have leaked.
    ///
    /// # Safety
    ///
    /// `event` must be a registered event.
    unsafe fn new(event: NonNull<bindings::synth_event>, _held: Held<'_>) -> Option<Self> {
        let raw = event.as_ptr();
        // SAFETY: The event is valid, and the count is only accessed with `event_mutex` held. What
        // else is read does not change after the event was registered.
        let fields = unsafe {
            (*raw).ref_ = (*raw).ref_.checked_add(1)?;
            fields(raw)
        };
        let n_fields = fields.len().min(MAX_FIELDS);
        let mut kinds = [ValueKind::Number; MAX_FIELDS];

        for (kind, field) in kinds.iter_mut().zip(fields) {
            *kind = field.kind();
        }
        // INVARIANT: The reference was just counted. C does not create events with more fields than
        // `kinds` has.
        Some(Self {
            event,
            state: Atomic::new(KEPT),
            n_fields,
            kinds,
            // SAFETY: The event is registered, and kept by the reference.
            records: unsafe { Records::new(raw) },
        })
    }

    /// Releases the event, which this then neither uses nor keeps from being removed. Calling it
    /// again does nothing.
    ///
    /// Sleeps, as it waits for hits that may be in [`trace`](Self::trace).
    pub fn release(&self, held: Held<'_>) {
        Self::release_all(core::iter::once(self), held);
    }

    /// Releases several events, as [`release`](Self::release) does, and waits only once. Does not
    /// sleep for none.
    pub fn release_all<'a>(events: impl Iterator<Item = &'a Self> + Clone, held: Held<'_>) {
        let mut any = false;

        for event in events.clone() {
            if event.state.load(Relaxed) == KEPT {
                event.state.store(CLOSED, Relaxed);
                any = true;
            }
        }
        if any {
            synchronize();
            for event in events {
                event.put(held);
            }
        }
    }

    /// Releases the event, which no hit uses, without waiting.
    pub(super) fn release_unused(mut self, held: Held<'_>) {
        *self.state.get_mut() = CLOSED;
        self.put(held);
    }

    /// Drops the reference to an event that was closed and that no hit uses.
    ///
    /// Only called after having waited for hits since it was closed.
    fn put(&self, _held: Held<'_>) {
        if self.state.load(Relaxed) == CLOSED {
            // INVARIANT: The reference is given up here, and hits are over.
            self.state.store(RELEASED, Relaxed);
            // SAFETY: The event is referenced, so it is valid. The count is only accessed with
            // `event_mutex` held.
            unsafe { (*self.event.as_ptr()).ref_ -= 1 };
        }
    }

    /// Returns the event, if it was not released.
    fn get<'h>(&self, _held: Held<'h>) -> Option<&'h bindings::synth_event> {
        if self.state.load(Relaxed) == RELEASED {
            return None;
        }
        // SAFETY: It is valid by the type invariant, and is not removed during `'h`, for which
        // `event_mutex` would have to be taken. No code has an exclusive reference to it; that C
        // changes some of it is why callers only read what does not change.
        Some(unsafe { self.event.as_ref() })
    }

    /// Returns the name, without the system, or an empty one if the event was released.
    pub fn name<'h>(&self, held: Held<'h>) -> &'h CStr {
        match self.get(held) {
            // SAFETY: The name is a string that is valid as long as the event.
            Some(event) => unsafe { CStr::from_char_ptr(event.name) },
            None => c"",
        }
    }

    /// Returns the number of fields.
    #[inline]
    pub fn n_fields(&self) -> usize {
        self.n_fields
    }

    /// Returns a field, or `None` if `i` is out of range or the event was released.
    pub fn field<'h>(&self, i: usize, held: Held<'h>) -> Option<Field<'h>> {
        // SAFETY: By the type invariant `get` returns a registered event, which stays so during
        // `'h`.
        unsafe { fields(self.get(held)?) }.nth(i)
    }

    /// Returns `true` if the event has a listener.
    ///
    /// A hint: it can change at any time.
    #[inline]
    pub fn is_enabled(&self, _hit: &Hit<'_>) -> bool {
        self.tracepoint().is_some_and(Tracepoint::is_enabled)
    }

    /// Returns the tracepoint, if the event can be used. Must be called in hits, or by code that
    /// keeps the event from being released.
    #[inline]
    fn tracepoint(&self) -> Option<&Tracepoint> {
        if self.state.load(Relaxed) != KEPT {
            return None;
        }
        // SAFETY: By the type invariant the event is valid as long as the hit lasts, or it is not
        // released, and so is its tracepoint.
        Some(unsafe { Tracepoint::from_raw((*self.event.as_ptr()).tp) })
    }

    /// Generates the event, if it has a listener. In any context in which a trigger is hit.
    ///
    /// `value` is asked for the value of each field, by its number and in their order. A number for
    /// something that is none, or the other way round, is replaced by nothing: 0, an empty string,
    /// no stack trace. So is a string, or a stack trace, that does not end. `scratch` has to have
    /// as many words as the event has fields.
    #[inline]
    pub fn trace<'v>(
        &self,
        _hit: &Hit<'_>,
        scratch: &mut [u64],
        mut value: impl FnMut(usize) -> Value<'v>,
    ) {
        let Some(tracepoint) = self.tracepoint() else {
            return;
        };
        if !tracepoint.is_enabled() {
            return;
        }
        let Some(words) = scratch.get_mut(..self.n_fields) else {
            return;
        };
        for (i, (word, kind)) in words.iter_mut().zip(&self.kinds).enumerate() {
            *word = value(i).word(*kind);
        }
        // SAFETY: It is the tracepoint of this event, which has as many fields as `words`, each of
        // which has the form that C expects for a field of its kind; strings have `TEXT_WORDS`
        // words. The strings are borrowed for longer than this call. A hit has preemption disabled.
        unsafe { call(tracepoint, words, self.records.as_ref()) };
    }
}

impl Drop for EventRef {
    fn drop(&mut self) {
        if *self.state.get_mut() != RELEASED {
            pr_warn!("a synthetic event was not released, so it cannot be removed\n");
        }
    }
}

/// The type of the probes of a synthetic event.
type Probe = unsafe extern "C" fn(*mut c_void, *mut u64, *mut c_uint);

/// Calls the probes, which do not write to the values. Does nothing on a CPU that is offline.
///
/// Records that `records` can write are written by it.
///
/// # Safety
///
/// `tracepoint` must be that of a synthetic event, and `words` have the form that C expects for
/// each of its fields. Preemption must be disabled. `records` must be that of the event, and the
/// words of strings then be addresses of [`TEXT_WORDS`] words.
#[inline]
unsafe fn call(tracepoint: &Tracepoint, words: &mut [u64], records: Option<&Records>) {
    // The protection of the trigger of a hit need not cover probes.
    let _guard = CallGuard::new();

    if !cpu_is_online() {
        return;
    }
    // SAFETY: The guard keeps them.
    for probe in unsafe { tracepoint.probes_unguarded() } {
        if let Some(records) = records.filter(|records| records.are_made_by(probe.func)) {
            // SAFETY: It is the probe of the event for an instance, whose data is its file, which C
            // keeps until its readers are done. The rest is a safety requirement.
            unsafe { records.write(EventFile::from_probe(probe.data.cast()), words) };
            continue;
        }
        // SAFETY: All probes of the tracepoint of a synthetic event have this type: those of its
        // class, and the stub that replaces a removed one in C.
        unsafe {
            let func = mem::transmute::<*mut c_void, Probe>(probe.func);

            func(
                probe.data,
                words.as_mut_ptr(),
                (&raw const IN_ORDER).cast_mut().cast(),
            );
        }
    }
}
