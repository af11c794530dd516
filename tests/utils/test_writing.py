"""A file is written whole or not at all."""

import os
import stat

import pytest

from eifffel._utils.interrupts import unfinished
from eifffel._utils.writing import check_target, write_whole


def test_text_and_bytes(tmp_path):
    write_whole(tmp_path / "a", "ä\n")
    assert (tmp_path / "a").read_bytes() == "ä\n".encode()
    write_whole(tmp_path / "a", b"\x00")
    assert (tmp_path / "a").read_bytes() == b"\x00"
    assert os.listdir(tmp_path) == ["a"]


def test_it_has_the_rights_of_any_other_file(tmp_path):
    (tmp_path / "plain").write_text("")
    write_whole(tmp_path / "whole", "")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "whole")}
    assert len(modes) == 1


def test_the_temporary_file_is_beside_the_target(tmp_path, monkeypatch):
    """A rename is at once only within one file system."""
    moved = []
    monkeypatch.setattr("os.replace", lambda one, other: moved.append((one.parent, other.parent)))
    write_whole(tmp_path / "a", "")
    assert moved == [(tmp_path, tmp_path)]


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    write_whole(tmp_path / "a", "old")

    def fail(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]


def test_who_ends_the_process_at_once_knows_what_is_unfinished(tmp_path, monkeypatch):
    known = []
    replace = os.replace
    monkeypatch.setattr("os.replace", lambda one, other: (known.append({str(one)} == unfinished), replace(one, other)))
    write_whole(tmp_path / "a", "")
    assert known == [True]
    assert unfinished == set()


@pytest.mark.parametrize("there", [True, False])
def test_what_a_link_points_to_is_written_and_the_link_stays(there, tmp_path, monkeypatch):
    (tmp_path / "there").mkdir()
    target = tmp_path / "there" / "file"
    if there:
        target.write_text("old")
    (tmp_path / "second").symlink_to("there/file")
    (tmp_path / "first").symlink_to(tmp_path / "second")
    moved, replace = [], os.replace
    monkeypatch.setattr("os.replace", lambda one, other: (moved.append(one.parent), replace(one, other)))
    check_target(tmp_path / "first", overwrite=True)
    write_whole(tmp_path / "first", "new")
    assert target.read_text() == "new"
    assert not target.is_symlink()
    assert (tmp_path / "first").is_symlink()
    assert (tmp_path / "second").is_symlink()
    assert [folder.resolve() for folder in moved] == [target.parent.resolve()], "beside the target"
    assert os.listdir(tmp_path / "there") == ["file"]


def test_links_that_cannot_be_written_through(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "far").symlink_to("nowhere/file")
    (tmp_path / "folder").symlink_to(tmp_path)
    (tmp_path / "dangling").symlink_to("file")
    for write in (lambda path: check_target(path, overwrite=True), lambda path: write_whole(path, "")):
        with pytest.raises(ValueError, match="a' is a link that leads back to itself; remove it, or name another file"):
            write(tmp_path / "a")
    with pytest.raises(FileNotFoundError, match=r"there is no folder '.*nowhere' to write 'file' to; make it first"):
        check_target(tmp_path / "far", overwrite=True)
    with pytest.raises(IsADirectoryError, match="folder' is a folder; name a file in it"):
        check_target(tmp_path / "folder", overwrite=True)
    for write in (
        lambda path: check_target(path, overwrite=False),
        lambda path: write_whole(path, "", overwrite=False),
    ):
        with pytest.raises(FileExistsError, match="dangling' exists, and is not overwritten unasked"):
            write(tmp_path / "dangling")
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "dangling", "far", "folder"]
