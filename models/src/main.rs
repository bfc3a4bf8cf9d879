// SPDX-License-Identifier: GPL-2.0

//! Models of the lock-free code: its source files, unchanged, under model checkers.
//!
//! The files of the kernel are symbolic links, `models_*` are the models. See
//! Documentation/trace/rust/models.rst.
//!
//! usage: `models --list`, `models --seed`, `models NAME`, `models NAME EXECUTION`

#![allow(dead_code, unused_imports)]

mod gate;
mod limits;
mod map;
mod program;
mod user_events;

mod models_map;
mod models_poll;
mod models_retry;
mod models_reuse;
mod models_sets;
mod models_snapshot;
mod models_user_events;
mod models_vars;
mod models_vec;

use kernel::{
    model::{
        self,
        Check,
        Model, //
    },
    // As in the root of the crate `kernel`.
    sync, //
};
use std::{
    env,
    panic,
    process::ExitCode,
    time::Instant, //
};

fn all() -> impl Iterator<Item = &'static Model> {
    [
        models_map::MODELS,
        models_vars::MODELS,
        models_reuse::MODELS,
        models_poll::MODELS,
        models_snapshot::MODELS,
        models_vec::MODELS,
        models_user_events::MODELS,
        models_sets::MODELS,
        models_retry::MODELS,
    ]
    .into_iter()
    .flatten()
}

fn run(model: &'static Model) -> bool {
    let start = Instant::now();
    let kind = match model.check {
        Check::All(n) => format!("all interleavings with {n} preemptions"),
        Check::Every => "all interleavings".to_string(),
        Check::Random(_) => format!("random interleavings, seed {}", model::seed()),
    };
    let result = panic::catch_unwind(|| model::check(model));

    match result {
        Ok(executions) => {
            println!(
                "ok {} # {kind}: {executions} executions, {:.1} s",
                model.name,
                start.elapsed().as_secs_f64()
            );
            true
        }
        Err(_) => {
            show(model, model::executions());
            println!("not ok {} # {kind}", model.name);
            false
        }
    }
}

/// Prints the steps of an execution.
fn show(model: &'static Model, execution: u64) {
    panic::set_hook(Box::new(|_| ()));
    for line in model::trace(model, execution) {
        println!("#   {line}");
    }
}

fn main() -> ExitCode {
    let args: Vec<_> = env::args().skip(1).collect();

    match args.first().map(String::as_str) {
        Some("--list") => {
            for model in all() {
                println!("{}", model.name);
            }
            ExitCode::SUCCESS
        }
        Some("--seed") => {
            println!("{}", model::seed());
            ExitCode::SUCCESS
        }
        Some(name) => match all().find(|model| model.name == name) {
            Some(model) if args.len() > 1 => {
                show(model, args[1].parse().unwrap_or(1));
                ExitCode::SUCCESS
            }
            Some(model) if run(model) => ExitCode::SUCCESS,
            Some(_) => ExitCode::FAILURE,
            None => {
                eprintln!("there is no model {name}");
                ExitCode::from(2)
            }
        },
        None => {
            eprintln!("usage: models --list | --seed | NAME");
            ExitCode::from(2)
        }
    }
}
