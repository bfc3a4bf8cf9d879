// SPDX-License-Identifier: GPL-2.0

//! The payload of a record: the values of its fields.

/// Bytes of the kernel's header of a record, which the place of a dynamic field counts from.
const HEADER: usize = 8;
/// Bytes of the word that says where a dynamic field is.
const LOC: usize = 4;

mod sealed {
    pub trait Sealed {}
}

/// A number that a field can have.
pub trait Number: sealed::Sealed + Copy {
    /// Appends its bytes, in native order.
    #[doc(hidden)]
    fn append(self, to: &mut Vec<u8>);
}

macro_rules! numbers {
    ($($type:ty)*) => {
        $(
            impl sealed::Sealed for $type {}

            impl Number for $type {
                fn append(self, to: &mut Vec<u8>) {
                    to.extend_from_slice(&self.to_ne_bytes());
                }
            }
        )*
    };
}

numbers!(u8 u16 u32 u64 i8 i16 i32 i64);

/// The values of the fields of a record, in the order of the fields.
///
/// It can be used for one record after the other, without allocating again.
#[derive(Default)]
pub struct Payload {
    /// The fields. The words of dynamic ones have no value yet.
    fields: Vec<u8>,
    /// Dynamic fields: where the word of each is, and its length.
    places: Vec<(usize, usize)>,
    /// Their data.
    data: Vec<u8>,
    /// The last result of [`bytes`](Self::bytes).
    whole: Vec<u8>,
}

impl Payload {
    /// Creates a payload without values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes all values.
    pub fn clear(&mut self) -> &mut Self {
        self.fields.clear();
        self.places.clear();
        self.data.clear();
        self
    }

    /// Adds a number: `u32 id`.
    pub fn number(&mut self, value: impl Number) -> &mut Self {
        value.append(&mut self.fields);
        self
    }

    /// Adds a field of fixed size: `char[16] name`, `struct point p 8`.
    pub fn array(&mut self, value: &[u8]) -> &mut Self {
        self.fields.extend_from_slice(value);
        self
    }

    /// Adds a text: `__data_loc char[] path`. It ends at the first NUL.
    pub fn text(&mut self, value: &str) -> &mut Self {
        let bytes = value.as_bytes();
        let len = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());

        self.data.extend_from_slice(&bytes[..len]);
        self.data.push(0);
        self.place(len + 1)
    }

    /// Adds data of any length: `__data_loc u8[] body`.
    pub fn data(&mut self, value: &[u8]) -> &mut Self {
        self.data.extend_from_slice(value);
        self.place(value.len())
    }

    fn place(&mut self, len: usize) -> &mut Self {
        self.places.push((self.fields.len(), len));
        self.fields.extend_from_slice(&[0; LOC]);
        self
    }

    /// Returns the payload with the values so far. Others can be added afterwards.
    ///
    /// A dynamic field that does not begin and end in the first 64 KiB of the record has no valid
    /// place; the kernel then refuses the record.
    pub fn bytes(&mut self) -> &[u8] {
        let mut at = HEADER + self.fields.len();

        self.whole.clear();
        self.whole.extend_from_slice(&self.fields);
        for &(word, len) in &self.places {
            let loc = match (u16::try_from(at), u16::try_from(len)) {
                (Ok(at), Ok(len)) => (u32::from(len) << 16) | u32::from(at),
                _ => u32::MAX,
            };

            self.whole[word..word + LOC].copy_from_slice(&loc.to_ne_bytes());
            at += len;
        }
        self.whole.extend_from_slice(&self.data);
        &self.whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_a_row() {
        let mut payload = Payload::new();

        payload.number(1u8).number(-1i16).number(3u64).array(b"xy");
        assert_eq!(payload.bytes().len(), 1 + 2 + 8 + 2);
        assert_eq!(payload.bytes()[..3], [1, 0xff, 0xff]);
    }

    #[test]
    fn dynamic_fields_follow() {
        let mut payload = Payload::new();

        payload.text("ab\0c").number(7u32).data(b"123");
        let bytes = payload.bytes().to_vec();
        assert_eq!(bytes.len(), 12 + 3 + 3);
        assert_eq!(bytes[..4], ((3u32 << 16) | 20).to_ne_bytes());
        assert_eq!(bytes[4..8], 7u32.to_ne_bytes());
        assert_eq!(bytes[8..12], ((3u32 << 16) | 23).to_ne_bytes());
        assert_eq!(&bytes[12..], b"ab\x00123");
        // Once more, and again with other values.
        assert_eq!(payload.bytes(), bytes);
        payload.clear().number(9u8);
        assert_eq!(payload.bytes(), [9]);
    }

    #[test]
    fn more_values_after_bytes() {
        let mut payload = Payload::new();
        let mut at_once = Payload::new();

        payload.text("ab");
        assert_eq!(payload.bytes().len(), 4 + 3);
        payload.number(7u32).data(b"123");
        at_once.text("ab").number(7u32).data(b"123");
        assert_eq!(payload.bytes(), at_once.bytes());
    }

    #[test]
    fn place_out_of_reach() {
        let mut payload = Payload::new();

        payload.data(&[0; 70_000]);
        assert_eq!(payload.bytes()[..4], [0xff; 4]);
    }
}
