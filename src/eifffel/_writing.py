"""Files are written whole or not at all, and none is overwritten unasked."""

import os
import secrets
from pathlib import Path

from eifffel._interrupts import unfinished

UNFINISHED = ".part"


def write_whole(path: Path, content: str | bytes, *, overwrite: bool = True) -> None:
    """Write under a temporary name in the same folder, and rename: a reader never sees half of it."""
    temporary = path.with_name(f".{secrets.token_hex(8)}{UNFINISHED}")
    unfinished.add(str(temporary))
    try:
        with open(temporary, "xb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        if not overwrite:
            check_target(path, overwrite=False)  # somebody may have written it since it was looked for
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        unfinished.discard(str(temporary))


def check_target(path: Path, *, overwrite: bool) -> None:
    """Raise, before any work is done, if a file could not be written there or would replace one unasked."""
    folder = path.parent
    if path.is_dir():
        raise IsADirectoryError(f"'{path}' is a folder; name a file in it")
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder '{folder}' to write '{path.name}' to; make it first")
    if path.exists() and not overwrite:
        raise FileExistsError(
            f"'{path}' exists, and is not overwritten unasked; name another file, or pass overwrite=True"
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"no permission to write '{path.name}' to the folder '{folder}'; name another one")
