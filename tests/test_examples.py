"""Every example runs, and draws the picture that it says it draws."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_an_example_runs(script, tmp_path):
    pytest.importorskip("matplotlib")
    run = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    pictures = [word.rstrip(".") for word in run.stdout.split() if word.rstrip(".").endswith(".png")]
    assert pictures, "it says what it drew"
    for picture in pictures:
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")
