"""``python -m sluice.reproduce``."""

import sys

from sluice.reproduce import main

sys.exit(main())
