"""Provisioning: beside what stands, whole or not at all, whatever kills it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import estante
from estante.contract.errors import ConnectorError, ConnectorOperationalError, ConnectorRegistrationError
from estante.index.lock import WriterLock
from estante.model.errors import ContractBroken, CorruptShelf, LockedShelf, NotFound, SettingsError
from estante.shelf.connector import build, connect
from estante.shelf.provisioning import FORMAT, MARK, Plan, provision, refuse_unfinished, standing
from estante.shelf.settings import find_home
from tests.parts import TinyEncoder
from tests.shelf.bound import documents, know_the_tiny_encoder, provisioned

ROOT = Path(__file__).resolve().parents[2]

OLD = {"ferias": "O servidor tem férias de trinta dias.", "diarias": "As diárias pagam a viagem."}
NEW = {"licitacao": "A licitação é pública.", "prazo": "O prazo é de dez dias.", "ferias": "As férias são de um mês."}


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    know_the_tiny_encoder(monkeypatch)


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return documents(tmp_path / "new", **NEW)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A bookcase provisioned from the old texts."""
    return provisioned(tmp_path / "home", documents(tmp_path / "old", **OLD))


def texts(home: Path) -> dict[str, str]:
    """What a host reads there."""
    pipeline = build({"path": str(home)})
    found = {chunk.doc_id.partition("/")[2]: chunk.text for chunk in pipeline.pull_all_chunks()}
    assert pipeline.query("férias")
    pipeline.close()
    return found


def builds(home: Path) -> list[Path]:
    return sorted(one for one in (home / ".estante" / "builds").iterdir() if one.is_dir())


# --- what stands afterwards -----------------------------------------------------------------------------------------


def test_a_folder_is_provisioned_and_opened_as_any_bookcase(home: Path) -> None:
    assert texts(home) == {f"{key}.txt": text for key, text in OLD.items()}
    with estante.open(home) as case:
        assert [one.scope.label() for one in case.documents()] == ["shared", "shared"]
        assert case.refresh().unchanged == 2  # The folder is a source that is known.


def test_a_second_provisioning_takes_the_place_of_the_first(home: Path, new: Path) -> None:
    provisioned(home, new)

    assert texts(home) == {f"{key}.txt": text for key, text in NEW.items()}


def test_the_completion_record_says_what_was_built(home: Path) -> None:
    [build_folder] = standing(home)
    record = json.loads((build_folder / "provision.json").read_text("utf-8"))

    assert (record["format"], record["documents"], record["chunks"], record["skipped"]) == (FORMAT, 2, 2, [])
    assert record["encoder"].startswith("tiny (16 dimensions")
    assert sorted(one.name for one in build_folder.iterdir()) == ["private", "provision.json", "shared"]


def test_the_settings_keep_what_shaped_the_chunks(tmp_path: Path, new: Path) -> None:
    home = provisioned(tmp_path / "home", new, chunker="windows", chunk_size=20, chunk_overlap=5, tenant="acme")

    with estante.open(home) as case:
        status = case.status()
        assert (status.tenant, status.chunker) == ("acme", "windows/1 size=20 overlap=5")
        assert case.refresh().unchanged == 3
        assert max(len(hit.text) for hit in case.search("licitação pública", 10)) <= 20


def test_what_is_provisioned_without_readers_is_for_the_owner_alone(tmp_path: Path, new: Path) -> None:
    home = provisioned(tmp_path / "home", new, readers=None)

    everyone, owner = build({"path": str(home)}), build({"path": str(home), "asker": "owner"})
    assert (everyone.health().ok, owner.health().ok) == (False, True)
    for one in (everyone, owner):
        one.close()


@pytest.mark.parametrize("where", [".", "shelf", "odd [a] *!# b"])
def test_its_own_settings_are_no_document_where_it_stands_among_the_documents(tmp_path: Path, where: str) -> None:
    folder = documents(tmp_path / "docs", regras="O servidor tem férias.")
    home = folder / where
    for _ in range(2):
        provisioned(home, folder)

    with closing(build({"type": "estante", "path": str(home)})) as pipeline:
        assert {chunk.doc_id for chunk in pipeline.pull_all_chunks()} == {"docs/regras.txt"}


