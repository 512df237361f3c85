"""DirectML's gather and scatter descriptors: laid out, declared, checked and run on any host."""

from sowreap.directml import rules, schema, structs
from sowreap.directml._buffers import Binding
from sowreap.directml._errors import DescriptorError, IndexWarning, NoDescriptorError
from sowreap.directml.declare import declare
from sowreap.directml.descriptor import OperatorDesc
from sowreap.directml.execute import Report, execute
from sowreap.directml.from_onnx import from_onnx
from sowreap.directml.layout import FieldLayout, Layout, buffer_tensor_size, layout
from sowreap.directml.run import run
from sowreap.directml.show import show
from sowreap.directml.structs import Tensor
from sowreap.directml.validate import validate

__all__ = [
    "Binding",
    "DescriptorError",
    "FieldLayout",
    "IndexWarning",
    "Layout",
    "NoDescriptorError",
    "OperatorDesc",
    "Report",
    "Tensor",
    "buffer_tensor_size",
    "declare",
    "execute",
    "from_onnx",
    "layout",
    "rules",
    "run",
    "schema",
    "show",
    "structs",
    "validate",
]
