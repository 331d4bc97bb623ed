"""Whether what is promised did run: reads the JUnit files of a folder and fails on a test too few or a skip too many.

python .ci/promised.py FOLDER
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

LEAST = {"test": 11_000, "docs": 460, "faults": 195}
"""Tests that each run has at least; raise it as tests are added."""

MUST_RUN = (
    "tests.architecture.test_floors",
    "tests.contract.test_validate",
    "tests.evaluate",
    "tests.examples",
    "tests.serve.adapters",
    "tests.shelf.test_connector_conformance",
    "tests.architecture.test_rules",
    "tests.architecture.test_start",
    "tests.docs.test_blocks",
    "tests.oracle",
    "tests.walk.test_offline",
)
"""Beginnings of names of which at least one test must have run."""

EXCUSES = [
    r"only Windows",
    r"only macOS",
    r"this account may (list|read|write) every",
    # Checks of the kit that have nothing to look at in a pipeline: each fault's own test proves that they look.
    r"there is nothing to check: it takes a spec",
    r"nothing says how another process could make the pipeline",
    r"no hit declares an item_\* key",
    # sentence-transformers needs torch.
    r"it brings two gigabytes",
]
if "ESTANTE_DATA" not in os.environ:
    EXCUSES.append(r"outside data is absent")


def main() -> int:
    """Reads the reports and prints what is wrong with them."""
    folder, wrong, ran = Path(sys.argv[1]), [], set()
    for name, least in LEAST.items():
        file = folder / f"{name}.xml"
        if not file.is_file():
            wrong.append(f"{name}: no report, so nothing ran")
            continue
        cases = list(ElementTree.parse(file).iter("testcase"))  # Written by pytest a moment ago.
        skipped = [case for case in cases if case.find("skipped") is not None]
        done = {f"{case.get('classname')}.{case.get('name')}" for case in cases if case not in skipped}
        ran |= done
        print(f"{name}: {len(done)} tests ran, {len(skipped)} skipped")
        if len(done) < least:
            wrong.append(f"{name}: {len(done)} tests ran, fewer than {least}")
        for case in skipped:
            told = case.find("skipped")
            reason, expected = told.get("message", ""), told.get("type") == "pytest.xfail"
            what = "known to fail" if expected else "skipped"
            print(f"  {what}: {case.get('classname')}.{case.get('name')}: {reason}")
            if not expected and not any(re.search(excuse, reason) for excuse in EXCUSES):
                wrong.append(f"{name}: {case.get('name')} was skipped without an excuse: {reason}")
    wrong += [f"no test of {start} ran" for start in MUST_RUN if not any(one.startswith(start) for one in ran)]
    for line in wrong:
        print(f"WRONG {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
