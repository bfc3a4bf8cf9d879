// SPDX-License-Identifier: GPL-2.0

//! Counters with a part for each CPU.

use crate::{
    error::Result,
    model,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        rcu::CPUS, //
    },
};

pub struct PerCpuCounter([Atomic<u64>; CPUS]);

impl PerCpuCounter {
    pub fn new() -> Result<Self> {
        Ok(Self([const { Atomic::new(0) }; CPUS]))
    }

    #[track_caller]
    pub fn add(&self, n: usize) {
        self.0[model::cpu() as usize].add_here(n as u64);
    }

    #[track_caller]
    pub fn sum(&self) -> u64 {
        self.0.iter().map(|part| part.load(Relaxed)).sum()
    }

    #[track_caller]
    pub fn reset(&self) {
        for part in &self.0 {
            part.store(0, Relaxed);
        }
    }
}

pub struct Counters(Vec<PerCpuCounter>);

impl Counters {
    pub fn new(len: usize) -> Result<Self> {
        (0..len)
            .map(|_| PerCpuCounter::new())
            .collect::<Result<_>>()
            .map(Self)
    }

    pub fn size_of(len: usize) -> usize {
        len * CPUS * size_of::<u64>()
    }

    pub fn size(&self) -> usize {
        Self::size_of(self.0.len())
    }

    #[track_caller]
    pub fn add(&self, index: usize, n: usize) {
        self.0[index].add(n);
    }

    #[track_caller]
    pub fn sum(&self, index: usize) -> u64 {
        self.0[index].sum()
    }

    #[track_caller]
    pub fn reset(&self) {
        self.0.iter().for_each(PerCpuCounter::reset);
    }
}
