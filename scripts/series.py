# SPDX-License-Identifier: GPL-2.0
#
# The part of scripts/series that runs in the toolchain root: creates the
# commits that scripts/series.list describes, checks them, and runs checkpatch.
#
# usage: series.py TOP SRC LINUX STATE WORK CACHE VERSION NAME MAIL

import concurrent.futures
import fnmatch
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time

import stage

TOP, SRC, LINUX, STATE, WORK, CACHE, VERSION, NAME, MAIL = sys.argv[1:]
TREE = f'{WORK}/tree'
OUT = f'{WORK}/out'

# New files are named in MAINTAINERS by a commit of their own. What is about
# kernel code only, or takes the macros of the test harness for mistakes, does
# not count for programs.
PROGRAM = ('VOLATILE,LONG_LINE,LONG_LINE_STRING,PREFER_DEFINED_ATTRIBUTE_MACRO,ARRAY_SIZE,'
           'MACRO_WITH_FLOW_CONTROL,MULTISTATEMENT_MACRO_USE_DO_WHILE,MACRO_ARG_UNUSED,STATIC_CONST,'
           'STATIC_CONST_CHAR_ARRAY,BRACES,SPACING,OPEN_BRACE,NAKED_SSCANF,STRING_FRAGMENTS,'
           'ASSIGN_IN_IF,EMBEDDED_FUNCTION_NAME,EMBEDDED_FILENAME')


# A commit that adds more lines of code than MOST_LINES is about one file. Files that get less
# than FEW_LINES do not count.
MOST_LINES = 1100
FEW_LINES = 50

# What is code, by the end of a name, and how a line of it begins that is a comment.
C, SCRIPT = r'//|/\*|\*(?:[ /]|$)', r'#'
CODE = {'.rs': r'//', '.c': C, '.h': C, '.S': C, '.sh': SCRIPT, '.bash': SCRIPT, '.py': SCRIPT, '.pl': SCRIPT, 'Makefile': SCRIPT}

# The options, which have a place of their own in the overlay.
KCONFIG = 'kernel/trace/rust/Kconfig'


def die(text):
    sys.exit(f'series: error: {text}')


def step(text):
    print(f'== {text}', file=sys.stderr, flush=True)


def lines(path):
    with open(path, encoding='utf-8') as f:
        return f.read().split('\n')[:-1]


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def matches(path, pattern):
    """As the shell does it: a star stays in its folder."""
    path, pattern = path.split('/'), pattern.split('/')
    return len(path) == len(pattern) and all(map(fnmatch.fnmatchcase, path, pattern))


ENV = dict(os.environ, GIT_CONFIG_GLOBAL='/dev/null', GIT_CEILING_DIRECTORIES=os.path.dirname(WORK),
           GIT_AUTHOR_NAME=NAME, GIT_COMMITTER_NAME=NAME, GIT_AUTHOR_EMAIL=MAIL, GIT_COMMITTER_EMAIL=MAIL)
ENV.pop('GIT_DIR', None)


def git(where, *args, **more):
    """git, with nothing of the user's set-up."""
    return subprocess.run(['git', '-C', where, '-c', 'safe.directory=*', '-c', 'core.hooksPath=/dev/null',
                           '-c', 'commit.gpgSign=false', '-c', 'advice.detachedHead=false', '-c', 'gc.auto=0', *args],
                          env=ENV, check=True, text=True, **more)


def ask(where, *args):
    return git(where, *args, stdout=subprocess.PIPE).stdout


def added_code(diff):
    """The lines of code that a diff without context adds, by file."""
    lines_of = {}
    comment = path = None
    for line in diff.split('\n'):
        if line.startswith('+++ '):
            path = line[len('+++ b/'):]
            end = re.search(r'(\.\w+|/Makefile)$', path)
            comment = CODE.get(end.group().lstrip('/')) if end else None
        elif line.startswith('+') and comment:
            text = line[1:].strip()
            if text and not re.match(comment, text):
                lines_of[path] = lines_of.get(path, 0) + 1
    return lines_of


