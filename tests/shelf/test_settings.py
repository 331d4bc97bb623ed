"""Settings: where each value comes from, and what is refused before anything is touched."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from estante.model.errors import NameTaken, SettingsError, UnknownName
from estante.shelf.assemble import create
from estante.shelf.settings import (
    DEFAULT,
    MAX_BYTES,
    SETTINGS,
    SOURCE_SETTINGS,
    Settings,
    find_home,
    home_named,
    load,
    settings_path,
)
from estante.shelf.template import TEMPLATE, template

SOURCE = '[[source]]\nroot = "handbook"\n'


def read(home: Path, toml: str = "", *, environ: Mapping[str, str] | None = None, **flags: Any) -> Settings:
    if toml:
        (home / "estante.toml").write_text(toml, "utf-8")
    return load(home, flags={key.replace("_", "."): value for key, value in flags.items()}, environ=environ or {})


def refused(home: Path, toml: str, kind: type[SettingsError] = SettingsError, **environ: str) -> str:
    with pytest.raises(kind) as caught:
        read(home, toml, environ=environ)
    assert caught.value.hint
    return f"{caught.value.message} | {caught.value.hint}"


def origin(settings: Settings, key: str) -> str:
    return next(row.origin for row in settings.rows if row.key == key)


# --- what is in force -------------------------------------------------------------------------------------------


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    found = read(tmp_path)

    assert (found.tenant, found.encoder.use, found.chunker.use) == ("local", "static", "headings")
    assert (found.k, found.mode, found.lock_wait) == (10, "hybrid", 10.0)
    assert (found.shared.store, found.private.store) == ("embedded", "embedded")
    assert found.shared.path == tmp_path / ".estante" / "shared"
    assert found.private.path == tmp_path / ".estante" / "private"
    assert found.sources == ()
    assert {row.origin for row in found.rows} == {DEFAULT}


def test_a_file_outweighs_the_defaults(tmp_path: Path) -> None:
    toml = (
        'tenant = "acme"\n[search]\nk = 3\nmode = "lexical"\n[lock]\nwait = 1\n[shelf.private]\npath = "/srv/private"'
    )

    found = read(tmp_path, toml)

    assert (found.tenant, found.k, found.mode, found.lock_wait) == ("acme", 3, "lexical", 1.0)
    assert found.private.path == Path("/srv/private")
    assert origin(found, "search.k") == str(tmp_path / "estante.toml")


def test_the_environment_outweighs_the_file(tmp_path: Path) -> None:
    environ = {"ESTANTE_SEARCH_K": "7", "ESTANTE_LOCK_WAIT": "0.5", "ESTANTE_TENANT": "prefeitura"}

    found = read(tmp_path, 'tenant = "acme"\n[search]\nk = 3', environ=environ)

    assert (found.k, found.lock_wait, found.tenant) == (7, 0.5, "prefeitura")
    assert origin(found, "search.k") == "environment ESTANTE_SEARCH_K"


def test_a_flag_outweighs_the_environment(tmp_path: Path) -> None:
    found = read(tmp_path, environ={"ESTANTE_SEARCH_K": "7"}, search_k=2)

    assert found.k == 2
    assert origin(found, "search.k") == "flag"


def test_a_flag_that_was_not_given_weighs_nothing(tmp_path: Path) -> None:
    assert read(tmp_path, environ={"ESTANTE_SEARCH_K": "7"}, search_k=None).k == 7


def test_an_empty_variable_weighs_nothing(tmp_path: Path) -> None:
    assert read(tmp_path, environ={"ESTANTE_SEARCH_K": "", "ESTANTE_TENANT": " "}).k == 10


def test_without_files_none_is_read(tmp_path: Path) -> None:
    (tmp_path / "estante.toml").write_text("not TOML", "utf-8")

    assert load(tmp_path, environ={}, files=False).tenant == "local"


def test_the_environment_of_the_process_is_read_when_none_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ESTANTE_ENCODER", "static")

    assert origin(load(tmp_path), "encoder.use") == "environment ESTANTE_ENCODER"


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda one: one.key)
def test_every_setting_can_come_from_its_variable(tmp_path: Path, setting: Any) -> None:
    value = "elsewhere" if setting.key.endswith("path") else str(setting.default)

    found = read(tmp_path, environ={setting.variable: value})

    assert origin(found, setting.key) == f"environment {setting.variable}"


def test_pyproject_can_hold_the_settings(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.estante]\ntenant = "acme"\n', "utf-8")

    found = read(tmp_path)

    assert found.tenant == "acme"
    assert origin(found, "tenant") == f"{tmp_path / 'pyproject.toml'} [tool.estante]"
    assert settings_path(tmp_path) == tmp_path / "pyproject.toml"


def test_a_pyproject_without_our_table_is_nothing_to_us(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "estante-user"\n', "utf-8")

    assert read(tmp_path).tenant == "local"
    assert settings_path(tmp_path) is None


def test_settings_in_two_places_are_refused(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.estante]\ntenant = "acme"\n', "utf-8")

    assert "both in" in refused(tmp_path, 'tenant = "other"')


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, '\ufefftenant = "acme"').tenant == "acme"


def test_plug_ins_get_their_options(tmp_path: Path) -> None:
    found = read(tmp_path, '[chunker]\nuse = "windows"\nsize = 500\n[extractors]\n".INC" = "html"')

    assert (found.chunker.use, dict(found.chunker.options)) == ("windows", {"size": 500})
    assert dict(found.extractors) == {".inc": "html"}
    assert origin(found, "chunker.size") == origin(found, "extractors..inc") == str(tmp_path / "estante.toml")


@pytest.mark.parametrize(
    ("text", "told", "hint"),
    [
        ("[chunker]\nmax_charz = 9", "[chunker] max_charz", "Did you mean 'max_chars'? Known: max_chars, min_chars."),
        ('[chunker]\nuse = "windows"\nxyz = 9', "[chunker] xyz", "Known: size, overlap."),
        ("[encoder]\nmodel = 9", "[encoder] model", "It has no options; leave the key out."),
    ],
)
def test_an_option_that_a_plug_in_does_not_have_is_refused_with_those_it_has(
    tmp_path: Path, text: str, told: str, hint: str
) -> None:
    settings = read(tmp_path, text)

    with pytest.raises(UnknownName, match="has no such option") as caught:
        create(tmp_path, settings)

    assert caught.value.message.startswith(f"{tmp_path / 'estante.toml'}: {told}: ")
    assert caught.value.hint == hint
    assert not (tmp_path / ".estante").exists()


# --- sources ----------------------------------------------------------------------------------------------------


def test_a_source_is_named_after_its_folder_and_private_unless_it_says_more(tmp_path: Path) -> None:
    [source] = read(tmp_path, SOURCE).sources

    assert (source.name, source.use, source.readers) == ("handbook", "folder", None)
    assert source.root == Path(os.path.realpath(tmp_path)) / "handbook"
    assert (source.include, source.exclude, source.max_bytes) == ((), (), MAX_BYTES)


def test_a_source_says_who_reads_it_and_what_it_takes(tmp_path: Path) -> None:
    toml = SOURCE + 'name = "manual"\nreaders = ["*"]\ninclude = ["*.md"]\nexclude = ["tmp/"]\nmax_bytes = 10'

    [source] = read(tmp_path, toml).sources

    assert (source.name, source.readers, source.include) == ("manual", ("*",), ("*.md",))
    assert (source.exclude, source.max_bytes) == (("tmp/",), 10)


def test_every_value_of_a_source_has_its_origin(tmp_path: Path) -> None:
    found = read(tmp_path, SOURCE)

    assert origin(found, "source.handbook.root") == str(tmp_path / "estante.toml")
    assert origin(found, "source.handbook.readers") == DEFAULT


def test_the_folder_of_the_settings_can_be_a_source_itself(tmp_path: Path) -> None:
    [source] = read(tmp_path, '[[source]]\nroot = "."').sources

    assert source.name == Path(os.path.realpath(tmp_path)).name


# --- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("toml", "key", "near"),
    [
        ("tenent = 'a'", "tenent", "'tenant'"),
        ("[serach]\nk = 1", "serach", "'search'"),
        ("[search]\nkk = 1", "search.kk", "'search.k'"),
        ("[shelf.shard]\npath = 'a'", "shelf.shard", "'shelf.shared'"),
        ("[shelf.shared]\nurl = 'a'", "shelf.shared.url", "shelf.shared.path"),
        (SOURCE + "reader = ['*']", "source[1].reader", "'source[1].readers'"),
        ("[encoder]\nused = 'static'", "encoder.used", "'encoder.use'"),
        ("[lock]\n'completely different' = 1", "lock.completely different", "lock.wait"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_known_one(tmp_path: Path, toml: str, key: str, near: str) -> None:
    told = refused(tmp_path, toml, UnknownName)

    assert str(tmp_path / "estante.toml") in told
    assert repr(key) in told
    assert near in told


def test_a_misspelt_variable_is_refused(tmp_path: Path) -> None:
    assert "ESTANTE_SEARCH_K" in refused(tmp_path, "", UnknownName, ESTANTE_SERCH_K="3")


def test_a_variable_that_resembles_no_setting_is_left_alone(tmp_path: Path) -> None:
    assert read(tmp_path, environ={"ESTANTE_WIKI_PASSPHRASE": "x"}).tenant == "local"


def test_an_unknown_flag_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=re.escape("unknown key 'search.kk'")):
        read(tmp_path, search_kk=1)


@pytest.mark.parametrize(
    ("toml", "told"),
    [
        ("tenant = 3", "tenant must be a text, got 3"),
        ("tenant = ''", "tenant must be a printable text"),
        ("tenant = 'a\\nb'".replace("'", '"'), "tenant must be a printable text"),
        ("tenant = ['a']", "tenant must be a text"),
        ("[search]\nk = 0", "search.k must be a whole number from 1 to 10,000, got 0"),
        ("[search]\nk = true", "search.k must be a whole number"),
        ("[search]\nk = 2.5", "search.k must be a whole number"),
        ("[search]\nk = 'many'", "search.k must be a whole number"),
        ("[search]\nmode = 'hybird'", "Did you mean 'hybrid'?"),
        ("[lock]\nwait = -1", "lock.wait must be a number of seconds"),
        ("[lock]\nwait = nan", "lock.wait must be a number of seconds"),
        ("[lock]\nwait = 'soon'", "lock.wait must be a number of seconds"),
        ("search = 3", "search must be a table"),
        ("encoder = 'static'", "encoder must be a table"),
        ("extractors = 'plain'", "extractors must be a table"),
        ("[extractors]\npdf = 'plain'", "'pdf' is not a suffix"),
        ("[source]\nroot = 'a'", "Write [[source]]"),
        ("[[source]]\nname = 'a'", "source[1] has no root"),
        (SOURCE + "readers = '*'", 'Write ["*"]'),
        (SOURCE + "readers = [1]", "readers must be a list of texts"),
        (SOURCE + "readers = ['']", "readers must be a list of texts"),
        (SOURCE + "readers = ['*', 'a']", 'must be ["*"] alone'),
        (SOURCE + "include = '*.md'", 'Write ["*.md"]'),
        (SOURCE + "max_bytes = 0", "max_bytes must be a whole number"),
        (SOURCE + "name = 'a/b'", "name must be a name without '/'"),
        ("[[source]]\nroot = '/'", "must be a name without '/'"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(tmp_path: Path, toml: str, told: str) -> None:
    found = refused(tmp_path, toml)

    assert told in found
    assert str(tmp_path / "estante.toml") in found


@pytest.mark.parametrize(
    ("toml", "key", "near"),
    [
        ("[encoder]\nuse = 'statik'", "encoder.use", "'static'"),
        ("[chunker]\nuse = 'heading'", "chunker.use", "'headings'"),
        ("[shelf.shared]\nstore = 'embeded'", "shelf.shared.store", "'embedded'"),
        ("[extractors]\n'.x' = 'plane'", 'extractors.".x"', "'plain'"),
        (SOURCE + "use = 'ftp'", "source[1].use", "folder"),
    ],
)
def test_an_unknown_plug_in_is_refused_with_the_nearest_name(tmp_path: Path, toml: str, key: str, near: str) -> None:
    told = refused(tmp_path, toml, UnknownName)

    assert key in told
    assert near in told


def test_broken_toml_is_refused_with_its_line(tmp_path: Path) -> None:
    assert "line 2" in refused(tmp_path, 'tenant = "acme"\nsearch = = 3')


def test_a_file_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "estante.toml").write_bytes('tenant = "são"'.encode("latin-1"))

    assert "is not UTF-8" in refused(tmp_path, "")


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "estante.toml").mkdir()

    assert "cannot be read" in refused(tmp_path, "")


def test_a_link_to_nowhere_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "estante.toml").symlink_to(tmp_path / "gone.toml")

    assert "cannot be read" in refused(tmp_path, "")


def test_two_sources_of_one_name_are_refused(tmp_path: Path) -> None:
    toml = SOURCE + '[[source]]\nroot = "other/Handbook"\n'

    assert "two sources are named 'Handbook'" in refused(tmp_path, toml, NameTaken)


@pytest.mark.parametrize(
    ("shared", "private"), [("a", "a"), ("a", "./b/../a"), ("a", "a/b"), ("a/b", "a"), (".", "a"), ("a", "..")]
)
def test_shelves_that_are_not_apart_are_refused(tmp_path: Path, shared: str, private: str) -> None:
    toml = f'[shelf.shared]\npath = "{shared}"\n[shelf.private]\npath = "{private}"'

    assert "shelf." in refused(tmp_path, toml)


def test_shelves_that_a_link_makes_one_are_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    assert "not apart" in refused(tmp_path, '[shelf.shared]\npath = "real"\n[shelf.private]\npath = "link"')


def test_a_credential_in_plain_text_is_refused_and_not_repeated(tmp_path: Path) -> None:
    told = refused(tmp_path, '[encoder]\nuse = "static"\napi_key = "sk-123"')

    assert "encoder.api_key" in told
    assert "sk-123" not in told


def test_a_credential_by_reference_is_an_option_like_any_other(tmp_path: Path) -> None:
    found = read(tmp_path, '[encoder]\nuse = "static"\napi_key = "env:KEY"')

    assert found.encoder.options["api_key"] == "env:KEY"


def test_reading_settings_makes_nothing(tmp_path: Path) -> None:
    read(tmp_path / "not there")

    assert list(tmp_path.iterdir()) == []


# --- where the bookcase is --------------------------------------------------------------------------------------


def test_the_nearest_folder_upwards_with_a_bookcase_is_the_home(tmp_path: Path) -> None:
    (tmp_path / ".estante").mkdir()
    (tmp_path / "a" / "b").mkdir(parents=True)

    assert find_home(tmp_path / "a" / "b") == tmp_path
    assert find_home(tmp_path) == tmp_path


def test_a_settings_file_makes_a_folder_the_home(tmp_path: Path) -> None:
    (tmp_path / ".estante").mkdir()
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "estante.toml").touch()

    assert find_home(tmp_path / "a" / "b") == tmp_path / "a"


def test_where_there_is_no_bookcase_there_is_no_home(tmp_path: Path) -> None:
    (tmp_path / ".estante").touch()

    assert find_home(tmp_path) is None


def test_the_environment_can_name_the_home() -> None:
    assert home_named({"ESTANTE_HOME": "/srv/case"}) == Path("/srv/case")
    assert home_named({"ESTANTE_HOME": ""}) is None
    assert home_named({}) is None


# --- the template -----------------------------------------------------------------------------------------------


def test_the_template_changes_nothing_as_it_stands(tmp_path: Path) -> None:
    assert {row.origin for row in read(tmp_path, TEMPLATE).rows} == {DEFAULT}


def test_every_line_that_the_template_offers_is_valid(tmp_path: Path) -> None:
    offered = re.compile(r'^# (?=\[|[a-z_]+ = |"\.)', re.MULTILINE)

    found = read(tmp_path, offered.sub("", TEMPLATE))

    assert found.k == 10
    assert [source.readers for source in found.sources] == [("*",)]


def test_the_template_shows_every_default_as_it_is(tmp_path: Path) -> None:
    offered = read(tmp_path, re.sub(r'^# (?=\[|[a-z_]+ = |"\.)', "", TEMPLATE, flags=re.MULTILINE))
    rows = {row.key: row for row in offered.rows}

    for setting in SETTINGS:
        assert rows[setting.key].value == setting.default, setting.key
        assert rows[setting.key].origin != DEFAULT, f"{setting.key} is not in the template"
    for setting in SOURCE_SETTINGS:
        assert rows[f"source.handbook.{setting.key}"].origin != DEFAULT, setting.key


# --- weights -----------------------------------------------------------------------------------------------------


def test_weights_stand_in_the_users_cache(tmp_path: Path) -> None:
    assert read(tmp_path, environ={"XDG_CACHE_HOME": str(tmp_path)}).models.parts[-2:] in {
        ("estante", "models"),
        ("Cache", "models"),
    }


def test_weights_stand_where_the_settings_say(tmp_path: Path) -> None:
    assert read(tmp_path, '[models]\npath = "weights"\n').models == tmp_path / "weights"


def test_a_new_settings_file_with_an_encoder_says_nothing_else(tmp_path: Path) -> None:
    found = read(tmp_path, template("e5"))

    assert found.encoder.use == "e5"
    assert [row.key for row in found.rows if row.origin != DEFAULT] == ["encoder.use"]
