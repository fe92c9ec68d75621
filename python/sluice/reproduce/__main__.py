"""``python -m sluice.reproduce``."""

import sys

from sluice import commands

sys.exit(commands.reproduce())
