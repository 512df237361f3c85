"""Results have the same bits for every number of threads, and are those of the loop.

Every form of work is here in a size that several threads share: slices and elements, few cells
with many updates, many and few independent lines, wide and single items, smaller indices.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

import sowreap as sr
from cases import SCATTERS, as_dtype, assert_same, call

UFUNCS = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
THREADS = (1, 2, 3, 8)


def values(rng, dtype, *shape):
    """Numbers without NaN, near 1 so that sums and products keep depending on their order."""
    if dtype.kind in "iu":
        return rng.integers(0, 100, shape).astype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    numbers = rng.normal(1, 0.1, shape)
    if dtype.kind == "c":
        numbers = numbers * np.exp(1j * rng.random(shape))
    return numbers.astype(dtype)


def picks(rng, length, *shape):
    return rng.integers(-length, length, shape)


def elements(data, shape, axis, change=lambda indices: indices):
    """A form of the *Elements operators, by the shapes of data and indices."""

    def build(rng, dtype):
        indices = change(picks(rng, data[axis], *shape))
        inputs = {"data": values(rng, dtype, *data), "indices": indices}
        return inputs | {"updates": values(rng, dtype, *shape)}, {"axis": axis}

    return build


def tuples(data, rows, depth):
    """A form of the *ND operators: so many rows of index tuples."""

    def build(rng, dtype):
        limits = np.array(data[:depth])
        inputs = {
            "data": values(rng, dtype, *data),
            "indices": rng.integers(-limits, limits, (*rows, depth)),
            "updates": values(rng, dtype, *rows, *data[depth:]),
        }
        return inputs, {}

    return build


ELEMENTS = {
    "columns": elements((1500, 300), (1500, 300), 0),
    "columns at a power-of-two pitch": elements((4096, 128), (4096, 128), 0),
    "narrow columns": elements((60_000, 9), (60_000, 9), 0),
    "rows": elements((1500, 300), (1500, 300), 1),
    "one line": elements((5_000,), (400_000,), 0),
    "few cells, many updates": elements((3, 4), (150_000, 4), 0),
    "one cell": elements((1,), (300_000,), 0),
    "many outer": elements((20_000, 5, 4), (20_000, 5, 4), 1),
    "middle axis": elements((20, 200, 130), (20, 150, 130), 1),
    "smaller indices": elements((1500, 300), (4000, 130), 0),
    "smaller indices, many outer": elements((300, 70, 40), (200, 90, 25), 1),
    "expanded indices": elements(
        (2000, 64), (9000, 64), 0, lambda a: np.broadcast_to(a[:, :1], a.shape)
    ),
    "expanded indices, written out": elements(
        (2000, 64), (9000, 64), 0, lambda a: np.repeat(a[:, :1], a.shape[1], 1)
    ),
    "indices of 32 bits": elements((1500, 300), (1500, 300), 0, lambda a: a.astype(np.int32)),
    "indices of 8 bits": elements((100, 3000), (200, 3000), 0, lambda a: a.astype(np.int8)),
    "column-major indices": elements((1500, 300), (1500, 300), 0, np.asfortranarray),
}
TUPLES = {
    "rows": tuples((3000, 64), (9000,), 1),
    "single items": tuples((5000,), (400_000,), 1),
    "few cells, many updates": tuples((3, 16), (40_000,), 1),
    "one cell": tuples((1, 32), (20_000,), 1),
    "narrow rows": tuples((40_000, 3), (200_000,), 1),
    "wide rows": tuples((4, 150_000), (7,), 1),
    "two coordinates": tuples((50, 60, 8), (60_000,), 2),
    "three coordinates": tuples((30, 40, 50), (300_000,), 3),
    "rows of tuples": tuples((300, 64), (30, 300), 1),
    "all of data": tuples((500, 400), (5,), 0),
}


def flat_cells(operator, inputs, attributes):
    """The flat position in data that each element of updates meets, in the order of the loop."""
    data, indices = inputs["data"], inputs["indices"].astype(np.int64)
    if operator.endswith("elements"):
        axis = attributes["axis"]
        places = list(np.indices(indices.shape, sparse=True))
        places[axis] = indices % data.shape[axis]
        places = np.broadcast_arrays(*places)
    else:
        depth, head = indices.shape[-1], indices.shape[:-1]
        tail = data.shape[depth:]
        places = [
            np.broadcast_to(
                (indices[..., j] % data.shape[j]).reshape(head + (1,) * len(tail)), head + tail
            )
            for j in range(depth)
        ]
        places += [np.broadcast_to(place, head + tail) for place in np.indices(tail)]
    return np.ravel_multi_index(places, data.shape)


def expected_gather(operator, inputs, attributes):
    return inputs["data"].reshape(-1)[flat_cells(operator, inputs, attributes)]


def expected_scatter(operator, inputs, attributes, reduction):
    """NumPy's own loop over flat positions, one after the other."""
    want = inputs["data"].copy()
    flat, cells = want.reshape(-1), flat_cells(operator, inputs, attributes).reshape(-1)
    updates = inputs["updates"].reshape(-1)
    if reduction == "none":
        flat[cells] = updates
    else:
        UFUNCS[reduction].at(flat, cells, updates)
    return want


