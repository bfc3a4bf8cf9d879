// SPDX-License-Identifier: GPL-2.0

//! Parses and executes a line of the command.

use core::mem::MaybeUninit;
use kernel::{
    prelude::*,
    sync::{
        Arc,
        UniqueArc, //
    },
    trace::{
        event_file::EventFile,
        trigger::{
            Filter,
            Line,
            Lists, //
        },
    },
};

use super::{
    backlog,
    life::{
        self,
        AttachOptions, //
    },
    matching::{
        find,
        same,
        same_uses, //
    },
};
use crate::{
    attrs::Attrs,
    build::Build,
    data::{
        Hist,
        Spec, //
    },
    log::{
        ErrorKind,
        Log,
        PARAMS_AT, //
    },
    map::Map,
    program::Program,
    registry,
    text::Piece, //
};

/// What a filter begins with.
const IF: &[u8] = b"if";

/// Fewest bytes behind an `if` that begins a filter.
const BEHIND_IF_MIN: usize = 2;

/// Parses and executes a line.
pub(super) fn execute<'h>(file: EventFile<'h>, line: Line<'_>, lists: &mut Lists<'h>) -> Result {
    let params = line.params().ok_or(EINVAL)?.to_bytes();
    let log = Log::new(file, params)?;
    let text = Piece::new(params, PARAMS_AT);

    with_build(file, lists, &log, text, line.remove(), |build, filter| {
        if line.remove() {
            remove(build, filter.as_ref())
        } else {
            add(build, filter, false)
        }
    })
}

/// Attaches a helper to an event. `command` is what follows `hist:`.
pub(crate) fn add_helper<'h>(
    file: EventFile<'h>,
    lists: &mut Lists<'h>,
    log: &Log<'h>,
    command: &[u8],
) -> Result {
    with_build(
        file,
        lists,
        log,
        Piece::new(command, 0),
        false,
        |build, filter| add(build, filter, true),
    )
}

/// Takes a line apart, and makes the description of the histogram that it means, but for actions.
fn with_build<'h>(
    file: EventFile<'h>,
    lists: &mut Lists<'h>,
    log: &Log<'h>,
    text: Piece<'_>,
    remove: bool,
    then: impl FnOnce(Build<'_, 'h>, Option<Filter<'h>>) -> Result,
) -> Result {
    let (clauses, filter) = split_filter(text)?;
    let attrs = Attrs::parse(clauses).map_err(|fault| log.fault(fault))?;
    let mut build = Build::new(file, lists.held(), lists, log, &attrs, remove)?;

    build.parse_actions()?;
    build.create_fields()?;

    let filter = filter
        .map(|text| Filter::new(file, &text.to_c_string()?))
        .transpose()?;

    then(build, filter)
}

/// Splits a filter off, which begins with `if`.
///
/// # Errors
///
/// `EINVAL` if there is nothing before an `if`, or too little behind one.
pub(crate) fn split_filter(text: Piece<'_>) -> Result<(Piece<'_>, Option<Piece<'_>>)> {
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

/// Removes the trigger that a line means. It is not an error if there is none.
fn remove<'h>(build: Build<'_, 'h>, filter: Option<&Filter<'h>>) -> Result {
    let Some(trigger) = find(&build, filter) else {
        return Ok(());
    };
    let data = trigger.data();

    if registry::is_referred_to(build.held, &data.hist) {
        return Err(EBUSY);
    }

    let id = data.id;

    life::detach(build.file, build.lists, id);
    Ok(())
}

