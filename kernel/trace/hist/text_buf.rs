// SPDX-License-Identifier: GPL-2.0

//! A buffer for text.
//!
//! A `hist` file can have a hundred thousand rows, so numbers and padding are formatted here and a
//! row is handed to the file in one piece.

use kernel::{
    prelude::*,
    str::{
        kstrtox::hex,
        CString, //
    },
};

/// Text that is being written.
///
/// When memory for it runs out it takes nothing more, which [`TextBuf::bytes`] reports.
pub(crate) struct TextBuf {
    text: KVec<u8>,
    failed: bool,
}

/// Longest decimal number of 64 bits.
const DIGITS_MAX: usize = 20;

/// All numbers of two digits.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut n = 0;

    while n < pairs.len() {
        // CAST: Less than 10.
        pairs[n] = [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
        n += 1;
    }
    pairs
};

const SPACES: [u8; 64] = [b' '; 64];

impl TextBuf {
    pub(crate) const fn new() -> Self {
        Self {
            text: KVec::new(),
            failed: false,
        }
    }

    /// Creates an empty text with room for `len` bytes, so that it need not grow.
    pub(crate) fn with_room(len: usize) -> Self {
        let text = KVec::with_capacity(len, GFP_KERNEL);

        Self {
            failed: text.is_err(),
            text: text.unwrap_or_default(),
        }
    }

    /// Returns the text.
    ///
    /// # Errors
    ///
    /// `ENOMEM` if all of it could not be allocated.
    pub(crate) fn bytes(&self) -> Result<&[u8]> {
        if self.failed {
            return Err(ENOMEM);
        }
        Ok(&self.text)
    }

    /// Returns the number of bytes of the text.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    pub(crate) fn put(&mut self, text: &[u8]) {
        if self.text.extend_from_slice(text, GFP_KERNEL).is_err() {
            self.failed = true;
        }
    }

    /// Appends the text of another one.
    pub(crate) fn append(&mut self, other: &Self) {
        self.put(&other.text);
        self.failed |= other.failed;
    }

    /// Writes `n` spaces.
    pub(crate) fn spaces(&mut self, mut n: usize) {
        while n > 0 {
            let some = n.min(SPACES.len());

            self.put(SPACES.get(..some).unwrap_or(&SPACES));
            n = n.wrapping_sub(some);
        }
    }

    /// Writes all items with `write`, with commas in between.
    pub(crate) fn list<T>(
        &mut self,
        all: impl IntoIterator<Item = T>,
        write: impl Fn(&mut Self, T),
    ) {
        for (i, one) in all.into_iter().enumerate() {
            if i > 0 {
                self.put(b",");
            }
            write(self, one);
        }
    }

    /// Writes the text at the left of `width` columns.
    pub(crate) fn left(&mut self, text: &[u8], width: usize) {
        self.put(text);
        self.spaces(width.saturating_sub(text.len()));
    }

    /// Writes the text at the right of `width` columns.
    fn right(&mut self, text: &[u8], width: usize) {
        self.spaces(width.saturating_sub(text.len()));
        self.put(text);
    }

    /// Writes a number, at the right of `width` columns.
    pub(crate) fn unsigned(&mut self, n: u64, width: usize) {
        let mut buf = [b' '; DIGITS_MAX];
        let digits = decimal(n, &mut buf);

        if digits.len() >= width {
            return self.put(digits);
        }
        // The spaces in front of the digits are appended with them.
        let start = buf.len().saturating_sub(width);

        self.spaces(width.saturating_sub(buf.len()));
        self.put(buf.get(start..).unwrap_or(&[]));
    }

    /// Writes a number with its sign, at the right of `width` columns.
    pub(crate) fn signed(&mut self, n: i64, width: usize) {
        if n >= 0 {
            return self.unsigned(n.unsigned_abs(), width);
        }
        let mut digits = [0; DIGITS_MAX];
        let digits = decimal(n.unsigned_abs(), &mut digits);

        self.spaces(width.saturating_sub(digits.len().saturating_add(1)));
        self.put(b"-");
        self.put(digits);
    }

    /// Writes a hexadecimal number, at the right of `width` columns.
    pub(crate) fn hex(&mut self, n: u64, width: usize) {
        self.right(hex(n, &mut [0; 16]), width);
    }
}

/// Writes the digits of a number to the end of `buf`, and returns them.
fn decimal(mut n: u64, buf: &mut [u8; DIGITS_MAX]) -> &[u8] {
    let mut start = buf.len();

    while n >= 10 {
        // CAST: Less than 100.
        let pair = PAIRS.get((n % 100) as usize).unwrap_or(&[b'0'; 2]);
        start = start.wrapping_sub(2);
        if let Some(place) = buf.get_mut(start..start.wrapping_add(2)) {
            place.copy_from_slice(pair);
        }
        n /= 100;
    }
    if n > 0 || start == buf.len() {
        start = start.wrapping_sub(1);
        if let Some(place) = buf.get_mut(start) {
            // CAST: Less than 10.
            *place = b'0' + n as u8;
        }
    }
    buf.get(start..).unwrap_or(&[])
}

impl core::fmt::Write for TextBuf {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.put(text.as_bytes());
        Ok(())
    }
}

/// Returns a C string of these bytes.
pub(crate) fn c_string(text: &[u8]) -> Result<CString> {
    joined(&[text])
}

/// Returns a C string of these texts, one after the other.
pub(crate) fn joined(texts: &[&[u8]]) -> Result<CString> {
    let size = texts
        .iter()
        .fold(1, |size: usize, text| size.saturating_add(text.len()));
    let mut all = KVec::with_capacity(size, GFP_KERNEL)?;

    for text in texts {
        all.extend_from_slice(text, GFP_KERNEL)?;
    }
    all.push(0, GFP_KERNEL)?;
    CString::from_vec_with_nul(all)
}
