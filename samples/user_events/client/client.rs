// SPDX-License-Identifier: GPL-2.0

//! A client of user_events: what a program does to offer an event of its own
//! to ftrace and perf. `client.c` is the same program in C.
//!
//! It registers the event, reports every change of its enable bit, and writes a few records for
//! each line that it reads, but only while the event has a listener. At the end of its input it
//! unregisters the event.
//!
//! ```text
//! # ./client-rust
//! registered web_request, write index 0
//! enable bit 31 is 0
//! ```
//!
//! In another shell, as root:
//!
//! ```text
//! # cd /sys/kernel/tracing
//! # echo 1 > events/user_events/web_request/enable
//! ```
//!
//! The client answers `enable bit 31 is 1`; press Enter there, and then:
//!
//! ```text
//! # cat trace
//! # echo 0 > events/user_events/web_request/enable
//! ```
//!
//! There are no crates here: the standard library opens the file and writes the
//! records, and the two functions that it lacks, `ioctl()` and `poll()`, are
//! declared below. The interface is described in
//! `Documentation/trace/user_events.rst`, and in C in
//! `include/uapi/linux/user_events.h`.

use std::env;
use std::ffi::{c_int, c_ulong, CString};
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};

const TRACEFS: &str = "/sys/kernel/tracing";
const DATA_FILE: &str = "/sys/kernel/tracing/user_events_data";
const USAGE: &str = "Usage: client-rust [-n RECORDS] [EVENT]

Registers the user event EVENT (web_request) and writes RECORDS (6) records of
it for each line on its input, if the event is enabled. Ends with its input.";

/// The fields of the event, as the kernel wants them described.
const FIELDS: &str = "u32 id;u32 bytes;__data_loc char[] path";

/// The contents of the records: requests of a small web server.
const REQUESTS: [(&str, u32); 3] = [("/", 4096), ("/style.css", 512), ("/login", 1024)];

/// The bit of the enable word that the kernel sets while the event has a listener.
const ENABLE_BIT: u8 = 31;

/// The interval of looking at the enable bit. The kernel does not notify of changes: a program
/// tests the bit before it writes a record, which costs one load. This one has to print a line when
/// the bit changes, so it polls.
const LOOK_EVERY_MS: c_int = 10;

/// `struct user_reg` of the kernel interface.
#[repr(C, packed)]
struct UserReg {
    size: u32,
    enable_bit: u8,
    enable_size: u8,
    flags: u16,
    enable_addr: u64,
    name_args: u64,
    write_index: u32,
}

/// `struct user_unreg` of the kernel interface.
#[repr(C, packed)]
struct UserUnreg {
    size: u32,
    disable_bit: u8,
    reserved: u8,
    reserved2: u16,
    disable_addr: u64,
}

const IOC_WRITE: c_ulong = 1;
const IOC_READ: c_ulong = 2;

/// The kernel's `_IOC()` for user_events: the argument is always a pointer.
const fn ioc(direction: c_ulong, number: c_ulong) -> c_ulong {
    (direction << 30) | ((size_of::<usize>() as c_ulong) << 16) | ((b'*' as c_ulong) << 8) | number
}

const DIAG_IOCSREG: c_ulong = ioc(IOC_READ | IOC_WRITE, 0);
const DIAG_IOCSUNREG: c_ulong = ioc(IOC_WRITE, 2);

/// `DYN_LOC()` of the kernel interface: where in the record a dynamic field is.
const fn dyn_loc(offset: u32, size: u32) -> u32 {
    (size << 16) | offset
}

#[repr(C)]
struct PollFd {
    fd: c_int,
    events: i16,
    revents: i16,
}

const POLLIN: i16 = 1;

extern "C" {
    fn ioctl(fd: c_int, request: c_ulong, ...) -> c_int;
    fn poll(fds: *mut PollFd, count: c_ulong, timeout_ms: c_int) -> c_int;
}

const EPERM: i32 = 1;
const EBADF: i32 = 9;
const ENOMEM: i32 = 12;
const EFAULT: i32 = 14;
const ENODEV: i32 = 19;
const EINVAL: i32 = 22;
const EMFILE: i32 = 24;
const ENOTTY: i32 = 25;
const EADDRINUSE: i32 = 98;

