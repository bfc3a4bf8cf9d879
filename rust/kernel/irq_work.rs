// SPDX-License-Identifier: GPL-2.0

//! Work that can be asked for in any context, that of an NMI included.
//!
//! A workqueue takes locks, so code that may run in an NMI, or in a tracepoint inside of the
//! scheduler, must not use one. [`IrqWorkQueuer`] does it for such code, from an interrupt that
//! occurs as soon as interrupts are enabled.
//!
//! C accesses an `irq_work` after its function has returned. So the `irq_work` is not a field of
//! the work item, as a [`Work`](workqueue::Work) is: if the function dropped the last reference to
//! the item, it would free the memory that C accesses next. The owner of the `irq_work` has to wait
//! for the interrupt.
//!
//! C header: [`include/linux/irq_work.h`](srctree/include/linux/irq_work.h)

use crate::{
    bindings,
    container_of,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    },
    types::Opaque,
    workqueue::{
        self,
        HasWork,
        WorkItem, //
    }, //
};

/// Queues a work item on the [default system workqueue](workqueue::system_dfl) from any
/// context. The item thus runs even if the current CPU is busy with a real-time task.
///
/// It has to be dropped where sleeping is allowed: that waits for the interrupt, though not for the
/// work item. If it was never queued it has nothing to wait for, so it can be dropped before the
/// kernel has enabled interrupts for the first time.
///
/// # Examples
///
/// ```
/// use kernel::{
///     impl_has_work,
///     irq_work::IrqWorkQueuer,
///     new_work,
///     sync::{
///         Arc,
///         Completion, //
///     },
///     workqueue::{
///         Work,
///         WorkItem, //
///     },
/// };
///
/// #[pin_data]
/// struct Bell {
///     #[pin]
///     rung: Completion,
///     #[pin]
///     work: Work<Self>,
/// }
///
/// impl_has_work! {
///     impl HasWork<Self> for Bell { self.work }
/// }
///
/// impl WorkItem for Bell {
///     type Pointer = Arc<Self>;
///
///     fn run(this: Arc<Self>) {
///         this.rung.complete_all();
///     }
/// }
///
/// let bell = Arc::pin_init(
///     pin_init!(Bell {
///         rung <- Completion::new(),
///         work <- new_work!("Bell::work"),
///     }),
///     GFP_KERNEL,
/// )?;
/// let queuer = KBox::pin_init(IrqWorkQueuer::new(bell.clone()), GFP_KERNEL)?;
///
/// // In whatever context.
/// queuer.queue();
///
/// bell.rung.wait_for_completion();
/// # Ok::<(), Error>(())
/// ```
#[pin_data(PinnedDrop)]
pub struct IrqWorkQueuer<T> {
    item: Arc<T>,
    /// `true` if the interrupt was ever requested.
    asked: Atomic<bool>,
    #[pin]
    work: Opaque<bindings::irq_work>,
}

// SAFETY: An `irq_work` may be queued and waited for by any task; what is shared besides is an
// `Arc<T>`.
unsafe impl<T: Send + Sync> Send for IrqWorkQueuer<T> {}
// SAFETY: As above; `irq_work_queue()` may be called at the same time on several CPUs.
unsafe impl<T: Send + Sync> Sync for IrqWorkQueuer<T> {}

impl<T> IrqWorkQueuer<T>
where
    T: WorkItem<Pointer = Arc<T>> + HasWork<T> + Send + Sync + 'static,
{
    /// Creates a queuer of a work item.
    pub fn new(item: Arc<T>) -> impl PinInit<Self> {
        pin_init!(Self {
            item,
            asked: Atomic::new(false),
            // SAFETY: `slot` is valid for writes of an `irq_work`. `Self::run` is called with a
            // pointer to it, which is pinned in a `Self` then.
            work <- Opaque::ffi_init(|slot| unsafe {
                bindings::init_irq_work(slot, Some(Self::run))
            }),
        })
    }

    /// Queues the item on the workqueue, from an interrupt.
    ///
    /// In any context. If it was queued before and the interrupt has not occurred yet, or if the
    /// item is still waiting in the queue, once is enough.
    pub fn queue(&self) {
        // The drop has exclusive access and sees all stores before it.
        self.asked.store(true, Relaxed);
        // SAFETY: `new` has initialised it, and it stays until it is done: see `drop`.
        unsafe { bindings::irq_work_queue(self.work.get()) };
    }

    /// Called in the interrupt: queues the item on the workqueue.
    ///
    /// # Safety
    ///
    /// `work` must be that of a `Self` which lives as long as the handler runs.
    unsafe extern "C" fn run(work: *mut bindings::irq_work) {
        // SAFETY: By the safety requirements, `work` is the field of a `Self` that is alive while
        // the handler runs.
        let this = unsafe { &*container_of!(Opaque::cast_from(work), Self, work) };

        // A queued item is returned and dropped. That is not the last reference.
        let _ = workqueue::system_dfl().enqueue(this.item.clone());
    }
}

#[pinned_drop]
impl<T> PinnedDrop for IrqWorkQueuer<T> {
    fn drop(self: Pin<&mut Self>) {
        // C wants interrupts to be enabled for waiting.
        if self.asked.load(Relaxed) {
            // SAFETY: It was initialised, and it can no longer be queued.
            unsafe { bindings::irq_work_sync(self.work.get()) };
        }
    }
}
