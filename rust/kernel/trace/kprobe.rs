// SPDX-License-Identifier: GPL-2.0

//! Kprobe and kretprobe events.
//!
//! Such an event is hit at the entry of a kernel function, at another place that can be probed, or
//! at the return of a function. Its records have what the probe fetches from registers, from the
//! stack and from memory. It appears in `events/kprobes/` and in `kprobe_events` of tracefs, as one
//! that is created there.
//!
//! In C: `kprobe_event_gen_cmd_start()`, `kretprobe_event_gen_cmd_start()`,
//! `kprobe_event_add_field()`, `kprobe_event_gen_cmd_end()`, `kprobe_event_delete()`.
//!
//! # Examples
//!
//! ```
//! use kernel::trace::kprobe::Builder;
//!
//! let open = Builder::new(c"my_open", c"do_sys_openat2")?
//!     .field(c"dfd=$arg1:s32")?
//!     .field(c"filename=+0($arg2):ustring")?
//!     .create()?;
//!
//! open.set_enabled(true)?;
//! // There are records of it in `trace` now.
//! open.set_enabled(false)?;
//! open.delete().map_err(|failed| failed.error)?;
//! # Ok::<(), Error>(())
//! ```
//!
//! C header: [`include/linux/trace_events.h`](srctree/include/linux/trace_events.h).

#[cfg(CONFIG_RUST_TRACE_KUNIT_TEST)]
mod tests;

use super::{
    event_file::{
        EventFile,
        Owned, //
    },
    instance::top, //
};
use crate::{
    bindings,
    prelude::*,
    str::CString,
    trace::dynevent_cmd::{
        is_name,
        Command, //
    },
};

/// The system of these events.
const SYSTEM: &CStr = c"kprobes";

/// Maximum number of fields of an event: `MAX_TRACE_ARGS` of `kernel/trace/trace_probe.h`.
pub const MAX_FIELDS: usize = 128;

/// Maximum length of the name of an event, in bytes.
pub const MAX_NAME_LEN: usize = bindings::MAX_EVENT_NAME_LEN as usize - 1;

/// A builder of an event. See [the module](self).
///
/// All methods take it by value: after one has failed, nothing is left that could be created.
pub struct Builder {
    command: Command<'static>,
    name: CString,
    n_fields: usize,
}

impl Builder {
    /// Starts the definition of an event for when the CPU reaches `location`: a symbol, maybe with
    /// an offset (`vfs_read+4`) or a module (`ext4:ext4_sync_fs`), or an address.
    ///
    /// # Errors
    ///
    /// - `EINVAL` if `name` is no name: a letter or `_`, and then letters, digits and `_`, not more
    ///   than [`MAX_NAME_LEN`] (C would cut it); or if `location` is not one word.
    /// - `E2BIG` if the command gets too long.
    /// - `ENOMEM`.
    pub fn new(name: &CStr, location: &CStr) -> Result<Self> {
        Self::start(c"p:kprobes/", name, location)
    }

    /// Starts the definition of an event for when the function at `location` returns. See
    /// [`new`](Self::new).
    pub fn new_return(name: &CStr, location: &CStr) -> Result<Self> {
        Self::start(c"r:kprobes/", name, location)
    }

    fn start(kind: &CStr, name: &CStr, location: &CStr) -> Result<Self> {
        check_name(name)?;
        let mut command = Command::kprobe()?;

        command.text(kind)?;
        command.text(name)?;
        command.word(location)?;
        Ok(Self {
            command,
            name: CString::try_from(name)?,
            n_fields: 0,
        })
    }

    /// Adds a field, as `kprobe_events` has it: `NAME=FETCHARG[:TYPE]`, or without a name.
    ///
    /// # Errors
    ///
    /// - `EINVAL` if it is not one word, or the event has [`MAX_FIELDS`] already.
    /// - `E2BIG` if the command gets too long.
    pub fn field(mut self, field: &CStr) -> Result<Self> {
        if self.n_fields == MAX_FIELDS {
            return Err(EINVAL);
        }
        self.command.word(field)?;
        self.n_fields += 1;
        Ok(self)
    }

