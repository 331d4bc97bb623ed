"""The encoders by name."""

from __future__ import annotations

from typing import Final

from estante.index.fusion import Blend
from estante.model.plugins import Builtin, Plugins

ENCODERS: Final = Plugins(
    "encoder",
    "estante.encoders",
    {
        "static": Builtin("estante.index.encoders.static:StaticEncoder"),
        "e5": Builtin("estante.index.encoders.e5:E5Encoder", extra="e5"),
        "use": Builtin("estante.index.encoders.use:UseEncoder", extra="use"),
        "bge-m3": Builtin("estante.index.encoders.bge_m3:BgeM3Encoder", extra="bge-m3"),
        "model2vec": Builtin("estante.index.encoders.model2vec:Model2VecEncoder", extra="model2vec"),
        "fastembed": Builtin("estante.index.encoders.fastembed:FastEmbedEncoder", extra="fastembed"),
        "sentence-transformers": Builtin(
            "estante.index.encoders.sentence_transformers:SentenceTransformersEncoder", extra="sentence-transformers"
        ),
        "openai": Builtin("estante.index.encoders.openai:OpenAIEncoder", extra="openai"),
    },
)

BLENDS: Final = {"static": Blend(most=0.7, enough=0.4), "e5": Blend(most=0.6, enough=0.7)}
"""How far words are trusted beside each encoder's vectors; measured, see docs/measurements.md."""


def blend_of(encoder: str) -> Blend:
    """The blend measured for an encoder, or a careful one."""
    return BLENDS.get(encoder, Blend())
