"""A boosted model trained on a Dask cluster, made fair and audited where the data are.

Applicants lie in Parquet files. LightGBM trains on the cluster by its own Dask interface; the path is counted in the
partitions, of which only counts come back; the edited model is an ordinary LGBMClassifier, which is then audited on
files that neither training nor selection has read. Here the cluster is two processes of this machine; with the address
of another, nothing else changes.
"""

import tempfile
from pathlib import Path

import dask.dataframe as dd
import matplotlib
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster
from lightgbm import DaskLGBMClassifier

matplotlib.use("Agg")

import eifffel.dask
from eifffel.datasets import make_biased_classification

EPSILON = 0.05


def write_people(folder: Path, n_files: int, first_seed: int) -> dd.DataFrame:
    """Files as a company might have them, one a month."""
    folder.mkdir()
    for month in range(n_files):
        people = make_biased_classification(5000, random_state=first_seed + month)
        table = pd.DataFrame(people.data, columns=people.feature_names)
        table["hired"], table["gender"] = people.target, np.where(people.sensitive == 1, "man", "woman")
        table.to_parquet(folder / f"{month:02}.parquet")
    return dd.read_parquet(folder)


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as work,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
        ) as cluster,
        Client(cluster) as client,
    ):
        training, held_out, later = (
            write_people(Path(work) / name, n_files, seed)
            for name, n_files, seed in (("training", 4, 0), ("held_out", 3, 100), ("later", 3, 200))
        )
        training = training.persist()  # to train on it, LightGBM wants features and labels in the same partitions
        features = [name for name in training.columns if name not in ("hired", "gender")]
        model = DaskLGBMClassifier(client=client, n_estimators=50, random_state=0, verbose=-1)
        model.fit(training[features], training["hired"])

        path = eifffel.dask.trace_path(
            model,
            training,
            "hired",
            sensitive_features="gender",  # no feature, and nobody is asked for it later
            select_on=(held_out, "hired", "gender"),
        )
        choice = path.select(epsilon=EPSILON, confidence=0.95)
        fair = path.model_at(choice.step)  # an LGBMClassifier

        audited = eifffel.dask.measure_path(path, later, "hired", sensitive_features="gender")
        decided = later.map_partitions(lambda part: part.assign(decided=fair.predict(part[features])))
        rates = decided.groupby("gender")["decided"].mean().compute()

    print(f"{type(fair).__name__} of {path.leaf_counts.counts.shape[0]:,} leaves, edited for epsilon {EPSILON}:\n")
    print(f"{'':>25} {'discrimination':>15} {'accuracy':>9}")
    for name, found, step in (
        ("held out, as it came", path, 0),
        ("held out, edited", path, choice.step),
        ("later, as it came", audited, 0),
        ("later, edited", audited, choice.step),
    ):
        print(f"{name:>25} {found.discrimination[step]:>15.4f} {found.accuracy[step]:>9.4f}")
    print(
        f"\nLater, the edited model itself selects {rates['man']:.1%} of the men and {rates['woman']:.1%} of the women."
    )
    print(audited.verdict(choice))
    path.plot(epsilon=EPSILON, confidence=0.95).figure_.savefig("cluster.png")
    print("The trade-off is in cluster.png.")


if __name__ == "__main__":
    main()
