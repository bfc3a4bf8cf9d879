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
use core::cmp::Ordering;
use kernel::{
    capability::perfmon_capable,
    impl_has_delayed_work, impl_has_work, new_delayed_work, new_mutex, new_spinlock, new_work,
    prelude::*,
    rbtree::{
        Cursor,
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
        SetOnce,
        SpinLock, //
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
        Work,
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
struct Order<'a> {
    name: &'a [u8],
    multi: bool,
    signature: &'a [u8],
}

impl<'a> Order<'a> {
    /// The place of an event. There is one event of a single format for each name.
    fn new(name: &'a [u8], multi: bool, signature: &'a [u8]) -> Self {
        Self {
            name,
            multi,
            signature: if multi { signature } else { b"" },
        }
    }

    fn of(event: &'a UserEvent) -> Self {
        Self::new(event.name(), event.is_multi(), event.signature().to_bytes())
    }

    /// Sorts before every event that has this name, and after all others that sort before those.
    fn first_of(name: &'a [u8]) -> Self {
        Self::new(name, false, b"")
    }
}

/// The key of a node: its event. Or what is looked for.
#[derive(Clone, Copy)]
enum Key<'a> {
    Event(&'a UserEvent),
    Search(&'a Order<'a>),
}

impl<'a> Key<'a> {
    fn order(&self) -> Order<'a> {
        match *self {
            Self::Event(event) => Order::of(event),
            Self::Search(order) => *order,
        }
    }
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key<'_> {}

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

/// The key of a node, which borrows from the event in the same node.
///
/// # Invariants
///
/// A key in a node is the event whose `Arc` is the value of that node.
type OwnKey = Key<'static>;

type Tree = RBTree<OwnKey, Arc<UserEvent>>;
type Node = RBTreeNode<OwnKey, Arc<UserEvent>>;

/// The key of `event`, free of its lifetime.
///
/// # Safety
///
/// The key must be gone before the event is.
unsafe fn own_key(event: &UserEvent) -> OwnKey {
    // SAFETY: The caller sees to it that the event outlives the key.
    Key::Event(unsafe { &*core::ptr::from_ref(event) })
}

/// A node for `event`.
fn node(event: Arc<UserEvent>) -> Result<Node> {
    // SAFETY: The key lives in a node together with an `Arc` of its event and is dropped with it.
    let key = unsafe { own_key(&event) };

    // INVARIANT: The key is the value of the node.
    RBTreeNode::new(key, event, GFP_KERNEL_ACCOUNT)
}

struct Events {
    tree: Tree,
    count: u32,
    /// Number of the next multi-format event, over all names.
    multi_id: u64,
}

impl Events {
    fn get<'a>(&'a self, order: &'a Order<'a>) -> Option<&'a Arc<UserEvent>> {
        let tree: &'a RBTree<Key<'a>, Arc<UserEvent>> = &self.tree;

        tree.get(&Key::Search(order))
    }

    /// Calls `f` with the events called `name`, the single-format one first, until it fails.
    fn try_for_each_named(
        &self,
        name: &[u8],
        mut f: impl FnMut(&Arc<UserEvent>) -> Result,
    ) -> Result {
        let first = Order::first_of(name);
        let mut key = Key::Search(&first);

        while let Some(cursor) = self.lower_bound(&key) {
            let (_, event) = cursor.current();
            if &**event.name() != name {
                break;
            }
            f(event)?;

            match cursor.peek_next() {
                Some((next, _)) => key = *next,
                None => break,
            }
        }
        Ok(())
    }

    fn lower_bound<'a>(&'a self, key: &Key<'a>) -> Option<Cursor<'a, Key<'a>, Arc<UserEvent>>> {
        let tree: &'a RBTree<Key<'a>, Arc<UserEvent>> = &self.tree;

        tree.cursor_lower_bound(key)
    }

    /// The first event called `name`.
    fn first_named(&self, name: &[u8]) -> Option<Arc<UserEvent>> {
        let first = Order::first_of(name);
        let cursor = self.lower_bound(&Key::Search(&first))?;
        let (_, event) = cursor.current();

        (&**event.name() == name).then(|| event.clone())
    }

    fn insert(&mut self, node: Node) {
        self.tree.insert(node);
        self.count += 1;
    }

    /// Takes an event out if it is `event` itself, not another one of the same key.
    fn remove(&mut self, event: &UserEvent) -> Option<Node> {
        if !core::ptr::eq(&**self.get(&Order::of(event))?, event) {
            return None;
        }
        // SAFETY: The key is gone when this function returns, and `event` is borrowed for longer.
        let key = unsafe { own_key(event) };
        let node = self.tree.remove_node(&key)?;
        self.count -= 1;
        Some(node)
    }
}

