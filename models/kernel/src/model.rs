// SPDX-License-Identifier: GPL-2.0

//! Runs models, and what the stand-ins of this crate need to know about the run.
//!
//! All threads of a model are coroutines on one thread of the machine. So the state of the run is
//! in a thread-local variable, and a [`Cell`] that is shared by threads of the model is not a race.

use crate::{
    sync::Arc,
    time::Jiffies, //
};
use std::{
    cell::{
        Cell,
        RefCell, //
    },
    collections::{
        HashMap,
        VecDeque, //
    },
    env,
    panic::Location,
    rc::Rc,
    sync::atomic::Ordering,
    thread::panicking, //
};

/// Most atomics that one execution of an exhaustive model accesses.
const POOL: usize = 96;

/// Most steps of one execution of an exhaustive model.
const STEPS: usize = 20_000;

/// The random models draw from this, unless the environment has another number (`MODELS_SEED`).
const SEED: u64 = 20_261_123;

/// Which checker runs the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Engine {
    /// None: the code runs as it is, on one thread.
    None,
    /// loom: all interleavings, with weak memory.
    Loom,
    /// shuttle: random interleavings, of sequentially consistent memory.
    Shuttle,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Thread {
    None,
    Loom(loom::thread::ThreadId),
    Shuttle(shuttle::thread::ThreadId),
}

struct State {
    /// Atomics that were created by the first thread before any other, with value 0.
    pool: Rc<Vec<loom::sync::atomic::AtomicU64>>,
    used: usize,
    /// The points at which the loads of each thread depend on each other: see [`point`].
    points: Vec<Rc<Point>>,
    cpus: HashMap<Thread, u32>,
    interrupts: HashMap<Thread, (usize, Box<dyn FnOnce()>)>,
    work: VecDeque<QueuedWork>,
    /// The delays with which work items were queued.
    delays: Vec<Jiffies>,
    /// Vectors get no memory.
    no_memory: bool,
    /// Passed by each access to the queue.
    work_point: Option<Rc<Point>>,
}

/// A work item that is queued.
struct QueuedWork {
    queue: usize,
    is_delayed: bool,
    run: Box<dyn FnOnce()>,
}

