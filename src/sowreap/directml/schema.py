"""The table of DirectML's gather and scatter family: enums, structs, operators, support by level.

All else in :mod:`sowreap.directml` derives from it. Names and values are those of ``DirectML.h``
for target version 0x6400. Where Microsoft's pages contradict their header or their own examples,
the table follows the header; ``docs/directml.md`` lists those places.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sowreap._errors import ArgumentError

KINDS = (
    "pointer_to_struct",
    "com_pointer",
    "void_pointer",
    "uint_pointer",
    "enum_pointer",
    "uint32",
    "uint64",
    "enum32",
    "bool32",
)
"""What a field can be, as far as its place in memory and its spelling in a language go."""

POINTER_KINDS = frozenset(kind for kind in KINDS if "pointer" in kind)

CONSTANTS = {
    "DML_TENSOR_DIMENSION_COUNT_MAX": 5,
    "DML_TENSOR_DIMENSION_COUNT_MAX1": 8,
    "DML_TEMPORARY_BUFFER_ALIGNMENT": 256,
    "DML_PERSISTENT_BUFFER_ALIGNMENT": 256,
    "DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT": 16,
    "E_INVALIDARG": 0x80070057,
}


class DataType(NamedTuple):
    """One member of ``DML_TENSOR_DATA_TYPE``."""

    value: int
    bits: int
    dtype: np.dtype[Any] | None
    """What NumPy calls it; None for the packed 4-bit kinds."""


DATA_TYPES = {
    "FLOAT32": DataType(1, 32, np.dtype("<f4")),
    "FLOAT16": DataType(2, 16, np.dtype("<f2")),
    "UINT32": DataType(3, 32, np.dtype("<u4")),
    "UINT16": DataType(4, 16, np.dtype("<u2")),
    "UINT8": DataType(5, 8, np.dtype("u1")),
    "INT32": DataType(6, 32, np.dtype("<i4")),
    "INT16": DataType(7, 16, np.dtype("<i2")),
    "INT8": DataType(8, 8, np.dtype("i1")),
    "FLOAT64": DataType(9, 64, np.dtype("<f8")),
    "UINT64": DataType(10, 64, np.dtype("<u8")),
    "INT64": DataType(11, 64, np.dtype("<i8")),
    "UINT4": DataType(12, 4, None),
    "INT4": DataType(13, 4, None),
}

FEATURE_LEVELS = {
    "1_0": 0x1000,
    "2_0": 0x2000,
    "2_1": 0x2100,
    "3_0": 0x3000,
    "3_1": 0x3100,
    "4_0": 0x4000,
    "4_1": 0x4100,
    "5_0": 0x5000,
    "5_1": 0x5100,
    "5_2": 0x5200,
    "6_0": 0x6000,
    "6_1": 0x6100,
    "6_2": 0x6200,
    "6_3": 0x6300,
    "6_4": 0x6400,
}
"""Short names and values; a level contains all lower ones."""

DIRECTML_VERSIONS = {
    "1_0": "1.0.0",
    "2_0": "1.1.0",
    "2_1": "1.2.0",
    "3_0": "1.4.0",
    "3_1": "1.5.0",
    "4_0": "1.6.0",
    "4_1": "1.7.0",
    "5_0": "1.8.0",
    "5_1": "1.9.0",
    "5_2": "1.10.0",
    "6_0": "1.11.0",
    "6_1": "1.12.0",
    "6_2": "1.13.0",
    "6_3": "1.15.0",
    "6_4": "1.15.0",
}
"""The DirectML release that brought each feature level."""


def _numbered(prefix: str, names: str) -> dict[str, int]:
    return {prefix + name: value for value, name in enumerate(names.split())}


ENUMS: dict[str, dict[str, int]] = {
    "DML_TENSOR_DATA_TYPE": {
        "DML_TENSOR_DATA_TYPE_UNKNOWN": 0,
        **{f"DML_TENSOR_DATA_TYPE_{name}": kind.value for name, kind in DATA_TYPES.items()},
    },
    "DML_TENSOR_TYPE": _numbered("DML_TENSOR_TYPE_", "INVALID BUFFER"),
    "DML_TENSOR_FLAGS": _numbered("DML_TENSOR_FLAG_", "NONE OWNED_BY_DML"),
    # Of 94 the first name is the one that the schema header uses.
    "DML_OPERATOR_TYPE": {
        "DML_OPERATOR_INVALID": 0,
        "DML_OPERATOR_ELEMENT_WISE_IDENTITY": 1,
        "DML_OPERATOR_GATHER": 67,
        "DML_OPERATOR_SCATTER": 94,
        "DML_OPERATOR_SCATTER_ELEMENTS": 94,
        "DML_OPERATOR_GATHER_ELEMENTS": 107,
        "DML_OPERATOR_GATHER_ND": 108,
        "DML_OPERATOR_SCATTER_ND": 109,
        "DML_OPERATOR_GATHER_ND1": 140,
    },
    "DML_FEATURE_LEVEL": {
        f"DML_FEATURE_LEVEL_{name}": value for name, value in FEATURE_LEVELS.items()
    },
    "DML_BINDING_TYPE": _numbered("DML_BINDING_TYPE_", "NONE BUFFER BUFFER_ARRAY"),
    "DML_FEATURE": _numbered("DML_FEATURE_", "TENSOR_DATA_TYPE_SUPPORT FEATURE_LEVELS"),
    "DML_EXECUTION_FLAGS": {
        "DML_EXECUTION_FLAG_NONE": 0,
        "DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION": 1,
        "DML_EXECUTION_FLAG_DISABLE_META_COMMANDS": 2,
        "DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE": 4,
    },
    "DML_CREATE_DEVICE_FLAGS": _numbered("DML_CREATE_DEVICE_FLAG_", "NONE DEBUG"),
    "DML_SCHEMA_FIELD_KIND": _numbered(
        "DML_SCHEMA_FIELD_KIND_", "INPUT_TENSOR OUTPUT_TENSOR ATTRIBUTE"
    ),
    "DML_SCHEMA_FIELD_TYPE": _numbered(
        "DML_SCHEMA_FIELD_TYPE_",
        "TENSOR_DESC TENSOR_DESC_ARRAY OPERATOR_DESC OPERATOR_DESC_ARRAY UINT UINT64 INT FLOAT"
        " UINT_ARRAY INT_ARRAY FLOAT_ARRAY SCALE_BIAS SIZE_2D SCALAR_UNION BOOL",
    ),
    "DML_SCHEMA_OPERATOR_SUPPORT_FLAGS": _numbered(
        "DML_SCHEMA_OPERATOR_SUPPORT_FLAG_", "NONE IN_PLACE_EXECUTION"
    ),
}
"""Members by their C names. ``DML_OPERATOR_TYPE`` lists the family and two anchors only."""


@dataclass(frozen=True)
class Field:
    """One member of a struct.

    Attributes
    ----------
    name, c_type : str
        As in ``DirectML.h``.
    kind : str
        One of `KINDS`.
    optional : bool
        Whether the pointer may be null.
    description, description_ja : str
        What it holds, in English and in Japanese.
    points_at : tuple of str
        The structs that a pointer can lead to.
    """

    name: str
    c_type: str
    kind: str
    optional: bool
    description: str
    description_ja: str
    points_at: tuple[str, ...] = ()

    @property
    def is_pointer(self) -> bool:
        """Whether its size follows the word size."""
        return self.kind in POINTER_KINDS

    @property
    def target(self) -> str:
        """The type named by `c_type`, without ``const`` and ``*``."""
        return self.c_type.removeprefix("const ").removesuffix("*")


@dataclass(frozen=True)
class Struct:
    """One struct of ``DirectML.h``.

    Attributes
    ----------
    name : str
        As in the header.
    role, role_ja : str
        What it is for, in English and in Japanese.
    fields : tuple of Field
        In the order of the header.
    alias_of : str or None
        The struct of which this is a second name.
    target_version : int
        The least ``DML_TARGET_VERSION`` with which the header declares it.
    """

    name: str
    role: str
    role_ja: str
    fields: tuple[Field, ...]
    alias_of: str | None = None
    target_version: int = FEATURE_LEVELS["1_0"]

    def field(self, name: str) -> Field:
        """Return the field called `name`."""
        for field in self.fields:
            if field.name == name:
                return field
        raise ArgumentError(
            f"directml: {self.name} has no field {name!r}; it has"
            f" {', '.join(field.name for field in self.fields)}.",
            operator="directml",
            argument="field",
            value=name,
        )


class Support(NamedTuple):
    """What an operator takes from one feature level on."""

    level: int
    data_types: tuple[str, ...]
    index_types: tuple[str, ...]
    min_dimensions: int
    max_dimensions: int


@dataclass(frozen=True)
class Operator:
    """One operator of the family.

    Attributes
    ----------
    name, value : str, int
        Member of ``DML_OPERATOR_TYPE``.
    struct : str
        Its description struct.
    introduced : int
        The first feature level that has it.
    inputs : tuple of str
        Tensor fields that are read, in binding order.
    output : str
        The tensor field that is written.
    attributes : tuple of str
        The other fields.
    support : tuple of Support
        Rising by level; a level without a row of its own has the nearest lower one.
    aliases : tuple of str
        Other members of the enum with the same value.
    """

    name: str
    value: int
    struct: str
    introduced: int
    inputs: tuple[str, ...]
    output: str
    attributes: tuple[str, ...]
    support: tuple[Support, ...]
    aliases: tuple[str, ...] = ()

    @property
    def short_name(self) -> str:
        """The name without ``DML_OPERATOR_``."""
        return self.name.removeprefix(OPERATOR_PREFIX)

    def support_at(self, level: str | int) -> Support | None:
        """Return what it takes at a feature level, None where the level does not have it.

        Examples
        --------
        >>> operator_of("SCATTER").support_at("2_0").data_types
        ('FLOAT32', 'FLOAT16')
        >>> operator_of("GATHER_ND1").support_at("2_1") is None
        True
        """
        wanted = feature_level(level)
        rows = [row for row in self.support if row.level <= wanted]
        return rows[-1] if rows else None


OPERATOR_PREFIX = "DML_OPERATOR_"
_TENSOR = "const DML_TENSOR_DESC*"


def _tensor(name: str, english: str, japanese: str) -> Field:
    return Field(name, _TENSOR, "pointer_to_struct", False, english, japanese, ("DML_TENSOR_DESC",))


def _uint(name: str, english: str, japanese: str) -> Field:
    return Field(name, "UINT", "uint32", False, english, japanese)


def _uint64(name: str, english: str, japanese: str) -> Field:
    return Field(name, "UINT64", "uint64", False, english, japanese)


def _enum(name: str, c_type: str, english: str, japanese: str) -> Field:
    return Field(name, c_type, "enum32", False, english, japanese)


def _void(
    name: str, points_at: Iterable[str], english: str, japanese: str, *, optional: bool = False
) -> Field:
    return Field(name, "const void*", "void_pointer", optional, english, japanese, tuple(points_at))


_GATHER_INPUT = _tensor(
    "InputTensor",
    "The tensor that elements are taken from.",
    "要素の取り出し元となるテンソル。",
)
_SCATTER_INPUT = _tensor(
    "InputTensor",
    "The base: every element that no update reaches keeps its value from here.",
    "土台となるテンソル。更新されない要素はこのテンソルの値のまま出力に残る。",
)
_ND_INDICES = _tensor(
    "IndicesTensor",
    "Coordinate tuples; the last dimension is the tuple and its size is the tuple's length. From"
    " level 3_0 on, a negative coordinate of a signed type counts from the end of its dimension.",
    "座標の組を並べたテンソル。最後の次元が 1 つの組で、その長さが座標の個数になる。"
    "レベル 3_0 以降の符号付き型では、負の座標を次元の末尾から数える。",
)
_ND_OUTPUT = _tensor(
    "OutputTensor",
    "The slices found: leading ones, then the sizes of the indices without the tuple, then the"
    " input sizes that the tuple leaves open. The type is that of InputTensor.",
    "取り出したスライス。サイズは先頭の 1、組の次元を除いたインデックスのサイズ、"
    "組が指定しない残りの入力サイズの順に並ぶ。型は InputTensor と同じ。",
)
_SCATTER_OUTPUT = _tensor(
    "OutputTensor",
    "The result; sizes and type are those of InputTensor.",
    "結果のテンソル。サイズと型は InputTensor と同じにする。",
)
_INPUT_COUNT = _uint(
    "InputDimensionCount",
    "How many of the last dimensions of InputTensor are meant; the ones before are padding.",
    "InputTensor の末尾から数えて意味を持つ次元の数。それより前は詰め物の 1 とみなす。",
)
_INDICES_COUNT = _uint(
    "IndicesDimensionCount",
    "How many of the last dimensions of IndicesTensor are meant, the tuple included.",
    "IndicesTensor の末尾から数えて意味を持つ次元の数。組の次元も数に入れる。",
)

_SCATTER_FIELDS = (
    _SCATTER_INPUT,
    _tensor(
        "IndicesTensor",
        "For each update the position along Axis that it goes to. Off Axis the sizes are those of"
        " InputTensor. From level 3_0 on, a negative value of a signed type counts from the end.",
        "更新値ごとに Axis 方向の書き込み位置を与える。Axis 以外の次元のサイズは InputTensor"
        " にそろえる。レベル 3_0 以降の符号付き型では、負の値は末尾から数えた位置になる。",
    ),
    _tensor(
        "UpdatesTensor",
        "The values to write, one per index; sizes are those of IndicesTensor, the type is that of"
        " InputTensor.",
        "書き込む値。インデックス 1 つにつき 1 要素で、サイズは IndicesTensor と、"
        "型は InputTensor と同じにする。",
    ),
    _SCATTER_OUTPUT,
    _uint(
        "Axis",
        "The dimension whose coordinate the indices replace; less than the number of dimensions.",
        "座標をインデックスで置き換える次元の番号。次元数より小さい値にする。",
    ),
)

_BINDING_ROWS = (
    Struct(
        "DML_BINDING_DESC",
        "One slot that BindInputs or BindOutputs is given.",
        "BindInputs や BindOutputs に渡すバインド 1 件分。",
        (
            _enum(
                "Type",
                "DML_BINDING_TYPE",
                "What Desc points at; NONE leaves the slot empty.",
                "Desc が指すものの種類。NONE なら何もバインドしない。",
            ),
            _void(
                "Desc",
                ("DML_BUFFER_BINDING", "DML_BUFFER_ARRAY_BINDING"),
                "The binding that Type announces; null when Type is NONE.",
                "Type に応じたバインド構造体。Type が NONE のときは null にする。",
                optional=True,
            ),
        ),
    ),
    Struct(
        "DML_BUFFER_BINDING",
        "A range of one buffer.",
        "1 つのバッファーの中の範囲。",
        (
            Field(
                "Buffer",
                "ID3D12Resource*",
                "com_pointer",
                True,
                "The buffer; null binds nothing.",
                "対象のバッファー。null なら何もバインドしない。",
            ),
            _uint64(
                "Offset",
                "Byte at which the range begins, a multiple of 16.",
                "範囲の先頭のバイト位置。16 の倍数にする。",
            ),
            _uint64("SizeInBytes", "Length of the range in bytes.", "範囲のバイト数。"),
        ),
    ),
    Struct(
        "DML_BUFFER_ARRAY_BINDING",
        "Several buffer ranges in one slot, for the initialiser of several operators.",
        "複数の演算子を初期化するときに、1 件のバインドで渡す複数のバッファー範囲。",
        (
            _uint("BindingCount", "Number of entries of Bindings.", "Bindings の要素数。"),
            Field(
                "Bindings",
                "const DML_BUFFER_BINDING*",
                "pointer_to_struct",
                False,
                "The first of the ranges.",
                "バッファー範囲の配列の先頭。",
                ("DML_BUFFER_BINDING",),
            ),
        ),
    ),
    Struct(
        "DML_BINDING_PROPERTIES",
        "What GetBindingProperties answers.",
        "GetBindingProperties が返す必要量。",
        (
            _uint(
                "RequiredDescriptorCount",
                "Descriptors that the binding table takes.",
                "バインドテーブルに必要なディスクリプターの数。",
            ),
            _uint64(
                "TemporaryResourceSize",
                "Bytes of scratch space during one execution.",
                "1 回の実行の間だけ使う作業領域のバイト数。",
            ),
            _uint64(
                "PersistentResourceSize",
                "Bytes that must outlive each execution.",
                "実行をまたいで保持する領域のバイト数。",
            ),
        ),
    ),
)

_FEATURE_ROWS = (
    Struct(
        "DML_FEATURE_QUERY_FEATURE_LEVELS",
        "Asks CheckFeatureSupport for the highest of some feature levels.",
        "CheckFeatureSupport に、並べた機能レベルのうち使える最高のものを尋ねる。",
        (
            _uint(
                "RequestedFeatureLevelCount",
                "Number of entries of RequestedFeatureLevels.",
                "RequestedFeatureLevels の要素数。",
            ),
            Field(
                "RequestedFeatureLevels",
                "const DML_FEATURE_LEVEL*",
                "enum_pointer",
                False,
                "The levels in question.",
                "尋ねる機能レベルの配列。",
            ),
        ),
        target_version=FEATURE_LEVELS["2_0"],
    ),
    Struct(
        "DML_FEATURE_DATA_FEATURE_LEVELS",
        "The answer: the highest level asked for that the device has.",
        "その答え。尋ねたレベルのうち、デバイスが対応する最高のもの。",
        (
            _enum(
                "MaxSupportedFeatureLevel",
                "DML_FEATURE_LEVEL",
                "The highest of the listed levels that the device has.",
                "並べたレベルのうちデバイスが対応する最高のもの。",
            ),
        ),
        target_version=FEATURE_LEVELS["2_0"],
    ),
    Struct(
        "DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT",
        "Asks CheckFeatureSupport for one element type.",
        "CheckFeatureSupport に、ある要素型を使えるかどうか尋ねる。",
        (_enum("DataType", "DML_TENSOR_DATA_TYPE", "The type in question.", "尋ねる要素の型。"),),
    ),
    Struct(
        "DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT",
        "The answer: whether the device takes that element type.",
        "その答え。デバイスがその要素型を扱えるかどうか。",
        (
            Field(
                "IsSupported",
                "BOOL",
                "bool32",
                False,
                "Not zero when the device takes the type.",
                "デバイスがその型を扱えるなら 0 以外。",
            ),
        ),
    ),
)

_TENSOR_ROWS = (
    Struct(
        "DML_OPERATOR_DESC",
        "What CreateOperator is given: a kind of operator and its description.",
        "CreateOperator に渡す構造体。演算子の種類とその記述を組にする。",
        (
            _enum(
                "Type",
                "DML_OPERATOR_TYPE",
                "The operator; it decides which struct Desc points at.",
                "演算子の種類。Desc が指す構造体もこれで決まる。",
            ),
            _void(
                "Desc",
                [
                    f"DML_{name}_OPERATOR_DESC"
                    for name in (
                        "GATHER",
                        "GATHER_ELEMENTS",
                        "GATHER_ND",
                        "GATHER_ND1",
                        "SCATTER",
                        "SCATTER_ELEMENTS",
                        "SCATTER_ND",
                    )
                ],
                "The operator's own struct.",
                "Type に対応する演算子の構造体を指す。",
            ),
        ),
    ),
    Struct(
        "DML_TENSOR_DESC",
        "What every tensor field of an operator points at.",
        "演算子のテンソル用フィールドが指す構造体。",
        (
            _enum(
                "Type",
                "DML_TENSOR_TYPE",
                "The kind of tensor description; BUFFER is the only one that can be used.",
                "テンソル記述の種類。使えるのは BUFFER だけ。",
            ),
            _void(
                "Desc",
                ("DML_BUFFER_TENSOR_DESC",),
                "A DML_BUFFER_TENSOR_DESC, when Type is BUFFER.",
                "Type が BUFFER のとき DML_BUFFER_TENSOR_DESC を指す。",
            ),
        ),
    ),
    Struct(
        "DML_BUFFER_TENSOR_DESC",
        "Element type, sizes and memory of one tensor.",
        "テンソル 1 つの要素型、サイズ、メモリ上の配置。",
        (
            _enum("DataType", "DML_TENSOR_DATA_TYPE", "Type of the elements.", "要素の型。"),
            _enum(
                "Flags",
                "DML_TENSOR_FLAGS",
                "NONE, or OWNED_BY_DML for an input that is bound at initialisation only.",
                "NONE、または初期化時にだけバインドする入力なら OWNED_BY_DML。",
            ),
            _uint(
                "DimensionCount",
                "Number of entries of Sizes, and of Strides where it is given.",
                "Sizes の要素数。Strides を渡すときはその要素数も同じ。",
            ),
            Field(
                "Sizes",
                "const UINT*",
                "uint_pointer",
                False,
                "Length of each dimension; none is zero.",
                "各次元の長さ。0 は許されない。",
            ),
            Field(
                "Strides",
                "const UINT*",
                "uint_pointer",
                True,
                "Step of each dimension, in elements; null for packed rows.",
                "各次元の間隔を要素数で表したもの。null なら隙間のない行優先の並びになる。",
            ),
            _uint64(
                "TotalTensorSizeInBytes",
                "Bytes set aside for the tensor: at least up to its last element, rounded up to a"
                " multiple of 4.",
                "テンソルに割り当てるバイト数。最後の要素までを含み、4 の倍数に切り上げた値以上。",
            ),
            _uint(
                "GuaranteedBaseOffsetAlignment",
                "Alignment that every binding offset will have: zero for no promise, or a power of"
                " two not below the element size.",
                "バインド時のオフセットが守る境界。0 なら約束なし、"
                "それ以外は要素サイズ以上の 2 の累乗。",
            ),
        ),
    ),
)

_OPERATOR_ROWS = (
    Struct(
        "DML_GATHER_OPERATOR_DESC",
        "Takes whole slices of the input at positions along one axis.",
        "1 つの軸の上の位置を指定して、入力からスライスを取り出す。",
        (
            _GATHER_INPUT,
            _tensor(
                "IndicesTensor",
                "Positions along Axis; the last IndexDimensions dimensions count. From level 3_0"
                " on, a negative value of a signed type counts from the end of the axis.",
                "Axis 方向の位置。末尾の IndexDimensions 個の次元だけが意味を持つ。"
                "レベル 3_0 以降の符号付き型では、負の値は軸の末尾から数えた位置になる。",
            ),
            _tensor(
                "OutputTensor",
                "The input sizes with the axis replaced by the dimensions of the indices. The type"
                " is that of InputTensor.",
                "入力サイズの Axis の位置をインデックスの次元で置き換えた形。"
                "型は InputTensor と同じ。",
            ),
            _uint(
                "Axis",
                "The dimension of InputTensor that is indexed, padding included in the count.",
                "インデックスを適用する InputTensor の次元の番号。詰め物の次元も数に入れる。",
            ),
            _uint(
                "IndexDimensions",
                "How many of the last dimensions of IndicesTensor are meant.",
                "IndicesTensor の末尾から数えて意味を持つ次元の数。",
            ),
        ),
    ),
    Struct(
        "DML_GATHER_ELEMENTS_OPERATOR_DESC",
        "Takes one element of the input for each index, at the index's own place but for one axis.",
        "インデックス 1 つごとに、1 つの軸の座標だけを置き換えた位置から要素を取り出す。",
        (
            _GATHER_INPUT,
            _tensor(
                "IndicesTensor",
                "For each output element the position along Axis to read from. Off Axis the sizes"
                " are those of InputTensor. From level 3_0 on, a negative value of a signed type"
                " counts from the end.",
                "出力の要素ごとに Axis 方向の読み取り位置を与える。Axis 以外の次元のサイズは"
                " InputTensor にそろえる。レベル 3_0 以降の符号付き型では、"
                "負の値は末尾から数えた位置になる。",
            ),
            _tensor(
                "OutputTensor",
                "The elements found; sizes are those of IndicesTensor, the type is that of"
                " InputTensor.",
                "取り出した要素。サイズは IndicesTensor と、型は InputTensor と同じにする。",
            ),
            _uint(
                "Axis",
                "The dimension whose coordinate the indices replace; less than the number of"
                " dimensions.",
                "座標をインデックスで置き換える次元の番号。次元数より小さい値にする。",
            ),
        ),
        target_version=FEATURE_LEVELS["2_1"],
    ),
    Struct(
        "DML_GATHER_ND_OPERATOR_DESC",
        "Takes the slice of the input at each coordinate tuple.",
        "座標の組ごとに、入力の対応するスライスを取り出す。",
        (_GATHER_INPUT, _ND_INDICES, _ND_OUTPUT, _INPUT_COUNT, _INDICES_COUNT),
        target_version=FEATURE_LEVELS["2_1"],
    ),
    Struct(
        "DML_GATHER_ND1_OPERATOR_DESC",
        "Takes the slice at each coordinate tuple, batch by batch.",
        "バッチごとに、座標の組に対応する入力のスライスを取り出す。",
        (
            _GATHER_INPUT,
            _ND_INDICES,
            _ND_OUTPUT,
            _INPUT_COUNT,
            _INDICES_COUNT,
            _uint(
                "BatchDimensionCount",
                "How many of the first meant dimensions input and indices share.",
                "意味を持つ次元のうち、入力とインデックスが共有する先頭の次元の数。",
            ),
        ),
        target_version=FEATURE_LEVELS["3_0"],
    ),
    Struct(
        "DML_SCATTER_OPERATOR_DESC",
        "Copies the input and writes one update for each index, at the index's own place but for"
        " one axis.",
        "入力を写したうえで、インデックス 1 つごとに、1 つの軸の座標だけを置き換えた位置へ"
        "値を書き込む。",
        _SCATTER_FIELDS,
        target_version=FEATURE_LEVELS["2_0"],
    ),
    Struct(
        "DML_SCATTER_ELEMENTS_OPERATOR_DESC",
        "Second name of DML_SCATTER_OPERATOR_DESC.",
        "DML_SCATTER_OPERATOR_DESC の別名。",
        _SCATTER_FIELDS,
        alias_of="DML_SCATTER_OPERATOR_DESC",
        target_version=FEATURE_LEVELS["2_1"],
    ),
    Struct(
        "DML_SCATTER_ND_OPERATOR_DESC",
        "Copies the input and writes one slice of updates at each coordinate tuple.",
        "入力を写したうえで、座標の組ごとに更新値のスライスを書き込む。",
        (
            _SCATTER_INPUT,
            _ND_INDICES,
            _tensor(
                "UpdatesTensor",
                "The slices to write: leading ones, then the sizes of the indices without the"
                " tuple, then the input sizes that the tuple leaves open. The type is that of"
                " InputTensor.",
                "書き込むスライス。サイズは先頭の 1、組の次元を除いたインデックスのサイズ、"
                "組が指定しない残りの入力サイズの順に並ぶ。型は InputTensor と同じ。",
            ),
            _SCATTER_OUTPUT,
            _INPUT_COUNT,
            _INDICES_COUNT,
        ),
        target_version=FEATURE_LEVELS["2_1"],
    ),
)

STRUCTS: dict[str, Struct] = {
    row.name: row for row in _TENSOR_ROWS + _OPERATOR_ROWS + _BINDING_ROWS + _FEATURE_ROWS
}
"""Every struct by name."""

_DATA_2 = ("FLOAT32", "FLOAT16")
_DATA_8 = (*_DATA_2, "INT32", "INT16", "INT8", "UINT32", "UINT16", "UINT8")
_DATA_11 = (*_DATA_8, "FLOAT64", "INT64", "UINT64")
_INDEX_1 = ("UINT32",)
_INDEX_4 = ("INT64", "INT32", "UINT64", "UINT32")

# The page of SCATTER labels its first row 1_0; level history and header guard say 2_0.
_SUPPORT = (
    Support(FEATURE_LEVELS["1_0"], _DATA_2, _INDEX_1, 4, 4),
    Support(FEATURE_LEVELS["2_1"], _DATA_8, _INDEX_1, 4, 4),
    Support(FEATURE_LEVELS["3_0"], _DATA_8, _INDEX_4, 1, 8),
    Support(FEATURE_LEVELS["4_1"], _DATA_11, _INDEX_4, 1, 8),
)


def _operator(short_name: str, level: str, aliases: Iterable[str] = ()) -> Operator:
    """Read the roles of the fields off the struct; take the support rows from `level` on."""
    introduced = FEATURE_LEVELS[level]
    row = STRUCTS[f"DML_{short_name}_OPERATOR_DESC"]
    tensors = [field.name for field in row.fields if field.c_type == _TENSOR]
    rows = [support for support in _SUPPORT if support.level > introduced]
    first = [support for support in _SUPPORT if support.level <= introduced][-1]
    return Operator(
        name=OPERATOR_PREFIX + short_name,
        value=ENUMS["DML_OPERATOR_TYPE"][OPERATOR_PREFIX + short_name],
        struct=row.name,
        introduced=introduced,
        inputs=tuple(name for name in tensors if name != "OutputTensor"),
        output="OutputTensor",
        attributes=tuple(field.name for field in row.fields if field.c_type != _TENSOR),
        support=(first._replace(level=introduced), *rows),
        aliases=tuple(OPERATOR_PREFIX + alias for alias in aliases),
    )


OPERATORS: dict[str, Operator] = {
    operator.name: operator
    for operator in (
        _operator("GATHER", "1_0"),
        _operator("GATHER_ELEMENTS", "2_1"),
        _operator("GATHER_ND", "2_1"),
        _operator("GATHER_ND1", "3_0"),
        _operator("SCATTER", "2_0", ["SCATTER_ELEMENTS"]),
        _operator("SCATTER_ND", "2_1"),
    )
}
"""The six operators, by their names in ``DML_OPERATOR_TYPE``."""


def operator_of(name: str) -> Operator:
    """Return the operator of that name, given with or without ``DML_OPERATOR_``.

    Examples
    --------
    >>> operator_of("SCATTER_ELEMENTS").name
    'DML_OPERATOR_SCATTER'
    """
    full = name if name.startswith(OPERATOR_PREFIX) else OPERATOR_PREFIX + name
    for operator in OPERATORS.values():
        if full == operator.name or full in operator.aliases:
            return operator
    known = [full for row in OPERATORS.values() for full in (row.name, *row.aliases)]
    raise unknown("directml", "operator", name, (n.removeprefix(OPERATOR_PREFIX) for n in known))


def struct_of(name: str) -> Struct:
    """Return the struct of that name; the name of an operator stands for its description.

    Examples
    --------
    >>> struct_of("GATHER").name, struct_of("SCATTER_ELEMENTS").alias_of
    ('DML_GATHER_OPERATOR_DESC', 'DML_SCATTER_OPERATOR_DESC')
    """
    short = name.removeprefix(OPERATOR_PREFIX)
    row = STRUCTS.get(name) or STRUCTS.get(f"DML_{short}_OPERATOR_DESC")
    if row is None:
        raise unknown("directml", "name", name, STRUCTS)
    return row


def feature_level(level: str | int) -> int:
    """Return the value of a feature level.

    Examples
    --------
    >>> [hex(feature_level(level)) for level in ("6_4", "DML_FEATURE_LEVEL_2_1", 0x1000)]
    ['0x6400', '0x2100', '0x1000']
    """
    if isinstance(level, str):
        value = FEATURE_LEVELS.get(level.removeprefix("DML_FEATURE_LEVEL_"))
    else:
        value = int(level) if level in FEATURE_LEVELS.values() else None
    if value is None:
        raise unknown("directml", "feature_level", level, FEATURE_LEVELS)
    return value


def enum_name(enum: str, value: int) -> str | None:
    """Return the first name of `value` in an enum, None where it has none.

    Examples
    --------
    >>> enum_name("DML_OPERATOR_TYPE", 94)
    'DML_OPERATOR_SCATTER'
    """
    return next((name for name, number in ENUMS[enum].items() if number == value), None)


def data_type(value: Any) -> int:
    """Return the member of ``DML_TENSOR_DATA_TYPE`` that a name or a NumPy dtype stands for.

    An integer is returned as it is, so that descriptors of unknown types can be written too.

    Examples
    --------
    >>> data_type("FLOAT16"), data_type("DML_TENSOR_DATA_TYPE_INT64"), data_type(np.uint8)
    (2, 11, 5)
    """
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, str):
        number = ENUMS["DML_TENSOR_DATA_TYPE"].get(
            "DML_TENSOR_DATA_TYPE_" + value.removeprefix("DML_TENSOR_DATA_TYPE_")
        )
    else:
        # In another byte order it is the same type; the buffer is what has an order.
        wanted = np.dtype(value).newbyteorder("<")
        number = next((kind.value for kind in DATA_TYPES.values() if kind.dtype == wanted), None)
    if number is None:
        raise unknown("directml", "data_type", value, DATA_TYPES)
    return number


def unknown(operator: str, argument: str, value: Any, known: Iterable[Any]) -> ArgumentError:
    """Return the error for a name that does not exist, with those that do."""
    return ArgumentError(
        f"{operator}: {argument} {value!r} is not known; it is one of"
        f" {', '.join(map(str, known))}.",
        operator=operator,
        argument=argument,
        value=value,
    )
