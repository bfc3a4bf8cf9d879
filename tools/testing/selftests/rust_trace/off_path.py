#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Checks what the events of trace_event! cost in an object of x86_64 while they are off: where an
event is hit there is a branch that is patched, which does nothing, and the code in which it
happens can only be reached if the branch is taken.

usage: off_path.py OBJECT SYSTEM FOLDER      FOLDER has a file or folder for each event
       off_path.py --self-test

Prints TAP. Follows all jumps from the beginning of each function, without the patched branches.
"""

import os
import re
import subprocess
import sys
from collections import defaultdict

INSTRUCTION = re.compile(r'^ *([0-9a-f]+):\t(?:rep |bnd |notrack )*(\S+) *([^#]*?) *(?:#.*)?$')
RELOCATION = re.compile(r'^\t+([0-9a-f]+): (R_\S+)\t(\S+?)([-+]0x[0-9a-f]+)?$')
SYMBOL = re.compile(r'^([0-9a-f]+) (.{7}) (\S+)\t([0-9a-f]+) (?:\.hidden )?(\S+)$')
# What a branch that is not taken is: two or five bytes.
NOP = re.compile(r'^(xchg|data16|nop[wl]?)( |$)')
# Functions of Rust that do not return, as objtool knows them: no instruction follows a call.
NO_RETURN = re.compile(r'^_R\w*_4core\w*(?:9panicking\w*|_failed|_fail)$')
# The size of an entry of the table of branches: code, target, key.
ENTRY = 16


class Object:
    """What objdump knows of an object: code, symbols, and the table of patched branches."""

    def __init__(self, symbols, code, data):
        self.functions, self.statics, self.sections = {}, defaultdict(list), set()
        self.globals = set()
        for line in symbols.splitlines():
            if m := SYMBOL.match(line):
                address, flags, section, size, name = int(m[1], 16), m[2], m[3], int(m[4], 16), m[5]
                if 'd' in flags and name == section:
                    self.sections.add(section)
                elif 'F' in flags and size:
                    self.functions[section, address] = name
                if 'O' in flags:
                    self.statics[section].append((address, size, name))
                if 'g' in flags and section != '*UND*':
                    self.globals.add(name)
        self.addresses = {name: place for place, name in self.functions.items()}
        self._read_code(code)
        self._read_data(data)

    def _read_code(self, text):
        """Instructions by their place, in order, each with the relocation within it."""
        self.code, self.following, section, last = {}, {}, None, None
        for line in text.splitlines():
            if line.startswith('Disassembly of section '):
                section, last = line[23:].rstrip(':'), None
            elif m := INSTRUCTION.match(line):
                place = section, int(m[1], 16)
                self.code[place] = [m[2], m[3], None]
                if last:
                    self.following[last] = place
                last = place
            elif (m := RELOCATION.match(line)) and last:
                self.code[last][2] = m[2], m[3], int(m[4] or '0', 16)

    def _read_data(self, text):
        """The relocations of other sections: the branches, and what points into code."""
        section, table = None, defaultdict(dict)
        self.pointed_at = set()
        for line in text.splitlines():
            if m := re.match(r'^RELOCATION RECORDS FOR \[(.*)\]:$', line):
                section = m[1]
            elif m := re.match(r'^([0-9a-f]+) (R_\S+) +(\S+?)([-+]0x[0-9a-f]+)?$', line):
                at, to = int(m[1], 16), (m[3], int(m[4] or '0', 16))
                if section == '__jump_table':
                    table[at // ENTRY][at % ENTRY] = to
                elif section.startswith('.rodata'):
                    self.pointed_at.add(to)
        # The place of a branch, with the name of its key and its target if that is
        # on.
        self.branches = {entry[0]: (self.static(*entry[8]), entry[4]) for entry in table.values()}

    def static(self, base, offset):
        """The name of the static that has this byte."""
        if base in self.sections:
            for address, size, name in self.statics[base]:
                if address <= offset < address + size:
                    return name
        return base

    def target(self, place):
        """Where a jump or a call goes: a place in this object, or the name of a function."""
        _, operands, relocation = self.code[place]
        if relocation:
            kind, base, addend = relocation
            if kind not in ('R_X86_64_PLT32', 'R_X86_64_PC32'):
                return None
            if base in self.sections:
                return base, addend + 4
            return self.addresses.get(base, base)
        m = re.match(r'^([0-9a-f]+)', operands)
        return (place[0], int(m[1], 16)) if m else None


def walk(obj, start, is_on):
    """The functions that are called on paths from `start`, with all branches off or on."""
    seen, called, todo = set(), set(), [start]

    def leave(target):
        if isinstance(target, str):
            called.add(target)
        elif target in obj.functions:
            called.add(obj.functions[target])
        elif target:
            todo.append(target)

    while todo:
        place = todo.pop()
        if place in seen or place not in obj.code:
            continue
        seen.add(place)
        name = obj.code[place][0]
        if name in ('ret', 'ud2', 'int3', 'retq'):
            continue
        if name.startswith('j'):
            if obj.code[place][1].startswith('*'):
                # A table, which may have any of the places in this section that data points at.
                todo += [p for p in obj.pointed_at if p[0] == place[0]]
            else:
                leave(obj.target(place))
            if name.startswith('jmp'):
                continue
        elif name.startswith('call'):
            target = obj.target(place)
            leave(target)
            if NO_RETURN.match(str(target)):
                continue
        if is_on and place in obj.branches:
            todo.append(obj.branches[place][1])
        if place in obj.following:
            todo.append(obj.following[place])
    return called


class Events:
    """The events of a system in an object."""

    def __init__(self, obj, system):
        self.obj = obj
        self.prefix = f'__SCT__tp_func_{system}__'

    def of_key(self, name):
        """The event whose tracepoint is the static of this mangled name, or None."""
        m = re.search(r'\d+_?__tracepoint_(\w+)$', name)
        return m[1] if m else None

    def branches(self):
        """The places of the branches of each event."""
        found = defaultdict(list)
        for place, (name, _) in self.obj.branches.items():
            found[self.of_key(name)].append(place)
        found.pop(None, None)
        return found

    def happens(self, called):
        """The events that happen in code that calls these functions."""
        return {f.removeprefix(self.prefix) for f in called if f.startswith(self.prefix)}


def without_branch(events, names):
    found = events.branches()
    return [f'{name} has none' for name in sorted(names) if not found[name]]


def not_nops(events, names):
    for name, places in sorted(events.branches().items()):
        for place in places:
            text = ' '.join(events.obj.code.get(place, ['nothing', '', None])[:2])
            if name in names and not NOP.match(text):
                yield f'{name}: {text} at {place[0]}+{place[1]:#x}'


def on_the_path(events):
    """Events that happen with all branches off, and functions for events alone that are called."""
    for place, function in sorted(events.obj.functions.items()):
        called = walk(events.obj, place, False)
        yield from (f'{name} happens in {function}' for name in sorted(events.happens(called)))
        for name in sorted(called):
            if re.search(r'\d+_?trace_\w+$', name):
                yield f'{function} calls {name}'


def never_happening(events, names):
    """That all are found behind the branches shows that the others are not overlooked."""
    found = set()
    for place in events.obj.functions:
        found |= events.happens(walk(events.obj, place, True))
    return [f'{name} happens nowhere' for name in sorted(set(names) - found)]


def check(obj, system, names):
    events = Events(obj, system)
    return [
        ('each event has a branch', without_branch(events, names)),
        ('a branch does nothing while the event is off', list(not_nops(events, names))),
        ('nothing is called for an event that is off', list(on_the_path(events))),
        ('each event happens where its branch goes', never_happening(events, names)),
    ]


SELF_TEST = """
0000000000000000 l    d  .text\t0000000000000000 .text
0000000000000000 l    d  __tracepoints\t0000000000000000 __tracepoints
0000000000000000 l     O __tracepoints\t0000000000000048 _RN1a16___tracepoint_go
0000000000000000 g     F .text\t0000000000000020 hits
0000000000000020 l     F .text\t0000000000000010 _RN1a8trace_it
0000000000000000         *UND*\t0000000000000000 __SCT__tp_func_s__go
""", """
Disassembly of section .text:

