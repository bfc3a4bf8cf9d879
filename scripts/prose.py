# SPDX-License-Identifier: GPL-2.0
#
# The English of comments and documents.
#
# opens      A doc comment, another comment or a paragraph of a document opens
#            with a question word. The limit is 1 % of the doc comments, and 1 %
#            of the rest.
# `promised` A comment appeals to the word of a caller. A SAFETY comment names the requirement
#            and the fact that satisfies it.
# banned     A comment, a paragraph of a document or an error text of a macro has a word
#            of BANNED. Quoted text and names may have any. "make" is a program in the
#            comments of scripts.
# private    A comment, a document, the name of a test, of its file or of an event in a
#            test has an id of a list that is not part of the tree, such as the 12th row
#            of a list of bugs.
# noun       The doc comment of a function does not open with a verb in the third
#            person, such as "Returns", or "Called" of a callback. It has no summary
#            if it opens with a section.
#
# Texts of #[doc = ".."], also in the macros that generate code, are doc comments.
#
# usage: prose.py TOP [FILE...]   prints each problem, and the counts by folder
#        prose.py --self-test     checks this file on planted examples

import collections
import os
import re
import sys

OPENS = re.compile(r'(?:What|Whether|Who|Whose|Whom|How|Where|When|Why)\b(?!`)')
# Not as a part of a name, such as that of a row.
BANNED = re.compile(r"""(?<![\w@-])(?:
    mak(?:e|es|ing)|made | giv(?:e|es|ing)|gave | puts? | putting | go(?:es|ing|ne)? | went |
    com(?:e|es|ing) | came |
    there\ (?:is|are|was|were | (?:can|may|must|will|would|should|could)\ be | ha(?:s|ve)\ to\ be) |
    for\ good | meanwhile | behind |
    (?:some|any|no|every)body | who(?:ever|m)?
    )(?![\w-])""", re.X | re.I)
# A verb ends with an s, and may follow an adverb. These words are none, or say too little.
NO_VERBS = """
    Across Always As Besides Does Has Is Its Less Perhaps Plus This Thus Towards Unless Various Was
    Addresses Arguments Bits Buckets Bytes Elements Entries Events Fields Files Hits Indices Items Keys Lines
    Milliseconds Names Nanoseconds Numbers Offsets Options Pages Parts Pointers References Rows Seconds Sizes
    Slots Sums Texts Times Types Users Values Variables Words
    """.split()
VERB = re.compile(r'Called\b|(?:[A-Z][a-z]+ly (?=[a-z])|(?!(?:' + '|'.join(NO_VERBS) + r')\b)(?=[A-Z]))\w[a-z-]*s\b')
FUNCTION = re.compile(r'(?:(?:pub(?:\([\w: ]+\))?|default|const|async|unsafe|safe|extern(?: "\w+")?|[#$]\w+)\s+)*'
                      r'fn\s+[#$]?\w')
PROMISED = re.compile(r'\bpromis', re.I)
# Types of Rust look the same.
TYPES = r'(?!(?:[ius](?:8|16|32|64)|f16|f32|f64)(?:\b|_))'
PRIVATE = re.compile(r'(?<![\w.%$/-])' + TYPES + r'[uhf]\d{1,2}\b(?![-(=]|\.\w)')
# Cases of the selftests and of KUnit.
CASES = {
    '.c': re.compile(r'^TEST(?:_F(?:_TIMEOUT)?)?\((?:\w+, )?(' + TYPES + r'[a-z]\d{1,2}_\w+)', re.M),
    '.sh': re.compile(r'^((?:dev_)?' + TYPES + r'[a-z]\d{1,2}_\w+)\(\)', re.M),
    '.rs': re.compile(r'^\s*fn (' + TYPES + r'[a-z]\d{1,2}_\w+)\(', re.M),
}
# Names in the strings and commands of tests, as of events. z0_ is a mark of the fuzzer.
TESTS = re.compile(r'(?:^tools/testing/selftests/.*|/tests(?:/.*)?)\.(?:[ch]|rs|sh|pl|py)$')
NAMES = re.compile(r'(?<![\w.%$\\-])(?!x86_|z0_)' + TYPES + r'[a-z]\d{1,2}_[a-z]\w*')
FILES = re.compile(r'(?:^|/)([a-z]\d{1,3}[-_][^/]*)$')
FOLDERS = ('rust/macros', 'rust/kernel/trace', 'rust', 'kernel/trace/user_events', 'kernel/trace/hist', 'kernel',
           'samples', 'tools', 'models', 'scripts', 'configs', 'Documentation', '.')
