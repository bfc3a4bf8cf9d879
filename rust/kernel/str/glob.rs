// SPDX-License-Identifier: GPL-2.0

//! Patterns of names.
//!
//! C header: [`include/linux/glob.h`](srctree/include/linux/glob.h)

use super::CStr;
use crate::{
    bindings,
    prelude::*, //
};

/// Returns `true` if the whole of `text` matches `pattern`.
///
/// `*` stands for any number of bytes, `?` for one byte, `[...]` for one byte of a set, `[!...]`
/// for one that is not in it, and a backslash removes the meaning of the next byte. A `[` without
/// its end stands for itself. Takes at most a time proportional to the product of both lengths.
///
/// # Examples
///
/// ```
/// use kernel::str::glob::glob_match;
///
/// assert!(glob_match(c"web_*", c"web_request"));
/// assert!(glob_match(c"web_[!a-q]*t?", c"web_requests"));
/// assert!(!glob_match(c"web", c"web_request"));
/// assert!(glob_match(c"\\*", c"*"));
/// assert!(!glob_match(c"\\*", c"web"));
/// ```
pub fn glob_match(pattern: &CStr, text: &CStr) -> bool {
    // SAFETY: Both are strings, which C only reads.
    unsafe { bindings::glob_match(pattern.as_char_ptr(), text.as_char_ptr()) }
}
