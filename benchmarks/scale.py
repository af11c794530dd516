"""What a path costs as rows and trees grow: in memory, in batches, and on a local cluster of two workers.

    python benchmarks/scale.py [--quick] [--out FILE] [--picture FILE]

Every measurement runs in a process of its own, so that the largest memory is its own. Rows are drawn, written to
Parquet files in a temporary folder, and read from there by all but the predictions that they are compared with, which
read the same batches.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from eifffel import trace_path
from eifffel.rows.columns import Features, TableColumns
from eifffel.rows.parquet import read_parquet
from page import VERSIONS, save, say

N_FEATURES, DEPTH, N_JOBS, TRAINING_ROWS, ROWS_PER_FILE = 10, 12, 2, 100_000, 1_000_000
ROWS, TREES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000), (50, 100, 200, 400, 800)
TREES_OF_ROWS, ROWS_OF_TREES = 100, 1_000_000
FEATURES = [f"x{k}" for k in range(N_FEATURES)]
COLUMNS = {"y": "label", "sensitive_features": "group"}
MODES = {
    "predict": "predict, batches",
    "memory": "path, in memory",
    "kept": "path, batches, leaf indices kept",
    "again": "path, batches, leaf indices made again",
    "cluster": "path, cluster of 2 workers",
}
GB = 1e9


def draw(n_rows: int, seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, N_FEATURES)).astype(np.float32)
    frame = pd.DataFrame(X, columns=FEATURES)
    merit = X[:, 0] + 0.5 * X[:, 1] + 0.3 * X[:, 2] * X[:, 3] + random.normal(size=n_rows)
    frame["label"] = (merit > 0).astype(np.int8)
    frame["group"] = (X[:, 1] + random.normal(size=n_rows) > 0).astype(np.int8)
    return frame


def write(folder: Path, n_rows: int) -> None:
    folder.mkdir()
    for k, start in enumerate(range(0, n_rows, ROWS_PER_FILE)):
        part = draw(min(ROWS_PER_FILE, n_rows - start), k + 1)
        part.to_parquet(folder / f"{k:04}.parquet", row_group_size=1 << 17)


def resident(what: str = "VmRSS") -> float:
    """Megabytes of memory of this process, now or, as ``VmHWM``, at most since `forget_peak`."""
    status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return float(status[what].split()[0]) * 1024 / 1e6


def forget_peak() -> float:
    """Begin to look for the largest memory anew; what there is now."""
    Path("/proc/self/clear_refs").write_text("5")
    return resident()


def peak() -> float:
    return resident("VmHWM")


def measure_one(mode: str, model: Path, folder: Path) -> dict[str, float]:
    """Seconds, and the largest memory above that of the model, of one way over the rows of a folder."""
    forest = joblib.load(model)
    few = draw(2000, 0)
    trace_path(forest, few, "label", sensitive_features="group", strategy="leaf", n_jobs=N_JOBS)  # compiles
    forest.set_params(n_jobs=N_JOBS)
    if mode == "cluster":
        return measure_cluster(forest, folder)
    before, begin = forget_peak(), time.perf_counter()
    found: dict[str, float] = {}
    if mode == "predict":
        named = TableColumns("label", ("group",), None, Features(tuple(FEATURES), N_FEATURES))
        batches = read_parquet([folder], named)
        found["favorable"] = sum(int(forest.predict(batch.X).sum()) for batch in batches)
    elif mode == "memory":
        frame = pd.read_parquet(folder)
        begin = time.perf_counter()
        path = trace_path(forest, frame, "label", sensitive_features="group", strategy="leaf", n_jobs=N_JOBS)
    else:
        budget = 4e9 if mode == "kept" else 0
        path = trace_path(forest, folder, **COLUMNS, strategy="leaf", memory_budget=budget, n_jobs=N_JOBS)
    found |= {"seconds": time.perf_counter() - begin, "memory": peak() - before}
    if mode != "predict":
        found["checksum"] = float(
            np.dot(path.counts.favorable.sum(axis=(1, 2)) % 9973, np.arange(path.n_steps + 1) % 97)
        )
    return found


def measure_cluster(forest: Any, folder: Path) -> dict[str, float]:
    import dask.dataframe as dd
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=N_JOBS,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
        ) as cluster,
        Client(cluster) as client,
    ):
        forest.set_params(n_jobs=1)
        few = dd.from_pandas(draw(2000, 0), npartitions=2)
        trace_path(forest, few, "label", sensitive_features="group", strategy="leaf")
        before = forget_peak() + sum(client.run(forget_peak).values())
        rows, begin = dd.read_parquet(folder, split_row_groups=4), time.perf_counter()
        path = trace_path(forest, rows, "label", sensitive_features="group", strategy="leaf")
        spent = time.perf_counter() - begin
        memory = peak() + sum(client.run(peak).values()) - before
        checksum = float(np.dot(path.counts.favorable.sum(axis=(1, 2)) % 9973, np.arange(path.n_steps + 1) % 97))
        return {"seconds": spent, "memory": memory, "checksum": checksum}


def run(mode: str, model: Path, folder: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", mode, str(model), str(folder)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    finished = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if finished.returncode:
        raise RuntimeError(finished.stderr)
    found: dict[str, float] = json.loads(finished.stdout.splitlines()[-1])
    return found


def measure_all(sizes: list[tuple[int, int]], work: Path) -> list[dict[str, Any]]:
    """One record for each way and each (rows, trees)."""
    training = draw(TRAINING_ROWS, 0)
    most = max(trees for _, trees in sizes)
    forest = RandomForestClassifier(most, max_depth=DEPTH, random_state=0, n_jobs=N_JOBS)
    forest.fit(training[FEATURES], training["label"])
    records = []
    for rows in sorted({rows for rows, _ in sizes}):
        folder = work / f"rows{rows}"
        write(folder, rows)
        for trees in (trees for of, trees in sizes if of == rows):
            forest.estimators_, every = forest.estimators_[:trees], forest.estimators_
            forest.n_estimators = trees
            joblib.dump(forest, model := work / f"trees{trees}.joblib")
            forest.estimators_ = every
            of_size = []
            for mode in MODES:
                record = {"rows": rows, "trees": trees, "mode": mode, **run(mode, model, folder)}
                print(f"{MODES[mode]:42} {rows:>10,} rows {trees:>4} trees {record['seconds']:7.1f} s", flush=True)
                of_size.append(record)
            sums = {record["checksum"] for record in of_size if "checksum" in record}
            assert len(sums) == 1, f"the paths differ: {of_size}"
            records += of_size
    return records


def slope(
    records: list[dict[str, Any]], mode: str, by: str, fixed: dict[str, int], low: float, what: str = "seconds"
) -> float:
    """Of logarithms, from ``low`` on."""
    chosen = [r for r in records if r["mode"] == mode and r[by] >= low and all(r[k] == v for k, v in fixed.items())]
    return float(np.polyfit(np.log([r[by] for r in chosen]), np.log([r[what] for r in chosen]), 1)[0])


def tell(records: list[dict[str, Any]], picture: Path | None) -> None:
    every_row = {"trees": TREES_OF_ROWS}
    every_tree = {"rows": ROWS_OF_TREES}
    most = max(r["rows"] for r in records)
    found = {(r["mode"], r["rows"], r["trees"]): r for r in records}
    say("# What a path costs as rows and trees grow")
    say()
    say(
        f"Made by `make benchmark-scale` with {VERSIONS}, on {os.cpu_count()} cores. Random forests of depth {DEPTH} "
        f"trained on {TRAINING_ROWS:,} rows of {N_FEATURES} features; EiFFFeL-LF, steps measured on the scoring rows; "
        "rows in Parquet files. Every line is a process of its own; memory is the largest it had above that before the "
        "rows were read, when the model was loaded, and on the cluster the sum over client and workers. All paths of "
        "a size are the same, which is checked. Seconds of one run."
    )
    say()
    if picture is not None:
        say(f"![seconds and memory against rows and trees]({picture.name})")
        say()
    for title, by, fixed in (("Rows", "rows", every_row), ("Trees", "trees", every_tree)):
        chosen = [r for r in records if all(r[k] == v for k, v in fixed.items())]
        sizes = sorted({r[by] for r in chosen})
        if len(sizes) < 2:
            continue
        say(f"## {title}, {', '.join(f'{value:,} {name}' for name, value in fixed.items())}")
        say()
        say(f"| {by} | " + " | ".join(MODES.values()) + " |")
        say("|---|" + "---|" * len(MODES))
        for size in sizes:
            cells = []
            for mode in MODES:
                r = next(r for r in chosen if r["mode"] == mode and r[by] == size)
                reference = next(r for r in chosen if r["mode"] == "predict" and r[by] == size)["seconds"]
                ratio = "" if mode == "predict" else f" ({r['seconds'] / reference:.2f})"
                cells.append(f"{r['seconds']:.1f} s{ratio}, {r['memory'] / 1000:.2f} GB")
            say(f"| {size:,} | " + " | ".join(cells) + " |")
        say()
    say("In brackets: as a multiple of the time of the predictions.")
    say()
    say("## Bars")
    say()
    say("| | measured | bar | |")
    say("|---|---|---|---|")

    def bar(what: str, value: float, limit: float, unit: str = "") -> None:
        say(f"| {what} | {value:.2f}{unit} | {limit:g}{unit} | {'met' if value <= limit else '**missed**'} |")

    predict = found["predict", most, TREES_OF_ROWS]["seconds"]
    for mode, limit in (("kept", 1.6), ("again", 2.6)):
        r = found[mode, most, TREES_OF_ROWS]
        bar(f"{MODES[mode]}, {most:,} rows: time as a multiple of predict", r["seconds"] / predict, limit)
        bar(f"{MODES[mode]}, {most:,} rows: memory above the model", r["memory"] / 1000, 6, " GB")
    from_rows = min(1_000_000, most // 10)
    for mode in ("memory", "kept", "again", "cluster"):
        bar(f"{MODES[mode]}: slope of seconds in rows", slope(records, mode, "rows", every_row, from_rows), 1.1)
    for mode in ("memory", "kept", "again", "cluster"):
        bar(f"{MODES[mode]}: slope of seconds in trees", slope(records, mode, "trees", every_tree, 0), 1.1)
    flat = slope(records, "again", "rows", every_row, from_rows, "memory")
    bar(f"{MODES['again']}: slope of memory in rows", flat, 0.1)
    say()
    per_row = found["again", most, TREES_OF_ROWS]["seconds"] / most
    cluster = found["cluster", most, TREES_OF_ROWS]["seconds"] / most
    again = found["again", most, TREES_OF_ROWS]["memory"] / 1000
    size = N_FEATURES * 4 + 2
    say("## At 10^9 rows")
    say()
    hours = {name: seconds * 1e9 / 3600 for name, seconds in (("again", per_row), ("cluster", cluster * N_JOBS))}
    say(
        f"Read off the last line of rows: in batches on one machine of {os.cpu_count()} cores, "
        f"{hours['again']:.1f} hours in {again:.1f} GB above the model, of which "
        f"{predict / most * 1e9 / 3600:.1f} hours would be one round of predictions; its leaf indices, "
        f"{TREES_OF_ROWS * 2} bytes a row, would be {TREES_OF_ROWS * 2} GB, so they are made again. On a cluster, "
        f"{hours['cluster']:.1f} hours divided by the number of workers of one core. This assumes that time goes on "
        "growing as it does here, one row costing as much as another; that rows are read as fast as here from a local "
        f"disk ({size} bytes of features, label and group a row, twice, and labels and groups once more); that "
        "partitions hold some 10^5 to 10^6 rows, so that what each of them costs, and sends back, is small beside its "
        f"rows (a table of {TREES_OF_ROWS * 2**DEPTH:,} leaves at most by group and label, 8 bytes each, and as many "
        "steps); and that nobody else uses the machines. Rows are counted in 64 bits; up to 2^31 rows, products of two "
        "counts are exact, and ties are ties."
    )


def draw_picture(records: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(11, 8), layout="constrained")
    sides = (("rows", {"trees": TREES_OF_ROWS}), ("trees", {"rows": ROWS_OF_TREES}))
    for column, (by, fixed) in enumerate(sides):
        for row, (what, label, unit) in enumerate((("seconds", "seconds", 1), ("memory", "GB above the model", 1000))):
            ax = axes[row, column]
            for mode, name in MODES.items():
                chosen = sorted(
                    (r[by], max(r[what], 1) / unit if what == "memory" else r[what])
                    for r in records
                    if r["mode"] == mode and all(r[k] == v for k, v in fixed.items())
                )
                style = {"color": "black", "linestyle": "--"} if mode == "predict" else {}
                ax.plot(*zip(*chosen, strict=True), marker="o", markersize=4, label=name, **style)
            ax.set(xscale="log", yscale="log", xlabel=by, ylabel=label)
            ax.set_title(", ".join(f"{value:,} {name}" for name, value in fixed.items()), fontsize=10)
            ax.grid(alpha=0.3, which="both")
            if by == "trees":
                ax.set_xticks(sorted({r["trees"] for r in records}), minor=False)
                ax.get_xaxis().set_major_formatter(matplotlib.ticker.ScalarFormatter())
                ax.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
            ax.yaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
    axes[0, 0].legend(fontsize=8, loc="lower right")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a hundredth of the rows and a tenth of the trees")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        mode, model, folder = given.one
        print(json.dumps(measure_one(mode, Path(model), Path(folder))))
        return
    global TREES_OF_ROWS, ROWS_OF_TREES
    rows, trees = ROWS, TREES
    if given.quick:
        rows, trees = tuple(n // 100 for n in rows), tuple(n // 10 for n in trees)
        TREES_OF_ROWS, ROWS_OF_TREES = TREES_OF_ROWS // 10, ROWS_OF_TREES // 100
    sizes = [(n, TREES_OF_ROWS) for n in rows] + [(ROWS_OF_TREES, t) for t in trees if t != TREES_OF_ROWS]
    with tempfile.TemporaryDirectory() as work:
        records = measure_all(sizes, Path(work))
    tell(records, given.picture)
    if given.picture is not None:
        draw_picture(records, given.picture)
    save(given.out)


if __name__ == "__main__":
    main()
