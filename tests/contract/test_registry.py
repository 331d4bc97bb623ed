"""Which connectors there are: what is known, what is installed, what is broken, and that one never hides another."""

from __future__ import annotations

import importlib.metadata
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from estante.contract import registry
from estante.contract.errors import ConnectorContractError, ConnectorError, ConnectorRegistrationError
from estante.contract.models import DatasetRef, RetrievedChunk
from estante.contract.params import ParamField, ParamsError
from estante.contract.pipeline import RagPipeline
from estante.contract.registry import BuiltinConnector, ConnectorRow, ConnectorSpec

TABLE = dict(registry.BUILTINS)

SPEC = """
from estante.contract.registry import ConnectorSpec

loads = globals().get("loads", 0) + 1
CONNECTOR_SPEC = ConnectorSpec({type!r}, {label!r}, "", build=lambda connection: None)


def make():
    return CONNECTOR_SPEC
"""


class Rag(RagPipeline):
    """Finds what it is asked for."""

    def __init__(self, connection: dict[str, Any]) -> None:
        self.connection = connection
        self.closed = False

    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        return [RetrievedChunk("a", text, 1.0, 0)][:top_k]

    def close(self) -> None:
        self.closed = True


def spec(connector_type: str = "acme", label: str = "Acme RAG", **more: Any) -> ConnectorSpec:
    return ConnectorSpec(connector_type, label, "A test.", build=more.pop("build", Rag), **more)


class Site:
    """A folder on the import path, into which packages are installed as an installer would."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.modules: list[str] = []

    def module(self, name: str, source: str) -> str:
        self.modules.append(name)
        (self.path / f"{name}.py").write_text(source, encoding="utf-8")
        return name

    def install(self, package: str, *points: str, group: str = registry.OWN_GROUP) -> None:
        self.metadata(package, "\n".join([f"[{group}]", *points, ""]))

    def metadata(self, package: str, text: str) -> None:
        info = self.path / f"{package}-1.0.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
        with (info / "entry_points.txt").open("a", encoding="utf-8") as file:
            file.write(text)

    def connector(self, connector_type: str, label: str = "", *, group: str = registry.OWN_GROUP) -> None:
        """A package ``TYPE-rag`` with a connector of this type."""
        module = self.module(f"{connector_type}_rag", SPEC.format(type=connector_type, label=label or connector_type))
        self.install(f"{connector_type}-rag", f"{connector_type} = {module}:CONNECTOR_SPEC", group=group)


@pytest.fixture(autouse=True)
def empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry that knows nothing and has looked nowhere."""
    for name, value in (
        ("_REGISTRY", {}),
        ("_ORIGINS", {}),
        ("_WITHDRAWN", set()),
        ("_DISCOVERY_COMPLETE", False),
        ("_LOADED_ENTRY_POINTS", set()),
        ("_MADE_FOR_US", set()),
        ("_FAILED", []),
        ("_ADOPTED", []),
        ("BUILTINS", {}),
    ):
        monkeypatch.setattr(registry, name, value)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.syspath_prepend(str(tmp_path))
    made = Site(tmp_path)
    yield made
    for name in made.modules:
        sys.modules.pop(name, None)


# --- specs ------------------------------------------------------------------------------------------------------


def test_the_fields_of_a_spec_are_in_the_order_of_the_contract() -> None:
    assert [field.name for field in fields(ConnectorSpec)][:9] == [
        "connector_type",
        "label",
        "description",
        "build",
        "connect",
        "params",
        "list_datasets",
        "connector_info",
        "prompt_templates",
    ]


def test_a_spec_says_what_it_offers() -> None:
    bare, full = spec(), spec(connect=Rag, list_datasets=list, connector_info=str, prompt_templates=list)

    assert (bare.user_connectable, bare.supports_dataset_listing, bare.supports_prompt_templates) == (False,) * 3
    assert (full.user_connectable, full.supports_dataset_listing, full.supports_prompt_templates) == (True,) * 3
    assert bare.capabilities == ()
    assert full.capabilities == ("connect", "list_datasets", "connector_info", "prompt_templates")


def test_a_spec_may_be_changed_and_its_schema_is_its_params() -> None:
    made = spec()
    made.params = [{"name": "a"}]

    assert made.connection_schema is made.params


