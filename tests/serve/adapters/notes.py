"""A small corpus, an embedding of words that anyone can compute, and the question whether a pipeline is ready."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from estante.contract.checks.report import Check, Report
from estante.contract.pipeline import RagPipeline
from estante.contract.specs import ConnectorSpec
from estante.contract.validate import validate_pipeline

QUESTION = "Quantos dias de férias por ano?"
BEST = "ferias:0"

NOTES = [
    ("ferias", "São trinta dias de férias por ano, em até três períodos."),
    ("ferias", "As férias pedem-se com sessenta dias de antecedência."),
    ("ferias", "O abono de férias paga-se dois dias antes do início."),
    ("diarias", "As diárias pagam-se antes da viagem."),
    ("diarias", "A prestação de contas das diárias cabe em cinco dias."),
    ("protocolo", "O protocolo responde em dez dias úteis."),
    ("protocolo", "Um requerimento sem assinatura volta ao balcão."),
    ("taxas", "A taxa de alvará vale duas unidades fiscais."),
    ("taxas", "Quem paga à vista tem desconto na taxa."),
    ("rede", "The network team answers within four hours."),
    ("rede", "Call the on-call engineer when the network is down."),
    ("senhas", "Passwords have sixteen characters and never expire."),
]
DIMENSIONS = 64
LEFT_OUT = ("fresh-process",)
"""A check that starts a process, which is shown once for each library."""


def places() -> list[tuple[str, str, int, str]]:
    """The chunks: id, document, place in it, text."""
    counted: dict[str, int] = {}
    made = []
    for doc_id, text in NOTES:
        place = counted[doc_id] = counted.get(doc_id, -1) + 1
        made.append((f"{doc_id}:{place}", doc_id, place, text))
    return made


def embedded(text: str) -> list[float]:
    """A vector that counts words; each word has a direction of its own, or nearly."""
    vector = [0.0] * DIMENSIONS
    for word in text.casefold().split():
        vector[hashlib.sha256(word.strip("?,.").encode()).digest()[0] % DIMENSIONS] += 1.0
    return vector


def embed_all(texts: Sequence[str]) -> list[list[float]]:
    """One vector a text."""
    return [embedded(text) for text in texts]


def examined(
    spec: ConnectorSpec, params: Mapping[str, Any], *, fresh: bool = False, environ: Mapping[str, str] | None = None
) -> Report:
    """The report of the validator on what the connector makes of the parameters."""
    pipeline, connection = spec.connect_with(params, environ=environ or {})
    return validate_pipeline(
        pipeline,
        target=spec.connector_type,
        sample_query=QUESTION,
        connection=connection,
        spec=spec,
        skip=() if fresh else LEFT_OUT,
        close=True,
    )


def told(report: Report) -> str:
    """The report as text, for a test that fails."""
    return report.render()


def row(report: Report, check: str) -> Check:
    """The row of a check."""
    [found] = [one for one in report.checks if one.id == check]
    return found


def statuses(report: Report, *checks: str) -> list[str]:
    """The statuses of some checks, in the order asked for."""
    return [row(report, check).status for check in checks]


def listed(pipeline: RagPipeline) -> list[tuple[str, str, int, str]]:
    """The corpus as ``places`` has it."""
    return [(one.chunk_id, one.doc_id, one.doc_chunk_index, one.text) for one in pipeline.pull_all_chunks()]
