"""``python -m sluice.recipes``."""

import sys

from sluice import commands

sys.exit(commands.recipe())