/// Pauses, continues or clears what is there, or attaches something new.
fn add<'h>(mut build: Build<'_, 'h>, filter: Option<Filter<'h>>, helper: bool) -> Result {
    if update(&build, filter.as_ref()) {
        return Ok(());
    }

    let shared = shared(&build);
    let prepared = prepare(
        &mut build,
        shared.as_deref().map(|hist| &hist.spec),
        filter.as_ref(),
    );
    let Build {
        file,
        lists,
        attrs,
        spec,
        ..
    } = build;
    let hist = match (shared, prepared) {
        (Some(shared), Ok(_)) => shared,
        (None, Ok(Some(prepared))) => prepared.fill(spec),
        (_, result) => {
            life::give_back(core::iter::once(&spec), lists);
            return result.and(Err(EINVAL));
        }
    };
    let options = AttachOptions {
        filter,
        paused: attrs.pause,
        helper,
    };
    let timestamps = hist.spec.timestamps;
    let result = life::attach(file, lists, &hist, options);

    if result.is_err() {
        if timestamps {
            file.instance().enable_filter_buffering();
        }
        if !registry::is_attached(lists.held(), &hist) {
            life::give_back(core::iter::once(&hist.spec), lists);
        }
    }
    result
}

/// Whether a line only changes an existing trigger; if so, it has been changed.
fn update<'h>(build: &Build<'_, 'h>, filter: Option<&Filter<'h>>) -> bool {
    let attrs = build.attrs;

    if !(attrs.pause || attrs.cont || attrs.clear) {
        return false;
    }

    let Some(trigger) = find(build, filter) else {
        return false;
    };

    if attrs.pause {
        trigger.set_paused(true);
    } else if attrs.cont {
        trigger.set_paused(false);
    } else {
        life::clear(&trigger.data().hist);
    }
    true
}

/// The histogram of the name that the line has, if it is the one that the line means.
fn shared(build: &Build<'_, '_>) -> Option<Arc<Hist>> {
    let name = build.spec.name.as_ref()?;

    registry::named(build.held, name).filter(|hist| same(&build.spec, &build.clauses, &hist.spec))
}

/// What a new histogram needs besides its description.
struct Prepared {
    memory: UniqueArc<MaybeUninit<Hist>>,
    program: Program,
    map: Map,
}

impl Prepared {
    fn new(spec: &Spec) -> Result<Self> {
        let program = Program::compile(spec)?;
        let map = Map::new(spec.map_bits, *program.layout())?;

        Ok(Self {
            memory: UniqueArc::new_uninit(GFP_KERNEL)?,
            program,
            map,
        })
    }

    fn fill(self, spec: Spec) -> Arc<Hist> {
        self.memory
            .write(Hist::new(spec, self.program, self.map))
            .into()
    }
}

/// Does all that can fail except for attaching. Unless the histogram is a shared one, gives what it
/// needs.
fn prepare<'h>(
    build: &mut Build<'_, 'h>,
    shared: Option<&Spec>,
    filter: Option<&Filter<'h>>,
) -> Result<Option<Prepared>> {
    let attrs = build.attrs;
    let prepared = match shared {
        // It has made its actions when it was new. They run with the fields and variables that
        // were found then.
        Some(shared) => {
            let refs = build.find_actions(shared)?;

            if !same_uses(&build.spec, &refs, shared) {
                return Err(build.named_mismatch());
            }
            None
        }
        None => {
            backlog::wait()?;
            build.create_actions()?;
            Some(Prepared::new(&build.spec)?)
        }
    };

    if let Some(name) = &build.spec.name {
        if shared.is_none() && registry::named(build.held, name).is_some() {
            return Err(build.named_mismatch());
        }
    }
    if find(build, filter).is_some() {
        build.log.error(ErrorKind::TriggerExists, 0);
        return Err(EEXIST);
    }
    if attrs.cont || attrs.clear {
        build.log.error(ErrorKind::TriggerNotFound, 0);
        return Err(ENOENT);
    }

    // The actions of a shared histogram, which may use them as well, are not made again.
    if shared.unwrap_or(&build.spec).timestamps {
        let instance = build.file.instance();

        // To set the clock empties the buffer of the instance, so it is only done if it has to be.
        if !instance.clock_is(&build.spec.clock) {
            instance.set_clock(&build.spec.clock).inspect_err(|_| {
                let at = attrs.clock.map_or(0, Piece::at);

                build.log.error(ErrorKind::SetClockFail, at);
            })?;
        }
        instance.disable_filter_buffering();
    }
    Ok(prepared)
}
