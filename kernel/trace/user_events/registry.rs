// SPDX-License-Identifier: GPL-2.0

//! All user events by name: looking up, making, removing.
//!
//! The tree of events has a lock of its own that is only held to look or to change the tree. Making
//! and removing an event happens under `event_mutex` as well, so there is one at a time; but whoever
//! registers an event that exists does not wait for `event_mutex`, which readers of large
//! histograms and the like may hold for long.
//!
//! An event is removed in two steps: it is taken out of the tree if it has no uses, which closes
//! the way to it, then tracing lets go of it. If tracing refuses it goes back into the tree.
//!
//! The limit of events, `kernel.user_events_max`, counts the events in the tree.

use super::{
    defs::{
        MULTI_SYSTEM,
        SYSTEM, //
    },
    event::{
        Description,
        EventUse,
        UserEvent, //
    },
    parse,
    print_fmt,
    signature, //
};
use kernel::{
    capability::perfmon_capable,
    impl_has_delayed_work, new_delayed_work, new_mutex,
    prelude::*,
    rbtree::{
        RBTree,
        RBTreeNode, //
    },
    str::CString,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        Mutex,
        SetOnce, //
    },
    sysctl,
    time::msecs_to_jiffies,
    trace::{
        event::Event,
        event_mutex::{
            self,
            Held, //
        },
    },
    workqueue::{
        self,
        DelayedWork,
        WorkItem, //
    },
};

/// How many events there may be, `kernel.user_events_max`.
static MAX_EVENTS: Atomic<u32> = Atomic::new(32768);

/// The one registry, there from [`init`] on.
static REGISTRY: SetOnce<Arc<Registry>> = SetOnce::new();

/// How long to wait before looking again for events that nobody uses but kernel code refers to.
const SWEEP_MS: u32 = 500;

/// What events are sorted by: all with one name are neighbours, and a field list tells those of
/// several formats apart.
#[derive(PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
struct Key<'a> {
    name: &'a [u8],
    multi: bool,
    signature: &'a [u8],
}

impl<'a> Key<'a> {
    /// The key of an event. There is one event of a single format for each name.
    fn new(name: &'a [u8], multi: bool, signature: &'a [u8]) -> Self {
        Self {
            name,
            multi,
            signature: if multi { signature } else { b"" },
        }
    }

    /// Sorts before every event that has this name, and after all others that sort before those.
    fn first_of(name: &'a [u8]) -> Self {
        Self::new(name, false, b"")
    }
}

/// The key of a node, which borrows from the event in the same node.
///
/// # Invariants
///
/// The slices of the key are in an event whose `Arc` is the value of the same node.
type OwnKey = Key<'static>;

type Tree = RBTree<OwnKey, Arc<UserEvent>>;
type Node = RBTreeNode<OwnKey, Arc<UserEvent>>;

impl Key<'_> {
    fn of(event: &UserEvent) -> Key<'_> {
        Key::new(
            event.name().to_bytes(),
            event.is_multi(),
            event.signature().to_bytes(),
        )
    }
}

