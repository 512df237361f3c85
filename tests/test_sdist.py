"""The sdist is what the repository holds, but for what serves the repository alone."""

import subprocess
import tarfile
from pathlib import Path

import pytest

import sowreap

build = pytest.importorskip("scikit_build_core.build", reason="what the build itself needs")

ROOT = Path(__file__).resolve().parents[1]
NOT_SHIPPED = (".ci/", ".github/")


def files_of_checkout():
    """Files that git has or would take; an untracked one would be shipped too."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("not a checkout of git, whose files would be compared")
    names = {name for name in done.stdout.split("\0") if name and (ROOT / name).exists()}
    return {name for name in names if not name.startswith(NOT_SHIPPED)}


def test_sdist_has_the_files_of_the_checkout(tmp_path, monkeypatch):
    want = files_of_checkout()
    monkeypatch.chdir(ROOT)
    name = build.build_sdist(str(tmp_path))
    top = f"sowreap-{sowreap.__version__}/"
    with tarfile.open(tmp_path / name) as archive:
        members = archive.getmembers()
    assert all(member.isfile() and member.name.startswith(top) for member in members)
    assert {member.name.removeprefix(top) for member in members} == want | {"PKG-INFO"}
