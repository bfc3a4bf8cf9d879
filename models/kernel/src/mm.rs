// SPDX-License-Identifier: GPL-2.0

//! Address spaces of one page with two words, each of which has one bit of the real word.

use crate::{
    error::{
        code::{
            EAGAIN,
            EFAULT,
            ENOMEM, //
        },
        Result, //
    },
    model,
    sync::{
        aref::ARef,
        atomic::{
            Atomic,
            Relaxed, //
        },
        RwHold,
        RwLock,
        RwReadGuard,
        RwWriteGuard, //
    },
};
use std::{
    cell::Cell,
    ops::Deref,
    sync::Arc, //
};

/// The state of an address space.
struct Space {
    mmap_lock: RwLock,
    words: [Atomic<u64>; 2],
    /// The last values of the words. Reading them is no step of the model: all writes are under the
    /// lock under which they are read.
    last: [Cell<bool>; 2],
    /// The page is present.
    present: Cell<bool>,
    /// The page can be written without a fault, if it is present.
    writeable: Cell<bool>,
    /// The page can be faulted in.
    mapped: Cell<bool>,
    /// Number of times that the page was pinned.
    pins: Cell<usize>,
    /// Number of tries to take the lock that have failed.
    refusals: Cell<usize>,
    /// So many page faults get no memory.
    poor: Cell<usize>,
}

impl Space {
    /// Returns `true` if the page can be written without a fault.
    fn is_ready(&self) -> bool {
        self.present.get() && self.writeable.get()
    }

    /// Takes memory for the page.
    fn allocate(&self) -> Result {
        let poor = self.poor.get();

        self.poor.set(poor.saturating_sub(1));
        if poor > 0 {
            return Err(ENOMEM);
        }
        Ok(())
    }

    #[track_caller]
    fn write(&self, bit: u32, on: bool) {
        self.words[bit as usize % 2].store(on.into(), Relaxed);
        self.last[bit as usize % 2].set(on);
    }
}

/// An address space, which may be on its way out.
pub struct Mm(Arc<Space>);

/// An address space that has a user.
pub struct MmWithUser(Mm);

/// The same, dropped elsewhere.
pub struct MmWithUserAsync(MmWithUser);

impl Mm {
    /// Creates an address space whose page is present and whose words are 0.
    pub fn create() -> ARef<MmWithUser> {
        ARef::new(MmWithUser(Self(Arc::new(Space {
            mmap_lock: RwLock::new(),
            words: [Atomic::new(0), Atomic::new(0)],
            last: [Cell::new(false), Cell::new(false)],
            present: Cell::new(true),
            writeable: Cell::new(true),
            mapped: Cell::new(true),
            pins: Cell::new(0),
            refusals: Cell::new(0),
            poor: Cell::new(0),
        }))))
    }

    pub fn mmget_not_zero(&self) -> Option<ARef<MmWithUser>> {
        Some(ARef::new(MmWithUser(Self(self.0.clone()))))
    }

    pub fn as_raw(&self) -> *const () {
        Arc::as_ptr(&self.0).cast()
    }

    pub fn to_ref(&self) -> ARef<Mm> {
        ARef::new(Self(self.0.clone()))
    }

    /// Returns the word of bit 0, for the model.
    #[track_caller]
    pub fn word(&self) -> u64 {
        self.0.words[0].load(Relaxed)
    }

    /// Returns the last value of the word of a bit, for the model.
    pub fn is_set(&self, bit: u32) -> bool {
        self.0.last[bit as usize % 2].get()
    }