/// The key of `event`, free of its lifetime.
///
/// # Safety
///
/// The key must be gone before the event is.
unsafe fn own_key(event: &UserEvent) -> OwnKey {
    // SAFETY: Only the lifetime changes. The strings belong to the event and never change, and the
    // caller sees to it that the event outlives the key.
    unsafe { core::mem::transmute::<Key<'_>, OwnKey>(Key::of(event)) }
}

/// A node for `event`.
fn node(event: Arc<UserEvent>) -> Result<Node> {
    // SAFETY: The key lives in a node together with an `Arc` of its event and is dropped with it.
    let key = unsafe { own_key(&event) };

    // INVARIANT: The key borrows from the value of the node.
    RBTreeNode::new(key, event, GFP_KERNEL_ACCOUNT)
}

struct Events {
    tree: Tree,
    count: u32,
    /// Number of the next multi-format event, over all names.
    multi_id: u64,
}

impl Events {
    fn get<'a>(&'a self, key: &Key<'a>) -> Option<&'a Arc<UserEvent>> {
        let tree: &'a RBTree<Key<'a>, Arc<UserEvent>> = &self.tree;

        tree.get(key)
    }

    /// The events called `name`, the single-format one first.
    fn named<'a>(&'a self, name: &'a [u8]) -> impl Iterator<Item = &'a Arc<UserEvent>> {
        let tree: &'a RBTree<Key<'a>, Arc<UserEvent>> = &self.tree;
        let mut next = tree
            .cursor_lower_bound(&Key::first_of(name))
            .map(|cursor| *cursor.current().0);

        core::iter::from_fn(move || {
            let key = next.filter(|key| key.name == name)?;
            let cursor = tree.cursor_lower_bound(&key)?;

            next = cursor.peek_next().map(|(key, _)| *key);
            tree.get(&key)
        })
    }

    fn insert(&mut self, node: Node) {
        self.tree.insert(node);
        self.count += 1;
    }

    /// Takes an event out if it is `event` itself, not another one of the same key.
    fn remove(&mut self, event: &UserEvent) -> Option<Node> {
        if !core::ptr::eq(&**self.get(&Key::of(event))?, event) {
            return None;
        }
        // SAFETY: The key is gone when this function returns, and `event` is borrowed for longer.
        let key = unsafe { own_key(event) };
        let node = self.tree.remove_node(&key)?;
        self.count -= 1;
        Some(node)
    }
}

/// The events of the system.
#[pin_data]
pub(crate) struct Registry {
    #[pin]
    events: Mutex<Events>,
    #[pin]
    sweep: DelayedWork<Registry>,
}

impl_has_delayed_work! {
    impl HasDelayedWork<Self> for Registry { self.sweep }
}

/// Makes the registry.
pub(crate) fn init() -> Result {
    let registry = Arc::pin_init(
        try_pin_init!(Registry {
            events <- new_mutex!(
                Events {
                    tree: RBTree::new(),
                    count: 0,
                    multi_id: 0,
                },
                "user_events::registry"
            ),
            sweep <- new_delayed_work!("user_events::sweep"),
        }? Error),
        GFP_KERNEL,
    )?;

    if REGISTRY.populate(registry) {
        Ok(())
    } else {
        Err(EBUSY)
    }
}

/// Makes `kernel.user_events_max`.
pub(crate) fn init_sysctl() {
    match sysctl::register_uint(c"kernel", c"user_events_max", 0o644, &MAX_EVENTS) {
        // It stays as long as the kernel runs.
        Ok(registration) => core::mem::forget(registration),
        Err(_) => pr_warn!("could not register kernel.user_events_max\n"),
    }
}

/// The registry; nothing of this crate runs before it is made.
pub(crate) fn get() -> Result<&'static Arc<Registry>> {
    REGISTRY.as_ref().ok_or(ENOENT)
}

/// Looks again, later, for events that nobody uses any more.
pub(crate) fn sweep_later() {
    if let Ok(registry) = get() {
        // One run looks at all events: it does not matter if it is queued already.
        let _ = workqueue::system_percpu()
            .enqueue_delayed(registry.clone(), msecs_to_jiffies(SWEEP_MS));
    }
}

impl WorkItem for Registry {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        for event in this.events.lock().tree.values() {
            if !event.is_persistent() && !event.is_used() {
                UserEvent::queue_reap(event.clone());
            }
        }
    }
}

/// How a registration wants its event.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    /// `USER_EVENT_REG_PERSIST`: it shall stay until it is deleted.
    pub(crate) persist: bool,
    /// `USER_EVENT_REG_MULTI_FORMAT`: other events may have the same name.
    pub(crate) multi: bool,
}

impl Registry {
    /// The event that `command` describes, made if there is none.
    ///
    /// An event that shall be persistent is not yet: that is for the caller to say, when all else
    /// has come to its end.
    ///
    /// # Errors
    ///
    /// `EINVAL` for what cannot be parsed, `EPERM` for a persistent event without `CAP_PERFMON`,
    /// `EADDRINUSE` if the name is taken by other fields, `EMFILE` if there are too many events,
    /// `ENODEV` if the trace event types have run out, `ENOMEM`.
    ///
    /// Sleeps; takes `event_mutex` if the event has to be made.
    pub(crate) fn find_or_create(&self, command: &[u8], wanted: Wanted) -> Result<EventUse> {
        let (name, args) = parse::split(command)?;
        if wanted.persist && !perfmon_capable() {
            return Err(EPERM);
        }
        parse::check_name(name, wanted.multi)?;
        let signature = signature::of_args(args)?;

        if let Some(event) = self.find(name, signature.to_bytes(), wanted)? {
            return Ok(event);
        }

        let layout = parse::fields(args)?;
        let description = self.describe(name, signature, layout, wanted)?;
        let event = UserEvent::new(description)?;
        let node = node(event.clone())?;

        let guard = event_mutex::lock();
        let held = guard.held();

        // Somebody else may have made it meanwhile; from here on nobody can.
        if let Some(event) = self.find(name, event.signature().to_bytes(), wanted)? {
            return Ok(event);
        }
        if self.events.lock().count >= MAX_EVENTS.load(Relaxed) {
            return Err(EMFILE);
        }

        Event::register(event.as_arc_borrow(), held)?;
        // The first use is there before anybody else can find the event and drop theirs.
        let event = EventUse::new(event);
        self.events.lock().insert(node);

        Ok(event)
    }

