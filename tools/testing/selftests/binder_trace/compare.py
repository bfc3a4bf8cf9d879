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

BR_DEAD_REPLY, BR_FAILED_REPLY = 0x7205, 0x7211
BC_ENTER_LOOPER, BC_EXIT_LOOPER = 0x630c, 0x630d
PAGE = 4096
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


def values(text):
    return {name: number(value) for name, value in re.findall(r'(\w+)=(.*?)(?= \w+=|$)', text)}


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
        for name, value in values(rest).items():
            if name in PIDS:
                value = pids.get(value, f'?{value}')
            elif name in IDS:
                value = ids.setdefault(value, f'#{len(ids)}')
            elif name == 'arg':
                value = args.setdefault(value, f'@{len(args)}')
            fields[name] = value
        out.append(Record(pids.get(int(pid), 'worker' if comm.startswith('kworker') else comm), event, fields))
    return out


def renumber(records):
    """Ids in the order in which they are seen, without those of records that a rule has removed."""
    ids = {'0': '0'}
    for r in records:
        for name in [f for f in r.fields if f in IDS]:
            r.fields[name] = ids.setdefault(r.fields[name], f'#{len(ids)}')


# Differences of the drivers. A rule takes the records of C and of Rust, changes them to what is
# compared, and returns whether it was needed. The rows are in deviations.rst.

RULES = []


def rule(reason):
    def add(function):
        RULES.append((reason, function))
        return function
    return add


def plain(r):
    """The text of a record without ids, which depend on the records before it."""
    return f'{r.who}: {r.event}' + ''.join(f' {k}={v}' for k, v in r.fields.items() if k not in IDS)


def take(records, texts):
    """Removes the records with these texts, which are in a row and nowhere else. Returns their index."""
    found = [i for i in range(len(records)) if [plain(r) for r in records[i:i + len(texts)]] == texts]
    if len(found) != 1:
        return None
    del records[found[0]:found[0] + len(texts)]
    return found[0]


def range_text(who, proc, allocate, page):
    return f'{who}: update_page_range proc={proc} allocate={allocate} offset={page * PAGE} size={PAGE}'


def page_released(who, proc, page):
    return [range_text(who, proc, 0, page)] + [f'{who}: free_lru_{x} proc={proc} page_index={page}' for x in ('start', 'end')]


def failed_buffer(who, proc, data, offsets):
    """A buffer in the first page, which the shrinker has, for a transaction that fails."""
    sizes = f'data_size={data} offsets_size={offsets} extra_buffers_size=0'
    return [range_text(who, proc, 1, 0)] + [f'{who}: alloc_lru_{x} proc={proc} page_index=0' for x in ('start', 'end')] + \
        [f'{who}: transaction_{x} {sizes}' for x in ('alloc_buf', 'failed_buffer_release')] + page_released(who, proc, 0)


@rule('C reports each part of a release, also those without a page, Rust the range of pages once')
def binder_release_range__empty(c, rust):
    """In C the end of such a part may be the beginning of the page before it."""
    def pages(records, sizes):
        found = [r for r in records if r.event == 'update_page_range' and not r.fields['allocate'] and r.fields['size'] <= 0]
        records[:] = [r for r in records if r not in found]
        return len(found), all(r.fields['size'] in sizes and r.fields['offset'] % PAGE == 0 for r in found)
    (of_c, c_right), (of_rust, rust_right) = pages(c, {0, -PAGE}), pages(rust, {0})
    return of_c > of_rust and c_right and rust_right


@rule('if neighbours use the page of a buffer, C reports no page, Rust this page')
def binder_shared_pages__range(c, rust):
    shared = [r for r in c if r.event == 'update_page_range' and r.fields['allocate'] and r.fields['size'] <= 0]
    # The page has no event of its own.
    full = [r for r, after in zip(rust, rust[1:]) if r.event == 'update_page_range' and r.fields['allocate'] and
            after.event == 'transaction_alloc_buf']
    for of_c, of_rust in zip(shared, full):
        if of_rust.fields['size'] != PAGE or of_c.fields['size'] not in (0, -PAGE) or \
                of_c.fields['offset'] != of_rust.fields['offset'] + PAGE:
            return False
        of_c.fields.update(offset=of_rust.fields['offset'], size=PAGE)
    return len(shared) == len(full) > 0


