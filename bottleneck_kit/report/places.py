"""Source places (file:line) short enough for a table, without losing the line number."""

from __future__ import annotations

from pathlib import Path

ELLIPSIS = "…"


def current_folder() -> Path | None:
    """Gives the folder that places are shown relative to; None where it was removed."""
    try:
        return Path.cwd()
    except OSError:
        return None


def short_place(
    file: str | None, line: int | None, *, width: int, folder: Path | None = None
) -> str:
    """Gives ``file:line`` in at most ``width`` characters where that is possible.

    Below ``folder`` the path is relative to it, below the home folder it starts with ``~``. What
    is still too long loses leading folders, then the beginning of the file's name. The line
    number always stays whole, as it is what a person clicks on.

    Args:
        file: The source file; None gives "".
        line: The line; None leaves it out.
        width: Characters there are.
        folder: The folder to be relative to.
    """
    if file is None:
        return ""
    tail = "" if line is None else f":{line}"
    path = _relative(file, folder)
    if len(path) + len(tail) <= width:
        return path + tail
    parts = path.replace("\\", "/").split("/")
    for start in range(1, len(parts)):
        shorter = f"{ELLIPSIS}/{'/'.join(parts[start:])}"
        if len(shorter) + len(tail) <= width:
            return shorter + tail
    room = max(1, width - len(tail) - len(ELLIPSIS))
    return f"{ELLIPSIS}{parts[-1][-room:]}{tail}"


def _relative(file: str, folder: Path | None) -> str:
    path = Path(file)
    if not path.is_absolute():
        return file
    if folder is not None and path.is_relative_to(folder):
        return str(path.relative_to(folder))
    try:
        home = Path.home()
    except RuntimeError:  # no home folder is known, as in some containers
        return file
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else file