thread_local! {
    static ENGINE: Cell<Engine> = const { Cell::new(Engine::None) };
    static ARMED: Cell<bool> = const { Cell::new(false) };
    static STATE: RefCell<Option<State>> = const { RefCell::new(None) };
    static EXECUTION: Cell<u64> = const { Cell::new(0) };
    /// The execution that is written down.
    static TRACED: Cell<u64> = const { Cell::new(0) };
    static LAST_TRACE: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// A scheduling point of shuttle.
static POINT: shuttle::sync::atomic::AtomicBool = shuttle::sync::atomic::AtomicBool::new(false);

/// The method by which a model is checked.
#[derive(Clone, Copy)]
pub enum Check {
    /// All interleavings with at most so many preemptions.
    All(usize),
    /// All interleavings.
    Every,
    /// So many random ones.
    Random(usize),
}

/// A model.
pub struct Model {
    /// Its name.
    pub name: &'static str,
    /// The method by which it is checked.
    pub check: Check,
    run: Run,
}

/// The function of one execution.
#[derive(Clone, Copy)]
enum Run {
    One(fn()),
    /// Checked for each number below the first.
    Cases(usize, fn(usize)),
}

impl Model {
    /// Creates a model, one execution of which is `run`.
    pub const fn new(name: &'static str, check: Check, run: fn()) -> Self {
        Self {
            name,
            check,
            run: Run::One(run),
        }
    }

    /// Creates a model of `count` cases, whose number is passed to `run`.
    pub const fn with_cases(
        name: &'static str,
        check: Check,
        count: usize,
        run: fn(usize),
    ) -> Self {
        Self {
            name,
            check,
            run: Run::Cases(count, run),
        }
    }
}

/// Returns the engine that runs the caller, or none while a panic unwinds.
pub(crate) fn engine() -> Engine {
    if panicking() {
        Engine::None
    } else {
        ENGINE.get()
    }
}

/// Returns the number of this execution, which is not 0.
pub(crate) fn execution() -> u64 {
    EXECUTION.get()
}

fn thread() -> Thread {
    match engine() {
        Engine::None => Thread::None,
        Engine::Loom => Thread::Loom(loom::thread::current().id()),
        Engine::Shuttle => Thread::Shuttle(shuttle::thread::current().id()),
    }
}

fn with_run<R>(f: impl FnOnce(&mut State) -> R) -> R {
    STATE.with_borrow_mut(|run| f(run.as_mut().expect("a model runs")))
}

/// A scheduling point of loom, which orders nothing: a lock that is never free. Two attempts to
/// take it matter to each other, so loom tries both orders.
pub(crate) struct Point(loom::sync::Mutex<()>);

impl Point {
    pub(crate) fn new() -> Self {
        loom::stop_exploring();
        let lock = loom::sync::Mutex::new(());

        std::mem::forget(lock.try_lock());
        loom::explore();
        Self(lock)
    }

    pub(crate) fn pass(&self) {
        assert!(self.0.try_lock().is_err());
    }

    /// Passes the point, then calls `f`, in which no other thread runs.
    ///
    /// loom has a thread that is about to try to take a lock wait for it if another thread takes
    /// the lock first. So nothing may run between the two.
    pub(crate) fn then<R>(&self, f: impl FnOnce() -> R) -> R {
        self.pass();
        loom::stop_exploring();
        let result = f();

        loom::explore();
        result
    }
}

/// Takes an unused atomic of the pool, and returns its number.
pub(crate) fn take_atomic() -> usize {
    let point = Point::new();

    with_run(|run| {
        run.used += 1;
        run.points.push(Rc::new(point));
        assert!(run.used <= POOL, "the model has too many atomics");
        run.used - 1
    })
}

pub(crate) fn pool() -> Rc<Vec<loom::sync::atomic::AtomicU64>> {
    with_run(|run| run.pool.clone())
}

/// Returns the point that belongs to an atomic of the pool, which each load passes.
///
/// Of the accesses to an atomic loom remembers the last one only, when it looks for those whose
/// order matters, and loads do not matter to each other. So a thread that loads and then stores
/// would hide a load of another thread in front of its own: the store would not be tried before
/// that.
pub(crate) fn point(number: usize) -> Rc<Point> {
    with_run(|run| run.points[number].clone())
}

/// Returns the CPU of this thread.
pub(crate) fn cpu() -> u32 {
    if engine() == Engine::None {
        return 0;
    }
    let thread = thread();

    with_run(|run| run.cpus.get(&thread).copied().unwrap_or(0))
}

/// Called before each access to shared memory: an interrupt may occur here, and in a random model
/// other threads may run. Exhaustive models have a scheduling point in the access.
pub fn before_access() {
    if ARMED.get() && engine() != Engine::None {
        let thread = thread();
        let interrupt = with_run(|run| {
            let (left, _) = run.interrupts.get_mut(&thread)?;

            if *left > 0 {
                *left -= 1;
                return None;
            }
            run.interrupts.remove(&thread)
        });

        if let Some((_, interrupt)) = interrupt {
            note(|| "interrupt".into());
            interrupt();
            note(|| "end of the interrupt".into());
        }
    }
    if engine() == Engine::Shuttle {
        POINT.load(Ordering::SeqCst);
    }
}

/// Returns `true` if this execution is recorded.
pub(crate) fn traced() -> bool {
    TRACED.get() != 0 && TRACED.get() == EXECUTION.get()
}

/// Calls `f` without memory for vectors, unless they ask for it with `__GFP_NOFAIL`. To be called
/// before other threads run.
pub fn without_memory(f: impl FnOnce()) {
    with_run(|run| run.no_memory = true);
    f();
    with_run(|run| run.no_memory = false);
}

/// Returns `true` if vectors can allocate memory.
pub(crate) fn has_memory() -> bool {
    engine() == Engine::None || with_run(|run| !run.no_memory)
}

/// Writes down a step.
#[track_caller]
pub(crate) fn note(text: impl FnOnce() -> String) {
    if !traced() {
        return;
    }
    let at = Location::caller();
    let file = at.file().rsplit("/src/").next().unwrap_or("");
    let line = format!("cpu{} {}:{} {}", cpu(), file, at.line(), text());

    LAST_TRACE.with_borrow_mut(|trace| trace.push(line));
}

/// Writes a remark of the model down.
#[track_caller]
pub fn remark(text: &str) {
    note(|| format!("# {text}"));
}

fn begin(engine: Engine, pool: usize) {
    ENGINE.set(engine);
    ARMED.set(false);
    EXECUTION.set(EXECUTION.get() + 1);

    let pool = (0..pool)
        .map(|_| loom::sync::atomic::AtomicU64::new(0))
        .collect();
    let state = State {
        pool: Rc::new(pool),
        used: 0,
        points: Vec::new(),
        cpus: HashMap::new(),
        interrupts: HashMap::new(),
        work: VecDeque::new(),
        delays: Vec::new(),
        no_memory: false,
        work_point: (engine == Engine::Loom).then(|| Rc::new(Point::new())),
    };

    // The leftovers of a failed execution must not be dropped here.
    std::mem::forget(STATE.replace(Some(state)));
}

/// A thread of a model.
pub enum JoinHandle<T> {
    #[doc(hidden)]
    Loom(loom::thread::JoinHandle<T>),
    #[doc(hidden)]
    Shuttle(shuttle::thread::JoinHandle<T>),
}

impl<T> JoinHandle<T> {
    /// Waits for the end of the thread, and returns its result.
    pub fn join(self) -> T {
        match self {
            Self::Loom(thread) => thread.join().expect("the thread comes to its end"),
            Self::Shuttle(thread) => thread.join().expect("the thread comes to its end"),
        }
    }
}

/// Runs `f` in a thread on a CPU. The first thread is on CPU 0.
pub fn spawn<T: 'static>(cpu: u32, f: impl FnOnce() -> T + 'static) -> JoinHandle<T> {
    struct AssertSend<F>(F);
    // SAFETY: All threads of a model are on one thread of the machine.
    unsafe impl<F> Send for AssertSend<F> {}

    let f = AssertSend(move || {
        let thread = thread();

        with_run(|run| run.cpus.insert(thread, cpu));
        AssertSend(f())
    });

    match engine() {
        Engine::None => panic!("there is no model"),
        Engine::Loom => JoinHandle::Loom(loom::thread::spawn(move || {
            let f = f;
            f.0().0
        })),
        Engine::Shuttle => {
            let thread = shuttle::thread::spawn(move || {
                let f = f;
                f.0()
            });
            // SAFETY: `AssertSend<T>` has the layout of `T`, and the handle only returns it.
            JoinHandle::Shuttle(unsafe { std::mem::transmute(thread) })
        }
    }
}

