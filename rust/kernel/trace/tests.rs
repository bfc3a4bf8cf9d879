// SPDX-License-Identifier: GPL-2.0

//! KUnit tests of the life of an event.

use super::{
    event_mutex::{
        self,
        Held, //
    },
    tracepoint::ReadGuard,
    HEADER_SIZE, //
};
use crate::{
    bindings,
    error::{
        from_err_ptr,
        to_result, //
    },
    impl_has_event,
    memcg::is_unaccounted,
    prelude::*,
    seq_file::SeqFile,
    seq_print,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        ArcBorrow, //
    },
    trace::builtin::{
        dynevent::{
            self,
            Args,
            Kind, //
        },
        event::{
            self,
            Class,
            Definition,
            Event,
            HasEvent,
            Listener, //
        },
        field::{
            FieldDef,
            FilterKind, //
        },
        ring_buffer::ReservationStorage, //
    },
};

const SYSTEM: &CStr = c"rust_trace_test";

/// An event that counts its callbacks.
macro_rules! test_event {
    ($name:ident, $kind:ident, $class:ident) => {
        struct $name {
            event: Event<Self>,
            attached: Atomic<u32>,
            detached: Atomic<u32>,
            refused: Atomic<u32>,
            is_closed: Atomic<bool>,
        }

        impl_has_event! {
            impl HasEvent for $name { self.event }
        }

        static $kind: Kind<$name> = Kind::new();
        static $class: Class<$name> = Class::new(SYSTEM);

        #[vtable]
        impl event::Operations for $name {
            fn kind() -> &'static Kind<Self> {
                &$kind
            }

            fn attaching(this: ArcBorrow<'_, Self>, _held: Held<'_>) -> Result {
                if this.is_closed.load(Relaxed) {
                    return Err(EACCES);
                }
                // A holder of `event_mutex` does not wait for its memory cgroup.
                if cfg!(CONFIG_MEMCG) && !is_unaccounted() {
                    return Err(EDEADLK);
                }
                Ok(())
            }

            fn attached(this: ArcBorrow<'_, Self>, held: Held<'_>) {
                this.attached.add(1, Relaxed);
                this.try_to_leave(held);
            }

            fn detached(this: ArcBorrow<'_, Self>, held: Held<'_>) {
                this.detached.add(1, Relaxed);
                this.try_to_leave(held);
            }
        }

        #[vtable]
        impl dynevent::Operations for $name {
            fn create(_command: &CStr) -> Result {
                Err(ECANCELED)
            }

            fn show(&self, m: &SeqFile, _held: Held<'_>) {
                seq_print!(m, "rust_trace_test:{}\n", self.event.name());
            }

            fn is_busy(&self, _held: Held<'_>) -> bool {
                self.event.is_enabled()
            }

            fn free(this: ArcBorrow<'_, Self>, held: Held<'_>) -> Result {
                this.event.unregister(held)
            }

            fn matches(
                &self,
                system: Option<&CStr>,
                event: &CStr,
                args: Args<'_>,
                _held: Held<'_>,
            ) -> bool {
                system.is_none_or(|system| system == SYSTEM)
                    && event == self.event.name()
                    && args.is_empty()
            }
        }

        impl $name {
            fn new(name: &CStr) -> Result<Arc<Self>> {
                Self::define(Definition {
                    name: name.to_bytes(),
                    ..DEFINITION
                })
            }

            fn define(definition: Definition<'_>) -> Result<Arc<Self>> {
                let event = Self {
                    // SAFETY: The tests write whole records.
                    event: unsafe { Event::new(&$class, definition)? },
                    attached: Atomic::new(0),
                    detached: Atomic::new(0),
                    refused: Atomic::new(0),
                    is_closed: Atomic::new(false),
                };

                Ok(Arc::new(event, GFP_KERNEL)?)
            }

            /// Tries to unregister the event in a callback, which has to fail.
            fn try_to_leave(&self, held: Held<'_>) {
                if self.event.unregister(held) == Err(EBUSY) {
                    self.refused.add(1, Relaxed);
                }
            }
        }
    };
}

test_event!(TestEvent, KIND, CLASS);
test_event!(Kindless, UNUSED_KIND, KINDLESS_CLASS);

const fn field(
    ty: &'static [u8],
    name: &'static [u8],
    offset: u32,
    size: u32,
    len: u32,
) -> FieldDef<'static> {
    FieldDef {
        ty,
        name,
        offset,
        size,
        signed: false,
        len,
        filter: FilterKind::Auto,
    }
}