def test_the_public_face_has_five_keys_and_nothing_that_can_be_called() -> None:
    made = spec(connect=Rag, params=[{"name": "a"}], list_datasets=list, connector_info=str)

    told = made.to_public_dict()

    assert told == {
        "connector_type": "acme",
        "label": "Acme RAG",
        "description": "A test.",
        "params": [{"name": "a"}],
        "supports_dataset_listing": True,
    }
    assert json.loads(json.dumps(told)) == told
    assert spec().to_public_dict()["supports_dataset_listing"] is False


# --- registering ------------------------------------------------------------------------------------------------


def test_a_registered_spec_is_found_and_the_same_one_again_changes_nothing() -> None:
    made = spec()

    assert registry.register_connector(made) is made
    assert registry.register_connector(made) is made
    assert registry.get_connector("acme") is made


def test_another_spec_of_a_type_is_refused_with_the_label_of_the_first() -> None:
    registry.register_connector(spec())

    with pytest.raises(ConnectorRegistrationError, match="'acme' is already registered by 'Acme RAG'") as caught:
        registry.register_connector(spec(label="Other"))

    assert isinstance(caught.value, ConnectorError | ValueError)


def test_an_override_is_explicit() -> None:
    registry.register_connector(spec())
    other = spec(label="Other")

    assert registry.register_connector(other, override=True) is other
    assert registry.get_connector("acme") is other


def test_a_connector_that_was_unregistered_is_unknown_until_it_is_registered_again() -> None:
    made = registry.register_connector(spec())

    assert registry.unregister_connector("acme") is made
    assert registry.get_connector("acme") is None
    assert registry.unregister_connector("acme") is None
    assert registry.register_connector(made) is made
    assert registry.get_connector("acme") is made


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        "acme",
        ConnectorSpec,
        spec(""),
        spec(" "),
        spec("a\tb"),
        spec(label="a\nb"),
        spec(5),  # type: ignore[arg-type]
        spec(build=None),
    ],
)
def test_what_is_no_spec_is_refused(wrong: Any) -> None:
    with pytest.raises(ConnectorRegistrationError):
        registry.register_connector(wrong)


def test_the_short_names_are_the_same_functions() -> None:
    assert registry.register is registry.register_connector
    assert registry.unregister is registry.unregister_connector
    assert registry.get is registry.get_connector
    assert registry.discover is registry.discover_connectors


# --- lists ------------------------------------------------------------------------------------------------------


def test_specs_are_listed_by_label_and_types_by_name() -> None:
    made = [spec("z", "ação"), spec("y", "Zelo"), spec("x", "acme"), spec("w", "Acme")]
    for one in made:
        registry.register_connector(one)

    assert [one.connector_type for one in registry.all_connectors()] == ["w", "x", "z", "y"]
    assert registry.all_specs() == tuple(registry.all_connectors())
    assert registry.registered_types() == ["w", "x", "y", "z"]


def test_people_are_offered_what_they_can_connect() -> None:
    made = registry.register_connector(spec("a", connect=Rag))
    registry.register_connector(spec("b"))

    assert registry.connectable_connectors() == [made]


def test_a_row_tells_type_label_capabilities_and_origin() -> None:
    registry.register_connector(spec(connect=Rag))

    assert registry.connector_rows() == [ConnectorRow("acme", "Acme RAG", ("connect",), "registered")]


def test_a_faulty_schema_is_the_error_of_a_row_that_can_be_built_all_the_same() -> None:
    registry.register_connector(spec(params=[{"name": "top", "type": "intger"}, {"label": "A"}]))
    registry.register_connector(spec("b"))

    [row] = registry.connector_errors()

    assert row.type == "acme"
    assert "parameter top: has the type 'intger'" in row.error
    assert "parameter field 1: is no object with a name" in row.error
    assert isinstance(registry.rebuild({"type": "acme"}), Rag)


def test_a_connector_for_a_later_contract_is_a_row_that_says_so() -> None:
    registry.register_connector(spec(contract_version="1.0"))

    assert "was made for version 1.0 of the contract" in registry.connector_errors()[0].error


# --- installed packages -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", ["estante.connectors", "rag_connector.connectors"])
def test_both_groups_are_read(site: Site, group: str) -> None:
    site.connector("acme", "Acme", group=group)

    assert registry.get_connector("acme") is sys.modules["acme_rag"].CONNECTOR_SPEC
    assert registry.connector_rows() == [ConnectorRow("acme", "Acme", (), "acme-rag")]


