"""Colours of pictures: told apart with any kind of colour vision, readable on light and dark."""

from __future__ import annotations

from typing import NamedTuple


class Scheme(NamedTuple):
    """Colours on one background.

    `fills` lie under `ink`; `strokes` are for lines on `ground`, in the same order. Neighbours in
    the order are far apart with any kind of colour vision, so that cells side by side are too.
    """

    ground: str
    card: str
    ink: str
    muted: str
    cell: str
    rule: str
    bad: str
    bad_fill: str
    focus: str
    fills: tuple[str, ...]
    strokes: tuple[str, ...]

    def variables(self) -> str:
        """Return the colours as custom properties of CSS."""
        plain = {k.replace("_", "-"): v for k, v in self._asdict().items() if isinstance(v, str)}
        plain |= {f"fill-{k}": colour for k, colour in enumerate(self.fills)}
        plain |= {f"line-{k}": colour for k, colour in enumerate(self.strokes)}
        return "".join(f"--srx-{name}:{colour};" for name, colour in plain.items())


LIGHT = Scheme(
    ground="#ffffff",
    card="#f7f8fa",
    ink="#1b2027",
    muted="#59636f",
    cell="#eceff3",
    rule="#d5dae1",
    bad="#b3261e",
    bad_fill="#fdecea",
    focus="#0b57d0",
    fills=(
        "#a5cdf7",
        "#cbd08a",
        "#f3b3cf",
        "#c3b1f0",
        "#8fd3b4",
        "#f4e68c",
        "#9fe3ea",
        "#f6b67f",
    ),
    strokes=(
        "#1f6fb8",
        "#686d1d",
        "#ae3a69",
        "#6546b8",
        "#17784f",
        "#857000",
        "#0e7680",
        "#b3560d",
    ),
)
DARK = Scheme(
    ground="#14181e",
    card="#1b2028",
    ink="#eef1f5",
    muted="#a3adba",
    cell="#2a313b",
    rule="#3a434f",
    bad="#ff9a90",
    bad_fill="#43201d",
    focus="#8ab8ff",
    fills=(
        "#1d5fa3",
        "#6a6a1c",
        "#8a2a58",
        "#5a449f",
        "#1b6e4a",
        "#4d4a00",
        "#0d5560",
        "#8a4a10",
    ),
    strokes=(
        "#7db8f2",
        "#bcc36a",
        "#ee97bd",
        "#b39df0",
        "#6fcaa2",
        "#e3d05c",
        "#78d5df",
        "#f2a766",
    ),
)