LIMIT = 0.01

Item = collections.namedtuple('Item', 'line kind text of_fn', defaults=[False])


def strip_code(text):
    """The text without what is in backticks, or is the target of a link."""
    text = re.sub(r'``.*?``|`[^`]*`_?', '`', text)
    text = re.sub(r'\]\([^)]*\)', ']', text)
    return re.sub(r'https?://\S+|\bDocumentation/\S+', '', text)


def banned(text, is_script):
    """The sentences that have a word of BANNED, with the word."""
    # The first column of a list of commands or options, such as "   put FILE   writes to it".
    text = re.sub(r'^ +\S.*? {3,}', '', text, flags=re.M)
    for paragraph in re.split(r'\n\s*\n', text):
        plain = re.sub(r'"[^"]*"', '""', strip_code(' '.join(paragraph.split())))
        if is_script:
            plain = re.sub(r'\bmake\b', '', plain)
        for sentence in re.split(r'(?<=[.!?:])\s', plain):
            if m := BANNED.search(sentence):
                yield m[0], sentence


def is_of_fn(lines):
    """True if the item that follows a doc comment is a function. Attributes, which may be generated or
    have several lines, and comments can precede it."""
    depth = 0
    for line in lines:
        line = line.strip()
        if depth > 0 or line.startswith('#[') or re.fullmatch(r'[#$]\(#\[?[$]?\w+\]?\)\*|#\w+', line):
            depth += line.count('[') - line.count(']')
        elif not line.startswith('//'):
            return bool(FUNCTION.match(line))
    return False


def rust(text):
    """Runs of comments of the same kind. A string that has // at a line's start is none of ours."""
    items, run, kind, start = [], [], None, 0
    fence = False
    lines = text.split('\n') + ['']
    for n, line in enumerate(lines, 1):
        m = re.match(r'\s*(///|//!|//)(?!/)\s?(.*)', line)
        mark, body = (m[1], m[2]) if m else (None, None)
        if re.match(r'\s*#\[doc = ', line):
            # Other arguments of concat!() are names in code.
            mark, body = '///', 'name'.join(re.findall(r'"((?:[^"\\]|\\.)*)"', line))
        new = {'///': 'doc', '//!': 'doc', '//': 'comment'}.get(mark)
        if run and mark != kind:
            items.append(Item(start, 'doc' if kind != '//' else 'comment', '\n'.join(run),
                              kind == '///' and is_of_fn(lines[n - 1:])))
            run = []
        if mark:
            if not run:
                kind, start, fence = mark, n, False
            # Examples are code.
            if new == 'doc' and body.startswith('```'):
                fence = not fence
                run.append('')
            elif not fence and not body.startswith('SPDX'):
                run.append(body)
        else:
            t = re.match(r'.*[;,{})\]]\s+// (.*)', line)
            if t and '"' not in line:
                items.append(Item(n, 'comment', t[1]))
    return items


def c(text):
    """Comments of C."""
    items = []
    for m in re.finditer(r'/\*.*?\*/|^\s*//[^\n]*', text, re.S | re.M):
        body = re.sub(r'^/\*+|\*+/$|^\s*//', '', m[0].strip())
        body = '\n'.join(re.sub(r'^\s*\*\s?', '', line) for line in body.split('\n')).strip()
        if not body.startswith('SPDX'):
            items.append(Item(text.count('\n', 0, m.start()) + 1, 'comment', body))
    return items


