"""Tiny models for the libraries of encoders: real files and a real server, in which each word has its own direction."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from estante.index.weights.onnx import Graph

WORDS = sorted(
    set(
        "o servidor tem direito a trinta dias de férias por ano employees are entitled to thirty days annual leave "
        "licitação foi aberta em março 2024 x palavra quantos quando abriu ? . query passage :".split()
    )
)
MARKS = ("<s>", "<pad>", "</s>", "<unk>")


def direction(word: str, dimensions: int) -> NDArray[np.float32]:
    """The direction of a word, the same everywhere."""
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).normal(size=dimensions).astype(np.float32)


def table(dimensions: int) -> NDArray[np.float32]:
    """A row for each mark and word; marks say nothing."""
    return np.stack([np.zeros(dimensions, np.float32)] * len(MARKS) + [direction(one, dimensions) for one in WORDS])


def tokenizer(*, marked: bool = True) -> Tokenizer:
    """Words in small letters, apart from punctuation; with the marks of a beginning and an end."""
    made = Tokenizer(models.WordLevel({one: n for n, one in enumerate([*MARKS, *WORDS])}, unk_token="<unk>"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    if marked:
        made.post_processor = processors.TemplateProcessing("<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return made


def network(path: Path, dimensions: int, output: str) -> None:
    """A file of ONNX that gives the sum of a text's words, or with ``token_embeddings`` the rows of its tokens."""
    graph = Graph()
    whole = output == "token_embeddings"
    rows = graph.operator("Gather", graph.constant(table(dimensions)), "input_ids", output=output if whole else "")
    if not whole:
        mask = graph.operator("Cast", "attention_mask", to=1)
        mask = graph.operator("Unsqueeze", mask, graph.constant(np.array([2], np.int64)))
        product = graph.operator("Mul", rows, mask)
        graph.operator("ReduceSum", product, graph.constant(np.array([1], np.int64)), output=output, keepdims=0)
    shape = ("texts", "length")
    told = {"input_ids": ("int64", shape), "attention_mask": ("int64", shape)}
    told = {"input_ids": told["input_ids"]} if whole else told
    path.write_bytes(graph.model(told, {output: ("float32", (*shape, dimensions) if whole else ("texts", dimensions))}))


def onnx_folder(folder: Path, dimensions: int, output: str = "sentence_embedding") -> Path:
    """A model as ONNX with its tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    network(folder / "model.onnx", dimensions, output)
    tokenizer().save(str(folder / "tokenizer.json"))
    told = {"model_max_length": 4096, "pad_token": "<pad>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(told), "utf-8")
    (folder / "config.json").write_text(json.dumps({"pad_token_id": 1}), "utf-8")
    return folder


def static_folder(folder: Path, dimensions: int = 64) -> Path:
    """A model of model2vec, written by the library itself."""
    from model2vec import StaticModel

    StaticModel(table(dimensions), tokenizer(marked=False)).save_pretrained(str(folder))
    return folder


def fastembed_model(name: str = "tiny/words", dimensions: int = 64) -> str:
    """Makes a model known to fastembed, once in a process."""
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    if name not in {one["model"] for one in TextEmbedding.list_supported_models()}:
        TextEmbedding.add_custom_model(
            model=name,
            pooling=PoolingType.DISABLED,
            normalization=True,
            sources=ModelSource(hf="nowhere/words"),
            dim=dimensions,
            model_file="model.onnx",
        )
    return name


# --- a service ---------------------------------------------------------------------------------------------------


@dataclass
class Service:
    """A service of embeddings on this machine, and what it was asked."""

    url: str = ""
    dimensions: int = 12
    requests: list[dict[str, object]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    answers: list[tuple[int, dict[str, str], bytes]] = field(default_factory=list)
    """What it answers first, in this order, before it works as it should."""

    def vectors(self, texts: Sequence[str]) -> bytes:
        """The answer that holds the vectors of texts, last one first: their numbers tell which is which."""
        data = [{"index": n, "embedding": self._row(text)} for n, text in enumerate(texts)]
        return json.dumps({"data": data[::-1]}).encode()

    def _row(self, text: str) -> list[float]:
        words = re.findall(r"\w+", text.lower())
        row = sum((direction(one, self.dimensions) for one in words), np.zeros(self.dimensions, np.float32))
        return [float(value) for value in row]


@contextmanager
def service() -> Iterator[Service]:
    """Runs the service until the block ends."""
    told = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            told.requests.append(body)
            told.keys.append(self.headers.get("Authorization", ""))
            status, headers, data = told.answers.pop(0) if told.answers else (200, {}, told.vectors(body["input"]))
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    told.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