const FIELDS: &[FieldDef<'static>] = &[
    field(b"u32", b"first", 8, 4, 0),
    field(b"char[20]", b"second", 12, 20, 20),
    field(b"__data_loc char[]", b"third", 32, 4, 0),
];

const DEFINITION: Definition<'static> = Definition {
    name: b"defined",
    print_fmt: b"\"\"",
    fields: FIELDS,
    note: b"noted",
};

/// Registers the kind, once for all tests.
fn register_kind() -> Result {
    match KIND.register() {
        Err(e) if e != EBUSY => Err(e),
        _ => Ok(()),
    }
}

fn registered(name: &CStr) -> Result<Arc<TestEvent>> {
    register_kind()?;
    let event = TestEvent::new(name)?;
    let guard = event_mutex::lock();
    Event::register(event.as_arc_borrow(), guard.held())?;

    Ok(event)
}

fn unregister(event: &TestEvent) -> Result {
    let guard = event_mutex::lock();

    event.event.unregister(guard.held())
}

/// Returns `true` if tracing finds an event.
fn is_found(name: &CStr) -> bool {
    // SAFETY: Both are strings that are looked up in the top instance.
    let file = from_err_ptr(unsafe {
        bindings::trace_get_event_file(core::ptr::null(), SYSTEM.as_char_ptr(), name.as_char_ptr())
    });

    match file {
        Ok(file) => {
            // SAFETY: It was just got.
            unsafe { bindings::trace_put_event_file(file) };
            true
        }
        Err(_) => false,
    }
}

/// Starts or stops recording in the top instance.
fn enable(name: &CStr, on: bool) -> Result {
    // SAFETY: Both are strings that C looks up.
    to_result(unsafe {
        bindings::trace_set_clr_event(SYSTEM.as_char_ptr(), name.as_char_ptr(), on.into())
    })
}

fn listeners(event: &TestEvent) -> usize {
    let guard = ReadGuard::new();

    event.event.listeners(&guard).count()
}

/// Returns the names of the fields in the order of the `format` file, which starts at the end of
/// the list.
fn listed_fields(event: &Arc<TestEvent>) -> Result<KVec<(KVec<u8>, i32)>> {
    let mut names = KVec::new();
    let _guard = event_mutex::lock();
    // SAFETY: The pointer is that of the `Arc`.
    let raw = unsafe { TestEvent::raw_event(Arc::as_ptr(event).cast_mut()) };
    // SAFETY: The event is initialised.
    let head = unsafe { (*raw).field_list() };
    // SAFETY: The list is linked as the event is registered, and its nodes are fields.
    let mut link = unsafe { (*head).prev };

    while link != head {
        // SAFETY: As above.
        unsafe {
            let node = crate::container_of!(link, bindings::ftrace_event_field, link);
            let mut name = KVec::new();
            name.extend_from_slice(CStr::from_char_ptr((*node).name).to_bytes(), GFP_KERNEL)?;
            names.push((name, (*node).len), GFP_KERNEL)?;
            link = (*link).prev;
        }
    }
    Ok(names)
}

