#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Prints which cache lines CPUs share, from the files of bench/lines_plugin.c; see scripts/lines.

usage: scripts/lines.py [--private TRIGGER]... PHASES SYSTEM.MAP FILE...

PHASES is what the group "lines" of the benchmark has printed: number, records of each CPU, trigger.
The first phase is without a histogram; the others are compared with it. Each FILE is of one guest.

A line is shared if a CPU writes to it that another CPU reads or writes. Only code that runs on each
CPU for most records counts, so that of interrupts does not; instructions are those of code that
runs for each record, as often as it does for all of them.

With --private it is an error if CPUs share a line in the phase of a TRIGGER, or if its number of
instructions depends on the guest.
"""

import argparse
import bisect
import collections
import functools
import operator
import re
import sys


class Symbols:
    """The functions of a kernel."""

    def __init__(self, path):
        found = []
        with open(path, encoding="ascii") as file:
            for line in file:
                address, kind, name = line.split()
                if kind in "tTwW":
                    found.append((int(address, 16), name))
        found.sort()
        self.addresses = [address for address, _ in found]
        self.names = [readable(name) for _, name in found]

    def name(self, address):
        """The function at an address."""
        return self.names[bisect.bisect_right(self.addresses, address) - 1]


def readable(name):
    """The last identifiers of a name that Rust has mangled."""
    if not name.startswith("_R"):
        return name
    found, at = [], 2
    while at < len(name):
        if match := re.compile(r"[Bs][0-9a-zA-Z]*_").match(name, at):
            at = match.end()
        elif match := re.compile(r"([1-9]\d*)_?").match(name, at):
            at = match.end() + int(match[1])
            found.append(name[match.end():at])
        else:
            at += 1
    return "::".join(found[-3:])


class Phase:
    """What the CPUs of a guest have done in one phase, in code that runs for most records."""

    def __init__(self, rows, cpus, records, symbols):
        executed = collections.Counter()
        for cpu, kind, address, _, count in rows:
            executed[kind, address, cpu] += count
        self.rows = [row for row in rows
                     if all(executed[row[1], row[2], cpu] >= records / 2 for cpu in cpus)]
        self.cpus, self.records, self.symbols = cpus, records, symbols

    def instructions(self):
        """CPU -> function -> instructions a record."""
        found = {cpu: collections.Counter() for cpu in self.cpus}
        for cpu, kind, address, number, count in self.rows:
            if kind == "x":
                # Interrupts can only add to it.
                found[cpu][self.symbols.name(address)] += number * int(count / self.records + 0.02)
        return found

    def shared(self):
        """The number of shared lines; function -> writes a record to them, and all reads.

        What is written to for less than one record in a hundred is a stack that two CPUs have had.
        """
        users, writes = collections.defaultdict(set), collections.Counter()
        for cpu, kind, _, where, count in self.rows:
            if kind != "x":
                users[where].add(cpu)
            if kind == "w":
                writes[where] += count
        lines = {where for where, count in writes.items()
                 if len(users[where]) > 1 and count >= self.records / 100}
        writers, reads = collections.Counter(), 0
        for _, kind, address, where, count in self.rows:
            if kind != "x" and where in lines:
                if kind == "w":
                    writers[self.symbols.name(address)] += count / self.records / len(self.cpus)
                else:
                    reads += count / self.records / len(self.cpus)
        return len(lines), writers, reads


def read(path, phases, symbols):
    """The phases of a file."""
    rows, cpus = collections.defaultdict(list), set()
    with open(path, encoding="ascii") as file:
        for line in file:
            phase, cpu, kind, address, where, count = line.split()
            rows[int(phase)].append((int(cpu), kind, int(address, 16), int(where, 16), int(count)))
            cpus.add(int(cpu))
    return {phase: Phase(rows[phase], sorted(cpus), records, symbols)
            for phase, (records, _) in phases.items()}


def span(numbers):
    """The least and the largest of some numbers, as text."""
    return "-".join(str(number) for number in sorted({min(numbers), max(numbers)}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--private", action="append", default=[])
    parser.add_argument("phases")
    parser.add_argument("map")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()

    phases = {}
    with open(options.phases, encoding="ascii") as file:
        for line in file:
            phase, records, trigger = line.rstrip("\n").split("\t")
            phases[int(phase)] = int(records), trigger
    symbols = Symbols(options.map)
    print(f"{'':22} {'':4}  instructions a record    shared lines that are written to\n"
          f"{'trigger':22} CPUs {'all':>9} {'of the hit':>12}   {'lines':>5} {'writes':>7} {'reads':>6}  by")
    shared, costs, hits = set(), collections.defaultdict(set), {}
    for path in options.files:
        base = None
        for phase, what in read(path, phases, symbols).items():
            trigger = phases[phase][1]
            functions = what.instructions()
            # What else a CPU does can only add to it.
            least = functools.reduce(operator.and_, functions.values())
            base = base or least
            hits[trigger] = {name: least[name] - base[name] for name in least}
            totals = {cpu: functions[cpu].total() for cpu in what.cpus}
            cost = [total - base.total() for total in totals.values()]
            lines, writers, reads = what.shared()
            print(f"{trigger or '(none)':22} {len(what.cpus):4} {span(totals.values()):>9} {span(cost):>12}"
                  f"   {lines:5} {writers.total():7.2f} {reads:6.2f}  {', '.join(sorted(writers))}")
            costs[trigger].update(cost)
            if lines:
                shared.add(trigger)
    print("\nInstructions of a hit, by function:")
    for trigger, names in hits.items():
        if trigger:
            print(f"{trigger}: " + ", ".join(f"{name} {count}" for name, count
                                             in sorted(names.items(), key=lambda item: -item[1]) if count))
    wrong = [t for t in options.private if t in shared or len(costs[t]) != 1]
    if wrong:
        sys.exit(f"{', '.join(wrong)}: CPUs share a line, or what a hit costs depends on their number")


if __name__ == "__main__":
    main()
