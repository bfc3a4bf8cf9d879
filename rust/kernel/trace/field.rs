// SPDX-License-Identifier: GPL-2.0

//! The fields of an event.
//!
//! C header: [`kernel/trace/trace.h`](srctree/kernel/trace/trace.h).

use super::event_mutex::Held;
use crate::{
    bindings,
    prelude::*,
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
    /// # Safety
    ///
    /// `ty` must be a string.
    unsafe fn as_raw(self, ty: *const c_char) -> c_int {
        match self {
            // SAFETY: The caller promises a string.
            Self::Auto => unsafe { assign_type(ty) },
            Self::Other => bindings::FILTER_OTHER as c_int,
            Self::StaticString => bindings::FILTER_STATIC_STRING as c_int,
            Self::DynString => bindings::FILTER_DYN_STRING as c_int,
            Self::RelDynString => bindings::FILTER_RDYN_STRING as c_int,
            Self::PtrString => bindings::FILTER_PTR_STRING as c_int,
        }
    }
}

/// # Safety
///
/// `ty` must be a string.
// Not exported, so it must not get inlined into modules.
#[inline(never)]
unsafe fn assign_type(ty: *const c_char) -> c_int {
    // SAFETY: The caller promises a string; C only looks at it.
    unsafe { bindings::filter_assign_type(ty) }
}

/// A field of an event, to make one. The event copies the texts, which must not have a NUL.
#[derive(Clone, Copy, Debug)]
pub struct FieldDef<'a> {
    /// The type, as C would write it: `u32`, `char[20]`, `__data_loc char[]`.
    pub ty: &'a [u8],
    /// The name.
    pub name: &'a [u8],
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

/// A field, as an event has it.
#[derive(Clone, Copy)]
pub struct Field<'a>(&'a Opaque<bindings::ftrace_event_field>);

