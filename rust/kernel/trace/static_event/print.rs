// SPDX-License-Identifier: GPL-2.0

//! Printing a record of a static event.
//!
//! The output is written by the `printk` of C, with the format of the `format` file, so both agree.
//! The traits here check the argument of a conversion when the event is compiled. Records are read
//! with all bounds checked: they may be in a buffer that survived a boot.
//!
//! C header:
//! [`stage3_trace_output.h`](srctree/include/trace/stages/stage3_trace_output.h).

use super::{
    names::{
        self,
        Name,
        Named, //
    },
    Scalar, //
};
use crate::{
    bindings,
    prelude::*,
    types::{
        NotThreadSafe,
        Opaque, //
    },
};
use core::{
    marker::PhantomData,
    slice, //
};

macro_rules! conversion {
    ($(#[$attr:meta])* $trait:ident, $function:ident: $($ty:ty => $to:ty),* $(,)?) => {
        $(#[$attr])*
        ///
        /// # Safety
        ///
        /// [`To`](Self::To) is what the conversions take.
        pub unsafe trait $trait {
            /// The type of the argument of C.
            type To;

            /// Returns the argument for C.
            fn argument(self) -> Self::To;
        }

        $(
        // SAFETY: `To` is an integer of the size that the conversion takes, as the macro's user
        // lists it.
        unsafe impl $trait for $ty {
            type To = $to;

            #[inline(always)]
            fn argument(self) -> $to {
                <$to>::from(self)
            }
        })*

        /// Returns the argument for C of a value that is printed.
        #[inline(always)]
        pub fn $function<T: $trait>(value: T) -> T::To {
            value.argument()
        }
    };
}

conversion! {
    /// A value that `%d`, `%u`, `%x` and similar conversions can print.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be printed with a conversion for `int`",
        note = "use `%lld` or `%llu` for 64 bits, `%ld` or `%lu` for `isize` and `usize`"
    )]
    Int, int: u8 => u32, i8 => i32, u16 => u32, i16 => i32, u32 => u32, i32 => i32, bool => u32
}

conversion! {
    /// A value that `%ld`, `%lu`, `%lx`, `%zu` and similar conversions can print.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be printed with a conversion for `long`",
        note = "that is for `isize` and `usize`: use `%lld` or `%llu` for 64 bits"
    )]
    Long, long: usize => usize, isize => isize
}

conversion! {
    /// A value that `%lld`, `%llu`, `%llx` and similar conversions can print.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be printed with a conversion for `long long`",
        note = "that is for `i64` and `u64`"
    )]
    LongLong, long_long: u64 => u64, i64 => i64
}

/// A value that `%p`, `%px`, `%pS` and similar conversions can print.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be printed as an address",
    note = "that is for `usize` and raw pointers"
)]
pub trait Address {
    /// Returns the address, which is not accessed.
    fn address(self) -> *const c_void;
}

impl Address for usize {
    #[inline(always)]
    fn address(self) -> *const c_void {
        core::ptr::without_provenance(self)
    }
}

impl<T> Address for *const T {
    #[inline(always)]
    fn address(self) -> *const c_void {
        self.cast()
    }
}

impl<T> Address for *mut T {
    #[inline(always)]
    fn address(self) -> *const c_void {
        self.cast_const().cast()
    }
}

/// Returns the argument for C of an address that is printed.
#[inline(always)]
pub fn address<T: Address>(value: T) -> *const c_void {
    value.address()
}

/// Returns the first `count` elements of `size` bytes, or all if `bytes` has fewer.
pub fn part(bytes: &[u8], count: usize, size: usize) -> &[u8] {
    bytes.get(..count.saturating_mul(size)).unwrap_or(bytes)
}

/// Returns the socket address in these bytes, for `%pIS` and the like.
///
/// Those look at the family, and then at all that an address of IPv4 or IPv6 has. What has less is
/// printed like any other family: as one without a family.
pub fn socket_address(bytes: &[u8]) -> *const u8 {
    /// One without a family, with the size of a `struct sockaddr`.
    const NONE: &[u16; 8] = &[0; 8];

    let family = bytes.first_chunk::<2>().copied().map(u16::from_ne_bytes);
    let size = match family.map(u32::from) {
        Some(bindings::AF_INET) => size_of::<bindings::sockaddr_in>(),
        Some(bindings::AF_INET6) => size_of::<bindings::sockaddr_in6>(),
        _ => usize::MAX,
    };

    if bytes.len() >= size {
        bytes.as_ptr()
    } else {
        NONE.as_ptr().cast()
    }
}

/// The text that replaces an invalid part of a record.
const BROKEN: &CStr = c"(broken)";

/// The line that a record is printed to, whose fields of fixed size end at `END`.
///
/// # Invariants
///
/// `iter` is valid during `'a`, accessed by this thread only, and its entry is a record of `len`
/// bytes, which are `END` at least.
pub struct PrintLine<'a, const END: usize> {
    iter: *mut bindings::trace_iterator,
    entry: *const u8,
    len: usize,
    _iter: PhantomData<&'a mut bindings::trace_iterator>,
    _not_thread_safe: NotThreadSafe,
}

