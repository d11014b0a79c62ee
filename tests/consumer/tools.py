"""Functions for checks of installed trees: commands that must succeed, and blocks of pages."""
import re
import subprocess
import sys

# Pages of recipes, and the blocks of C++ that stand before the program which they begin with.
RECIPES = {"recipes": 0, "training": 2}


def run(*command, **options):
    """Runs a command. Returns what it printed; ends the test with all of it if it fails."""
    words = [str(word) for word in command]
    result = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False, **options)
    if result.returncode != 0:
        sys.exit(f"{' '.join(words)}\nfailed with status {result.returncode}:\n{result.stdout}")
    return result.stdout


def blocks_of(page, language):
    """The blocks of a language in a page."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)