class Series:
    def __init__(self):
        self.manifest = lines(f'{STATE}/manifest')
        self.removed = lines(f'{STATE}/removed.list')
        self.overlay = lines(f'{STATE}/overlay.list')
        self.stage = stage.Stage(LINUX, self.overlay)
        self.taken = set()
        self.commits = 0

    def pristine(self, where):
        """The pristine versions of what the series touches."""
        shutil.rmtree(where, ignore_errors=True)
        os.makedirs(where)
        for f in self.manifest + self.removed + ['COPYING', 'rust/macros/lib.rs']:
            if os.path.isfile(f'{SRC}/{f}'):
                os.makedirs(os.path.dirname(f'{where}/{f}'), exist_ok=True)
                shutil.copy2(f'{SRC}/{f}', f'{where}/{f}')
        git(where, 'init', '-q', '-b', 'master')
        git(where, 'add', '-A', '-f')
        git(where, 'commit', '-q', '-m', f'Linux {VERSION}')

    def patch(self, name):
        """A patch: what is above its diff is the message."""
        path = f'{TOP}/patches/{name}'
        if not os.path.isfile(path):
            die(f'scripts/series.list names {name}, which is not there')
        text = read(path).decode()
        head = re.split(r'^(?:---|diff --git )', text, maxsplit=1, flags=re.M)[0]
        head = re.sub(r'^(?:From|Date|Index):? .*\n|^Signed-off-by: .*\n', '', head, flags=re.M)
        message = re.sub(r'^Subject: (?:\[[^]]*\] )?', '', head.lstrip('\n'), flags=re.M).strip('\n')
        if not message:
            die(f'{name} has no message above the diff')
        if subprocess.run(['patch', '-d', TREE, '-p1', '-s', '-f', '-E', '--no-backup-if-mismatch', '-i', path]).returncode:
            die(f'{name} does not apply')
        return message

    def take(self, pattern):
        """Files of the overlay that a + line names and that no commit has yet."""
        found = [f for f in self.overlay if f not in self.taken and
                 (matches(f, pattern) or pattern.endswith('/') and f.startswith(pattern))]
        for f in found:
            os.makedirs(os.path.dirname(f'{TREE}/{f}'), exist_ok=True)
            shutil.copyfile(f'{LINUX}/{f}', f'{TREE}/{f}')
            shutil.copymode(f'{LINUX}/{f}', f'{TREE}/{f}')
        self.taken |= set(found)
        return found

    def render(self):
        """The files that declare modules, as far as these compile."""
        exported = read(f'{TREE}/rust/macros/lib.rs').decode()
        macros = set(re.findall(r'^pub fn (\w+)\(', exported, re.M))
        macros |= set(re.findall(r'^#\[proc_macro_derive\((\w+)', exported, re.M))
        self.ok = self.stage.ready(self.taken, macros)
        for f in self.stage.modules:
            if f in self.taken:
                text = self.stage.render(f, self.ok, macros).encode()
                self.write(f, text)
        if KCONFIG in self.taken:
            self.write(KCONFIG, self.options().encode())

    @staticmethod
    def write(f, text):
        if read(f'{TREE}/{f}') != text:
            with open(f'{TREE}/{f}', 'wb') as out:
                out.write(text)

    def options(self):
        """The options whose code can be linked, as far as the Makefiles say."""
        def makefiles(top, names):
            return ''.join(read(f'{top}/{f}').decode() for f in names if f.endswith('/Makefile') and f.startswith('kernel/trace/'))

        return stage.options(read(f'{LINUX}/{KCONFIG}').decode(), makefiles(TREE, self.taken | {'kernel/trace/Makefile'}),
                             makefiles(LINUX, self.manifest))

    def reviewable(self, message):
        """Dies if a commit is too large to be looked at."""
        code = added_code(ask(TREE, 'diff', '--cached', '--no-renames', '--unified=0'))
        if sum(code.values()) > MOST_LINES and sum(n >= FEW_LINES for n in code.values()) > 1:
            die(f'"{message.splitlines()[0]}" adds {sum(code.values())} lines of code in more than one file, more than {MOST_LINES}:\n' +
                '\n'.join(f'{n:5} {f}' for f, n in code.items()))

    def commit(self, message):
        self.render()
        git(TREE, 'add', '-A', '-f')
        self.reviewable(message)
        git(TREE, 'commit', '-q', '-s', '-F', '-', input=message.strip('\n') + '\n')
        self.commits += 1
        # For CHECK=build: the crates of kernel/trace whose roots compile.
        with open(f'{WORK}/crates', 'a', encoding='utf-8') as out:
            out.writelines(f'{self.commits} {f}\n' for f in sorted(self.ok) if f.startswith('kernel/') and self.stage.modules[f].children)

    def make(self):
        """Goes through the list."""
        patched, subject, body, grouped = '', '', '', False
        listed = set()

        def flush():
            nonlocal patched, subject, body, grouped
            if patched:
                if body.strip():
                    die(f'a patch has its own message: {body}')
                self.commit(patched)
            elif subject and grouped:
                self.commit(f'{subject}\n\n{body}')
            patched, subject, body, grouped = '', '', '', False

        for line in lines(f'{TOP}/scripts/series.list') + ['commit ']:
            if line.startswith('#'):
                continue
            word, _, rest = line.partition(' ')
            if word == 'patch':
                names = sorted(os.path.basename(p) for p in glob.glob(f'{TOP}/patches/{rest}')) or [rest]
                for name in names:
                    flush()
                    listed.add(name)
                    patched = self.patch(name)
            elif word == 'commit':
                flush()
                subject = rest
            elif word == '+':
                grouped = bool(self.take(rest)) or grouped
            else:
                body += line + '\n'
        unlisted = {os.path.basename(p) for p in glob.glob(f'{TOP}/patches/*.patch')} - listed
        if unlisted:
            die(f'no place in scripts/series.list for {" ".join(sorted(unlisted))}')
        left = [f for f in self.overlay if f not in self.taken]
        if left:
            die('no group in scripts/series.list for:\n' + '\n'.join(left))
        missing = sorted(self.taken & set(self.stage.modules) - self.ok)
        if missing:
            die('stage.py takes these for files that do not compile:\n' + '\n'.join(missing))

    def check(self):
        """git am has to give the tree that is built here."""
        self.pristine(f'{WORK}/check')
        done = git(f'{WORK}/check', 'am', '-q', *sorted(glob.glob(f'{OUT}/*.patch')), stdout=subprocess.PIPE)
        assert done.returncode == 0
        for f in self.manifest:
            if read(f'{LINUX}/{f}') != read(f'{WORK}/check/{f}'):
                die(f'the series gives another {f}')
        tracked = set(ask(f'{WORK}/check', 'ls-files').split('\n')) - {'', 'COPYING', 'rust/macros/lib.rs'}
        if tracked != set(self.manifest) - {'COPYING', 'rust/macros/lib.rs'}:
            die('the series gives further files')