/// An event that this program has registered.
struct Event {
    /// The open `user_events_data`. The index below is of this open file only.
    file: File,
    index: u32,
    /// The word in which the kernel sets and clears [`ENABLE_BIT`].
    enabled: &'static AtomicU32,
}

impl Event {
    /// Registers the event `command`, which is a name and its fields.
    ///
    /// The kernel keeps the address of `enabled` until [`Event::unregister`] or
    /// the end of the program and writes to it at any time: so it is a static.
    fn register(command: &str, enabled: &'static AtomicU32) -> Result<Self, String> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(DATA_FILE)
            .map_err(|e| explain_open(&e))?;
        let text = CString::new(command).map_err(|_| "an event name cannot contain a NUL")?;
        let mut reg = UserReg {
            size: size_of::<UserReg>() as u32,
            enable_bit: ENABLE_BIT,
            enable_size: size_of::<AtomicU32>() as u8,
            flags: 0,
            enable_addr: enabled.as_ptr() as u64,
            name_args: text.as_ptr() as u64,
            write_index: 0,
        };

        // SAFETY: `reg` is the structure that this request takes and `text` lives until it returns.
        // What the kernel keeps is the address of a static that is only used atomically.
        if unsafe { ioctl(file.as_raw_fd(), DIAG_IOCSREG, &raw mut reg) } != 0 {
            return Err(explain_register(command, &io::Error::last_os_error()));
        }
        Ok(Self {
            file,
            index: reg.write_index,
            enabled,
        })
    }

    /// Returns `true` if the event has a listener. Without one, this test is the whole cost of the
    /// event.
    fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Relaxed) & (1 << ENABLE_BIT) != 0
    }

    /// Writes one record; returns `false` if the event has no listener any more.
    fn write(&self, id: u32, bytes: u32, path: &str) -> Result<bool, String> {
        // Offsets count from the start of the record, which has an 8 byte header of the kernel's.
        const PATH_AT: u32 = 8 + 3 * 4;
        let size = path.len() as u32 + 1;
        // The index goes first and is not recorded.
        let head = [self.index, id, bytes, dyn_loc(PATH_AT, size)].map(u32::to_ne_bytes);
        let parts = [
            IoSlice::new(head.as_flattened()),
            IoSlice::new(path.as_bytes()),
            IoSlice::new(&[0]),
        ];
        match (&self.file).write_vectored(&parts) {
            Ok(_) => Ok(true),
            // Switched off between the look at the bit and here: nothing is wrong.
            Err(e) if e.raw_os_error() == Some(EBADF) => Ok(false),
            Err(e) => Err(explain_write(&e)),
        }
    }

    /// Tells the kernel to leave the enable word alone.
    fn unregister(self) -> Result<(), String> {
        let unreg = UserUnreg {
            size: size_of::<UserUnreg>() as u32,
            disable_bit: ENABLE_BIT,
            reserved: 0,
            reserved2: 0,
            disable_addr: self.enabled.as_ptr() as u64,
        };

        // SAFETY: `unreg` is the structure that this request takes.
        match unsafe { ioctl(self.file.as_raw_fd(), DIAG_IOCSUNREG, &raw const unreg) } {
            0 => Ok(()),
            _ => Err(format!("cannot unregister: {}", io::Error::last_os_error())),
        }
    }
}

fn explain_open(e: &io::Error) -> String {
    let why = match e.kind() {
        io::ErrorKind::NotFound if !Path::new(TRACEFS).join("trace").exists() => {
            "tracefs is not mounted; as root: mount -t tracefs nodev /sys/kernel/tracing"
        }
        io::ErrorKind::NotFound => "this kernel is built without CONFIG_USER_EVENTS",
        io::ErrorKind::PermissionDenied => {
            "run this as root, or let your group use it; as root: chgrp GROUP and chmod g+rw \
             the file, and chmod a+x /sys/kernel/tracing"
        }
        _ => return format!("cannot open {DATA_FILE}: {e}"),
    };
    format!("cannot open {DATA_FILE}: {why}")
}

