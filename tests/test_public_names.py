"""Names and signatures that users build on."""

import inspect
import re

import pytest

import sowreap as sr

GATHER = "mode='raise', fill_value=0, out=None"
SCATTER = "mode='raise', out=None"
SEGMENTS = "(data, segment_ids, num_segments=None)"
SIGNATURES = {
    "gather": f"(data, indices, axis=0, *, {GATHER})",
    "gather_elements": f"(data, indices, axis=0, *, {GATHER})",
    "gather_nd": f"(data, indices, batch_dims=0, *, {GATHER})",
    "scatter": f"(data, indices, updates, axis=0, *, {SCATTER})",
    "scatter_elements": (
        f"(data, indices, updates, axis=0, reduction='none', *, include_self=True, {SCATTER})"
    ),
    "scatter_nd": f"(data, indices, updates, reduction='none', *, include_self=True, {SCATTER})",
    "tensor_scatter": (
        "(past_cache, update, write_indices=None, axis=-2, mode='linear', *, out=None)"
    ),
    "index_add": f"(data, indices, updates, axis=0, *, {SCATTER})",
    "take_along_axis": "(x, indices, axis=-1, *, mode='raise')",
    "put_along_axis": "(x, indices, values, axis=-1, *, mode='raise')",
    "segment_sum": SEGMENTS,
    "segment_prod": SEGMENTS,
    "segment_min": SEGMENTS,
    "segment_max": SEGMENTS,
    "segment_mean": SEGMENTS,
    "bincount": "(indices, weights=None, minlength=0)",
    "scatter_argmax": "(updates, indices, axis=0, size=None)",
    "scatter_argmin": "(updates, indices, axis=0, size=None)",
    "set_num_threads": "(n)",
    "get_num_threads": "()",
    "set_pool_limit": "(limit)",
    "get_pool_limit": "()",
}
ERRORS = {
    "SowreapError": Exception,
    "OutOfRangeError": IndexError,
    "ShapeError": ValueError,
    "ArgumentError": ValueError,
    "DtypeError": TypeError,
}


def test_exported_names():
    assert set(sr.__all__) == {*SIGNATURES, *ERRORS, "__version__"}
    assert sorted(sr.__all__) == sr.__all__


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature(name):
    signature = inspect.signature(getattr(sr, name))
    plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    bare = signature.replace(parameters=plain, return_annotation=signature.empty)
    assert str(bare) == SIGNATURES[name]


@pytest.mark.parametrize("name", SIGNATURES)
def test_documented_and_annotated(name):
    function = getattr(sr, name)
    assert function.__module__.startswith("sowreap")
    assert function.__name__ == name
    assert ">>> " in function.__doc__
    parameters = inspect.signature(function).parameters
    assert [p for p in parameters.values() if p.annotation is p.empty] == []
    for parameter in parameters:
        assert re.search(rf"(?m)^    (\w+, )*{parameter}(, \w+)* :", function.__doc__)


@pytest.mark.parametrize("name", ERRORS)
def test_error_class(name):
    error = getattr(sr, name)
    assert issubclass(error, ERRORS[name])
    assert issubclass(error, sr.SowreapError)
    facts = {"operator": "gather", "argument": "indices", "position": (1,), "value": 5}
    made = error("text", **facts, axis=0, length=3)
    assert str(made) == "text"
    assert {key: getattr(made, key) for key in facts} == facts
    assert (made.axis, made.length) == (0, 3)


def test_version():
    from importlib.metadata import version

    assert sr.__version__ == version("sowreap")
