# SPDX-License-Identifier: GPL-2.0
"""The command line."""

import argparse
import sys
from collections.abc import Sequence
from typing import Optional

from tracehist import __version__
from tracehist.bucket import scale_of
from tracehist.duration import seconds
from tracehist.errors import UsageError

EXAMPLES = """examples:
  hist record -e sched_switch --keys next_comm --for 10s
      which tasks ran most often
  hist record -e sys_exit_read --keys ret.log2=2 --filter 'ret > 0' -- make
      the sizes of reads while a command runs
  hist latency sched_waking sched_switch --key pid=next_pid --svg wakeup.svg
      how long tasks wait for a processor, in the terminal and as a picture
  hist top -e raw_syscalls:sys_enter --keys common_comm,id.syscall
      a table that is refreshed each second
  hist record -e kmem:kmalloc --keys bytes_req.log2=3 --for 1m -o sizes.json
  hist export sizes.json --format prometheus
      a recording, and what other programs read
"""

KEYS_HELP = """the fields to count by, as in a trigger; modifiers make buckets: .log2 (powers of two), .log2=K
(2^K buckets a power of two), .buckets=N; others are .execname, .sym, .syscall, .hex
(default: common_pid.execname)"""

# Options that have no default in the parser, to tell whether they were given.
DEFAULTS = {"keys": "common_pid.execname", "top": 20}


def positive(text: str) -> int:
    """Returns a number of things; used as the type of an argument."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"not a number from 1 on: {text!r}")
    return int(text)


def modifier(text: str) -> str:
    """Returns a modifier that makes buckets; used as the type of an argument."""
    if scale_of(text) is None:
        raise argparse.ArgumentTypeError(f"not log2, log2=K with K from 1 to 5, or buckets=N: {text!r}")
    return text


def parse(argv: Optional[Sequence[str]] = None) -> argparse.Namespace:
    """Returns the arguments of a command line. An error or --help ends the program.

    UsageError is raised for options that do not suit each other.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    child: list[str] = []
    # Before Python 3.13, argparse does not find a command that follows options.
    if words[:1] in (["record"], ["latency"]) and "--" in words:
        at = words.index("--")
        words, child = words[:at], words[at + 1 :]
    args = parser().parse_args(words)
    if child:
        args.child = args.child + child
    _check(args)
    for name, default in DEFAULTS.items():
        if getattr(args, name, default) is None:
            setattr(args, name, default)
    return args


def _check(args: argparse.Namespace) -> None:
    """Raises an error for an option that would do nothing, and for outputs that would be mixed."""
    if args.command in ("record", "latency"):
        _check_recording(args)
    elif args.command in ("top", "show"):
        if (args.file is None) == (args.event is None):
            raise UsageError(f"hist {args.command} takes either a file or an event (-e)")
        if args.file is not None:
            only_of_events = {"top": ("keys", "vals", "filter", "size", "tracefs"), "show": ("instance", "tracefs")}
            _without_effect(args, only_of_events[args.command], "on a file, which has a histogram already")
        if args.command == "top" and args.file == "-":
            raise UsageError("hist top reads a file again and again, and the standard input only once (see hist show)")
    elif args.command == "export":
        if args.format != "prometheus":
            _without_effect(args, ("metric",), f"with --format {args.format}, only with prometheus")
        if args.format != "otlp":
            _without_effect(args, ("scale",), f"with --format {args.format}, only with otlp")


def _check_recording(args: argparse.Namespace) -> None:
    if args.quiet:
        _without_effect(args, ("live", "top"), "with --quiet, which shows nothing")
    outputs = [name for name in (args.output, args.svg, args.heatmap) if name is not None]
    for name in outputs:
        if outputs.count(name) > 1:
            what = "the standard output" if name == "-" else name
            raise UsageError(f"of --output, --svg and --heatmap only one can be {what}")
    if args.output == "-" or args.svg == "-" or args.heatmap == "-":
        if not args.live:
            _without_effect(args, ("top",), "without --live if a file is the standard output: nothing is shown there")
    if args.heatmap is not None and args.duration is not None and args.duration <= args.interval:
        raise UsageError("--heatmap needs several intervals: --for is not longer than --interval")