/// Events that have lost their last use.
struct Unused {
    events: KVec<Arc<UserEvent>>,
    /// There was no memory for `events`, or tracing did not let go of one: look at all.
    any: bool,
}

/// The events of the system.
#[pin_data]
pub(crate) struct Registry {
    #[pin]
    events: Mutex<Events>,
    #[pin]
    unused: SpinLock<Unused>,
    /// Removes what is unused. Not at once: the last use may go in the middle of what tracing does
    /// with the event, and it may still be taken up again.
    #[pin]
    reap: Work<Registry, REAP>,
    /// Looks again for events that only kernel code refers to, which does not tell the end of it.
    #[pin]
    sweep: DelayedWork<Registry, SWEEP>,
}

const REAP: u64 = 0;
const SWEEP: u64 = 1;

impl_has_work! {
    impl HasWork<Self, REAP> for Registry { self.reap }
}

impl_has_delayed_work! {
    impl HasDelayedWork<Self, SWEEP> for Registry { self.sweep }
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
            unused <- new_spinlock!(
                Unused {
                    events: KVec::new(),
                    any: false,
                },
                "user_events::unused"
            ),
            reap <- new_work!("user_events::reap"),
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

/// Has an event removed soon that has lost its last use, unless it is taken up again. Any context
/// but interrupts.
pub(crate) fn reap_later(event: Arc<UserEvent>) {
    let Ok(registry) = get() else {
        return;
    };

    {
        let mut unused = registry.unused.lock();

        // Not just pushed: the event must not be dropped under the lock.
        if unused.events.reserve(1, GFP_NOWAIT).is_ok() {
            let _ = unused.events.push_within_capacity(event);
        } else {
            unused.any = true;
        }
    }
    // If it is queued already that run looks at the list.
    let _ = workqueue::system_percpu().enqueue::<_, REAP>(registry.clone());
}

impl WorkItem<REAP> for Registry {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        let (events, any) = {
            let mut unused = this.unused.lock();

            (
                core::mem::replace(&mut unused.events, KVec::new()),
                core::mem::take(&mut unused.any),
            )
        };
        let mut again = false;

        for event in &events {
            again |= this.reap(event);
        }
        if any {
            while let Some(event) = this.any_unused(&mut again) {
                again |= this.reap(&event);
            }
        }
        if again {
            // If it is queued already that run looks at all events.
            let _ = workqueue::system_percpu()
                .enqueue_delayed::<_, SWEEP>(this, msecs_to_jiffies(SWEEP_MS));
        }
    }
}

impl WorkItem<SWEEP> for Registry {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        this.unused.lock().any = true;
        let _ = workqueue::system_percpu().enqueue::<_, REAP>(this);
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
        let order = Order::new(name, wanted.multi, signature);
        let events = self.events.lock();
        let Some(event) = events.get(&order) else {
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
        let name_len = u16::try_from(name.len())?;
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
            name
        };

        Ok(Description {
            system: if wanted.multi { MULTI_SYSTEM } else { SYSTEM },
            print_fmt: print_fmt::text(&layout)?,
            name_len,
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

            let mut found = false;
            events.try_for_each_named(name, |event| {
                found = true;
                Self::check_deletable(event)
            })?;
            if !found {
                return Err(ENOENT);
            }
            while let Some(event) = events.first_named(name) {
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
    /// without. Returns `true` if tracing does not let go of it now.
    fn reap(&self, event: &UserEvent) -> bool {
        let guard = event_mutex::lock();
        let result = self.remove_if(event, guard.held(), |event| {
            if event.is_persistent() || event.is_used() {
                Err(EAGAIN)
            } else if event.is_busy() {
                Err(EBUSY)
            } else {
                Ok(())
            }
        });

        match result {
            Ok(()) => false,
            Err(e) if e == EAGAIN || e == ENOENT => false,
            // An event probe or a trigger refers to it.
            Err(e) if e == EBUSY => true,
            Err(_) => {
                pr_warn!("Unable to delete event\n");
                true
            }
        }
    }

    /// An event without uses that nothing else refers to; `busy` is set if there are others.
    fn any_unused(&self, busy: &mut bool) -> Option<Arc<UserEvent>> {
        let events = self.events.lock();
        let event = events.tree.values().find(|event| {
            let unused = !event.is_persistent() && !event.is_used();

            *busy |= unused && event.is_busy();
            unused && !event.is_busy()
        });

        event.cloned()
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
