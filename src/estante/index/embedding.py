"""Texts to vectors through any encoder, its promises checked: a plug-in's fault is an error, never a wrong vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estante.index.dense import quantise
from estante.index.rows import blank
from estante.model.errors import ContractBroken, EstanteError
from estante.model.ports import Encoder, Quantised


def vectors(encoder: Encoder, encode: Callable[[Sequence[str]], Any], texts: Sequence[str]) -> list[Quantised]:
    """The vector of each text; all zeros for a blank one, which the encoder never sees. Equal texts are encoded once.

    ``encode`` is the encoder's ``passages`` or ``queries``. Raises ``ContractBroken`` that names the encoder when it
    fails, or gives too many rows, too few, others, or such as are not finite.
    """
    distinct = list(dict.fromkeys(text for text in texts if not blank(text)))
    rows = _rows(encoder, encode, distinct) if distinct else np.zeros((0, encoder.space.dimensions), np.float32)
    found = dict(zip(distinct, quantise(rows), strict=True))
    nothing = Quantised(bytes(encoder.space.dimensions), 0.0)
    return [found.get(text, nothing) for text in texts]


def _rows(encoder: Encoder, encode: Callable[[Sequence[str]], Any], texts: Sequence[str]) -> NDArray[np.float32]:
    name, wanted = encoder.space.model, (len(texts), encoder.space.dimensions)
    try:
        rows = encode(texts)
    except EstanteError:
        raise
    except Exception as error:  # Another's code may fail in any way; a text may stand in its message, so only its kind.
        raise ContractBroken(
            f"the encoder {name!r} failed: {type(error).__name__}",
            hint="Run with --verbose for the traceback, and report it to the encoder's author.",
        ) from error
    if not isinstance(rows, np.ndarray) or rows.shape != wanted or rows.dtype.kind != "f":
        found = f"{rows.dtype} of shape {rows.shape}" if isinstance(rows, np.ndarray) else type(rows).__name__
        raise ContractBroken(
            f"the encoder {name!r} returned {found} where float32 of shape {wanted} was due",
            hint="Report it to its author.",
        )
    narrow: NDArray[np.float32] = rows.astype(np.float32, copy=False)
    if not np.isfinite(narrow).all():
        raise ContractBroken(
            f"the encoder {name!r} returned a vector that is not finite", hint="Report it to its author."
        )
    return narrow
