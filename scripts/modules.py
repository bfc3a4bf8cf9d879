#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# The module graphs of kernel/trace/hist and kernel/trace/user_events: fails if a
# file uses one of a higher layer, or if more than two files use each other in a
# circle. An edge is a name that a file has from another one, through `use` or as
# a path; re-exports are followed to where a name is defined. Also fails if a file
# except `exports.rs` uses the bindings of C or declares functions of it.
#
# usage: scripts/modules.py TREE [--graph] [--count]
#
# --graph prints the edges between folders, --count the lines of code of each
# folder, without comments, blank lines and tests.

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from stage import PATH, Module, Stage, leaves  # noqa: E402

# From the lowest layer to the highest one. A module is in the layer of the
# longest prefix of its path; those of a layer may use each other.
LAYERS = {
    'kernel/trace/hist': [
        ['limits', 'text_buf'],
        ['map', 'command'],
        ['spec'],
        ['program', 'histogram', 'scratch'],
        ['hit'],
        ['backlog', 'registry'],
        ['builder'],
        ['lifecycle'],
        ['trigger', 'show'],
        ['exports'],
    ],
    'kernel/trace/user_events': [
        ['defs', 'num'],
        ['append_vec', 'visit_list'],
        ['faults', 'listens', 'patience', 'progress'],
        ['types', 'validate'],
        ['parse', 'print_fmt', 'canonical_fields'],
        ['enabler', 'mm'],
        ['switch'],
        ['counts', 'patterns'],
        ['event', 'unused'],
        ['deliver', 'registry'],
        ['batch', 'dynevent', 'losses', 'reaper', 'status'],
        ['mm_struct'],
        ['file', 'ioctl'],
        ['exports', 'init'],
    ],
}


class Graph:
    def __init__(self, top, folder):
        files = [os.path.join(d, f) for d, _, fs in os.walk(os.path.join(top, folder)) for f in fs if f.endswith('.rs')]
        files = sorted(os.path.relpath(f, top) for f in files)
        self.folder = folder
        self.stage = Stage(top, files)
        self.root = f'{folder}/{os.path.basename(folder)}.rs'
        self.edges = {}
        for f, m in self.stage.modules.items():
            if f != self.root and not self.is_test(f):
                self.edges[f] = {d for d in self.uses(m) if d in self.stage.modules and d not in (f, self.root)}

    def is_test(self, f):
        return f.startswith((f'{self.folder}/tests/', f'{self.folder}/tests.rs'))

    def uses(self, m):
        """The files whose names a module uses, its parents included."""
        out = set()
        for _, _, vis, tree, n in m.uses:
            for leaf, name in leaves(tree):
                # A re-export is for others, who have an edge of their own.
                if name == '*' or name in m.names or not (vis or m.children):
                    out.add(self.stage.resolve(m, leaf[:-1] if name == '*' else leaf, n))
        for p in PATH.finditer(m.body):
            out.add(self.stage.resolve(m, p.group().split('::'), m.around(p.start())))
        return {d.file for d in out if isinstance(d, Module)}

    def layer(self, f):
        path = '/'.join(self.stage.modules[f].path)
        found = [(len(name), n) for n, names in enumerate(LAYERS[self.folder]) for name in names
                 if path == name or path.startswith(name + '/')]
        return max(found)[1] if found else None

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

    def problems(self):
        for f in sorted(self.edges):
            layer = self.layer(f)
            if layer is None:
                yield f'{f}: in no layer of scripts/modules.py'
                continue
            for d in sorted(self.edges[f]):
                if self.layer(d) is not None and self.layer(d) > layer:
                    yield f'{f}: uses {self.name(d)}, which is of a higher layer'
        for f, m in sorted(self.stage.modules.items()):
            if os.path.basename(f) != 'exports.rs' and re.search(r'\bbindings\b', m.plain):
                yield f'{f}: uses bindings, which is for the kernel crate and exports.rs'
            if os.path.basename(f) != 'exports.rs' and re.search(r'\bextern\s*\{', m.plain):
                yield f'{f}: declares functions of C, which is for exports.rs'
        for circle in self.circles():
            if len(circle) > 2:
                yield f'{self.folder}: a circle of {len(circle)} files: ' + ', '.join(map(self.name, circle))

    def print_graph(self):
        groups = {}
        for f, ds in self.edges.items():
            a = self.stage.modules[f].path[0]
            for d in ds:
                b = self.stage.modules[d].path[0]
                if a != b:
                    groups.setdefault(a, set()).add(b)
        print(self.folder)
        for a in sorted({self.stage.modules[f].path[0] for f in self.edges}):
            print(f'  {a} -> ' + (', '.join(sorted(groups.get(a, ()))) or '-'))
        for circle in self.circles():
            print(f'  circle of {len(circle)}: ' + ', '.join(map(self.name, circle)))

    def print_count(self):
        count = {}
        for f, m in self.stage.modules.items():
            if self.is_test(f):
                continue
            lines = sum(1 for line in m.plain.split('\n') if line.strip())
            files, n = count.get(m.path[:1], (0, 0))
            count[m.path[:1]] = files + 1, n + lines
        for path, (files, lines) in sorted(count.items()):
            print(f'  {"/".join(path) or "root":12} {files:3} files {lines:6} lines')
        print(f'  {"all":12} {sum(c[0] for c in count.values()):3} files {sum(c[1] for c in count.values()):6} lines')


def main():
    if len(sys.argv) < 2:
        sys.exit('usage: scripts/modules.py TREE [--graph] [--count]')
    top = sys.argv[1]
    bad = 0
    for folder in LAYERS:
        if not os.path.isdir(os.path.join(top, folder)):
            sys.exit(f'{top}: there is no {folder}')
        graph = Graph(top, folder)
        if '--graph' in sys.argv:
            graph.print_graph()
        if '--count' in sys.argv:
            graph.print_count()
        for problem in graph.problems():
            print(problem)
            bad = 1
    sys.exit(bad)


main()
