# SPDX-License-Identifier: GPL-2.0
#
# Versions of Rust files for a tree that has only a part of the overlay: what
# scripts/series.py commits while the series grows.
#
# A file that declares modules is committed without those that do not compile
# yet. A module compiles if its file exists and all modules of the overlay that
# it uses compile. What is left out is its `mod` line and the names that other
# files re-export from it. If a file uses such a name itself, then that file does
# not compile yet, either. All of this is read from the sources, so that it stays
# right when they change. As long as something is missing, the root of the
# modules allows code that nothing uses, and has the beginning of its
# documentation only.
#
# Likewise, the file with the options is committed without those whose code
# cannot be linked yet.

import os
import re

IDENT = re.compile(r'[A-Za-z_]\w*')
MOD = re.compile(r'^(?:pub(?:\([^)]*\))? )?mod (\w+);$')
USE = re.compile(r'^(\s*)((?:pub(?:\([^)]*\))?\s+)?)use\s+([^;]*);', re.M)
UNUSED = """// The next changes add what uses the rest.
#![allow(dead_code, unused_imports)]

"""
ITEM = re.compile(r'\bpub(?:\([^)]*\))? (?:(?:const|unsafe|async|extern) )*(?:fn|struct|enum|union|trait|type|const|static) (\w+)')
PATH = re.compile(r'(?<![\w:$])(?:[A-Za-z_]\w*::)+[A-Za-z_]\w*')


def strip(text):
    """Blanks comments, strings and characters, keeping positions."""
    out = []
    i = 0
    blank = lambda s: re.sub(r'[^\n]', ' ', s)
    token = re.compile(r'//[^\n]*|/\*.*?\*/|b?r(#*)".*?"\1|[bc]?"(?:\\.|[^"\\])*"|'
                       r"b?'(?:\\[^']+|[^'\\\n])'", re.S)
    for m in token.finditer(text):
        out += [text[i:m.start()], blank(m.group())]
        i = m.end()
    out.append(text[i:])
    return ''.join(out)


# Tests: their files, and what only a kernel with unit tests has.
TEST_FILE = re.compile(r"(^|/)(\w+_)?tests?(/|\.rs$)")
TEST_ITEM = re.compile(r"#\[(?:cfg\((?!not\()[^\]]*KUNIT[^\]]*\)|(?:macros::)?kunit_tests\([^\]]*\))\]")


def end_of_item(text, at, stops=';'):
    """The position after the item at a position: after one of `stops`, or a brace that is closed,
    outside of brackets."""
    depth = 0
    while at < len(text):
        c = text[at]
        at += 1
        if c in '([{':
            depth += 1
        elif c in ')]}':
            depth -= 1
            if depth < 0 or (depth == 0 and c == '}'):
                break
        elif c in stops and depth == 0:
            break
    return at


def parse_tree(text):
    """The tree of a use: [(path, alias, subtree or None)]."""
    parts, depth, cur = [], 0, ''
    for c in text:
        depth += (c == '{') - (c == '}')
        if c == ',' and depth == 0:
            parts.append(cur)
            cur = ''
        else:
            cur += c
    parts.append(cur)
    tree = []
    for p in (p.strip() for p in parts):
        if not p:
            continue
        m = re.match(r'^((?:\w+::)*)\{(.*)\}$', p, re.S)
        if m:
            tree.append((tuple(m.group(1).split('::')[:-1]), None, parse_tree(m.group(2))))
            continue
        m = re.match(r'^([\w:*]+)(?:\s+as\s+(\w+))?$', p)
        tree.append((tuple(m.group(1).split('::')), m.group(2), None))
    return tree


def leaves(tree, prefix=()):
    for path, alias, sub in tree:
        if sub is None:
            path = prefix + path
            if path[-1] == 'self':
                path = path[:-1]
            yield path, alias or path[-1]
        else:
            yield from leaves(sub, prefix + path)


def prune(tree, keep, prefix=()):
    out = []
    for path, alias, sub in tree:
        if sub is None:
            full = prefix + path
            if keep(full[:-1] if full[-1] == 'self' else full):
                out.append((path, alias, None))
        else:
            sub = prune(sub, keep, prefix + path)
            if sub:
                out.append((path, alias, sub))
    return out


def write_tree(tree, indent=''):
    """In the style of the kernel: one name a line."""
    out = []
    inner = indent + '    '
    for n, (path, alias, sub) in enumerate(tree):
        text = '::'.join(path) + (f' as {alias}' if alias else '')
        if sub is not None:
            text += ('::' if path else '') + write_tree(sub, inner)
        out.append(inner + text + (',' if n + 1 < len(tree) else ', //'))
    return '{\n' + '\n'.join(out) + '\n' + indent + '}'