    /// Creates the event. Sleeps: takes `dyn_event_ops_mutex`, and `event_mutex` inside of it. So
    /// neither of the two must be held, nor this be called in
    /// [`dynevent::Operations::create`](super::builtin::dynevent::Operations::create).
    ///
    /// # Errors
    ///
    /// - `EINVAL` if C cannot parse the location or a field, no such symbol or more than one
    ///   exists, or that place must not be probed. What is wrong is in `error_log` of tracefs.
    /// - `ENOENT` if the symbol was just removed with its module.
    /// - `EEXIST` if an event has this name, even one of another user. C would add the probe to an
    ///   event that has the same fields, which then would be deleted with what is created here.
    ///   That still happens if it is created while this is being called.
    /// - `ENOMEM`.
    pub fn create(self) -> Result<KprobeEvent> {
        let Self { command, name, .. } = self;

        match EventFile::get(None, SYSTEM, &name) {
            Ok(_) => return Err(EEXIST),
            // No event has this name.
            Err(e) if e == EINVAL => {}
            Err(e) => return Err(e),
        }
        command.run()?;
        let owner = Owner {
            name,
            deleted: false,
        };
        // Should that fail, as it was deleted concurrently, the owner is dropped.
        let file = EventFile::get(None, SYSTEM, &owner.name)?;

        Ok(KprobeEvent { file, owner })
    }
}

/// A kprobe or kretprobe event that this code has created.
///
/// It is deleted when this is dropped. If it is enabled in the top instance it is disabled before;
/// if something else is in the way it stays, and a message in the kernel log says so. It has no
/// reference to its creator. The drop sleeps: it takes `event_mutex`, which must not be held.
///
/// Users of `kprobe_events` can add a probe at another place to the event, with the
/// same fields. It belongs to the event, and is deleted with it, as in C.
pub struct KprobeEvent {
    // It keeps others from deleting the event, which then could be another one of this name. It is
    // dropped before the event is deleted: fields are dropped in their order.
    file: EventFile<Owned>,
    owner: Owner,
}

impl KprobeEvent {
    /// Returns the name, without the system.
    pub fn name(&self) -> &CStr {
        &self.owner.name
    }

    /// Returns the event in the top instance.
    pub fn file(&self) -> &EventFile<Owned> {
        &self.file
    }

    /// Enables or disables the event in the top instance. Sleeps: takes `event_mutex`.
    ///
    /// # Errors
    ///
    /// As for [`EventFile::set_enabled`].
    pub fn set_enabled(&self, on: bool) -> Result {
        self.file.set_enabled(on)
    }

    /// Deletes the event, or returns it on failure. Sleeps: takes `event_mutex`.
    ///
    /// For a moment nothing keeps others from deleting it.
    ///
    /// # Errors
    ///
    /// - `EBUSY` if it is enabled, or it has another reference: an [`EventFile<Owned>`](Owned),
    ///   perf, a trigger.
    /// - `ENOENT` if it was deleted concurrently.
    /// - `ENOMEM`.
    pub fn delete(self) -> Result<(), NotDeleted> {
        let Self { file, mut owner } = self;

        // An event with a reference cannot be deleted.
        drop(file);
        let Err(error) = delete(&owner.name) else {
            owner.deleted = true;
            return Ok(());
        };

        match EventFile::get(None, SYSTEM, &owner.name) {
            Ok(file) if error != ENOENT => Err(NotDeleted {
                error,
                event: Some(Self { file, owner }),
            }),
            // An event that has this name now belongs to another user.
            _ => {
                owner.deleted = true;
                Err(NotDeleted { error, event: None })
            }
        }
    }
}

/// The error of [`KprobeEvent::delete`].
pub struct NotDeleted {
    /// The reason of the failure.
    pub error: Error,
    /// The event, as it was. `None` if another user has deleted it.
    pub event: Option<KprobeEvent>,
}

/// Deletes the event of this name when it is dropped.
struct Owner {
    name: CString,
    deleted: bool,
}

impl Drop for Owner {
    fn drop(&mut self) {
        if self.deleted {
            return;
        }
        // A failure to disable it shows below.
        let _ = top::set_event(Some(SYSTEM), Some(&self.name), false);
        if let Err(e) = delete(&self.name) {
            let (name, e) = (&*self.name, e.to_errno());

            pr_warn!("the kprobe event {name} stays: error {e}\n");
        }
    }
}

/// Deletes the event of this name, even if another user has created it. Sleeps: takes
/// `event_mutex`.
///
/// In C: `kprobe_event_delete()`; but the system is always `kprobes`, and a long name is not cut.
///
/// # Errors
///
/// - `EINVAL` if this is no name.
/// - `ENOENT` if no such event exists.
/// - `EBUSY` if it is in use.
pub fn delete(name: &CStr) -> Result {
    check_name(name)?;
    let mut command = Command::kprobe()?;

    command.text(c"-:kprobes/")?;
    command.text(name)?;
    command.run()
}

fn check_name(name: &CStr) -> Result {
    if is_name(name) && name.to_bytes().len() <= MAX_NAME_LEN {
        Ok(())
    } else {
        Err(EINVAL)
    }
}
