"""``python -m sluice.sweep``."""

import sys

from sluice.sweep import main

sys.exit(main())