def options(text, present, later):
    """The options of a Kconfig file that the Makefiles in `present` name.

    One that none in `later` names, such as for unit tests, goes with those that it depends on.
    """
    head, *blocks = re.split(r'^(?=config )', text, flags=re.M)
    ok, out = set(), []
    names = {block.split()[1] for block in blocks}

    def named(name, makefiles):
        return re.search(rf'\bCONFIG_{name}\b', makefiles)

    for block in blocks:
        name = block.split()[1]
        needs = set(IDENT.findall(' '.join(re.findall(r'^\tdepends on (.*)', block, re.M)))) & names
        if needs <= ok and (named(name, present) if named(name, later) else needs):
            ok.add(name)
            out.append(block)
    return (head + ''.join(out)).rstrip('\n') + '\n'


class Module:
    def __init__(self, crate, path, file, text):
        self.crate, self.path, self.file, self.text = crate, path, file, text
        self.children = {}
        self.plain = strip(text)
        self.uses = []  # (start, end, visibility, tree, mods around)
        body = self.plain
        around = self.inline_mods(body)
        for m in USE.finditer(body):
            tree = parse_tree(m.group(3))
            self.uses.append((m.start(), m.end(), m.group(2), tree, around(m.start())))
        for start, end, *_ in self.uses:
            body = body[:start] + re.sub(r'[^\n]', ' ', body[start:end]) + body[end:]
        self.body = re.sub(r'^(?:pub(?:\([^)]*\))? )?mod \w+;$', '', body, flags=re.M)
        self.names = set(IDENT.findall(self.body))
        self.items = set(ITEM.findall(self.body))
        self.around = around

    @staticmethod
    def inline_mods(text):
        """How many modules with a body are around a position."""
        marks, stack, n = [], [], 0
        for m in re.finditer(r'[{}]', text):
            if m.group() == '{':
                is_mod = bool(re.search(r'\bmod\s+\w+\s*$', text[:m.start()][-80:]))
                stack.append(is_mod)
                n += is_mod
            elif stack:
                n -= stack.pop()
            marks.append((m.start(), n))

        def around(pos):
            lo, hi = 0, len(marks)
            while lo < hi:
                mid = (lo + hi) // 2
                if marks[mid][0] < pos:
                    lo = mid + 1
                else:
                    hi = mid
            return marks[lo - 1][1] if lo else 0
        return around