def test_the_name_of_the_group_is_that_of_rag_connector() -> None:
    assert registry.ENTRY_POINT_GROUP == "rag_connector.connectors"


def test_what_is_loaded_may_be_a_function_that_makes_the_spec(site: Site) -> None:
    site.module("acme_rag", SPEC.format(type="acme", label="Acme"))
    site.install("acme-rag", "acme = acme_rag:make")

    assert registry.get_connector("acme") is sys.modules["acme_rag"].CONNECTOR_SPEC


def test_a_spec_published_in_both_groups_is_one_row(site: Site) -> None:
    site.connector("acme")
    site.connector("acme", group=registry.ENTRY_POINT_GROUP)

    assert [row.type for row in registry.connector_rows()] == ["acme"]
    assert registry.connector_errors() == []


@pytest.mark.parametrize("name", ["acme", "acme2"])
def test_a_package_that_publishes_a_spec_for_each_library_is_one_row(site: Site, name: str) -> None:
    site.connector("acme")
    site.module("acme_old", SPEC.format(type="acme", label="Old"))
    site.install("acme-rag", f"{name} = acme_old:CONNECTOR_SPEC", group=registry.ENTRY_POINT_GROUP)

    assert registry.connector_rows() == [ConnectorRow("acme", "acme", (), "acme-rag")]


@pytest.mark.parametrize("group", registry.ENTRY_POINT_GROUPS)
def test_a_package_that_publishes_two_specs_of_one_type_in_a_group_is_told(site: Site, group: str) -> None:
    for name in ("first", "second"):
        site.module(f"{name}_rag", SPEC.format(type="wiki", label=name))
    site.install("wiki-rag", "a = first_rag:CONNECTOR_SPEC", "b = second_rag:CONNECTOR_SPEC", group=group)

    assert [(row.label, "already registered" in row.error) for row in registry.connector_rows()] == [
        ("first", False),
        ("second", True),
    ]


def test_a_package_that_registers_its_spec_when_it_is_imported_is_one_row(site: Site) -> None:
    source = SPEC.format(type="acme", label="Acme")
    site.module("acme_rag", f"{source}\nfrom estante.contract import registry\nregistry.register(CONNECTOR_SPEC)\n")
    site.install("acme-rag", "acme = acme_rag:CONNECTOR_SPEC")

    assert registry.connector_rows() == [ConnectorRow("acme", "Acme", (), "acme-rag")]


def test_what_our_own_package_publishes_for_others_is_left_to_the_table(site: Site) -> None:
    site.module("shelf_rag", "raise RuntimeError('not to be imported')")
    site.install("estante", "estante = shelf_rag:SPEC", group=registry.ENTRY_POINT_GROUP)

    assert registry.connector_rows() == []


BROKEN = {
    "raise RuntimeError('no light\\nhere')": "RuntimeError: no light here",
    "import absent_maker_of_lamps": "ModuleNotFoundError: No module named 'absent_maker_of_lamps'",
    "def broken(:": "SyntaxError: invalid syntax",
    "raise SystemExit(3)": "SystemExit: 3",
    "CONNECTOR_SPEC = 5": "ConnectorRegistrationError: a int is no ConnectorSpec",
    "def CONNECTOR_SPEC(): raise KeyError('x')": "KeyError: 'x'",
    "CONNECTOR_SPEC = dict": "ConnectorRegistrationError: a dict is no ConnectorSpec",
    "x = 1": "AttributeError: module 'dark_rag' has no attribute 'CONNECTOR_SPEC'",
    "class Odd(Exception):\n    def __str__(self): raise self\nraise Odd": "Odd",
    "raise ValueError('x' * 9_000)": "ValueError: xxx",
}


@pytest.mark.parametrize("source", BROKEN)
def test_a_broken_package_is_a_row_with_its_error_and_hides_no_other(site: Site, source: str) -> None:
    site.module("dark_rag", source)
    site.install("a-dark-package", "dark = dark_rag:CONNECTOR_SPEC")
    site.connector("acme")

    [broken] = registry.connector_errors()

    assert (broken.type, broken.label, broken.capabilities, broken.origin) == ("dark", "", (), "a-dark-package")
    assert broken.error.startswith(BROKEN[source])
    assert len(broken.error) < 600
    assert registry.registered_types() == ["acme"]
    assert registry.get_connector("acme") is not None
    assert registry.get_connector("dark") is None


