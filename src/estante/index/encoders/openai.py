"""Vectors from a service that speaks OpenAI's embeddings API, on this machine or elsewhere.

Every text that is added, of private shelves too, and every question is sent to the one host that the settings name. No
redirect is followed, and the key is shown nowhere.
"""

from __future__ import annotations

import hashlib
import json
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, urlsplit

import numpy as np
from numpy.typing import NDArray

from estante.index.rows import unit_rows
from estante.model.errors import ContractBroken, Denied, SettingsError, Unavailable
from estante.model.plugins import located, required
from estante.model.ports import Space

if TYPE_CHECKING:
    import httpx

URL: Final = "https://api.openai.com/v1"
DIMENSIONS: Final[Mapping[str, int]] = {
    "text-embedding-3-small": 1_536,
    "text-embedding-3-large": 3_072,
    "text-embedding-ada-002": 1_536,
}
CHARACTERS: Final = 20_000
"""As much of a text as is sent: services refuse texts beyond about 8,000 tokens."""

BATCH_CHARACTERS: Final = 200_000
NUMBER_BYTES: Final = 40
"""Bytes of a number in an answer, with room to spare: more than that is no answer."""

BUSY: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""Answers that may be another one in a moment."""

LONGEST_WAIT: Final = 30.0


class OpenAIEncoder:
    """Texts to unit rows by the model ``model`` of the service at ``url``.

    ``dimensions`` need not be told of OpenAI's own models. ``batch`` bounds the texts of a request, ``timeout`` its
    seconds, ``retries`` how often it is repeated when the service is busy. ``revision`` is yours to change when the
    service changes its model under the same name, which no client can see. Safe to use from several threads.
    """

    name: Final = "openai"
    slow: Final = True

    def __init__(
        self,
        model: str,
        url: str = URL,
        dimensions: int | None = None,
        api_key: str = "",
        query: str = "",
        passage: str = "",
        batch: int = 64,
        timeout: float = 30.0,
        retries: int = 4,
        revision: str = "",
    ) -> None:
        located("httpx", self.name)
        where = _address(url)
        known = DIMENSIONS.get(model) if url == URL else None
        for name, value, least, most in (
            ("dimensions", dimensions or known, 1, 65_536),
            ("batch", batch, 1, 2_048),
            ("retries", retries, 0, 20),
            ("timeout", timeout, 0.001, 3_600),
        ):
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
                raise SettingsError(f"{name} is {value!r}", hint=f"Write a number from {least} to {most:,}.")
        self._url = f"{url.rstrip('/')}/embeddings"
        self._host = where.netloc
        self._model, self._key, self._query, self._passage = model, api_key, query, passage
        self._asked = dimensions if known is not None and dimensions != known else None
        self._batch, self._timeout, self._retries = int(batch), float(timeout), int(retries)
        self._wait: Callable[[float], None] = time.sleep
        self._client: httpx.Client | None = None
        self._guard = threading.Lock()
        told = "\n".join([url.rstrip("/"), model, str(dimensions or known), query, passage, revision])
        self.space: Final = Space(
            model=f"{model} at {self._host}",
            dimensions=int(dimensions or known or 0),
            revision=hashlib.sha256(told.encode("utf-8")).hexdigest()[:16],
        )

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows, float32 of shape (len(texts), dimensions)."""
        return self._encoded(self._passage, texts)

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As ``passages``, for questions."""
        return self._encoded(self._query, texts)

    def _encoded(self, prefix: str, texts: Sequence[str]) -> NDArray[np.float32]:
        def encode(some: list[str]) -> NDArray[np.float64]:
            told = [(prefix + text)[:CHARACTERS] for text in some]
            return np.concatenate([self._rows(batch) for batch in self._batches(told)])

        return unit_rows(self.name, texts, self.space.dimensions, encode)

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        for text in texts:
            if batch and (len(batch) == self._batch or sum(map(len, batch)) + len(text) > BATCH_CHARACTERS):
                yield batch
                batch = []
            batch.append(text)
        if batch:
            yield batch

    def _rows(self, texts: list[str]) -> NDArray[np.float64]:
        """The vectors of one request, in the order of its texts."""
        body: dict[str, object] = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._asked is not None:
            body["dimensions"] = self._asked
        answer = self._answer(body, len(texts))
        rows = np.full((len(texts), self.space.dimensions), np.nan)
        try:
            for one in answer["data"]:
                row = np.array(one["embedding"], np.float64)
                if row.shape == rows.shape[1:]:
                    rows[int(one["index"])] = row
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise self._broken("an answer that holds no vectors of the right length") from error
        if len(answer["data"]) != len(texts) or not np.isfinite(rows).all():
            raise self._broken(f"other than {len(texts)} whole vectors")
        return rows

    def _answer(self, body: Mapping[str, object], count: int) -> Any:
        """The answer to a request, asked for again while the service is busy."""
        most = 65_536 + count * self.space.dimensions * NUMBER_BYTES
        for attempt in range(self._retries + 1):
            status, after, data = self._post(body, most)
            if status == 200:
                try:
                    return json.loads(data)
                except ValueError as error:
                    raise self._broken("an answer that is not JSON") from error
            if status not in BUSY and status:
                raise self._refused(status)
            if attempt < self._retries:
                self._wait(_pause(attempt, after))
        what = f"answered {status}" if status else "did not answer"
        raise Unavailable(
            f"the service of embeddings at {self._host} {what}, {self._retries + 1} times",
            hint="Try again later; [encoder] retries and timeout say how patient Estante is.",
        )

    def _post(self, body: Mapping[str, object], most: int) -> tuple[int, str, bytes]:
        """Status (0 for no answer), the header ``retry-after``, and the body. Raises beyond ``most`` bytes."""
        client, library = self._opened()
        data = bytearray()
        try:
            with client.stream("POST", self._url, json=body) as response:
                if response.status_code == 200:
                    for part in response.iter_bytes():
                        data += part
                        if len(data) > most:
                            raise self._broken(f"more than {most:,} bytes")
                return response.status_code, response.headers.get("retry-after", ""), bytes(data)
        except library.HTTPError:  # Its message may hold the address with whatever stands in it.
            return 0, "", b""

    def _opened(self) -> tuple[httpx.Client, Any]:
        library = required("httpx", self.name)
        with self._guard:
            if self._client is None:
                headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
                # Nothing of the environment, such as a proxy, decides where texts go.
                self._client = library.Client(
                    headers=headers, timeout=self._timeout, follow_redirects=False, trust_env=False
                )
            return self._client, library

    def _refused(self, status: int) -> Denied | SettingsError | Unavailable:
        told = f"the service of embeddings at {self._host} answered {status}"
        if status in (401, 403):
            return Denied(told, hint="Check what [encoder] api_key refers to.")
        if status < 400:
            return SettingsError(told, hint="Redirects are not followed; write the final address into [encoder] url.")
        if status < 500:
            return SettingsError(told, hint="Check url, model and dimensions in [encoder].")
        return Unavailable(told, hint="Try again later.")

    def _broken(self, what: str) -> ContractBroken:
        return ContractBroken(
            f"the service of embeddings at {self._host} gave {what}", hint="Check model and dimensions in [encoder]."
        )


def _address(url: str) -> SplitResult:
    """The parts of an address. Raises ``SettingsError`` for one that texts are not sent to."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError as error:
        raise SettingsError("[encoder] url is no address", hint=f"Write one such as {URL}") from error
    if parts.username or parts.password or parts.query or parts.fragment:
        raise SettingsError(
            "[encoder] url holds more than an address", hint="A key stands in api_key, as env:NAME or file:PATH."
        )
    if not host or parts.scheme not in ("https", "http"):
        raise SettingsError(f"[encoder] url is {url!r}", hint=f"Write an address such as {URL}")
    if parts.scheme == "http" and not _is_here(host):
        raise SettingsError(
            f"[encoder] url would send texts to {host} without encryption", hint="Write https:// before the host."
        )
    return parts


def _is_here(host: str) -> bool:
    """Whether a host is this machine itself."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _pause(attempt: int, after: str) -> float:
    """Seconds before the next attempt: what the service asks for, else a random part of 0.5, 1, 2, 4..."""
    try:
        asked = float(after)
    except ValueError:
        asked = 0.0
    if 0 < asked < float("inf"):
        return min(asked, LONGEST_WAIT)
    # Many clients that wait equally long would all come back at the same moment.
    return random.uniform(0.1, 0.5 * 2**attempt) if attempt < 7 else LONGEST_WAIT  # noqa: S311