@rule('C does not report the end of a transaction that another one replaces')
def binder_replaced__end(c, rust):
    replaced = {r.fields['debug_id'] for r in rust if r.event == 'transaction_update_buffer_release'}
    found = [r for r in rust if r.event == 'txn_latency_free' and r.fields['debug_id'] in replaced]
    rust[:] = [r for r in rust if r not in found]
    text = 'bob: txn_latency_free from_proc=0 from_thread=0 to_proc=alice to_thread=0 code=11 flags=65'
    return [plain(r) for r in found] == [text] and len(replaced) == 1


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


def shrinks_in_order(records):
    """Whether the shrinker takes the pages in the order in which they were released."""
    released = []
    for r in records:
        page = (r.fields.get('proc'), r.fields.get('page_index'))
        if r.event == 'free_lru_start' and page not in released:
            released.append(page)
        elif r.event in ('alloc_lru_start', 'unmap_kernel_start'):
            if page not in (released if r.event == 'alloc_lru_start' else released[:1]):
                return False
            released.remove(page)
    return True


@rule('Rust releases the pages of a range from the last to the first, so the shrinker sees them last first')
def binder_release_order__pages(c, rust):
    if not (shrinks_in_order(c) and shrinks_in_order(rust)):
        return False
    release = {'free_lru_start', 'free_lru_end'}
    needed = False
    for events in (release, {'unmap_kernel_start', 'unmap_kernel_end', 'unmap_user_start', 'unmap_user_end'}):
        for records in (c, rust):
            for start, end in runs(records, events):
                pages = sorted(records[start:end], key=lambda r: r.fields['page_index'])
                if pages != records[start:end] and events is release:
                    # The other way round, and only in Rust.
                    upside_down = sorted(records[start:end], key=lambda r: -r.fields['page_index'])
                    if records is c or upside_down != records[start:end]:
                        return False
                    needed = True
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
    start = take(c, failed_buffer('bob', 'server', 8, 4))
    return start is not None and (c[start - 1].event, c[start].event) == ('transaction', 'txn_latency_free')


@rule('the reply to a thread that has ended is copied by Rust, and reported by netlink in C')
def binder_dead_reply__copied(c, rust):
    report = take(c, [f'server: netlink_report context=binder error={BR_DEAD_REPLY} from_pid=server from_tid=server to_pid=0 '
                      'to_tid=0 is_reply=1 flags=0 code=0 data_size=50'])
    copied = take(rust, ['server: transaction to_proc=alice to_thread=alice reply=1 code=0 flags=0'] +
                  failed_buffer('server', 'alice', 50, 0) +
                  ['server: txn_latency_free from_proc=0 from_thread=0 to_proc=alice to_thread=alice code=0 flags=0'])
    return report is not None and copied is not None


@rule('C releases the buffers that a process has received when it ends, Rust all of its memory at once')
def binder_kept_buffers__released(c, rust):
    text = page_released('worker', 'alice', 0)
    return take(c, text) is not None and not any(plain(r) in text for r in rust)


@rule('a buffer for whose transaction there is no room to write is released in C when the process ends, in Rust at once')
def binder_fault__released(c, rust):
    at_end, at_once = take(c, page_released('worker', 'alice', 2)), take(rust, page_released('alice', 'alice', 2))
    return at_end is not None and at_once is not None


@rule('C takes bytes at the end that are no whole command for the beginning of one')
def binder_part_of_command__read(c, rust):
    # The test has no other one, except for the last command of the server.
    start = take(c, [f'bob: command cmd={BC_EXIT_LOOPER}'])
    return start is not None and plain(c[start - 1]) == f'bob: command cmd={BC_ENTER_LOOPER}'


