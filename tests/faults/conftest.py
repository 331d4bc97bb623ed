"""What the faults share: a server of processes. Made with Linux's own means; elsewhere none is collected."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

if sys.platform == "linux":
    from tests.faults.killing import Victims

    @pytest.fixture(scope="module")
    def victims() -> Iterator[Victims]:
        """Processes that can be killed at any moment."""
        with Victims() as server:
            yield server

else:
    collect_ignore_glob = ["test_*.py"]

    def pytest_report_header() -> str:
        return "tests/faults: left out, for they need Linux"
