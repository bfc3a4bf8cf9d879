#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# The module graphs of kernel/trace/hist, kernel/trace/user_events and rust/kernel/trace:
# fails if a file uses one of a higher layer, or if more than two files use each other in a
# circle. The layers are those of the table "Layers" in the documentation of the root of each,
# which has to name each module once.
#
# An edge is a name that a file has from another one: through `use`, also of all names of a
# module, or as a path, also in macros; re-exports are followed to where a name is defined.
# For layers, two more count: a re-export, and the use of a method that another file than
# that of its type defines. Not seen are: such a method if several files define one of its
# name; a method that the file of its type defines, if the caller has a value and never
# names the type; a call through a trait of a lower layer; what a procedural macro
# generates, except for the word below.
#
# Also fails if a file of the first two folders except `exports.rs` uses the bindings of C or
# declares functions of it; and if the word `builtin` is in the code of the rest of
# rust/kernel/, in what macros generate, or in the sources of modules: only code that is
# built in can use kernel::trace::builtin.
#
# usage: scripts/modules.py TREE [--graph] [--count]
#        scripts/modules.py --self-test
#
# --graph prints the edges between folders, --count the lines of code of each
# folder, without comments, blank lines and tests.

import glob
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from stage import PATH, Module, Stage, leaves, strip  # noqa: E402

CRATES = ['kernel/trace/hist', 'kernel/trace/user_events']
KERNEL = 'rust/kernel/trace'
TEST_FILE = re.compile(r'(^|/)(\w+_)?tests?(/|\.rs$)')


def layers(text):
    """The names in the first column of the table, a list for each line."""
    section = re.search(r'^//! # Layers\n(.*?)(?=^//! # |^(?!//!))', text, re.M | re.S)
    rows = re.findall(r'^//! \|([^|]*)\|', section.group(1), re.M) if section else []
    return [names for names in (re.findall(r'`(\w+)`', row) for row in rows) if names]


