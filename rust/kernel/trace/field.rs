// SPDX-License-Identifier: GPL-2.0

//! The fields of an event.
//!
//! C header: [`kernel/trace/trace.h`](srctree/kernel/trace/trace.h).

use crate::{
    bindings,
    prelude::*,
    str::CString,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    types::Opaque,
};

/// How filters and histograms take a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FilterKind {
    /// As its type says: see `filter_assign_type()`.
    Auto,
    /// A number.
    Other,
    /// A string in an array of fixed size.
    StaticString,
    /// A string that the field, a `__data_loc`, tells offset and length of.
    DynString,
    /// A string that the field, a `__rel_loc`, tells length and offset from its own end of.
    RelDynString,
    /// A pointer to a string.
    PtrString,
}

impl FilterKind {
    fn as_raw(self, ty: &CStr) -> c_int {
        match self {
            Self::Auto => assign_type(ty),
            Self::Other => bindings::FILTER_OTHER as c_int,
            Self::StaticString => bindings::FILTER_STATIC_STRING as c_int,
            Self::DynString => bindings::FILTER_DYN_STRING as c_int,
            Self::RelDynString => bindings::FILTER_RDYN_STRING as c_int,
            Self::PtrString => bindings::FILTER_PTR_STRING as c_int,
        }
    }
}

// Not exported, so it must not get inlined into modules.
#[inline(never)]
fn assign_type(ty: &CStr) -> c_int {
    // SAFETY: `ty` is a string that C only looks at.
    unsafe { bindings::filter_assign_type(ty.as_char_ptr()) }
}

/// A field of an event.
#[derive(Debug)]
pub struct FieldDef {
    /// The type, as C would write it: `u32`, `char[20]`, `__data_loc char[]`.
    pub ty: CString,
    /// The name.
    pub name: CString,
    /// Offset in the record, whose header comes first: see [`HEADER_SIZE`](super::HEADER_SIZE).
    pub offset: u32,
    /// Size in bytes; 4 for a `__data_loc` or a `__rel_loc`.
    pub size: u32,
    /// Whether the type is a signed one.
    pub signed: bool,
    /// Number of elements if the type is an array, or 0.
    ///
    /// The `format` file of an event moves the brackets of a type other than a `__data_loc` to
    /// behind the name, and puts this number, or nothing for 0, between them.
    pub len: u32,
    /// How filters and histograms take it.
    pub filter: FilterKind,
}

impl FieldDef {
    /// The node of the list that C has, not linked yet.
    fn node(&self) -> Result<bindings::ftrace_event_field> {
        let mut node: bindings::ftrace_event_field = pin_init::zeroed();

        node.name = self.name.as_char_ptr();
        node.type_ = self.ty.as_char_ptr();
        node.filter_type = self.filter.as_raw(&self.ty);
        node.offset = self.offset.try_into()?;
        node.size = self.size.try_into()?;
        node.set_is_signed(self.signed.into());
        node.len = self.len.try_into()?;

        Ok(node)
    }
}

/// The fields of an event as C sees them: a list, last field first.
///
/// C frees the nodes of an event that it removes, as it has allocated those of its own events. So
/// the task that removes an event of ours is shown an empty list instead. The real one is never
/// changed while the event is registered: it is read with no more than `trace_event_sem` held.
///
/// # Invariants
///
/// - There is one node for each definition, in the same order, and its strings are those of the
///   definition.
/// - After [`link`](Self::link) `head` is the head of a list of all nodes, and `empty` that of a
///   list without any; nobody changes them.
pub(super) struct List {
    defs: KVec<FieldDef>,
    nodes: KVec<Opaque<bindings::ftrace_event_field>>,
    head: Opaque<bindings::list_head>,
    empty: Opaque<bindings::list_head>,
    /// Who does not get to see the fields.
    remover: Atomic<*mut bindings::task_struct>,
}

impl List {
    /// Makes a list that has to be linked where it stays.
    pub(super) fn new(defs: KVec<FieldDef>) -> Result<Self> {
        let mut nodes = KVec::with_capacity(defs.len(), GFP_KERNEL_ACCOUNT)?;

        for def in &defs {
            nodes.push(Opaque::new(def.node()?), GFP_KERNEL_ACCOUNT)?;
        }
        // INVARIANT: The loop makes one node for each definition, and the strings of `defs` do not
        // move with it.
        Ok(Self {
            defs,
            nodes,
            head: Opaque::zeroed(),
            empty: Opaque::zeroed(),
            remover: Atomic::new(core::ptr::null_mut()),
        })
    }

    /// The definitions, in the order they were given in.
    pub(super) fn defs(&self) -> &[FieldDef] {
        &self.defs
    }

    /// Makes the lists.
    ///
    /// # Safety
    ///
    /// `this` must be valid, not move until it is dropped, and not be accessed by anybody else
    /// during the call.
    pub(super) unsafe fn link(this: *mut Self) {
        // SAFETY: The caller promises that `this` is valid and ours alone. The nodes are accessed
        // through their own allocation, which does not move. Each is initialised by the type
        // invariant, so its address can be taken and its link written.
        //
        // INVARIANT: Each node is put first, so the last definition is the first in the list.
        unsafe {
            let head = (*this).head.get();
            let empty = (*this).empty.get();
            (*head).next = head;
            (*head).prev = head;
            (*empty).next = empty;
            (*empty).prev = empty;

            for node in &(*this).nodes {
                let link = &raw mut (*node.get()).link;
                let next = (*head).next;
                (*link).next = next;
                (*link).prev = head;
                (*next).prev = link;
                (*head).next = link;
            }
        }
    }

    /// The list for the task that asks.
    pub(super) fn for_current(&self) -> *mut bindings::list_head {
        // SAFETY: There are no requirements.
        let current = unsafe { bindings::get_current() };

        // Only the task itself stores its own address, so nothing has to be ordered.
        if self.remover.load(Relaxed) == current {
            self.empty.get()
        } else {
            self.head.get()
        }
    }

    /// Runs `f`, which may have C remove the event, with the fields hidden from the current task.
    ///
    /// One task at a time can do so.
    pub(super) fn hidden<R>(&self, f: impl FnOnce() -> R) -> R {
        // SAFETY: There are no requirements.
        let current = unsafe { bindings::get_current() };

        self.remover.store(current, Relaxed);
        let result = f();
        self.remover.store(core::ptr::null_mut(), Relaxed);

        result
    }
}
