"""The guards that all other tests stand on."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

import estante
from estante.model.access import Grant

pytest_plugins = ["pytester"]


def test_a_test_cannot_reach_another_machine() -> None:
    with socket.socket() as one, pytest.raises(pytest.fail.Exception, match=r"tried to reach '192\.0\.2\.1'"):
        one.connect(("192.0.2.1", 80))


def test_a_test_cannot_look_up_a_name() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"tried to reach 'example\.org'"):
        socket.getaddrinfo("example.org", 443)


def test_loopback_stays_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as one:
        accepted, _ = server.accept()
        with accepted:
            one.sendall(b"ola")

            assert accepted.recv(3) == b"ola"


def test_the_bookcase_is_empty_and_on_disk(bookcase: estante.Bookcase) -> None:
    assert len(bookcase) == 0
    assert bookcase.home is not None
    assert (bookcase.home / ".estante").is_dir()


def test_the_asker_reads_what_the_owner_shares_and_a_stranger_does_not(
    bookcase: estante.Bookcase, asker: Grant, stranger: Grant
) -> None:
    bookcase.add({"ferias": "Trinta dias de férias por ano."}, readers=["*"])

    assert [hit.document_id for hit in bookcase.search("férias", asker=asker)] == ["ferias"]
    assert len(bookcase.search("férias", asker=stranger)) == 0


def test_the_clock_stands_still(clock: Callable[[], str]) -> None:
    assert clock() == clock()


DATA_TEST = "def test_data(data):\n    assert data.is_dir()\n"


@pytest.fixture
def elsewhere(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder of tests of its own with our conftest, where no data is."""
    monkeypatch.setenv("ESTANTE_DATA", str(pytester.path / "nowhere"))
    monkeypatch.delenv("ESTANTE_REQUIRE_DATA", raising=False)
    pytester.makeconftest(Path(__file__).with_name("conftest.py").read_text("utf-8"))
    pytester.makepyfile(DATA_TEST)
    return pytester


def test_absent_data_skips_with_a_reason(elsewhere: pytest.Pytester) -> None:
    found = elsewhere.runpytest_subprocess("-rs")

    found.assert_outcomes(skipped=1)
    found.stdout.fnmatch_lines(["*outside data is absent*"])


def test_absent_data_fails_where_it_is_required(elsewhere: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESTANTE_REQUIRE_DATA", "1")

    elsewhere.runpytest_subprocess().assert_outcomes(errors=1)
