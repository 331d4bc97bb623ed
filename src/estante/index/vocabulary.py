"""The file of word pieces that comes with Estante: tokenizer, and the rows of the static encoder."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from estante.index.pieces import Pieces
from estante.model.errors import ContractBroken

PACKAGE: Final = "estante.index.encoders"
FILE: Final = "static_pten.npz"
SHA256: Final = "4ce684d0813c3bd376ccae3d35e6f2fa27c1a11c1f8dcec999d24f9893b1b011"


def stored() -> Mapping[str, NDArray[Any]]:
    """The arrays of the file. Raises ``ContractBroken`` when it is another file than this version was made with."""
    data = files(PACKAGE).joinpath(FILE).read_bytes()
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise ContractBroken(
            f"{FILE} is not the file that this version of Estante was made with",
            hint="Install Estante again; vectors of other weights cannot be compared with those on a shelf.",
        )
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return dict(arrays)


def pieces_of(arrays: Mapping[str, NDArray[Any]], unknown: int | None = None) -> Pieces:
    """The tokenizer in these arrays; ``unknown`` as in ``Pieces``."""
    pieces = bytes(arrays["pieces"]).decode("utf-8").split("\n")
    scores: list[float] = arrays["scores"].astype(np.float64).tolist()
    characters = bytes(arrays["characters"]).decode("utf-8").split("\n")
    return Pieces(pieces, scores, {ord(line[0]): line[1:] for line in characters}, unknown)
