"""The classes of all results.

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from typing import Any

from sluice.results.command import KeptCommand
from sluice.results.counters import CounterValues
from sluice.results.curve import CurveResult
from sluice.results.devices import Devices
from sluice.results.doctor import Doctor
from sluice.results.fabric import FabricResult
from sluice.results.fabric_choices import FabricChoices
from sluice.results.files import FilesResult
from sluice.results.parameters import Parameters
from sluice.results.policies import Policies
from sluice.results.policy_misses import PolicyMisses
from sluice.results.presets import Presets
from sluice.results.replay import Replay
from sluice.results.run import LiveRun
from sluice.results.sim import SimResult
from sluice.results.size import SizeResult
from sluice.results.system import SystemResult
from sluice.results.top import Top
from sluice.results.trace_convert import TraceConvert
from sluice.results.trace_info import TraceInfo
from sluice.results.trace_record import TraceRecord
from sluice.results.workload import WorkloadResult

KINDS: dict[str, type] = {
    "fabric": FabricResult,
    "run": LiveRun,
    "sim": SimResult,
    "system": SystemResult,
    "vm": LiveRun,
}
"""By the `kind` of a result."""

SCHEMAS: dict[str, Any] = {
    "command": KeptCommand,
    "counters": CounterValues,
    "curve": CurveResult,
    "devices": Devices,
    "doctor": Doctor,
    "fabric": FabricResult,
    "fabric-choices": FabricChoices,
    "files": FilesResult,
    "parameters": Parameters,
    "policies": Policies,
    "policy-misses": PolicyMisses,
    "presets": Presets,
    "replay": Replay,
    "run": LiveRun,
    "sim": SimResult,
    "size": SizeResult,
    "system": SystemResult,
    "top": Top,
    "trace-convert": TraceConvert,
    "trace-info": TraceInfo,
    "trace-record": TraceRecord,
    "workload": WorkloadResult,
}
"""By the name of the schema."""
