// SPDX-License-Identifier: GPL-2.0

//! Tests that detaching probes waits for those that are running, and that replacing a probe waits
//! for the hits that could call the new one with the data of the old one.

use super::{
    probe,
    rust_kunit_bare,
    rust_kunit_bare_faultable,
    trace_rust_kunit_bare_faultable, //
};
use crate::{
    bindings,
    impl_has_work,
    new_work,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        Completion, //
    },
    time::{
        delay::fsleep,
        Delta, //
    },
    trace::{
        probe::{
            detach_all,
            Attached,
            Target, //
        },
        tracepoint::synchronize, //
    },
    workqueue::{
        self,
        Work,
        WorkItem, //
    }, //
};

const IDLE: u32 = 0;
const RUNNING: u32 = 1;
const DONE: u32 = 2;

/// The state of the probe.
static STATE: Atomic<u32> = Atomic::new(IDLE);

/// Runs for 200 ms, as a probe.
fn slowly(_: (u32,)) {
    STATE.store(RUNNING, Relaxed);
    fsleep(Delta::from_millis(200));
    STATE.store(DONE, Relaxed);
}

/// Waits until the probe was called, up to a time limit.
fn was_called() -> bool {
    for _ in 0..30_000 {
        if STATE.load(Relaxed) != IDLE {
            return true;
        }
        fsleep(Delta::from_millis(1));
    }
    false
}

/// Hits the tracepoint in another task.
#[pin_data]
struct Hitter {
    #[pin]
    work: Work<Self>,
    #[pin]
    done: Completion,
}

impl_has_work! {
    impl HasWork<Self> for Hitter { self.work }
}

impl WorkItem for Hitter {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        trace_rust_kunit_bare_faultable(1);
        this.done.complete_all();
    }
}

/// Runs `detach` while the probe runs in a hit by another task, and returns the state of the probe
/// when `detach` returns.
fn state_behind(detach: impl FnOnce()) -> Result<u32> {
    let hitter = Arc::pin_init(
        pin_init!(Hitter {
            work <- new_work!("Hitter::work"),
            done <- Completion::new(),
        }),
        GFP_KERNEL,
    )?;

    STATE.store(IDLE, Relaxed);
    if workqueue::system_percpu().enqueue(hitter.clone()).is_err() {
        return Err(EBUSY);
    }

    let called = was_called();
    detach();
    let state = STATE.load(Relaxed);

    // Nothing of this runs after the test.
    hitter.done.wait_for_completion();
    if called {
        Ok(state)
    } else {
        Err(ETIMEDOUT)
    }
}

/// Returns `true` if a hit calls the only probe of a tracepoint directly, with the data that it has
/// read before.
fn calls_the_probe<E: Target>() -> Result<bool> {
    let found = E::tracepoint()?;
    let tracepoint = found.as_raw();

    // SAFETY: It is valid as long as `found`. No other test attaches probes to it.
    unsafe {
        let key: *mut bindings::static_call_key = (*tracepoint).static_call_key;

        Ok(!key.is_null() && (*key).func != (*tracepoint).iterator)
    }
}

#[macros::kunit_tests(rust_kernel_static_event_waits)]
mod suite {
    use super::*;

    #[test]
    fn dropping_waits() -> Result {
        let probe = probe::<rust_kunit_bare_faultable, _>(slowly)?;
        let state = state_behind(|| drop(probe))?;

        assert_eq!(state, DONE);
        Ok(())
    }

    #[test]
    fn the_only_probe_is_called_directly() -> Result {
        let _ordinary = probe::<rust_kunit_bare, _>(|_| ())?;
        let _faultable = probe::<rust_kunit_bare_faultable, _>(|_| ())?;
        let static_calls = cfg!(CONFIG_HAVE_STATIC_CALL);

        assert_eq!(calls_the_probe::<rust_kunit_bare>()?, static_calls);
        assert_eq!(
            calls_the_probe::<rust_kunit_bare_faultable>()?,
            static_calls
        );
        Ok(())
    }

    /// Checks that the static call does not become the new probe while a hit has the data of the
    /// old one. Without static calls, a hit reads the probe and its data together.
    #[test]
    fn replacing_the_only_probe_waits() -> Result {
        let mut old = probe::<rust_kunit_bare_faultable, _>(slowly)?;
        let mut new = None;
        let state = state_behind(|| {
            // SAFETY: It is waited for below, before `old` is dropped.
            unsafe { old.as_mut().detach() };
            new = probe::<rust_kunit_bare_faultable, _>(|_| ()).ok();
        });

        synchronize();
        assert!(new.is_some());
        assert!(state? == DONE || !cfg!(CONFIG_HAVE_STATIC_CALL));
        Ok(())
    }

    /// Checks that detaching waits if the remaining probe becomes that of the static call.
    #[test]
    fn detaching_the_first_of_two_waits() -> Result {
        let mut first = probe::<rust_kunit_bare_faultable, _>(slowly)?;
        let _second = probe::<rust_kunit_bare_faultable, _>(|_| ())?;
        // SAFETY: It is waited for below, before `first` is dropped.
        let state = state_behind(|| unsafe { first.as_mut().detach() });

        synchronize();
        assert!(state? == DONE || !cfg!(CONFIG_HAVE_STATIC_CALL));
        Ok(())
    }

    #[test]
    fn detaching_all_waits() -> Result {
        let mut probe = probe::<rust_kunit_bare_faultable, _>(slowly)?;
        let state = state_behind(|| {
            let probes: [Pin<&mut dyn Attached>; 1] = [probe.as_mut()];

            detach_all(probes);
        })?;

        assert_eq!(state, DONE);
        Ok(())
    }
}
