// SPDX-License-Identifier: GPL-2.0

//! What happens where a tracepoint is hit.
//!
//! C header: [`include/linux/tracepoint.h`](srctree/include/linux/tracepoint.h).

use crate::bindings;

/// Whether the current CPU is online, without which no probe is called.
#[inline(always)]
pub fn cpu_is_online() -> bool {
    // SAFETY: There are no requirements.
    unsafe { bindings::tracepoint_cpu_online() }
}

/// With lockdep, warns where a tracepoint is that could not be hit if it were on.
#[inline(always)]
pub fn check_rcu() {
    #[cfg(CONFIG_LOCKDEP)]
    {
        // SAFETY: There are no requirements.
        crate::warn_on!(!unsafe { bindings::rcu_is_watching() });
    }
}

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
