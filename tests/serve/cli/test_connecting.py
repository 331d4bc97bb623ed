"""The commands about connectors: what they list, tell, bind, and how they end."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from estante.contract import registry
from estante.serve.cli.main import main

CONNECTOR = """
from estante.contract.errors import ConnectorRegistrationError
from estante.contract.models import ConnectorHealth, RetrievedChunk
from estante.contract.pipeline import RagPipeline
from estante.contract.registry import ConnectorSpec

print("a package that talks")


class Wiki(RagPipeline):
    closed = 0

    def __init__(self, connection):
        self.connection = connection

    def query(self, text, top_k=5):
        return []

    def health(self):
        if self.connection["url"] == "faulty":
            raise OSError("tr0ub4dor")
        return ConnectorHealth(self.connection["url"] != "ill", "it has\\nno pages")

    def close(self):
        Wiki.closed += 1


def connect(params):
    if params.get("url") == "down":
        raise OSError("tr0ub4dor")
    if params.get("url") == "never":
        raise ConnectorRegistrationError("url is 'never'; name one that is")
    print("connecting")
    return Wiki(params), {"type": "wiki", **params}


PARAMS = [
    {"name": "url", "label": "Address", "type": "string", "required": True, "help": "Where it answers."},
    {"name": "mode", "type": "enum", "choices": ["fast", "whole"], "default": "fast"},
    {"name": "top", "type": "integer", "minimum": 1, "maximum": 100, "when": {"mode": "fast"}},
    {"name": "token", "type": "secret", "env": "WIKI_TOKEN"},
]
CONNECTOR_SPEC = ConnectorSpec(
    "wiki", "A wiki", "Pages of a wiki.", build=Wiki, connect=connect, params=PARAMS,
    connector_info=lambda: "# A wiki\\n\\nMake a token first.\\n",
)
FAULTY = ConnectorSpec("faulty", "Faulty", "", build=Wiki, connect=connect, params=[{"name": "a", "type": "enum"}, 5])
BARE = ConnectorSpec("bare", "Bare", "", build=Wiki)
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Three connectors of one package, and a package that is broken."""
    for name in ("_REGISTRY", "_ORIGINS", "BUILTINS"):
        monkeypatch.setattr(registry, name, {})
    monkeypatch.setattr(registry, "_LOADED_ENTRY_POINTS", set())
    monkeypatch.setattr(registry, "_DISCOVERY_COMPLETE", False)
    monkeypatch.setattr(registry, "_FAILED", [])
    monkeypatch.delenv("WIKI_TOKEN", raising=False)
    points = "wiki = wiki_rag:CONNECTOR_SPEC\nfaulty = wiki_rag:FAULTY\nbare = wiki_rag:BARE\n"
    for module, source, text in (
        ("wiki_rag", CONNECTOR, points),
        ("dark_rag", "raise RuntimeError('no \x1b[31mlight')", "dark = dark_rag:SPEC\n"),
    ):
        (tmp_path / f"{module}.py").write_text(source, "utf-8")
        info = tmp_path / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n", "utf-8")
        (info / "entry_points.txt").write_text(f"[estante.connectors]\n{text}", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield
    sys.modules.pop("wiki_rag", None)


Streams = pytest.CaptureFixture[str]


# --- connectors -------------------------------------------------------------------------------------------------


def test_a_pipe_gets_one_connector_a_line_and_its_columns_parted_by_tabs(capsys: Streams) -> None:
    assert main(["connectors"]) == 0

    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [line[:2] for line in lines] == [["wiki", "A wiki"], ["bare", "Bare"], ["dark", ""], ["faulty", "Faulty"]]
    assert lines[0] == ["wiki", "A wiki", "connect, connector_info", "wiki_rag", ""]
    assert lines[2] == ["dark", "", "", "dark_rag", "RuntimeError: no ␛[31mlight"]
    assert "has no choices" in lines[3][4]


def test_the_reference_is_listed_as_other_tools_expect_it(capsys: Streams) -> None:
    registry.register_connector(registry.ConnectorSpec("reference", "Reference RAG (local)", "", build=dict))

    main(["connectors"])

    assert "\nreference\tReference RAG (local)\t" in capsys.readouterr().out


def test_the_json_has_a_row_for_each_connector(capsys: Streams) -> None:
    assert main(["connectors", "--json"]) == 0

    rows = json.loads(capsys.readouterr().out)
    assert [row["type"] for row in rows] == ["wiki", "bare", "dark", "faulty"]
    assert rows[1] == {"type": "bare", "label": "Bare", "capabilities": [], "origin": "wiki_rag", "error": ""}


def test_a_broken_connector_fails_the_command_only_when_it_is_to_be_strict(capsys: Streams) -> None:
    assert main(["connectors"]) == 0
    assert main(["connectors", "--strict"]) == 1
    assert main(["connectors", "wiki", "--strict"]) == 0
    assert main(["connectors", "faulty", "--strict"]) == 1


def test_what_a_package_prints_is_no_result(capsys: Streams) -> None:
    main(["connectors", "--json"])

    found = capsys.readouterr()
    assert "talks" not in found.out
    assert "talks" in found.err


def test_no_connectors_are_told(capsys: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_DISCOVERY_COMPLETE", True)

    assert main(["connectors"]) == 0
    found = capsys.readouterr()
    assert (found.out, found.err) == ("", "no connectors\n")


def test_one_connector_is_told_with_its_parameters_and_its_help(capsys: Streams) -> None:
    assert main(["connectors", "wiki"]) == 0

    assert capsys.readouterr().out == (
        "wiki  A wiki  (wiki_rag)\n"
        "Pages of a wiki.\n"
        "can  build, connect, connector_info\n"
        "  url  Address: string, required\n"
        "    Where it answers.\n"
        "  mode  enum, one of fast, whole, by default fast\n"
        "  top  integer, from 1, up to 100, when mode is fast\n"
        "  token  secret, or the variable WIKI_TOKEN\n"
        "\n"
        "# A wiki\n"
        "\n"
        "Make a token first.\n"
    )


def test_the_json_of_one_connector_has_all_that_it_says(capsys: Streams) -> None:
    assert main(["connectors", "wiki", "--json"]) == 0

    told = json.loads(capsys.readouterr().out)
    assert told["type"] == "wiki"
    assert [field["name"] for field in told["params"]] == ["url", "mode", "top", "token"]
    assert told["info"].startswith("# A wiki")


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_faulty_connector_is_told_with_its_fault(capsys: Streams, options: list[str]) -> None:
    assert main(["connectors", "faulty", *options]) == 0
    assert "has no choices" in capsys.readouterr().out


def test_a_connector_that_cannot_be_loaded_is_an_error_that_says_why(capsys: Streams) -> None:
    assert main(["connectors", "dark"]) == 1
    assert "connector 'dark' of dark_rag cannot be loaded: RuntimeError" in capsys.readouterr().err


def test_a_misspelt_type_gets_the_nearest_one(capsys: Streams) -> None:
    assert main(["connectors", "wikki"]) == 2

    told = capsys.readouterr().err
    assert "'wikki' is not registered" in told
    assert "Did you mean 'wiki'?" in told


# --- connect ----------------------------------------------------------------------------------------------------


def test_the_document_is_printed_as_it_would_be_stored(capsys: Streams) -> None:
    assert main(["connect", "wiki", "--param", "url=https://a=b", "--param", "top=7"]) == 0

    found = capsys.readouterr()
    assert found.out == '{\n  "mode": "fast",\n  "top": 7,\n  "type": "wiki",\n  "url": "https://a=b"\n}\n'
    assert "connecting" in found.err


def test_parameters_may_be_json_and_single_ones_count_more(capsys: Streams) -> None:
    assert main(["connect", "wiki", "--params", '{"url": "a", "mode": "whole"}', "--param", "url=b", "--json"]) == 0

    assert json.loads(capsys.readouterr().out) == {
        "connector_type": "wiki",
        "connection": {"type": "wiki", "url": "b", "mode": "whole"},
    }


def test_the_document_is_saved_and_can_be_read_again(capsys: Streams, tmp_path: Path) -> None:
    from estante.contract.connections import read_connection

    assert main(["connect", "wiki", "--param", "url=a", "--save", "wiki.json"]) == 0

    assert capsys.readouterr().out == "saved wiki.json\n"
    assert isinstance(registry.rebuild(read_connection(tmp_path / "wiki.json")), sys.modules["wiki_rag"].Wiki)


def test_a_variable_of_the_environment_becomes_a_reference(capsys: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIKI_TOKEN", "tr0ub4dor")

    assert main(["connect", "wiki", "--param", "url=a"]) == 0

    told = capsys.readouterr().out
    assert json.loads(told)["token"] == "env:WIKI_TOKEN"
    assert "tr0ub4dor" not in told


def test_the_pipeline_is_closed(capsys: Streams) -> None:
    main(["connect", "wiki", "--param", "url=a"])

    assert sys.modules["wiki_rag"].Wiki.closed == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "url: is required"),
        (["--param", "url=a", "--param", "top=many"], "top: must be a whole number, not 'many'"),
        (["--param", "url=a", "--param", "tpo=1"], "tpo: is no parameter; did you mean 'top'?"),
        (["--param", "url"], "a --param has no name and value"),
        (["--param", "url=a", "--param", "url=b"], "--param url was given twice"),
        (["--params", "[]"], "--params is no JSON object"),
    ],
)
def test_parameters_that_cannot_be_used_are_refused(capsys: Streams, arguments: list[str], message: str) -> None:
    assert main(["connect", "wiki", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_secret_on_the_command_line_is_refused_and_not_repeated(capsys: Streams) -> None:
    assert main(["connect", "wiki", "--param", "url=a", "--param", "token=tr0ub4dor"]) == 2

    found = capsys.readouterr()
    assert "token: must be a reference, env:NAME" in found.err
    assert "tr0ub4dor" not in found.out + found.err


@pytest.mark.parametrize(("connector_type", "message"), [("bare", "cannot be connected"), ("faulty", "their schema")])
def test_what_cannot_be_connected_says_so(capsys: Streams, connector_type: str, message: str) -> None:
    assert main(["connect", connector_type, "--param", "a=x"]) in (1, 2)
    assert message in capsys.readouterr().err


def test_a_connector_that_fails_is_named(capsys: Streams) -> None:
    assert main(["connect", "wiki", "--param", "url=down"]) == 1
    assert "connector 'wiki' failed: OSError" in capsys.readouterr().err


def test_parameters_that_connecting_refuses_end_as_those_that_the_schema_refuses(capsys: Streams) -> None:
    assert main(["connect", "wiki", "--param", "url=never"]) == 2

    found = capsys.readouterr().err
    assert "url is 'never'" in found
    assert "hint: Run: estante connectors wiki" in found


@pytest.mark.parametrize(
    ("url", "told"), [("ill", "not well: it has no pages"), ("faulty", "not well: health() failed with OSError")]
)
def test_what_is_connected_and_not_well_says_so_beside_its_document(capsys: Streams, url: str, told: str) -> None:
    assert main(["connect", "wiki", "--param", f"url={url}"]) == 0

    found = capsys.readouterr()
    assert json.loads(found.out)["url"] == url
    assert told in found.err
    assert "tr0ub4dor" not in found.err
    assert sys.modules["wiki_rag"].Wiki.closed == 1


def test_a_saved_document_that_replaces_another_says_so(capsys: Streams, tmp_path: Path) -> None:
    order = ["connect", "wiki", "--param", "url=a", "--save", "a.json"]

    main(order)
    main(order)

    assert capsys.readouterr().out == "saved a.json\nsaved a.json, which replaced what was there\n"


@pytest.mark.parametrize("where", ["nowhere/a.json", "."])
def test_a_document_that_cannot_be_kept_is_refused_before_anything_is_connected(capsys: Streams, where: str) -> None:
    assert main(["connect", "wiki", "--param", "url=down", "--save", where]) == 2
    assert "--save" in capsys.readouterr().err


def test_what_provisioning_leaves_out_is_told_beside_the_document(
    capsys: Streams, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from estante.shelf.connector import CONNECTOR_SPEC

    registry.register_connector(CONNECTOR_SPEC)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("O prazo e de dez dias.", "utf-8")
    (tmp_path / "docs" / "bad.pdf").write_bytes(b"%PDF-1.4 garbage")
    order = ["connect", "estante", "--param", "path=b", "--param", "documents=docs", "--param", 'readers=["*"]']

    assert main(order) == 0
    found = capsys.readouterr()
    assert json.loads(found.out)["type"] == "estante"
    assert "1 added" in found.err
    assert "skipped: bad.pdf: " in found.err

    assert main([*order, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["provisioned"]["skipped"][0]["uri"] == "bad.pdf"