@rule('Rust reports the sender of a call that C has taken off the stack of its sender, C 0')
def binder_sender__pids(c, rust):
    needed = False
    for records in (c, rust):
        senders = {}
        for r, after in zip(records, records[1:] + [None]):
            if r.event == 'transaction':
                senders[r.fields['debug_id']] = '0' if r.fields['reply'] or r.fields['flags'] & 1 else r.who
            if r.event == 'txn_latency_free':
                sender = wanted = senders[r.fields['debug_id']]
                # A call that fails before it is on the stack ends just before the report.
                failed = after and after.event == 'netlink_report' and after.who == sender and \
                    after.fields['error'] == BR_FAILED_REPLY and not after.fields['is_reply']
                if records is c and sender != '0' and not failed:
                    wanted = '0'
                    needed = True
                if (r.fields['from_proc'], r.fields['from_thread']) == (wanted, wanted):
                    r.fields.update(from_proc=sender, from_thread=sender)
                else:
                    return False
    return needed


@rule('if a process ends, C releases the buffers of undelivered transactions after the end of all of these')
def binder_undelivered__order(c, rust):
    for page in 1, 3:
        of_c, of_rust = (take(records, page_released('worker', 'alice', page)) for records in (c, rust))
        if None in (of_c, of_rust) or rust[of_rust - 1].event != 'txn_latency_free':
            return False
    # The two before are those which end.
    return [plain(r) for r in c[of_c - 2:of_c]] == [plain(r) for r in rust[of_rust - 2:of_rust]]


@rule('a thread that is no looper waits for no work of its process in Rust')
def binder_no_looper__proc_work(c, rust):
    of_c, of_rust = ([r for r in records if plain(r) == f'bob: wait_for_work proc_work={n} transaction_stack=0 thread_todo=0']
                     for records, n in ((c, 1), (rust, 0)))
    for r in of_c:
        r.fields['proc_work'] = 0
    return len(of_c) == len(of_rust) == 1


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


def report_texts(c, rust):
    """The driver in C cannot print these: see binder-context in deviations.rst."""
    of_c = [re.match(r'print fmt: "(.*)", (.*)', l) for l in lines(f'{c}/format/binder_netlink_report')][-1]
    names = re.findall(r'REC->(\w+)', of_c.group(2))
    found = {kind: [m.group(4) for m in map(LINE.match, lines(f'{rust}/{kind}')) if m and m.group(3) == 'netlink_report']
             for kind in ('fields', 'text')}
    wanted = [of_c.group(1).replace('%zu', '%d') % tuple(values(f)[n] for n in names) for f in found['fields']]
    return list(difflib.unified_diff(wanted, found['text'], 'C', 'Rust', lineterm='', n=0)) if wanted else ['there are none']


def main():
    c, rust = sys.argv[1:]
    print('TAP version 13')
    print(f'1..{len(os.listdir(f"{c}/format")) + 5 + len(RULES)}')
    formats(c, rust)
    strange = {'C': [], 'Rust': []}
    sides = {'C': records(c, strange['C']), 'Rust': records(rust, strange['Rust'])}
    for side, found in sides.items():
        problems = strange[side] + ([] if len(found) > 100 else [f'there are {len(found)}'])
        case(f'records of {side} are complete', problems)
    for reason, function in RULES:
        needed = function(*sides.values())
        case(f'{function.__name__}: {reason}', [] if needed else ['the records have no such difference'])
    case('the texts of netlink reports are what the format of C makes of their fields', report_texts(c, rust))
    shapes = [sorted({re.sub(r'0x[0-9a-f]+|-?\b\d+', 'N', m.group(3) + ': ' + m.group(4))
                      for m in map(LINE.match, lines(f'{folder}/text')) if m and m.group(3) != 'netlink_report'})
              for folder in (c, rust)]
    case('the texts of the records have the same form', list(difflib.unified_diff(*shapes, 'C', 'Rust', lineterm='', n=0)))
    for found in sides.values():
        renumber(found)
    texts = [[str(r) for r in found] for found in sides.values()]
    case('the records are the same', list(difflib.unified_diff(*texts, 'C', 'Rust', lineterm='', n=3)))
    return failed


sys.exit(1 if main() else 0)
