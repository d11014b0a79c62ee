"""Opens pages in a headless browser, and notes what it asks the network for.

Tests of pages derive from PageCase.
"""

import html
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

SKIPPED = 77  # exit status of tests that cannot be run here
# Hosts that Chromium itself asks for, on any page.
OWN_HOSTS = ("google.com", "googleapis.com", "gvt1.com", "gstatic.com")


def write_page(script, records, path):
    """Exit status and complaints of a script that makes a page of records."""
    done = subprocess.run([sys.executable, "-B", script, "-", path], capture_output=True, text=True,
                          input="\n".join(map(json.dumps, records)), check=False, timeout=300)
    return done.returncode, done.stderr


class Proxy:
    """The proxy of the browser. It answers nothing, and keeps the first
    line of every request."""

    def __init__(self):
        self.asked = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        """Until it is closed."""
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                try:
                    line = connection.recv(4096).split(b"\r\n")[0].decode(errors="replace")
                except OSError:
                    continue
                if line and not any(host in line for host in OWN_HOSTS):
                    self.asked.append(line)


def look_at(path):
    """A page in a browser: its elements, and its requests to the network."""
    proxy = Proxy()
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [shutil.which("chromium"), "--headless=new", "--no-sandbox", "--disable-gpu",
             f"--user-data-dir={profile}", f"--proxy-server=127.0.0.1:{proxy.port}",
             "--disable-background-networking", "--disable-component-update", "--no-first-run",
             "--virtual-time-budget=10000", "--dump-dom", "file://" + os.path.abspath(path)],
            capture_output=True, text=True, check=False, timeout=300)
    proxy.listener.close()
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return done.stdout, proxy.asked


def sees_requests(folder):
    """Whether a page that asks the network for something would be noticed."""
    path = os.path.join(folder, "asking.html")
    with open(path, "w", encoding="utf-8") as file:
        file.write('<img src="http://example.invalid/picture.png">')
    return any("example.invalid" in line for line in look_at(path)[1])


class PageCase(unittest.TestCase):
    """A page that a script makes of records. A subclass names the script and the records."""

    script = ""
    records = []

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        path = os.path.join(cls.folder.name, "page.html")
        status, said = write_page(cls.script, cls.records, path)
        assert status == 0, said
        with open(path, encoding="utf-8") as file:
            cls.source = file.read()
        cls.seen, cls.asked = look_at(path)
        cls.body = cls.seen[cls.seen.index("<body"):]

    def sees(self, text):
        """Expects a text that a person reads; errors do not print the page, which is long."""
        self.assertTrue(text in html.unescape(re.sub("<[^>]*>", "", self.body)), text)

    def rows(self, table):
        """The texts of a table's cells."""
        tables = re.findall(r'<table class="cells">.*?</table>', self.body, re.DOTALL)
        lines = re.findall(r"<tr.*?</tr>", tables[table], re.DOTALL)
        return [[html.unescape(text) for text in re.findall(r"<td[^>]*>(.*?)</td>", line)]
                for line in lines[1:]]

    def rejects(self, records, status, error, path="x.html"):
        """Expects that the script makes no page: its exit status, and a part of its error."""
        path = os.path.join(self.folder.name, path)
        found, said = write_page(self.script, records, path)
        self.assertEqual((found, error in said), (status, True), said)

    def test_needs_no_network(self):
        self.assertTrue(sees_requests(self.folder.name), "or the next line says nothing")
        self.assertEqual(self.asked, [])

    def test_needs_a_place(self):
        self.rejects(self.records, 4, "cannot write", path="/dev/null/x.html")


def main():
    """Runs the tests of a page, if a browser is here."""
    if shutil.which("chromium") is None:
        print("skipped: chromium is missing")
        sys.exit(SKIPPED)
    unittest.main()
