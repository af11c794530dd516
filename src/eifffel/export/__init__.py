"""Models for other programs: ONNX files, and the check that they decide as the model does."""

from eifffel.export._onnx import to_onnx
from eifffel.export._verify import ExportCheck, verify_export

__all__ = ["ExportCheck", "to_onnx", "verify_export"]
