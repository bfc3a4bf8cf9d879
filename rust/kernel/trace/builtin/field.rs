// SPDX-License-Identifier: GPL-2.0

//! The fields of an event.
//!
//! C header: [`kernel/trace/trace.h`](srctree/kernel/trace/trace.h).

use crate::{
    bindings,
    prelude::*,
    types::Opaque, //
};
use core::{
    marker::PhantomData,
    mem::{
        self,
        MaybeUninit, //
    },
    slice, //
};

/// The kind of a field for filters and histograms.
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
    /// Returns the value in C; `ty` is the type of the field.
    ///
    /// # Safety
    ///
    /// `ty` must be a string.
    unsafe fn as_raw(self, ty: *const c_char) -> c_int {
        match self {
            // SAFETY: By the safety requirements, `ty` is a string.
            Self::Auto => unsafe { bindings::filter_assign_type(ty) },
            Self::Other => bindings::FILTER_OTHER as c_int,
            Self::StaticString => bindings::FILTER_STATIC_STRING as c_int,
            Self::DynString => bindings::FILTER_DYN_STRING as c_int,
            Self::RelDynString => bindings::FILTER_RDYN_STRING as c_int,
            Self::PtrString => bindings::FILTER_PTR_STRING as c_int,
        }
    }
}

/// The definition of a field. The event copies the texts, which must not have a NUL.
#[derive(Clone, Copy, Debug)]
pub struct FieldDef<'a> {
    /// The type, as C would write it: `u32`, `char[20]`, `__data_loc char[]`.
    pub ty: &'a [u8],
    /// The name.
    pub name: &'a [u8],
    /// Offset in the record, including the header: see [`HEADER_SIZE`](crate::trace::HEADER_SIZE).
    pub offset: u32,
    /// Size in bytes; 4 for a `__data_loc` or a `__rel_loc`.
    pub size: u32,
    /// `true` if the type is a signed one.
    pub signed: bool,
    /// Number of elements if the type is an array, or 0.
    ///
    /// The `format` file of an event moves the brackets of a type other than a `__data_loc` after
    /// the name, and writes this number, or nothing for 0, between them.
    pub len: u32,
    /// The kind for filters and histograms.
    pub filter: FilterKind,
}

/// A field, as an event has it.
///
/// # Invariants
///
/// It is a node of a `List` that lives during `'a`, and is initialised and does not change.
#[derive(Clone, Copy)]
pub struct Field<'a>(&'a Opaque<bindings::ftrace_event_field>);

impl<'a> Field<'a> {
    fn node(&self) -> &'a bindings::ftrace_event_field {
        // SAFETY: By the type invariant.
        unsafe { &*self.0.get() }
    }

    /// Returns the type, as C would write it.
    pub fn ty(&self) -> &'a CStr {
        // SAFETY: By the invariant of `List` it is a string that lives as long as the node.
        unsafe { CStr::from_char_ptr(self.node().type_) }
    }

    /// Returns the name.
    pub fn name(&self) -> &'a CStr {
        // SAFETY: By the invariant of `List` it is a string that lives as long as the node.
        unsafe { CStr::from_char_ptr(self.node().name) }
    }

    /// Returns the offset in the record, including the header.
    pub fn offset(&self) -> usize {
        // CAST: It was converted from a `u32`, which fits.
        self.node().offset as usize
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> usize {
        // CAST: It was converted from a `u32`, which fits.
        self.node().size as usize
    }
}

/// The fields of an event as C sees them: a list, last field first.
///
/// The event has `TRACE_EVENT_FL_OWN_FIELDS`, so C does not free the nodes, which it has not
/// allocated. The list is never changed: it is read with no more than `trace_event_sem` held.
///
/// # Invariants
///
/// - `block` has no elements, only room. That begins with the strings that the list was created
///   with, one after the other, each with its NUL. A node points to text after these, or to a
///   static string. The room does not change.
/// - `head` is the head of a list of all nodes, which are in `block`. It does not change.
#[pin_data]
pub(in crate::trace) struct List {
    block: KVec<u64>,
    #[pin]
    head: Opaque<bindings::list_head>,
}

