"""Models whose files are links into a folder of blobs, as caches of model hubs keep them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from numpy.testing import assert_array_equal
from onnx import ModelProto, TensorProto
from onnx.parser import parse_model

import sowreap
from sowreap._cli.app import cli
from sowreap._cli.peers import run_peer
from sowreap.onnx import InferenceSession, ModelError

TABLE = np.arange(12, dtype=np.float32).reshape(3, 4)
FEEDS = {"i": np.array([2, -3])}
WANTED = TABLE[[2, 0]] + TABLE[[2, 0]]


def model_of(*locations: str) -> ModelProto:
    """A model with two tables; where one location is given, both are there."""
    model = parse_model(
        """<ir_version: 10, opset_import: ["": 18]>
        main (int64[n] i) => (float[n, 4] y)
        { a = Gather (first, i) b = Gather (second, i) y = Add (a, b) }"""
    )
    for name, location in zip(("first", "second"), (*locations, locations[-1]), strict=False):
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=TABLE.shape)
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=location)
        model.graph.initializer.append(tensor)
    return model


class Cache:
    """A folder of links, and beside it the blobs that they lead to."""

    def __init__(self, root: Path) -> None:
        self.blobs = root / "blobs"
        self.folder = root / "snapshots" / "0af3" / "onnx"
        self.secrets = root / "secrets"
        for folder in (self.blobs, self.folder, self.secrets):
            folder.mkdir(parents=True)
        (self.blobs / "b10b").write_bytes(TABLE.tobytes())
        (self.secrets / "b10b").write_bytes(TABLE.tobytes())
        self.path = self.folder / "model.onnx"

    def put(self, model: ModelProto, *, linked: bool = True) -> Path:
        if linked:
            (self.blobs / "40de1").write_bytes(model.SerializeToString())
            self.link("model.onnx", self.blobs / "40de1")
        else:
            self.path.write_bytes(model.SerializeToString())
        return self.path

    def link(self, name: str, target: Path) -> None:
        (self.folder / name).symlink_to(os.path.relpath(target, self.folder))


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path)


@pytest.fixture(params=["reference", "onnxruntime"])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "onnxruntime":
        pytest.importorskip("onnxruntime", reason="the engine is optional")
    return request.param


def result(model: object, engine: str) -> np.ndarray:
    return InferenceSession(model, engine=engine).run(None, FEEDS)[0]


def test_links_of_a_cache_are_followed(cache, engine):
    path = cache.put(model_of("model.onnx_data"))
    cache.link("model.onnx_data", cache.blobs / "b10b")
    before = path.read_bytes()
    assert_array_equal(result(path, engine), WANTED)
    assert sowreap.onnx.check(path) == []
    assert path.read_bytes() == before


def test_some_data_behind_a_link_and_some_in_the_folder(cache, engine):
    path = cache.put(model_of("linked", "deep/plain"))
    cache.link("linked", cache.blobs / "b10b")
    (cache.folder / "deep").mkdir()
    (cache.folder / "deep" / "plain").write_bytes(TABLE.tobytes())
    assert_array_equal(result(path, engine), WANTED)


def test_links_within_the_folder_are_followed(cache, engine):
    path = cache.put(model_of("linked"), linked=False)
    (cache.folder / "deep").mkdir()
    (cache.folder / "deep" / "plain").write_bytes(TABLE.tobytes())
    cache.link("linked", cache.folder / "deep" / "plain")
    assert_array_equal(result(path, engine), WANTED)


def test_runtimes_without_a_setting_for_the_folder(cache, monkeypatch):
    """Up to onnxruntime 1.21 the data are read into the model."""
    pytest.importorskip("onnxruntime", reason="the engine is optional")
    monkeypatch.setattr("sowreap.onnx._onnxruntime_engine.FIRST_WITH_EXTERNAL_FOLDER", (99, 0))
    path = cache.put(model_of("model.onnx_data"))
    cache.link("model.onnx_data", cache.blobs / "b10b")
    assert_array_equal(result(path, "onnxruntime"), WANTED)


def test_convert_follows_the_links(cache, tmp_path):
    path = cache.put(model_of("model.onnx_data"))
    cache.link("model.onnx_data", cache.blobs / "b10b")
    sowreap.onnx.convert(path, tmp_path / "converted.onnx")
    loaded = onnx.load(tmp_path / "converted.onnx")
    assert_array_equal(onnx.numpy_helper.to_array(loaded.graph.initializer[0]), TABLE)


@pytest.mark.parametrize("peer", ["onnx", "onnxruntime"])
def test_the_command_compares_linked_models(cache, engine, peer, tmp_path):
    if peer == "onnxruntime":
        pytest.importorskip("onnxruntime", reason="the peer is optional")
    path = cache.put(model_of("model.onnx_data"))
    cache.link("model.onnx_data", cache.blobs / "b10b")
    np.savez(tmp_path / "feeds.npz", **FEEDS)
    given = ["run", str(path), "--inputs", str(tmp_path / "feeds.npz")]
    done = CliRunner().invoke(cli, [*given, "--engine", engine, "--compare", peer])
    assert done.exit_code == 0, done.output
    assert "largest difference 0" in done.output


def out_of_both_folders(cache: Cache) -> ModelProto:
    cache.link("linked", cache.secrets / "b10b")
    return model_of("linked")


def one_of_two(cache: Cache) -> ModelProto:
    cache.link("good", cache.blobs / "b10b")
    cache.link("linked", cache.secrets / "b10b")
    return model_of("good", "linked")


def over_a_link_in_the_blobs(cache: Cache) -> ModelProto:
    (cache.blobs / "hop").symlink_to(cache.secrets / "b10b")
    cache.link("linked", cache.blobs / "hop")
    return model_of("linked")


def through_a_linked_folder(cache: Cache) -> ModelProto:
    """The link is no file of the model's folder, but a folder that anything may be put into."""
    cache.link("linked", cache.blobs)
    return model_of("linked/b10b")