FORMS = [("elements", name) for name in ELEMENTS] + [("nd", name) for name in TUPLES]


def build(form, seed, dtype):
    suffix, name = form
    return (ELEMENTS if suffix == "elements" else TUPLES)[name](np.random.default_rng(seed), dtype)


def assert_same_for_all_threads(operator, inputs, attributes, want):
    for threads in THREADS:
        sr.set_num_threads(threads)
        result = call(operator, inputs, attributes)
        assert_same(result, want)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "complex128", "V3"])
@pytest.mark.parametrize("form", FORMS, ids="-".join)
def test_gather(form, dtype):
    inputs, attributes = build(form, 0, np.dtype("float32" if dtype == "V3" else dtype))
    if dtype == "V3":
        inputs["data"] = np.ascontiguousarray(inputs["data"]).view("V4").astype("V3")
    del inputs["updates"]
    operator = "gather_" + form[0]
    want = expected_gather(operator, inputs, attributes)
    assert_same_for_all_threads(operator, inputs, attributes, want)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "min", "max"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "bool"])
@pytest.mark.parametrize("form", FORMS, ids="-".join)
def test_scatter(form, dtype, reduction):
    inputs, attributes = build(form, 1, np.dtype(dtype))
    operator = "scatter_" + form[0]
    with np.errstate(all="ignore"):
        want = expected_scatter(operator, inputs, attributes, reduction)
    attributes["reduction"] = reduction
    assert_same_for_all_threads(operator, inputs, attributes, want)
    call(operator, inputs, attributes, out=inputs["data"])  # in place, with eight threads
    assert_same(inputs["data"], want)


@pytest.mark.parametrize(
    ("dtype", "reduction"),
    [
        ("complex64", "mul"),
        ("complex128", "none"),
        ("complex128", "add"),
        ("complex128", "mul"),
        ("bfloat16", "add"),
        ("bfloat16", "max"),
        ("longdouble", "mul"),
        ("float8_e5m2", "add"),
    ],
)
@pytest.mark.parametrize("form", FORMS, ids="-".join)
def test_scatter_of_other_numbers(form, dtype, reduction):
    """NumPy's own loop rounds some of these otherwise, so one thread is the measure."""
    inputs, attributes = build(form, 2, as_dtype(dtype))
    operator, attributes["reduction"] = "scatter_" + form[0], reduction
    sr.set_num_threads(1)
    want = call(operator, inputs, attributes)
    assert_same_for_all_threads(operator, inputs, attributes, want)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(40, 50, 300), (300, 3, 700), (2, 3, 100_000)])
def test_gather_along_each_axis(axis, shape):
    rng = np.random.default_rng(3)
    data, indices = values(rng, np.dtype(np.float32), *shape), picks(rng, shape[axis], 2, 8)
    inputs, attributes = {"data": data, "indices": indices}, {"axis": axis}
    assert_same_for_all_threads("gather", inputs, attributes, np.take(data, indices, axis))


@pytest.mark.parametrize("batch_dims", [1, 2])
def test_gather_nd_in_batches(batch_dims):
    rng = np.random.default_rng(4)
    data = values(rng, np.dtype(np.float32), 30, 20, 40, 25)
    batch = data.shape[:batch_dims]
    indices = picks(rng, data.shape[batch_dims], *batch, 60, 1)
    places = np.indices((*batch, 60), sparse=True)[:-1]
    want = data[(*places, indices[..., 0])]
    inputs = {"data": data, "indices": indices}
    assert_same_for_all_threads("gather_nd", inputs, {"batch_dims": batch_dims}, want)


