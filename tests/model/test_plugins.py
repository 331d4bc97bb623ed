"""Names to plug-ins: what is known, what is missing, what is taken, what is broken."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from estante.model.errors import MissingExtra, NameTaken, SettingsError, UnknownName
from estante.model.plugins import Builtin, Plugins, Row, located, required

GROUP = "estante.test_lamps"


def lamps(**builtins: Builtin) -> Plugins:
    known = {"oil": Builtin("collections:Counter"), "wax": Builtin("collections:OrderedDict")}
    return Plugins("lamp", GROUP, known | builtins)


class Site:
    """A folder on the import path, into which packages are installed as an installer would."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def install(self, package: str, module: str, source: str, **points: str) -> None:
        (self.path / f"{module}.py").write_text(source, encoding="utf-8")
        info = self.path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
        lines = [f"{name} = {value}" for name, value in points.items()]
        (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]), encoding="utf-8")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.syspath_prepend(str(tmp_path))
    return Site(tmp_path)


def test_a_builtin_is_loaded_by_its_name() -> None:
    from collections import Counter

    assert lamps().load("oil") is Counter


def test_names_are_sorted() -> None:
    assert lamps().names() == ["oil", "wax"]


def test_nothing_is_imported_before_it_is_asked_for(site: Site) -> None:
    site.install("bright", "bright_lamps", "class Gas: pass", gas="bright_lamps:Gas")

    lamps().names(), lamps().rows(), lamps().load("oil")

    assert "bright_lamps" not in sys.modules


def test_an_installed_plugin_is_loaded_by_its_name(site: Site) -> None:
    site.install("gaslight", "gas_lamps", "class Gas: pass", gas="gas_lamps:Gas")

    found = lamps().load("gas")

    assert (found.__module__, found.__name__) == ("gas_lamps", "Gas")
    assert lamps().names() == ["gas", "oil", "wax"]


def test_an_installed_plugin_is_listed_with_the_package_that_brings_it(site: Site) -> None:
    site.install("gaslight", "gas_lamps", "class Gas: pass", gas="gas_lamps:Gas")

    assert lamps().rows() == [Row("gas", "gaslight"), Row("oil", "estante"), Row("wax", "estante")]


def test_a_misspelt_name_gets_the_nearest_one() -> None:
    with pytest.raises(UnknownName, match="no lamp named 'oli'") as caught:
        lamps().load("oli")

    assert caught.value.hint == "Did you mean 'oil'?"


def test_a_name_like_no_other_gets_them_all() -> None:
    with pytest.raises(UnknownName) as caught:
        lamps().load("sunlight")

    assert caught.value.hint == "Known: oil, wax."


def test_a_misspelt_name_is_also_compared_with_installed_ones(site: Site) -> None:
    site.install("gaslight", "gas_lamps", "", neon="gas_lamps:Neon")

    with pytest.raises(UnknownName) as caught:
        lamps().load("neom")

    assert caught.value.hint == "Did you mean 'neon'?"


@pytest.mark.parametrize("package", ["absent_lamp_maker", "estante_lamps"])
def test_a_missing_package_is_told_with_the_command_that_installs_it(site: Site, package: str) -> None:
    (site.path / "arc_lamp.py").write_text(f"import {package}\n", encoding="utf-8")

    with pytest.raises(MissingExtra, match=f"needs the package '{package}'") as caught:
        lamps(arc=Builtin("arc_lamp:Arc", extra="arc")).load("arc")

    assert caught.value.hint == 'Run: pip install "estante[arc]"'


def test_a_missing_module_of_our_own_is_no_missing_extra() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"estante\.lamps"):
        lamps(arc=Builtin("estante.lamps:Arc", extra="arc")).load("arc")


def test_a_builtin_without_an_extra_fails_as_it_is() -> None:
    with pytest.raises(ModuleNotFoundError, match="absent_lamp"):
        lamps(arc=Builtin("absent_lamp:Arc")).load("arc")


def test_a_package_cannot_take_the_name_of_a_builtin(site: Site) -> None:
    site.install("impostor", "false_lamps", "class Oil: pass", oil="false_lamps:Oil")

    with pytest.raises(NameTaken, match="'oil' is claimed by impostor"):
        lamps().load("oil")


def test_two_packages_cannot_have_one_name(site: Site) -> None:
    site.install("first", "first_lamps", "class Gas: pass", gas="first_lamps:Gas")
    site.install("second", "second_lamps", "class Gas: pass", gas="second_lamps:Gas")

    with pytest.raises(NameTaken, match="claimed by first, second"):
        lamps().load("gas")


def test_a_taken_name_is_a_row_that_says_so_and_hides_no_other(site: Site) -> None:
    site.install("impostor", "false_lamps", "", oil="false_lamps:Oil", gas="false_lamps:Gas")
    site.install("second", "second_lamps", "", gas="second_lamps:Gas")

    assert [row for row in lamps().rows() if row.error] == [
        Row("gas", "impostor", "claimed twice"),
        Row("gas", "second", "claimed twice"),
        Row("oil", "impostor", "claims a name of Estante's own"),
    ]
    assert [row.name for row in lamps().rows()] == ["gas", "gas", "oil", "oil", "wax"]


@pytest.mark.parametrize(
    "source", ["raise RuntimeError('no light')", "import absent_lamp_maker", "class Other: pass", "def broken(:"]
)
def test_a_plugin_that_cannot_be_loaded_names_its_package_and_breaks_no_other(site: Site, source: str) -> None:
    module = f"dark_{abs(hash(source))}"
    site.install("darkness", module, source, gas=f"{module}:Gas")

    with pytest.raises(SettingsError, match="'gas' of darkness cannot be loaded") as caught:
        lamps().load("gas")

    assert caught.value.hint == "Update or uninstall that package."
    assert lamps().load("oil")


# --- optional packages -------------------------------------------------------------------------------------------


def test_a_package_that_is_there_is_given(site: Site) -> None:
    site.install("wicks", "wicks", "LENGTH = 3")

    assert required("wicks", "lamps").LENGTH == 3


@pytest.mark.parametrize("ask", [required, located])
def test_a_package_that_is_not_there_is_told_with_the_command_that_brings_it(ask: Callable[[str, str], object]) -> None:
    with pytest.raises(MissingExtra, match="absent_lamp_maker") as caught:
        ask("absent_lamp_maker", "lamps")

    assert caught.value.hint == 'Run: pip install "estante[lamps]"'


def test_a_package_is_found_without_being_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dark_lamp").mkdir()
    (tmp_path / "dark_lamp" / "__init__.py").write_text("raise RuntimeError('no light')", "utf-8")
    (tmp_path / "dark_lamp" / "oil.bin").write_bytes(b"oil")
    monkeypatch.syspath_prepend(tmp_path)

    assert located("dark_lamp", "lamps").joinpath("oil.bin").read_bytes() == b"oil"
