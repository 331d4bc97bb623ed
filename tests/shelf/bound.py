"""Bookcases with few texts for many readers, and what a host would say to their pipelines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from estante.index.encoding import ENCODERS
from estante.model.plugins import Builtin
from estante.shelf.bookcase import Bookcase
from estante.shelf.opening import as_pipeline
from estante.shelf.pipeline import BookcasePipeline
from estante.shelf.provisioning import Plan, provision
from tests.parts import bookcase

QUESTION = "férias do servidor"

SHARED = {
    "ferias": "O servidor tem férias de trinta dias.\n\nAs férias podem ser divididas em três períodos.",
    "diarias": "As diárias pagam a viagem do servidor.\n\nO pedido de diárias precede a viagem.",
    "leave": "The employee has thirty days of leave.\n\nLeave can be divided into three periods.",
}
FINANCE = {"orcamento": "O orçamento das férias do servidor é sigiloso.\n\nO orçamento fecha em dezembro."}
SEALED = {"processo": "O processo do servidor sobre férias corre em segredo.\n\nO processo segue em julho."}


def filled(home: Path | None = None, **cutting: Any) -> Bookcase:
    """A bookcase with texts for everyone, for finance, and for its owner alone; two chunks each."""
    case = bookcase(home, max_chars=60, min_chars=10, **cutting)
    case.add(SHARED, readers=["*"], metadata={key: {"year": 2020 + at} for at, key in enumerate(SHARED)})
    case.add(FINANCE, readers=["finance"])
    case.add(SEALED)
    return case


@contextmanager
def asking(home: Path | None = None, **binding: Any) -> Iterator[BookcasePipeline]:
    """A pipeline over such a bookcase, bound like this."""
    with filled(home) as case:
        yield as_pipeline(case, **binding)


def know_the_tiny_encoder(patch: pytest.MonkeyPatch) -> None:
    """Lets settings name the encoder of the tests: quick, and with a revision that can be changed."""
    patch.setitem(ENCODERS.builtins, "tiny", Builtin("tests.parts:TinyEncoder"))


def documents(folder: Path, **texts: str) -> Path:
    """A folder of text files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text, "utf-8")
    return folder


def provisioned(home: Path, folder: Path, **plan: Any) -> Path:
    """A folder provisioned with the tiny encoder; everyone may read it unless the plan says otherwise."""
    provision(home, Plan(**{"documents": folder, "readers": ("*",), "encoder": "tiny", **plan}))
    return home