class Graph:
    def __init__(self, top, folder):
        files = [os.path.join(d, f) for d, _, fs in os.walk(os.path.join(top, folder)) for f in fs if f.endswith('.rs')]
        files = {os.path.relpath(f, top) for f in files}
        self.folder = folder
        self.root = f'{folder}.rs' if folder == KERNEL else f'{folder}/{os.path.basename(folder)}.rs'
        self.stage = Stage(top, sorted(files | {self.root}))
        self.layers = layers(self.stage.modules[self.root].text)
        self.edges = {}
        self.others = {}  # What counts for layers only.
        methods = self.methods()
        for f, m in self.stage.modules.items():
            if f != self.root and not self.is_test(f):
                self.edges[f] = self.files(self.uses(m), f)
                self.others[f] = self.files(self.exported(m) | self.called(m, methods), f)

    def is_test(self, f):
        return bool(TEST_FILE.search(f))

    def files(self, found, f):
        found = {d.file for d in found if isinstance(d, Module)}
        return {d for d in found if d in self.stage.modules and d not in (f, self.root)}

    def uses(self, m):
        """The modules whose names a module uses, its parents included."""
        out = set()
        # A name that another one qualifies is not one of these.
        names = set(re.findall(r'(?<!\w)(?<!::)[A-Za-z_]\w*', m.body))
        for _, _, vis, tree, n in m.uses:
            for leaf, name in leaves(tree):
                if name == '*':
                    there = self.stage.resolve(m, leaf[:-1], n)
                    if vis and isinstance(there, Module) and not names & there.items:
                        continue
                    out.add(there)
                    # What that has from elsewhere.
                    if isinstance(there, Module) and there is not m:
                        for _, _, _, t, k in there.uses:
                            if not k:
                                out |= {self.stage.resolve(there, x, 0) for x, y in leaves(t) if y in m.names}
                # A re-export is for other modules, which have an edge of their own.
                elif name in names or not (vis or m.children):
                    out.add(self.stage.resolve(m, leaf, n))
        # Paths from the root of a crate, with the same length.
        body = re.sub(r'\$crate\b', ' crate', m.body)
        body = re.sub(r'(?<![\w>:])::(?=\w)', '  ', body)
        for p in PATH.finditer(body):
            path = p.group().split('::')
            if path[0] == m.crate == 'kernel':
                path[0] = 'crate'
            out.add(self.stage.resolve(m, path, m.around(p.start())))
        return out

    def exported(self, m):
        """The modules that a module re-exports names of."""
        return {self.stage.resolve(m, leaf[:-1] if name == '*' else leaf, n)
                for _, _, vis, tree, n in m.uses if vis for leaf, name in leaves(tree)}

    def methods(self):
        """The functions that another file than that of their type defines: {(type, name): module}."""
        found, defined = {}, {}
        for m in self.stage.modules.values():
            if self.is_test(m.file):
                continue
            for name in set(re.findall(r'\bfn (\w+)', m.plain)):
                defined.setdefault(name, set()).add(m.file)
            types = set(re.findall(r'\b(?:struct|enum|union|trait|type) (\w+)', m.plain))
            for impl in re.finditer(r'^(?:unsafe )?impl\b([^{;]*)\{(.*?)^\}', m.plain, re.M | re.S):
                of = re.sub(r'->|\bwhere\b.*', '', impl.group(1), flags=re.S)
                # Without parameters, which may be nested.
                while (shorter := re.sub(r'<[^<>]*>', '', of)) != of:
                    of = shorter
                name = of.split('::')[-1].strip()
                if re.fullmatch(r'\w+', name) and name not in types:
                    for fn in re.findall(r'\bpub(?:\([^)]*\))? (?:const |unsafe |extern )*fn (\w+)', impl.group(2)):
                        found[name, fn] = m
        return {(of, fn): (m, len(defined[fn]) == 1) for (of, fn), m in found.items()}

    def called(self, m, methods):
        """The modules that define what a module calls of the types of others."""
        body = re.sub(r'\s+(?=\.)', '', m.body)
        calls = set(re.findall(r'\.(\w+)(?=\(|::<)', body))
        pairs = set(re.findall(r'\b(\w+)(?:::<[^()]*>)?::(\w+)', body))
        return {there for (of, fn), (there, alone) in methods.items()
                if (of, fn) in pairs or alone and fn in calls}

    def layer(self, f):
        found = [n for n, names in enumerate(self.layers) if self.group(f) in names]
        return found[0] if found else None

    def circles(self):
        """The strongly connected components of more than one file (Tarjan)."""
        index, low, stack, found = {}, {}, [], []

        def visit(f):
            index[f] = low[f] = len(index)
            stack.append(f)
            for d in sorted(self.edges.get(f, ())):
                if d not in index:
                    visit(d)
                    low[f] = min(low[f], low[d])
                elif d in stack:
                    low[f] = min(low[f], index[d])
            if low[f] == index[f]:
                circle = []
                while not circle or circle[-1] != f:
                    circle.append(stack.pop())
                if len(circle) > 1:
                    found.append(sorted(circle))

        for f in sorted(self.edges):
            if f not in index:
                visit(f)
        return found

    def name(self, f):
        return f[len(self.folder) + 1:]

    def group(self, f):
        return self.stage.modules[f].path[len(self.stage.modules[self.root].path)]

    def problems(self):
        names = sorted(name for row in self.layers for name in row)
        root = self.stage.modules[self.root]
        for name in sorted(set(names)):
            if names.count(name) > 1:
                yield f'{self.root}: {name} is in two lines of "Layers"'
            if name not in root.children:
                yield f'{self.root}: {name} of "Layers" is no module'
        for name, m in sorted(root.children.items()):
            if name not in names and not self.is_test(m.file):
                yield f'{self.root}: {name} is not in "Layers"'
        for f in sorted(self.edges):
            layer = self.layer(f)
            for d in sorted(self.edges[f] | self.others[f]):
                if None not in (layer, self.layer(d)) and self.layer(d) > layer:
                    yield f'{f}: uses {self.name(d)}, which is of a higher layer'
        for circle in self.circles():
            if len(circle) > 2:
                yield f'{self.folder}: a circle of {len(circle)} files: ' + ', '.join(map(self.name, circle))
        if self.folder == KERNEL:
            return
        for f, m in sorted(self.stage.modules.items()):
            if os.path.basename(f) != 'exports.rs' and re.search(r'\bbindings\b', m.plain):
                yield f'{f}: uses bindings, which is for the kernel crate and exports.rs'
            if os.path.basename(f) != 'exports.rs' and re.search(r'\bextern\s*\{', m.plain):
                yield f'{f}: declares functions of C, which is for exports.rs'

    def print_graph(self):
        groups = {}
        for f, ds in self.edges.items():
            a = self.group(f)
            for d in ds:
                b = self.group(d)
                if a != b:
                    groups.setdefault(a, set()).add(b)
        print(self.folder)
        for a in sorted(set(map(self.group, self.edges))):
            print(f'  {a} -> ' + (', '.join(sorted(groups.get(a, ()))) or '-'))
        for circle in self.circles():
            print(f'  circle of {len(circle)}: ' + ', '.join(map(self.name, circle)))

    def print_count(self):
        count = {}
        for f, m in self.stage.modules.items():
            if self.is_test(f):
                continue
            lines = sum(1 for line in m.plain.split('\n') if line.strip())
            path = m.path[:len(self.stage.modules[self.root].path) + 1]
            files, n = count.get(path, (0, 0))
            count[path] = files + 1, n + lines
        for path, (files, lines) in sorted(count.items()):
            print(f'  {"/".join(path) or "root":12} {files:3} files {lines:6} lines')
        print(f'  {"all":12} {sum(c[0] for c in count.values()):3} files {sum(c[1] for c in count.values()):6} lines')


