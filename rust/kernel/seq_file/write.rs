// SPDX-License-Identifier: GPL-2.0

//! Unformatted output to a [`SeqFile`].
//!
//! C header: [`include/linux/seq_file.h`](srctree/include/linux/seq_file.h).

use super::SeqFile;
use crate::{
    bindings,
    prelude::*, //
};

impl SeqFile {
    /// Writes bytes, as they are. What does not fit is written again into a larger buffer.
    pub fn write(&self, bytes: &[u8]) {
        // SAFETY: The `seq_file` is valid and this thread's. C only reads the bytes.
        unsafe { bindings::seq_write(self.inner.get(), bytes.as_ptr().cast(), bytes.len()) };
    }

    /// Writes the name of the symbol that contains an address, or the address in hexadecimal if no
    /// symbol does, and pads with spaces on the right to `width` bytes.
    ///
    /// With `offset` the name is followed by how far the address is into the symbol and by the size
    /// of that, `+0x10/0x40`.
    pub fn print_symbol(&self, address: usize, width: u16, offset: bool) {
        let format = if offset { c"%-*pS" } else { c"%-*ps" };

        // SAFETY: The `seq_file` is valid and this thread's. The format takes an `int` and a
        // pointer, which is not read from.
        unsafe {
            bindings::seq_printf(
                self.inner.get(),
                format.as_char_ptr(),
                c_int::from(width),
                core::ptr::without_provenance::<c_void>(address),
            )
        };
    }
}