    fn find(&self, name: &[u8], signature: &[u8], wanted: Wanted) -> Result<Option<EventUse>> {
        let events = self.events.lock();
        let Some(event) = events.get(&Key::new(name, wanted.multi, signature)) else {
            return Ok(None);
        };

        if event.signature().to_bytes() != signature {
            return Err(EADDRINUSE);
        }
        Ok(Some(EventUse::new(event.clone())))
    }

    fn describe(
        &self,
        name: &[u8],
        signature: CString,
        layout: parse::Layout,
        wanted: Wanted,
    ) -> Result<Description> {
        let name = parse::c_string(name)?;
        let tracepoint = if wanted.multi {
            let id = {
                let mut events = self.events.lock();
                let id = events.multi_id;
                // So many events cannot be made.
                events.multi_id = id.wrapping_add(1);
                id
            };
            CString::try_from_fmt(fmt!("{}.{:x}", &*name, id))?
        } else {
            CString::try_from(&*name)?
        };

        Ok(Description {
            system: if wanted.multi { MULTI_SYSTEM } else { SYSTEM },
            print_fmt: print_fmt::text(&layout)?,
            name,
            signature,
            tracepoint,
            layout,
            multi: wanted.multi,
        })
    }

    /// Deletes all events called `name`, or none of them.
    ///
    /// # Errors
    ///
    /// `ENOENT` if there is none, `EBUSY` if one is used, `EPERM` if one is persistent and the
    /// caller may not delete it.
    pub(crate) fn delete(&self, name: &[u8]) -> Result {
        let guard = event_mutex::lock();
        let held = guard.held();
        let mut doomed = Tree::new();

        {
            let mut events = self.events.lock();

            if events.named(name).next().is_none() {
                return Err(ENOENT);
            }
            for event in events.named(name) {
                Self::check_deletable(event)?;
            }
            loop {
                let Some(event) = events.named(name).next().cloned() else {
                    break;
                };
                if let Some(node) = events.remove(&event) {
                    doomed.insert(node);
                }
            }
        }

        let mut result = Ok(());
        loop {
            let Some(event) = doomed.values().next().cloned() else {
                break;
            };
            // SAFETY: `event` lives until the end of the loop's body, and so longer than the key.
            let key = unsafe { own_key(&event) };
            let Some(node) = doomed.remove_node(&key) else {
                break;
            };
            if result.is_ok() {
                result = event.trace().unregister(held);
                if result.is_ok() {
                    continue;
                }
            }
            self.events.lock().insert(node);
        }
        result
    }

    /// Deletes one event, as its entry in `dynamic_events` is deleted.
    pub(crate) fn delete_one(&self, event: &UserEvent, held: Held<'_>) -> Result {
        self.remove_if(event, held, Self::check_deletable)
    }

    /// Removes an event that has lost its last use, unless it has been taken up again or stays
    /// without.
    pub(crate) fn reap(&self, event: &UserEvent) -> Result {
        let guard = event_mutex::lock();

        match self.remove_if(event, guard.held(), |event| {
            if event.is_persistent() || event.is_used() {
                Err(EAGAIN)
            } else if event.is_busy() {
                Err(EBUSY)
            } else {
                Ok(())
            }
        }) {
            Err(e) if e == EAGAIN || e == ENOENT => Ok(()),
            result => result,
        }
    }

    fn check_deletable(event: &UserEvent) -> Result {
        if event.is_busy() {
            return Err(EBUSY);
        }
        if event.is_persistent() && !perfmon_capable() {
            return Err(EPERM);
        }
        Ok(())
    }

    fn remove_if(
        &self,
        event: &UserEvent,
        held: Held<'_>,
        check: impl FnOnce(&UserEvent) -> Result,
    ) -> Result {
        let node = {
            let mut events = self.events.lock();

            // Uses are taken under this lock, so what is unused now is out of reach then.
            check(event)?;
            events.remove(event).ok_or(ENOENT)?
        };

        event
            .trace()
            .unregister(held)
            .inspect_err(|_| self.events.lock().insert(node))
    }

    /// Calls `f` with every event, in the order of their names, under the lock of the registry.
    pub(crate) fn for_each(&self, mut f: impl FnMut(&UserEvent)) {
        for event in self.events.lock().tree.values() {
            f(event);
        }
    }
}
