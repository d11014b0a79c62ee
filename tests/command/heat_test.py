#!/usr/bin/env python3
"""Draws what links carry: heat_test.py PERF TUTTI, the folder of heat.py and the command. Without
matplotlib it fails."""

import json
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, sys.argv[-2])

import heat  # noqa: E402  it starts this again by a Python that has matplotlib, if need be
import heat_layout  # noqa: E402

TUTTI = sys.argv.pop()
sys.argv.pop()


def run(*arguments):
    """Exit status, standard output, standard error output."""
    done = subprocess.run([TUTTI, *arguments], capture_output=True, text=True, check=False,
                          timeout=300, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def network(name):
    """As the command describes it."""
    code, text, said = run("topology", name, "--format", "json")
    assert code == 0, said
    return heat_layout.Network(json.loads(text))


def words_in(path):
    """A picture, and its texts."""
    with open(path, encoding="utf-8") as file:
        picture = file.read()
    return picture, re.findall(r"<text[^>]*>(.*?)</text>", picture, re.DOTALL)


class Layout(unittest.TestCase):
    def test_a_torus_is_a_grid(self):
        places, is_grid = heat_layout.places_of(network("torus:3x4"))
        self.assertTrue(is_grid)
        switch = {number: places[12 + number] for number in range(12)}
        self.assertEqual({round(x, 6) for x, _ in switch.values()}, {0, 0.78, 1.56, 2.34})
        self.assertEqual(switch[4][0], switch[0][0], "a row has four")
        self.assertLess(switch[4][1], switch[0][1])

    def test_a_tree_has_levels(self):
        tree = network("fat_tree:4x2:up=1x2")
        places, is_grid = heat_layout.places_of(tree)
        self.assertFalse(is_grid)
        heights = [round(places[vertex][1], 6) for vertex in range(tree.vertices)]
        self.assertEqual(heights, [0] * 8 + [0.85] * 2 + [1.7] * 2)
        self.assertAlmostEqual(places[8][0], sum(places[host][0] for host in range(4)) / 4)

    def test_others_are_circles_with_hosts_outside(self):
        for name in ("dragonfly:2x4x1:groups=3", "slim_fly:3", "torus:3x3x3"):
            one = network(name)
            places, is_grid = heat_layout.places_of(one)
            self.assertFalse(is_grid)
            radii = {round(math.hypot(*places[vertex]), 6)
                     for vertex in range(one.hosts, one.vertices)}
            self.assertEqual(len(radii), 1, name)
            for host in range(one.hosts):
                self.assertGreater(math.hypot(*places[host]), max(radii))

    def test_no_two_vertices_lie_on_one_another(self):
        for name in ("torus:4x4:hosts=3", "fat_tree:4x4x2", "rails:3x4", "switch:1", "switch:40",
                     "dragonfly:4x4x2:groups=5", "hypercube:4", "mesh:5"):
            one = network(name)
            places = sorted(heat_layout.places_of(one)[0].values())
            self.assertEqual(len(places), one.vertices)
            closest = min(math.dist(a, b) for a, b in zip(places, places[1:]))
            self.assertGreater(closest, 0.1, name)


class Lanes(unittest.TestCase):
    def test_traffic_keeps_to_the_right_and_no_lines_coincide(self):
        one = heat_layout.Network({
            "name": "two", "hosts": ["a", "b"], "switches": [],
            "links": [{"from": "a", "to": "b", "gbit_per_s": 100}] * 2})
        places = {0: (0, 0), 1: (1, 0)}
        lanes = heat.lanes_of(one, places, False)
        self.assertEqual(len(lanes), 4)
        heights = [lane[0][0][1] for lane in lanes]
        self.assertLess(heights[0], heights[1], "eastward is to the south")
        self.assertLess(heights[2], heights[3])
        self.assertEqual(len({round(height, 6) for height in heights}), 4)

    def test_ends_of_a_torus_are_stubs(self):
        torus = network("torus:4x4")
        places, is_grid = heat_layout.places_of(torus)
        lengths = [len(lines) for lines in heat.ends_of(torus, places, is_grid)]
        self.assertEqual((lengths.count(2), lengths.count(1)), (8, 24 + 16))


class Words(unittest.TestCase):
    def test_say_how_busy_links_are(self):
        # 1000 bytes at 8 Gbit/s take 1 us.
        one = heat_layout.Network({
            "name": "x", "hosts": ["a"], "switches": ["s", "t"],
            "links": [{"from": "a", "to": "s", "gbit_per_s": 8},
                      {"from": "s", "to": "t", "gbit_per_s": 16}]})
        loads = {"us": 4.0, "carried": [2000, 0, 3000, 1000]}
        self.assertEqual(heat.busy_shares(one, loads), [0.5, 0, 0.375, 0.125])
        words = heat.words_of(one, loads, 2.0)
        self.assertIn("4 us   2.00 x the least", words)
        self.assertIn("fullest link: 1.953K, busy 50%", words)
        self.assertIn("links between switches: busy 25% on average", words)

    def test_scale_ends_at_a_round_number(self):
        self.assertEqual(heat.ticks_up_to(7.5 * 2**20), [i * 2.0**21 for i in range(5)])
        self.assertEqual(heat.ticks_up_to(0), [0, 1])


class Command(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def test_draws_a_panel_for_each_algorithm(self):
        target = self.path("torus.svg")
        code, text, said = run("simulate", "torus:4x4", "-b", "4M", "-a", "ring", "-a", "swing",
                               "--heat", target)
        self.assertEqual((code, said), (0, ""))
        self.assertIn("x best", text, "the table is printed as well")
        picture, words = words_in(target)
        for word in ("ring", "swing", "all_reduce of 4M: what links carry", "15", "switch",
                     "nothing is carried"):
            self.assertIn(word, words)
        self.assertTrue(any(word.startswith("torus:4x4, 16 ranks") for word in words), words)
        self.assertTrue(any("fullest link: 7.5M, busy 66%" in word for word in words), words)
        self.assertIn("#d0d0d0", picture, "a ring leaves links idle")
        self.assertLess(len(picture), 60_000)

    def test_draws_files_and_one_host(self):
        lab = {"hosts": ["a", "b"], "switches": [], "links": [{"from": "b", "to": "a"}]}
        with open(self.path("lab.json"), "w", encoding="utf-8") as file:
            json.dump(lab, file)
        for name in (self.path("lab.json"), "switch:1"):
            code, _, said = run("simulate", name, "-a", "ring", "--heat", self.path("x.png"))
            self.assertEqual((code, said), (0, ""))
            with open(self.path("x.png"), "rb") as file:
                self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")

    def test_refuses(self):
        for target, code, words in (
                ("x.pdf", 2, "is not an .svg or .png file"),
                ("no/x.svg", 4, "cannot write")):
            done, _, said = run("simulate", "switch:4", "-a", "ring", "--heat", self.path(target))
            self.assertEqual((done, said.count("\n")), (code, 1), said)
            self.assertIn(words, said)
        lonely = self.path("lonely.json")
        with open(lonely, "w", encoding="utf-8") as file:
            json.dump({"hosts": ["a"], "switches": [], "links": []}, file)
        code, _, said = run("simulate", lonely, "-a", "ring", "--heat", self.path("x.svg"))
        self.assertNotEqual(code, 0)
        self.assertIn("nothing to show", said)


if __name__ == "__main__":
    unittest.main()
