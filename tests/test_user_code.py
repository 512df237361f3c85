"""Code of the user that runs while arguments are read, and changes other arguments meanwhile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sowreap
from sowreap import _core

LENGTH = 1 << 21  # far more than an allocator keeps after it was freed


class Foreign:
    """An array of another library, whose class is asked for again and again."""

    questions = 0
    answer: Any = None  # called with the number of the question

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    @property
    def __class__(self) -> type:
        Foreign.questions += 1
        if Foreign.answer is not None:
            Foreign.answer(Foreign.questions)
        return Foreign

    def __dlpack__(self, *, max_version: Any = None, **_: Any) -> Any:
        return self.array.__dlpack__(max_version=max_version)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __array_namespace__(self) -> Any:
        return np


def scatter(answer: Any, indices: np.ndarray) -> Any:
    data, updates = np.zeros(4, np.float32), np.ones(LENGTH, np.float32)
    arguments = Foreign(data), indices, Foreign(updates)
    Foreign.questions, Foreign.answer = 0, answer
    try:
        return sowreap.scatter_elements(*arguments, reduction="add")
    finally:
        Foreign.answer = None


def test_no_argument_is_freed_between_its_check_and_its_use():
    pytest.importorskip("torch", reason="with PyTorch loaded every object is asked for its class")
    scatter(None, np.zeros(LENGTH, np.int64))
    questions = Foreign.questions
    assert questions > 4
    refused = 0
    for when in range(1, questions + 1):
        indices = np.zeros(LENGTH, np.int64)

        def free(question: int, when: int = when, indices: np.ndarray = indices) -> None:
            if question == when:
                indices.resize(0, refcheck=False)

        try:
            result = scatter(free, indices)
        except sowreap.ShapeError as error:
            assert error.argument == "updates"  # noqa: PT017
            refused += 1
        else:
            assert result[0] == LENGTH
    assert refused > 4


def test_no_tensor_is_freed_between_its_check_and_its_use():
    torch = pytest.importorskip("torch", reason="PyTorch is optional")
    overrides = pytest.importorskip("torch.overrides", reason="PyTorch is optional")

    class Freeing(overrides.TorchFunctionMode):
        def __init__(self, victim: Any, when: int) -> None:
            super().__init__()
            self.victim, self.when, self.calls = victim, when, 0

        def __torch_function__(self, function, types, args=(), kwargs=None):
            self.calls += 1
            if self.calls == self.when:
                with torch._C.DisableTorchFunction():
                    self.victim.untyped_storage().resize_(0)
            return function(*args, **(kwargs or {}))

    def run(name: str, when: int) -> tuple[int, int]:
        tensors = {
            "data": torch.zeros(LENGTH),
            "indices": torch.zeros(LENGTH, dtype=torch.int64),
            "updates": torch.ones(LENGTH),
            "out": torch.zeros(LENGTH),
        }
        refused = 0
        with Freeing(tensors[name], when) as mode:
            try:
                sowreap.scatter_elements(**tensors, reduction="add")
            except sowreap.DtypeError:
                refused = 1
        return mode.calls, refused

    calls, _ = run("data", 0)
    for name in ("data", "indices", "updates", "out"):
        # The last call tells torch that `out` was written.
        assert sum(run(name, when)[1] for when in range(1, calls)) == calls - 1


@pytest.mark.parametrize(
    ("operator", "shapes", "axis"),
    [
        ("gather_nd", [[3, 4], [2, -1]], 0),
        ("gather_nd", [[3, 4], [2, -60]], 0),
        ("scatter_nd", [[3, 4], [2, -7], [2, 3]], 0),
    ],
)
def test_shapes_of_tuples_of_no_known_length_are_refused(operator, shapes, axis):
    with pytest.raises(sowreap.ArgumentError, match="length of index tuples"):
        _core.infer_shape(operator, shapes, axis)


@pytest.mark.parametrize(
    ("operator", "shapes", "axis", "message"),
    [
        ("gather", [(3, 4), (2, 1), (3, 4)], 0, "other has shape"),
        ("gather", [(3, 4), (2, 1), (3, 4)], 1000, "axis = 1000"),
        ("gather", [(1,) * 64, (1,) * 64, (1,)], 0, "127 dimensions"),
        ("gather_nd", [(3, 4), (2, 1), (3, 4)], 50, "batch_dims = 50"),
        ("gather_nd", [(3, 4), (), (3, 4)], 0, "scalar"),
        ("scatter_elements", [(), (), ()], 0, "scalar"),
        ("scatter_nd", [(3, 4), (100_000,), (3, 4)], 0, "length 100000"),
    ],
)
def test_a_plan_of_shapes_that_do_not_agree_is_refused(operator, shapes, axis, message):
    data, indices, other = shapes
    arrays = np.zeros(data), np.zeros(indices, np.int64), np.zeros(other)
    with pytest.raises(ValueError, match=message):
        _core.explain_plan(operator, *arrays, axis=axis)
