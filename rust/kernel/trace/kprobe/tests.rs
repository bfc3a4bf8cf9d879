// SPDX-License-Identifier: GPL-2.0

//! Tests of kprobe and kretprobe events.

use super::{
    delete,
    Builder,
    KprobeEvent,
    MAX_FIELDS,
    MAX_NAME_LEN, //
};
use crate::{
    prelude::*,
    trace::{
        dynevent_cmd::Command,
        event_file::EventFile, //
    },
};

const FUNCTION: &CStr = c"do_sys_openat2";

fn made(name: &CStr) -> Result<KprobeEvent> {
    Builder::new(name, FUNCTION)?.field(c"who=$comm")?.create()
}

fn deleted(event: KprobeEvent) -> Result {
    event.delete().map_err(|failed| failed.error)
}

fn is_there(name: &CStr) -> bool {
    EventFile::get(None, c"kprobes", name).is_ok()
}

#[macros::kunit_tests(rust_kernel_trace_kprobe)]
mod events {
    use super::*;

    #[test]
    fn made_and_deleted() -> Result {
        let event = made(c"rust_test_made")?;

        assert!(event.name() == c"rust_test_made");
        assert!(is_there(c"rust_test_made"));
        assert_eq!(delete(c"rust_test_made"), Err(EBUSY));
        deleted(event)?;
        assert!(!is_there(c"rust_test_made"));
        assert_eq!(delete(c"rust_test_made"), Err(ENOENT));

        let event = Builder::new_return(c"rust_test_return", FUNCTION)?
            .field(c"$retval")?
            .create()?;
        drop(event);
        assert!(!is_there(c"rust_test_return"));
        Ok(())
    }

    #[test]
    fn enabled() -> Result {
        let event = made(c"rust_test_enabled")?;

        event.set_enabled(true)?;
        assert!(event.file().is_enabled());
        event.set_enabled(false)?;
        assert!(!event.file().is_enabled());

        // An enabled event cannot be deleted, and is returned.
        event.set_enabled(true)?;
        let failed = event.delete().err().ok_or(EINVAL)?;
        assert_eq!(failed.error, EBUSY);
        let event = failed.event.ok_or(ENOENT)?;
        assert!(event.file().is_enabled());
        assert_eq!(delete(c"rust_test_enabled"), Err(EBUSY));
        drop(event);
        assert!(!is_there(c"rust_test_enabled"));

        // But the drop disables it.
        made(c"rust_test_enabled")?.set_enabled(true)?;
        assert!(!is_there(c"rust_test_enabled"));
        Ok(())
    }

    #[test]
    fn names_are_not_cut() -> Result {
        let mut name = KVec::from_elem(b'x', MAX_NAME_LEN + 1, GFP_KERNEL)?;
        name.push(0, GFP_KERNEL)?;
        let long = CStr::from_bytes_with_nul(&name).map_err(|_| EINVAL)?;
        let longest = CStr::from_bytes_with_nul(&name[1..]).map_err(|_| EINVAL)?;

        assert_eq!(Builder::new(long, FUNCTION).err(), Some(EINVAL));
        assert_eq!(delete(long), Err(EINVAL));
        // Longer than what the functions of C take, in full.
        let event = made(longest)?;
        assert!(is_there(longest));
        deleted(event)?;
        assert!(!is_there(longest));
        Ok(())
    }

    #[test]
    fn words_are_words() -> Result {
        for name in [c"", c"a b", c"a/b", c"a:b", c"1", c"-"] {
            assert_eq!(Builder::new(name, FUNCTION).err(), Some(EINVAL));
            assert_eq!(delete(name), Err(EINVAL));
        }
        for word in [c"", c" ", c"a b", c"a\tb", c"a\n"] {
            assert_eq!(Builder::new(c"rust_test", word).err(), Some(EINVAL));
            assert_eq!(
                Builder::new(c"rust_test", FUNCTION)?.field(word).err(),
                Some(EINVAL)
            );
        }
        Ok(())
    }

    #[test]
    fn errors_of_c() -> Result {
        let unknown = Builder::new(c"rust_test", c"no_such_function_at_all")?.create();
        let bad = Builder::new(c"rust_test", FUNCTION)?
            .field(c"%no_register")?
            .create();

        assert_eq!(unknown.err(), Some(EINVAL));
        assert_eq!(bad.err(), Some(EINVAL));
        assert!(!is_there(c"rust_test"));
        Ok(())
    }

    #[test]
    fn not_too_many_fields() -> Result {
        let mut event = Builder::new(c"rust_test", FUNCTION)?;

        for _ in 0..MAX_FIELDS {
            event = event.field(c"$stack")?;
        }
        assert_eq!(event.field(c"$stack").err(), Some(EINVAL));
        Ok(())
    }

    #[test]
    fn a_long_command_is_refused() -> Result {
        let mut field = KVec::from_elem(b'x', 1000, GFP_KERNEL)?;
        field.push(0, GFP_KERNEL)?;
        let field = CStr::from_bytes_with_nul(&field).map_err(|_| EINVAL)?;
        let event = Builder::new(c"rust_test", FUNCTION)?.field(field)?;

        assert_eq!(
            event.field(field).and_then(|b| b.field(field)).err(),
            Some(E2BIG)
        );
        assert_eq!(
            Builder::new(c"rust_test", field)?
                .field(field)
                .and_then(|b| b.field(field))
                .err(),
            Some(E2BIG)
        );
        Ok(())
    }

    #[test]
    fn made_once() -> Result {
        let event = made(c"rust_test_once")?;
        let other = Builder::new(c"rust_test_once", FUNCTION)?
            .field(c"who=$comm")?
            .field(c"what=$stack")?;

        // The same probe, and other fields.
        assert_eq!(made(c"rust_test_once").err(), Some(EEXIST));
        assert_eq!(other.create().err(), Some(EEXIST));
        deleted(event)
    }

    #[test]
    fn what_others_have_made_is_theirs() -> Result {
        // As root can do it; in C another probe would be added to the event.
        let mut command = Command::kprobe()?;
        command.text(c"p:kprobes/rust_test_theirs")?;
        command.word(c"vfs_open")?;
        command.word(c"who=$comm")?;
        command.run()?;

        let taken = made(c"rust_test_theirs").err();
        let stays = is_there(c"rust_test_theirs");
        delete(c"rust_test_theirs")?;
        assert_eq!(taken, Some(EEXIST));
        assert!(stays);
        Ok(())
    }

    #[test]
    fn what_was_added_goes_as_well() -> Result {
        let event = made(c"rust_test_more")?;

        // As root can do it.
        let mut more = Command::kprobe()?;
        more.text(c"p:kprobes/rust_test_more")?;
        more.word(c"vfs_open")?;
        more.word(c"who=$comm")?;
        more.run()?;
        event.set_enabled(true)?;
        drop(event);
        assert!(!is_there(c"rust_test_more"));
        assert_eq!(delete(c"rust_test_more"), Err(ENOENT));
        Ok(())
    }
}
