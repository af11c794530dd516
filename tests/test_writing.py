"""A file is written whole or not at all."""

import os
import stat

import pytest

from eifffel._interrupts import unfinished
from eifffel._writing import write_whole


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
