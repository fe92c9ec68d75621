"""The classes of all results.

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from sluice.results.counters import CounterValues
from sluice.results.curve import CurveResult
from sluice.results.fabric import FabricResult
from sluice.results.files import FilesResult
from sluice.results.policy_misses import PolicyMisses
from sluice.results.replay import Replay
from sluice.results.run import LiveRun
from sluice.results.sim import SimResult
from sluice.results.size import SizeResult
from sluice.results.system import SystemResult
from sluice.results.top import Top
from sluice.results.trace_convert import TraceConvert
from sluice.results.trace_info import TraceInfo
from sluice.results.trace_record import TraceRecord

KINDS: dict[str, type] = {
    "fabric": FabricResult,
    "run": LiveRun,
    "sim": SimResult,
    "system": SystemResult,
    "vm": LiveRun,
}
"""By the `kind` of a result."""

SCHEMAS: dict[str, type] = {
    "counters": CounterValues,
    "curve": CurveResult,
    "fabric": FabricResult,
    "files": FilesResult,
    "policy-misses": PolicyMisses,
    "replay": Replay,
    "run": LiveRun,
    "sim": SimResult,
    "size": SizeResult,
    "system": SystemResult,
    "top": Top,
    "trace-convert": TraceConvert,
    "trace-info": TraceInfo,
    "trace-record": TraceRecord,
}
"""By the name of the schema."""