/// Returns `true` if an event has exactly these fields.
fn has_fields(event: &TestEvent, defs: &[FieldDef<'_>]) -> bool {
    let mut fields = event.event.fields();

    defs.iter().all(|def| {
        fields.next().is_some_and(|field| {
            field.ty().to_bytes() == def.ty
                && field.name().to_bytes() == def.name
                && field.offset() == def.offset as usize
                && field.size() == def.size as usize
        })
    }) && fields.next().is_none()
}

#[macros::kunit_tests(rust_kernel_trace)]
mod suite {
    use super::*;

    #[test]
    fn made() -> Result {
        let event = TestEvent::new(c"made")?;

        assert!(event.event.name() == c"made");
        assert!(event.event.system() == SYSTEM);
        assert!(!event.event.is_registered());
        assert!(!event.event.is_enabled());
        assert!(!event.event.is_referenced());
        assert!(has_fields(&event, FIELDS));
        assert!(event.event.note() == c"noted");
        assert_eq!(unregister(&event), Err(ENOENT));
        Ok(())
    }

    #[test]
    fn texts() -> Result {
        let event = TestEvent::define(Definition {
            print_fmt: b"",
            fields: &[],
            note: b"",
            ..DEFINITION
        })?;

        assert!(event.event.name() == c"defined");
        assert!(event.event.note().is_empty());
        assert!(has_fields(&event, &[]));
        Ok(())
    }

    #[test]
    fn types() -> Result {
        // Some are texts of the event, others are not copied.
        let fields = [
            field(b"int", b"a", 8, 4, 0),
            field(b"unsigned int", b"b", 12, 4, 0),
            field(b"unsigned", b"c", 16, 4, 0),
            field(b"in", b"d", 20, 4, 0),
            field(b"intt", b"e", 24, 4, 0),
            field(b"", b"f", 28, 4, 0),
            field(b"struct s", b"", 32, 4, 0),
        ];
        for count in 0..=fields.len() {
            let event = TestEvent::define(Definition {
                fields: &fields[..count],
                ..DEFINITION
            })?;

            assert!(has_fields(&event, &fields[..count]));
            assert!(event.event.name() == c"defined");
            assert!(event.event.note() == c"noted");
        }
        Ok(())
    }

    fn is_refused(definition: Definition<'_>) -> bool {
        TestEvent::define(definition).err() == Some(EINVAL)
    }

    #[test]
    fn no_nul_in_texts() {
        const NUL: &[u8] = b"a\0b";

        assert!(is_refused(Definition {
            name: NUL,
            ..DEFINITION
        }));
        assert!(is_refused(Definition {
            print_fmt: NUL,
            ..DEFINITION
        }));
        assert!(is_refused(Definition {
            note: NUL,
            ..DEFINITION
        }));
        assert!(is_refused(Definition {
            fields: &[field(NUL, b"name", 8, 4, 0)],
            ..DEFINITION
        }));
        assert!(is_refused(Definition {
            fields: &[field(b"u32", NUL, 8, 4, 0)],
            ..DEFINITION
        }));
    }

    #[test]
    fn no_numbers_too_large() {
        for (offset, size, len) in [(u32::MAX, 4, 0), (8, u32::MAX, 0), (8, 4, u32::MAX)] {
            assert!(is_refused(Definition {
                fields: &[field(b"u32", b"name", offset, size, len)],
                ..DEFINITION
            }));
        }
    }

    #[test]
    fn kind_first() -> Result {
        let event = Kindless::new(c"kindless")?;
        let guard = event_mutex::lock();

        assert_eq!(
            Event::register(event.as_arc_borrow(), guard.held()),
            Err(ENODEV)
        );
        Ok(())
    }

    #[test]
    fn kind_once() -> Result {
        register_kind()?;

        assert_eq!(KIND.register(), Err(EBUSY));
        Ok(())
    }

    #[test]
    fn register_and_unregister() -> Result {
        assert!(!is_found(c"life"));
        let event = registered(c"life")?;

        assert!(is_found(c"life"));
        assert!(event.event.is_registered());
        assert!(event.event.type_id() != 0);
        assert_eq!(listeners(&event), 0);

        let again = {
            let guard = event_mutex::lock();
            Event::register(event.as_arc_borrow(), guard.held())
        };
        assert_eq!(again, Err(EBUSY));

        // The registration is an owner.
        let event = Arc::into_unique_or_drop(event);
        assert!(event.is_none());
        assert!(is_found(c"life"));
        assert_eq!(KIND.remove(c"rust_trace_test/life"), Err(EINVAL));
        assert_eq!(KIND.remove(c""), Err(EINVAL));
        assert_eq!(KIND.remove(c" \xa0\t"), Err(EINVAL));
        assert_eq!(KIND.remove(c"-"), Err(EINVAL));
        assert_eq!(KIND.remove(c"-:rust_trace_test/live"), Err(ENOENT));
        assert_eq!(KIND.remove(c"-:rust_trace_test/life"), Ok(()));
        assert!(!is_found(c"life"));
        Ok(())
    }

    #[test]
    fn remove_all() -> Result {
        let one = registered(c"one")?;
        let two = registered(c"two")?;

        enable(c"two", true)?;
        assert_eq!(KIND.remove_all(), Err(EBUSY));
        assert!(is_found(c"one"));
        enable(c"two", false)?;
        assert_eq!(KIND.remove_all(), Ok(()));
        assert!(!one.event.is_registered() && !two.event.is_registered());
        assert_eq!(KIND.remove_all(), Ok(()));
        Ok(())
    }

    #[test]
    fn register_again() -> Result {
        let event = registered(c"again")?;
        unregister(&event)?;
        assert!(!is_found(c"again"));
        assert_eq!(event.event.type_id(), 0);

        {
            let guard = event_mutex::lock();
            Event::register(event.as_arc_borrow(), guard.held())?;
        }
        assert!(is_found(c"again"));
        assert_eq!(listed_fields(&event)?.len(), 3);
        unregister(&event)?;
        assert!(Arc::into_unique_or_drop(event).is_some());
        Ok(())
    }

    #[test]
    fn field_order() -> Result {
        let event = registered(c"order")?;
        let fields = listed_fields(&event)?;
        unregister(&event)?;

        assert_eq!(fields.len(), 3);
        assert!(fields[0].0.as_slice() == b"first");
        assert!(fields[1].0.as_slice() == b"second");
        assert!(fields[2].0.as_slice() == b"third");
        assert_eq!(fields[0].1, 0);
        assert_eq!(fields[1].1, 20);
        assert_eq!(fields[2].1, 0);
        Ok(())
    }

    #[test]
    fn listen() -> Result {
        let event = registered(c"listen")?;

        event.is_closed.store(true, Relaxed);
        assert_eq!(enable(c"listen", true), Err(EACCES));
        assert_eq!(event.attached.load(Relaxed), 0);
        assert!(!event.event.is_enabled());
        assert_eq!(listeners(&event), 0);

        event.is_closed.store(false, Relaxed);
        enable(c"listen", true)?;
        assert_eq!(event.attached.load(Relaxed), 1);
        assert_eq!(event.refused.load(Relaxed), 1);
        assert!(event.event.is_enabled());
        assert_eq!(listeners(&event), 1);
        assert_eq!(unregister(&event), Err(EBUSY));
        assert!(is_found(c"listen"));

        enable(c"listen", false)?;
        assert_eq!(event.detached.load(Relaxed), 1);
        assert_eq!(event.refused.load(Relaxed), 2);
        assert!(!event.event.is_enabled());
        assert_eq!(listeners(&event), 0);
        unregister(&event)?;
        Ok(())
    }

    /// Checks that the guard is a reader of SRCU, and not only a section without preemption,
    /// though that would do with the SRCU of today.
    #[cfg(CONFIG_TREE_SRCU)]
    #[test]
    fn guard_is_a_reader() {
        // SAFETY: This and the next call of the function have no safety requirements.
        let preempt_before = unsafe { bindings::tracepoint_preempt_count() };
        // This one keeps the CPU, as the counters need it.
        let outer = ReadGuard::new();
        // SAFETY: As above.
        let preempt_inside = unsafe { bindings::tracepoint_preempt_count() };
        // SAFETY: `outer` has disabled preemption, for all of these calls.
        let reads = |left| unsafe { bindings::tracepoint_reads(left) };

        let before = (reads(false), reads(true));
        let inner = ReadGuard::new();
        let inside = (reads(false), reads(true));
        drop(inner);
        let after = (reads(false), reads(true));
        drop(outer);

        assert_eq!(inside.0.wrapping_sub(before.0), 1);
        assert_eq!(inside.1, before.1);
        assert_eq!(after.0, inside.0);
        assert_eq!(after.1.wrapping_sub(inside.1), 1);
        if cfg!(CONFIG_PREEMPT_COUNT) {
            assert_eq!(preempt_inside - preempt_before, 1);
        }
    }

    #[test]
    fn write() -> Result {
        let event = registered(c"write")?;
        let mut files = 0;
        let mut records = 0;

        enable(c"write", true)?;
        {
            let guard = ReadGuard::new();
            let mut slot = ReservationStorage::new();

            for listener in event.event.listeners(&guard) {
                let Listener::File(file) = listener else {
                    continue;
                };
                files += 1;
                if !file.is_recording() {
                    continue;
                }
                let max = file.max_payload();
                if file.reserve(&guard, max + 1, &mut slot).is_some()
                    || file.reserve(&guard, usize::MAX, &mut slot).is_some()
                {
                    continue;
                }
                // This one is taken back.
                drop(file.reserve(&guard, 4, &mut slot));

                if let Some(mut record) = file.reserve(&guard, 4, &mut slot) {
                    record.payload_mut().copy_from_slice(&[1, 2, 3, 4]);
                    if record.record().len() == HEADER_SIZE + 4
                        && record.record().get(HEADER_SIZE..) == Some(&[1, 2, 3, 4])
                    {
                        records += 1;
                    }
                    record.commit();
                }
            }
        }
        enable(c"write", false)?;
        unregister(&event)?;

        assert_eq!(files, 1);
        // SAFETY: The function has no safety requirements.
        assert_eq!(records, unsafe { bindings::tracing_is_on() });
        Ok(())
    }
}
