"""Tries what comes of damaged files: a program of its own, for it may die of that.

    python tests/try_damages.py FOLDER LOG FIRST LAST

goes through the damages FIRST to LAST of the files in FOLDER, and writes each into LOG before it tries it. If the
program dies, the last line of LOG names the culprit. Damage number n of the same files is always the same.
"""

import faulthandler
import json
import resource
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
from damage import NATIVE, damage

SECONDS = 60
# What may be allocated beyond what the program has when it starts.
BYTES = 3 * 2**30


def use(model, X, y, s):
    """All that is done with models and paths; each part may fail as Python code does. Says how many parts did not."""
    import eifffel
    from eifffel.ensembles import Wrappers

    done = []

    def attempt(function):
        try:
            done.append(function())
        except Exception:  # harmless, whatever it is; what is not is that the program dies
            return None
        return done[-1]

    attempt(lambda: model.predict(X))
    attempt(lambda: model.predict(X[:, :-3]))
    attempt(lambda: model.predict_proba(X))
    attempt(lambda: repr(model))
    attempt(lambda: eifffel.undo(model).predict(X))
    ensemble = attempt(lambda: Wrappers(model).ensemble)
    if ensemble is not None:
        attempt(lambda: ensemble.apply(X))
        attempt(lambda: ensemble.decision_path(X))
        attempt(lambda: ensemble.feature_importances_)
        view = attempt(lambda: eifffel.view_ensemble(model))
        if view is not None:
            attempt(lambda: view.verify(X))
            attempt(lambda: view.write(view.leaf_value))
    path = model if hasattr(model, "order") else getattr(model, "path_", None)
    if path is not None:
        attempt(lambda: path.measure(X, y, s).select(epsilon=0.05))
        attempt(lambda: path.select(epsilon=0.05))
        attempt(lambda: path.select(epsilon=0.05, confidence=0.9))
        attempt(lambda: path.model_at(1).predict(X))
        attempt(lambda: path.model_at(path.n_steps))
        attempt(lambda: path.flips(path.n_steps))
        attempt(lambda: path.rules(1))
        attempt(lambda: model.at(epsilon=0.02).predict(X))
        attempt(lambda: path.discrimination)
        attempt(lambda: path.metric("demographic_parity_ratio"))
    return len(done)


def xgboost_documents(members):
    """What XGBoost's bytes in a file say, made anew for each damage."""
    from eifffel.edits.file_checks._ubjson import read_ubjson

    found = []
    for name, data in members.items():
        if name == NATIVE and data[:2] == b'{"':
            found.append(data)
        elif name.endswith((".bin", NATIVE)) and data[:1] == b"{":
            found.append(json.dumps(read_ubjson(data), default=lambda array: array.tolist()))
    return (lambda: json.loads(found[0])) if found else (lambda: None)


def main(folder, log, first, last):
    import eifffel

    warnings.simplefilter("ignore")
    folder = Path(folder)
    rows = np.load(folder / "rows.npz")
    X, y, s = (rows[name] for name in ("X", "y", "s"))
    files = sorted([*folder.glob("*.skops"), *folder.glob(f"*.{NATIVE}")])
    trusted = json.loads((folder / "trusted.json").read_text())
    whole = {}
    for file in files:
        if file.suffix == f".{NATIVE}":
            whole[file] = {NATIVE: file.read_bytes()}
            continue
        with zipfile.ZipFile(file) as archive:
            whole[file] = {name: archive.read(name) for name in archive.namelist()}
    documents = {file: xgboost_documents(whole[file]) for file in files}
    for file in files:  # all that is compiled is, before the limits hold
        use(eifffel.load(file, trusted=trusted), X, y, s)
    used = (
        int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() if sys.platform == "linux" else 0
    )
    if used:
        resource.setrlimit(resource.RLIMIT_AS, (used + BYTES, used + BYTES))
    damaged_file = folder / f"damaged-{first}.tmp"
    with open(log, "a") as out:
        for number in range(int(first), int(last)):
            rng = np.random.default_rng([20261118, number])
            file = files[number % len(files)]
            members = dict(whole[file])
            try:
                place = damage(rng, members, documents[file])
            except Exception as error:
                out.write(f"{number} broken {file.stem}: {error!r}\n")
                continue
            if NATIVE in members:
                damaged_file.write_bytes(members[NATIVE])
            else:
                with zipfile.ZipFile(damaged_file, "w") as archive:
                    for name, content in members.items():
                        archive.writestr(name, content)
            out.write(f"{number} tried {file.stem}: {place[:400]}\n".replace("\\n", " "))
            out.flush()
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            try:
                model = eifffel.load(damaged_file, trusted=trusted)
            except eifffel.ModelFileError as error:
                out.write(f"{number} refused: {str(error)[-160:]}\n".replace("\n", " ").rstrip() + "\n")
            except Exception as error:
                out.write(f"{number} wrong: {error!r}\n")
            else:
                out.write(f"{number} loaded, and {use(model, X, y, s)} uses\n")
            faulthandler.cancel_dump_traceback_later()
            out.flush()
        out.write("end\n")


if __name__ == "__main__":
    faulthandler.enable()
    main(*sys.argv[1:])
