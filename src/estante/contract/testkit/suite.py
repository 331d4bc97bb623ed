"""The checks as tests: inherit ``PipelineContract``, give the fixture ``pipeline``, and pytest runs every check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, NoReturn

import pytest

from estante.contract.checks.attempts import attempt, kind
from estante.contract.checks.catalog import BASIC, EXTENDED, LAST, SECURITY
from estante.contract.checks.probes import Probe, Setting
from estante.contract.checks.rebuilding import Origin
from estante.contract.checks.report import FAIL, SKIP, WARN, Check
from estante.contract.checks.rules import Rule
from estante.contract.checks.runner import Run, worker
from estante.contract.checks.security import SecurityHarness
from estante.contract.foreign import adopted, is_pipeline
from estante.contract.pipeline import RagPipeline
from estante.contract.specs import ConnectorSpec

PIPELINE_RULES: Final = (*BASIC, *EXTENDED, *LAST)


_MISSING: Final = object()
"""What stands for a fixture that nobody gave."""

_MEMBERS: Final = ("walls", "plant", "bind", "delete")


class _Checked:
    """What both suites have: their settings, and how a row becomes the outcome of a test."""

    sample_query: ClassVar[str | None] = None
    """A question that the corpus can answer."""
    top_k: ClassVar[int] = 5
    connection: ClassVar[Mapping[str, Any] | None] = None
    """The stored document, where the connector has one."""
    spec: ClassVar[ConnectorSpec | None] = None
    origin: ClassVar[Origin | None] = None
    """How a fresh process makes the pipeline, where ``spec.build`` does not tell."""
    skip_stability: ClassVar[bool] = False
    timeout: ClassVar[float | None] = None
    """Seconds a check may take. With one, the checks run in another thread than the fixture."""
    strict: ClassVar[bool] = False
    """Whether a warning fails the test."""

    _runs: ClassVar[list[tuple[object, Run]]]
    _wrong: ClassVar[bool]

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        cls._runs = []
        cls._wrong = False

    @classmethod
    def teardown_class(cls) -> None:
        """Gives back what the checks hold; pytest calls it at the end."""
        for _, run in cls._runs:
            attempt(run.close)
        cls._runs.clear()

    @classmethod
    def _run(cls, pipeline: RagPipeline, harness: SecurityHarness | None) -> Run:
        """The run of this pipeline: the same one for as long as the fixture gives the same."""
        key: object = pipeline if harness is None else harness
        for kept, run in cls._runs:
            if kept is key:
                return run
        for _, old in cls._runs:
            old.close()
        setting = Setting(
            sample_query=cls.sample_query,
            top_k=cls.top_k,
            connection=cls.connection,
            spec=cls.spec,
            skip_stability=cls.skip_stability,
            origin=cls.origin,
            harness=harness,
            timeout=cls.timeout,
        )
        made = Run(Probe(adopted(pipeline), setting), worker(cls.timeout))
        cls._runs[:] = [(key, made)]
        return made

    @classmethod
    def _refuse(cls, what: str) -> NoReturn:
        """Fails the first test of the suite with what is wrong with its fixture, and skips the others."""
        if cls._wrong:
            pytest.skip("the fixture of this suite cannot be used; see its first test")
        cls._wrong = True
        pytest.fail(what, pytrace=False)

    @classmethod
    def _judge(cls, row: Check | None) -> None:
        """Passes, skips or fails the test as the row says."""
        if row is None:
            pytest.skip("there is nothing to check: it takes a spec, a document, or another mode")
        told = "\n".join([row.name, *row.details, *([f"FIX: {row.fix}"] if row.fix else [])])
        if row.status == FAIL or (row.status == WARN and cls.strict):
            pytest.fail(told, pytrace=False)
        if row.status == SKIP:
            pytest.skip("; ".join(row.details))
        print(f"{row.status}: {told}")


class PipelineContract(_Checked):
    """Every check of ``estante validate`` as a test. A subclass gives a fixture ``pipeline``.

    A fixture of the scope ``class`` or wider is examined by one run, which reads its corpus twice at most; one of the
    scope ``function`` is examined anew by every test. The fixture closes what it made.
    """

    @pytest.fixture(scope="class")
    @classmethod
    def pipeline(cls) -> Any:
        """The pipeline to examine, which a subclass gives."""
        return _MISSING

    @pytest.mark.parametrize("rule", PIPELINE_RULES, ids=lambda rule: rule.id)
    def test_the_pipeline_keeps(self, rule: Rule, pipeline: RagPipeline) -> None:
        """One check."""
        if not is_pipeline(pipeline):
            self._refuse(_unusable(pipeline, "pipeline", "a pipeline, an instance of a class derived from RagPipeline"))
        self._judge(self._run(pipeline, None).row(rule))


class SecurityContract(_Checked):
    """Every check of who is shown what as a test. A subclass gives a fixture ``harness``, of the scope ``class``.

    The checks plant their documents once and delete one at the end, so they run in their order against one harness.
    """

    @pytest.fixture(scope="class")
    @classmethod
    def harness(cls) -> Any:
        """The harness of the system to examine, which a subclass gives."""
        return _MISSING

    @pytest.mark.parametrize("rule", SECURITY, ids=lambda rule: rule.id)
    def test_the_walls_hold(self, rule: Rule, harness: SecurityHarness) -> None:
        """One check."""
        if isinstance(harness, type) or not all(hasattr(harness, name) for name in _MEMBERS):
            self._refuse(_unusable(harness, "harness", f"a harness, which has {', '.join(_MEMBERS)}"))
        self._judge(self._run(_Nobody(), harness).row(rule))


def _unusable(given: object, fixture: str, wanted: str) -> str:
    """What is wrong with what a fixture gave."""
    shape = f"@pytest.fixture(scope='class')\n@classmethod\ndef {fixture}(cls): ..."
    if given is _MISSING:
        return f"this suite has no fixture {fixture!r}; give it {wanted}:\n{shape}"
    what = f"the class {given.__name__} itself" if isinstance(given, type) else f"a value of type {kind(given)}"
    return f"the fixture {fixture!r} gives {what}; let it give {wanted}"


class _Nobody(RagPipeline):
    """A pipeline for a run that needs a harness alone."""

    def query(self, text: str, top_k: int = 5) -> list[Any]:
        """Nothing."""
        return []
