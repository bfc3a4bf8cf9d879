// SPDX-License-Identifier: GPL-2.0

//! References that keep a module loaded as long as C may call into it.
//!
//! C header: [`include/linux/module.h`](srctree/include/linux/module.h).

use crate::bindings;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
use crate::ThisModule;

/// A reference to a module, which is not unloaded until this is dropped.
///
/// Whoever drops this must not be about to go on in the code of the module: so that is done by
/// functions of the kernel crate, which are built in.
///
/// # Invariants
///
/// `module` is null, for code that is built in, or a module that a reference is held to, which is
/// this one's.
pub(super) struct ModuleRef {
    module: *mut bindings::module,
}

// SAFETY: The count of references is atomic.
unsafe impl Send for ModuleRef {}
// SAFETY: There is nothing to do with a shared reference.
unsafe impl Sync for ModuleRef {}

impl ModuleRef {
    /// Takes a reference, unless the module is still being initialised or is being unloaded.
    ///
    /// A module whose initialisation fails goes in spite of references, so there is none before
    /// that is over.
    #[cfg(CONFIG_DYNAMIC_EVENTS)]
    pub(super) fn get(module: &'static ThisModule) -> Option<Self> {
        // SAFETY: The pointer of a `ThisModule` is null or that of the module which the caller's
        // code is in.
        unsafe { Self::get_raw(module.as_ptr()) }
    }

    /// Another reference. `None` if the module is unloaded by force.
    #[cfg(CONFIG_DYNAMIC_EVENTS)]
    pub(super) fn again(&self) -> Option<Self> {
        // SAFETY: By the type invariant it is null or a module, which stays as long as `self`.
        unsafe { Self::get_raw(self.module) }
    }

    /// As [`get`](Self::get).
    ///
    /// # Safety
    ///
    /// `module` must be null or a module that is not freed concurrently.
    #[inline(never)]
    pub(super) unsafe fn get_raw(module: *mut bindings::module) -> Option<Self> {
        // SAFETY: By the safety requirements, `module` is null or a module that is not freed
        // concurrently.
        if !unsafe { bindings::trace_module_get(module) } {
            return None;
        }
        // INVARIANT: The reference was just taken.
        Some(Self { module })
    }
}

impl Drop for ModuleRef {
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: By the type invariant there is a reference, which is dropped here.
        unsafe { bindings::trace_module_put(self.module) };
    }
}