fn explain_register(command: &str, e: &io::Error) -> String {
    let why = match e.raw_os_error() {
        Some(EINVAL) => "the kernel does not accept this name or these fields",
        Some(EADDRINUSE) => "there is an event of this name with other fields",
        Some(EMFILE) => "there are too many user events; see /proc/sys/kernel/user_events_max",
        Some(ENODEV) => "the kernel has no event number left",
        Some(EPERM) => "not permitted",
        Some(ENOMEM) => "the kernel is out of memory, or cannot write the enable word",
        Some(ENOTTY) => "the kernel takes no registrations from 32-bit programs",
        _ => return format!("cannot register \"{command}\": {e}"),
    };
    format!("cannot register \"{command}\": {why}")
}

fn explain_write(e: &io::Error) -> String {
    let why = match e.raw_os_error() {
        Some(EINVAL) => "the record is shorter than the event's fields",
        Some(EFAULT) => "a dynamic field points outside of the record or its text has no end",
        _ => return format!("cannot write a record: {e}"),
    };
    format!("cannot write a record: {why}")
}

/// Waits up to [`LOOK_EVERY_MS`] for input: the lines that came, or `None` at its end.
fn lines_read(mut input: &File) -> Result<Option<usize>, String> {
    let mut fds = PollFd {
        fd: input.as_raw_fd(),
        events: POLLIN,
        revents: 0,
    };

    // SAFETY: `fds` is one valid entry.
    match unsafe { poll(&mut fds, 1, LOOK_EVERY_MS) } {
        -1 => {
            let e = io::Error::last_os_error();
            return Err(format!("cannot wait for input: {e}"));
        }
        0 => return Ok(Some(0)),
        _ => (),
    }
    let mut bytes = [0; 256];
    match input.read(&mut bytes) {
        Ok(0) => Ok(None),
        Ok(n) => Ok(Some(bytes[..n].iter().filter(|b| **b == b'\n').count())),
        Err(e) => Err(format!("cannot read the input: {e}")),
    }
}

fn say(text: &str) -> Result<(), String> {
    writeln!(io::stdout(), "{text}").map_err(|e| format!("cannot write to the output: {e}"))
}

/// Writes `count` records; the number of the last one is in `id`.
fn write_records(event: &Event, count: u32, id: &mut u32) -> Result<u32, String> {
    for written in 0..count {
        if !event.is_enabled() {
            return Ok(written);
        }
        let (path, bytes) = REQUESTS[*id as usize % REQUESTS.len()];
        *id = id.wrapping_add(1);
        if !event.write(*id, bytes, path)? {
            return Ok(written);
        }
    }
    Ok(count)
}

fn run(name: &str, count: u32) -> Result<(), String> {
    static ENABLED: AtomicU32 = AtomicU32::new(0);

    let event = Event::register(&format!("{name} {FIELDS}"), &ENABLED)?;
    say(&format!("registered {name}, write index {}", event.index))?;

    // Without the buffer that `Stdin` reads ahead into, which poll() would not know of.
    let input = io::stdin().as_fd().try_clone_to_owned().map(File::from);
    let input = input.map_err(|e| format!("cannot use the input: {e}"))?;
    let mut id = 0;
    let mut shown = None;
    loop {
        let enabled = event.is_enabled();
        if shown != Some(enabled) {
            say(&format!("enable bit {ENABLE_BIT} is {}", u8::from(enabled)))?;
            shown = Some(enabled);
        }
        let Some(lines) = lines_read(&input)? else {
            break;
        };
        for _ in 0..lines {
            match write_records(&event, count, &mut id)? {
                0 => say("nobody listens: nothing written")?,
                n => say(&format!("wrote {n} records"))?,
            }
        }
    }
    event.unregister()?;
    say(&format!("unregistered {name}"))
}

/// Returns the event's name and the number of records, or `None` if the arguments are invalid.
fn arguments() -> Option<(String, u32)> {
    let (mut name, mut count) = ("web_request".to_string(), 6);
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "-n" => count = args.next()?.parse().ok()?,
            _ if arg.starts_with('-') => return None,
            _ => name = arg,
        }
    }
    Some((name, count))
}

fn main() -> ExitCode {
    let Some((name, count)) = arguments() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&name, count) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("client-rust: {message}");
            ExitCode::FAILURE
        }
    }
}
