// SPDX-License-Identifier: GPL-2.0

//! A histogram: its description, its program and its map.
//!
//! It never changes once it is created, except for the contents of the map and what its effects
//! keep. It is shared by its triggers (several, if it has a name) and by the histograms that refer
//! to its variables, and refers to no event: it may outlive its events.

use kernel::{
    memcg::Charge,
    prelude::*,
    sync::{
        Arc,
        UniqueArc, //
    },
    trace::{
        builtin::{
            charge::{
                charge,
                refused, //
            },
            snapshot::ConditionalSnapshot, //
        },
        synth::EventRef, //
    },
};

use crate::{
    map::{
        Kind,
        Map, //
    },
    program::{
        snapshot_condition::SnapshotCondition,
        HitPath,
        Program, //
    },
    scratch::ScratchRef,
    spec::{
        HistogramId,
        Spec, //
    },
};

/// The effect of an action outside of the element.
pub(crate) enum Effect {
    Nothing,
    /// A synthetic event is emitted.
    Trace(EventRef),
    /// The buffers of the instance are swapped for a snapshot.
    Snapshot(Arc<ConditionalSnapshot<SnapshotCondition>>),
}

/// A histogram.
///
/// It refers to others, which may refer to others in turn, and so on without a limit. So when the
/// last ones of such a chain are freed together, they are dropped one after the other, not each by
/// the one before, which would take as much stack as the chain is long: see [`Histogram::drop`].
pub(crate) struct Histogram {
    pub(crate) spec: Spec,
    /// The effects of its actions, in their order.
    pub(crate) effects: KVec<Effect>,
    pub(crate) program: Program,
    pub(crate) map: Map,
    /// The scratch memory of its hits, if they take a [large](HitPath::Large) path.
    pub(crate) scratch: Option<ScratchRef>,
    /// The charge for the memory of the map, which is dropped before.
    _charge: Charge,
    /// The next of those without references, while they are dropped.
    gone: Option<Pin<UniqueArc<Histogram>>>,
}

/// The parts of a histogram besides its description and its effects.
pub(crate) struct HistogramParts {
    program: KBox<Program>,
    map: Map,
    scratch: Option<ScratchRef>,
    charge: Charge,
}

impl HistogramParts {
    /// Allocates map and scratch memory of a histogram of `2^map_bits` elements with this program.
    /// May sleep.
    ///
    /// The map is charged before it is allocated: a task without room for it costs nothing. Neither
    /// [waits](kernel::trace::builtin::charge), as `event_mutex` is held.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, `EINVAL` if no such map exists.
    #[inline(never)]
    pub(crate) fn new(program: KBox<Program>, map_bits: u32) -> Result<Self> {
        let scratch = match program.path {
            HitPath::Large | HitPath::LargeOpen | HitPath::LargeReusing => Some(ScratchRef::new()?),
            HitPath::Plain(_) | HitPath::Small | HitPath::PlainReusing(_) | HitPath::Reusing => {
                None
            }
        };
        let kind = if program.reuse {
            Kind::Reuse
        } else if program.counts_only {
            Kind::Spread
        } else {
            Kind::Plain
        };
        let size = Map::size_of(kind, map_bits, program.layout)?;
        let charge = charge(size)?;
        let map = Map::of_kind(kind, map_bits, program.layout).inspect_err(|_| refused(size))?;

        Ok(Self {
            charge,
            map,
            program,
            scratch,
        })
    }
}

impl Histogram {
    pub(crate) fn new(spec: Spec, effects: KVec<Effect>, parts: HistogramParts) -> Self {
        Self {
            spec,
            effects,
            program: KBox::into_inner(parts.program),
            map: parts.map,
            scratch: parts.scratch,
            _charge: parts.charge,
            gone: None,
        }
    }

    /// Returns the id of the histogram, which does not move.
    pub(crate) fn id(self: &Arc<Self>) -> HistogramId {
        HistogramId(Arc::as_ptr(self).addr())
    }

    /// Removes and returns a reference to another histogram, or returns `None` if none is left.
    fn take_other(&mut self) -> Option<Arc<Self>> {
        self.program.sources.pop().map(|source| source.hist)
    }
}

impl Drop for Histogram {
    fn drop(&mut self) {
        // Those without a reference, linked by `gone`.
        let mut first: Option<Pin<UniqueArc<Self>>> = None;

        loop {
            let other = match &mut first {
                Some(hist) => hist.take_other(),
                None => self.take_other(),
            };

            if let Some(other) = other {
                if let Some(mut hist) = Arc::into_unique_or_drop(other) {
                    hist.gone = first;
                    first = Some(hist);
                }
            } else if let Some(mut hist) = first {
                // It has none left, so its own drop finds none.
                first = hist.gone.take();
            } else {
                break;
            }
        }
    }
}
