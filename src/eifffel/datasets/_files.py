"""Where the files of a data set come from, and whether they are right: a folder given, the cache, their publisher."""

import hashlib
import io
import os
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from eifffel._utils.writing import write_whole
from eifffel.datasets._download import download
from eifffel.exceptions import DatasetError, InputTypeError, parameter

VARIABLE = "EIFFFEL_DATA"


def as_published(content: bytes) -> bytes:
    return content


@dataclass(frozen=True)
class DataFile:
    """A file as its publisher gives it.

    Attributes
    ----------
    name : str
    url : str
        The file itself, or the archive that holds it.
    size, sha256 : int and str
        Of the content in its plain form.
    inside : tuple of str, optional
        The way into the archive: zip files within, outermost first. ``None`` if the URL is the file itself.
    plain : function from bytes to bytes
        Gives every form that the file is in circulation in the same bytes.
    """

    name: str
    url: str
    size: int
    sha256: str
    inside: tuple[str, ...] | None = None
    plain: Callable[[bytes], bytes] = as_published

    def check(self, content: bytes) -> bytes:
        """The content in its plain form; ValueError with the reason if it is not that of the published file."""
        content = self.plain(content)
        if len(content) < self.size:
            raise ValueError(f"it is cut short, {len(content):,} of {self.size:,} bytes")
        found = hashlib.sha256(content).hexdigest()
        if (len(content), found) != (self.size, self.sha256):
            raise ValueError(
                f"it has {len(content):,} bytes with the SHA-256 {found}, the published file {self.size:,} with "
                f"{self.sha256}"
            )
        return content


def cache_folder() -> Path:
    """Where downloads are kept: ``eifffel`` below XDG_CACHE_HOME, or below ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "eifffel"


def read_files(
    files: Sequence[DataFile],
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    verbose: int = 1,
) -> list[bytes]:
    """The contents of ``files``, each from the first place that has it; all are checked."""
    given = _given_folder(data_home)
    found: dict[str, bytes] = {}
    faults: list[str] = []
    for file in files:
        content = _read_given(file, given)
        if content is None:
            content = _read_cached(file, faults)
        if content is not None:
            found[file.name] = content
    missing = [file for file in files if file.name not in found]
    if missing:
        try:
            if not download_if_missing:
                raise DatasetError("downloading is switched off (download_if_missing=False)")
            for url in dict.fromkeys(file.url for file in missing):
                archive = download(url, verbose=verbose)
                for file in missing:
                    if file.url == url:
                        found[file.name] = _unpack(file, archive)
        except DatasetError as error:
            raise DatasetError(". ".join([str(error), *faults, ""]) + _remedy(missing, given)) from None
        _keep({file.name: found[file.name] for file in missing})
    return [found[file.name] for file in files]


def _given_folder(data_home: str | os.PathLike[str] | None) -> Path | None:
    named_by: str = parameter("data_home")
    folder = data_home
    if folder is None:
        named_by, folder = VARIABLE, os.environ.get(VARIABLE) or None
    if folder is None:
        return None
    if not isinstance(folder, str | os.PathLike):
        raise InputTypeError(named_by + f" must be a path, got {folder!r}")
    path = Path(folder).expanduser()
    if not folder or not path.is_dir():
        raise DatasetError(named_by + f" must be a folder, got {str(folder)!r}, which is none")
    return path


def _read_given(file: DataFile, folder: Path | None) -> bytes | None:
    if folder is None or not (folder / file.name).exists():
        return None
    try:
        return file.check((folder / file.name).read_bytes())
    except OSError as error:
        raise DatasetError(f"{folder / file.name} cannot be read: {error.strerror}") from None
    except ValueError as fault:
        raise DatasetError(
            f"{folder / file.name} is not the published {file.name}: {fault}. Put the file from {file.url} into "
            f"{folder}, or take it out of there to have it downloaded"
        ) from None


def _read_cached(file: DataFile, faults: list[str]) -> bytes | None:
    """What the cache holds. A file that is not right counts as missing; what is wrong with it is noted."""
    path = cache_folder() / file.name
    if not path.exists():
        return None
    try:
        return file.check(path.read_bytes())
    except (OSError, ValueError) as fault:
        faults.append(f"{path} is there, but {fault}")
        return None


def _unpack(file: DataFile, content: bytes) -> bytes:
    """The file out of what its URL gave."""
    if file.inside is not None:
        for member in (*file.inside, file.name):
            try:
                with zipfile.ZipFile(io.BytesIO(content)) as archive:
                    content = archive.read(member)
            except (zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
                raise DatasetError(f"what {file.url} gives is no zip archive that holds {member} ({error})") from error
    try:
        return file.check(content)
    except ValueError as fault:
        raise DatasetError(f"what {file.url} gives is not the published {file.name}: {fault}") from None


def _keep(contents: dict[str, bytes]) -> None:
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            write_whole(folder / name, content)
    except OSError as error:
        raise DatasetError(
            f"the download cannot be kept in {folder} ({error}); set XDG_CACHE_HOME to a folder that can be written"
        ) from error


def _remedy(missing: Sequence[DataFile], given: Path | None) -> str:
    names = " and ".join(file.name for file in missing)
    where = "a folder that " + parameter("data_home") + f" or {VARIABLE} names" if given is None else str(given)
    return f"Put {names} into " + where + f", or into {cache_folder()}"