type Node = bindings::ftrace_event_field;

/// The unit of `block` of a `List`.
const WORD: usize = size_of::<u64>();
/// Words that are enough for a node, which may end in the middle of one on a 32-bit kernel.
const NODE: usize = size_of::<Node>().div_ceil(WORD);

// The nodes follow one another from the beginning of a word.
static_assert!(align_of::<Node>() <= WORD);

/// Number of strings that a list keeps for its owner.
const STRINGS: usize = 3;

/// Returns the static text of a type that many fields have, which need not be copied.
fn static_type(ty: &[u8]) -> Option<&'static CStr> {
    Some(match ty {
        b"u8" => c"u8",
        b"u16" => c"u16",
        b"u32" => c"u32",
        b"u64" => c"u64",
        b"s8" => c"s8",
        b"s16" => c"s16",
        b"s32" => c"s32",
        b"s64" => c"s64",
        b"int" => c"int",
        b"char" => c"char",
        b"short" => c"short",
        b"unsigned int" => c"unsigned int",
        b"unsigned char" => c"unsigned char",
        b"unsigned short" => c"unsigned short",
        _ => return None,
    })
}

impl List {
    /// Creates a list of `defs`, and keeps copies of `strings`.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a NUL in one of the texts and for a number that C has no room for; `ENOMEM`.
    pub(in crate::trace) fn new<'a>(
        defs: &'a [FieldDef<'a>],
        strings: [&'a [u8]; STRINGS],
    ) -> impl PinInit<Self, Error> + use<'a> {
        let init = move |slot: *mut Self| -> Result {
            let mut len = 0;
            for string in strings {
                len = with_nul(len, string);
            }
            for def in defs {
                if static_type(def.ty).is_none() {
                    len = with_nul(len, def.ty);
                }
                len = with_nul(len, def.name);
            }
            let text_words = len.div_ceil(WORD);
            let words = text_words.saturating_add(defs.len().saturating_mul(NODE));

            let mut block = KVec::with_capacity(words, GFP_KERNEL_ACCOUNT)?;
            let (text, nodes) = block
                .spare_capacity_mut()
                .split_at_mut_checked(text_words)
                .ok_or(ENOMEM)?;
            let nodes: *mut Node = nodes.as_mut_ptr().cast();
            // SAFETY: So many bytes are in the words that `text` has.
            let text = unsafe { slice::from_raw_parts_mut(text.as_mut_ptr().cast(), len) };
            let mut text = Text(text);

            for string in strings {
                text.put(string)?;
            }
            for (i, def) in defs.iter().enumerate() {
                // SAFETY: The block has room for a node of each field, and it is aligned.
                unsafe { nodes.add(i).write(text.node(def)?) };
            }

            // SAFETY: The slot is valid, ours and not initialised, and its content does not move
            // from here on. The nodes were just written.
            //
            // INVARIANT: The block has all strings, and all nodes are linked.
            unsafe {
                (&raw mut (*slot).block).write(block);
                (&raw mut (*slot).head).write(Opaque::zeroed());
                link(
                    Opaque::cast_into(&raw const (*slot).head),
                    nodes,
                    defs.len(),
                );
            }
            Ok(())
        };

        // SAFETY: The slot is initialised if `init` succeeds, and has not been touched if it fails.
        unsafe { pin_init::pin_init_from_closure(init) }
    }

    /// Returns the strings that were passed to `new()`, concatenated with their NULs.
    pub(in crate::trace) fn text(&self) -> *const c_char {
        self.block.as_ptr().cast()
    }

    /// Returns the fields, in the order they were passed in.
    pub(in crate::trace) fn iter(&self) -> Fields<'_> {
        let head = self.head.get();

        Fields {
            // SAFETY: By the type invariant it is the head of a list.
            next: unsafe { (*head).prev },
            head,
            _list: PhantomData,
        }
    }

    /// Returns the head of the list, for C.
    pub(in crate::trace) fn head(&self) -> *mut bindings::list_head {
        self.head.get()
    }
}

