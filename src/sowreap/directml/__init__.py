"""DirectML's gather and scatter descriptors, on any host."""

from sowreap.directml import schema, structs
from sowreap.directml.declare import declare
from sowreap.directml.layout import FieldLayout, Layout, buffer_tensor_size, layout
from sowreap.directml.show import show

__all__ = [
    "FieldLayout",
    "Layout",
    "buffer_tensor_size",
    "declare",
    "layout",
    "schema",
    "show",
    "structs",
]
