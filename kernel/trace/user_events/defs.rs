// SPDX-License-Identifier: GPL-2.0

//! The user space interface as types: requests, their checks, names and limits.
//!
//! Nothing here touches user memory or a kernel object. A request is copied in by the caller, this
//! module says whether it is a good one, in the order that decides which error a bad one gets.
//!
//! C header: [`include/uapi/linux/user_events.h`](srctree/include/uapi/linux/user_events.h)

use core::mem::offset_of;
use kernel::{
    ioctl::{
        _IOW,
        _IOWR, //
    },
    prelude::*,
    transmute::FromBytes, //
};

/// System of the events that have one format.
pub(crate) const SYSTEM: &CStr = c"user_events";

/// System of the events that may share their name with events of other formats.
pub(crate) const MULTI_SYSTEM: &CStr = c"user_events_multi";

/// The prefix of the line of a user event in `dynamic_events`.
pub(crate) const PREFIX: &[u8] = b"u:";

/// Longest description (name and fields) of a registration, with its NUL.
pub(crate) const MAX_EVENT_DESC: usize = 512;

/// Largest number of elements of a `char` array.
pub(crate) const MAX_FIELD_ARRAY_SIZE: u32 = 1024;

/// [`kernel::trace::HEADER_SIZE`]: where the payload of a record begins.
pub(crate) const HEADER_SIZE: u32 = 8;

/// Largest size of what the fields of an event describe, with the common header.
///
/// A location word has 16 bits for an offset from the start of the record, so nothing beyond this
/// could be pointed at. It is also more than a ring buffer or a perf record takes by default, and
/// small enough for all offsets and sizes to fit the `int`s of the C structures.
pub(crate) const MAX_RECORD_SIZE: u32 = 1 << 16;

/// Longest name of a directory entry.
pub(crate) const NAME_MAX: usize = 255;

/// Longest suffix of a multi-format event: a dot and the hexadecimal digits of a 64-bit number.
pub(crate) const MULTI_SUFFIX_MAX: usize = 1 + 16;

/// Flag of a registration: the event stays after its last user.
pub(crate) const REG_PERSIST: u16 = 1 << 0;

/// Flag of a registration: other events may have the same name.
pub(crate) const REG_MULTI_FORMAT: u16 = 1 << 1;

/// All valid flags.
const REG_FLAGS: u16 = REG_PERSIST | REG_MULTI_FORMAT;

/// Type of the ioctl numbers.
const DIAG_IOC_MAGIC: u32 = b'*' as u32;

/// Registers an event and an enable bit; takes a [`UserReg`].
pub(crate) const DIAG_IOCSREG: u32 = _IOWR::<UserPtr>(DIAG_IOC_MAGIC, 0);

/// Deletes the events of a name; takes a string.
pub(crate) const DIAG_IOCSDEL: u32 = _IOW::<UserPtr>(DIAG_IOC_MAGIC, 1);

/// Unregisters an enable bit; takes a [`UserUnreg`].
pub(crate) const DIAG_IOCSUNREG: u32 = _IOW::<UserPtr>(DIAG_IOC_MAGIC, 2);

/// Writes several records; takes a [`UserBatch`].
pub(crate) const DIAG_IOCSBATCH: u32 = _IOW::<UserPtr>(DIAG_IOC_MAGIC, 3);

/// [`DIAG_IOCSREG`] of a 32-bit task on a 64-bit kernel. The numbers have the size of a pointer in
/// them; the structures are the same.
#[cfg(CONFIG_COMPAT)]
pub(crate) const COMPAT_DIAG_IOCSREG: u32 = _IOWR::<u32>(DIAG_IOC_MAGIC, 0);

/// [`DIAG_IOCSDEL`] of a 32-bit task on a 64-bit kernel.
#[cfg(CONFIG_COMPAT)]
pub(crate) const COMPAT_DIAG_IOCSDEL: u32 = _IOW::<u32>(DIAG_IOC_MAGIC, 1);

/// [`DIAG_IOCSUNREG`] of a 32-bit task on a 64-bit kernel.
#[cfg(CONFIG_COMPAT)]
pub(crate) const COMPAT_DIAG_IOCSUNREG: u32 = _IOW::<u32>(DIAG_IOC_MAGIC, 2);

