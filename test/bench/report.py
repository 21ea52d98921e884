#!/usr/bin/env python3
"""Tests of bench/report.py, on results that were made up, and of the arguments of bench/run."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"


def goal(variant, against="", at_most=1.0, **rest):
    return {"variant": variant, "against": against, "statistic": "wall", "where": "", "against_where": "",
            "added_per": "", "worst": False, "at_most": at_most, **rest}


def samples(name, times, unit="ns", **counters):
    """As Google Benchmark writes the repetitions of one benchmark, with a median that nobody shall read."""
    made = [{"name": name, "run_name": name, "run_type": "iteration", "repetition_index": i, "iterations": 7,
             "real_time": time, "cpu_time": time / 2, "time_unit": unit, **counters} for i, time in enumerate(times)]
    return made + [{"name": name + "_median", "run_type": "aggregate", "aggregate_name": "median",
                    "real_time": 12345.0, "cpu_time": 12345.0, "time_unit": unit}]


def failed(name, message):
    return [{"name": name, "run_type": "iteration", "error_occurred": True, "error_message": message}]


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, *entries, goals=(), peers=(), limit="limit", name="what"):
        question = {"asks": "What?", "limit": limit, "peers": list(peers), "goals": list(goals)}
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps({"context": {"question": json.dumps(question)},
                                    "benchmarks": [one for entry in entries for one in entry]}))
        return path

    def report(self, *arguments):
        return subprocess.run([BENCH / "report.py", *arguments], capture_output=True, text=True)

    def rows(self, *entries, **question):
        out = self.folder / "out.json"
        got = self.report("--json", out, self.write(*entries, **question))
        self.assertEqual(got.returncode, 0, got.stderr)
        return json.loads(out.read_text())["rows"]

    def test_a_ratio_is_of_medians_for_one_event(self):
        row, = self.rows(samples("ours/n:4/process_time/real_time", [3.0, 900.0, 2.0], unit="us", events=1000),
                         samples("limit/n:4/process_time/real_time", [2.0, 1.0, 900.0], unit="ns"),
                         goals=[goal("ours", "limit", 1.5)])
        self.assertEqual((row["measured"], row["compared"], row["ratio"]), (3.0, 2.0, 1.5))
        self.assertEqual((row["question"], row["variant"], row["parameters"]), ("what", "ours", {"n": "4"}))
        self.assertEqual((row["goal"], row["met"]), (1.5, True))

    def test_a_goal_is_missed_by_a_little_more(self):
        row, = self.rows(samples("ours", [1.51]), samples("limit", [1.0]), goals=[goal("ours", "limit", 1.5)])
        self.assertIs(row["met"], False)

    def test_a_goal_is_for_the_parameters_that_it_names(self):
        entries = [samples(f"{name}/n:{n}/to:{to}", [n]) for name in ("ours", "limit") for n in (1, 4, 16)
                   for to in "ab"]
        rows = self.rows(*entries, goals=[goal("ours", "limit", where="n:4,16/to:b")])
        self.assertEqual([r["parameters"] for r in rows if r["goal"]],
                         [{"n": "4", "to": "b"}, {"n": "16", "to": "b"}])
        self.assertEqual(len([r for r in rows if not r["goal"]]), 4)

    def test_the_worst_is_found(self):
        row = self.rows(samples("ours/n:1", [5.0]), samples("ours/n:4", [6.0]),
                        samples("limit/n:1", [1.0]), samples("limit/n:4", [3.0]),
                        goals=[goal("ours", "limit", 2.0, worst=True)])[0]
        self.assertEqual((row["ratio"], row["parameters"], row["met"]), (5.0, {"n": "1"}, False))

    def test_what_one_more_adds_is_compared(self):
        row = self.rows(samples("ours/n:1", [100.0]), samples("ours/n:11", [140.0]),
                        samples("limit/n:1", [1.0]), samples("limit/n:11", [21.0]),
                        goals=[goal("ours", "limit", 2.0, added_per="n")])[0]
        self.assertEqual((row["measured"], row["compared"], row["ratio"], row["met"]), (4.0, 2.0, 2.0, True))

    def test_a_variant_is_compared_with_itself_at_other_parameters(self):
        rows = self.rows(samples("ours/gib:0", [2.0]), samples("ours/gib:8", [3.0]),
                         goals=[goal("ours", "ours", 1.3, against_where="gib:0")])
        row = next(r for r in rows if r["goal"])
        self.assertEqual((row["parameters"], row["against"], row["ratio"]), ({"gib": "8"}, "gib 0", 1.5))
        self.assertEqual(len([r for r in rows if r["goal"]]), 1)

    def test_a_counter_is_judged_by_itself(self):
        row = self.rows(samples("ours", [1.0], posts=2.0), samples("limit", [1.0]),
                        goals=[goal("ours", statistic="posts")])[0]
        self.assertEqual((row["measured"], row["ratio"], row["met"]), (2.0, 2.0, False))

    def test_cpu_time_is_a_statistic(self):
        row = self.rows(samples("ours", [4.0]), samples("limit", [2.0]),
                        goals=[goal("ours", "limit", 2.0, statistic="cpu")])[0]
        self.assertEqual((row["measured"], row["compared"]), (2.0, 1.0))

    def test_what_has_fewer_parameters_is_beside_all(self):
        rows = self.rows(samples("ours/n:4/m:1", [3.0]), samples("limit/m:1", [2.0]), samples("limit/m:2", [1.0]),
                         goals=[goal("ours", "limit", 2.0)])
        self.assertEqual(rows[0]["ratio"], 1.5)

    def test_peers_stand_beside(self):
        row, = self.rows(samples("ours", [2.0]), samples("limit", [1.0]), samples("them", [8.0]),
                         goals=[goal("ours", "limit", 3.0)], peers=["them"])
        self.assertEqual(row["peers"], {"them": {"measured": 8.0, "ratio": 8.0}})

    def test_a_peer_that_is_not_there_is_not_passed_over(self):
        path = self.write(samples("ours", [2.0]), samples("limit", [1.0]), failed("node", "missing: node is not installed"),
                          goals=[goal("ours", "limit", 3.0), goal("ours", "node", 0.1)], peers=["node"])
        out = self.folder / "out.json"
        got = self.report("--json", out, path)
        self.assertEqual(got.returncode, 0, got.stderr)
        first, second = json.loads(out.read_text())["rows"]
        self.assertEqual(first["peers"], {"node": "node is not installed"})
        self.assertEqual((second["met"], second["missing"]), (None, "node is not installed"))
        self.assertEqual(got.stdout.count("node is not installed"), 2)

    def test_what_did_not_run_is_a_failure(self):
        got = self.report(self.write(samples("ours", [2.0]), failed("limit/n:4", "no answer")))
        self.assertEqual(got.returncode, 1)
        self.assertIn("what: limit (n 4): no answer", got.stderr)

    def test_a_missed_goal_is_no_failure(self):
        got = self.report(self.write(samples("ours", [2.0]), samples("limit", [1.0]), goals=[goal("ours", "limit", 1.0)]))
        self.assertEqual(got.returncode, 0)
        self.assertIn("| what | ours |  | 2 ns | limit (limit) | 1 ns | 2.00 | ≤ 1.00 | **no** |", got.stdout)

    def test_all_questions_are_in_one_table(self):
        got = self.report(self.write(samples("ours", [2.0]), name="first"), self.write(samples("ours", [2.0]), name="second"))
        self.assertEqual([line.split("|")[1].strip() for line in got.stdout.splitlines()],
                         ["question", "---", "first", "second"])

    def test_the_chart_has_every_ratio_and_its_goal(self):
        chart = self.folder / "chart.svg"
        got = self.report("--svg", chart, self.write(
            samples("ours <1>", [2.0]), samples("limit", [1.0]), samples("them", [0.001]), peers=["them"],
            goals=[goal("ours <1>", "limit", 3.0)]))
        self.assertEqual(got.returncode, 0, got.stderr)
        texts = [element.text for element in xml.etree.ElementTree.parse(chart).iter() if element.text]
        for text in ("ours <1> / limit", "2.00", "≤ 3.00", "0.001"):
            self.assertIn(text, texts)

    def refused(self, status, sentence, *arguments):
        got = self.report(*arguments)
        self.assertEqual((got.returncode, got.stdout), (status, ""))
        self.assertIn(sentence, got.stderr)

    def test_what_adds_less_than_nothing_is_in_the_table_and_not_in_the_chart(self):
        chart = self.folder / "chart.svg"
        got = self.report("--svg", chart, self.write(
            samples("ours/n:1", [5.0]), samples("ours/n:3", [3.0]), samples("ours/n:9", [9.0]),
            samples("limit/n:1", [1.0]), samples("limit/n:3", [2.0]), samples("limit/n:9", [4.0]),
            goals=[goal("ours", "limit", 9.0, where="n:1,3", added_per="n"), goal("ours", "limit", 9.0, where="n:9")]))
        self.assertEqual(got.returncode, 0, got.stderr)
        self.assertIn("-2", got.stdout)
        xml.etree.ElementTree.parse(chart)

    def test_a_goal_of_what_was_not_measured_is_refused(self):
        self.refused(1, "what: a goal names 'outs', which was not measured",
                     self.write(samples("ours", [1.0]), goals=[goal("outs", "limit")]))
        self.refused(1, "what: ours has no 'limit' to be compared with",
                     self.write(samples("ours", [1.0]), goals=[goal("ours", "limit")]))
        self.refused(1, "what: ours has no 'posts'",
                     self.write(samples("ours", [1.0]), goals=[goal("ours", statistic="posts")]))

    def test_what_is_no_result_is_refused(self):
        path = self.folder / "nothing.json"
        self.refused(1, f"{path}: No such file or directory", path)
        path.write_text("{")
        self.refused(1, f"{path} is no JSON", path)
        path.write_text('{"context": {}, "benchmarks": []}')
        self.refused(1, f"{path} is not the result of a question", path)

    def test_unknown_arguments_are_refused(self):
        path = self.write(samples("ours", [1.0]))
        self.refused(2, "unrecognized arguments: --frobnicate", "--frobnicate", path)
        self.refused(2, "unrecognized arguments: --js", "--js", path)
        self.refused(2, "the following arguments are required", "--json", self.folder / "out.json")


class Run(unittest.TestCase):
    def test_wrong_arguments_are_refused_before_anything_is_built(self):
        for arguments, sentence in ((["--frobnicate"], "no such option: --frobnicate"),
                                    (["no_such"], "no such question: no_such (there are: "),
                                    (["--json"], "--json wants a file"),
                                    (["--svg", "--quick"], "--svg wants a file"),
                                    (["--json", "/no/such/folder/x"], "there is no folder /no/such/folder")):
            got = subprocess.run([BENCH / "run", *arguments], capture_output=True, text=True)
            self.assertEqual((got.returncode, got.stdout), (2, ""), got.stderr)
            self.assertIn(sentence, got.stderr)

    def test_what_compiles_headers_can_be_started(self):
        got = subprocess.run([BENCH / "include.py", "--frobnicate"], capture_output=True, text=True)
        self.assertEqual(got.returncode, 2)
        self.assertIn("the following arguments are required: --benchmark_out", got.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
