"""A publisher's file over HTTP, whole or not at all."""

import http.client
import urllib.error
import urllib.request

from tqdm.auto import tqdm

from eifffel.exceptions import DatasetError

TIMEOUT = 30  # seconds without an answer
CHUNK = 1 << 16


def download(url: str, *, verbose: int = 1) -> bytes:
    """What ``url`` gives; `DatasetError` if it does not come, or breaks off. ``verbose`` above 0 shows a bar."""
    request = urllib.request.Request(url, headers={"User-Agent": "eifffel"})
    parts: list[bytes] = []
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            announced = answer.headers.get("Content-Length")
            total = None if announced is None else int(announced)
            name = url.rsplit("/", 1)[-1]
            with tqdm(total=total, desc=name, unit="B", unit_scale=True, leave=False, disable=not verbose) as progress:
                while part := answer.read(CHUNK):
                    parts.append(part)
                    progress.update(len(part))
    except urllib.error.HTTPError as error:
        error.close()
        raise DatasetError(f"{url} could not be downloaded: the server says {error.code} {error.reason}") from None
    except (OSError, http.client.HTTPException) as error:  # URLError and time-outs are OSErrors
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise DatasetError(f"{url} could not be downloaded: {reason or type(error).__name__}") from None
    content = b"".join(parts)
    if total is not None and len(content) != total:
        raise DatasetError(f"the transfer of {url} broke off after {len(content):,} of {total:,} bytes")
    return content