def test_what_cannot_be_read_is_told_and_recorded(tmp_path: Path, new: Path) -> None:
    (new / "scan.pdf").write_bytes(b"%PDF-torn")
    outcome = provision(tmp_path / "home", Plan(documents=new, readers=("*",), encoder="tiny"))

    [build_folder] = standing(tmp_path / "home")
    record = json.loads((build_folder / "provision.json").read_text("utf-8"))
    assert [one.uri for one in outcome.skipped] == ["scan.pdf"]
    assert [one["uri"] for one in record["skipped"]] == ["scan.pdf"]


@pytest.mark.skipif(os.name == "nt", reason="only Windows has no modes")
def test_what_is_provisioned_is_for_its_owner_s_eyes(home: Path) -> None:
    wide = [one for one in (home / ".estante", *(home / ".estante").rglob("*")) if one.stat().st_mode & 0o077]

    assert wide == []
    assert (home / "estante.toml").stat().st_mode & 0o077 == 0


def test_connecting_with_documents_provisions_and_the_document_says_nothing_of_them(tmp_path: Path, new: Path) -> None:
    params = {"path": str(tmp_path / "home"), "documents": str(new), "readers": ["*"], "chunk_size": 300}

    pipeline, document = connect(params)

    assert document.keys() == {"type", "contract_version", "path", "asker", "shelf", "mode"}
    assert len(pipeline.pull_all_chunks()) == 3
    pipeline.close()


# --- those who read meanwhile ---------------------------------------------------------------------------------------


def test_who_reads_the_old_shelves_goes_on_reading_them(home: Path, new: Path) -> None:
    pipeline = build({"path": str(home)})
    before = (pipeline.pull_all_chunks(), pipeline.fingerprint())
    cursor = pipeline.list_chunks(limit=1).next_cursor

    provisioned(home, new)

    assert (pipeline.pull_all_chunks(), pipeline.fingerprint()) == before
    assert len(pipeline.list_chunks(cursor=cursor).items) == 1
    pipeline.close()


def test_a_cursor_of_the_old_shelves_is_none_of_the_new(home: Path, new: Path) -> None:
    pipeline = build({"path": str(home)})
    cursor = pipeline.list_chunks(limit=1).next_cursor
    pipeline.close()
    provisioned(home, new)

    pipeline = build({"path": str(home)})
    with pytest.raises(ConnectorOperationalError, match="begin again"):
        pipeline.list_chunks(cursor=cursor)
    pipeline.close()


def test_every_reader_sees_the_old_or_the_new_and_nothing_between(home: Path, new: Path) -> None:
    old = documents(home.parent / "old", **OLD)
    seen: list[frozenset[str]] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            seen.append(frozenset(texts(home)))

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(3):
        provisioned(home, new)
        provisioned(home, old)
    stop.set()
    reader.join()

    assert set(seen) <= {frozenset(f"{key}.txt" for key in one) for one in (OLD, NEW)}
    assert seen


def test_builds_that_were_replaced_are_swept_by_the_next_provisioning(home: Path, new: Path) -> None:
    first = builds(home)
    provisioned(home, new)
    assert set(builds(home)) > set(first)
    provisioned(home, new)

    assert len(builds(home)) == 2
    assert not set(first) & set(builds(home))


# --- failures -------------------------------------------------------------------------------------------------------


def snapshot(home: Path) -> dict[str, bytes]:
    """Every byte of what stands."""
    [build_folder] = standing(home)
    files = [home / "estante.toml", *build_folder.rglob("*")]
    return {str(one): one.read_bytes() for one in files if one.is_file() and one.suffix != ".sqlite-shm"}


