"""What can be wrong with the matter of a measurement: files, names of measures, runs that do not fit together.

Failures of the pipeline that is measured are not among them: those are errors of the contract.
"""

from __future__ import annotations


class EvaluationError(ValueError):
    """The root of the tree: what happened, with the value, and the next step in ``hint``."""

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(f"{message}; {hint[:1].lower()}{hint[1:].removesuffix('.')}")
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        return (_again, (type(self), self.message, self.hint))


def _again(kind: type[EvaluationError], message: str, hint: str) -> EvaluationError:
    return kind(message, hint=hint)


class AbsentFile(EvaluationError):
    """A file or folder of a collection or a run is not there."""


class UnreadableFile(EvaluationError):
    """A file of questions, judgements, hits or a run is not what it should be; it says where."""


class UnknownMeasure(EvaluationError):
    """There is no measure of that name, or not with these parameters."""


class Incomparable(EvaluationError):
    """Two things do not fit: judgements and questions, or two runs."""


class MissingLibrary(EvaluationError):
    """A library of the extra ``eval`` is not installed."""


def missing(library: str, error: ImportError) -> MissingLibrary:
    """The error of a library that could not be imported."""
    return MissingLibrary(f"{library} cannot be imported: {error}", hint='Install it with: pip install "estante[eval]"')
