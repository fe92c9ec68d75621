"""``python -m sluice.recipes``."""

import sys

from sluice.recipes import main

sys.exit(main())
