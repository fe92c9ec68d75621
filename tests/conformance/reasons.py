"""Why a case differs in a mode, where that is known. Everything else that differs is a defect."""

from __future__ import annotations

LIMIT = "a documented limit"

# Suite, case, mode: the reason as it stands in the table.
REASONS: dict[tuple[str, str, str], str] = {
    ("cpython", "test_subprocess", "signal"): f"{LIMIT}: the runtime's descriptors are listed",
    ("stress-ng", "vm-rw", "signal"): f"{LIMIT}: the kernel's own accesses (process_vm_readv)",
    ("stress-ng", "futex", "signal"): f"{LIMIT}: locks that wait",
    ("stress-ng", "sem", "signal"): f"{LIMIT}: locks that wait",
    ("stress-ng", "vm-splice", "signal"): f"{LIMIT}: the kernel's own accesses (vmsplice)",
}


def reason(suite: str, case: str, modes: list[str]) -> str:
    """What is known about the modes in which a case differs."""
    known = {f"{mode}: {REASONS[suite, case, mode]}" for mode in modes
             if (suite, case, mode) in REASONS}
    unknown = [mode for mode in modes if (suite, case, mode) not in REASONS]
    parts = sorted(known) + ([f"{' and '.join(unknown)}: not known"] if unknown else [])
    return "; ".join(parts)
