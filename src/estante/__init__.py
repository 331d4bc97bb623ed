"""Estante: a bookcase for an organisation's documents.

>>> import estante
>>> case = estante.memory()
>>> case.add({"ferias": "O servidor tem direito a trinta dias de férias por ano."}).added
1
>>> hit = case.search("quantos dias de ferias")[0]
>>> hit.document_id, hit.text[:11]
('ferias', 'O servidor ')
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from estante.model.access import Grant as Grant
    from estante.model.asking import Hit as Hit
    from estante.model.asking import Results as Results
    from estante.model.content import Document as Document
    from estante.model.content import Span as Span
    from estante.model.errors import EstanteError as EstanteError
    from estante.shelf.assemble import create as create
    from estante.shelf.assemble import memory as memory
    from estante.shelf.assemble import open_bookcase
    from estante.shelf.bookcase import Bookcase as Bookcase

    open = open_bookcase

__version__ = "0.1.0"

_WHERE = {
    "Bookcase": "estante.shelf.bookcase:Bookcase",
    "Document": "estante.model.content:Document",
    "EstanteError": "estante.model.errors:EstanteError",
    "Grant": "estante.model.access:Grant",
    "Hit": "estante.model.asking:Hit",
    "Results": "estante.model.asking:Results",
    "Span": "estante.model.content:Span",
    "create": "estante.shelf.assemble:create",
    "memory": "estante.shelf.assemble:memory",
    "open": "estante.shelf.assemble:open_bookcase",
}

__all__ = sorted([*_WHERE, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'estante' has no attribute {name!r}")
    module, _, attribute = _WHERE[name].partition(":")
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return [*__all__]
