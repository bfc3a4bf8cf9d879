# SPDX-License-Identifier: GPL-2.0
"""The commands of the program."""

import errno
import io
import os
import sys
import time
from collections.abc import Sequence
from typing import Callable, Optional, TextIO

from tracehist import arguments, bars, live, otlp, picture, prometheus, recording, source, summary
from tracehist.errors import HistError, of_file
from tracehist.instance import Instance, remove_leftovers
from tracehist.latency import Latency
from tracehist.recording import Interval, Recording
from tracehist.request import Request, matched_keys, split
from tracehist.session import Limits, Watcher, record
from tracehist.signals import Waiter
from tracehist.tracefs import Tracefs

# Exit status. 2 is that of argparse for a wrong command line.
FAILED = 1
# Options that name a file that is written.
OUTPUTS = ("output", "svg", "heatmap")


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Runs the program and returns its exit status."""
    commands: dict[str, Callable] = {
        "record": run_record,
        "latency": run_latency,
        "top": run_top,
        "show": run_show,
        "plot": run_plot,
        "export": run_export,
        "cleanup": run_cleanup,
    }
    try:
        args = arguments.parse(argv)
        _check_outputs(args)
        _show_all_characters()
        status = commands[args.command](args)
        sys.stdout.flush()
        return status
    except HistError as error:
        _tell(error)
        return error.status
    except BrokenPipeError:
        # The reader of the output has seen enough.
        _give_up_output()
        return 0
    except OSError as error:
        # Errors of files are explained where they are opened, so one without a name is of the output.
        _tell(f"{error.filename or 'cannot write the standard output'}: {error.strerror or error}")
        _give_up_output()
        return FAILED
    except KeyboardInterrupt:
        return 130


def _tell(error: object) -> None:
    print(f"hist: error: {error}", file=sys.stderr)


def _give_up_output() -> None:
    """Leaves nothing to be flushed at exit, which would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_all_characters() -> None:
    """Has a character that the terminal does not have shown as an escape."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def run_record(args) -> int:
    """hist record"""
    tracefs = Tracefs(args.tracefs)
    event = tracefs.event(args.event)
    tracefs.require_hist(event)
    request = Request(event, split(args.keys), split(args.vals), args.filter, args.size)
    trigger = request.trigger(tracefs)
    with Waiter() as waiter, Instance(tracefs) as instance:
        result = _recorded(
            args, waiter, lambda watcher: record(instance, event, trigger, waiter, _limits(args), watcher)
        )
    return _finish(args, waiter, result)


def run_latency(args) -> int:
    """hist latency"""
    tracefs = Tracefs(args.tracefs)
    latency = Latency(
        tracefs.event(args.start),
        tracefs.event(args.end),
        matched_keys(args.key),
        split(args.by),
        args.unit,
        args.buckets,
        args.start_filter,
        args.filter,
        args.size,
        split(args.save),
    )
    tracefs.require_hist(latency.start)
    latency.check(tracefs)
    with Waiter() as waiter, Instance(tracefs) as instance:
        event, trigger = latency.set_up(instance)

        def named(watcher: Optional[Watcher]) -> Watcher:
            def watch(so_far: Recording) -> bool:
                so_far.title, so_far.unit = latency.title, latency.unit
                return watcher is not None and watcher(so_far)

            return watch

        result = _recorded(
            args, waiter, lambda watcher: record(instance, event, trigger, waiter, _limits(args), named(watcher))
        )
        result.longest = latency.longest(instance)
        result.dropped = (result.dropped or 0) + latency.lost(instance)
    return _finish(args, waiter, result)


def run_top(args) -> int:
    """hist top"""
    count = 0

    def enough() -> bool:
        nonlocal count
        count += 1
        return args.iterations is not None and count >= args.iterations

    with live.Screen(sys.stdout) as screen, Waiter() as waiter:
        if args.file is not None:
            _top_of_file(args, screen, waiter, enough)
            return 0
        tracefs = Tracefs(args.tracefs)
        event = tracefs.event(args.event)
        tracefs.require_hist(event)
        trigger = Request(event, split(args.keys), split(args.vals), args.filter, args.size).trigger(tracefs)

        def watch(so_far: Recording) -> bool:
            screen.show(_lines(so_far if args.all else _last(so_far), args.top))
            # A long run does not grow.
            if args.all:
                first, last = so_far.intervals[0], so_far.intervals[-1]
                so_far.intervals[:] = [Interval(first.start, last.end, dict(so_far.total().rows))]
            else:
                so_far.intervals[:-1] = []
            return enough()

        with Instance(tracefs) as instance:
            record(instance, event, trigger, waiter, _limits(args), watch)
    return 0


def _top_of_file(args, screen: live.Screen, waiter: Waiter, enough: Callable[[], bool]) -> None:
    """Shows a hist file that somebody else has made, and takes nothing of it."""
    before: list[Recording] = []
    start = last = time.monotonic()
    while True:
        now = source.load(args.file)
        read = time.monotonic()
        lines: list[str] = []
        for i, new in enumerate(now):
            shown = new
            if before and not args.all and i < len(before) and new.trigger == before[i].trigger:
                rows = new.total().since(before[i].total())
                shown = Recording(
                    new.event,
                    new.trigger,
                    new.keys,
                    new.values,
                    new.source,
                    intervals=[Interval(last - start, read - start, rows)],
                )
            lines += ([""] if lines else []) + _lines(shown, args.top)
        screen.show(lines)
        before, last = now, read
        over = args.duration is not None and read - start >= args.duration
        if enough() or over or not waiter.wait(read + args.interval):
            return


def run_show(args) -> int:
    """hist show"""
    name = args.file
    if name is None:
        name = source.of_event(Tracefs(args.tracefs), args.event, args.instance)
    found = source.load(name)
    for number, one in enumerate(found):
        if number:
            print()
        print("\n".join(_lines(one, args.top)))
    return 0


def run_plot(args) -> int:
    """hist plot"""
    one = _only(args.file)
    write(args.output, picture.heatmap(one) if args.kind == "heatmap" else picture.distribution(one))
    return 0


def run_export(args) -> int:
    """hist export"""
    one = _only(args.file)
    formats: dict[str, Callable[[], str]] = {
        "json": lambda: summary.export(one),
        "prometheus": lambda: prometheus.export(one, args.metric),
        "otlp": lambda: otlp.export(one, scale=args.scale),
        "otlp-explicit": lambda: otlp.export(one, explicit=True),
    }
    write(args.output, formats[args.format]())
    return 0


def _only(name: str) -> Recording:
    """Returns the recording in a file, which has to be the only one."""
    found = source.load(name)
    if len(found) > 1:
        raise HistError(f"{name} has {len(found)} histograms", "Leave one: an empty line separates those of hist_raw.")
    return found[0]


def run_cleanup(args) -> int:
    """hist cleanup"""
    remove_leftovers(Tracefs(args.tracefs), lambda folder: print(f"removing {folder}"))
    return 0


def _limits(args) -> Limits:
    return Limits(args.interval, args.duration, getattr(args, "child", None), _is_output(args))


def _is_output(args) -> bool:
    """Returns True if the standard output is the recording or a picture, so nothing else may be written to it."""
    return "-" in (getattr(args, option, None) for option in OUTPUTS)


def _recorded(args, waiter: Waiter, run: Callable[[Optional[Watcher]], Recording]) -> Recording:
    """Records, with a live table if that was asked for: on the standard error if the output is a file."""
    if not args.live:
        return run(None)
    out = sys.stderr if _is_output(args) else sys.stdout
    with live.Screen(out) as screen:

        def watch(so_far: Recording) -> bool:
            screen.show(_lines(so_far, args.top, out))
            return False

        return run(watch)


def _finish(args, waiter: Waiter, result: Recording) -> int:
    """Writes and shows a recording, and returns the exit status.

    If a file cannot be written, the others are, and what was recorded is shown.
    """
    failed: list[HistError] = []
    for name, contents in (
        (args.output, recording.dump),
        (args.svg, picture.distribution),
        (args.heatmap, picture.heatmap),
    ):
        if name is not None:
            try:
                write(name, contents(result))
            except picture.NotDrawn as error:
                what = "the standard output" if name == "-" else name
                failed.append(HistError(f"{what} is not written: {error}"))
            except HistError as error:
                failed.append(error)
    shown = not args.quiet and not _is_output(args)
    if shown:
        print("\n".join(_lines(result, args.top)))
        sys.stdout.flush()
    if result.dropped and not shown:
        print(f"hist: warning: {bars.lost(result)[-1]}", file=sys.stderr)
    for error in failed:
        _tell(error)
    return waiter.status or (FAILED if failed else 0)


def _check_outputs(args) -> None:
    """Raises an error if a file cannot be written: before the recording, which would be lost."""
    for name in (getattr(args, option, None) for option in OUTPUTS):
        if name is None or name == "-":
            continue
        number = 0
        if not name:
            number = errno.ENOENT
        elif os.path.isdir(name):
            number = errno.EISDIR
        elif not os.path.isdir(os.path.dirname(name) or "."):
            number = errno.ENOENT
        elif not os.access(name if os.path.exists(name) else os.path.dirname(name) or ".", os.W_OK):
            number = errno.EACCES
        if number:
            raise HistError(f"cannot write {name or repr(name)}: {os.strerror(number)}")


def write(name: str, contents: str) -> None:
    """Writes a file, or to the standard output for "-", as UTF-8 whatever the terminal has."""
    data = contents.encode("utf-8", "replace")
    if name == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        with open(name, "wb") as file:
            file.write(data)
    except OSError as error:
        # A full disk has no name.
        error.filename = name
        raise of_file(error, "write") from None


def _lines(one: Recording, top: int, out: Optional[TextIO] = None) -> list[str]:
    to = out or sys.stdout
    return bars.report(one, live.width(to), live.is_plain(to), top)


def _last(so_far: Recording) -> Recording:
    """Returns the last interval as a recording."""
    return Recording(
        so_far.event,
        so_far.trigger,
        so_far.keys,
        so_far.values,
        so_far.source,
        so_far.unit,
        title=so_far.title,
        intervals=so_far.intervals[-1:],
    )
