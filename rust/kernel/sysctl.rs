// SPDX-License-Identifier: GPL-2.0

//! System controls: the files below `/proc/sys`.
//!
//! A system control is a variable of the kernel that can be read, and changed by users that the
//! mode of its file allows to, at run time. [`register_uint`] creates one from an [`Atomic<u32>`];
//! the [`Registration`] that it returns removes the file when it is dropped. Reading and writing
//! the file are single relaxed accesses to the variable, so no lock is needed, but a value may
//! change between two accesses by the kernel: load it once.
//!
//! Without `CONFIG_SYSCTL`, registering succeeds and does nothing. The variables then keep the
//! values that they have.
//!
//! C header: [`include/linux/sysctl.h`](srctree/include/linux/sysctl.h).
//!
//! # Examples
//!
//! ```
//! use kernel::{
//!     sync::atomic::{
//!         Atomic,
//!         Relaxed, //
//!     },
//!     sysctl, //
//! };
//!
//! static MAX_WIDGETS: Atomic<u32> = Atomic::new(100);
//!
//! fn may_add(widgets: u32) -> bool {
//!     widgets < MAX_WIDGETS.load(Relaxed)
//! }
//!
//! // This is /proc/sys/kernel/rust_max_widgets, for as long as `registration` lives.
//! let registration = sysctl::register_uint(c"kernel", c"rust_max_widgets", 0o644, &MAX_WIDGETS)?;
//!
//! assert!(may_add(99));
//! drop(registration);
//! # Ok::<(), Error>(())
//! ```

use crate::{
    prelude::*,
    sync::atomic::Atomic, //
};

/// Registers an unsigned integer as a system control.
///
/// `dir` is a path relative to `/proc/sys`, whose directories are created if they do not exist,
/// `name` is the name of the file in it and `mode` its permissions. What is written to the file is
/// a decimal number, or in C's notation a hexadecimal or octal one, that fits an [`u32`].
///
/// Fails with [`ENOMEM`] if an allocation fails, and if the C side refuses the file (a name that is
/// taken, a `mode` with other bits than those for reading and writing): it does not tell these
/// apart, but logs the reason.
///
/// # Context
///
/// Process context. May sleep.
pub fn register_uint(
    dir: &CStr,
    name: &'static CStr,
    mode: u16,
    value: &'static Atomic<u32>,
) -> Result<Registration> {
    Registration::new(dir, name, mode, value)
}

#[cfg(CONFIG_SYSCTL)]
pub use enabled::Registration;

#[cfg(CONFIG_SYSCTL)]
mod enabled {
    use super::*;
    use crate::bindings;
    use core::ptr::NonNull;

    /// The registration of a system control.
    ///
    /// Dropping it removes the file. This may sleep, as it waits for current readers and writers of
    /// the file. Built-in code that is never unloaded can [forget] it.
    ///
    /// # Invariants
    ///
    /// `header` is the registration of `table`, which has one element, and whose pointers are valid
    /// for as long as it is registered.
    ///
    /// [forget]: core::mem::forget
    pub struct Registration {
        header: NonNull<bindings::ctl_table_header>,
        _table: KBox<bindings::ctl_table>,
    }

    // SAFETY: `unregister_sysctl_table()` can be called by another task than the one that called
    // `register_sysctl_sz()`, and the memory of the table can be freed by it.
    unsafe impl Send for Registration {}

    // SAFETY: No methods take a shared reference.
    unsafe impl Sync for Registration {}

    impl Registration {
        pub(super) fn new(
            dir: &CStr,
            name: &'static CStr,
            mode: u16,
            value: &'static Atomic<u32>,
        ) -> Result<Self> {
            let table = KBox::new(
                bindings::ctl_table {
                    procname: name.as_char_ptr(),
                    data: value.as_ptr().cast(),
                    // CAST: This is 4.
                    maxlen: size_of::<u32>() as c_int,
                    mode,
                    proc_handler: Some(bindings::proc_douintvec),
                    ..pin_init::zeroed()
                },
                GFP_KERNEL,
            )?;

            // SAFETY: `dir` is NUL-terminated, and not used after the call. The table is valid: its
            // name and data are `'static`. Its allocation does not move or change, and lives in
            // `Registration` until `unregister_sysctl_table()` has returned, or for ever when that
            // is not called: a module must not leak its own. The handler accesses the data with
            // `READ_ONCE()` and `WRITE_ONCE()`, which are relaxed atomic accesses.
            let header =
                unsafe { bindings::register_sysctl_sz(dir.as_char_ptr(), &raw const *table, 1) };

            // INVARIANT: `header` is what the registration of this table has returned.
            Ok(Self {
                header: NonNull::new(header).ok_or(ENOMEM)?,
                _table: table,
            })
        }
    }

    impl Drop for Registration {
        fn drop(&mut self) {
            // SAFETY: By the type invariants, `header` is registered, and only this unregisters it.
            // This waits for the users of the table, which is freed only after that.
            unsafe { bindings::unregister_sysctl_table(self.header.as_ptr()) };
        }
    }
}

/// The registration of a system control.
///
/// This configuration has no system controls, so nothing has to be undone.
#[cfg(not(CONFIG_SYSCTL))]
pub struct Registration(());

#[cfg(not(CONFIG_SYSCTL))]
impl Registration {
    fn new(
        _dir: &CStr,
        _name: &'static CStr,
        _mode: u16,
        _value: &'static Atomic<u32>,
    ) -> Result<Self> {
        Ok(Self(()))
    }
}
