"""``python -m sluice.report``."""

import sys

from sluice.report import main

sys.exit(main())
