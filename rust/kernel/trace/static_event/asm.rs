// SPDX-License-Identifier: GPL-2.0

//! The assembly of tracepoints and events: entries in sections that C reads.
//!
//! C headers: [`include/linux/tracepoint.h`](srctree/include/linux/tracepoint.h),
//! [`include/linux/export.h`](srctree/include/linux/export.h).

/// Lists a tracepoint for C, by an address relative to the entry.
#[doc(hidden)]
#[macro_export]
macro_rules! __tracepoint_pointer {
    ($tracepoint:path) => {
        ::core::arch::global_asm!(
            "\t.section \"__tracepoints_ptrs\", \"a\"",
            "\t.balign 4",
            "\t.long {tracepoint} - .",
            "\t.previous",
            tracepoint = sym $tracepoint,
        );
    };
}
pub use __tracepoint_pointer;

/// Lists an event for C. The entry has no symbol, as C forgets the section when it has booted.
#[doc(hidden)]
#[macro_export]
macro_rules! __event_pointer {
    ($call:path) => {
        #[cfg(target_pointer_width = "64")]
        ::core::arch::global_asm!(
            "\t.section \"_ftrace_events\", \"aw\"",
            "\t.balign 8",
            "\t.quad {call}",
            "\t.previous",
            call = sym $call,
        );
        #[cfg(target_pointer_width = "32")]
        ::core::arch::global_asm!(
            "\t.section \"_ftrace_events\", \"aw\"",
            "\t.balign 4",
            "\t.long {call}",
            "\t.previous",
            call = sym $call,
        );
    };
}
pub use __event_pointer;

/// Keeps the `endbr` of a function whose address is only in data that objtool does not look at.
#[doc(hidden)]
#[macro_export]
macro_rules! __tracepoint_no_seal {
    ($function:path) => {
        ::core::arch::global_asm!(
            "\t.pushsection .discard.ibt_endbr_noseal",
            "\t.quad {function}",
            "\t.popsection",
            function = sym $function,
        );
    };
}
pub use __tracepoint_no_seal;

/// Exports symbols, as `EXPORT_SYMBOL_GPL()` does.
#[doc(hidden)]
#[macro_export]
macro_rules! __tracepoint_export {
    ($($symbol:literal),+) => {$(
        #[cfg(target_pointer_width = "64")]
        ::core::arch::global_asm!(
            "\t.section \".export_symbol\", \"a\"",
            ::core::concat!("__export_symbol_", $symbol, ":"),
            "\t.asciz \"GPL\"",
            "\t.byte 0",
            "\t.balign 8",
            ::core::concat!("\t.quad ", $symbol),
            "\t.previous",
        );
        #[cfg(target_pointer_width = "32")]
        ::core::arch::global_asm!(
            "\t.section \".export_symbol\", \"a\"",
            ::core::concat!("__export_symbol_", $symbol, ":"),
            "\t.asciz \"GPL\"",
            "\t.byte 0",
            "\t.balign 4",
            ::core::concat!("\t.long ", $symbol),
            "\t.previous",
        );
    )+};
}
pub use __tracepoint_export;

/// The entry by which the tool of `make UT=1` knows that a tracepoint is used.
#[doc(hidden)]
#[macro_export]
macro_rules! __tracepoint_check {
    ($name:literal) => {
        ::core::concat!(
            "\t.pushsection \"__tracepoint_check\", \"a\"\n\t.asciz \"",
            $name,
            "\"\n\t.popsection"
        )
    };
}

/// Tells that a tracepoint is used where this is.
#[doc(hidden)]
#[macro_export]
macro_rules! __tracepoint_used {
    ($name:literal) => {
        // SAFETY: The statement has no instruction.
        unsafe {
            ::core::arch::asm!(
                $crate::__tracepoint_check!($name),
                options(nomem, nostack, preserves_flags)
            )
        }
    };
}
pub use __tracepoint_used;

/// Tells that a tracepoint may be used by other modules.
#[doc(hidden)]
#[macro_export]
macro_rules! __tracepoint_used_by_others {
    ($name:literal) => {
        ::core::arch::global_asm!($crate::__tracepoint_check!($name));
    };
}
pub use __tracepoint_used_by_others;
