"""The class of each `kind` of result.

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from sluice.results.fabric import FabricResult
from sluice.results.run import LiveRun
from sluice.results.sim import SimResult
from sluice.results.system import SystemResult

KINDS: dict[str, type] = {
    "fabric": FabricResult,
    "run": LiveRun,
    "sim": SimResult,
    "system": SystemResult,
    "vm": LiveRun,
}