/// [`DIAG_IOCSBATCH`] of a 32-bit task on a 64-bit kernel.
#[cfg(CONFIG_COMPAT)]
pub(crate) const COMPAT_DIAG_IOCSBATCH: u32 = _IOW::<u32>(DIAG_IOC_MAGIC, 3);

/// `struct user_reg`: the request to register an event.
#[derive(Clone, Copy, Zeroable)]
#[repr(C, packed)]
pub(crate) struct UserReg {
    size: u32,
    enable_bit: u8,
    enable_size: u8,
    flags: u16,
    enable_addr: u64,
    name_args: u64,
    write_index: u32,
}

// SAFETY: All fields are integers and a packed structure has no padding.
unsafe impl FromBytes for UserReg {}

static_assert!(HEADER_SIZE as usize == kernel::trace::HEADER_SIZE);
static_assert!(size_of::<UserReg>() == 28);
static_assert!(offset_of!(UserReg, enable_addr) == 8);
static_assert!(UserReg::WRITE_INDEX == 24);

impl UserReg {
    /// Offset of the field in which the kernel stores the index to write the event with.
    pub(crate) const WRITE_INDEX: usize = offset_of!(UserReg, write_index);

    /// Checks all values, and returns the bit to keep up to date.
    ///
    /// Whether the word is in user memory is for the caller to find out.
    ///
    /// # Errors
    ///
    /// In this order: `EINVAL` for unknown flags, for a word that has neither 4 nor (if a long has
    /// as many) 8 bytes, for an address that is not aligned to them, for a bit that is not in the
    /// word; `EFAULT` for an address that user memory cannot have.
    pub(crate) fn enable_bit(&self) -> Result<EnableBit> {
        let flags = self.flags;

        if flags & !REG_FLAGS != 0 {
            return Err(EINVAL);
        }

        let width = Width::of(self.enable_size).ok_or(EINVAL)?;

        if !width.aligns(self.enable_addr) || self.enable_bit >= width.bits() {
            return Err(EINVAL);
        }

        let addr = usize::try_from(self.enable_addr).map_err(|_| EFAULT)?;

        EnableBit::new(addr, self.enable_bit, width).ok_or(EFAULT)
    }

    /// Returns the address of the description.
    pub(crate) fn name_args(&self) -> u64 {
        self.name_args
    }

    /// Returns `true` if the event persists without users.
    pub(crate) fn is_persist(&self) -> bool {
        let flags = self.flags;

        flags & REG_PERSIST != 0
    }

    /// Returns `true` if other events may have the same name.
    pub(crate) fn is_multi_format(&self) -> bool {
        let flags = self.flags;

        flags & REG_MULTI_FORMAT != 0
    }
}

/// `struct user_unreg`: the request to remove an enable bit.
#[derive(Clone, Copy, Zeroable)]
#[repr(C, packed)]
pub(crate) struct UserUnreg {
    size: u32,
    disable_bit: u8,
    reserved: u8,
    reserved2: u16,
    disable_addr: u64,
}

// SAFETY: All fields are integers and a packed structure has no padding.
unsafe impl FromBytes for UserUnreg {}

static_assert!(size_of::<UserUnreg>() == 16);
static_assert!(offset_of!(UserUnreg, disable_addr) == 8);

impl UserUnreg {
    /// Checks that reserved members are not used.
    ///
    /// # Errors
    ///
    /// `EINVAL`.
    pub(crate) fn validate(&self) -> Result {
        let reserved2 = self.reserved2;

        if self.reserved != 0 || reserved2 != 0 {
            return Err(EINVAL);
        }
        Ok(())
    }

    /// Returns the address of the word.
    pub(crate) fn disable_addr(&self) -> u64 {
        self.disable_addr
    }

    /// Returns the number of the bit.
    pub(crate) fn disable_bit(&self) -> u8 {
        self.disable_bit
    }
}

