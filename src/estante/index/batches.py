"""Batches of texts of nearly one length: little padding, and a bound on memory."""

from __future__ import annotations

from collections.abc import Sequence


def by_length(lengths: Sequence[int], budget: int, most: int) -> list[list[int]]:
    """The places of all lengths in batches, each of up to ``most`` places, rising in length.

    A batch padded to its longest holds at most ``budget`` tokens, unless one alone is longer.
    """
    batches: list[list[int]] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        last = batches[-1] if batches else None
        if last is None or len(last) >= most or lengths[place] * (len(last) + 1) > budget:
            batches.append([place])
        else:
            last.append(place)
    return batches