class Stage:
    """All modules of the overlay, with what they use."""

    def __init__(self, top, files):
        self.modules = {}  # file: Module
        self.at = {}  # (crate, path): Module
        self.macros = {}  # exported macro: Module
        texts = {f: open(os.path.join(top, f), encoding='utf-8').read() for f in files if f.endswith('.rs')}
        child_of = {}
        for f, text in texts.items():
            for line in text.split('\n'):
                m = MOD.match(line)
                if m:
                    where = os.path.dirname(f), os.path.basename(f)[:-3]
                    for c in (os.path.join(*where, m.group(1) + '.rs'), os.path.join(where[0], m.group(1) + '.rs')):
                        if c in texts:
                            child_of[c] = f, m.group(1)
                            break
        for f in sorted(texts):
            self.add(f, texts, child_of)
        for m in self.modules.values():
            for name in re.findall(r'#\[macro_export\]\s*(?:#\[[^\]]*\]\s*)*macro_rules!\s*(\w+)', m.plain):
                self.macros[name] = m
        self.deps = {m.file: self.uses_of(m) for m in self.modules.values()}

    def add(self, f, texts, child_of):
        if f in self.modules:
            return self.modules[f]
        if f in child_of:
            parent = self.add(child_of[f][0], texts, child_of)
            m = Module(parent.crate, parent.path + (child_of[f][1],), f, texts[f])
            parent.children[child_of[f][1]] = m
            m.parent = parent
        else:
            crate = 'kernel' if f.startswith('rust/kernel/') else 'macros' if f.startswith('rust/macros/') else f
            path = () if crate == f else tuple(f[len('rust/'):-3].split('/')[1:])
            m = Module(crate, path, f, texts[f])
            m.parent = None
        self.modules[f] = m
        self.at[m.crate, m.path] = m
        return m

    def resolve(self, m, path, around, seen=()):
        """The module of the overlay that has what a path names, or the name of a macro of the macros crate."""
        cur = list(m.path)
        path = list(path)
        if path[0] in ('crate', 'kernel') and (path[0] == 'crate' or m.crate not in ('kernel', 'macros')):
            crate = m.crate if path[0] == 'crate' else 'kernel'
            if len(path) == 2 and path[1] in self.macros and crate == 'kernel':
                return self.macros[path[1]]
            cur = []
            path = path[1:]
        elif path[0] in ('self', 'super'):
            crate = m.crate
            inner = around
            while path and path[0] in ('self', 'super'):
                if path[0] == 'super':
                    if inner:
                        inner -= 1
                    elif cur:
                        cur.pop()
                path = path[1:]
        elif path[0] == 'macros' and m.crate != 'macros':
            return '::'.join(path)
        elif path[0] in m.children:
            crate = m.crate
        else:
            return None
        while path and (crate, tuple(cur + [path[0]])) in self.at:
            cur.append(path.pop(0))
        found = self.at.get((crate, tuple(cur)))
        # Modules of the tree are in between, as in crate::mm::gup.
        while found is None and path and any(p[:len(cur) + 1] == tuple(cur + [path[0]]) for c, p in self.at if c == crate):
            cur.append(path.pop(0))
            found = self.at.get((crate, tuple(cur)))
            while found is not None and path and (crate, tuple(cur + [path[0]])) in self.at:
                cur.append(path.pop(0))
                found = self.at[crate, tuple(cur)]
        if found is None:
            return None
        # Names from elsewhere.
        if path and (found.file, path[0]) not in seen:
            for _, _, _, tree, n in found.uses:
                if n:
                    continue
                for leaf, name in leaves(tree):
                    if name == path[0]:
                        there = self.resolve(found, leaf, 0, seen + ((found.file, path[0]),))
                        if there is not None:
                            return there
            # Of those that have all their names here, the one that defines this one.
            for _, _, vis, tree, n in found.uses:
                if n or not vis or path[0] in found.items:
                    continue
                for leaf, name in leaves(tree):
                    there = self.resolve(found, leaf[:-1], 0) if name == '*' else None
                    if isinstance(there, Module) and path[0] in there.items:
                        return there
        return found

    def uses_of(self, m):
        """What has to compile for m to compile: modules, and macros of the macros crate."""
        out = set()
        for start, _, vis, tree, n in m.uses:
            for leaf, name in leaves(tree):
                if name == '*':
                    there = self.resolve(m, leaf[:-1], n)
                    out.add(there)
                    # All that it has from elsewhere.
                    if isinstance(there, Module) and there is not m:
                        for _, _, _, t, k in there.uses:
                            if not k:
                                out |= {self.resolve(there, x, 0) for x, y in leaves(t) if y in m.names}
                elif n or name in m.names or not self.left_out(m, vis):
                    out.add(self.resolve(m, leaf, n))
        for p in PATH.finditer(m.body):
            out.add(self.resolve(m, p.group().split('::'), m.around(p.start())))
        out -= {None, m}
        # Its parents exist anyway.
        p = m.parent
        while p:
            out.discard(p)
            p = p.parent
        return out

    @staticmethod
    def left_out(m, vis):
        """Whether names that a use is about can be left out, if nothing in the file needs them."""
        return bool(m.children) or bool(vis)

    def ready(self, present, macros):
        """The files that compile in a tree that has these files and these macros."""
        ok = {f for f in self.modules if f in present}
        while True:
            bad = set()
            for f in ok:
                m = self.modules[f]
                if m.parent and m.parent.file not in ok:
                    bad.add(f)
                for d in self.deps[f]:
                    if isinstance(d, str):
                        if d.split('::')[1] not in macros:
                            bad.add(f)
                    elif d.file not in ok:
                        bad.add(f)
            if not bad:
                return ok
            ok -= bad

    def render(self, f, ok, macros):
        """What a file is committed as."""
        m = self.modules[f]
        if not m.children and not any(vis for _, _, vis, _, _ in m.uses):
            return m.text
        whole = all(c.file in ok for c in self.below(m))

        def keep(leaf):
            there = self.resolve(m, leaf, 0)
            if isinstance(there, str):
                return there.split('::')[1] in macros
            return there is None or there.file in ok

        text = m.text
        cuts = []
        if f in ok:
            for start, end, vis, tree, n in m.uses:
                if n or all(keep(leaf) for leaf, _ in leaves(tree)):
                    continue
                rest = prune(tree, keep)
                new = ''
                if len(rest) == 1 and rest[0][2] is not None:
                    new = f'{vis}use ' + '::'.join(rest[0][0]) + '::' + write_tree(rest[0][2]) + ';'
                elif rest:
                    new = f'{vis}use ' + (write_tree(rest) if len(rest) > 1 else '::'.join(rest[0][0])) + ';'
                cuts.append((start, end, new))
        pos = 0
        for line in m.text.split('\n'):
            mod = MOD.match(line)
            if mod and mod.group(1) in m.children and m.children[mod.group(1)].file not in ok:
                cuts.append((pos, pos + len(line), ''))
            pos += len(line) + 1
        for start, end, new in sorted(cuts, reverse=True):
            if not new:
                # With its attributes and its documentation, and the line.
                while True:
                    above = text.rfind('\n', 0, start - 1) + 1
                    if start and re.match(r'(#\[|///|//)', text[above:start]):
                        start = above
                    else:
                        break
                end += 1
            text = text[:start] + new + text[end:]
        if cuts:
            text = re.sub(r'\n{3,}', '\n\n', text)
        if not whole:
            # The sections of its documentation are about all of it.
            head, rest = re.match(r'\A((?://[^\n]*\n|\n)*)(.*)\Z', text, re.S).groups()
            head = re.sub(r'(?://!\n)?//! # .*?(?=\n(?!//!))\n', '', head + '\n', flags=re.S)[:-1]
            text = head + ('' if m.parent else UNUSED) + rest
        return text

    def below(self, m):
        for c in m.children.values():
            yield c
            yield from self.below(c)