0000000000000000 <hits>:
   0:\txchg  %ax,%ax
   2:\tje     9 <hits+0x9>
   4:\tcall   9 <hits+0x9>
\t\t\t5: R_X86_64_PLT32\tother-0x4
   8:\tret
   9:\tcall   e <hits+0xe>
\t\t\ta: R_X86_64_PLT32\t_RNvNtCs1_4core6option13unwrap_failed-0x4
   e:\tcall   13 <hits+0x13>
\t\t\tf: R_X86_64_PLT32\t__SCT__tp_func_s__go-0x4
  13:\tjmp    2 <hits+0x2>

0000000000000020 <_RN1a8trace_it>:
  20:\tret
""", """
RELOCATION RECORDS FOR [__jump_table]:
OFFSET           TYPE              VALUE
0000000000000000 R_X86_64_PC32     .text
0000000000000004 R_X86_64_PC32     .text+0x000000000000000e
0000000000000008 R_X86_64_PC64     __tracepoints+0x0000000000000008
"""


def self_test():
    def failing(code=('', ''), data=('', ''), names=('go',)):
        obj = Object(SELF_TEST[0], SELF_TEST[1].replace(*code), SELF_TEST[2].replace(*data))
        return [n for n, (_, problems) in enumerate(check(obj, 's', names), 1) if problems]

    assert failing() == []
    assert failing(names=('go', 'stay')) == [1, 4]
    # A jump in the place of the branch, and a branch that skips the event.
    assert failing(code=('xchg  %ax,%ax', 'jmp    e <hits+0xe>')) == [2, 3]
    assert failing(data=('000e', '0002')) == [4]
    # The event on the common path, and a function that exists for events.
    assert failing(code=('9 <hits+0x9>', 'e <hits+0xe>')) == [3]
    assert failing(code=('unwrap_failed', 'unwrap')) == [3]
    assert failing(code=('PLT32\tother', 'PLT32\t_RN1a8trace_it')) == [3]
    # Another key.
    assert failing(data=('__tracepoints+', 'other+')) == [1]


def dump(*args):
    return subprocess.run(['objdump', *args], check=True, capture_output=True, text=True).stdout


def report(cases):
    print('TAP version 13')
    print(f'1..{len(cases)}')
    for number, (name, problems) in enumerate(cases, 1):
        for problem in problems[:20]:
            print(f'# {problem}')
        print(f'{"not " if problems else ""}ok {number} {name}')
    return any(problems for _, problems in cases)


def main():
    if sys.argv[1:] == ['--self-test']:
        return self_test()
    path, system, folder = sys.argv[1:]
    obj = Object(dump('-t', path), dump('-dr', '--no-show-raw-insn', path), dump('-r', path))
    return report(check(obj, system, os.listdir(folder)))


if __name__ == '__main__':
    sys.exit(1 if main() else 0)