def test_the_order_is_the_same_whatever_the_order_of_installation(site: Site) -> None:
    for name in ("zeta", "beta", "alfa"):
        site.module(f"{name}_dark", "raise RuntimeError")
        site.install(f"{name}-dark", f"{name} = {name}_dark:SPEC")
        site.connector(f"{name}b", "Label")

    assert [row.type for row in registry.connector_rows()] == ["alfa", "beta", "alfab", "betab", "zetab", "zeta"]


def test_a_broken_package_is_tried_again_and_a_loaded_one_is_not(site: Site) -> None:
    calls = site.path / "calls"
    count = f"with open({str(calls)!r}, 'a') as file: file.write('x')\n"
    site.module("acme_rag", count + SPEC.format(type="acme", label="Acme"))
    site.module("dark_rag", "raise RuntimeError('no light')")
    site.install("acme-rag", "acme = acme_rag:CONNECTOR_SPEC")
    site.install("dark-rag", "dark = dark_rag:CONNECTOR_SPEC")
    for _ in range(3):
        registry.discover_connectors()
        assert [row.type for row in registry.connector_errors()] == ["dark"]
    del sys.modules["acme_rag"]

    (site.path / "dark_rag.py").unlink()
    site.module("dark_rag", SPEC.format(type="dark", label="Dark no more"))

    assert registry.get_connector("dark") is not None
    assert registry.connector_errors() == []
    assert calls.read_text() == "x"
    assert "acme_rag" not in sys.modules


def test_two_packages_that_claim_one_type_are_the_first_by_name_and_an_error(site: Site) -> None:
    for name in ("second", "first"):
        site.module(f"{name}_rag", SPEC.format(type="acme", label=name))
        site.install(f"{name}-rag", f"{name} = {name}_rag:CONNECTOR_SPEC")

    good, bad = registry.connector_rows()

    assert (good.type, good.label, good.origin, good.error) == ("acme", "first", "first-rag", "")
    assert (bad.type, bad.label, bad.origin) == ("acme", "second", "second-rag")
    assert "'acme' is already registered by 'first'" in bad.error


def test_a_program_that_registered_first_keeps_its_spec(site: Site) -> None:
    made = registry.register_connector(spec())
    site.connector("acme")

    assert [row.origin for row in registry.connector_errors()] == ["acme-rag"]
    assert registry.get_connector("acme") is made


def test_a_package_that_was_unregistered_does_not_come_back(site: Site) -> None:
    site.connector("acme")
    site.module("dark_rag", "raise RuntimeError")
    site.install("dark-rag", "dark = dark_rag:CONNECTOR_SPEC")

    assert registry.unregister_connector("acme") is not None

    registry._LOADED_ENTRY_POINTS.clear()
    assert registry.registered_types() == []
    assert [row.type for row in registry.connector_errors()] == ["dark"]


def test_broken_metadata_of_a_package_hides_no_other(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: object) -> None:
        raise ValueError("an unreadable line")

    class Unreadable(importlib.metadata.PathDistribution):
        @property
        def entry_points(self) -> Any:
            raise ValueError("an unreadable line")

    site.connector("acme")
    site.connector("beta", group=registry.ENTRY_POINT_GROUP)
    dark = Unreadable(site.path / "dark-1.0.dist-info")
    site.metadata("dark", "")
    real = list(importlib.metadata.distributions())
    monkeypatch.setattr(importlib.metadata, "entry_points", broken)
    monkeypatch.setattr(importlib.metadata, "distributions", lambda: [dark, *real])

    assert registry.registered_types() == ["acme", "beta"]
    assert registry.connector_errors() == [ConnectorRow("dark", "", (), "dark", "ValueError: an unreadable line")]


# --- entry points as tests of rag-connector arrange them --------------------------------------------------------------


