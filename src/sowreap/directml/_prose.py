"""What the operators do, for people: a definition as pseudo-code, and remarks in two languages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Prose:
    """What to say about one operator.

    Attributes
    ----------
    definition : str
        Pseudo-code.
    remarks : tuple of (str, str)
        In English and in Japanese.
    """

    definition: str
    remarks: tuple[tuple[str, str], ...]


_NEGATIVE = (
    "Index types INT32 and INT64 (level 3_0 on) may hold negative values: -1 is the last position."
    " UINT32 and UINT64 are never negative.",
    "INT32 と INT64 のインデックス (レベル 3_0 以降) は負の値をとれる。-1 は末尾の位置を表す。"
    "UINT32 と UINT64 は負にならない。",
)
_READ_OUTSIDE = (
    "An index beyond the axis does not fail: the value read is wrong, but the read stays inside"
    " the input's memory.",
    "軸の範囲を超えるインデックスがあってもエラーにはならない。読み取る値は誤りになるが、"
    "入力のメモリの外は読まない。",
)
_READ_UNDOCUMENTED = (
    "What an index beyond its dimension reads is not documented.",
    "範囲外のインデックスで何が読み取られるかは公表されていない。",
)
_WRITE_UNDOCUMENTED = (
    "What an index beyond its dimension does is not documented; do not rely on anything.",
    "範囲外のインデックスがどう扱われるかは公表されていない。何も当てにしないこと。",
)
_DUPLICATES = (
    "Two indices that lead to the same element are invalid; which update remains is left open."
    " -1 and the last position are the same element.",
    "2 つのインデックスが同じ要素を指すのは誤りで、どちらの更新値が残るかは決まっていない。"
    "-1 と末尾の位置は同じ要素とみなす。",
)
_NO_REDUCTION = (
    "Updates replace; there is no reduction.",
    "更新値は置き換えるだけで、加算などの集約はできない。",
)
_NOT_IN_PLACE = (
    "The output may not share memory with an input.",
    "出力は入力とメモリを共有できない。",
)
_TUPLE = (
    "t, the size of the last dimension of IndicesTensor, is from 1 to the number of input"
    " dimensions that are meant, after the batch dimensions.",
    "IndicesTensor の最後の次元のサイズ t は、1 以上、意味を持つ入力の次元数"
    " (バッチの次元を除く) 以下にする。",
)

_GATHER_ND_REMARKS = (
    (
        "N is InputDimensionCount and M is IndicesDimensionCount, each from 1 to DimensionCount;"
        " the tuple addresses the first t of the last N input dimensions, and a slice r of the"
        " other N - t is copied.",
        "N は InputDimensionCount、M は IndicesDimensionCount で、どちらも 1 以上"
        " DimensionCount 以下。座標の組は入力の末尾 N 次元のうち先頭の t 次元を指し、"
        "残る N - t 次元のスライス r を写す。",
    ),
    _TUPLE,
    _NEGATIVE,
    _READ_UNDOCUMENTED,
    _NOT_IN_PLACE,
)
_BATCHES = (
    "B is BatchDimensionCount, less than N and than M. The batch dimensions are the first B of"
    " those meant, and their sizes are equal in input and indices. With B = 0 this is GATHER_ND.",
    "B は BatchDimensionCount で、N より小さく M より小さい値にする。バッチの次元は意味を持つ"
    "次元のうち先頭の B 個で、入力とインデックスで同じサイズにする。B = 0 なら GATHER_ND と同じ。",
)

PROSE = {
    "DML_OPERATOR_GATHER": Prose(
        """\
