// SPDX-License-Identifier: GPL-2.0

//! Files in tracefs.
//!
//! A task that opens `rust_notes` can write a note to it and read it back; the note is freed with
//! the open file. `rust_notes_stat` tells how many were written.
//!
//! ```sh
//! modprobe rust_tracefs
//! cd /sys/kernel/tracing
//! exec 3<>rust_notes
//! echo 'buy milk' >&3; cat <&3
//! cat rust_notes_stat     # notes: 1, bytes: 9
//! rmmod rust_tracefs      # Module rust_tracefs is in use
//! exec 3>&-
//! rmmod rust_tracefs
//! ```

use kernel::{
    fs::{
        self,
        Kiocb, //
    },
    iov::{
        IovIterDest,
        IovIterSource, //
    },
    new_mutex,
    prelude::*,
    seq_file::SeqFile,
    seq_print,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Mutex, //
    },
    trace::tracefs::{
        self,
        FileOps,
        Show, //
    },
};

module! {
    type: TracefsSample,
    name: "rust_tracefs",
    authors: ["Rust for Linux Contributors"],
    description: "Files in tracefs",
    license: "GPL",
}

/// The longest note.
const MAX_LEN: usize = 4096;

static NOTES: Atomic<u64> = Atomic::new(0);
static BYTES: Atomic<u64> = Atomic::new(0);

/// The files exist as long as the module is loaded.
struct TracefsSample {
    _notes: tracefs::Entry,
    _stat: tracefs::Entry,
}

impl kernel::Module for TracefsSample {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        Ok(Self {
            _notes: tracefs::create_file::<Note>(c"rust_notes", 0o640)?,
            _stat: tracefs::create_seq_file::<Stat>(c"rust_notes_stat", 0o440)?,
        })
    }
}

/// The data of one open file.
#[pin_data]
struct Note {
    #[pin]
    text: Mutex<KVVec<u8>>,
}

#[vtable]
impl FileOps for Note {
    type Data = Pin<KBox<Self>>;

    fn open(_file: &fs::File) -> Result<Self::Data> {
        KBox::pin_init(
            pin_init!(Self {
                text <- new_mutex!(KVVec::new()),
            }),
            GFP_KERNEL,
        )
    }

    /// Replaces the note.
    fn write_iter(mut kiocb: Kiocb<'_, Self::Data>, iov: &mut IovIterSource<'_>) -> Result<usize> {
        if iov.len() > MAX_LEN {
            return Err(E2BIG);
        }
        let len = {
            let note = kiocb.file();
            let mut text = note.text.lock();

            text.clear();
            iov.copy_from_iter_vec(&mut text, GFP_KERNEL)?
        };

        *kiocb.ki_pos_mut() = 0;
        NOTES.add(1, Relaxed);
        BYTES.add(len as u64, Relaxed);
        Ok(len)
    }

    fn read_iter(mut kiocb: Kiocb<'_, Self::Data>, iov: &mut IovIterDest<'_>) -> Result<usize> {
        let note = kiocb.file();
        let text = note.text.lock();

        iov.simple_read_from_buffer(kiocb.ki_pos_mut(), &text)
    }
}

struct Stat;

#[vtable]
impl Show for Stat {
    fn show(m: &SeqFile) -> Result {
        let (notes, bytes) = (NOTES.load(Relaxed), BYTES.load(Relaxed));

        seq_print!(m, "notes: {notes}, bytes: {bytes}\n");
        Ok(())
    }
}
