"""The stub of the extension module is what its generator makes of the module."""

from pathlib import Path

from nanobind.stubgen import StubGen

import sowreap
from sowreap import _core


def test_stub_is_current():
    generator = StubGen(_core, quiet=True)
    generator.put(_core)
    stub = Path(sowreap.__file__).parent / "_core.pyi"
    assert stub.read_text(encoding="utf-8") == generator.get()
