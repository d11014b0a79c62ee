#!/usr/bin/env python3
"""Looks at the page of tutti gradients in a browser: page_test.py gradients.py TUTTI

Exits with 77 where there is no browser.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import browser  # noqa: E402

TUTTI = sys.argv.pop()
SCRIPT = sys.argv.pop()


def setting(label, bucket_bytes, step, standing, serial=90.0):
    """A record; times are milliseconds."""
    return {"record": "setting", "label": label, "bucket_bytes": bucket_bytes,
            "overlapped_us": step * 1e3, "overlapped_q1_us": step * 0.9e3,
            "overlapped_q3_us": step * 1.1e3, "serial_us": serial * 1e3,
            "exposed_us": (step - 40) * 1e3, "exposed_q1_us": (step * 0.9 - 40) * 1e3,
            "exposed_q3_us": (step * 1.1 - 40) * 1e3, "ideal_us": 45e3, "hidden": (serial - step) / 50,
            "overlap_efficiency": 0.925, "sent_bytes": 102_200_000, "buckets": 7,
            "standing": standing}


RECORDS = [
    {"record": "context", "schema": "tutti gradients/1", "tutti": "0.1.0", "mpi": "",
     "processor": "a processor", "ranks": 4, "hosts": [{"host": "a", "cores": 8}],
     "model": "<model>", "tensors": 161, "elements": 25557032, "bytes": 102228128,
     "compute_us": 38000, "computing": "work",
     "arguments": ["--model=resnet50", "--compute=38ms"]},
    setting("bucket_bytes 5M, views", 5 << 20, 50.0, "best"),
    setting("bucket_bytes 25M, views", 25 << 20, 51.0, "tie"),
    setting("bucket_bytes 5M, copies", 5 << 20, 62.5, "slower"),
    setting("bucket_bytes 25M, copies", 25 << 20, 70.0, "slower"),
    setting("bucket_bytes flat, copies", "flat", 80.0, "slower", serial=40.5),
    {"record": "summary", "steps": 20, "computing_us": 40e3, "computing_q1_us": 39.5e3,
     "computing_q3_us": 40.5e3, "best": "bucket_bytes 5M, views", "sentence": "5M is the best",
     "interrupted": True}]


class Page(browser.PageCase):
    script, records = SCRIPT, RECORDS

    def test_draws_a_bar_for_each_setting(self):
        # Each has one of computing and one of what is exposed, with the quartiles beside it.
        self.assertEqual(len(re.findall(r'<rect[^>]*height="18"', self.body)), 2 * 5)
        for word in ("computing", "exposed, best", "exposed, as good", "exposed, slower",
                     "ideal step", "not overlapped"):
            self.assertTrue(f"</svg>{word}</button>" in self.body, word)
        for label in ("bucket_bytes 5M, views", "bucket_bytes flat, copies"):
            self.assertTrue(f">{label}</text>" in self.body, label)

    def test_draws_a_curve_over_buckets_for_each_kind(self):
        figure = self.body[self.body.index("Exposed communication by the size of buckets"):]
        self.assertEqual(len(re.findall(r'<g class="trace', figure)), 2)
        for word in ("views", "copies", "5M", "25M", "bytes of a bucket"):
            self.assertTrue(f">{word}</" in figure, word)

    def test_has_the_table_of_the_command(self):
        rows = self.rows(0)
        self.assertEqual(rows[0], ["bucket_bytes 5M, views", "50", "45", "55", "10", "90", "80%", "45",
                                   "92%", "7", "102.2", "best"])
        self.assertEqual([row[-1] for row in rows], ["best", "as good", "", "", ""])
        self.assertEqual((rows[4][6], rows[4][8]), ("-", "-"), "within what computing varies by")
        self.assertTrue('data-value="0.8"' in self.body, "which sorts by its number")

    def test_says_where_and_how(self):
        self.sees("4 ranks on 1 host, a processor, tutti 0.1.0")
        self.sees("<model>: 161 tensors of 25,557,032 elements, 102.2 MB; a step computes 38 ms, and "
                  "took 40 ms without communication; 20 steps of each setting.")
        self.sees("5M is the best")
        self.sees("The run was interrupted")
        self.sees("tutti run -n 4 tutti gradients --model=resnet50 --compute=38ms")

    def test_needs_a_setting(self):
        nothing = [RECORDS[0], {"record": "summary", "steps": 0, "interrupted": True}]
        self.rejects(nothing, 2, "nothing to show")

    def test_is_what_the_command_writes(self):
        model, target = (os.path.join(self.folder.name, name) for name in ("m.json", "run.html"))
        parameters = [{"name": name, "count": 5000, "ready_us": 1000} for name in "ab"]
        pathlib.Path(model).write_text(json.dumps(
            {"compute_us": 2000, "parameters": parameters}), encoding="utf-8")
        done = subprocess.run(
            [TUTTI, "run", "-n", "2", TUTTI, "gradients", "--model", model, "--steps", "2", "--warmup",
             "0", "--bucket-bytes", "0,flat", "--computing", "sleep", "--html", target],
            capture_output=True, text=True, check=False, timeout=300, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("wrote " + target, done.stdout)
        page = pathlib.Path(target).read_text(encoding="utf-8")
        self.assertEqual(page.count("<tr"), 1 + 4, "two sizes in copies and in views")
        self.assertTrue("tutti run -n 2 tutti gradients --model=" in page)
        self.assertFalse("Exposed communication by the size" in page, "there is one size of buckets")


if __name__ == "__main__":
    browser.main()
