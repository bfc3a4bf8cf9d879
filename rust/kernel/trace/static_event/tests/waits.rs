// SPDX-License-Identifier: GPL-2.0

//! Tests that detaching probes waits for those that are running.

use super::{
    probe,
    rust_kunit_bare_faultable,
    trace_rust_kunit_bare_faultable, //
};
use crate::{
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
    trace::probe::{
        detach_all,
        Probe, //
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

/// Where the probe is.
static STATE: Atomic<u32> = Atomic::new(IDLE);

/// A probe that takes its time.
fn slowly(_: (u32,)) {
    STATE.store(RUNNING, Relaxed);
    fsleep(Delta::from_millis(200));
    STATE.store(DONE, Relaxed);
}

/// Waits until the probe was called, but not for good.
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

/// Has another task hit the tracepoint, and calls `detach` while the probe runs there. Tells where
/// the probe is when that returns.
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

    // Nothing of this goes on behind the test.
    hitter.done.wait_for_completion();
    if called {
        Ok(state)
    } else {
        Err(ETIMEDOUT)
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
    fn detaching_all_waits() -> Result {
        let mut probe = probe::<rust_kunit_bare_faultable, _>(slowly)?;
        let state = state_behind(|| {
            let probes: [Pin<&mut dyn Probe>; 1] = [probe.as_mut()];

            detach_all(probes);
        })?;

        assert_eq!(state, DONE);
        Ok(())
    }
}