for each coordinate left of the input dimensions before Axis:
    for each coordinate q of the last IndexDimensions dimensions of the indices:
        for each coordinate right of the input dimensions after Axis:
            output[left, q, right] = input[left, indices[q], right]""",
        (
            (
                "Sizes: those of the input before Axis, the last IndexDimensions of the indices,"
                " those of the input after Axis; filled up with ones on the left, or cut there"
                " where the entries cut are 1.",
                "出力のサイズは、Axis より前の入力のサイズ、インデックスの末尾 IndexDimensions 個の"
                "サイズ、Axis より後の入力のサイズの順に並べたもの。足りなければ左に 1 を補い、"
                "余れば左端の 1 を取り除く。",
            ),
            (
                "IndexDimensions is at most DimensionCount; 0 drops the axis. The dimensions of"
                " IndicesTensor before those are 1.",
                "IndexDimensions は DimensionCount 以下で、0 なら軸そのものがなくなる。"
                "IndicesTensor のそれより前の次元は 1 にする。",
            ),
            _NEGATIVE,
            _READ_OUTSIDE,
            _NOT_IN_PLACE,
        ),
    ),
    "DML_OPERATOR_GATHER_ELEMENTS": Prose(
        """\
for each coordinate c of indices:
    output[c] = input[c with c[Axis] replaced by indices[c]]

// Axis == 0:  output[i, j, k, ...] = input[indices[i, j, k, ...], j, k, ...]
// Axis == 1:  output[i, j, k, ...] = input[i, indices[i, j, k, ...], k, ...]
// Axis == 2:  output[i, j, k, ...] = input[i, j, indices[i, j, k, ...], ...]""",
        (_NEGATIVE, _READ_UNDOCUMENTED, _NOT_IN_PLACE),
    ),
    "DML_OPERATOR_GATHER_ND": Prose(
        """\
for each coordinate q of the indices without their last dimension:
    for each coordinate r of a slice:
        output[q, r] = input[indices[q], r]""",
        _GATHER_ND_REMARKS,
    ),
    "DML_OPERATOR_GATHER_ND1": Prose(
        """\
for each coordinate b of the batch dimensions:
    for each coordinate q of the other indices dimensions but the last:
        for each coordinate r of a slice:
            output[b, q, r] = input[b, indices[b, q], r]""",
        (_BATCHES, *_GATHER_ND_REMARKS),
    ),
    "DML_OPERATOR_SCATTER": Prose(
        """\
output = input
for each coordinate c of indices:
    output[c with c[Axis] replaced by indices[c]] = updates[c]

// Axis == 0:  output[indices[i, j, k, ...], j, k, ...] = updates[i, j, k, ...]
// Axis == 1:  output[i, indices[i, j, k, ...], k, ...] = updates[i, j, k, ...]
// Axis == 2:  output[i, j, indices[i, j, k, ...], ...] = updates[i, j, k, ...]""",
        (
            (
                "The counterpart is GATHER_ELEMENTS, which reads where this writes; GATHER, which"
                " moves whole slices, is not. Hence the second name SCATTER_ELEMENTS.",
                "対になる演算子は、書き込む位置と同じ位置を読み取る GATHER_ELEMENTS であり、"
                "スライス単位で動く GATHER ではない。SCATTER_ELEMENTS という別名はこのためにある。",
            ),
            _NO_REDUCTION,
            _DUPLICATES,
            _NEGATIVE,
            _WRITE_UNDOCUMENTED,
            _NOT_IN_PLACE,
        ),
    ),
    "DML_OPERATOR_SCATTER_ND": Prose(
        """\
output = input
for each coordinate q of the indices without their last dimension:
    for each coordinate r of a slice:
        output[indices[q], r] = updates[q, r]""",
        (
            (
                "N is InputDimensionCount and M is IndicesDimensionCount, each from 1 to"
                " DimensionCount; the tuple addresses the first t of the last N input dimensions,"
                " and a slice r of the other N - t is written.",
                "N は InputDimensionCount、M は IndicesDimensionCount で、どちらも 1 以上"
                " DimensionCount 以下。座標の組は入力の末尾 N 次元のうち先頭の t 次元を指し、"
                "残る N - t 次元のスライス r を書き込む。",
            ),
            _TUPLE,
            _NO_REDUCTION,
            _DUPLICATES,
            _NEGATIVE,
            _WRITE_UNDOCUMENTED,
            _NOT_IN_PLACE,
        ),
    ),
}
"""By the operator's name in the schema."""
