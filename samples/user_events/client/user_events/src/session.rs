// SPDX-License-Identifier: GPL-2.0

//! Registered events.

use crate::{sys, Batch, ENABLE_BIT};
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Write};
use std::mem;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::Arc;

const DATA_FILE: &str = "/sys/kernel/tracing/user_events_data";

/// An open `user_events_data`, by which events are registered and written.
#[derive(Clone)]
pub struct Session(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) file: File,
    /// Cleared once the kernel has refused a batch.
    pub(crate) has_batches: AtomicBool,
}

impl Session {
    /// Opens the file where tracefs usually is.
    pub fn open() -> io::Result<Self> {
        Self::open_at(DATA_FILE)
    }

    /// Opens the file.
    pub fn open_at(path: impl AsRef<Path>) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;

        Ok(Self(Arc::new(Inner {
            file,
            has_batches: AtomicBool::new(true),
        })))
    }

    /// Registers the event `text`: its name and its fields.
    ///
    /// It is unregistered when it is dropped.
    pub fn register(&self, text: &str) -> io::Result<Event> {
        let text = CString::new(text)?;
        let word = Arc::new(AtomicU32::new(0));
        let index = sys::register(&self.0.file, &text, &word)?;

        Ok(Event {
            session: self.clone(),
            index,
            word,
            is_registered: true,
        })
    }

    /// Creates an empty batch for the events of this session.
    pub fn batch(&self) -> Batch {
        Batch::new(self.clone())
    }

    /// Returns `true` if both are the same open file.
    pub(crate) fn is(&self, other: &Session) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }
}

/// A registered event.
pub struct Event {
    session: Session,
    index: u32,
    /// The word in which the kernel sets and clears [`ENABLE_BIT`]. It is on the heap, where it
    /// stays as long as it is registered: if this is leaked, so is the word.
    word: Arc<AtomicU32>,
    is_registered: bool,
}

impl Event {
    /// Returns `true` if the event has a listener. Without one, this test is the whole cost of the
    /// event.
    #[inline]
    pub fn is_enabled(&self) -> bool {
        self.word.load(Ordering::Relaxed) & (1 << ENABLE_BIT) != 0
    }

    /// Returns the index that the records of the event begin with.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Returns the session that the event was registered with.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Unregisters the event, as dropping it does.
    pub fn unregister(mut self) -> io::Result<()> {
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        if !mem::take(&mut self.is_registered) {
            return Ok(());
        }
        sys::unregister(&self.session.inner().file, &self.word).inspect_err(|_| {
            // The kernel may still write to the word.
            mem::forget(Arc::clone(&self.word));
        })
    }

    /// Writes one record. Returns `false` if the event has no listener.
    pub fn write(&self, payload: &[u8]) -> io::Result<bool> {
        let index = self.index.to_ne_bytes();
        let parts = [IoSlice::new(&index), IoSlice::new(payload)];

        match (&self.session.inner().file).write_vectored(&parts) {
            Ok(_) => Ok(true),
            Err(e) if e.raw_os_error() == Some(sys::EBADF) => Ok(false),
            Err(e) => Err(e),
        }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // If it fails, the word is leaked, and the error cannot be reported.
        let _ = self.end();
    }
}