def _without_effect(args: argparse.Namespace, names: Sequence[str], where: str) -> None:
    given = [f"--{name}" for name in names if getattr(args, name) is not None and getattr(args, name) is not False]
    if given:
        raise UsageError(f"{', '.join(given)} {'has' if len(given) == 1 else 'have'} no effect {where}")


def parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line."""
    top = argparse.ArgumentParser(
        prog="hist",
        description="Records and shows histograms that the kernel counts (hist triggers).",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"hist {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _record(commands)
    _latency(commands)
    _top(commands)
    _show(commands)
    _plot(commands)
    _export(commands)
    _cleanup(commands)
    return top


def _add(commands: argparse._SubParsersAction, name: str, summary: str, epilog: str = "") -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _record(commands: argparse._SubParsersAction) -> None:
    p = _add(
        commands,
        "record",
        "count an event and show the distribution",
        "example: hist record -e syscalls:sys_exit_read --keys ret.log2=2 --for 10s",
    )
    _event(p)
    _limits(p)
    _output(p)
    _recorded_command(p)


def _latency(commands: argparse._SubParsersAction) -> None:
    p = _add(
        commands,
        "latency",
        "measure the time between two events",
        "example: hist latency sched_waking sched_switch --key pid=next_pid --for 10s\n"
        "         hist latency syscalls:sys_enter_read syscalls:sys_exit_read --for 10s",
    )
    p.add_argument("start", metavar="START", help="the first event")
    p.add_argument("end", metavar="END", help="the second event")
    p.add_argument(
        "--key",
        metavar="FIELD[=FIELD],...",
        default="common_pid",
        help="what both events must have in common: a field of START, and that of END if it has another "
        "name (default: %(default)s)",
    )
    p.add_argument("--by", metavar="FIELD,...", help="a distribution for each value of these fields of END")
    p.add_argument(
        "--save", metavar="FIELD,...", help="show the longest time of each key, with what these fields of END were then"
    )
    p.add_argument("--unit", choices=("us", "ns"), default="us", help="unit of the times (default: %(default)s)")
    p.add_argument(
        "--buckets",
        metavar="MODIFIER",
        type=modifier,
        default="log2=3",
        help="log2, log2=K or buckets=N (default: %(default)s)",
    )
    p.add_argument("--start-filter", metavar="EXPR", help="of START, only what passes")
    p.add_argument("--filter", metavar="EXPR", help="of END, only what passes")
    p.add_argument("--size", metavar="N", type=positive, help="number of elements of each histogram")
    _limits(p)
    _output(p)
    _recorded_command(p)


def _top(commands: argparse._SubParsersAction) -> None:
    p = _add(
        commands,
        "top",
        "show what is counted, refreshed again and again",
        "example: hist top -e raw_syscalls:sys_enter --keys common_comm,id.syscall\n"
        "         hist top /sys/kernel/tracing/events/sched/sched_switch/hist",
    )
    p.add_argument("file", metavar="FILE", nargs="?", help="a hist file of tracefs; nothing of it is changed")
    _event(p, required=False)
    p.add_argument("--all", action="store_true", help="what was counted since the start, and not in the last interval")
    _limits(p)
    p.add_argument("-n", "--iterations", metavar="N", type=positive, help="stop after so many")
    _ranks(p)
    _tracefs(p)


def _show(commands: argparse._SubParsersAction) -> None:
    p = _add(
        commands,
        "show",
        "show a recording, a hist or hist_raw file, or the histogram of an event",
        "example: hist show read.json\n         hist show -e sched:sched_switch\n"
        "         ssh host cat FILE | hist show -",
    )
    p.add_argument("file", metavar="FILE", nargs="?", help="the file; - is the standard input")
    p.add_argument("-e", "--event", metavar="EVENT", help="the histogram that this event has in the kernel")
    p.add_argument("--instance", metavar="NAME", help="in this trace instance")
    _ranks(p)
    _tracefs(p)


def _plot(commands: argparse._SubParsersAction) -> None:
    p = _add(
        commands,
        "plot",
        "draw a recording as SVG",
        "example: hist plot read.json -o read.svg\n         hist plot read.json --kind heatmap -o time.svg",
    )
    p.add_argument("file", metavar="FILE", help="a recording, or a hist or hist_raw file; - is the standard input")
    p.add_argument(
        "--kind",
        choices=("distribution", "heatmap"),
        default="distribution",
        help="a heat map is over time, and needs a recording (default: %(default)s)",
    )
    p.add_argument("-o", "--output", metavar="FILE", default="-", help="default: the standard output")


def _export(commands: argparse._SubParsersAction) -> None:
    p = _add(
        commands,
        "export",
        "write the sums of a recording in a format for other programs",
        "example: hist export read.json --format prometheus -o /run/metrics/read.prom\n"
        "         hist export read.json --format otlp |\n"
        "             curl --json @- http://localhost:4318/v1/metrics",
    )
    p.add_argument("file", metavar="FILE", help="a recording, or a hist or hist_raw file; - is the standard input")
    p.add_argument(
        "--format",
        choices=("json", "prometheus", "otlp", "otlp-explicit"),
        default="json",
        help="otlp is an exponential histogram of OpenTelemetry, otlp-explicit one with the kernel's "
        "limits (default: %(default)s)",
    )
    p.add_argument("--metric", metavar="NAME", help="name of the metric (prometheus only)")
    p.add_argument(
        "--scale", metavar="N", type=int, help="scale of the exponential histogram (otlp only; default: K of .log2=K)"
    )
    p.add_argument("-o", "--output", metavar="FILE", default="-", help="default: the standard output")


def _cleanup(commands: argparse._SubParsersAction) -> None:
    p = _add(commands, "cleanup", "remove the trace instances of hist programs that were killed")
    _tracefs(p)


def _event(p: argparse.ArgumentParser, required: bool = True) -> None:
    p.add_argument(
        "-e", "--event", metavar="EVENT", required=required, help="SYSTEM:NAME, or NAME if there is only one of it"
    )
    p.add_argument("-k", "--keys", metavar="KEY,...", help=KEYS_HELP)
    p.add_argument("--vals", metavar="FIELD,...", help="fields to add up for each key; FIELD.min, .max and .avg")
    p.add_argument("-f", "--filter", metavar="EXPR", help="only what passes, such as 'bytes_req > 100'")
    p.add_argument(
        "--size", metavar="N", type=positive, help="number of elements of the histogram (default: the kernel's, 2048)"
    )


def _limits(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "--for",
        metavar="TIME",
        dest="duration",
        type=seconds,
        help="how long, for example 500ms, 10s, 2m (default: until Ctrl-C)",
    )
    p.add_argument(
        "-i", "--interval", metavar="TIME", type=seconds, default=1.0, help="time between two readings (default: 1s)"
    )


def _output(p: argparse.ArgumentParser) -> None:
    p.add_argument("-o", "--output", metavar="FILE", help="write the recording to a file; - is the standard output")
    p.add_argument("--svg", metavar="FILE", help="draw the distribution")
    p.add_argument("--heatmap", metavar="FILE", help="draw the distribution over time")
    p.add_argument("--live", action="store_true", help="show what there is while it is recorded")
    _ranks(p)
    p.add_argument("-q", "--quiet", action="store_true", help="show nothing but errors")
    _tracefs(p)


def _ranks(p: argparse.ArgumentParser) -> None:
    p.add_argument("--top", metavar="N", type=positive, help="number of keys that are shown (default: 20)")


def _tracefs(p: argparse.ArgumentParser) -> None:
    p.add_argument("--tracefs", metavar="FOLDER", help="where tracefs is mounted (default: found out)")


def _recorded_command(p: argparse.ArgumentParser) -> None:
    p.add_argument("child", metavar="-- COMMAND", nargs="*", help="record while this command runs")
