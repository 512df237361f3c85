"""Development has one release of each package it asks for, users have ranges."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
OF_USERS = {
    "dependencies": PROJECT["project"]["dependencies"],
    "build": PROJECT["build-system"]["requires"],
    **EXTRAS,
}
OF_DEVELOPMENT = {**OF_USERS, **PROJECT["dependency-groups"]}
WORKFLOWS = ROOT / ".github" / "workflows"


def requirements(lines):
    """Requirements of a list, without the package itself and other lists."""
    parsed = [Requirement(line) for line in lines if isinstance(line, str)]
    return [each for each in parsed if each.name != "sowreap"]


def pins():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    parsed = [Requirement(line) for line in lines if line and not line.startswith("#")]
    for each in parsed:
        assert [part.operator for part in each.specifier] == ["=="], f"{each} is no pin"
    return {canonicalize_name(each.name): Version(str(each.specifier)[2:]) for each in parsed}


@pytest.mark.parametrize("name", OF_USERS)
def test_users_have_ranges(name):
    """A lower bound alone: an upper one would hold back whoever has another package beside it."""
    for each in requirements(OF_USERS[name]):
        assert [part.operator for part in each.specifier] == [">="], str(each)


@pytest.mark.parametrize("name", OF_DEVELOPMENT)
def test_development_has_one_release(name):
    known = pins()
    for each in requirements(OF_DEVELOPMENT[name]):
        assert canonicalize_name(each.name) in known, f"{each} has no line in constraints.txt"
        version = known[canonicalize_name(each.name)]
        assert each.specifier.contains(version), f"{each} does not allow the pinned {version}"


@pytest.mark.skipif(not WORKFLOWS.exists(), reason="an sdist has no workflows")
def test_workflows_install_pinned_tools():
    text = "".join(path.read_text() for path in WORKFLOWS.glob("*.yml"))
    installed = re.findall(r"pip install (?!--)(\S+)", text)
    assert installed
    assert all("==" in each for each in installed), installed