impl<'a, const END: usize> PrintLine<'a, END> {
    /// Creates the printer of a line, and prints the name of the event.
    ///
    /// # Errors
    ///
    /// The value that C expects if nothing else is to be printed.
    ///
    /// # Safety
    ///
    /// As for a `trace_print_func`: `iter` must have a record of `event`, and be this thread's
    /// during `'a`.
    pub unsafe fn new(
        iter: *mut bindings::trace_iterator,
        event: *mut bindings::trace_event,
    ) -> core::result::Result<Self, bindings::print_line_t> {
        // SAFETY: By the safety requirements, `iter` has a record of `event`.
        let prepared = unsafe { bindings::trace_raw_output_prep(iter, event) };
        // It is one of that enumeration, which C returns as an `int`.
        let prepared = bindings::print_line_t(prepared);

        if prepared != bindings::print_line_t::TRACE_TYPE_HANDLED {
            return Err(prepared);
        }
        // SAFETY: By the safety requirements, the iterator is valid.
        let (entry, len) = unsafe { ((*iter).ent.cast::<u8>(), (*iter).ent_size) };
        let len = usize::try_from(len).unwrap_or(0);

        // The last byte of the buffer for texts is kept, so that what fills it ends as well.
        //
        // SAFETY: As above; C has just initialised the buffer, which is not empty.
        unsafe {
            let texts = &raw mut (*iter).tmp_seq.seq;

            (*texts).size = (*texts).size.saturating_sub(1);
            (*texts).buffer.add((*texts).size).write(0);
        }
        if len < END {
            // Not by `trace_event_printf()`, which looks at fields first.
            //
            // SAFETY: As above; it is a string.
            unsafe { bindings::trace_seq_puts(&raw mut (*iter).seq, c"(broken)\n".as_char_ptr()) };
            // SAFETY: As above.
            return Err(unsafe { bindings::trace_handle_return(&raw mut (*iter).seq) });
        }

        // INVARIANT: By the safety requirements, `iter` has a record of `event` and is this
        // thread's during `'a`. The length was just checked.
        Ok(Self {
            iter,
            entry,
            len,
            _iter: PhantomData,
            _not_thread_safe: NotThreadSafe,
        })
    }

    /// Returns the iterator, to print with.
    pub fn as_raw(&mut self) -> *mut bindings::trace_iterator {
        self.iter
    }

    /// Returns the result that C expects at the end.
    pub fn finish(self) -> bindings::print_line_t {
        // SAFETY: By the type invariant the iterator is valid.
        unsafe { bindings::trace_handle_return(&raw mut (*self.iter).seq) }
    }

    /// Returns the buffer for texts that are formatted for printing.
    fn scratch(&self) -> *mut bindings::trace_seq {
        // SAFETY: By the type invariant the iterator is valid.
        unsafe { &raw mut (*self.iter).tmp_seq }
    }

    /// Returns bytes of the record, or `None` if it is too short.
    fn bytes(&self, offset: usize, len: usize) -> Option<&[u8]> {
        if offset.checked_add(len)? > self.len {
            return None;
        }
        // SAFETY: By the type invariant the record has as many bytes, which are not written to.
        Some(unsafe { slice::from_raw_parts(self.entry.add(offset), len) })
    }

    /// Returns the flags in the header.
    pub fn flags_of_header(&self) -> u32 {
        const OFFSET: usize = core::mem::offset_of!(bindings::trace_entry, flags);

        self.bytes(OFFSET, 1)
            .and_then(|flags| flags.first())
            .map_or(0, |flags| u32::from(*flags))
    }

    /// Returns the value of a field.
    #[inline(always)]
    pub fn get<T: Scalar>(&self, offset: usize) -> T::Shown {
        build_assert!(offset + size_of::<T::Bits>() <= END);
        // SAFETY: By the type invariant the record is valid, and has these bytes as just checked.
        // All of them are a value by the safety requirements of the trait.
        T::shown(unsafe { self.entry.add(offset).cast::<T::Bits>().read_unaligned() })
    }

    /// Returns the bytes of a field that is an array.
    pub fn array(&self, offset: usize, len: usize) -> &[u8] {
        self.bytes(offset, len).unwrap_or_default()
    }

    /// Returns the bytes of data of variable size, or `None` if they are not in the record.
    fn part(&self, offset: usize, relative: bool) -> Option<&[u8]> {
        let loc = u32::from_ne_bytes(self.bytes(offset, size_of::<u32>())?.try_into().ok()?);
        // CAST: These are 16 bits each.
        let (mut start, len) = ((loc & 0xffff) as usize, (loc >> 16) as usize);

        if relative {
            start += offset + size_of::<u32>();
        }
        self.bytes(start, len)
    }

    /// Returns the bytes of data of variable size.
    pub fn data(&self, offset: usize, relative: bool) -> &[u8] {
        self.part(offset, relative).unwrap_or_default()
    }