def builtin(top):
    """Where code that modules can have names kernel::trace::builtin."""
    for where in ('rust', 'samples/rust', 'kernel/trace/rust_event_test'):
        for path in sorted(glob.glob(f'{top}/{where}/**/*.rs', recursive=True)):
            f = os.path.relpath(path, top)
            if TEST_FILE.search(f) or f.startswith((f'{KERNEL}/builtin/', f'{KERNEL}/builtin.rs')):
                continue
            with open(path, encoding='utf-8') as file:
                text = file.read()
            # Macros generate what is in quotes.
            text = re.sub(r'//.*', '', text) if f.startswith('rust/macros/') else strip(text)
            if f == f'{KERNEL}.rs':
                text = text.replace('pub mod builtin;', '', 1)
            if re.search(r'\bbuiltin\b', text):
                yield f'{f}: names builtin, which is for code that is built in'


def problems(top):
    for folder in [*CRATES, KERNEL]:
        if not os.path.isdir(os.path.join(top, folder)):
            sys.exit(f'{top}: there is no {folder}')
        yield from Graph(top, folder).problems()
    yield from builtin(top)


TABLE = '//! # Layers\n//!\n//! | Modules | |\n//! | --- | --- |\n//! | `low` | |\n//! | `high` | |\n'
PLANTED = {
    'use super::high::{\n    self, //\n};\nfn f() { high::g() }\n': True,
    'fn f() { super::high::g() }\n': True,
    'fn f() { <u8 as super::high::Trait>::g() }\n': True,
    'fn f() { <crate::high::Type>::g() }\n': True,
    'impl super::high::Trait for u8 {}\n': True,
    'use super::*;\nfn f() { named() }\n': True,
    'pub(super) use super::high::g;\n': True,
    'mod inner {\n    fn f() { super::super::high::g() }\n}\n': True,
    'macro_rules! m {\n    () => { $crate::high::g() };\n}\n': True,
    'pub struct Low;\nfn f(low: Low) { low\n    .extended() }\n': True,
    'pub struct Low;\nfn f() { Low::made() }\n': True,
    '/// [`super::high::g`]\nfn f() { "super::high::g" }\n': False,
    # `own` is not alone with its name.
    'pub struct Low;\nstruct Other;\nimpl Other {\n    fn own(&self) {}\n}\nfn f(other: Other) { other.own() }\n': False,
    # `hidden` is not for others.
    'pub struct Low;\nfn f(low: &[u8]) { low.hidden() }\n': False,
}
HIGH = """pub fn g() {}
pub trait Trait {}
pub struct Type;
impl<'a> super::low::Low<'a, fn() -> u8> {
    pub fn extended(&self) {}
    pub fn made() {}
    pub fn own(&self) {}
    fn hidden(&self) {}
}
"""

