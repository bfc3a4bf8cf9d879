# SPDX-License-Identifier: GPL-2.0
"""Events, triggers and errors, on a folder that looks like tracefs."""

import contextlib
import io
import os
import tempfile
import unittest

from tests.data_files import data
from tracehist.errors import HistError
from tracehist.instance import Instance
from tracehist.latency import Latency
from tracehist.request import Request, matched_keys
from tracehist.tracefs import Tracefs, last_error
from tracehist.trigger import Trigger, key_names, keys_of

FORMAT = """name: sched_switch
ID: 3
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;
\tfield:__data_loc char[] name;\toffset:60;\tsize:4;\tsigned:0;
\tfield:const char * pointer;\toffset:64;\tsize:8;\tsigned:0;
"""


class FakeTracefs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        self.put("available_events", "sched:sched_switch\nsched:sched_waking\nblock:start\nnet:start\n")
        self.put("README", "old")
        for file, contents in (("format", FORMAT), ("hist", ""), ("trigger", "")):
            self.put(f"events/sched/sched_switch/{file}", contents)
        self.tracefs = Tracefs(self.root)

    def put(self, name, contents):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(contents)

    def fails(self, pattern, action, *args):
        with self.assertRaises(HistError) as caught:
            action(*args)
        self.assertRegex(str(caught.exception), pattern)


class TracefsTest(FakeTracefs):
    def test_names_of_events(self):
        for name in ("sched_switch", "sched:sched_switch", "sched/sched_switch"):
            self.assertEqual(self.tracefs.event(name), "sched/sched_switch")
        self.fails("(?s)no event sched_swich\n.*sched:sched_switch", self.tracefs.event, "sched_swich")
        self.fails("(?s)no event shed:switch\n.*sched:sched_switch", self.tracefs.event, "shed:switch")
        self.fails("several events .*\n.*block:start, net:start", self.tracefs.event, "start")

    def test_what_is_no_tracefs(self):
        self.fails("is not a folder", Tracefs, self.root + "/nothing")
        os.remove(self.root + "/available_events")
        self.fails("(?s)is no tracefs.*mount -t tracefs", Tracefs, self.root)

    def test_kernel_without_hist_triggers(self):
        self.tracefs.require_hist("sched/sched_switch")
        os.remove(self.root + "/events/sched/sched_switch/hist")
        self.fails("(?s)no hist triggers.*CONFIG_HIST_TRIGGERS", self.tracefs.require_hist, "sched/sched_switch")

    def test_fields(self):
        self.assertEqual(self.tracefs.fields("sched/sched_switch")["next_pid"], "pid_t next_pid")
        self.assertEqual(
            set(self.tracefs.fields("sched/sched_switch")),
            {"common_type", "common_pid", "prev_comm", "next_pid", "name", "pointer"},
        )

    def test_error_log(self):
        self.assertEqual(
            last_error(data("c/wrong.error_log")),
            "hist:raw_syscalls:sys_exit: error: Couldn't find field\n"
            "  Command: hist:keys=nofield:vals=ret\n                     ^",
        )
        self.assertEqual(
            last_error(data("c/parts.error_log") + data("c/wrong.error_log")).split("\n")[0],
            "hist:raw_syscalls:sys_exit: error: Couldn't find field",
        )
        self.assertEqual(last_error("\n"), "")


class TriggerTest(FakeTracefs):
    def test_lines(self):
        self.assertEqual(
            str(Trigger(["pid", "lat.log2=3"], ["lat"], ["t=x"], ["onmax($t).snapshot()"], 4096, "pid > 3")),
            "hist:keys=pid,lat.log2=3:vals=lat:t=x:size=4096:onmax($t).snapshot() if pid > 3",
        )

    def test_keys_of_a_line(self):
        line = 'hist:name=foo:keys=pid,lat.buckets=10:vals=hitcount:sort=lat if comm == "keys=a:b" [active]'
        self.assertEqual(key_names(line), ["pid", "lat.buckets=10"])
        self.assertEqual(
            [(k.name, k.scale and k.scale.name) for k in keys_of(line)], [("pid", None), ("lat", "buckets=10")]
        )

    def test_what_this_kernel_has(self):
        request = Request("a/b", ["pid", "lat.log2=3"], ["lat.max"])
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(str(request.trigger(self.tracefs)), "hist:keys=pid,lat.log2:vals=lat")
        self.assertIn("this kernel has no .log2=3", said.getvalue())
        self.assertIn("this kernel has no lat.max", said.getvalue())
        self.put("README", "... lat.log2=K ...")
        self.assertEqual(str(request.trigger(self.tracefs)), "hist:keys=pid,lat.log2=3:vals=lat.max,lat")

    def test_no_keys(self):
        self.fails("there is no key to count by", Request("a/b", []).trigger, self.tracefs)

    def test_the_sum_of_a_field_named_hitcount(self):
        for keys in (["hitcount.log2"], ["x.log2", "hitcount.log2"]):
            self.assertEqual(str(Request("a/b", keys).trigger(self.tracefs)), f"hist:keys={','.join(keys)}")

    def test_sums_are_limited(self):
        self.put("README", "log2=K")
        self.assertEqual(
            str(Request("a/b", ["lat.log2"], ["x", "y"]).trigger(self.tracefs)), "hist:keys=lat.log2:vals=x,y"
        )
        self.assertEqual(
            str(Request("a/b", ["lat.log2"], ["lat"]).trigger(self.tracefs)), "hist:keys=lat.log2:vals=lat"
        )
        self.fails("cannot be recorded", Request("a/b", ["pid"], ["x.percent"]).trigger, self.tracefs)

    def test_keys_of_two_events(self):
        self.assertEqual(matched_keys("pid=next_pid, common_cpu"), [("pid", "next_pid"), ("common_cpu", "common_cpu")])
        self.fails("no key", matched_keys, " ,")

    def test_a_field_named_max(self):
        event = "a/b"
        latency = Latency(event, event, [("max", "max")], save=["comm"])
        self.put("instances/i/events/a/b/hist", "{ max:  22 } hitcount:  1\n\tmax:  29  comm: x \n")
        instance = Instance(self.tracefs)
        instance.folder = self.root + "/instances/i"
        self.assertEqual(latency.longest(instance), [{"max": 29, "max_2": 22, "comm": "x"}])

    def test_fields_of_latencies(self):
        latency = Latency("sched/sched_switch", "sched/sched_switch", [("next_pid", "next_pid")])
        declared = {
            name: latency._declared(self.tracefs, name) for name in ("next_pid", "prev_comm", "name", "common_pid")
        }
        self.assertEqual(
            declared,
            {
                "next_pid": ("next_pid", "pid_t next_pid"),
                "prev_comm": ("prev_comm", "char prev_comm[16]"),
                "name": ("name", "char name[]"),
                "common_pid": ("pid", "int pid"),
            },
        )
        self.fails("cannot be divided", latency._declared, self.tracefs, "pointer")
        latency.check(self.tracefs)
        self.fails(
            "has no field other",
            Latency("sched/sched_switch", "sched/sched_switch", [("next_pid", "other")]).check,
            self.tracefs,
        )


if __name__ == "__main__":
    unittest.main()
