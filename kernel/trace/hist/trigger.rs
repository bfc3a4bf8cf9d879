// SPDX-License-Identifier: GPL-2.0

//! The command `hist` of `trigger` files.
//!
//! A line creates a histogram and attaches it to the event; or it means one that exists already,
//! which it pauses, continues, clears, or removes ([`lifecycle`]).
//!
//! A histogram with a name is shared: further lines with the name attach it to other events, or to
//! the same event with another filter.
//!
//! # Locking
//!
//! Everything except hits runs with `event_mutex` held.

use core::mem::MaybeUninit;
use kernel::{
    prelude::*,
    seq_file::SeqFile,
    sync::{
        Arc,
        UniqueArc, //
    },
    trace::{
        event_file::{
            EventFile,
            Locked, //
        },
        event_mutex::Held,
        instance::Unbuffered,
        trigger::{
            Command,
            CommandKind,
            CommandLine,
            CommandOps,
            Filter,
            Hit,
            Trigger,
            TriggersMut, //
        },
    },
};

use crate::{
    backlog,
    builder::{
        parse_actions,
        Builder,
        Log,
        Mode,
        PARAMS_AT, //
    },
    command::{
        clauses::CommandClauses,
        ErrorKind,
        Span, //
    },
    histogram::{
        Effect,
        Histogram,
        HistogramParts, //
    },
    hit,
    lifecycle::{
        self,
        AttachOptions, //
    },
    program::compile::compile,
    registry::{
        self,
        HistCommand,
        TriggerData, //
    },
    spec::Spec, //
};

/// The operations of the command, for C.
pub(crate) static HIST_COMMAND: CommandOps<HistCommand> =
    CommandOps::new(c"hist", CommandKind::Hist);

#[vtable]
impl Command for HistCommand {
    type Data = TriggerData;

    fn ops() -> &'static CommandOps<Self> {
        &HIST_COMMAND
    }

    fn parse<'h>(
        file: EventFile<Locked<'h>>,
        line: CommandLine<'_>,
        lists: &mut TriggersMut<'h>,
    ) -> Result {
        execute(file, line, lists)
    }

    fn remove_all<'h>(file: EventFile<Locked<'h>>, lists: &mut TriggersMut<'h>) {
        lifecycle::remove_all(file, lists);
    }

    #[inline]
    fn hit(data: &TriggerData, hit: &Hit<'_>) {
        hit::hit(&data.hist, hit);
    }

    fn show(trigger: &Trigger<Self>, m: &SeqFile, _held: Held<'_>) {
        registry::write_line(trigger, |text| m.write(text));
    }

    fn detached(data: &TriggerData, held: Held<'_>) {
        lifecycle::detached(data, held);
    }
}

/// The start of a filter.
const IF: &[u8] = b"if";

/// Fewest bytes after an `if` that begins a filter.
const BEHIND_IF_MIN: usize = 2;

/// Parses and executes a line.
fn execute<'h>(
    file: EventFile<Locked<'h>>,
    line: CommandLine<'_>,
    lists: &mut TriggersMut<'h>,
) -> Result {
    let params = line.params().ok_or(EINVAL)?.to_bytes();
    let log = Log::new(file, params, lists.held())?;
    let text = Span::new(params, PARAMS_AT);
    let mode = if line.remove() {
        Mode::Remove
    } else {
        Mode::Create
    };

    with_builder(
        file,
        lists,
        &log,
        text,
        mode,
        |builder, filter| match mode {
            Mode::Remove => remove(builder, filter.as_ref()),
            _ => add(builder, filter, false),
        },
    )
}

/// Creates a histogram that an action of another one needs, and attaches it. `command` is the text
/// after `hist:`.
fn auto_create<'h>(
    file: EventFile<Locked<'h>>,
    lists: &mut TriggersMut<'h>,
    log: &Log<'h>,
    command: &[u8],
) -> Result {
    let text = Span::new(command, 0);

    with_builder(file, lists, log, text, Mode::Create, |builder, filter| {
        add(builder, filter, true)
    })
}

