"""``python -m estante`` is the command line."""

import sys

from estante.serve.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
