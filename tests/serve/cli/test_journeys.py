"""The real command in processes of its own: whole journeys, pipes, terminals, signals."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import estante
from estante.serve.cli.main import main
from estante.shelf.template import TEMPLATE

LEAVE = "# Férias\n\nO servidor tem direito a trinta dias de férias por ano.\n\n## Prazo\n\nO pedido é feito em maio.\n"
FEES = "# Taxas\n\nA certidão custa doze reais. A segunda via é grátis.\n"


@dataclass
class Shell:
    """Runs ``estante`` in a folder."""

    folder: Path

    def environ(self, **more: str) -> dict[str, str]:
        ours = ("ESTANTE_", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR")
        told = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        return {**told, "PYTHONWARNINGS": "error", "PYTHONIOENCODING": "utf-8", **more}

    def __call__(self, line: str, *, code: int = 0, **environ: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "estante", *shlex.split(line)]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environ(**environ), capture_output=True, encoding="utf-8", check=False
        )
        assert done.returncode == code, f"{line}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done

    def json(self, line: str, *, code: int = 0, **environ: str) -> Any:
        done = self(f"{line} --json", code=code, **environ)
        assert done.stderr == ""
        assert done.stdout.endswith("\n")
        return json.loads(done.stdout)

    def sh(self, script: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Runs a script of the shell in which ``estante`` is the command."""
        begin = f'estante() {{ {shlex.quote(sys.executable)} -m estante "$@"; }}\n'
        return subprocess.run(
            ["bash", "-c", begin + script],
            cwd=self.folder,
            env=self.environ(**environ),
            capture_output=True,
            encoding="utf-8",
            check=False,
        )

    def terminal(self, line: str, *, width: int = 80, **environ: str) -> str:
        """What a terminal of this width is sent."""
        pty = pytest.importorskip("pty", reason="only Unix has pseudo-terminals to look at")
        termios = pytest.importorskip("termios")
        ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (40, width))
        command = [sys.executable, "-m", "estante", *shlex.split(line)]
        started = subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environ(**{"TERM": "xterm-256color", **environ}),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        sent = bytearray()
        while True:
            try:
                sent += (part := os.read(ours, 65_536))
            except OSError:  # Linux says so when the other side is closed.
                break
            if not part:
                break
        os.close(ours)
        assert started.wait() == 0, sent
        return sent.decode().replace("\r\n", "\n")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A folder with two files, and no bookcase."""
    handbook = tmp_path / "handbook"
    handbook.mkdir()
    (handbook / "leave.md").write_text(LEAVE, "utf-8")
    (handbook / "fees.md").write_text(FEES, "utf-8")
    return Shell(tmp_path)


@pytest.fixture
def filled(shell: Shell) -> Shell:
    """The same with a bookcase that holds them."""
    with estante.create(shell.folder) as case:
        case.add(shell.folder / "handbook", readers=["*"])
    return shell


# --- the way of a newcomer --------------------------------------------------------------------------------------


def test_a_newcomer_finds_an_answer_in_three_commands(shell: Shell) -> None:
    made = shell("init")
    added = shell("add handbook --shared")
    found = shell("search 'quantos dias de férias'")

    assert f"Made a bookcase in {shell.folder}" in made.stdout
    assert "estante add FOLDER" in made.stderr
    assert (shell.folder / "estante.toml").read_text("utf-8") == TEMPLATE
    assert added.stdout.startswith("2 added, 0 changed, 0 unchanged, 0 removed; ")
    assert added.stderr == ""
    assert "handbook/leave.md:0-" in found.stdout
    assert "«dias» de «férias»" in found.stdout
    assert "\x1b" not in found.stdout


def test_every_command_prints_one_json_value(filled: Shell) -> None:
    found = filled.json("search férias -k 1")
    [hit] = found["hits"]
    shown = filled.json(f"show {hit['document_id']}:{hit['start']}-{hit['end']}")
    listed = filled.json("ls")
    told = filled.json("status")
    healthy = filled.json("doctor")

    assert shown == {
        "document_id": "handbook/leave.md",
        "start": hit["start"],
        "end": hit["end"],
        "text": hit["text"],
    }
    assert [one["document_id"] for one in listed] == ["handbook/fees.md", "handbook/leave.md"]
    assert [one["scope"] for one in listed] == ["shared", "shared"]
    assert {one["name"]: one["documents"] for one in told["shelves"]} == {"shared": 2, "private": 0}
    assert [one["name"] for one in told["sources"]] == ["handbook"]
    assert healthy["ok"] is True
    assert all(one["ok"] for one in healthy["checks"])
    assert filled.json("refresh")["unchanged"] == 2
    assert filled.json("rebuild") == {"documents": 2}
    assert set(filled.json("compact")) == {"bytes_before", "bytes_after"}
    assert {"key": "search.k", "value": 10, "origin": "default"} in filled.json("config show")
    assert filled.json("rm handbook/fees.md") == {"removed": 1}


def test_json_on_stdout_keeps_its_letters(filled: Shell) -> None:
    assert "férias" in filled("search férias --json").stdout


def test_a_refresh_follows_the_folder(filled: Shell) -> None:
    (filled.folder / "handbook" / "fees.md").unlink()
    (filled.folder / "handbook" / "leave.md").write_text(LEAVE + "\nMudou.\n", "utf-8")
    (filled.folder / "handbook" / "new.md").write_text("# Novo\n\nUm texto novo.\n", "utf-8")

    done = filled.json("refresh")

    assert (done["added"], done["changed"], done["unchanged"], done["removed"]) == (1, 1, 0, 1)


def test_a_source_is_forgotten_with_all_it_brought(filled: Shell) -> None:
    assert filled("rm --source handbook").stdout == "2 documents removed\n"
    assert filled.json("ls") == []


def test_a_bookcase_is_found_from_a_folder_below(filled: Shell) -> None:
    below = Shell(filled.folder / "handbook")

    assert len(below.json("ls")) == 2


def test_the_settings_file_decides_and_a_flag_outweighs_it(filled: Shell) -> None:
    (filled.folder / "estante.toml").write_text("[search]\nk = 1\n", "utf-8")

    assert len(filled.json("search certidão")["hits"]) == 1
    assert len(filled.json("search certidão -k 2")["hits"]) == 2
    assert len(filled.json("search certidão", ESTANTE_SEARCH_K="2")["hits"]) == 2


def test_config_show_tells_where_a_value_comes_from(filled: Shell) -> None:
    told = filled("config show --origin", ESTANTE_SEARCH_K="4").stdout

    assert "search.k = 4  # environment ESTANTE_SEARCH_K\n" in told
    assert 'search.mode = "hybrid"  # default\n' in told
    assert "  # the nearest folder upwards with .estante or estante.toml\n" in told
    assert "  # flag --home\n" in filled("config show --origin --home handbook").stdout
    assert "  # environment ESTANTE_HOME\n" in filled("config show --origin", ESTANTE_HOME="handbook").stdout


def test_init_keeps_the_settings_that_are_there(shell: Shell) -> None:
    (shell.folder / "estante.toml").write_text('tenant = "acme"\n', "utf-8")

    assert shell.json("init")["wrote_settings"] is False
    assert shell.json("status")["tenant"] == "acme"
    assert (shell.folder / "estante.toml").read_text("utf-8") == 'tenant = "acme"\n'


def test_init_makes_the_folder_that_it_is_given(shell: Shell) -> None:
    assert shell.json("init new/case")["home"] == str(shell.folder / "new" / "case")
    assert shell.json("ls --home new/case") == []


# --- what goes wrong --------------------------------------------------------------------------------------------


def test_a_second_init_is_refused(filled: Shell) -> None:
    told = filled("init", code=2).stderr

    assert "already" in told
    assert told.endswith("hint: Use it: estante add PATH\n")


def test_a_broken_settings_file_stops_before_anything_is_touched(shell: Shell) -> None:
    (shell.folder / "estante.toml").write_text("[serach]\nk = 1\n", "utf-8")

    told = shell("init", code=2).stderr

    assert "unknown key 'serach'" in told
    assert not (shell.folder / ".estante").exists()


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("show nowhere.md", 5),
        ("show handbook/fees.md:5-900000", 2),
        ("rm nowhere.md", 5),
        ("rm --source nowhere", 5),
        ("rm", 2),
        ("add nowhere", 5),
        ("add handbook --shared --readers a", 2),
        ("search x -k 0", 2),
        ("search x --mode loud", 2),
        ("search x --where '{\"a\"'", 2),
        ("ls --where 'a ? b'", 2),
        ("ls --home handbook", 5),
    ],
)
def test_bad_input_ends_with_its_code_and_a_hint(
    filled: Shell, line: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(filled.folder)
    monkeypatch.delenv("ESTANTE_HOME", raising=False)

    assert main(shlex.split(line)) == code
    told = capsys.readouterr()
    assert main([*shlex.split(line), "--json"]) == code
    as_json = capsys.readouterr()

    assert told.out == as_json.err == ""
    assert [one.partition(":")[0] for one in told.err.splitlines()] == ["error", "hint"]
    assert set(json.loads(as_json.out)) == {"error", "hint"}


def test_skipped_items_are_told_and_strict_makes_them_count(shell: Shell) -> None:
    (shell.folder / "handbook" / "photo.xyz").write_bytes(b"\x00\x01")
    shell("init -q")

    done = shell("add handbook --strict", code=1)

    assert done.stdout.startswith("2 added")
    assert done.stderr == "skipped: photo.xyz: no extractor for .xyz\n"
    assert shell.json("refresh --strict", code=1)["skipped"][0]["uri"] == "photo.xyz"
    assert shell("refresh -q --strict", code=1).stderr == done.stderr


def test_a_quiet_refresh_without_news_prints_nothing(filled: Shell) -> None:
    (filled.folder / "handbook" / "photo.xyz").touch()

    silent = filled("refresh -q")
    (filled.folder / "handbook" / "new.pdf").write_bytes(b"%PDF-1.7 broken")
    broken = filled("refresh -q")
    again = filled("refresh -q")
    (filled.folder / "handbook" / "fees.md").unlink()
    less = filled("refresh -q")

    assert (silent.stdout, silent.stderr) == ("", "")
    assert broken.stdout.startswith("0 added")
    assert broken.stderr.startswith("skipped: new.pdf: ")
    assert (again.stdout, again.stderr) == ("", "")
    assert less.stdout.startswith("0 added, 0 changed, 1 unchanged, 1 removed")
    assert less.stderr == ""


def test_a_quiet_refresh_names_a_folder_that_is_away(filled: Shell) -> None:
    (filled.folder / "handbook").rename(filled.folder / "away")

    assert "cannot be listed" in filled("refresh -q").stderr


def test_private_closes_what_was_shared_and_says_so(filled: Shell) -> None:
    stays = filled("add handbook").stderr
    closed = filled("add handbook --private").stderr

    assert stays == "note: source handbook: stays shared; to close it, add it with --private, or readers=[]\n"
    assert closed == "note: source handbook: was shared, is now private\n"
    assert {one["scope"] for one in filled.json("ls")} == {"private"}


def test_a_path_that_is_not_there_is_told_with_the_nearest(filled: Shell) -> None:
    assert filled("add hand-book", code=5).stderr.endswith("hint: Did you mean 'handbook'?\n")
    assert filled("add handbook/Leave.txt", code=5).stderr.endswith("hint: Did you mean 'handbook/leave.md'?\n")
    assert filled("add zzz/a", code=5).stderr.endswith("hint: Check the path.\n")


def test_an_addition_that_found_nothing_says_so(filled: Shell) -> None:
    (filled.folder / "empty").mkdir()

    assert filled("add empty").stderr == "note: nothing to read in empty\n"


def test_a_search_that_cannot_find_anything_says_why(shell: Shell) -> None:
    shell("init -q")
    empty = shell("search férias").stderr
    shell("add handbook")

    assert empty == "nothing found\nnote: the bookcase is empty: add documents with: estante add PATH\n"
    assert shell("search ' '").stderr == "nothing found\nnote: the question is empty\n"
    assert shell("search férias --where tagz=rh").stderr == (
        "nothing found\nnote: no document has a field 'tagz'; there are none\n"
    )
    assert shell.json("search férias --where tagz=rh")["hits"] == []


def test_an_id_is_found_in_any_case(filled: Shell) -> None:
    assert filled("show Handbook/LEAVE.md").stdout == LEAVE


def test_of_many_skipped_items_the_first_are_told_and_verbose_tells_all(shell: Shell) -> None:
    for number in range(25):
        (shell.folder / "handbook" / f"{number:02}.pdf").write_bytes(b"%PDF-1.7 broken")
    shell("init -q")

    told = shell("add handbook").stderr.splitlines()

    assert len(told) == 21
    assert told[-1] == "and 5 more; --verbose lists them all"
    assert len(shell("refresh -v").stderr.splitlines()) == 25


def test_doctor_tells_damage_with_6_and_what_to_do(filled: Shell) -> None:
    catalog = filled.folder / ".estante" / "shared" / "catalog.sqlite"
    catalog.write_bytes(b"damaged" * 1000)

    done = filled("doctor", code=6)

    assert "problem" in done.stdout
    assert "hint:" in done.stdout


def test_doctor_tells_a_source_that_is_away_with_1(filled: Shell) -> None:
    (filled.folder / "handbook").rename(filled.folder / "away")

    done = filled("doctor", code=1)

    assert f"problem  source handbook: {filled.folder / 'handbook'}: No such file or directory" in done.stdout
    assert "or run: estante rm --source handbook" in done.stdout


def test_doctor_sends_a_source_of_the_settings_to_the_settings(filled: Shell) -> None:
    (filled.folder / "estante.toml").write_text('[[source]]\nroot = "nowhere"\n', "utf-8")

    told = filled("doctor", code=1).stdout

    assert "problem  source nowhere: " in told
    assert "or take it out of the settings" in told


def test_doctor_tells_one_damage_once(filled: Shell) -> None:
    [segment] = (filled.folder / ".estante" / "shared" / "segments").glob("*.seg")
    data = bytearray(segment.read_bytes())
    data[4096:4104] = b"XXXXXXXX"
    segment.write_bytes(data)

    assert filled("doctor", code=6).stdout.count("is damaged") == 1


def test_doctor_without_a_bookcase_tells_so_with_1(shell: Shell) -> None:
    told = shell("doctor", code=1).stdout

    assert "problem  bookcase: no bookcase here\n" in told
    assert "estante init" in told


def test_doctor_with_settings_and_no_bookcase_names_the_bookcase(shell: Shell) -> None:
    (shell.folder / "estante.toml").touch()

    assert f"problem  bookcase: no bookcase in {shell.folder}\n" in shell("doctor", code=1).stdout


def test_doctor_tells_who_is_writing(filled: Shell) -> None:
    hold = (
        "import time\nfrom pathlib import Path\nfrom estante.index.lock import WriterLock\n"
        "with WriterLock(Path('.estante/shared')).held('a test'):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold], cwd=filled.folder, env=filled.environ(), stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        try:
            told = filled("doctor", code=1).stdout
        finally:
            holder.kill()

    assert f"problem  shared lock: the shelf 'shared' is being written to by process {holder.pid}" in told


# --- pipes and encodings ----------------------------------------------------------------------------------------


def test_show_gives_a_pipe_the_text_and_nothing_else(filled: Shell) -> None:
    assert filled("show handbook/leave.md").stdout == LEAVE
    assert filled("show handbook/leave.md:2-8", PYTHONIOENCODING="ascii").stdout == "Férias"


def test_ls_gives_a_pipe_a_line_for_each_document(filled: Shell) -> None:
    done = filled("ls")

    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["handbook/fees.md", "handbook/leave.md"]
    assert done.stderr == ""


def test_a_reader_that_goes_away_ends_the_command_quietly(filled: Shell) -> None:
    done = filled.sh("for one in 1 2 3; do estante ls; done | true; echo ${PIPESTATUS[@]}; estante ls | head -n 1")

    assert done.stdout.splitlines()[0] == "0 0"
    assert done.stdout.splitlines()[1].startswith("handbook/fees.md\t")
    assert done.stderr == ""


@pytest.mark.parametrize(
    "environ",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONIOENCODING": ""},
        {"LC_ALL": "C", "PYTHONIOENCODING": "", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
    ids=["ascii", "C", "C without UTF-8"],
)
def test_a_terminal_without_our_letters_gets_the_nearest(filled: Shell, environ: dict[str, Any]) -> None:
    done = filled("search férias -k 1", **environ)

    assert "handbook/leave.md" in done.stdout
    assert "trinta dias de" in done.stdout
    assert json.loads(filled("search férias -k 1 --json", **environ).stdout)["query"] == "férias"


def test_a_full_disk_behind_stdout_is_told(filled: Shell) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("only Linux has a device that is always full")

    done = filled.sh("estante ls > /dev/full; echo $?")

    assert done.stdout == "6\n"
    assert done.stderr.startswith("error: No space left on device\nhint:")


def test_closed_streams_are_no_failure(filled: Shell) -> None:
    done = filled.sh("estante ls >&- 2>&-; echo $?; estante nothing >&- 2>&-; echo $?")

    assert done.stdout == "0\n2\n"


# --- terminals --------------------------------------------------------------------------------------------------


def test_a_terminal_gets_matches_in_bold(filled: Shell) -> None:
    sent = filled.terminal("search férias -k 1")

    assert "\x1b[1;33mférias\x1b[0m" in sent
    assert "«" not in sent


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_a_terminal_that_wants_no_colours_gets_none(filled: Shell, environ: dict[str, Any]) -> None:
    sent = filled.terminal("search férias -k 1", **environ)

    assert "\x1b" not in sent
    assert "«férias»" in sent


def test_escapes_in_a_document_do_not_reach_the_terminal(filled: Shell) -> None:
    text = "# Mal\n\nUm texto como qualquer outro, e nele \x1b[2J um perigo para quem o lê num terminal.\n"
    (filled.folder / "handbook" / "evil.md").write_text(text, "utf-8")
    filled("refresh -q")

    for line in ("show handbook/evil.md", "search perigo --full", "ls"):
        sent = filled.terminal(line, NO_COLOR="1")
        assert "perigo" in sent or line == "ls"
        assert "\x1b" not in sent
    assert "\x1b[2J" in filled("show handbook/evil.md").stdout


@pytest.mark.parametrize("width", [40, 80, 140])
def test_a_table_fits_its_terminal(filled: Shell, width: int) -> None:
    sent = filled.terminal("ls", width=width, NO_COLOR="1")

    assert max(map(len, sent.splitlines())) <= width
    assert "handbook/leave.md" in sent
    assert ("chunks" in sent) == (width == 140)


def test_a_terminal_sees_progress_and_quiet_does_not(filled: Shell) -> None:
    for number in range(400):
        (filled.folder / "handbook" / f"{number}.md").write_text(f"# {number}\n\nTexto {number}.\n", "utf-8")

    assert "━" in filled.terminal("add handbook --shared")
    (filled.folder / "handbook" / "0.md").unlink()
    assert filled.terminal("refresh -q", NO_COLOR="1").startswith("0 added, 0 changed, 401 unchanged, 1 removed")


# --- signals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "SIGTERM"])
def test_an_interrupted_addition_leaves_a_sound_shelf_and_resumes(shell: Shell, number: int, code: int) -> None:
    for at in range(1500):
        (shell.folder / "handbook" / f"{at}.md").write_text(f"# {at}\n\n" + "Um texto qualquer. " * 40, "utf-8")
    shell("init -q")
    with subprocess.Popen(
        [sys.executable, "-m", "estante", "add", "handbook"],
        cwd=shell.folder,
        env=shell.environ(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as started:
        wal = shell.folder / ".estante" / "private" / "segments"
        deadline = time.monotonic() + 60
        while not (wal.is_dir() and any(wal.iterdir())) and time.monotonic() < deadline and started.poll() is None:
            time.sleep(0.02)
        started.send_signal(number)
        out, err = started.communicate()

    assert (started.returncode, out) == (code, "")
    assert err == "error: interrupted\nhint: The shelf is sound; the same command goes on from here.\n"
    assert shell.json("doctor")["ok"] is True
    done = shell.json("add handbook")
    assert done["added"] + done["unchanged"] == 1502
    assert done["added"] > 0
