// SPDX-License-Identifier: GPL-2.0

//! Tests of the crate on a kernel, with batches or without. They need root and tracefs, and no
//! other user of the events `crate_*`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use user_events::{Event, Payload, Session};

const TRACEFS: &str = "/sys/kernel/tracing";
const EBUSY: i32 = 16;
const EINVAL: i32 = 22;

fn enable(name: &str, on: bool) -> io::Result<()> {
    let path = format!("{TRACEFS}/events/user_events/{name}/enable");

    fs::write(path, if on { "1" } else { "0" })
}

/// Deletes an event. The file is not truncated, as that deletes all dynamic events.
fn delete(name: &str) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .append(true)
        .open(format!("{TRACEFS}/dynamic_events"))?;

    file.write_all(format!("-:{name}").as_bytes())
}

/// Opens a session, with no records in `trace`.
fn fresh() -> io::Result<Session> {
    fs::write(format!("{TRACEFS}/trace"), "")?;
    Session::open()
}

/// Returns the lines of an event in `trace`, without the text before its name.
fn records(name: &str) -> io::Result<Vec<String>> {
    let trace = fs::read_to_string(format!("{TRACEFS}/trace"))?;
    let mark = format!(": {name}: ");

    Ok(trace
        .lines()
        .filter_map(|line| Some(line.split_once(&mark)?.1.to_string()))
        .collect())
}

/// The event is enabled, and switched off again before it is dropped.
struct On(&'static str);

impl On {
    fn new(name: &'static str) -> io::Result<Self> {
        enable(name, true)?;
        Ok(Self(name))
    }
}

impl Drop for On {
    fn drop(&mut self) {
        enable(self.0, false).expect("cannot switch it off");
    }
}

#[test]
fn one_by_one() -> io::Result<()> {
    let session = fresh()?;
    let event = session.register("crate_one u32 a;__data_loc char[] s")?;
    let mut payload = Payload::new();

    payload.number(7u32).text("text");
    assert!(!event.is_enabled());
    assert!(!event.write(payload.bytes())?);

    let on = On::new("crate_one")?;
    assert!(event.is_enabled());
    assert!(event.write(payload.bytes())?);
    assert_eq!(records("crate_one")?, ["a=0x7 (7) s=text"]);
    assert_eq!(event.write(&[1]).unwrap_err().raw_os_error(), Some(EINVAL));
    drop(on);
    assert!(!event.is_enabled());
    Ok(())
}

#[test]
fn batches_of_several_events() -> io::Result<()> {
    let session = fresh()?;
    let on = session.register("crate_on u32 a")?;
    let off = session.register("crate_off u32 a")?;
    let mut batch = session.batch();
    let push = |batch: &mut user_events::Batch, event: &Event, n: u32| -> io::Result<()> {
        batch.push(event, &n.to_ne_bytes())
    };

    // Nothing listens to any of them, then to some.
    for n in 0..1000 {
        push(&mut batch, if n % 3 == 0 { &off } else { &on }, n)?;
    }
    assert_eq!(batch.bytes(), 16_000);
    batch.flush()?;
    assert!(batch.is_empty());
    assert!(records("crate_on")?.is_empty());

    let listener = On::new("crate_on")?;
    for n in 0..1000 {
        push(&mut batch, if n % 3 == 0 { &off } else { &on }, n)?;
    }
    batch.flush()?;
    let found = records("crate_on")?;
    assert_eq!(found.len(), 666);
    assert_eq!(found.first().map(String::as_str), Some("a=0x1 (1)"));
    assert_eq!(found.last().map(String::as_str), Some("a=0x3e6 (998)"));
    batch.flush()?;
    drop(listener);
    Ok(())
}

#[test]
fn record_that_fails() -> io::Result<()> {
    let session = fresh()?;
    let event = session.register("crate_fails u32 a")?;
    let other = Session::open()?;
    let mut batch = session.batch();
    let on = On::new("crate_fails")?;

    for payload in [&[1, 0, 0, 0][..], &[2, 0, 0, 0], &[3], &[4, 0, 0, 0]] {
        batch.push(&event, payload)?;
    }
    assert_eq!(batch.flush().unwrap_err().raw_os_error(), Some(EINVAL));
    assert_eq!(batch.bytes(), 16);
    assert_eq!(records("crate_fails")?, ["a=0x1 (1)", "a=0x2 (2)"]);
    batch.flush()?;
    assert_eq!(records("crate_fails")?.len(), 3);

    // Its index would mean another event there.
    let refused = other.batch().push(&event, &[0; 4]);
    assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::InvalidInput);
    drop(on);
    event.unregister()
}

#[test]
fn words_are_unregistered() -> io::Result<()> {
    let session = fresh()?;

    for _ in 0..100 {
        drop(session.register("crate_drop u32 a")?);
    }
    // It is unused as soon as the file is closed, and then removed in the background.
    drop(session);
    for _ in 0..1000 {
        match delete("crate_drop") {
            Err(e) if e.raw_os_error() == Some(EBUSY) => {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            _ => return Ok(()),
        }
    }
    panic!("the event is still in use");
}