def hashes(text):
    """Runs of comments that begin with #."""
    items, run, start = [], [], 0
    for n, line in enumerate(text.split('\n') + [''], 1):
        m = re.match(r'\s*#(?!!)\s?(.*)', line)
        if not m or not m[1].strip():
            if run:
                items.append(Item(start, 'comment', '\n'.join(run)))
            run = []
        elif not re.match(r'SPDX|shellcheck|vim:', m[1]):
            if not run:
                start = n
            run.append(m[1])
    return items


def document(text):
    """Paragraphs, and the bodies of definitions and cells."""
    items, run, start, literal = [], [], 0, None
    for n, line in enumerate(text.split('\n') + [''], 1):
        depth = len(line) - len(line.lstrip())
        if literal is not None and (not line.strip() or depth > literal):
            continue
        literal = depth if re.match(r'\s*\.\. code-block::', line) else None
        again = run and depth > len(run[-1]) - len(run[-1].lstrip())
        cell = re.match(r'\s*(?:[-*]|\d+\.)\s', line)
        if run and (not line.strip() or again or cell):
            text_of = '\n'.join(r.strip() for r in run)
            items.append(Item(start, 'comment', re.sub(r'^(?:[-*] )+|^\d+\. ', '', text_of)))
            if text_of.endswith('::'):
                literal = len(run[-1]) - len(run[-1].lstrip())
            run = []
        if line.strip() and literal is None and not re.match(r'\s*(?:\.\. |[=~^-]{3,}|:\w|\|)', line):
            if not run:
                start = n
            run.append(line)
    # A heading may be a question.
    lines = text.split('\n') + ['', '']
    return [i for i in items if not re.match(r'[=~^-]{3,}', lines[i.line])]


def error_texts(text):
    """The strings of a proc macro: nearly all are texts of errors."""
    text = re.sub(r'^[ \t]*//.*', '', text, flags=re.M)
    for m in re.finditer(r"""'\\?.'|"((?:[^"\\]|\\.)*)\"""", text, re.S):
        if m[1] and re.search(r'\w \w', m[1]):
            yield text.count('\n', 0, m.start()) + 1, m[1].replace('\\\n', ' ').replace('\\"', '')


def items_of(path, text):
    if path.endswith('.rs'):
        return rust(text)
    if path.endswith('.md'):
        # Code is indented.
        return document(re.sub(r'^ {4}.*', '', text, flags=re.M))
    if re.search(r'\.[chS]$', path):
        return c(text)
    if path.endswith('.rst'):
        return document(text)
    if path.endswith('.patch'):
        # The message; new lines are looked at where they are a file's own.
        return document(re.split(r'^---$|^--- a/|^diff ', text, maxsplit=1, flags=re.M)[0])
    return hashes(text)