def test_an_encoder_that_fails_leaves_what_stands_untouched(
    home: Path, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(home)

    def fail(*_: Any) -> None:
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(TinyEncoder, "passages", fail)
        params = {"path": str(home), "documents": str(new), "readers": ["*"]}
        patch.setenv("ESTANTE_ENCODER", "tiny")
        with pytest.raises(ConnectorOperationalError, match="failed: RuntimeError") as caught:
            connect(params)

    assert isinstance(caught.value.__cause__, ContractBroken)
    assert snapshot(home) == before
    assert len(builds(home)) == 1
    assert texts(home) == {f"{key}.txt": text for key, text in OLD.items()}


def test_a_first_provisioning_that_fails_leaves_no_bookcase(
    tmp_path: Path, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TinyEncoder, "passages", lambda *_: None)
    home = tmp_path / "home"

    with pytest.raises(estante.EstanteError):
        provisioned(home, new)

    with pytest.raises(ConnectorOperationalError, match="there is no bookcase"):
        build({"path": str(home)})


KILLED = """
import os, signal, sys
from pathlib import Path
import pytest
from tests.parts import TinyEncoder
from tests.shelf.bound import know_the_tiny_encoder, provisioned
from estante.shelf import provisioning

know_the_tiny_encoder(pytest.MonkeyPatch())
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
point, home, folder = sys.argv[1:]
if point == "encoding":
    TinyEncoder.passages = die
elif point == "checking":
    provisioning.open_bookcase = die
else:
    real = provisioning.write_whole
    def write(path, text):
        if path.name == point and point != "estante.toml" or path.parent == Path(home) and path.name == point:
            die()
        real(path, text)
    provisioning.write_whole = write
provisioned(Path(home), Path(folder))
"""


@pytest.mark.skipif(os.name == "nt", reason="only Windows knows no SIGKILL")
@pytest.mark.parametrize("point", ["encoding", "checking", "provision.json", "estante.toml"])
def test_a_killed_provisioning_leaves_what_stands_and_the_next_one_ends_it(home: Path, new: Path, point: str) -> None:
    before = snapshot(home)

    done = subprocess.run(
        [sys.executable, "-c", KILLED, point, str(home), str(new)], cwd=ROOT, capture_output=True, check=False
    )

    assert done.returncode == -signal.SIGKILL, done.stderr
    assert len(builds(home)) == 2  # What it left behind.
    assert snapshot(home) == before
    assert texts(home) == {f"{key}.txt": text for key, text in OLD.items()}
    with estante.open(home) as case:
        assert case.check() == []
    provisioned(home, new)
    assert texts(home) == {f"{key}.txt": text for key, text in NEW.items()}
    assert len(builds(home)) == 2  # The one that stands, and the one that it replaced.


SLOW = """
import sys, time
from pathlib import Path
import pytest
from tests.parts import TinyEncoder
from tests.shelf.bound import know_the_tiny_encoder, provisioned

know_the_tiny_encoder(pytest.MonkeyPatch())
passages = TinyEncoder.passages
def slow(self, texts):
    print("encoding", flush=True)
    time.sleep(30)
    return passages(self, texts)
TinyEncoder.passages = slow
provisioned(Path(sys.argv[1]), Path(sys.argv[2]))
"""


@pytest.mark.skipif(os.name == "nt", reason="only Windows knows no SIGKILL")
def test_while_one_process_provisions_others_read_what_stands_and_a_second_one_waits_its_turn(
    home: Path, new: Path
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(home), str(new)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "encoding\n"
        assert texts(home) == {f"{key}.txt": text for key, text in OLD.items()}
        with pytest.raises(LockedShelf, match="provision"):
            provision(home, Plan(documents=new, encoder="tiny"), wait=0.1)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()

    # The place of a killed process is free at once.
    provision(home, Plan(documents=new, readers=("*",), encoder="tiny"), wait=0.1)
    assert texts(home) == {f"{key}.txt": text for key, text in NEW.items()}


def test_what_is_written_and_not_read_back_is_never_put_in_place(
    home: Path, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from estante.shelf.bookcase import Bookcase

    before = snapshot(home)
    with monkeypatch.context() as patch:
        patch.setattr(Bookcase, "check", lambda self: ["shared: a segment is damaged"])
        with pytest.raises(CorruptShelf, match="not what is read: shared: a segment is damaged"):
            provisioned(home, new)

    assert snapshot(home) == before
    assert len(builds(home)) == 1


def test_shelves_without_a_completion_record_are_not_opened(home: Path) -> None:
    [build_folder] = standing(home)
    for torn in ("{}", "torn", None):
        (build_folder / "provision.json").unlink()
        if torn is not None:
            (build_folder / "provision.json").write_text(torn)

        with pytest.raises(CorruptShelf, match="no completion record"):
            refuse_unfinished(home)
        with pytest.raises(ConnectorOperationalError, match="no completion record"):
            build({"path": str(home)})
        (build_folder / "provision.json").touch()


# --- refusals -------------------------------------------------------------------------------------------------------


def test_a_bookcase_that_is_kept_by_hand_is_never_replaced(tmp_path: Path, new: Path) -> None:
    home = tmp_path / "home"
    with estante.create(home) as case:
        case.add({"a": "Um texto."}, readers=["*"])

    with pytest.raises(SettingsError, match="kept by hand"):
        provisioned(home, new)
    with pytest.raises(ConnectorRegistrationError, match="kept by hand"):
        connect({"path": str(home), "documents": str(new), "readers": ["*"]})

    with estante.open(home) as case:
        assert "a" in case


def test_settings_that_were_written_by_hand_are_never_replaced(tmp_path: Path, new: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "estante.toml").write_text('tenant = "acme"\n')

    with pytest.raises(SettingsError, match="kept by hand"):
        provisioned(home, new)

    assert (home / "estante.toml").read_text() == 'tenant = "acme"\n'


def test_settings_say_who_wrote_them(home: Path) -> None:
    assert (home / "estante.toml").read_text("utf-8").startswith(MARK)


@pytest.mark.parametrize(
    ("plan", "complaint"),
    [
        ({"chunker": "heading"}, "headings"),
        ({"chunker": "headings", "chunk_overlap": 5}, "has no overlap of chunks"),
        ({"chunk_size": 0}, "max_chars must be at least 1"),
        ({"chunker": "windows", "chunk_size": 10, "chunk_overlap": 10}, "overlap must be from 0"),
        ({"encoder": "tinny"}, "tiny"),
        ({"readers": ("*", "finance")}, "everyone in the tenant"),
        ({"tenant": "\x00"}, "tenant"),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused_and_leaves_nothing(
    tmp_path: Path, new: Path, plan: dict[str, Any], complaint: str
) -> None:
    home = tmp_path / "home"

    with pytest.raises(SettingsError) as caught:
        provisioned(home, new, **plan)

    assert complaint in f"{caught.value.message} {caught.value.hint}"
    assert not (home / "estante.toml").exists()
    assert not (home / ".estante" / "builds").exists() or builds(home) == []


def test_documents_that_are_not_there_are_refused_before_anything_is_touched(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there are no documents at"):
        provisioned(tmp_path / "home", tmp_path / "nowhere")

    assert not (tmp_path / "home").exists()


def test_a_folder_with_nothing_to_read_is_refused(home: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(SettingsError, match="there is nothing to read in"):
        provisioned(home, tmp_path / "empty")

    assert texts(home) == {f"{key}.txt": text for key, text in OLD.items()}


def test_the_writer_s_place_is_given_back_after_a_failure(home: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError):
        provisioned(home, documents(tmp_path / "blank", a=" "))

    with WriterLock(home / ".estante" / "builds", 0.0).held("test"):
        pass


def test_a_snapshot_counts_what_provisioning_left_out_for_who_may_read_the_rest(tmp_path: Path, new: Path) -> None:
    (new / "scan.pdf").write_bytes(b"%PDF-torn")
    home = provisioned(tmp_path / "home", new, readers=("finance",))

    def told(**binding: Any) -> object:
        pipeline = build({"path": str(home), **binding})
        try:
            return pipeline.run_snapshot()["observations"].get("skipped_items")
        finally:
            pipeline.close()

    assert told(asker="owner") == 1
    assert told(asker="reader", keys=["finance"]) == 1
    assert told(asker="reader", keys=["health"]) is None
    assert told() is None


def test_what_a_provisioning_left_behind_hides_no_bookcase_above_it(tmp_path: Path, home: Path) -> None:
    inner = home / "inner"
    (tmp_path / "empty").mkdir()
    with pytest.raises(SettingsError, match=r"nothing to read .*it holds no files"):
        provisioned(inner, tmp_path / "empty")

    assert find_home(inner) == home


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"chunker": "window"}, "^there is no chunker named 'window'. Did you mean 'windows'?"),
        ({"documents": "nowhere"}, "there are no documents at"),
    ],
)
def test_what_is_wrong_with_a_plan_is_told_before_who_may_read_it(
    tmp_path: Path, new: Path, more: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ConnectorError, match=complaint) as caught:
        connect({"path": str(tmp_path / "home"), "documents": str(new), **more})

    assert "builds" not in str(caught.value)
    assert not (tmp_path / "home").exists()