/// Schedules an interrupt of this thread before its access number `after` to shared memory. It runs
/// on the CPU of the thread, which resumes when `f` has returned.
pub fn interrupt(after: usize, f: impl FnOnce() + 'static) {
    let thread = thread();

    ARMED.set(true);
    with_run(|run| run.interrupts.insert(thread, (after, Box::new(f))));
}

/// Returns `true` if an interrupt of this thread is pending.
pub fn interrupt_is_due() -> bool {
    let thread = thread();

    with_run(|run| run.interrupts.contains_key(&thread))
}

/// Lets other threads run.
pub fn yield_now() {
    match engine() {
        Engine::None => (),
        Engine::Loom => loom::thread::yield_now(),
        Engine::Shuttle => shuttle::thread::yield_now(),
    }
}

/// Returns a number below `n`, in random models.
pub fn random(n: u64) -> u64 {
    use shuttle::rand::Rng;

    match engine() {
        Engine::Shuttle => shuttle::rand::thread_rng().gen_range(0..n),
        _ => 0,
    }
}

/// Queues a work item, which may be delayed.
pub(crate) fn queue_work(queue: usize, delay: Option<Jiffies>, run: Box<dyn FnOnce()>) {
    let work = QueuedWork {
        queue,
        is_delayed: delay.is_some(),
        run,
    };

    pass_queue();
    with_run(|run| {
        run.delays.extend(delay);
        run.work.push_back(work);
    });
}

