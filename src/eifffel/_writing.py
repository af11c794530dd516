"""Files are written whole or not at all."""

import os
import secrets
from pathlib import Path

UNFINISHED = ".part"


def write_whole(path: Path, content: str | bytes) -> None:
    """Write under a temporary name in the same folder, and rename: a reader never sees half of it."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}{UNFINISHED}")
    try:
        with open(temporary, "xb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