/// Creates a list of consecutive nodes. Each is added at the head, so the last one is the first in
/// the list.
///
/// # Safety
///
/// `head` and `count` nodes from `nodes` on must be valid, and stay where they are. No other code
/// may access them during the call.
unsafe fn link(head: *mut bindings::list_head, nodes: *mut Node, count: usize) {
    // SAFETY: By the safety requirements, `head` is valid and not accessed by other code.
    unsafe {
        (*head).next = head;
        (*head).prev = head;

        for i in 0..count {
            let link = &raw mut (*nodes.add(i)).link;
            let next = (*head).next;
            (*link).next = next;
            (*link).prev = head;
            (*next).prev = link;
            (*head).next = link;
        }
    }
}

/// Returns `len` plus the length of a string with its NUL. Saturates, as no allocation of that
/// size succeeds.
fn with_nul(len: usize, string: &[u8]) -> usize {
    len.saturating_add(string.len()).saturating_add(1)
}

/// A buffer to which strings are appended.
struct Text<'a>(&'a mut [MaybeUninit<u8>]);

impl Text<'_> {
    /// Appends a string and its NUL, and returns its address.
    fn put(&mut self, string: &[u8]) -> Result<*const c_char> {
        if string.contains(&0) {
            return Err(EINVAL);
        }
        let room = mem::take(&mut self.0);
        let start = room.as_ptr().cast();
        let (to, rest) = room.split_at_mut_checked(string.len()).ok_or(ENOMEM)?;
        let (nul, rest) = rest.split_first_mut().ok_or(ENOMEM)?;

        // SAFETY: `to` has as many bytes as `string`, and is borrowed exclusively.
        unsafe {
            to.as_mut_ptr()
                .cast::<u8>()
                .copy_from_nonoverlapping(string.as_ptr(), to.len())
        };
        nul.write(0);
        self.0 = rest;
        Ok(start)
    }

    /// Creates the node of a field, which is in no list yet, and appends its strings.
    fn node(&mut self, def: &FieldDef<'_>) -> Result<Node> {
        let mut node: Node = pin_init::zeroed();

        node.type_ = match static_type(def.ty) {
            Some(text) => text.as_char_ptr(),
            None => self.put(def.ty)?,
        };
        node.name = self.put(def.name)?;
        // SAFETY: Either is a string.
        node.filter_type = unsafe { def.filter.as_raw(node.type_) };
        node.offset = def.offset.try_into()?;
        node.size = def.size.try_into()?;
        node.set_is_signed(def.signed.into());
        node.len = def.len.try_into()?;
        Ok(node)
    }
}

/// Iterator over the fields of an event, in the order of its definition.
///
/// # Invariants
///
/// `head` is that of a `List` that lives during `'a`, and `next` is `head` or a node of it.
pub struct Fields<'a> {
    next: *mut bindings::list_head,
    head: *mut bindings::list_head,
    _list: PhantomData<&'a List>,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        if self.next == self.head {
            return None;
        }
        // SAFETY: By the type invariant this is the link of a node.
        let node = unsafe { crate::container_of!(self.next, Node, link) };

        // INVARIANT: The list continues with the next field, and from the last one to its head.
        //
        // SAFETY: As above; the list does not change.
        self.next = unsafe { (*self.next).prev };
        // INVARIANT: By the invariants of `Fields` and `List`.
        //
        // SAFETY: The node lives as long as the list.
        Some(Field(unsafe { &*Opaque::cast_from(node) }))
    }
}
