"""Skips these tests where PyTorch is missing, and finds the helpers of the other tests."""

from __future__ import annotations

import importlib.util
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))


def _has_torch() -> bool:
    try:
        return importlib.util.find_spec("torch.nn") is not None
    except ModuleNotFoundError:
        return False


collect_ignore_glob = [] if _has_torch() else ["test_*.py"]