class Checkpatch:
    """What it says about a patch is kept, by the content of the patch and of the program."""

    def __init__(self):
        self.lookup = f'{WORK}/lookup'
        self.kept = f'{CACHE}/checkpatch'
        os.makedirs(self.kept, exist_ok=True)
        self.program = hashlib.sha256(b''.join(read(f'{SRC}/scripts/{f}') for f in
                                               ('checkpatch.pl', 'spdxcheck.py', 'spelling.txt', 'const_structs.checkpatch')
                                               if os.path.exists(f'{SRC}/scripts/{f}'))).hexdigest()

    def run(self, *args):
        return subprocess.run(['perl', 'scripts/checkpatch.pl', f'--root={self.lookup}', '--no-summary', '--terse',
                               '--show-types', *args], cwd=self.lookup, env=ENV, capture_output=True, text=True)

    def tree(self):
        """A tree that is a git repository, as spdxcheck.py reads the licences from the last commit."""
        os.makedirs(self.lookup)
        for f in os.listdir(SRC):
            if f != 'LICENSES' and not f.startswith('.'):
                os.symlink(f'{SRC}/{f}', f'{self.lookup}/{f}')
        shutil.copytree(f'{SRC}/LICENSES', f'{self.lookup}/LICENSES')
        git(self.lookup, 'init', '-q')
        git(self.lookup, 'add', '-f', 'LICENSES')
        git(self.lookup, 'commit', '-q', '-m', f'Linux {VERSION}')
        # checkpatch takes a licence for valid if spdxcheck.py says nothing, which it
        # does for many a reason. So see that a wrong one is found.
        with open(f'{WORK}/wrong', 'w', encoding='utf-8') as f:
            f.write('--- /dev/null\n+++ b/wrong.c\n@@ -0,0 +1 @@\n+// SPDX-License-Identifier: No-Such-License\n')
        done = self.run('--no-signoff', '--types', 'SPDX_LICENSE_TAG', f'{WORK}/wrong')
        if not re.search('SPDX_LICENSE_TAG.*No-Such-License', done.stdout):
            die(f'checkpatch does not see a wrong SPDX line\n{done.stdout}{done.stderr}')

    def one(self, patch):
        name = os.path.basename(patch)
        # The tree has no history to look commits up in.
        ignore = 'FILE_PATH_CHANGES,UNKNOWN_COMMIT_ID'
        # Probes of faultable tracepoints are readers of Tasks Trace RCU in C too.
        if re.search('-rust-helpers-', name):
            ignore += ',RCU_TASKS_TRACE'
        if re.search('-samples-|-selftests-', name):
            ignore += ',' + PROGRAM
        text = re.sub(rb'^From .*\n|^Date: .*\n|^Subject: \[PATCH[^]]*\]|^index .*\n', b'', read(patch), flags=re.M)
        key = hashlib.sha256(self.program.encode() + ignore.encode() + text).hexdigest()
        return name, patch, ignore, f'{self.kept}/{key}'

    def check(self):
        """Returns whether all patches are clean."""
        patches = [self.one(p) for p in sorted(glob.glob(f'{OUT}/*.patch'))]
        new = []
        for p in patches:
            try:
                os.utime(p[3])
            except FileNotFoundError:
                new.append(p)
        for f in os.scandir(self.kept):
            if f.stat().st_mtime < time.time() - 30 * 86400:
                os.unlink(f)
        step(f'checkpatch: {len(new)} of {len(patches)} patches are new')
        if new:
            self.tree()

        def look(p):
            name, patch, ignore, kept = p
            done = self.run('--ignore', ignore, patch)
            clean = done.returncode == 0 and not done.stdout and not done.stderr
            if clean:
                open(kept, 'w', encoding='utf-8').close()
            else:
                print((done.stdout + done.stderr).replace(f'{OUT}/', ''), file=sys.stderr, end='')
            return clean

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return all(list(pool.map(look, new)))


def main():
    series = Series()
    step('making the commits')
    series.pristine(TREE)
    series.make()
    shutil.rmtree(OUT, ignore_errors=True)
    root = ask(TREE, 'rev-list', '--max-parents=0', 'HEAD').strip()
    git(TREE, 'format-patch', '-q', '--no-signature', '-o', OUT, root)
    step('checking that git am gives the tree that is built here')
    series.check()
    sys.exit(0 if Checkpatch().check() else 1)


main()
