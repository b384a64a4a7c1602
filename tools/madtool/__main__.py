"""Entry of `tools/mad`: makes the package importable from its own directory and starts the command line."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from madtool.cli import main  # noqa: E402  (the path above comes first)

sys.exit(main(sys.argv[1:]))