@pytest.mark.parametrize("mode", ["linear", "circular"])
@pytest.mark.parametrize("shape", [(8, 16, 512, 64), (500, 2, 40, 64)])
def test_tensor_scatter(mode, shape):
    rng = np.random.default_rng(5)
    cache = values(rng, np.dtype(np.float32), *shape)
    update = values(rng, np.dtype(np.float32), *shape[:2], 9, shape[3])
    starts = rng.integers(0, shape[2] - 9 if mode == "linear" else 10**6, shape[0])
    want = cache.copy()
    for row, start in enumerate(starts):
        want[row][:, (start + np.arange(9)) % shape[2]] = update[row]
    inputs = {"past_cache": cache, "update": update, "write_indices": starts}
    assert_same_for_all_threads("tensor_scatter", inputs, {"mode": mode}, want)


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("form", [f for f in FORMS if f[1] != "all of data"], ids="-".join)
def test_first_bad_index(form, threads):
    """Whichever thread meets a bad index first, the error names the first in row-major order."""
    inputs, attributes = build(form, 6, np.dtype(np.float32))
    indices = inputs["indices"] = inputs["indices"].copy()
    places = np.sort(np.random.default_rng(7).choice(indices.size, 5, replace=False))
    for value, place in enumerate(places, 120):
        indices.flat[place] = value if indices.dtype == np.int8 else 10**6 + value
    position = np.unravel_index(places[0], indices.shape)
    sr.set_num_threads(threads)
    for operator in ("gather_" + form[0], "scatter_" + form[0]):
        arrays = inputs if operator in SCATTERS else {k: inputs[k] for k in ("data", "indices")}
        with pytest.raises(sr.OutOfRangeError) as caught:
            call(operator, arrays, attributes)
        assert caught.value.position == position
        assert caught.value.value == indices[position]


# --- indices out of range, means, and results without the base ----------------------------------


def changed(indices, change):
    """`change` applied to each value, strides of 0 kept."""
    first = indices[tuple(slice(0, 1) if step == 0 else slice(None) for step in indices.strides)]
    return np.broadcast_to(change(first), indices.shape)


def stray(indices):
    """About a third of the values moved out of range, as far as their dtype goes."""
    with np.errstate(over="ignore"):
        return np.where(indices % 3 == 0, indices * indices.dtype.type(7), indices)


def lengths(operator, inputs, attributes):
    data = inputs["data"]
    if operator.endswith("elements"):
        return data.shape[attributes["axis"]]
    return np.array(data.shape[: inputs["indices"].shape[-1]])


def present(operator, inputs, attributes):
    """Which elements of updates have a cell, flat."""
    n, indices = lengths(operator, inputs, attributes), inputs["indices"]
    good = (indices >= -n) & (indices < n)
    if operator.endswith("nd"):
        tail = inputs["updates"].shape[indices.ndim - 1 :]
        good = good.all(-1).reshape(indices.shape[:-1] + (1,) * len(tail))
        good = np.broadcast_to(good, inputs["updates"].shape)
    return good.reshape(-1)


def moved(operator, inputs, attributes, mode):
    """The inputs with indices that are in range, and mean the same."""
    if mode != "clip":
        return inputs  # `flat_cells` counts modulo the axis
    n = lengths(operator, inputs, attributes)
    return inputs | {"indices": np.clip(inputs["indices"].astype(np.int64), 0, n - 1)}


@pytest.mark.parametrize("mode", ["wrap", "clip", "absent"])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("form", FORMS, ids="-".join)
def test_modes(form, dtype, mode):
    inputs, attributes = build(form, 8, np.dtype(dtype))
    inputs["indices"] = changed(inputs["indices"], stray)
    suffix, updates = form[0], inputs.pop("updates")
    gather, scatter = "gather_" + suffix, "scatter_" + suffix
    both = inputs | {"updates": updates}
    cells = flat_cells(gather, moved(gather, both, attributes, mode), attributes)
    good = present(scatter, both, attributes) if mode == "absent" else np.ones(cells.size, bool)
    want = inputs["data"].reshape(-1)[cells]
    want[~good.reshape(want.shape)] = 5
    fill = {"mode": "fill", "fill_value": 5} if mode == "absent" else {"mode": mode}
    assert_same_for_all_threads(gather, inputs, attributes | fill, want)

    want = inputs["data"].copy()
    np.add.at(want.reshape(-1), cells.reshape(-1)[good], updates.reshape(-1)[good])
    joining = {"reduction": "add", "mode": "drop" if mode == "absent" else mode}
    assert_same_for_all_threads(scatter, both, attributes | joining, want)
    call(scatter, both, attributes | joining, out=inputs["data"])
    assert_same(inputs["data"], want)


