#!/usr/bin/env python3
"""Check the demo library and its questions, and print a summary.

    python tools/check_demo.py

Each document is read by the plainest means that suit its kind (not with the
readers of Estante itself, so that one checks the other): text in its own
encoding, PDF through pypdfium2, DOCX through python-docx, HTML without its
tags.  Every quote must occur word for word in the document it is taken from.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "src" / "estante" / "demo"
LIBRARY = DEMO / "library"

ENCODINGS = {  # the text files that are not UTF-8
    "ti/rotina-de-backup.txt": "latin-1",
    "atendimento/taxas-2025.csv": "cp1252",
    "runbooks/network-outage.txt": "utf-16",
}

SECRETS = {  # kind -> (pattern, the document in which it is planted)
    "AWS access key id": (r"AKIA[0-9A-Z]{16}", "reports/postmortem-2024-11-tramite-outage.md"),
    "password assignment": (r"(?i)\b(?:db_password|senha)\s*[=:]\s*\S+#\S+", "ti/relatorio-incidente-2024-03.md"),
    "password in a settings file": (r"DB_PASSWORD=\S+", "ti/rotina-de-backup.txt"),
    "PEM private key": (
        r"-----BEGIN PRIVATE KEY-----\n[\s\S]+?\n-----END PRIVATE KEY-----",
        "runbooks/certificate-renewal.md",
    ),
    "database URL": (r"postgres://\w+:[^@\s]+@\S+/\w+", "runbooks/restore-database.md"),
    "GitHub token": (r"\bghp_[0-9A-Za-z]{36}\b", "runbooks/tramite-api.md"),
    "bearer token": (r"Authorization: Bearer [\w.-]{20,}", "runbooks/tramite-api.md"),
}

WORDS = {
    "pt": frozenset("de da do das dos que em para com não uma um os as ao no na é por se ou".split()),
    "en": frozenset("the of and to in is for that with on at are by be it or from not this".split()),
}

HIDDEN = {"script", "style", "head", "nav", "header", "footer", "aside"}
BLOCKS = {"p", "li", "td", "th", "h1", "h2", "h3", "h4", "tr", "div", "main", "ul", "table", "body"}


class VisibleText(HTMLParser):
    """The blocks of a page's main text, white space made single."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[str] = [""]
        self.depth = 0

    def handle_starttag(self, tag, attrs):
        self.depth += tag in HIDDEN
        if tag in BLOCKS:
            self.blocks.append("")

    def handle_endtag(self, tag):
        self.depth -= tag in HIDDEN
        if tag in BLOCKS:
            self.blocks.append("")

    def handle_data(self, data):
        if not self.depth:
            self.blocks[-1] += data


def units(path: Path, name: str) -> list[str]:
    """The stretches of text inside one of which a quote must lie."""
    kind = path.suffix
    if kind == ".pdf":
        import pypdfium2

        pdf = pypdfium2.PdfDocument(path)
        found = []
        for page in pdf:
            found += page.get_textpage().get_text_bounded().splitlines()
        pdf.close()
    elif kind == ".docx":
        import docx

        document = docx.Document(path)
        found = [p.text for p in document.paragraphs]
        for table in document.tables:
            found += [c.text for row in table.rows for c in row.cells]
    elif kind == ".html":
        parser = VisibleText()
        parser.feed(path.read_text(encoding="utf-8"))
        found = [" ".join(b.split()) for b in parser.blocks]
    else:
        data = path.read_bytes()
        found = [data.decode(ENCODINGS.get(name, "utf-8"), "strict").replace("\r\n", "\n")]
    return [unicodedata.normalize("NFC", u) for u in found if u.strip()]


def language(text: str) -> str:
    words = Counter(re.findall(r"\w+", text.lower()))
    score = {k: sum(words[w] for w in v) for k, v in WORDS.items()}
    return max(score, key=score.get)


def pages(path: Path) -> int:
    import pypdfium2

    pdf = pypdfium2.PdfDocument(path)
    count = len(pdf)
    pdf.close()
    return count


