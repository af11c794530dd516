"""Libraries that come with an extra, imported when they are needed."""

from importlib import import_module
from typing import Any

EXTRAS = {
    "altair": "report",
    "jinja2": "report",
    "matplotlib": "plot",
    "pandas": "pandas",
    "polars": "polars",
    "dask": "dask",
    "distributed": "dask",
    "skops": "storage",
    "lightgbm": "lightgbm",
    "xgboost": "xgboost",
    "catboost": "catboost",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "skl2onnx": "onnx",
    "pyarrow": "parquet",
    "rich": "cli",
    "typer": "cli",
    "vl_convert": "report",
}


def import_optional(name: str, who: str) -> Any:
    """The module ``name``; if its library is missing, an error that says who needs it and how to install it."""
    library = name.split(".")[0]
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != library:  # something that the library itself needs
            raise
        raise ModuleNotFoundError(
            f"{who} {library}; install it with: pip install 'eifffel[{EXTRAS[library]}]'", name=library
        ) from None