/// `struct user_batch`: the request to write several records.
#[derive(Clone, Copy, Zeroable)]
#[repr(C, packed)]
pub(crate) struct UserBatch {
    size: u32,
    len: u32,
    records: u64,
}

// SAFETY: All fields are integers and a packed structure has no padding.
unsafe impl FromBytes for UserBatch {}

static_assert!(size_of::<UserBatch>() == 16);
static_assert!(offset_of!(UserBatch, records) == 8);

impl UserBatch {
    /// Returns the length of all records, in bytes.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// Returns the address of the first record.
    pub(crate) fn records(&self) -> u64 {
        self.records
    }
}

/// `struct user_record`: the beginning of a record in a batch.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct UserRecord {
    size: u32,
    write_index: u32,
}

static_assert!(UserRecord::WRITE_INDEX == 4);

impl UserRecord {
    /// Offset of the index, which a record that is passed to `write()` begins with.
    pub(crate) const WRITE_INDEX: usize = offset_of!(UserRecord, write_index);

    /// Each record begins at a multiple of this, counted from the first one.
    pub(crate) const ALIGN: usize = 8;

    /// Interprets the first bytes of a record.
    pub(crate) fn new(bytes: [u8; size_of::<Self>()]) -> Self {
        let [a, b, c, d, index @ ..] = bytes;

        Self {
            size: u32::from_ne_bytes([a, b, c, d]),
            write_index: u32::from_ne_bytes(index),
        }
    }

    /// Returns the size of the record, including these bytes but not the padding.
    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    /// Returns the distance from a record of `size` bytes to the next one.
    pub(crate) fn stride(size: usize) -> usize {
        size.saturating_add(Self::ALIGN - 1) & !(Self::ALIGN - 1)
    }
}

/// Width of an enable word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    /// 4 bytes.
    Bits32,
    /// 8 bytes; only where a long has as many.
    Bits64,
}

impl Width {
    /// All widths.
    pub(crate) const ALL: [Width; 2] = [Width::Bits32, Width::Bits64];

    /// Returns the width of a word of `bytes` bytes, if that is a valid one.
    pub(crate) fn of(bytes: u8) -> Option<Self> {
        match bytes {
            4 => Some(Width::Bits32),
            8 if size_of::<usize>() >= 8 => Some(Width::Bits64),
            _ => None,
        }
    }

    /// Returns the width in bytes.
    pub(crate) const fn bytes(self) -> u8 {
        match self {
            Width::Bits32 => 4,
            Width::Bits64 => 8,
        }
    }

    /// Returns the width in bits.
    pub(crate) const fn bits(self) -> u8 {
        match self {
            Width::Bits32 => 32,
            Width::Bits64 => 64,
        }
    }

    /// Returns `true` if a word of this width may be at `addr`.
    fn aligns(self, addr: u64) -> bool {
        addr & u64::from(self.bytes()).wrapping_sub(1) == 0
    }
}

/// A bit in the memory of a process that tells whether an event is enabled.
///
/// # Invariants
///
/// - `addr` is a multiple of the width, and has no bits above [`EnableBit::ADDR_BITS`] but those
///   that the machine ignores.
/// - `bit` is less than the number of bits of the width.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EnableBit {
    addr: usize,
    bit: u8,
    width: Width,
}

impl EnableBit {
    /// Bits of an address that say where memory is. No machine has more for user space, but s390,
    /// and there a process has to ask for them explicitly. A tag is above them: it has 8 bits on
    /// arm64.
    const ADDR_BITS: u32 = 56;

    /// Mask of [`Self::ADDR_BITS`].
    const ADDR_MASK: u64 = (1 << Self::ADDR_BITS) - 1;

    /// `true` if the bits above [`Self::ADDR_BITS`] may be a tag, which the machine ignores.
    const TAGS: bool = cfg!(any(
        CONFIG_ARM64_TAGGED_ADDR_ABI,
        CONFIG_ADDRESS_MASKING,
        CONFIG_RISCV_ISA_SUPM
    ));

    /// Bits at the end of the address of a word, which are always 0.
    const ALIGN_BITS: u32 = 2;

    /// Bits of a key below the address: the width and the number of the bit.
    const LOW_BITS: u32 = 7;

