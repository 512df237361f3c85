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
        "#f6b67f",
        "#9fe3ea",
        "#f4e68c",
        "#8fd3b4",
        "#c3b1f0",
        "#f3b3cf",
        "#cbd08a",
    ),
    strokes=(
        "#1f6fb8",
        "#b3560d",
        "#0e7680",
        "#857000",
        "#17784f",
        "#6546b8",
        "#ae3a69",
        "#686d1d",
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
        "#8a4a10",
        "#0d5560",
        "#4d4a00",
        "#1b6e4a",
        "#5a449f",
        "#8a2a58",
        "#6a6a1c",
    ),
    strokes=(
        "#7db8f2",
        "#f2a766",
        "#78d5df",
        "#e3d05c",
        "#6fcaa2",
        "#b39df0",
        "#ee97bd",
        "#bcc36a",
    ),
)