def expected_without_self(inputs, cells, good, reduction):
    """(result, updates of each cell): the first update of each cell, then the others in order."""
    want = inputs["data"].copy()
    cells, updates = cells.reshape(-1)[good], inputs["updates"].reshape(-1)[good]
    touched, first = np.unique(cells, return_index=True)
    want.reshape(-1)[touched] = updates[first]
    later = np.ones(cells.size, bool)
    later[first] = False
    UFUNCS[reduction].at(want.reshape(-1), cells[later], updates[later])
    return want, np.bincount(cells, minlength=want.size).reshape(want.shape)


def mean_of(sums, terms, touched):
    quotient = sums // terms if sums.dtype.kind == "i" else sums / terms.astype(sums.dtype)
    return np.where(touched, quotient, sums).astype(sums.dtype)


@pytest.mark.parametrize("reduction", ["mul", "max", "mean"])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("form", FORMS, ids="-".join)
def test_without_the_base(form, dtype, reduction):
    inputs, attributes = build(form, 9, np.dtype(dtype))
    inputs["indices"] = changed(inputs["indices"], stray)
    operator = "scatter_" + form[0]
    cells, good = flat_cells(operator, inputs, attributes), present(operator, inputs, attributes)
    joined = "add" if reduction == "mean" else reduction
    with np.errstate(over="ignore"):
        want, terms = expected_without_self(inputs, cells, good, joined)
    if reduction == "mean":
        want = mean_of(want, np.maximum(terms, 1), terms > 0)
    attributes |= {"reduction": reduction, "include_self": False, "mode": "drop"}
    assert_same_for_all_threads(operator, inputs, attributes, want)
    call(operator, inputs, attributes, out=inputs["data"])
    assert_same(inputs["data"], want)


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("form", FORMS, ids="-".join)
def test_mean_with_the_base(form, dtype):
    inputs, attributes = build(form, 10, np.dtype(dtype))
    operator = "scatter_" + form[0]
    cells = flat_cells(operator, inputs, attributes).reshape(-1)
    sums = expected_scatter(operator, inputs, attributes, "add")
    terms = np.bincount(cells, minlength=sums.size).reshape(sums.shape)
    want = mean_of(sums, terms + 1, terms > 0)
    assert_same_for_all_threads(operator, inputs, attributes | {"reduction": "mean"}, want)


# --- the setting --------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 1024, np.int64(3)])
def test_set_and_get(n):
    sr.set_num_threads(n)
    assert sr.get_num_threads() == n


@pytest.mark.parametrize("n", [0, -1, 2**40, 2**70])
def test_number_out_of_range(n):
    before = sr.get_num_threads()
    with pytest.raises(sr.ArgumentError, match=f"^set_num_threads: n = {n} is not in"):
        sr.set_num_threads(n)
    assert sr.get_num_threads() == before


@pytest.mark.parametrize("n", [1.0, "2", None])
def test_number_that_is_no_integer(n):
    with pytest.raises(sr.DtypeError, match=r"^set_num_threads: n must be an integer"):
        sr.set_num_threads(n)


def import_with(setting):
    """(number of threads, text on stderr) of a process with the environment variable."""
    code = "import sowreap; print(sowreap.get_num_threads())"
    environment = {k: v for k, v in os.environ.items() if k != "SOWREAP_NUM_THREADS"}
    if setting is not None:
        environment["SOWREAP_NUM_THREADS"] = setting
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout), done.stderr


@pytest.mark.parametrize("setting", ["1", "3", " 5 "])
def test_environment_sets_the_number(setting):
    assert import_with(setting) == (int(setting), "")


@pytest.mark.parametrize("setting", [None, "", " "])
def test_environment_without_a_number(setting):
    threads, text = import_with(setting)
    assert threads >= 1
    assert text == ""


@pytest.mark.parametrize("setting", ["0", "-2", "many", "1.5", "99999999999999999999"])
def test_environment_with_a_bad_number_warns(setting):
    default, _ = import_with(None)
    threads, text = import_with(setting)
    assert threads == default
    assert "RuntimeWarning" in text
    assert f"SOWREAP_NUM_THREADS={setting!r}" in text