    /// Holds `mmap_lock`, as a system call of another thread of the process does.
    #[track_caller]
    pub fn hold(&self) -> RwHold<'_> {
        self.0.mmap_lock.hold()
    }

    /// Returns the number of tries to take `mmap_lock` that have failed, for the model.
    pub fn refusals(&self) -> usize {
        self.0.refusals.get()
    }

    /// Denies the next `n` page faults their memory.
    pub fn be_poor(&self, n: usize) {
        self.0.poor.set(n);
    }

    /// Returns the number of times that the page was pinned, for the model.
    pub fn pins(&self) -> usize {
        self.0.pins.get()
    }

    /// Takes the page away until it is faulted in.
    pub fn swap_out(&self) {
        self.0.present.set(false);
    }

    /// Protects the page, so that its next write copies it, as after a fork.
    pub fn write_protect(&self) {
        self.0.writeable.set(false);
    }

    /// Returns `true` if the page was copied since.
    pub fn is_copied(&self) -> bool {
        self.0.writeable.get()
    }

    /// Calls `f` with both address spaces locked for writing, as a fork does, and copies the page.
    pub fn dup<R>(&self, to: &Mm, f: impl FnOnce() -> R) -> R {
        let _from: RwWriteGuard<'_> = self.0.mmap_lock.write();
        let _to = to.0.mmap_lock.write();
        let result = f();

        for (from, to) in self.0.words.iter().zip(&to.0.words) {
            to.store(from.load(Relaxed), Relaxed);
        }
        for (from, to) in self.0.last.iter().zip(&to.0.last) {
            to.set(from.get());
        }
        to.0.present.set(self.0.present.get());
        to.0.writeable.set(self.0.writeable.get());
        result
    }
}

impl MmWithUser {
    pub fn into_mmput_async(this: ARef<Self>) -> ARef<MmWithUserAsync> {
        ARef::new(MmWithUserAsync(MmWithUser(Mm(this.0 .0.clone()))))
    }

    #[track_caller]
    pub fn mmap_read_lock(&self) -> MmapReadGuard<'_> {
        MmapReadGuard {
            space: &self.0 .0,
            _guard: self.0 .0.mmap_lock.read(),
        }
    }

    #[track_caller]
    pub fn mmap_read_trylock(&self) -> Option<MmapReadGuard<'_>> {
        let space = &self.0 .0;
        let guard = space.mmap_lock.try_read();

        if guard.is_none() {
            space.refusals.set(space.refusals.get() + 1);
        }
        Some(MmapReadGuard {
            space,
            _guard: guard?,
        })
    }
}

impl Deref for MmWithUser {
    type Target = Mm;

    fn deref(&self) -> &Mm {
        &self.0
    }
}

impl Deref for MmWithUserAsync {
    type Target = MmWithUser;

    fn deref(&self) -> &MmWithUser {
        &self.0
    }
}

pub struct MmapReadGuard<'a> {
    space: &'a Arc<Space>,
    _guard: RwReadGuard<'a>,
}

impl MmapReadGuard<'_> {
    pub fn pin_page_nofault(&self, _: usize) -> Option<gup::PinnedPage> {
        self.space.is_ready().then(|| {
            self.space.pins.set(self.space.pins.get() + 1);
            gup::PinnedPage(self.space.clone())
        })
    }

    /// Sets one of the two bits of the word, without a page fault.
    #[track_caller]
    pub fn set_bit_nofault(&self, _: usize, bit: u32, on: bool) -> bool {
        let is_ready = self.space.is_ready();

        if is_ready {
            self.space.write(bit, on);
        }
        is_ready
    }

    pub fn test_bit_nofault(&self, _: usize, bit: u32) -> Option<bool> {
        self.space
            .present
            .get()
            .then(|| self.space.last[bit as usize % 2].get())
    }

    /// Fails if the page is not present, as if it were one of a file.
    pub fn fault_in_nowait(&self, addr: usize) -> Result {
        self.copy_nowait(addr)
    }

    /// Copies the page, if it is present.
    pub fn copy_nowait(&self, _: usize) -> Result {
        if !self.space.present.get() {
            return Err(EAGAIN);
        }
        self.space.allocate()?;
        self.space.writeable.set(true);
        Ok(())
    }

    pub fn is_writeable(&self, _: usize) -> bool {
        self.space.mapped.get()
    }

    pub fn fault_in_writeable(&mut self, _: usize) -> Result {
        model::remark("fault");
        if !self.space.mapped.get() {
            return Err(EFAULT);
        }
        self.space.allocate()?;
        self.space.present.set(true);
        self.space.writeable.set(true);
        Ok(())
    }
}

pub mod gup {
    use super::*;

    pub struct PinnedPage(pub(super) Arc<Space>);

    impl PinnedPage {
        /// Sets one of the two bits of the word.
        #[track_caller]
        pub fn set_bit(&mut self, _: usize, bit: u32, on: bool) -> Result {
            self.0.write(bit, on);
            Ok(())
        }

        /// Sets a bit. The lock of the folio is always free.
        #[track_caller]
        pub fn try_set_bit(&mut self, offset: usize, bit: u32, on: bool) -> Result {
            self.set_bit(offset, bit, on)
        }
    }
}
