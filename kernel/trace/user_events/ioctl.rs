// SPDX-License-Identifier: GPL-2.0

//! The ioctls of `user_events_data`: register, delete, unregister.
//!
//! All user memory is read before a lock is taken.

use super::{
    defs::{
        Command,
        UserReg,
        UserUnreg,
        MAX_EVENT_DESC, //
    },
    exports,
    file::DataFile,
    mm::MmState,
    registry::{
        self,
        Wanted, //
    },
};
use kernel::{
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

/// An ioctl of a task whose pointers are as wide as the kernel's.
pub(crate) fn native(file: &DataFile, cmd: u32, arg: usize) -> Result<isize> {
    run(file, Command::native(cmd), UserPtr::from_addr(arg))
}

/// An ioctl of a 32-bit task.
#[cfg(CONFIG_COMPAT)]
pub(crate) fn compat(file: &DataFile, cmd: u32, arg: usize) -> Result<isize> {
    run(file, Command::compat(cmd), UserPtr::from_addr(arg))
}

fn run(file: &DataFile, command: Option<Command>, arg: UserPtr) -> Result<isize> {
    match command {
        Some(Command::Register) => register(file, arg)?,
        Some(Command::Delete) => {
            let name = strndup_user(arg, MAX_EVENT_DESC)?;

            registry::get()?.delete(name.to_bytes())?;
        }
        Some(Command::Unregister) => unregister(arg)?,
        None => return Err(ENOTTY),
    }
    Ok(0)
}

/// Reads a structure that begins with its size, as the program was built with it.
fn read_sized<T: FromBytes>(
    arg: UserPtr,
    check_size: impl FnOnce(u32) -> Result<usize>,
) -> Result<T> {
    let size = UserSlice::new(arg, size_of::<u32>()).reader().read()?;

    copy_struct_from_user(arg, check_size(size)?)
}

/// `DIAG_IOCSREG`: finds or makes an event, gives it an index, and has a bit follow it.
///
/// All or nothing: what was made for a registration that fails goes again.
fn register(file: &DataFile, arg: UserPtr) -> Result {
    let reg: UserReg = read_sized(arg, UserReg::check_size)?;
    let reg = reg.validate(|addr, len| access_ok(UserPtr::from_addr(addr), len))?;

    let task = current!();
    let mm = task.mm().ok_or(ESRCH)?;
    let state = exports::state_or_new(mm)?;
    // Before anything is made for it; `enable` looks again.
    if state.contains(reg.bit.key()) {
        return Err(EADDRINUSE);
    }

    let name_args = usize::try_from(reg.name_args).map_err(|_| EFAULT)?;
    let text = strndup_user(UserPtr::from_addr(name_args), MAX_EVENT_DESC)?;
    let wanted = Wanted {
        persist: reg.persist,
        multi: reg.multi,
    };
    let event = registry::get()?.find_or_create(text.to_bytes(), wanted)?;

    MmState::enable(&state, mm, reg.bit, event.clone())?;
    file.add(event, |index| {
        let at = arg.wrapping_byte_add(UserReg::WRITE_INDEX);

        UserSlice::new(at, size_of::<u32>()).writer().write(&index)
    })
    .inspect_err(|_| {
        // The word was just written: what could fail now, a page that is gone, only concerns a bit
        // that nobody has been told of.
        let _ = MmState::disable(&state, mm, reg.bit.key());
    })
}

/// `DIAG_IOCSUNREG`: a bit does not follow its event any more.
fn unregister(arg: UserPtr) -> Result {
    let unreg: UserUnreg = read_sized(arg, UserUnreg::check_size)?;
    let key = unreg.validate()?;

    let task = current!();
    let mm = task.mm().ok_or(ESRCH)?;
    let state = exports::state(mm).ok_or(ENOENT)?;

    MmState::disable(&state, mm, key)
}
