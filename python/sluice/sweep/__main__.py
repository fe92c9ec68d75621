"""``python -m sluice.sweep``."""

import sys

from sluice import commands

sys.exit(commands.sweep())