impl<'a> Field<'a> {
    fn node(&self) -> &'a bindings::ftrace_event_field {
        // SAFETY: A `Field` is only made of a node of a `List`, all of which are initialised. After
        // they have been linked, when nobody else knew them, they do not change.
        unsafe { &*self.0.get() }
    }

    /// The type, as C would write it.
    pub fn ty(&self) -> &'a CStr {
        // SAFETY: By the invariant of `List` it is a string that lives as long as the node.
        unsafe { CStr::from_char_ptr(self.node().type_) }
    }

    /// The name.
    pub fn name(&self) -> &'a CStr {
        // SAFETY: By the invariant of `List` it is a string that lives as long as the node.
        unsafe { CStr::from_char_ptr(self.node().name) }
    }

    /// Offset in the record, whose header comes first.
    pub fn offset(&self) -> usize {
        // CAST: It was made of a `u32` that fits.
        self.node().offset as usize
    }

    /// Size in bytes.
    pub fn size(&self) -> usize {
        // CAST: It was made of a `u32` that fits.
        self.node().size as usize
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
/// - The strings of the nodes are in `text`, which does not change.
/// - After [`link`](Self::link) `head` is the head of a list of all nodes; nobody changes it.
pub(super) struct List {
    nodes: KVec<Opaque<bindings::ftrace_event_field>>,
    /// All strings of the event, each with its NUL: first the owner's, then those of the fields.
    text: KVec<u8>,
    head: Opaque<bindings::list_head>,
}

/// How many strings the owner of a list keeps in it.
const STRINGS: usize = 3;

/// A list without fields.
struct Empty(Opaque<bindings::list_head>);

// SAFETY: Nobody writes to it.
unsafe impl Sync for Empty {}

static EMPTY: Empty = Empty(Opaque::new(bindings::list_head {
    next: (&raw const EMPTY).cast_mut().cast(),
    prev: (&raw const EMPTY).cast_mut().cast(),
}));

/// Whose fields are hidden, and from which task. Only written with `event_mutex` held.
static HIDDEN: Atomic<*const List> = Atomic::new(core::ptr::null());
static HIDDEN_FROM: Atomic<*mut bindings::task_struct> = Atomic::new(core::ptr::null_mut());

impl List {
    /// Makes a list that has to be linked where it stays, and keeps copies of `strings`.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a NUL in one of the texts and for a number that C has no room for; `ENOMEM`.
    pub(super) fn new(defs: &[FieldDef<'_>], strings: [&[u8]; STRINGS]) -> Result<Self> {
        let mut len = 0;
        for string in strings {
            len = with_nul(len, string);
        }
        for def in defs {
            len = with_nul(with_nul(len, def.ty), def.name);
        }
        let mut text = KVec::with_capacity(len, GFP_KERNEL_ACCOUNT)?;
        let mut nodes = KVec::with_capacity(defs.len(), GFP_KERNEL_ACCOUNT)?;

        for string in strings {
            append(&mut text, string)?;
        }
        for def in defs {
            let mut node: bindings::ftrace_event_field = pin_init::zeroed();

            node.type_ = append(&mut text, def.ty)?;
            node.name = append(&mut text, def.name)?;
            // SAFETY: This is the string that was just made.
            node.filter_type = unsafe { def.filter.as_raw(node.type_) };
            node.offset = def.offset.try_into()?;
            node.size = def.size.try_into()?;
            node.set_is_signed(def.signed.into());
            node.len = def.len.try_into()?;
            nodes.push(Opaque::new(node), GFP_KERNEL_ACCOUNT)?;
        }

        // INVARIANT: The capacity of `text` was enough for all, so it has not moved since the first
        // pointer into it was taken.
        Ok(Self {
            nodes,
            text,
            head: Opaque::zeroed(),
        })
    }

    /// The strings that the list was made with, one after the other, and those of the fields.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// The fields, in the order they were given in.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = Field<'_>> {
        self.nodes.iter().map(Field)
    }

    /// Makes the list.
    ///
    /// # Safety
    ///
    /// `this` must be valid, not move until it is dropped, and not be accessed by anybody else
    /// during the call.
    pub(super) unsafe fn link(this: *mut Self) {
        // SAFETY: The caller promises that `this` is valid and ours alone. The nodes are accessed
        // through their own allocation, which does not move. Each is initialised, so its address
        // can be taken and its link written.
        //
        // INVARIANT: Each node is put first, so the last field is the first in the list.
        unsafe {
            let head = (*this).head.get();
            (*head).next = head;
            (*head).prev = head;

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
        // Only a task itself stores its own address, and before that what is hidden, so a task that
        // reads its own address reads the right list. Others need not know.
        //
        // SAFETY: There are no requirements.
        let mine = HIDDEN_FROM.load(Relaxed) == unsafe { bindings::get_current() };

        if mine && core::ptr::eq(HIDDEN.load(Relaxed), self) {
            EMPTY.0.get()
        } else {
            self.head.get()
        }
    }

    /// Runs `f`, which may have C remove the event, with the fields hidden from the current task.
    pub(super) fn hidden<R>(&self, _held: Held<'_>, f: impl FnOnce() -> R) -> R {
        HIDDEN.store(self, Relaxed);
        // SAFETY: There are no requirements.
        HIDDEN_FROM.store(unsafe { bindings::get_current() }, Relaxed);
        let result = f();
        HIDDEN_FROM.store(core::ptr::null_mut(), Relaxed);
        HIDDEN.store(core::ptr::null(), Relaxed);

        result
    }
}

/// `len` bytes, and a string with its NUL. Saturates: for that there is no memory.
pub(super) fn with_nul(len: usize, string: &[u8]) -> usize {
    len.saturating_add(string.len()).saturating_add(1)
}

/// Appends a string and its NUL to `text`, which has room for both, and returns where it is.
fn append(text: &mut KVec<u8>, string: &[u8]) -> Result<*const c_char> {
    if string.contains(&0) {
        return Err(EINVAL);
    }
    let at = text.len();

    text.extend_from_slice(string, GFP_KERNEL_ACCOUNT)?;
    text.push(0, GFP_KERNEL_ACCOUNT)?;
    // The address has not changed, nor will it.
    Ok(text.as_ptr().wrapping_add(at).cast())
}
