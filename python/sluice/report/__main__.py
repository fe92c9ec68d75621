"""``python -m sluice.report``."""

import sys

from sluice import commands

sys.exit(commands.report())
