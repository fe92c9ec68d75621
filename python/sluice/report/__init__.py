"""``sluice report``: run folders become one self-contained HTML page."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from sluice import commands
from sluice.arguments import Parser
from sluice.errors import RunFolderError

EXIT_BAD_INPUT, EXIT_INTERRUPTED = 2, commands.EXIT_INTERRUPTED
PAGE_MARK = b'<meta name="generator" content="Sluice">'
"""What every page of ours has near its beginning."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The ``sluice-report`` command. Returns its exit status: 0, 2 for bad input, or 130
    after Ctrl-C."""
    options = _parser().parse_args(arguments)
    # As a path `./-` would be the same.
    is_file = options.output != "-"
    output = Path(options.output) if options.output else _default_output(options.folders)
    try:
        commands.hear()
        if is_file and not options.force and _is_of_another(output):
            print(f"sluice report: {output}: it is there already and no page of Sluice's; replace"
                  " it with --force", file=sys.stderr)
            return EXIT_BAD_INPUT
        page = _page(options.folders, options.title)
        if is_file:
            _write(output, page)
    except KeyboardInterrupt:
        commands.end_quietly()
        print("\nsluice report: interrupted; nothing was written", file=sys.stderr)
        return EXIT_INTERRUPTED
    except (RunFolderError, OSError) as error:
        message = " ".join(str(error).split())
        if isinstance(error, OSError):
            message = f"{output}: {error.strerror}; expected a file that can be written"
        print(f"sluice report: {message}", file=sys.stderr)
        return EXIT_BAD_INPUT
    # Names of files need not be text.
    told = os.fsencode(output) + b"\n" if is_file else page
    try:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.buffer.write(told)
            sys.stdout.flush()
        else:
            print(told.decode(errors="replace"), end="", flush=True)
    except BrokenPipeError:
        # Nobody reads. The interpreter writes once more when it ends: not to the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        where = f"; the page is {output}" if is_file else ""
        print(f"sluice report: standard output: {error.strerror}{where}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BAD_INPUT
    return 0


def write_report(folders: Sequence[Path], output: Path, title: str | None = None) -> None:
    """Writes the page for ``folders`` to ``output``; nothing is written when one is bad.

    Raises :class:`sluice.RunFolderError` for a folder that cannot be read, ``OSError`` when
    ``output`` cannot be written.
    """
    _write(Path(output), _page(folders, title))


def _page(folders: Sequence[Path], title: str | None) -> bytes:
    # Drawing takes a second to import: a mistyped folder is refused before that.
    from sluice.report.folder import load_runs, schema_of

    folders = [Path(folder) for folder in folders]
    schema = schema_of(folders[0])
    if schema == "sluice.size/1":
        from sluice.report import sizes

        text = sizes.render(folders, title)
    elif schema == "sluice.curve/1":
        from sluice.report import curves

        text = curves.render(folders, title)
    else:
        runs = load_runs(folders)
        from sluice.report.page import render

        text = render(runs, title)
    # Names of files need not be text.
    return text.encode(errors="replace")


def _is_of_another(output: Path) -> bool:
    """Whether writing there would lose what is not ours: a page is drawn again at any time, from
    its folders."""
    # Of a name that is too long `Path` would not say that it is not there.
    if not os.path.isfile(output):
        return False
    with output.open("rb") as file:
        begin = file.read(1000)
    return bool(begin) and PAGE_MARK not in begin


def _write(output: Path, page: bytes) -> None:
    """A page that was there stays until the new one is whole; a pipe or a device is written to."""
    if not output.parent.is_dir() or (output.exists() and not output.is_file()):
        output.write_bytes(page)
        return
    from sluice.reproduce.runner import put

    put(output.resolve(), page)


def _default_output(folders: Sequence[Path]) -> Path:
    return folders[0] / "report.html" if len(folders) == 1 else Path("report.html")


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="sluice report",
        description="Write one self-contained HTML page about runs, side by side.",
    )
    parser.add_argument("folders", metavar="DIR", nargs="+", type=Path,
                        help="what `sluice run`, `sim`, `size` or `curve` wrote by --out DIR")
    parser.add_argument("-o", "--output", metavar="FILE",
                        help="where to write; - is standard output (default: DIR/report.html for"
                             " one run, ./report.html for several)")
    parser.add_argument("--force", action="store_true",
                        help="replace a file that is no page of Sluice's too")
    parser.add_argument("--title", metavar="TEXT", help="title of the page")
    return parser
