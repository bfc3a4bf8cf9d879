// SPDX-License-Identifier: GPL-2.0

//! The code that runs where a tracepoint is hit.
//!
//! C header: [`include/linux/tracepoint.h`](srctree/include/linux/tracepoint.h).

use crate::bindings;
#[cfg(CONFIG_LOCKDEP)]
use crate::sync::atomic::{
    Atomic,
    Relaxed, //
};

/// Returns `true` if the current CPU is online; otherwise no probe is called.
#[inline(always)]
pub fn cpu_is_online() -> bool {
    // SAFETY: The function has no safety requirements.
    unsafe { bindings::tracepoint_cpu_online() }
}

/// Checks, with debugging options, that a faultable tracepoint is hit where its probes may fault.
#[inline(always)]
#[track_caller]
pub fn might_fault() {
    #[cfg(all(CONFIG_MMU, any(CONFIG_PROVE_LOCKING, CONFIG_DEBUG_ATOMIC_SLEEP)))]
    {
        use crate::str::CStrExt as _;

        let at = core::panic::Location::caller();
        let file = crate::file_from_location(at);

        // SAFETY: The string is static, and C only prints it.
        unsafe { bindings::__might_fault(file.as_char_ptr(), at.line() as crate::ffi::c_int) };
    }
}

/// Warns, with lockdep, if RCU does not watch.
///
/// Not inlined, for modules to have it in one place.
#[cfg(CONFIG_LOCKDEP)]
#[cold]
#[inline(never)]
pub fn check_rcu(warned: &Atomic<bool>) {
    // SAFETY: The function has no safety requirements.
    if !unsafe { bindings::rcu_is_watching() } && !warned.load(Relaxed) {
        warned.store(true, Relaxed);
        crate::warn_on!(true);
    }
}

/// With lockdep, warns once where a tracepoint is that could not be hit if it were on, if the
/// condition holds, which is not evaluated otherwise.
#[doc(hidden)]
#[macro_export]
macro_rules! __tracepoint_check_rcu {
    ($condition:expr) => {
        #[cfg(CONFIG_LOCKDEP)]
        {
            static WARNED: $crate::sync::atomic::Atomic<bool> =
                $crate::sync::atomic::Atomic::new(false);

            if $condition {
                $crate::trace::static_event::check_rcu(&WARNED);
            }
        }
    };
}
pub use __tracepoint_check_rcu;

/// Takes a branch if a tracepoint is on.
#[doc(hidden)]
#[macro_export]
macro_rules! __tracepoint_branch {
    ($tracepoint:path) => {{
        #[cfg(CONFIG_JUMP_LABEL)]
        // SAFETY: The key of a tracepoint is one that C knows.
        unsafe {
            $crate::jump_label::arch_static_branch! {
                $tracepoint,
                $crate::bindings::tracepoint,
                key,
                false
            }
        }
        #[cfg(not(CONFIG_JUMP_LABEL))]
        $tracepoint.is_enabled()
    }};
}
pub use __tracepoint_branch;

/// Defines the trampoline of the static call of a tracepoint, which first calls `$target`.
#[cfg(CONFIG_HAVE_STATIC_CALL)]
#[doc(hidden)]
#[macro_export]
macro_rules! __tracepoint_trampoline {
    ($trampoline:path, $target:path) => {
        ::core::arch::global_asm!(
            include!(concat!(
                env!("OBJTREE"),
                "/rust/kernel/generated_arch_static_call_asm.rs"
            )),
            trampoline = sym $trampoline,
            target = sym $target,
        );
    };
}
#[cfg(CONFIG_HAVE_STATIC_CALL)]
pub use __tracepoint_trampoline;