class Report:
    def __init__(self):
        self.problems = []
        self.counts = collections.defaultdict(collections.Counter)

    def file(self, path, text):
        folder = next(f for f in FOLDERS if f == '.' or path.startswith(f + '/'))
        count = self.counts[folder]
        for item in items_of(path, text):
            count[item.kind] += 1

            def problem(what, why, at=item.line):
                count[f'{what} {item.kind}' if what == 'opens' else what] += 1
                self.problems.append((what, item.kind, f'{path}:{at}: {why}'))

            plain = strip_code(item.text.strip())
            # A heading of a table may be a question.
            if OPENS.match(plain) and not re.fullmatch(r'(?:\w+ ?){1,5}', plain):
                problem('opens', f'{item.kind} opens with "{plain.split()[0]}"')
            if PROMISED.search(plain):
                problem('promised', 'says who promised')
            for word, sentence in banned(item.text, not re.search(r'\.(rs|[chS]|rst|md|patch)$', path)):
                problem('banned', f'"{word}" in: {sentence[:70]}')
            # After a blank line it continues the text of attributes.
            if item.of_fn and not item.text.startswith('\n') and not VERB.match(item.text):
                problem('noun', f'the doc comment of a function opens with "{item.text.split()[0]}"')
            for m in PRIVATE.finditer(plain):
                problem('private', f'"{m[0]}" is an id of a list that is not here')
        for line, string in error_texts(text) if path.startswith('rust/macros/') else ():
            for word, sentence in banned(string, False):
                problem('banned', f'"{word}" in an error text: {sentence[:70]}', line)
        if TESTS.search(path):
            for m in [*NAMES.finditer(text), *FILES.finditer(path)]:
                line = text.count('\n', 0, m.start()) + 1 if m.re is NAMES else 1
                count['private'] += 1
                self.problems.append(('private', 'comment', f'{path}:{line}: "{m[m.lastindex or 0]}" begins with an id '
                                      'of a list that is not here'))
        for suffix, names in CASES.items():
            if path.endswith(suffix):
                for m in names.finditer(text):
                    count['private'] += 1
                    self.problems.append(('private', 'comment', f'{path}:{text.count(chr(10), 0, m.start(1)) + 1}: '
                                          f'the case "{m[1]}" begins with an id of a list that is not here'))

    def bad(self):
        """What fails: any problem, but of the openings only if they are too many."""
        shares = {kind: sum(c[f'opens {kind}'] for c in self.counts.values()) /
                  max(1, sum(c[kind] for c in self.counts.values())) for kind in ('doc', 'comment')}
        return [text for what, kind, text in self.problems if what != 'opens' or shares[kind] >= LIMIT]

    def table(self):
        rows = [('folder', 'doc', 'opens', 'other', 'opens', 'promised', 'banned', 'private', 'noun')]
        total = collections.Counter()
        for folder in FOLDERS:
            if folder in self.counts:
                total.update(self.counts[folder])
        for folder, n in [(f, self.counts[f]) for f in FOLDERS if f in self.counts] + [('all', total)]:
            rows.append((folder, *(str(n[k]) for k in ('doc', 'opens doc', 'comment', 'opens comment', 'promised',
                                                       'banned', 'private', 'noun'))))
        return '\n'.join(f'{r[0]:26}' + ''.join(f'{x:>9}' for x in r[1:]) for r in rows)