    /// Returns a string of variable size, which is empty in a record that was injected without it.
    pub fn text(&self, offset: usize, relative: bool) -> *const c_char {
        match self.part(offset, relative) {
            Some([]) => c"".as_char_ptr(),
            Some(bytes) => self.string(bytes),
            None => BROKEN.as_char_ptr(),
        }
    }

    /// Returns the string in bytes of the record, or a substitute if they contain no NUL.
    pub fn string(&self, bytes: &[u8]) -> *const c_char {
        if bytes.contains(&0) {
            bytes.as_ptr().cast()
        } else {
            BROKEN.as_char_ptr()
        }
    }

    /// Returns the names of flags, with `delimiter` between them.
    pub fn flags(
        &self,
        value: impl Named,
        delimiter: &CStr,
        names: &'static [Name],
    ) -> *const c_char {
        // SAFETY: By the type invariant the buffer is valid and ours.
        unsafe { names::print_flags(self.scratch(), delimiter, value.named(), names) }
    }

    /// Returns the name of a number.
    pub fn symbol(&self, value: impl Named, names: &'static [Name]) -> *const c_char {
        // SAFETY: By the type invariant the buffer is valid and ours.
        unsafe { names::print_symbol(self.scratch(), value.named(), names) }
    }

    /// Returns the text of bytes in hexadecimal, with spaces between them unless `joined`.
    pub fn hex(&self, bytes: &[u8], joined: bool) -> *const c_char {
        // SAFETY: By the type invariant the buffer is valid and ours. The length fits as the one of
        // the record, of which the bytes are.
        unsafe {
            bindings::trace_print_hex_seq(
                self.scratch(),
                bytes.as_ptr(),
                bytes.len() as c_int,
                joined,
            )
        }
    }

    /// Returns the text of numbers of `size` bytes, which must be 1, 2, 4 or 8, in hexadecimal.
    pub fn numbers(&self, bytes: &[u8], size: usize) -> *const c_char {
        // SAFETY: By the type invariant the buffer is valid and ours. The array has as many
        // numbers.
        unsafe {
            bindings::trace_print_array_seq(
                self.scratch(),
                bytes.as_ptr().cast(),
                (bytes.len() / size.max(1)) as c_int,
                size,
            )
        }
    }

    /// Prints lines in the format of `print_hex_dump()`.
    pub fn hex_dump(
        &self,
        prefix: &CStr,
        kind: u32,
        row: i32,
        group: i32,
        bytes: &[u8],
        ascii: bool,
    ) -> *const c_char {
        // SAFETY: By the type invariant the buffer is valid and ours.
        unsafe {
            bindings::trace_print_hex_dump_seq(
                self.scratch(),
                prefix.as_char_ptr(),
                kind as c_int,
                row,
                group,
                bytes.as_ptr().cast(),
                bytes.len(),
                ascii,
            )
        }
    }

    /// Returns `true` if the instance prints bits as a list.
    ///
    /// With `tp_printk` the instance, where C would look for its options, is null.
    fn bits_in_a_list(&self) -> bool {
        const LIST: u64 = 1 << bindings::trace_iterator_bits_TRACE_ITER_BITMASK_LIST_BIT;

        // SAFETY: By the type invariant the iterator is valid, and with it its instance. C changes
        // the options with one store.
        unsafe {
            let tr = (*self.iter).tr;
            !tr.is_null() && (&raw const (*tr).trace_flags).read_volatile() & LIST != 0
        }
    }

    /// Returns the text of bits, as the options of the instance require.
    ///
    /// The text is appended to the content of the buffer, as that is for the same line;
    /// `trace_print_bitmask_seq()` would overwrite it.
    pub fn bits(&self, bytes: &[u8]) -> *const c_char {
        let to = self.scratch();
        let len = bytes.len() / size_of::<usize>() * size_of::<usize>();
        let (words, count) = (bytes.as_ptr().cast(), (len * 8) as c_int);

        // SAFETY: By the type invariant the buffer is valid and ours; `trace_raw_output_prep()` has
        // initialised it, so what is written next is at `len`, or at the end if it is full. C only
        // reads the words.
        unsafe {
            // The text ends with a NUL, as `new` has written one.
            let used = (*to).seq.len.min((*to).seq.size);
            let text = (*to).seq.buffer.add(used);
            if self.bits_in_a_list() {
                bindings::trace_seq_bitmask_list(to, words, count);
            } else {
                bindings::trace_seq_bitmask(to, words, count);
            }
            bindings::trace_seq_putc(to, 0);
            text
        }
    }
}

/// The functions that print records of an event. C fills in those that are not set.
#[repr(transparent)]
pub struct Functions(Opaque<bindings::trace_event_functions>);

// SAFETY: Rust code never accesses it after its creation.
unsafe impl Sync for Functions {}

impl Functions {
    /// Creates the functions of an event whose records `trace` prints.
    pub const fn new(trace: bindings::trace_print_func) -> Self {
        let mut functions: bindings::trace_event_functions = pin_init::zeroed();

        functions.trace = trace;
        Self(Opaque::new(functions))
    }

    pub(super) const fn as_raw(&'static self) -> *mut bindings::trace_event_functions {
        self.0.get()
    }
}
