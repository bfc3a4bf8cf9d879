// SPDX-License-Identifier: GPL-2.0

//! The ioctls of `user_events_data`: register, delete, unregister, write a batch.
//!
//! All user memory is read and written without a lock.

use super::{
    batch,
    defs::{
        self,
        UserReg,
        UserUnreg,
        MAX_EVENT_DESC, //
    },
    file::DataFile,
    mm::MmState,
    mm_struct,
    registry::{
        self,
        RegisterFlags, //
    },
};
use kernel::{
    fs::file::{
        flags,
        File, //
    },
    page::PAGE_SIZE,
    prelude::*,
    transmute::FromBytes,
    uaccess::{
        access_ok,
        copy_struct_from_user,
        strndup_user,
        UserPtr,
        UserSlice, //
    },
};

/// The request of an ioctl.
enum Command {
    Register,
    Delete,
    Unregister,
    Batch,
}

/// Executes an ioctl of a task whose pointers are as wide as the kernel's.
pub(crate) fn native(data: &DataFile, file: &File, cmd: u32, arg: usize) -> Result<isize> {
    let command = match cmd {
        defs::DIAG_IOCSREG => Command::Register,
        defs::DIAG_IOCSDEL => Command::Delete,
        defs::DIAG_IOCSUNREG => Command::Unregister,
        defs::DIAG_IOCSBATCH => Command::Batch,
        _ => return Err(ENOTTY),
    };

    run(data, file, command, UserPtr::from_addr(arg))
}

/// Executes an ioctl of a 32-bit task, whose structures are the same, but whose numbers contain
/// the size of its pointers.
#[cfg(CONFIG_COMPAT)]
pub(crate) fn compat(data: &DataFile, file: &File, cmd: u32, arg: usize) -> Result<isize> {
    let command = match cmd {
        defs::COMPAT_DIAG_IOCSREG => Command::Register,
        defs::COMPAT_DIAG_IOCSDEL => Command::Delete,
        defs::COMPAT_DIAG_IOCSUNREG => Command::Unregister,
        defs::COMPAT_DIAG_IOCSBATCH => Command::Batch,
        _ => return Err(ENOTTY),
    };

    run(data, file, command, UserPtr::from_addr(arg))
}

fn run(data: &DataFile, file: &File, command: Command, arg: UserPtr) -> Result<isize> {
    match command {
        Command::Register => register(data, arg)?,
        Command::Delete => {
            let name = strndup_user(arg, MAX_EVENT_DESC)?;

            registry::get()?.delete(name.to_bytes())?;
        }
        Command::Unregister => unregister(arg)?,
        Command::Batch => return write_batch(data, file, arg),
    }
    Ok(0)
}

/// Executes `DIAG_IOCSBATCH`: writes several records, if the file is open for writing.
fn write_batch(data: &DataFile, file: &File, arg: UserPtr) -> Result<isize> {
    // The file mode, which `write()` looks at, follows from these flags.
    if !matches!(
        file.flags() & flags::O_ACCMODE,
        flags::O_WRONLY | flags::O_RDWR
    ) {
        return Err(EBADF);
    }
    batch::write(data, &read_sized(arg)?)
}

/// Reads a structure that begins with its size, as the program was built with it.
fn read_sized<T: FromBytes>(arg: UserPtr) -> Result<T> {
    let size: u32 = UserSlice::new(arg, size_of::<u32>()).reader().read()?;
    let size = size as usize;

    if size > PAGE_SIZE {
        return Err(E2BIG);
    }
    if size < size_of::<T>() {
        return Err(EINVAL);
    }
    copy_struct_from_user(arg, size)
}

/// Executes `DIAG_IOCSREG`: finds or creates an event, assigns an index to it, and registers a bit
/// that follows it.
///
/// On failure everything that was created for the registration is removed.
fn register(file: &DataFile, arg: UserPtr) -> Result {
    let reg: UserReg = read_sized(arg)?;
    let bit = reg.enable_bit()?;
    if !access_ok(UserPtr::from_addr(bit.addr()), bit.bytes()) {
        return Err(EFAULT);
    }

    let task = current!();
    let mm = task.mm().ok_or(ESRCH)?;
    let state = mm_struct::state_or_new(mm)?;
    // Before anything is created for it; `enable` looks again.
    if state.contains(&bit) {
        return Err(EADDRINUSE);
    }

    let name_args = usize::try_from(reg.name_args()).map_err(|_| EFAULT)?;
    let text = strndup_user(UserPtr::from_addr(name_args), MAX_EVENT_DESC)?;
    let wanted = RegisterFlags {
        persist: reg.is_persist(),
        multi: reg.is_multi_format(),
    };
    let registry = registry::get()?;
    let event = registry.find_or_create(text.to_bytes(), wanted)?;

    let added = file.add(event.clone(), |index| {
        let at = arg.wrapping_byte_add(UserReg::WRITE_INDEX);

        MmState::enable(&state, mm, &bit, event.clone())?;
        UserSlice::new(at, size_of::<u32>())
            .writer()
            .write(&index)
            .inspect_err(|_| {
                // Whatever it returns, the bit is no longer followed, unless the task was killed.
                let _ = MmState::disable_bit(&state, mm, &bit);
            })
    });
    if let Err(e) = added {
        registry.abandon(event);
        return Err(e);
    }

    event.confirm();
    if wanted.persist {
        event.make_persistent();
    }
    Ok(())
}

/// Executes `DIAG_IOCSUNREG`: unregisters a bit, which then no longer follows its event.
fn unregister(arg: UserPtr) -> Result {
    let unreg: UserUnreg = read_sized(arg)?;
    unreg.validate()?;

    let task = current!();
    let mm = task.mm().ok_or(ESRCH)?;
    let state = mm_struct::state(mm).ok_or(ENOENT)?;
    let addr = usize::try_from(unreg.disable_addr()).map_err(|_| ENOENT)?;

    MmState::disable(&state, mm, addr, unreg.disable_bit())
}