def main() -> int:
    faults: list[str] = []

    def need(condition: bool, message: str) -> None:
        if not condition:
            faults.append(message)

    # The documents.
    documents: dict[str, list[str]] = {}
    size = 0
    for path in sorted(p for p in LIBRARY.rglob("*") if p.is_file()):
        name = path.relative_to(LIBRARY).as_posix()
        size += path.stat().st_size
        documents[name] = units(path, name)
    texts = {name: "\n".join(u) for name, u in documents.items()}
    tongues = {name: language(text) for name, text in texts.items()}
    halves = Counter(tongues.values())
    kinds = Counter(Path(name).suffix for name in documents)

    need(len(documents) >= 44, f"only {len(documents)} documents")
    need(halves["pt"] == halves["en"], f"halves are not equal: {dict(halves)}")
    need(size < 400_000, f"the library has {size} bytes")
    for name, text in texts.items():
        need(600 <= len(text) <= 12_000, f"{name}: {len(text)} characters")
    for name, encoding in ENCODINGS.items():
        raw = (LIBRARY / name).read_bytes()
        try:
            raw.decode("utf-8")
            faults.append(f"{name}: is valid UTF-8, meant to be {encoding}")
        except UnicodeDecodeError:
            pass
    for suffix in (".md", ".html", ".txt", ".csv", ".pdf", ".docx"):
        need(kinds[suffix] >= 2 or suffix == ".md", f"fewer than two {suffix} files")
    for name in documents:
        if name.endswith(".pdf"):
            need(pages(LIBRARY / name) >= 3, f"{name}: fewer than three pages")

    front = 0
    for name in documents:
        if name.endswith(".md") and texts[name].startswith("---\n"):
            import yaml

            front += 1
            head = yaml.safe_load(texts[name].split("---\n", 2)[1])
            for key in ("title", "date", "department", "tags", "audience"):
                need(key in head, f"{name}: no {key} in its front matter")

    readme = (DEMO / "README.md").read_text(encoding="utf-8")
    for kind, (pattern, name) in SECRETS.items():
        holders = [n for n, t in texts.items() if re.search(pattern, t)]
        need(name in holders, f"no {kind} in {name}")
        need(len(holders) == 1, f"{kind} in {holders}")
        need(name in readme, f"README.md does not list {name}")

    # The questions.
    questions = [json.loads(line) for line in (DEMO / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    by_language = Counter(q["language"] for q in questions)
    cross = Counter(q["language"] for q in questions if q["cross"])
    unanswered = Counter(q["language"] for q in questions if not q["answers"])
    asked: set[str] = set()
    quoted: Counter[str] = Counter()
    quotes = 0
    for n, q in enumerate(questions, 1):
        here = q.get("id", f"line {n}")
        need(set(q) == {"id", "question", "language", "cross", "answers"}, f"{here}: keys")
        need(q["id"] == f"q{n:03}", f"{here}: expected q{n:03}")
        need(q["question"] not in asked, f"{here}: asked twice")
        asked.add(q["question"])
        for answer in q["answers"]:
            quotes += 1
            name, quote = answer["document"], answer["quote"]
            need(20 <= len(quote) <= 300, f"{here}: quote of {len(quote)} characters")
            need(quote == unicodedata.normalize("NFC", quote), f"{here}: not NFC")
            need(
                q["question"].lower() not in texts.get(name, "").lower(), f"{here}: the question is copied from {name}"
            )
            if name not in documents:
                faults.append(f"{here}: no document {name}")
                continue
            quoted[name] += 1
            need(any(quote in u for u in documents[name]), f"{here}: not in {name}: {quote!r}")
        if q["answers"]:
            sides = {tongues.get(a["document"]) for a in q["answers"]}
            need(q["cross"] == (q["language"] not in sides), f"{here}: cross is {q['cross']}, documents in {sides}")
        else:
            need(not q["cross"], f"{here}: cross without an answer")

    need(len(questions) >= 90, f"only {len(questions)} questions")
    need(by_language["pt"] == by_language["en"], f"questions: {dict(by_language)}")
    need(sum(cross.values()) >= 12, f"only {sum(cross.values())} cross questions")
    need(sum(unanswered.values()) == 12, f"{sum(unanswered.values())} without an answer")
    silent = sorted(set(documents) - set(quoted))

    print(f"documents   {len(documents)} ({halves['pt']} pt, {halves['en']} en), {size} bytes")
    print("kinds       " + ", ".join(f"{k[1:]} {v}" for k, v in sorted(kinds.items())))
    print(
        f"lengths     {min(map(len, texts.values()))} to {max(map(len, texts.values()))} characters;"
        f" {sum(map(len, texts.values()))} in all; {front} with front matter"
    )
    print(f"secrets     {len(SECRETS)} in {len({n for _, n in SECRETS.values()})} documents")
    print(f"questions   {len(questions)} ({by_language['pt']} pt, {by_language['en']} en), {quotes} quotes")
    print(f"cross       {sum(cross.values())} ({cross['pt']} asked in pt, {cross['en']} asked in en)")
    print(f"no answer   {sum(unanswered.values())} ({unanswered['pt']} pt, {unanswered['en']} en)")
    print(f"quoted      {len(quoted)} documents; never quoted: {', '.join(silent) or 'none'}")
    for fault in faults:
        print("FAULT", fault)
    print("ok" if not faults else f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
