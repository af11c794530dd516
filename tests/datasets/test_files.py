"""Files come from the folder given, the cache or their publisher, and wrong ones are never used.

The publisher is a server on 127.0.0.1.
"""

import hashlib
import io
import threading
import zipfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from eifffel.datasets import _download
from eifffel.datasets._files import DataFile, cache_folder, read_files
from eifffel.exceptions import DatasetError

CONTENT = b"age;job\n" + b"39;clerk\n" * 50_000
OTHER = b"the second file\n"


def zipped(**members):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_", "."), content)
    return packed.getvalue()


def described(name, url, content, **options):
    return DataFile(name, url, size=len(content), sha256=hashlib.sha256(content).hexdigest(), **options)


class Publisher:
    """A server whose answers are set by path: bytes, or a function that writes the answer itself."""

    def __init__(self):
        self.answers = {}
        self.asked = []
        publisher = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                publisher.asked.append(self.path)
                answer = publisher.answers.get(self.path)
                if callable(answer):
                    return answer(self)
                if answer is None:
                    return self.send_error(404)
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                return self.wfile.write(answer)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def publisher():
    publisher = Publisher()
    thread = threading.Thread(target=publisher.server.serve_forever)
    thread.start()
    yield publisher
    publisher.server.shutdown()
    publisher.server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """No test sees the user's cache, folder or proxy."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("EIFFFEL_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def file(publisher):
    publisher.answers["/table.csv"] = CONTENT
    return described("table.csv", f"{publisher.url}/table.csv", CONTENT)


@contextmanager
def refused(*words):
    with pytest.raises(DatasetError) as caught:
        yield
    for word in words:
        assert word in str(caught.value)


def test_a_download_is_kept_in_the_cache_and_not_made_twice(file, publisher):
    assert read_files([file]) == [CONTENT]
    assert (cache_folder() / "table.csv").read_bytes() == CONTENT
    assert [path.name for path in cache_folder().iterdir()] == ["table.csv"]
    assert read_files([file]) == [CONTENT]
    assert publisher.asked == ["/table.csv"]


def test_a_bar_shows_the_download(file, capsys):
    read_files([file])
    shown = capsys.readouterr().err
    assert "table.csv" in shown
    assert "450k" in shown, "its size"


def test_the_folder_given_comes_first(file, publisher, tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "table.csv").write_bytes(CONTENT)
    assert read_files([file], data_home=tmp_path / "mine") == [CONTENT]
    monkeypatch.setenv("EIFFFEL_DATA", str(tmp_path / "mine"))
    assert read_files([file]) == [CONTENT]
    assert publisher.asked == []
    assert not cache_folder().exists()


def test_data_home_goes_before_the_variable(file, tmp_path, monkeypatch):
    for folder, content in (("right", CONTENT), ("wrong", b"x" * len(CONTENT))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "table.csv").write_bytes(content)
    monkeypatch.setenv("EIFFFEL_DATA", str(tmp_path / "wrong"))
    assert read_files([file], data_home=tmp_path / "right") == [CONTENT]


def test_what_the_folder_given_lacks_is_downloaded(file, publisher, tmp_path):
    assert read_files([file], data_home=tmp_path) == [CONTENT]
    assert publisher.asked == ["/table.csv"]
    assert not (tmp_path / "table.csv").exists(), "it is kept in the cache"


def test_a_folder_that_is_none_is_refused_before_anything_is_asked_for(file, publisher, tmp_path, monkeypatch):
    with refused("data_home must be a folder", "nowhere"):
        read_files([file], data_home=tmp_path / "nowhere")
    monkeypatch.setenv("EIFFFEL_DATA", str(tmp_path / "nowhere"))
    with refused("EIFFFEL_DATA must be a folder", "nowhere"):
        read_files([file])
    assert publisher.asked == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (CONTENT[:1000], "it is cut short, 1,000 of 450,008 bytes"),
        (b"", "it is cut short, 0 of 450,008 bytes"),
        (CONTENT[:-2] + b"!\n", "SHA-256"),
        (CONTENT + b"more\n", "it has 450,013 bytes"),
    ],
    ids=["truncated", "empty", "another", "longer"],
)
def test_a_wrong_file_in_the_folder_given_is_named_and_left_alone(content, reason, file, publisher, tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with refused(f"{path} is not the published table.csv", reason, str(tmp_path), file.url):
        read_files([file], data_home=tmp_path)
    assert path.read_bytes() == content
    assert publisher.asked == []


def test_a_folder_in_the_place_of_a_file(file, tmp_path):
    (tmp_path / "table.csv").mkdir()
    with refused(f"{tmp_path / 'table.csv'} cannot be read: Is a directory"):
        read_files([file], data_home=tmp_path)


def test_a_wrong_file_in_the_cache_is_downloaded_again(file):
    cache_folder().mkdir(parents=True)
    (cache_folder() / "table.csv").write_bytes(CONTENT[:1000])
    assert read_files([file]) == [CONTENT]
    assert (cache_folder() / "table.csv").read_bytes() == CONTENT


def test_what_is_wrong_in_the_cache_is_said_if_it_cannot_be_replaced(file):
    cache_folder().mkdir(parents=True)
    (cache_folder() / "table.csv").write_bytes(CONTENT[:1000])
    with refused(f"{cache_folder() / 'table.csv'} is there, but it is cut short, 1,000 of", "Put table.csv into"):
        read_files([file], download_if_missing=False)
    (cache_folder() / "table.csv").unlink()
    (cache_folder() / "table.csv").mkdir()
    with refused("table.csv is there, but", "Is a directory"):
        read_files([file], download_if_missing=False)


def test_a_wrong_file_in_the_folder_given_is_not_passed_over_for_the_cache(file, tmp_path):
    assert read_files([file]) == [CONTENT]
    (tmp_path / "table.csv").write_bytes(CONTENT[:-1])
    with refused(f"{tmp_path / 'table.csv'} is not the published"):
        read_files([file], data_home=tmp_path)


def test_files_come_in_the_order_asked_for(publisher):
    publisher.answers["/both.zip"] = zipped(table_csv=CONTENT, other_txt=OTHER)
    url = f"{publisher.url}/both.zip"
    files = [described("table.csv", url, CONTENT, inside=()), described("other.txt", url, OTHER, inside=())]
    read_files(files)
    (cache_folder() / "table.csv").unlink()
    assert read_files(files) == [CONTENT, OTHER]


def test_a_folder_below_home(file, publisher, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "table.csv").write_bytes(CONTENT)
    assert read_files([file], data_home="~") == [CONTENT]
    assert publisher.asked == []


def test_an_empty_name_is_no_folder(file, publisher, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_bytes(b"wrong")
    monkeypatch.setenv("EIFFFEL_DATA", "")
    assert read_files([file]) == [CONTENT], "an empty variable is as good as none"
    with refused("data_home must be a folder, got ''"):
        read_files([file], data_home="")
    with pytest.raises(TypeError, match="data_home must be a path, got 3"):
        read_files([file], data_home=3)


def test_the_bar_can_be_switched_off(file, capsys):
    read_files([file], verbose=0)
    assert capsys.readouterr().err == ""


def test_a_transfer_that_breaks_off_leaves_nothing(file, publisher):
    def break_off(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(CONTENT)))
        handler.end_headers()
        handler.wfile.write(CONTENT[:200_000])

    publisher.answers["/table.csv"] = break_off
    with refused("broke off after 200,000 of 450,008 bytes", "Put table.csv into a folder", str(cache_folder())):
        read_files([file])
    assert not cache_folder().exists()
    publisher.answers["/table.csv"] = CONTENT
    assert read_files([file]) == [CONTENT]


def test_a_transfer_without_a_length_that_breaks_off_is_found_by_its_size(file, publisher):
    def break_off(handler):
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(CONTENT[:200_000])

    publisher.answers["/table.csv"] = break_off
    with refused("what", "is not the published table.csv", "cut short, 200,000 of 450,008"):
        read_files([file])
    assert not cache_folder().exists()


def test_a_server_that_falls_silent_is_not_waited_for(file, publisher, monkeypatch):
    monkeypatch.setattr(_download, "TIMEOUT", 0.2)
    silence = threading.Event()

    def fall_silent(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(CONTENT)))
        handler.end_headers()
        handler.wfile.write(CONTENT[:1000])
        handler.wfile.flush()
        silence.wait(10)

    publisher.answers["/table.csv"] = fall_silent
    with refused("could not be downloaded", "timed out", "Put table.csv"):
        read_files([file])
    silence.set()


def test_a_page_that_is_gone(file, publisher):
    del publisher.answers["/table.csv"]
    with refused(file.url, "could not be downloaded", "Not Found", "Put table.csv into", str(cache_folder())):
        read_files([file])


def test_no_network(tmp_path):
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as closed:
        port = closed.server_port
    file = described("table.csv", f"http://127.0.0.1:{port}/table.csv", CONTENT)
    with refused("could not be downloaded", "refused", "data_home or EIFFFEL_DATA", str(cache_folder())):
        read_files([file])
    with refused(f"Put table.csv into {tmp_path}, or into"):
        read_files([file], data_home=tmp_path)


def test_downloading_can_be_switched_off(file, publisher):
    with refused("download_if_missing=False", "Put table.csv into"):
        read_files([file], download_if_missing=False)
    assert publisher.asked == []


def test_two_files_of_one_archive_are_one_download(publisher):
    publisher.answers["/both.zip"] = zipped(table_csv=CONTENT, other_txt=OTHER)
    url = f"{publisher.url}/both.zip"
    files = [described("table.csv", url, CONTENT, inside=()), described("other.txt", url, OTHER, inside=())]
    assert read_files(files) == [CONTENT, OTHER]
    assert publisher.asked == ["/both.zip"]
    (cache_folder() / "other.txt").unlink()
    assert read_files(files) == [CONTENT, OTHER]
    assert publisher.asked == ["/both.zip"] * 2, "only what is missing is asked for again"


def test_an_archive_in_an_archive(publisher):
    publisher.answers["/outer.zip"] = zipped(inner_zip=zipped(table_csv=CONTENT))
    file = described("table.csv", f"{publisher.url}/outer.zip", CONTENT, inside=("inner.zip",))
    assert read_files([file]) == [CONTENT]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"<html>please log in</html>", "no zip archive that holds table.csv"),
        (zipped(another_csv=CONTENT), "no zip archive that holds table.csv"),
        (zipped(table_csv=OTHER), "is not the published table.csv: it is cut short"),
        (zipped(table_csv=CONTENT)[:-40], "no zip archive that holds table.csv"),
    ],
    ids=["page", "other member", "wrong member", "cut"],
)
def test_an_archive_that_is_not_the_publishers(answer, reason, publisher):
    publisher.answers["/a.zip"] = answer
    file = described("table.csv", f"{publisher.url}/a.zip", CONTENT, inside=())
    with refused(reason, "Put table.csv into"):
        read_files([file])
    assert not cache_folder().exists()


def test_an_archive_with_a_damaged_member(publisher):
    packed = bytearray(zipped(table_csv=CONTENT))
    packed[60] ^= 0xFF
    publisher.answers["/a.zip"] = bytes(packed)
    file = described("table.csv", f"{publisher.url}/a.zip", CONTENT, inside=())
    with refused("no zip archive that holds table.csv", "Put table.csv into"):
        read_files([file])


def test_every_form_of_a_file_is_read_as_its_plain_one(publisher, tmp_path):
    plain = b"age;job\n39;clerk\n"

    def strip(content):
        return content.replace(b'"', b"")

    file = described("table.csv", f"{publisher.url}/table.csv", plain, plain=strip)
    publisher.answers["/table.csv"] = b'"age";"job"\n39;"clerk"\n'
    assert read_files([file]) == [plain]
    (tmp_path / "table.csv").write_bytes(plain)
    assert read_files([file], data_home=tmp_path) == [plain]


def test_a_cache_that_cannot_be_written_says_so(file, tmp_path, monkeypatch):
    (tmp_path / "occupied").write_text("a file, not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "occupied"))
    with refused("cannot be kept in", "XDG_CACHE_HOME"):
        read_files([file])
