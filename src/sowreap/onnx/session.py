"""Run ONNX models with the interface of onnxruntime."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from onnx import ModelProto

from sowreap._errors import ArgumentError
from sowreap.onnx._evaluator import NodeRecord
from sowreap.onnx._onnxruntime_engine import OnnxruntimeEngine
from sowreap.onnx._reference_engine import ReferenceEngine
from sowreap.onnx._rewrite import Placement

ENGINES: dict[str, type[OnnxruntimeEngine | ReferenceEngine]] = {
    "onnxruntime": OnnxruntimeEngine,
    "reference": ReferenceEngine,
}


class InferenceSession:
    """A model, ready to run: gathers and scatters on sowreap, all else on the engine.

    With ``engine="onnxruntime"`` everything of :class:`onnxruntime.InferenceSession` is here, by
    the same names; what is not listed below is handed on.

    Parameters
    ----------
    model : path, bytes or onnx.ModelProto
        The model. External data is found beside the file of a path.
    sess_options : onnxruntime.SessionOptions, optional
        Options of the session. The library of kernels is registered with them, once.
    providers : sequence of str or (str, dict), optional
        Execution providers. With any other than the CPU's, the model runs unchanged.
    engine : str, optional
        What runs the other nodes: ``"onnxruntime"``, or ``"reference"``, the reference evaluator of
        the package onnx, which has no options and only the methods listed here. There Erf of
        float32 is replaced as well, by one that is equal to the last bit and faster.
    **keywords
        Further arguments of :class:`onnxruntime.InferenceSession`.

    Raises
    ------
    MissingEngineError
        If the package of the engine is not installed.
    ArgumentError
        If an option is not supported, or a gather or scatter node breaks its schema.
    ModelError
        If the reference engine cannot read or run the model.
    Exception
        Whatever onnxruntime raises for a model that it cannot read or run.

    Examples
    --------
    >>> import numpy as np
    >>> from onnx.parser import parse_model
    >>> model = parse_model('''<ir_version: 10, opset_import: ["": 18]>
    ... g (float[n] data, int64[m, 1] indices, float[m] updates) => (float[n] output) {
    ...     output = ScatterND <reduction = "add"> (data, indices, updates)
    ... }''')
    >>> session = InferenceSession(model)
    >>> feeds = {
    ...     "data": np.zeros(3, np.float32),
    ...     "indices": np.array([[1], [1]]),
    ...     "updates": np.array([2, 3], np.float32),
    ... }
    >>> session.run(None, feeds)
    [array([0., 5., 0.], dtype=float32)]
    >>> for node in session.placement():
    ...     print(node.name, node.op_type, node.runs_on)
    output ScatterND sowreap
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | bytes | ModelProto,
        sess_options: Any = None,
        providers: Sequence[Any] | None = None,
        *,
        engine: str = "onnxruntime",
        **keywords: Any,
    ) -> None:
        if engine not in ENGINES:
            raise ArgumentError(
                f"engine={engine!r} is unknown; allowed: {', '.join(map(repr, ENGINES))}.",
                argument="engine",
                value=engine,
            )
        self.engine = engine
        self._engine = ENGINES[engine](model, sess_options, providers, keywords)
        self._run = self._engine.run
        # (onnxruntime would ask for them in each run that names none.)
        self._output_names = [output.name for output in self.get_outputs()]

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: Any = None,
    ) -> list[Any]:
        """Run the model.

        Parameters
        ----------
        output_names : sequence of str or None
            Outputs to return, in this order; None or nothing for all.
        input_feed : dict of str to array
            A value for each input, and for overridable initializers if wanted.
        run_options : onnxruntime.RunOptions, optional
            Options of this run; the reference engine has none.

        Returns
        -------
        list
            Arrays, new memory; lists for sequences, dicts for maps.

        Raises
        ------
        ArgumentError, DtypeError, ShapeError
            Reference engine: if a name is unknown or missing, or a value does not fit its input.
        OutOfRangeError
            Reference engine: if a gather or scatter meets an index outside its axis.
        RunError
            Reference engine: if another node fails.
        Exception
            Engine onnxruntime: what onnxruntime raises; where a gather or scatter failed, its text
            is that of sowreap's own error.
        """
        try:
            return self._run(output_names or self._output_names, input_feed, run_options)
        except Exception:
            self._engine.explain(input_feed)
            raise

    def placement(self) -> list[Placement]:
        """Return where each gather and scatter runs, those in bodies too, and why.

        Returns
        -------
        list of Placement
            Empty for a model without any, and for one that runs unchanged.
        """
        return self._engine.placement()

    def run_profiled(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        repeat: int = 1,
    ) -> tuple[list[Any], list[NodeRecord]]:
        """Run the model and time its nodes.

        On onnxruntime the runs are those of a session of their own, which writes a profile.

        Parameters
        ----------
        output_names, input_feed
            As for :meth:`run`.
        repeat : int, optional
            How many runs to take medians of; the reference engine times one.

        Returns
        -------
        outputs : list
            As from :meth:`run`.
        records : list of NodeRecord
            One for each node of the main graph, in the order in which they ran.
        """
        return self._engine.run_profiled(output_names, input_feed, repeat)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_engine" not in vars(self):
            raise AttributeError(name)
        engine = vars(self)["_engine"]
        if isinstance(engine, ReferenceEngine):
            if hasattr(engine, name) and not name.startswith("_"):
                return getattr(engine, name)
            raise AttributeError(f"InferenceSession with engine='reference' has no {name!r}")
        return getattr(engine.session, name)