    /// Bit of a key that tells the width.
    const WIDE: u64 = 1 << 6;

    /// Bits of a key that tell the number of the bit.
    const BIT_MASK: u64 = Self::WIDE - 1;

    /// Creates the reference to bit number `bit` of the word of this width at `addr`.
    ///
    /// `None` if no such word can exist, or if it has no such bit.
    pub(crate) fn new(addr: usize, bit: u8, width: Width) -> Option<Self> {
        // CAST: No pointer has more than 64 bits.
        let wide_addr = addr as u64;
        let in_range = Self::TAGS || wide_addr & !Self::ADDR_MASK == 0;

        if !in_range || !width.aligns(wide_addr) || bit >= width.bits() {
            return None;
        }

        // INVARIANT: Just checked.
        Some(Self { addr, bit, width })
    }

    /// Returns the bits that an address and a number can mean, as a request to unregister a bit
    /// does not include the width of the word.
    pub(crate) fn both_widths(addr: usize, bit: u8) -> impl Iterator<Item = Self> {
        Width::ALL
            .into_iter()
            .filter_map(move |width| Self::new(addr, bit, width))
    }

    /// Returns the address of the word, as the process wrote it.
    pub(crate) fn addr(&self) -> usize {
        self.addr
    }

    /// Returns the number of the bit in the word. Used by the unit tests.
    #[cfg(CONFIG_USER_EVENTS_RUST_KUNIT_TEST)]
    pub(crate) fn bit(&self) -> u8 {
        self.bit
    }

    /// Returns the size of the word in bytes.
    pub(crate) fn bytes(&self) -> usize {
        usize::from(self.width.bytes())
    }

    /// Returns address without tag, bit and width in one number, which is equal for the same bit
    /// of the same word.
    pub(crate) fn key(&self) -> u64 {
        Self::pack(self.addr, self.bit, self.width)
    }

    /// Returns the keys of this bit as the process sees it, by address and number, for all widths
    /// of the word.
    pub(crate) fn keys(&self) -> [u64; 2] {
        Width::ALL.map(|width| Self::pack(self.addr, self.bit, width))
    }

    /// Creates the reference from its key, as the inverse of [`EnableBit::key`].
    pub(crate) fn from_key(key: u64) -> Self {
        let width = if key & Self::WIDE != 0 {
            Width::Bits64
        } else {
            Width::Bits32
        };

        // INVARIANT: These are the values that the key was built from.
        Self {
            // CAST: The address was a `usize`.
            addr: ((key >> Self::LOW_BITS) << Self::ALIGN_BITS) as usize,
            // CAST: The number has 6 bits.
            bit: (key & Self::BIT_MASK) as u8,
            width,
        }
    }

    fn pack(addr: usize, bit: u8, width: Width) -> u64 {
        // CAST: No pointer has more than 64 bits.
        let word = (addr as u64 & Self::ADDR_MASK) >> Self::ALIGN_BITS;
        let wide = match width {
            Width::Bits32 => 0,
            Width::Bits64 => Self::WIDE,
        };

        (word << Self::LOW_BITS) | wide | u64::from(bit)
    }

    /// Returns the address of the `unsigned long` that contains the word, and the number of the
    /// bit in it, as only that can be changed atomically.
    ///
    /// A 32-bit word is a half of a 64-bit long. On a little-endian machine the half at the higher
    /// address has the upper bits, on a big-endian one it is the half at the lower address.
    pub(crate) fn target(&self) -> (usize, u32) {
        self.target_on(size_of::<usize>(), cfg!(target_endian = "big"))
    }

    /// Returns [`EnableBit::target`] for a machine with longs of so many bytes (a power of two).
    pub(super) fn target_on(&self, long: usize, big_endian: bool) -> (usize, u32) {
        let start = self.addr & !long.wrapping_sub(1);
        let is_half = self.bytes() < long;
        let at_higher_address = start != self.addr;
        let shift = if is_half && at_higher_address != big_endian {
            Width::Bits32.bits()
        } else {
            0
        };

        (start, u32::from(self.bit.wrapping_add(shift)))
    }
}
