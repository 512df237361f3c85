"""A small encoder with disentangled attention (He et al., "DeBERTa", 2020), in PyTorch.

Attention scores are the sum of content to content, content to position and position to content;
the last two pick the entry of a relative distance with ``torch.gather``.
"""

from __future__ import annotations

import math
import warnings

import onnx
import torch
from torch import Tensor, nn

WORDS, WIDTH, HEADS, SPAN, LAYERS = 97, 32, 4, 8, 2


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    @staticmethod
    def heads(x: Tensor) -> Tensor:
        return x.unflatten(-1, (HEADS, -1)).transpose(-2, -3)

    def forward(self, x: Tensor, distances: Tensor, mask: Tensor) -> Tensor:
        query, key, value = (self.heads(layer(x)) for layer in (self.query, self.key, self.value))
        far_key, far_query = self.heads(self.key(distances)), self.heads(self.query(distances))
        batch, length = x.shape[:2]
        places = torch.arange(length)
        distance = places[:, None] - places[None, :]
        shape = (batch, HEADS, length, length)
        ahead = torch.clamp(distance + SPAN, 0, 2 * SPAN - 1).expand(shape)
        behind = torch.clamp(SPAN - distance, 0, 2 * SPAN - 1).expand(shape)
        scores = query @ key.transpose(-1, -2)
        scores = scores + torch.gather(query @ far_key.transpose(-1, -2), -1, ahead)
        to_content = torch.gather(key @ far_query.transpose(-1, -2), -1, behind)
        scores = (scores + to_content.transpose(-1, -2)) / math.sqrt(3 * query.shape[-1])
        scores = scores.masked_fill(~mask[:, None, None, :], torch.finfo(scores.dtype).min)
        mixed = scores.softmax(-1) @ value
        return self.out(mixed.transpose(-2, -3).flatten(-2))


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.distances = nn.Parameter(torch.randn(2 * SPAN, WIDTH))
        self.attentions = nn.ModuleList(Attention() for _ in range(LAYERS))
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(LAYERS))

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        x = self.words(ids)
        for attention, norm in zip(self.attentions, self.norms, strict=True):
            x = norm(x + attention(x, self.distances, mask))
        return x


def encoder(seed: int = 0) -> nn.Module:
    """Return an encoder with random weights."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return Encoder().eval()


def exported(module: nn.Module) -> onnx.ModelProto:
    """Return the model that PyTorch writes, for any batch and length."""
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("length", min=2)}
    ids = torch.zeros((2, 5), dtype=torch.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter warns of its own code
        program = torch.onnx.export(
            module,
            (ids, torch.ones_like(ids, dtype=torch.bool)),
            input_names=["ids", "mask"],
            output_names=["hidden"],
            dynamic_shapes=(sizes, sizes),
            opset_version=18,
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    return program.model_proto
