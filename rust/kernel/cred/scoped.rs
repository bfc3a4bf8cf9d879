// SPDX-License-Identifier: GPL-2.0

//! Running a piece of code with other credentials.
//!
//! A task has objective credentials, by which others judge it, and subjective ones, by which it
//! acts on other objects. The functions here replace the latter for the duration of a closure.
//!
//! Only for this crate: a driver has no reason to act as another user.
//!
//! C header: [`include/linux/cred.h`](srctree/include/linux/cred.h).

#![allow(
    dead_code,
    reason = "used by kernel::trace, which depends on other options"
)]

use super::Credential;
use crate::{
    bindings,
    prelude::*,
    sync::aref::ARef,
    task::Kuid,
    types::NotThreadSafe, //
};
use core::{
    marker::PhantomData,
    ptr::NonNull, //
};

/// The user ID of root in the initial user namespace (`GLOBAL_ROOT_UID`).
const GLOBAL_ROOT_UID: bindings::kuid_t = bindings::kuid_t { val: 0 };

/// Evidence that the current task acts with other subjective credentials.
///
/// The type is private to this module, where values of it are local variables of a function that
/// runs a closure. So they are dropped, and in the reverse order of their creation.
///
/// # Invariants
///
/// - The subjective credentials of the current task are the ones borrowed for `'a`.
/// - `old` is what they were when this value was created. The task still holds the reference to
///   it that it held then.
struct OverrideGuard<'a> {
    old: *const bindings::cred,
    _new: PhantomData<&'a Credential>,
    // The credentials must be restored by the task that replaced them.
    _nts: NotThreadSafe,
}

impl<'a> OverrideGuard<'a> {
    fn new(new: &'a Credential) -> Self {
        // SAFETY: By the type invariants of `Credential`, `new` is valid, and it stays so for `'a`,
        // which includes the life of the guard whose drop takes it out of use again.
        let old = unsafe { bindings::override_creds(new.as_ptr()) };

        // INVARIANT: `override_creds()` has set `new` as the subjective credentials and returned
        // the previous ones. It leaves the reference counts alone, so that of `old` remains with
        // the task.
        Self {
            old,
            _new: PhantomData,
            _nts: NotThreadSafe,
        }
    }
}

impl Drop for OverrideGuard<'_> {
    fn drop(&mut self) {
        // SAFETY: By the type invariants, `self.old` is valid and is what the current task had
        // before. The pointer that is returned is the borrowed one, which has no reference to drop.
        unsafe { bindings::revert_creds(self.old) };
    }
}

/// Returns a copy of the subjective credentials of the current task, with the given `fsuid`.
///
/// Fails with [`ENOMEM`] when an allocation fails, or a security module refuses it.
#[inline(never)]
fn prepare(fsuid: Kuid) -> Result<ARef<Credential>> {
    // SAFETY: `prepare_creds()` has no requirements but a context that may sleep: it copies the
    // credentials of the current task, which only that task replaces.
    let new = NonNull::new(unsafe { bindings::prepare_creds() }).ok_or(ENOMEM)?;

    // SAFETY: `prepare_creds()` has returned a valid pointer to credentials that are not shared
    // yet, so no other access to the field exists.
    unsafe { (*new.as_ptr()).fsuid = fsuid.into_raw() };

    // SAFETY: `prepare_creds()` has returned the credentials with one reference, which is handed
    // over here. `Credential` is a transparent wrapper of `struct cred`.
    Ok(unsafe { ARef::from_raw(new.cast::<Credential>()) })
}

/// Runs `f` with `fsuid` as the user ID by which the current task accesses files.
///
/// All other subjective credentials remain what they are, capabilities included. The old ones are
/// in force again when this function returns.
///
/// Fails with [`ENOMEM`], without having called `f`, when the credentials cannot be prepared.
///
/// # Context
///
/// Process context. May sleep.
#[inline]
fn with_fsuid<R>(fsuid: Kuid, f: impl FnOnce() -> R) -> Result<R> {
    let new = prepare(fsuid)?;
    let _guard = OverrideGuard::new(&new);

    Ok(f())
}

/// Runs `f` with root's user ID for file accesses.
///
/// This is for kernel code that must create or remove files on behalf of a user that may cause
/// this, but has no permission to do it directly. See [`with_fsuid`].
///
/// # Context
///
/// Process context. May sleep.
#[inline]
pub(crate) fn with_root_fsuid<R>(f: impl FnOnce() -> R) -> Result<R> {
    with_fsuid(Kuid::from_raw(GLOBAL_ROOT_UID), f)
}

#[cfg(CONFIG_RUST_CRED_KUNIT_TEST)]
#[kunit_tests(rust_cred)]
mod tests {
    use super::*;

    /// Returns the `fsuid` by which the current task acts, and the address of its credentials.
    fn current_fsuid() -> (u32, *const bindings::cred) {
        // SAFETY: The subjective credentials of the current task are valid, and only that task
        // replaces them.
        unsafe {
            let cred = (*bindings::get_current()).cred;
            ((*cred).fsuid.val, cred)
        }
    }

    #[test]
    fn nested_overrides_are_undone() -> Result {
        let user = Kuid::from_raw(bindings::kuid_t { val: 1234 });
        let before = current_fsuid();

        let seen = with_fsuid(user, || -> Result<[u32; 3]> {
            let outer = current_fsuid();
            let root = with_root_fsuid(|| current_fsuid().0)?;

            assert_eq!(outer, current_fsuid());
            Ok([outer.0, root, current_fsuid().0])
        })??;

        assert_eq!(seen, [1234, 0, 1234]);
        assert_eq!(before, current_fsuid());
        Ok(())
    }

    #[test]
    fn early_return_is_undone() -> Result {
        let before = current_fsuid();

        assert_eq!(with_root_fsuid(|| Err::<(), _>(EBUSY))?, Err(EBUSY));
        assert_eq!(before, current_fsuid());
        Ok(())
    }
}