def past_the_link(cache: Cache) -> ModelProto:
    return model_of("../../../blobs/b10b")


def in_a_loop(cache: Cache) -> ModelProto:
    cache.link("linked", cache.folder / "other")
    cache.link("other", cache.folder / "linked")
    return model_of("linked")


def at_what_onnxruntime_takes_for_memory(cache: Cache) -> ModelProto:
    place = cache.folder / "*" / "_ORT_MEM_ADDR_"
    place.mkdir(parents=True)
    (place / "b10b").write_bytes(TABLE.tobytes())
    cache.link("linked", place / "b10b")
    return model_of("linked")


def before_a_good_location(cache: Cache) -> ModelProto:
    cache.link("good", cache.blobs / "b10b")
    model = model_of("../../../secrets/b10b", "good")
    model.graph.initializer[0].external_data.add(key="location", value="good")
    return model


def before_an_empty_location(cache: Cache) -> ModelProto:
    model = model_of("../../../secrets/b10b")
    for tensor in model.graph.initializer:
        tensor.external_data.add(key="location", value="")
    return model


HOSTILE = (
    out_of_both_folders,
    one_of_two,
    over_a_link_in_the_blobs,
    through_a_linked_folder,
    past_the_link,
    in_a_loop,
    at_what_onnxruntime_takes_for_memory,
    before_a_good_location,
    before_an_empty_location,
)


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What onnxruntime is given, if it is there, instead of running it."""
    given: list[object] = []
    try:
        import onnxruntime
    except ImportError:
        return given
    monkeypatch.setattr(
        onnxruntime, "InferenceSession", lambda model, *_, **__: given.append(model)
    )
    return given


@pytest.mark.parametrize("place", HOSTILE, ids=lambda place: place.__name__)
def test_other_links_are_refused(place, cache, engine, sessions):
    path = cache.put(place(cache))
    with pytest.raises(ModelError, match="outside the folder of the model"):
        InferenceSession(path, engine=engine)
    assert not sessions


def test_a_link_to_the_blobs_beside_a_model_that_is_no_link_is_refused(cache, engine, sessions):
    cache.link("linked", cache.blobs / "b10b")
    path = cache.put(model_of("linked"), linked=False)
    with pytest.raises(ModelError, match="outside the folder of the model"):
        InferenceSession(path, engine=engine)
    assert not sessions


@pytest.mark.parametrize("peer", ["onnx", "onnxruntime"])
@pytest.mark.parametrize("place", HOSTILE, ids=lambda place: place.__name__)
def test_no_peer_is_given_what_a_session_refuses(place, peer, cache, sessions):
    if peer == "onnxruntime":
        pytest.importorskip("onnxruntime", reason="the peer is optional")
    outcome = run_peer(peer, cache.put(place(cache)), FEEDS, 1)
    assert outcome.values is None
    assert "outside the folder of the model" in outcome.failure
    assert not sessions
