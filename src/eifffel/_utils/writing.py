"""Files are written whole or not at all, and none is overwritten unasked."""

import os
import secrets
from pathlib import Path

from eifffel._utils.interrupts import unfinished
from eifffel.exceptions import parameter

UNFINISHED = ".part"


def write_whole(path: Path, content: str | bytes, *, overwrite: bool = True) -> None:
    """Write under a temporary name in the same folder, and rename: a reader never sees half of it.

    Where ``path`` is a link, the file that it points to is written, and the link stays.
    """
    target = follow_link(path)
    temporary = target.with_name(f".{secrets.token_hex(8)}{UNFINISHED}")
    unfinished.add(str(temporary))
    try:
        with open(temporary, "xb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        if not overwrite:
            check_target(path, overwrite=False)  # somebody may have written it since it was looked for
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        unfinished.discard(str(temporary))


def check_target(path: Path, *, overwrite: bool) -> None:
    """Raise, before any work is done, if a file could not be written there or would replace one unasked."""
    if path.is_dir():
        raise IsADirectoryError(f"'{path}' is a folder; name a file in it")
    target = follow_link(path)
    folder = target.parent
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder '{folder}' to write '{target.name}' to; make it first")
    if os.path.lexists(path) and not overwrite:
        raise FileExistsError(
            f"'{path}' exists, and is not overwritten unasked; name another file, or pass "
            + parameter("overwrite=True")
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"no permission to write '{target.name}' to the folder '{folder}'; name another one")


def follow_link(path: Path) -> Path:
    """The file that a name stands for: itself, or what the link points to, whether that is there yet or not."""
    if not path.is_symlink():
        return path
    target = Path(os.path.realpath(path))
    if target.is_symlink():  # what cannot be followed to its end
        raise ValueError(f"'{path}' is a link that leads back to itself; remove it, or name another file")
    return target
