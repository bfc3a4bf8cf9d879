// SPDX-License-Identifier: GPL-2.0

//! References that keep a module loaded as long as C may call into it.
//!
//! C header: [`include/linux/module.h`](srctree/include/linux/module.h).

#![allow(
    dead_code,
    reason = "used by kernel::trace, which depends on other options"
)]

use crate::{
    bindings,
    ThisModule, //
};

/// A reference to a module, which is not unloaded until this is dropped.
///
/// It must not be dropped by the code of that module if it may be the last reference: the code
/// would be freed while it is executed. So only built-in functions of this crate drop it.
///
/// # Invariants
///
/// `module` is null, for code that is built in, or a module to which this owns a reference.
pub(crate) struct ModuleRef {
    module: *mut bindings::module,
}

// SAFETY: The count of references is atomic.
unsafe impl Send for ModuleRef {}
// SAFETY: A shared reference only permits to take another reference, which is atomic.
unsafe impl Sync for ModuleRef {}

impl ModuleRef {
    /// Takes a reference, unless the module is still being initialised or is being unloaded.
    ///
    /// A module whose initialisation fails is freed in spite of references, so none is taken before
    /// the initialisation is complete. It is also refused if so many references exist that some
    /// must have been leaked: the count must not wrap.
    pub(crate) fn get(module: &'static ThisModule) -> Option<Self> {
        // SAFETY: The pointer of a `ThisModule` is null or that of the module which the caller's
        // code is in.
        unsafe { Self::get_raw(module.as_ptr()) }
    }

    /// Takes another reference. Returns `None` if the module is unloaded by force.
    pub(crate) fn again(&self) -> Option<Self> {
        // SAFETY: By the type invariant it is null or a module, which stays as long as `self`.
        unsafe { Self::get_raw(self.module) }
    }

    /// Takes a reference, as [`get`](Self::get).
    ///
    /// # Safety
    ///
    /// `module` must be null or a module that is not freed concurrently.
    #[inline(never)]
    pub(crate) unsafe fn get_raw(module: *mut bindings::module) -> Option<Self> {
        // SAFETY: By the safety requirements, `module` is null or a module that is not freed
        // concurrently.
        if !unsafe { bindings::module_ref_get(module) } {
            return None;
        }
        // INVARIANT: The reference was just taken.
        Some(Self { module })
    }

    /// Takes over a reference that was passed to [`forget`](core::mem::forget).
    ///
    /// # Safety
    ///
    /// `module` must be that of a `ModuleRef` that was forgotten, and no other code drop the
    /// reference.
    pub(crate) unsafe fn from_forgotten(module: *mut bindings::module) -> Self {
        // INVARIANT: By the safety requirements, the reference is this one's now.
        Self { module }
    }
}

impl Drop for ModuleRef {
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: By the type invariant a reference is owned, which is dropped here.
        unsafe { bindings::module_ref_put(self.module) };
    }
}
