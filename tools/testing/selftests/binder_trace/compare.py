#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Compares what binder_trace_test.sh has recorded with the binder driver in C and with the one in
Rust: the format of each event, byte for byte, and the sequence of all records with their fields.

usage: compare.py C RUST

Prints TAP. Ids, pids and addresses are replaced by names, in the order in which they are first
seen. What the drivers do in different ways is in RULES, each with a reason; a rule that nothing
needs is a failure.
"""

import difflib
import os
import re
import sys

BR_DEAD_REPLY = 29189
PIDS = {'proc', 'to_proc', 'to_thread', 'from_proc', 'from_thread', 'from_pid', 'from_tid', 'to_pid', 'to_tid'}
IDS = {'debug_id', 'target_node', 'node_debug_id', 'ref_debug_id', 'src_ref_debug_id', 'dest_ref_debug_id'}
LINE = re.compile(r'^ *(\S+)-(\d+) +\[\d+\] \S+ +\S+: binder_(\w+): ?(.*)$')


class Record:
    def __init__(self, who, event, fields):
        self.who, self.event, self.fields = who, event, fields

    def __str__(self):
        return f'{self.who}: {self.event}' + ''.join(f' {k}={v}' for k, v in self.fields.items())


def lines(path):
    with open(path, encoding='utf-8', errors='replace') as f:
        return f.read().splitlines()


def number(text):
    """The value of a field, as the option "fields" shows it: a number in parentheses is last."""
    m = re.search(r'\((-?\d+)\)$', text)
    if m:
        return int(m.group(1))
    m = re.match(r'\(0x[0-9a-f]+:(.*)\)$', text)
    return m.group(1) if m else text


def records(folder, strange):
    """The records of one driver, in their order. Lines that are none are appended to `strange`."""
    pids = {0: '0'}
    for line in lines(f'{folder}/steps'):
        if line.startswith('process '):
            _, name, pid = line.split()
            pids[int(pid)] = name
    ids, args = {0: '0'}, {0: '0'}
    out = []
    for line in lines(f'{folder}/fields'):
        m = LINE.match(line)
        if not m:
            if line and not line.startswith('#'):
                strange.append(line)
            continue
        comm, pid, event, rest = m.groups()
        fields = {}
        for name, value in re.findall(r'(\w+)=(.*?)(?= \w+=|$)', rest):
            value = number(value)
            if name in PIDS:
                value = pids.get(value, f'?{value}')
            elif name in IDS:
                value = ids.setdefault(value, f'#{len(ids)}')
            elif name == 'arg':
                value = args.setdefault(value, f'@{len(args)}')
            fields[name] = value
        out.append(Record(pids.get(int(pid), comm), event, fields))
    return out


# Differences of the drivers. A rule takes the records of C and of Rust, changes them to what is
# compared, and returns whether it was needed. The rows are in deviations.rst.

RULES = []


def rule(reason):
    def add(function):
        RULES.append((reason, function))
        return function
    return add


@rule('C reports each part of a release, also those without a page, Rust the range of pages once')
def binder_release_range__empty(c, rust):
    """In C the size may be less than 0, which is huge as a size_t."""
    def pages(records):
        return [r for r in records if r.event != 'update_page_range' or r.fields['allocate'] or r.fields['size'] > 0]
    needed = len(c) - len(pages(c)) != len(rust) - len(pages(rust))
    c[:], rust[:] = pages(c), pages(rust)
    return needed


@rule('if neighbours use all pages of a buffer, C reports no page, Rust these pages')
def binder_shared_pages__range(c, rust):
    shared = [r for r in c if r.event == 'update_page_range' and r.fields['size'] <= 0]
    # None of the pages has an event of its own.
    full = [r for r, after in zip(rust, rust[1:]) if r.event == 'update_page_range' and r.fields['allocate'] and
            after.event == 'transaction_alloc_buf']
    for r in shared + full:
        del r.fields['offset'], r.fields['size']
    return len(shared) == len(full) > 0


@rule('C does not report the end of a transaction that another one replaces')
def binder_replaced__end(c, rust):
    replaced = {r.fields['debug_id'] for r in rust if r.event == 'transaction_update_buffer_release'}
    found = [r for r in rust if r.event == 'txn_latency_free' and r.fields['debug_id'] in replaced]
    rust[:] = [r for r in rust if r not in found]
    return len(found) == len(replaced) > 0


def span(records, debug_id):
    """The indices of the first and the last record of a transaction."""
    found = [i for i, r in enumerate(records) if r.fields.get('debug_id') == debug_id]
    return found[0], found[-1]


def runs(records, events):
    """The slices of consecutive records of these events and of one process."""
    start = 0
    while start < len(records):
        end = start + 1
        if records[start].event in events:
            while end < len(records) and records[end].event in events and \
                    records[end].fields['proc'] == records[start].fields['proc']:
                end += 1
            yield start, end
        start = end


@rule('Rust releases the pages of a range from the last to the first, so the shrinker sees them last first')
def binder_release_order__pages(c, rust):
    needed = False
    for events in ({'free_lru_start', 'free_lru_end'},
                   {'unmap_kernel_start', 'unmap_kernel_end', 'unmap_user_start', 'unmap_user_end'}):
        for records in (c, rust):
            for start, end in runs(records, events):
                pages = sorted(records[start:end], key=lambda r: r.fields['page_index'])
                needed |= records is rust and pages != rust[start:end]
                records[start:end] = pages
    return needed


@rule('C releases pages from the list of the shrinker before it allocates others, Rust goes page by page')
def binder_page_order__mixed(c, rust):
    needed = False
    events = {'alloc_lru_start', 'alloc_lru_end', 'alloc_page_start', 'alloc_page_end'}
    for start, end in runs(rust, events):
        pages = sorted(rust[start:end], key=lambda r: r.event.startswith('alloc_page'))
        needed |= pages != rust[start:end]
        rust[start:end] = pages
    return needed


@rule('C allocates a buffer before it looks at the size of the offsets')
def binder_odd_offsets__unallocated(c, rust):
    odd = [r.fields['debug_id'] for r in c if r.event == 'transaction_alloc_buf' and r.fields['offsets_size'] % 8]
    for t in odd:
        start, end = span(c, t)
        if c[start].event != 'transaction' or c[end].event != 'txn_latency_free':
            return False
        del c[start + 1:end]
    return len(odd) == 1


@rule('the reply to a thread that has ended is copied by Rust, and reported by netlink in C')
def binder_dead_reply__copied(c, rust):
    dead = [r for r in c if r.event == 'netlink_report' and r.fields['is_reply'] and r.fields['error'] == BR_DEAD_REPLY]
    failed = {r.fields['debug_id'] for r in rust if r.event == 'transaction_failed_buffer_release'}
    replies = [r.fields['debug_id'] for r in rust if r.event == 'transaction' and r.fields['reply'] and
               r.fields['debug_id'] in failed]
    c[:] = [r for r in c if r not in dead]
    for t in replies:
        start, end = span(rust, t)
        if rust[end].event != 'txn_latency_free':
            return False
        del rust[start:end + 1]
    return len(dead) == len(replies) == 1


@rule('Rust reports the sender of a transaction that was replied to, C 0')
def binder_sender__pids(c, rust):
    senders, needed = {}, False
    for records in (c, rust):
        for r in records:
            if r.event == 'transaction':
                none = r.fields['reply'] or r.fields['flags'] & 1
                senders[r.fields['debug_id']] = '0' if none else r.who
            if r.event == 'txn_latency_free':
                sender = {r.fields.pop('from_proc'), r.fields.pop('from_thread')}
                if records is c and sender == {'0'}:
                    needed |= senders[r.fields['debug_id']] != '0'
                elif sender != {senders[r.fields['debug_id']]}:
                    r.fields['from'] = f'{sender}, which is not the sender'
    return needed


@rule('the first reads of the context manager in Rust have its node queued')
def binder_manager_node__queued(c, rust):
    needed = False
    for r in rust:
        if r.event == 'return':
            break
        if r.event == 'wait_for_work' and r.who == 'server' and r.fields['thread_todo']:
            r.fields['thread_todo'] = 0
            needed = True
    return needed


count = failed = 0


def case(name, problems):
    global count, failed
    count += 1
    for p in problems:
        print(f'# {p}')
    failed += bool(problems)
    print(f'{"not " if problems else ""}ok {count} {name}')


def formats(c, rust):
    """The format files, without the line that has the id."""
    names = sorted(set(os.listdir(f'{c}/format')) | set(os.listdir(f'{rust}/format')))
    for name in names:
        texts = []
        for folder in (c, rust):
            path = f'{folder}/format/{name}'
            texts.append([l for l in lines(path) if not l.startswith('ID: ')] if os.path.exists(path) else ['none'])
        problems = list(difflib.unified_diff(*texts, 'C', 'Rust', lineterm=''))
        if name in ('binder_command', 'binder_return'):
            # What C has there cannot be evaluated: see binder-names in deviations.rst.
            for text in texts:
                text[-1] = re.sub(r'(print fmt: "cmd=0x%x %s", REC->cmd, ).*', r'\1NAME', text[-1])
            unlike = not problems
            problems = list(difflib.unified_diff(*texts, 'C', 'Rust', lineterm=''))
            if unlike:
                problems.append('the print formats are the same, which they are not to be')
        if name == 'binder_netlink_report':
            # The name itself, not its address: see binder-context in deviations.rst. It takes less room.
            c_text, rust_text = ([re.sub(r'offset:\d+;', '', l) for l in text] for text in texts)
            c_text = [l.replace('\tfield:const char * context;\t\tsize:8;', '\tfield:__data_loc char[] context;\t\tsize:4;')
                      .replace(' REC->context', ' __get_str(context)') for l in c_text]
            problems = list(difflib.unified_diff(c_text, rust_text, 'C', 'Rust', lineterm='')) if problems else \
                ['the formats are the same, which they are not to be']
        case(f'format {name}', problems)
    return len(names)


def main():
    c, rust = sys.argv[1:]
    print('TAP version 13')
    print(f'1..{len(os.listdir(f"{c}/format")) + 4 + len(RULES)}')
    formats(c, rust)
    strange = {'C': [], 'Rust': []}
    sides = {'C': records(c, strange['C']), 'Rust': records(rust, strange['Rust'])}
    for side, found in sides.items():
        problems = strange[side] + ([] if len(found) > 100 else [f'there are {len(found)}'])
        case(f'records of {side} are complete', problems)
    for reason, function in RULES:
        needed = function(*sides.values())
        case(f'{function.__name__}: {reason}', [] if needed else ['the records have no such difference'])
    shapes = [sorted({re.sub(r'0x[0-9a-f]+|-?\b\d+', 'N', m.group(3) + ': ' + m.group(4))
                      for m in map(LINE.match, lines(f'{folder}/text')) if m}) for folder in (c, rust)]
    case('the texts of the records have the same form', list(difflib.unified_diff(*shapes, 'C', 'Rust', lineterm='', n=0)))
    texts = [[str(r) for r in found] for found in sides.values()]
    case('the records are the same', list(difflib.unified_diff(*texts, 'C', 'Rust', lineterm='', n=3)))
    return failed


sys.exit(1 if main() else 0)
