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
//! The crate `user_events` beside it registers the event and writes the records, those of one line
//! with one system call where the kernel supports it. It has no dependencies: other programs can
//! use it as it is. The interface is described in `Documentation/trace/user_events.rst`, and in C
//! in `include/uapi/linux/user_events.h`.

use std::env;
use std::ffi::{c_int, c_ulong};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::process::ExitCode;
use user_events::{Batch, Event, Payload, Session, ENABLE_BIT};

const TRACEFS: &str = "/sys/kernel/tracing";
const DATA_FILE: &str = "/sys/kernel/tracing/user_events_data";
const USAGE: &str = "Usage: client-rust [-n RECORDS] [-l LENGTH] [EVENT]

Registers the user event EVENT (web_request) and writes RECORDS (6) records of
it for each line on its input, if the event is enabled. Ends with its input.
Paths are padded to LENGTH bytes, 65000 at most.";

/// The longest path that a record has room for.
const PATH_MOST: usize = 65000;

/// The fields of the event, as the kernel wants them described.
const FIELDS: &str = "u32 id;u32 bytes;__data_loc char[] path";

/// The contents of the records: requests of a small web server.
const REQUESTS: [(&str, u32); 3] = [("/", 4096), ("/style.css", 512), ("/login", 1024)];

/// The interval of looking at the enable bit. The kernel does not notify of changes: a program
/// tests the bit before it writes a record, which costs one load. This one has to print a line when
/// the bit changes, so it polls.
const LOOK_EVERY_MS: c_int = 10;

#[repr(C)]
struct PollFd {
    fd: c_int,
    events: i16,
    revents: i16,
}

const POLLIN: i16 = 1;

extern "C" {
    fn poll(fds: *mut PollFd, count: c_ulong, timeout_ms: c_int) -> c_int;
}

const EPERM: i32 = 1;
const ENOMEM: i32 = 12;
const EFAULT: i32 = 14;
const ENODEV: i32 = 19;
const EINVAL: i32 = 22;
const EMFILE: i32 = 24;
const ENOTTY: i32 = 25;
const EADDRINUSE: i32 = 98;

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

/// Waits up to [`LOOK_EVERY_MS`] for input, and returns the lines that arrived, or `None` at its
/// end.
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

/// The records of a line.
#[derive(Clone, Copy)]
struct Records {
    count: u32,
    /// Length that a path has at least.
    length: usize,
}

/// Writes records at once. The number of the last one is in `id`.
///
/// Returns 0 if the event has no listener.
fn write_records(
    event: &Event,
    batch: &mut Batch,
    records: Records,
    id: &mut u32,
) -> io::Result<u32> {
    let Records { count, length } = records;
    let mut payload = Payload::new();

    if !event.is_enabled() {
        return Ok(0);
    }
    for _ in 0..count {
        let (path, bytes) = REQUESTS[*id as usize % REQUESTS.len()];

        *id = id.wrapping_add(1);
        payload
            .clear()
            .number(*id)
            .number(bytes)
            .text(&format!("{path:-<length$}"));
        batch.push(event, payload.bytes())?;
    }
    batch.flush()?;
    Ok(count)
}

fn run(name: &str, records: Records) -> Result<(), String> {
    let command = format!("{name} {FIELDS}");
    let session = Session::open().map_err(|e| explain_open(&e))?;
    let event = session
        .register(&command)
        .map_err(|e| explain_register(&command, &e))?;
    let mut batch = session.batch();
    say(&format!("registered {name}, write index {}", event.index()))?;

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
            let written = write_records(&event, &mut batch, records, &mut id);
            match written.map_err(|e| explain_write(&e))? {
                0 => say("nobody listens: nothing written")?,
                n => say(&format!("wrote {n} records"))?,
            }
        }
    }
    event
        .unregister()
        .map_err(|e| format!("cannot unregister: {e}"))?;
    say(&format!("unregistered {name}"))
}

/// Returns the event's name and its records, or `None` if the arguments are invalid.
fn arguments() -> Option<(String, Records)> {
    let (mut name, mut count, mut length) = ("web_request".to_string(), 6, 0);
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "-n" => count = args.next()?.parse().ok()?,
            "-l" => length = args.next()?.parse().ok().filter(|l| *l <= PATH_MOST)?,
            _ if arg.starts_with('-') => return None,
            _ => name = arg,
        }
    }
    Some((name, Records { count, length }))
}

fn main() -> ExitCode {
    let Some((name, records)) = arguments() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&name, records) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("client-rust: {message}");
            ExitCode::FAILURE
        }
    }
}