/// Returns the delays of all work items so far.
pub fn delays() -> Vec<Jiffies> {
    with_run(|run| run.delays.clone())
}

fn pass_queue() {
    before_access();
    if engine() == Engine::Loom {
        with_run(|run| run.work_point.clone())
            .expect("loom runs")
            .pass();
    }
}

/// Runs the next work item of all queues; returns `false` if they are empty. A delayed one is run
/// after other threads were able to run.
pub fn run_work() -> bool {
    pass_queue();
    let work = with_run(|run| run.work.pop_front());

    match work {
        Some(work) => {
            if work.is_delayed {
                yield_now();
            }
            (work.run)();
            true
        }
        None => false,
    }
}

/// Runs the next work item of one queue; returns `false` if it is empty.
pub(crate) fn run_work_of(queue: usize) -> bool {
    pass_queue();
    let work = with_run(|run| {
        let at = run.work.iter().position(|work| work.queue == queue)?;

        run.work.remove(at)
    });

    match work {
        Some(work) => {
            (work.run)();
            true
        }
        None => false,
    }
}

/// Creates an `Arc` of a value that is used by several threads.
pub fn shared<T>(value: T) -> Arc<T> {
    Arc::new(value, crate::alloc::flags::GFP_KERNEL).expect("there is memory")
}

/// Runs a model, which panics if it fails. Returns the number of executions.
pub fn check(model: &Model) -> u64 {
    let before = EXECUTION.get();

    match model.run {
        Run::One(run) => check_one(model.check, run),
        Run::Cases(count, run) => {
            for case in 0..count {
                check_one(model.check, move || run(case));
            }
        }
    }
    EXECUTION.get() - before
}

fn check_one(check: Check, run: impl Fn() + Clone + Send + Sync + 'static) {
    match check {
        Check::All(_) | Check::Every => {
            let mut builder = loom::model::Builder::new();

            builder.max_branches = STEPS;
            builder.preemption_bound = match check {
                Check::All(preemptions) => Some(preemptions),
                _ => None,
            };
            builder.check(move || {
                begin(Engine::Loom, POOL);
                run();
                finish();
            });
        }
        Check::Random(iterations) => {
            let number = |name: &str| env::var(name).ok().and_then(|text| text.parse().ok());
            let seed = number("MODELS_SEED").unwrap_or(SEED);
            let iterations = number("MODELS_ITERATIONS").map_or(iterations, |n: u64| n as usize);
            let config = || {
                let mut config = shuttle::Config::new();

                config.silence_warnings = true;
                config.failure_persistence = shuttle::FailurePersistence::None;
                config.max_steps = shuttle::MaxSteps::FailAfter(10_000_000);
                config.stack_size = 0x40000;
                config
            };
            let body = move || {
                begin(Engine::Shuttle, 0);
                run();
                finish();
            };

            // Half of them switch at random, half prefer a thread until it is preempted.
            let random =
                shuttle::scheduler::RandomScheduler::new_from_seed(seed, iterations.div_ceil(2));
            shuttle::Runner::new(random, config()).run(body.clone());

            let pct =
                shuttle::scheduler::PctScheduler::new_from_seed(seed, 4, iterations.div_ceil(2));
            shuttle::Runner::new(pct, config()).run(body);
        }
    }
}

/// Checks at the end of an execution that no work is left.
fn finish() {
    let left = with_run(|run| run.work.len());

    assert_eq!(left, 0, "there is work left");
    ENGINE.set(Engine::None);
}

/// Returns the seed of random models.
pub fn seed() -> u64 {
    env::var("MODELS_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(SEED)
}

/// Returns the number of executions, including a failed one.
pub fn executions() -> u64 {
    EXECUTION.get()
}

/// Runs the model again, and returns the steps of one execution.
pub fn trace(model: &Model, execution: u64) -> Vec<String> {
    ENGINE.set(Engine::None);
    EXECUTION.set(0);
    TRACED.set(execution);
    let _ = std::panic::catch_unwind(|| check(model));
    TRACED.set(0);
    ENGINE.set(Engine::None);
    LAST_TRACE.take()
}
