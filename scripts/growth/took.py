"""Runs a command and prints what it took: processor time and peak memory.

A process of its own, which imports next to nothing: the kernel counts what a program held before it
became the command as memory of the command.
"""

import os
import sys


def main() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, null, 1)]
    child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=actions)
    _, status, usage = os.wait4(child, 0)
    if status:
        sys.exit(os.waitstatus_to_exitcode(status) % 256)
    print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)


main()
