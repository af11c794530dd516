"""The command line: one file for each command."""

from eifffel.cli import _audit, _datasets, _demo, _explain, _export, _fit, _flip, _path, _predict
from eifffel.cli._app import add_commands, app, run

add_commands(
    _demo.demo,
    _fit.fit,
    _predict.predict,
    _path.path,
    _flip.flip,
    _audit.audit,
    _explain.explain,
    _export.export,
    _datasets.datasets,
)

__all__ = ["app", "run"]