# The text of low.rs, beside low/one.rs, which low/two.rs uses, which uses low.rs.
CIRCLES = {
    'mod one;\nmod two;\nuse one::first;\npub struct Low;\nfn f() { first() }\n': True,
    'mod one;\nmod two;\npub struct Low;\nfn f() { one::first() }\n': True,
    'mod one;\nmod two;\npub use self::one::*;\npub struct Low;\nfn f() { first() }\n': True,
    # Names that are only passed on, and one of another path that is called the same.
    'mod one;\nmod two;\npub use self::one::*;\npub struct Low;\n': False,
    'mod one;\nmod two;\npub use self::one::first;\npub struct Low;\nfn f() { other::first() }\n': False,
}


def self_test():
    for text, wanted in CIRCLES.items():
        for folder, root in ('kernel/trace/hist', 'hist/hist.rs'), (KERNEL, 'trace.rs'):
            with tempfile.TemporaryDirectory() as top:
                files = {f'{crate}/{os.path.basename(crate)}.rs': TABLE for crate in CRATES}
                files[f'{KERNEL}.rs'] = TABLE
                files[f'{os.path.dirname(folder)}/{root}'] = TABLE + '\nmod high;\nmod low;\n'
                files[f'{folder}/high.rs'] = ''
                files[f'{folder}/low.rs'] = text
                files[f'{folder}/low/one.rs'] = 'use super::two::second;\npub fn first() { second() }\n'
                files[f'{folder}/low/two.rs'] = 'use super::Low;\npub fn second() { Low; }\n'
                for name, content in files.items():
                    os.makedirs(os.path.dirname(f'{top}/{name}'), exist_ok=True)
                    with open(f'{top}/{name}', 'w', encoding='utf-8') as f:
                        f.write(content)
                os.makedirs(f'{top}/{KERNEL}', exist_ok=True)
                found = [problem for problem in problems(top) if 'circle' in problem]
                assert len(found) == wanted, (folder, text, found)
    for text, wanted in PLANTED.items():
        with tempfile.TemporaryDirectory() as top:
            files = {
                'kernel/trace/hist/hist.rs': TABLE + '\nmod high;\nmod low;\nuse high::g as named;\n',
                'kernel/trace/hist/low.rs': text,
                'kernel/trace/hist/high.rs': HIGH,
                'kernel/trace/user_events/user_events.rs': TABLE + '\nmod high;\nmod low;\n',
                'kernel/trace/user_events/low.rs': '',
                'kernel/trace/user_events/high.rs': '',
                'rust/kernel/trace.rs': TABLE.replace('high', 'builtin') + '\npub mod builtin;\nmod low;\n',
                'rust/kernel/trace/low.rs': '//! Not [`builtin`](super::builtin).\n',
                'rust/kernel/trace/builtin.rs': 'use super::low;\n',
            }
            for name, content in files.items():
                os.makedirs(os.path.dirname(f'{top}/{name}'), exist_ok=True)
                with open(f'{top}/{name}', 'w', encoding='utf-8') as f:
                    f.write(content)
            found = list(problems(top))
            assert found == ['kernel/trace/hist/low.rs: uses high.rs, which is of a higher layer'] * wanted, (text, found)
            with open(f'{top}/rust/kernel/trace/low.rs', 'a', encoding='utf-8') as f:
                f.write('pub use super::builtin;\n')
            assert len(list(problems(top))) == wanted + 2
            with open(f'{top}/kernel/trace/hist/hist.rs', 'a', encoding='utf-8') as f:
                f.write('mod other;\n')
            with open(f'{top}/kernel/trace/hist/other.rs', 'w', encoding='utf-8') as f:
                f.write('use kernel::bindings;\n')
            assert len(list(problems(top))) == wanted + 4


def main():
    if sys.argv[1:] == ['--self-test']:
        return self_test()
    if len(sys.argv) < 2:
        sys.exit('usage: scripts/modules.py TREE [--graph] [--count] | --self-test')
    top = sys.argv[1]
    found = list(problems(top))
    for folder in [*CRATES, KERNEL]:
        if '--graph' in sys.argv:
            Graph(top, folder).print_graph()
        if '--count' in sys.argv:
            Graph(top, folder).print_count()
    for problem in found:
        print(problem)
    sys.exit(bool(found))


main()