/// Parses a line, and builds the description of the histogram that it means, without the actions.
fn with_builder<'h>(
    file: EventFile<Locked<'h>>,
    lists: &mut TriggersMut<'h>,
    log: &Log<'h>,
    text: Span<'_>,
    mode: Mode,
    then: impl FnOnce(Builder<'_, 'h>, Option<Filter<'h>>) -> Result,
) -> Result {
    let (text, filter) = split_filter(text)?;
    let clauses = CommandClauses::parse(text).map_err(|e| log.parse_error(e))?;
    let actions = parse_actions(file, log, &clauses)?;
    let mut builder = Builder::new(file, lists, log, &clauses, &actions, mode, auto_create)?;

    builder.create_fields()?;

    let filter = filter
        .map(|text| Filter::new(file, &text.to_c_string()?))
        .transpose()?;

    then(builder, filter)
}

/// Splits a filter off, which begins with `if`.
///
/// # Errors
///
/// `EINVAL` if nothing precedes an `if`, or too little follows one.
pub(crate) fn split_filter(text: Span<'_>) -> Result<(Span<'_>, Option<Span<'_>>)> {
    let bytes = text.bytes();
    let blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));

    for (at, two) in bytes.windows(IF.len()).enumerate() {
        if two != IF {
            continue;
        }
        if at == 0 {
            return Err(EINVAL);
        }

        let before = at.wrapping_sub(1);
        let behind = at.wrapping_add(IF.len());

        if !blank(bytes.get(before)) {
            continue;
        }
        if bytes.len().saturating_sub(behind) < BEHIND_IF_MIN {
            return Err(EINVAL);
        }
        if blank(bytes.get(behind)) {
            return Ok((text.to(before).trim(), Some(text.from(at).trim())));
        }
    }
    Ok((text, None))
}

/// Finds the trigger of the event that a line means. Actions need not have been created.
fn find<'b>(
    builder: &'b Builder<'_, '_>,
    filter: Option<&Filter<'_>>,
) -> Option<&'b Trigger<HistCommand>> {
    let filter = filter.map(|filter| filter.text().to_bytes());
    let mut triggers = builder.file.triggers::<HistCommand>(builder.lists);

    triggers.find(|trigger| {
        trigger.filter().map(|text| text.to_bytes()) == filter
            && builder
                .spec
                .is_same(builder.actions, &trigger.data().hist.spec)
    })
}

/// Removes the trigger that a line means. It is not an error if it does not exist.
fn remove<'h>(builder: Builder<'_, 'h>, filter: Option<&Filter<'h>>) -> Result {
    let Some(trigger) = find(&builder, filter) else {
        return Ok(());
    };
    let data = trigger.data();

    if registry::is_referred_to(builder.held(), &data.hist) {
        return Err(EBUSY);
    }

    let id = data.id;

    lifecycle::detach(builder.file, builder.lists, id);
    Ok(())
}

/// Pauses, continues or clears an existing trigger, or attaches a new one.
///
/// An action may create a histogram on another event, which calls this function again. Functions
/// that use much of the stack are therefore called after that, and are `inline(never)`: the frames
/// of both calls were 17,184 bytes without that, more than the stack, and are 10,908.
fn add<'h>(mut builder: Builder<'_, 'h>, filter: Option<Filter<'h>>, auto_created: bool) -> Result {
    if update(&builder, filter.as_ref()) {
        return Ok(());
    }

    let shared = shared(&builder);
    let created = create_actions(&mut builder, shared.as_deref());

    finish(builder, filter, auto_created, shared, created)
}

/// Creates the actions of a description. Unless the histogram is the `shared` one, first waits
/// until few removed ones are left.
fn create_actions(builder: &mut Builder<'_, '_>, shared: Option<&Histogram>) -> Result {
    if shared.is_none() {
        backlog::wait()?;
    }
    builder.create_actions(shared)
}

/// Attaches a histogram whose actions are `created`, or releases the resources of a description
/// that failed.
#[inline(never)]
fn finish<'h>(
    mut builder: Builder<'_, 'h>,
    filter: Option<Filter<'h>>,
    auto_created: bool,
    shared: Option<Arc<Histogram>>,
    created: Result,
) -> Result {
    let prepared = created.and_then(|()| prepare(&mut builder, shared.as_deref(), filter.as_ref()));
    let Builder {
        file,
        lists,
        clauses,
        spec,
        effects,
        ..
    } = builder;
    let (hist, unbuffered) = match (shared, prepared) {
        (Some(shared), Ok((_, unbuffered))) => (shared, unbuffered),
        (None, Ok((Some((memory, parts)), unbuffered))) => {
            (complete(memory, spec, effects, parts), unbuffered)
        }
        (_, result) => {
            lifecycle::release_resources(&effects, lists);
            // An error, as what is prepared has memory unless the histogram is shared.
            return result.and(Err(EINVAL));
        }
    };
    let options = AttachOptions {
        filter,
        paused: clauses.pause,
        auto_created,
    };
    let result = lifecycle::attach(file, lists, &hist, options, unbuffered);

    if result.is_err() && !registry::is_attached(lists.held(), &hist) {
        lifecycle::release_resources(&hist.effects, lists);
    }
    result
}