def self_test():
    planted = {
        'a.rs opens': ('/// What it is.\nfn a() {}\n', 1),
        'b.rs opens': ('/// Returns what it is.\n// Whether it is one.\nfn a() {}\n', 1),
        'c.rs opens': ('/// Returns\n/// What it is.\n', 0),
        'd.rs promised': ('// SAFETY: Promised by the\n// caller.\n', 1),
        'e.rs promised': ('// SAFETY: It is promised\n    // by `new()`.\n', 1),
        'f.rs banned': ('//! Makes one.\n', 1),
        'g.rs banned': ('/// Returns `make`. It makes one.\n', 1),
        'h.rs banned': ('/// Returns the number that there\n/// is.\n', 1),
        'i.rs banned': ('/// Adds one.\n///\n/// ```\n/// // Makes one.\n/// ```\n', 0),
        'aa.rs banned': ('// See `make`\n// and "goes", or the row helper-goes.\nlet a = 1; // Nobody does.\n', 1),
        'ab.rst banned': ('The first\nis ``make\ntest``.\n\n.. code-block:: rust\n\n    goes\n\n* - There may be.\n', 1),
        'ac.sh banned': ('# See make. It makes.\n#   put FILE   writes to it\n', 1),
        'ad.md banned': ('It goes.\n\n    make test\n', 1),
        'rust/macros/ae.rs banned': ('f(\'"\', "there is \\\n  one", "make");\n// "It goes."\n', 1),
        'j.rs private': ('// As in u3.\nfn h25_of() {}\n', 2),
        'k.rs private': ('// A u32, or u8, of f64; see 0xf12.\nfn u32_of() {}\n', 0),
        'l.c private': ('/* Row f55,\n * and u2. */\nTEST_F(past, a1_bug)\n', 3),
        'm.sh private': ('# It is h7.\nh2_bug() {\n}\n', 2),
        'n.rst opens': ('Where is it\n===========\n\nHow it works.\n\n``x``\n    Whether it is.\n\n- What.\n', 3),
        'o.rst private': ('See::\n\n    u4\n', 0),
        'p.rst private': ('See u2.\n', 1),
        'q.patch private': ('Subject: [PATCH] fix u2\n\n---\n+u3\n', 1),
        'r.rs noun': ('/// The name.\nfn a() {}\n/// Size in bytes.\n#[inline]\npub(crate) const fn b() {}\n', 2),
        's.rs noun': ('/// Bytes of a record.\nfn a() {}\n/// `None` if not.\nfn b();\n/// As `a`.\nfn c();\n', 3),
        't.rs noun': ('/// # Safety\n///\n/// None.\n// It is.\nunsafe extern "C" fn a() {}\n', 1),
        'u.rs noun': ('/// The type.\nstruct A {\n    /// The field.\n    f: fn(),\n}\n/// The rest.\nmod fn_a;\n', 0),
        'v.rs noun': ('/// Called on\n/// a hit.\nfn a();\n/// Atomically sets.\nfn b();\n/// Re-uses.\nfn c();\n', 0),
        'w.rs noun': ('#(#attrs)*\n///\n/// The end.\n#vis fn #a() {}\n/// Reads.\n///\n/// The rest.\nfn b();\n', 0),
        'x.rs noun': ('#[doc = concat!("Size of `", stringify!(#a), "`.")]\n#hidden\n#vis fn #a();\n', 1),
        'y.rs noun': ('#[doc = "Returns it."]\n/// The rest.\n#[cfg(all(\n    A,\n))]\nfn a();\n', 0),
        'tools/testing/selftests/a.c private': ('f("a1_ro u32 a", "u:u8_of", "x86_64", "u:b2_in u32 a");\n', 2),
        'tools/testing/selftests/a/f01-files.sh private': ('echo u:c3_x >dynamic_events\n', 2),
        'kernel/trace/hist/tests/a.rs private': ('f("a1_ro");\n', 1),
        'kernel/trace/hist/a.rs private': ('f("a1_ro");\n', 0),
        'z.rs opens': ('#[doc = concat!("Whether it is `", stringify!(#a), "`.")]\nfn a() {}\n', 1),
    }
    bad = 0
    for name, (text, wanted) in planted.items():
        path, what = name.split()
        report = Report()
        report.file(path, text)
        found = [t for w, _, t in report.problems if w == what]
        # A lone item is over any limit.
        if len(found) != wanted or (wanted and not set(found) <= set(report.bad())):
            print(f'{name}: {len(found)} problems, not {wanted}: {found}')
            bad = 1
    report = Report()
    report.file('a.rs', '/// What it is.\nstruct A;\n' + '/// One.\nstruct A;\n' * 100)
    if report.bad() or len(report.problems) != 1:
        print('under 1 % fails')
        bad = 1
    return bad


def main():
    if sys.argv[1:] == ['--self-test']:
        return self_test()
    top = sys.argv[1]
    paths = sys.argv[2:]
    if not paths:
        for folder, folders, files in os.walk(top):
            folders[:] = sorted(f for f in folders if f not in ('build', '.git', '__pycache__', 'target'))
            paths += [os.path.relpath(os.path.join(folder, f), top) for f in sorted(files)
                      if not os.path.islink(os.path.join(folder, f))]
    report = Report()
    for path in paths:
        # Input and output of programs.
        if re.search(r'\.(config|accept|txt|out|list|toml|lock|prog|map|json|pyc)$|/expected/|/corpus/|\.gitignore$', path):
            continue
        with open(os.path.join(top, path), encoding='utf-8', errors='replace') as f:
            report.file(path, f.read())
    bad = report.bad()
    for text in bad:
        print(text)
    print(report.table())
    return bool(bad)


if __name__ == '__main__':
    sys.exit(main())
