"""Weights in their folder: made whole, found again, and mended when they are damaged."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path

import pytest

from estante.index.weights import making
from estante.index.weights.making import Making
from estante.model.errors import CorruptModel, Unavailable, UnknownName

DATA = b"weights"
CALLS: list[str] = []


def make(told: object) -> bytes:
    CALLS.append("made")
    return DATA


def trial(data: bytes) -> list[str]:
    return [] if data == DATA else ["other"]


ONE = Making("toy", "", hashlib.sha256(DATA).hexdigest(), len(DATA), f"{__name__}:make", f"{__name__}:trial")


@pytest.fixture(autouse=True)
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    CALLS.clear()
    monkeypatch.setattr(making, "_load", lambda target: {"make": make, "trial": trial}[target.rpartition(":")[2]])
    return CALLS


def test_they_are_made_at_the_first_use_and_never_again(tmp_path: Path, calls: list[str]) -> None:
    assert making.read(ONE, tmp_path / "models") == DATA
    assert making.read(ONE, tmp_path / "models") == DATA
    assert calls == ["made"]


def test_they_are_closed_to_others(tmp_path: Path) -> None:
    path = making.build(ONE, tmp_path / "models")

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_damaged_ones_are_made_again(tmp_path: Path, calls: list[str]) -> None:
    making.build(ONE, tmp_path).write_bytes(DATA[:-1])

    assert making.state(ONE, tmp_path) == "damaged"
    assert making.read(ONE, tmp_path) == DATA
    assert making.state(ONE, tmp_path) == "made"


def test_absent_ones_are_told(tmp_path: Path) -> None:
    assert making.state(ONE, tmp_path) == "absent"
    assert making.verify(ONE, tmp_path) == [f"{ONE.path(tmp_path)} is absent"]


def test_verified_ones_have_nothing_wrong(tmp_path: Path) -> None:
    making.build(ONE, tmp_path)

    assert making.verify(ONE, tmp_path) == []


def test_they_serve_although_they_cannot_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    assert making.read(ONE, tmp_path / "file" / "models") == DATA


def test_building_where_nothing_can_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(Unavailable, match="cannot write"):
        making.build(ONE, tmp_path / "file" / "models")


def test_other_bytes_are_never_kept(tmp_path: Path) -> None:
    other = Making("toy", "", "0" * 64, 0, ONE.target, ONE.trial)

    with pytest.raises(CorruptModel):
        making.build(other, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_nothing_half_written_is_left(tmp_path: Path) -> None:
    path = making.build(ONE, tmp_path)

    assert list(tmp_path.iterdir()) == [path]


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="'e6'") as caught:
        making.making("e6")

    assert "e5" in caught.value.hint