/// Pauses, continues or clears an existing trigger, if that is what a line means.
fn update<'h>(builder: &Builder<'_, 'h>, filter: Option<&Filter<'h>>) -> bool {
    let clauses = builder.clauses;

    if !(clauses.pause || clauses.cont || clauses.clear) {
        return false;
    }

    let Some(trigger) = find(builder, filter) else {
        return false;
    };

    if clauses.pause {
        trigger.set_paused(true);
    } else if clauses.cont {
        trigger.set_paused(false);
    } else {
        lifecycle::clear(&trigger.data().hist);
    }
    true
}

/// Returns the histogram of the name that the line has, if it is the one that the line means.
fn shared(builder: &Builder<'_, '_>) -> Option<Arc<Histogram>> {
    let name = builder.spec.name.as_ref()?;

    registry::named(builder.held(), name)
        .filter(|hist| builder.spec.is_same(builder.actions, &hist.spec))
}

/// Memory for a new histogram, and its parts besides its description and its effects.
type Prepared = (UniqueArc<MaybeUninit<Histogram>>, KBox<HistogramParts>);

/// Compiles a description, and allocates the parts of its histogram.
#[inline(never)]
fn parts(builder: &Builder<'_, '_>) -> Result<KBox<HistogramParts>> {
    let program = compile(&builder.spec, &builder.owners)?;
    let parts = HistogramParts::new(program, builder.spec.map_bits)?;

    Ok(KBox::new(parts, GFP_KERNEL)?)
}

/// Assembles a histogram.
#[inline(never)]
fn complete(
    memory: UniqueArc<MaybeUninit<Histogram>>,
    spec: Spec,
    effects: KVec<Effect>,
    parts: KBox<HistogramParts>,
) -> Arc<Histogram> {
    memory
        .write(Histogram::new(spec, effects, KBox::into_inner(parts)))
        .into()
}

/// Performs all steps that can fail after the actions are created, except for attaching. Returns
/// the parts of a new histogram, or `None` for the `shared` one, and a section of the instance if
/// it has time stamps.
#[inline(never)]
fn prepare<'h>(
    builder: &mut Builder<'_, 'h>,
    shared: Option<&Histogram>,
    filter: Option<&Filter<'h>>,
) -> Result<(Option<Prepared>, Option<Unbuffered<'h>>)> {
    let clauses = builder.clauses;

    // A shared one has created its effects when it was new. They run with the fields and variables
    // that were found then.
    if shared.is_some_and(|shared| !builder.spec.uses_same(&shared.spec)) {
        return Err(builder.named_mismatch());
    }
    if let Some(name) = &builder.spec.name {
        if shared.is_none() && registry::named(builder.held(), name).is_some() {
            return Err(builder.named_mismatch());
        }
    }
    if find(builder, filter).is_some() {
        builder.log.report_at(ErrorKind::TriggerExists, 0);
        return Err(EEXIST);
    }
    if clauses.cont || clauses.clear {
        builder.log.report_at(ErrorKind::TriggerNotFound, 0);
        return Err(ENOENT);
    }

    // Memory is only allocated for what is about to be attached.
    let prepared = match shared {
        Some(_) => None,
        None => {
            let parts = parts(builder)?;

            Some((UniqueArc::new_uninit(GFP_KERNEL)?, parts))
        }
    };

    // The effects of a shared histogram, which may use them as well, are not created again.
    if shared.map_or(&builder.spec, |hist| &hist.spec).timestamps {
        let instance = builder.file.instance();

        // To set the clock empties the buffer of the instance, so it is only done if it has to be.
        if !instance.clock_is(&builder.spec.clock) {
            instance.set_clock(&builder.spec.clock).inspect_err(|_| {
                let at = clauses.clock.map_or(0, Span::at);

                builder.log.report_at(ErrorKind::SetClockFail, at);
            })?;
        }
        return Ok((prepared, Some(instance.disable_filter_buffering())));
    }
    Ok((prepared, None))
}
