"""What many tests need: the demo library, a bookcase, who asks, a clock, outside data; and no network."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import estante
from estante.model.access import Grant
from estante.security import principals

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "src" / "estante" / "demo" / "library"
TENANT = "local"  # What the settings say when nobody says anything.

# Slow machines are no failure of a law, so nothing here asserts how long an example takes.
settings.register_profile("dev", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True)
settings.register_profile("laws", settings.get_profile("ci"), max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))


@pytest.fixture(autouse=True, scope="session")
def no_network() -> Iterator[None]:
    """No test talks to another machine; its own loopback and Unix sockets stay open."""

    def guarded(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: socket.socket, *arguments: Any) -> Any:
            _refuse_remote(self.family, arguments[-1])
            return real(self, *arguments)

        return call

    def resolve(host: Any, *arguments: Any, **options: Any) -> Any:
        _refuse_remote(socket.AF_INET, (host, 0))
        return look_up(host, *arguments, **options)

    look_up = socket.getaddrinfo
    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex", "sendto"):
            patch.setattr(socket.socket, name, guarded(getattr(socket.socket, name)))
        patch.setattr(socket, "getaddrinfo", resolve)
        yield


def _refuse_remote(family: int, address: Any) -> None:
    if family == getattr(socket, "AF_UNIX", None):
        return
    host = address[0] if isinstance(address, tuple) else address
    host = host.decode() if isinstance(host, bytes) else host
    if host not in (None, "", "localhost", "::1") and not str(host).startswith("127."):
        # Its exception is no Exception, so that no code under test takes it for an error of its own.
        pytest.fail(f"a test tried to reach {host!r}")


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The demo library: 52 documents in Portuguese and English, with planted fake secrets. Not to be changed."""
    assert any(LIBRARY.rglob("*.md")), "the demo library is gone"
    return LIBRARY


@pytest.fixture
def bookcase(tmp_path: Path) -> Iterator[estante.Bookcase]:
    """A new, empty bookcase on disk."""
    with estante.create(tmp_path / "bookcase") as case:
        yield case


@pytest.fixture
def asker() -> Grant:
    """Someone in the bookcase's tenant who holds the key ``finance``."""
    return principals.reader(TENANT, ["finance"], "asker")


@pytest.fixture
def stranger() -> Grant:
    """Someone in another tenant, with the same key."""
    return principals.reader("elsewhere", ["finance"], "stranger")


@pytest.fixture
def clock() -> Callable[[], str]:
    """A clock that stands still."""
    return lambda: "2025-06-02T09:30:00Z"


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of outside collections that ``ESTANTE_DATA`` names; the test is skipped where there is none."""
    named = os.environ.get("ESTANTE_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if folder.is_dir():
        return folder
    reason = f"outside data is absent: {folder} is not a folder (ESTANTE_DATA names it)"
    if os.environ.get("ESTANTE_REQUIRE_DATA") == "1":
        pytest.fail(reason)
    pytest.skip(reason)
