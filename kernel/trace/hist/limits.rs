// SPDX-License-Identifier: GPL-2.0

//! The limits and sizes of histograms. Those that commands can meet are those of C.

/// Size of the name of a task, with its NUL.
pub(crate) const COMM_LEN: usize = kernel::task::Comm::LEN;

/// Most keys of a histogram.
pub(crate) const KEYS_MAX: usize = 3;

/// Most values of a histogram, the hit count being one of them, and statistics being none.
pub(crate) const VALS_MAX: usize = 3;

/// Most statistics of a histogram, which C does not have.
pub(crate) const STATISTICS_MAX: usize = 8;

/// Most bits of a number that choose its part of a power of two.
pub(crate) const PART_BITS_MAX: u64 = 5;

/// Most variables of a histogram, and most references to variables in one. The marks of the
/// variables of an element share a word with their lock.
pub(crate) const VARS_MAX: usize = 16;

/// Most fields to sort by.
pub(crate) const SORT_KEYS_MAX: usize = 2;

/// Most `handler.action` clauses of a histogram.
pub(crate) const ACTIONS_MAX: usize = 8;

/// Most parameters of an action, and most fields of a synthetic event.
pub(crate) const PARAMS_MAX: usize = kernel::trace::synth::MAX_FIELDS;

/// Largest number of operators of an expression.
pub(crate) const SUBEXPRS_MAX: u32 = 3;

/// Room for a string, with its NUL: a dynamic string key, a string variable, the text of an
/// expression.
pub(crate) const STR_MAX: usize = 256;

/// Most return addresses of a stack.
pub(crate) const STACK_DEPTH: usize = 31;

/// Size of a stack in a key, in bytes.
pub(crate) const STACK_SIZE: usize = STACK_DEPTH * size_of::<usize>();

/// Largest size of a key, in bytes.
pub(crate) const KEY_SIZE_MAX: usize = STR_MAX + STACK_SIZE;

/// Smallest and largest logarithm of the number of elements of a map.
pub(crate) const MAP_BITS_MIN: u32 = 7;
pub(crate) const MAP_BITS_MAX: u32 = 17;

/// Size of a word in bytes.
pub(crate) const WORD: usize = size_of::<u64>();

/// Size of the name of a task, in words.
pub(crate) const COMM_WORDS: usize = COMM_LEN / WORD;

/// Size of a string or a stack in an element or in the scratch memory, in words. A stack begins
/// with its length.
pub(crate) const STRING_WORDS: usize = STR_MAX / WORD;

kernel::static_assert!(STACK_DEPTH < STRING_WORDS);

/// Most words of a key: the longest string and a stack.
pub(crate) const KEY_WORDS_MAX: usize = STRING_WORDS + STACK_DEPTH;

/// Most slots of a hit: one for each reference, and one for each variable that nothing refers to.
pub(crate) const SLOTS_MAX: usize = 2 * VARS_MAX;

/// Most blobs of a hit: one for each reference, and the stack.
pub(crate) const BLOBS_MAX: usize = VARS_MAX + 1;

/// Most words and slots together of a hit whose scratch memory is on the kernel stack.
pub(crate) const SMALL_WORDS: usize = 8;