class Published:
    """Entry points that a test hands out itself; each counts how often it is loaded."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.points: list[SimpleNamespace] = []
        self.loads: list[str] = []
        monkeypatch.setattr(importlib.metadata, "entry_points", self.entry_points)

    def entry_points(self, *, group: str) -> list[SimpleNamespace]:
        return self.points

    def add(self, name: str, load: Callable[[], Any]) -> None:
        def counted() -> Any:
            self.loads.append(name)
            return load()

        self.points.append(SimpleNamespace(name=name, value=f"{name}_rag:SPEC", load=counted))


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> Published:
    return Published(monkeypatch)


def fail() -> None:
    raise RuntimeError("not yet")


def test_an_entry_point_is_loaded_once_though_both_groups_have_it(published: Published) -> None:
    published.add("acme", spec)

    registry.discover_connectors()
    registry.discover_connectors()

    assert published.loads == ["acme"]
    assert registry._DISCOVERY_COMPLETE is True
    assert {"acme=acme_rag:SPEC"} == registry._LOADED_ENTRY_POINTS
    assert set(registry._REGISTRY) == {"acme"}


def test_a_failure_keeps_the_discovery_open_until_it_is_mended(published: Published) -> None:
    published.add("acme", spec)
    published.add("dark", fail)
    registry.discover_connectors()
    registry.discover_connectors()
    assert published.loads == ["acme", "dark", "dark"]
    assert registry._DISCOVERY_COMPLETE is False

    published.points.pop()
    published.add("dark", lambda: spec("dark", "Dark"))
    registry.discover_connectors()

    assert published.loads == ["acme", "dark", "dark", "dark"]
    assert registry._DISCOVERY_COMPLETE is True
    assert registry.registered_types() == ["acme", "dark"]


def test_a_known_type_is_found_without_looking_further(published: Published) -> None:
    registry.register_connector(spec())
    published.add("dark", fail)

    assert registry.get_connector("acme") is not None
    assert published.loads == []


def test_a_package_may_ask_the_registry_while_it_is_loaded(published: Published) -> None:
    published.add("acme", lambda: spec(label=",".join(registry.registered_types()) or "none"))
    published.add("zeta", lambda: spec("zeta", label=",".join(registry.registered_types())))

    assert [one.label for one in registry.all_connectors()] == ["acme", "none"]


# --- the table of ours ------------------------------------------------------------------------------------------


def test_the_table_names_the_bookcase_and_the_reference() -> None:
    assert {"estante", "reference"} <= set(TABLE)
    assert all(one.target.startswith("estante.") and ":" in one.target for one in TABLE.values())


def test_one_of_ours_is_imported_when_it_is_asked_for(site: Site) -> None:
    for name in ("shelf", "attic"):
        site.module(f"{name}_rag", SPEC.format(type=name, label=name))
        registry.BUILTINS[name] = BuiltinConnector(f"{name}_rag:CONNECTOR_SPEC")

    assert registry.get_connector("shelf") is sys.modules["shelf_rag"].CONNECTOR_SPEC
    assert "attic_rag" not in sys.modules
    assert registry.connector_rows() == [
        ConnectorRow("attic", "attic", (), "estante"),
        ConnectorRow("shelf", "shelf", (), "estante"),
    ]


def test_one_of_ours_that_cannot_be_loaded_is_a_row_with_its_error() -> None:
    registry.BUILTINS["shelf"] = BuiltinConnector("estante.shelf.nowhere:SPEC", extra="shelf")

    assert registry.get_connector("shelf") is None
    assert registry.connector_rows() == [
        ConnectorRow("shelf", "", (), "estante", "ModuleNotFoundError: No module named 'estante.shelf.nowhere'")
    ]


def test_a_missing_package_is_told_with_the_command_that_installs_it(site: Site) -> None:
    site.module("sea_rag", "import absent_maker_of_lamps")
    registry.BUILTINS["sea"] = BuiltinConnector("sea_rag:SPEC", extra="sea")

    assert registry.connector_errors()[0].error.endswith('; run: pip install "estante[sea]"')


def test_one_of_ours_must_have_the_type_that_the_table_says(site: Site) -> None:
    site.module("shelf_rag", SPEC.format(type="other", label="Other"))
    registry.BUILTINS["shelf"] = BuiltinConnector("shelf_rag:CONNECTOR_SPEC")

    assert "is of type 'other', not 'shelf'" in registry.connector_errors()[0].error


def test_a_package_cannot_take_a_type_of_ours(site: Site) -> None:
    site.module("shelf_rag", SPEC.format(type="shelf", label="Ours"))
    registry.BUILTINS["shelf"] = BuiltinConnector("shelf_rag:CONNECTOR_SPEC")
    site.module("thief_rag", SPEC.format(type="shelf", label="Theirs"))
    site.install("thief", "a = thief_rag:CONNECTOR_SPEC")

    ours, theirs = registry.connector_rows()

    assert (ours.label, ours.origin, ours.error) == ("Ours", "estante", "")
    assert (theirs.label, theirs.origin) == ("Theirs", "thief")
    assert "one of Estante's own" in theirs.error


def test_a_program_may_stand_in_for_one_of_ours(site: Site) -> None:
    registry.BUILTINS["shelf"] = BuiltinConnector("nowhere_rag:CONNECTOR_SPEC")
    made = registry.register_connector(spec("shelf"))

    assert registry.get_connector("shelf") is made
    assert registry.connector_errors() == []


def test_one_of_ours_can_be_unregistered(site: Site) -> None:
    site.module("shelf_rag", SPEC.format(type="shelf", label="Ours"))
    registry.BUILTINS["shelf"] = BuiltinConnector("shelf_rag:CONNECTOR_SPEC")

    assert registry.unregister_connector("shelf") is not None
    assert registry.get_connector("shelf") is None
    assert registry.connector_rows() == []


# --- looking up with reasons ------------------------------------------------------------------------------------


def test_an_unknown_type_is_told_with_the_nearest_one() -> None:
    registry.register_connector(spec("confluence"))

    with pytest.raises(ConnectorRegistrationError, match="'conflunce' is not registered; did you mean 'confluence'"):
        registry.require_connector("conflunce")
    with pytest.raises(ConnectorRegistrationError, match="'xyz' is not registered; there are: confluence"):
        registry.require_connector("xyz")


def test_a_broken_type_is_told_with_its_error(site: Site) -> None:
    site.module("dark_rag", "raise RuntimeError('no light')")
    site.install("dark-rag", "dark = dark_rag:CONNECTOR_SPEC")

    with pytest.raises(ConnectorRegistrationError, match="'dark' of dark-rag is broken: RuntimeError: no light"):
        registry.require_connector("dark")


# --- building again ---------------------------------------------------------------------------------------------


def test_a_document_is_built_by_the_connector_of_its_type() -> None:
    registry.register_connector(spec())

    made = registry.rebuild({"type": "acme", "path": ("a", "b")})

    assert isinstance(made, Rag)
    assert made.connection == {"type": "acme", "path": ["a", "b"]}


def test_the_host_may_say_the_type_itself() -> None:
    registry.register_connector(spec())

    assert registry.rebuild({"type": "postgres"}, "acme").connection == {"type": "postgres"}  # type: ignore[attr-defined]
    assert registry.rebuild({}, "acme").connection == {}  # type: ignore[attr-defined]


def test_what_is_built_cannot_change_the_document() -> None:
    registry.register_connector(spec(build=lambda connection: connection["a"].append(2)))
    connection = {"type": "acme", "a": [1]}

    registry.rebuild(connection)

    assert connection == {"type": "acme", "a": [1]}


@pytest.mark.parametrize(
    ("connection", "message"),
    [
        ({}, "has no type"),
        ({"type": 5}, "has no type"),
        ({"type": "none"}, "'none' is not registered"),
        ({"type": "acme", "token": "x9"}, "token looks like a credential"),
        ({"type": "acme", "contract_version": "2.0"}, "the connection document was made for version 2.0"),
        ([], "is an object, not a list"),
    ],
)
def test_a_document_that_cannot_be_built_is_refused(connection: Any, message: str) -> None:
    registry.register_connector(spec())

    with pytest.raises(ConnectorRegistrationError, match=message):
        registry.rebuild(connection)


@pytest.mark.parametrize("version", [{}, {"contract_version": "0.1"}, {"contract_version": "0.9"}, {"version": "7"}])
def test_a_document_need_not_say_its_version(version: dict[str, str]) -> None:
    registry.register_connector(spec())

    assert isinstance(registry.rebuild({"type": "acme", **version}), Rag)


# --- connecting with checked parameters -------------------------------------------------------------------------------

PARAMS: list[ParamField] = [
    {"name": "url", "type": "string", "required": True},
    {"name": "collection", "type": "string", "required": True},
    {"name": "top", "type": "integer", "default": 5, "env": "TOP"},
]
GIVEN = {"url": "https://example.org", "collection": "leis"}


def connect(params: dict[str, Any]) -> tuple[Rag, dict[str, Any]]:
    return Rag(params), {"type": "acme", **params}


def test_parameters_are_checked_before_the_connector_gets_them() -> None:
    called: list[object] = []
    made = spec(connect=called.append, params=PARAMS)

    with pytest.raises(ParamsError, match="collection: is required"):
        made.connect_with({"url": "https://example.org"})

    assert called == []


def test_a_connector_gets_defaults_and_variables() -> None:
    made = spec(connect=connect, params=PARAMS)

    pipeline, document = made.connect_with(GIVEN)

    assert pipeline.connection == {**GIVEN, "top": 5}  # type: ignore[attr-defined]
    assert document == {"type": "acme", **GIVEN, "top": 5}
    assert made.connect_with(GIVEN, environ={"TOP": "9"})[1]["top"] == 9


def test_where_no_parameters_are_declared_all_are_handed_on() -> None:
    assert spec(connect=connect).connect_with({"any": 1})[1] == {"type": "acme", "any": 1}


def test_a_document_with_a_credential_is_refused_and_the_pipeline_closed() -> None:
    made: list[Rag] = []

    def leaking(params: dict[str, Any]) -> tuple[Rag, dict[str, Any]]:
        made.append(Rag(params))
        return made[0], {"api_key": "x9"}

    with pytest.raises(ConnectorRegistrationError, match="api_key looks like a credential"):
        spec(connect=leaking).connect_with({})

    assert made[0].closed


def test_a_document_is_given_as_a_store_would_give_it_back() -> None:
    assert spec(connect=lambda params: (Rag({}), {"a": (1,)})).connect_with({})[1] == {"a": [1]}


@pytest.mark.parametrize("bound", [None, Rag({}), (Rag({}),), (Rag({}), "document")])
def test_a_connector_that_gives_anything_else_breaks_the_contract(bound: object) -> None:
    with pytest.raises(ConnectorContractError, match="not a pipeline and its connection document"):
        spec(connect=lambda params: bound).connect_with({})


def test_a_connector_that_can_only_be_built_says_so() -> None:
    with pytest.raises(ConnectorRegistrationError, match="'acme' cannot be connected from parameters"):
        spec().connect_with({})


def test_data_sets_are_listed_before_one_is_chosen() -> None:
    seen: list[dict[str, Any]] = []

    def listing(params: dict[str, Any]) -> list[DatasetRef]:
        seen.append(params)
        return [DatasetRef("leis", connect_params={"collection": "leis"})]

    made = spec(connect=connect, params=PARAMS, list_datasets=listing)
    [found] = made.datasets_with({"url": "https://example.org"})

    assert seen == [{"url": "https://example.org", "top": 5}]
    assert made.connect_with({"url": "https://example.org", **found.connect_params})[1]["collection"] == "leis"
    with pytest.raises(ConnectorRegistrationError, match="lists no data sets"):
        spec().datasets_with({})


# --- threads ----------------------------------------------------------------------------------------------------


def together(*calls: Callable[[], Any]) -> list[Any]:
    """What the calls give, all made at once."""
    start = threading.Barrier(len(calls))
    results: list[Any] = [None] * len(calls)

    def run(at: int) -> None:
        start.wait()
        results[at] = calls[at]()

    threads = [threading.Thread(target=run, args=(at,), daemon=True) for at in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    return results


def test_threads_that_discover_at_once_load_everything_once(published: Published) -> None:
    def slow() -> ConnectorSpec:
        time.sleep(0.05)
        return spec()

    published.add("acme", slow)

    found = together(*[lambda: registry.get_connector("acme")] * 8)

    assert published.loads == ["acme"]
    assert all(one is found[0] is not None for one in found)


def test_of_threads_that_register_one_type_exactly_one_succeeds() -> None:
    def register(at: int) -> bool:
        try:
            registry.register_connector(spec(label=f"label {at}"))
        except ConnectorRegistrationError:
            return False
        return True

    assert sum(together(*[lambda at=at: register(at) for at in range(8)])) == 1  # type: ignore[misc]


def test_who_registers_does_not_wait_for_an_import_elsewhere(published: Published) -> None:
    registered = threading.Event()
    published.add("acme", lambda: spec() if registered.wait(20) else fail())

    def register() -> None:
        registry.register_connector(spec("other"))
        registered.set()

    together(registry.discover_connectors, register)

    assert registry.registered_types() == ["acme", "other"]
