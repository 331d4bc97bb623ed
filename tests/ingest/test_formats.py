import subprocess
import sys

import pytest

from estante.ingest.formats import EXTRACTORS, MEDIA_TYPES, SUFFIXES, extractor_name, media_type, suffix


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("a/b.md", "markdown"),
        ("A/B.MD", "markdown"),
        ("x.txt", "plain"),
        ("x.tar.gz", None),
        ("main.py", "plain"),
        ("data.json", "plain"),
        ("page.HTML", "html"),
        ("t.csv", "csv"),
        ("t.pdf", "pdf"),
        ("t.docx", "docx"),
        ("t.doc", None),
        ("README", "plain"),
        ("x/Makefile", "plain"),
        ("LICENSE", "plain"),
        ("unknown", None),
        (".md", None),
        ("a.", None),
        ("", None),
    ],
)
def test_a_name_tells_its_extractor(uri: str, name: str | None) -> None:
    assert extractor_name(uri) == name


def test_every_suffix_leads_to_an_extractor_that_can_be_loaded() -> None:
    assert {*SUFFIXES.values()} == {*EXTRACTORS.builtins}
    assert all(hasattr(EXTRACTORS.load(name), "drafts") for name in EXTRACTORS.builtins)


def test_every_suffix_is_written_in_lower_case_with_its_dot() -> None:
    assert all(suffix(f"a{ending}") == ending for ending in [*SUFFIXES, *MEDIA_TYPES])


@pytest.mark.parametrize(
    ("uri", "kind"),
    [
        ("a.md", "text/markdown"),
        ("a.py", "text/plain"),
        ("README", "text/plain"),
        ("a.xyz", "application/octet-stream"),
    ],
)
def test_a_name_tells_its_media_type(uri: str, kind: str) -> None:
    assert media_type(uri) == kind


@pytest.mark.parametrize("module", ["estante.ingest.formats", "estante.ingest.sources.folder"])
def test_looking_for_files_loads_no_reader(module: str) -> None:
    heavy = "{'pypdfium2', 'docx', 'lxml', 'selectolax', 'charset_normalizer', 'markdown_it', 'yaml', 'numpy'}"
    program = f"import sys, {module}; print(sorted({heavy} & {{*sys.modules}}))"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
