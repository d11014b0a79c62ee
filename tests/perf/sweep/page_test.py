#!/usr/bin/env python3
"""Looks at the page of a sweep in a browser: page_test.py sweep.py TUTTI

Exits with 77 where there is no browser.
"""

import html
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import browser  # noqa: E402

TUTTI = sys.argv.pop()
SCRIPT = sys.argv.pop()
HOSTILE = "<script>document.title='broken'</script>"


def cell(collective, label, size, median, standing="slower"):
    """A record of a sweep."""
    return {"record": "cell", "collective": collective, "label": label, "runs": label, "bytes": size,
            "transport": "shm", "buffers": "private", "dtype": "f32", "op": "", "median_us": median, "ci_low_us": median * 0.9, "ci_high_us": median * 1.1,
            "ratio_to_best": 1.0, "busbw_gb_s": 1.5, "segment_bytes": 0, "wrong": 0,
            "standing": standing}


def choice(size, chosen, predicted):
    """Another one."""
    return {"record": "choice", "collective": "all_reduce", "bytes": size, "chosen": chosen,
            "segment_bytes": 0, "basis": "least predicted time", "rests_on": "4 us per message",
            "candidates": [{"algorithm": chosen, "segment_bytes": 0, "predicted_us": predicted,
                            "refusal": ""},
                           {"algorithm": "tree", "segment_bytes": 0, "predicted_us": size / 512 + 1,
                            "refusal": ""},
                           {"algorithm": "bine", "segment_bytes": 0, "predicted_us": None,
                            "refusal": "it wants a power of two"}]}


RECORDS = [
    {"record": "context", "schema": "tutti sweep/1", "tutti": "0.1.0", "mpi": "an MPI", "processor": "a processor",
     "ranks": 4, "oversubscribed": True, "align": "16:page", "pattern": "back_to_back", "hosts": [{"host": HOSTILE, "cores": 2}],
     "arguments": ["--collective=all_reduce", "--ranks=4", "--budget=40 ms"]},
    choice(8, "ring", 3.5), choice(4096, "ring", 7.5),
    cell("all_reduce", "ring", 8, 4.0), cell("all_reduce", "ring", 4096, 8.0, "best"),
    cell("all_reduce", "tree", 8, 2.0, "best"), cell("all_reduce", "tree", 4096, 16.0),
    cell("all_reduce", "native", 8, 3.0), cell("all_reduce", "native", 4096, 32.0),
    cell("all_reduce", HOSTILE, 8, 5.0), cell("barrier", "dissemination", 0, 1.25, "best"),
    {"record": "summary"}]


class Page(browser.PageCase):
    script, records = SCRIPT, RECORDS

    def test_draws_a_curve_for_each_algorithm_in_both_pictures(self):
        # Four measured in two pictures; in the third two, measured and predicted.
        self.assertEqual(len(re.findall(r'<g class="trace', self.body)), 4 + 4 + 2 * 2)
        for title in ("Times", "Times over those of native", "Measured and predicted"):
            self.assertIn(f"<h3>{title}</h3>", self.body)
        for tick in ("8", "4K"):
            self.assertIn(f'class="xtick">{tick}</text>', self.body)
        self.assertIn('data-tip="ring, 4K: 8 us"', self.body)
        self.assertLess(len(self.source), 100_000)

    def test_opens_with_the_best_and_has_a_switch_for_all(self):
        names = ["native", "auto", *(f"a{i}" for i in range(15))]
        records = [RECORDS[0], *(cell("all_reduce", name, size, 10.0 + place)
                                 for size in (8, 64) for place, name in enumerate(names)), RECORDS[-1]]
        path = os.path.join(self.folder.name, "many.html")
        self.assertEqual(browser.write_page(SCRIPT, records, path), (0, ""))
        with open(path, encoding="utf-8") as file:
            source = file.read()
        self.assertLess(len(source), 1_000_000)
        self.assertEqual((source.count('<g class="trace"'), source.count('<g class="trace more"')),
                         (2 * 7, 2 * 10))
        with open(path, "w", encoding="utf-8") as file:  # what a person sees, and after a click
            file.write(source.replace("</body>", """<script>
              const seen = () => [...document.querySelectorAll('.trace')].filter(
                trace => getComputedStyle(trace).display !== 'none').length;
              const before = seen();
              document.querySelector('button.switch').click();
              const after = seen();
              document.querySelector('button.key').click();
              document.body.append(`seen: ${before}, ${after}, ${seen()}`);
              </script></body>"""))
        self.assertIn("seen: 14, 24, 23", browser.look_at(path)[0])

    def test_has_all_that_was_measured_in_its_tables(self):
        tables = re.findall(r'<table class="cells">.*?</table>', self.body, re.DOTALL)
        self.assertEqual([table.count("<tr") - 1 for table in tables], [7, 1])
        self.assertIn(">tree</td>", tables[0])
        self.assertEqual(tables[0].count('class="best"'), 2)

    def test_says_what_auto_chose_and_why(self):
        self.assertIn("<b>ring</b>, least predicted time", self.body)
        self.assertIn("ring: 3.5 us predicted", self.body)
        self.assertIn("bine: it wants a power of two", self.body)
        self.assertIn("4 us per message", self.body)

    def test_says_where_and_how(self):
        self.assertIn("4 ranks on 1 host, an MPI, a processor", self.body)
        self.assertIn("arrays: 16:page, calls back to back", self.body)
        self.assertIn("more ranks than cores", self.body)
        self.assertIn("mpirun -n 4 tutti sweep --collective=all_reduce '--budget=40 ms'",
                      html.unescape(self.body))

    def test_runs_nothing_that_data_say(self):
        self.assertIn("<title>tutti sweep</title>", self.seen)
        self.assertNotIn("<td class=\"words\" data-value=\"<script", self.seen)
        self.assertIn(html.escape(HOSTILE, quote=False), self.body)

    def test_needs_no_network(self):
        super().test_needs_no_network()
        self.assertNotRegex(self.source, r'<(script|link|img)[^>]*(src|href)="http')

    def sweep(self, *arguments):
        """A page of two ranks."""
        return subprocess.run([TUTTI, "sweep", "--ranks", "2", "--transport", "shm", "-C",
                               "all_reduce", "-b", "64", "-e", "4K", "-f", "8", "-n", "3",
                               *arguments], capture_output=True, text=True, check=False,
                              timeout=300, env={**os.environ, "TUTTI_TUNING": "none"})

    def test_is_what_a_sweep_writes(self):
        path = os.path.join(self.folder.name, "sweep.html")
        done = self.sweep("--html", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("wrote " + path, done.stdout)
        with open(path, encoding="utf-8") as file:
            page = file.read()
        self.assertEqual(page.count("<details><summary>"), 3 + 1, "sizes, and the machine")
        self.assertIn("us predicted</li>", page)
        self.assertIn("<h3>Measured and predicted</h3>", page)
        self.assertIn("<pre>tutti sweep --ranks 2 --collective=all_reduce", page)
        self.assertIn("Times over those of the best", page)
        done = self.sweep("--html", path[:-5])
        self.assertEqual(done.returncode, 2)
        self.assertIn("is not an .html file", done.stderr)

    def test_needs_a_cell(self):
        self.rejects(RECORDS[:1], 2, "")


if __name__ == "__main__":
    browser.main()
