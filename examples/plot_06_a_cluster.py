"""
A model on a cluster
====================

Applicants lie in Parquet files. LightGBM trains on a Dask cluster by its own interface; the path is counted where the
partitions are, of which only counts come back; the edited model is an ordinary LGBMClassifier, which is then audited on
files that neither training nor selection has read. Here the cluster is two processes of this machine. With the address
of another, nothing else changes.
"""

import tempfile
import warnings
from pathlib import Path

import dask.dataframe as dd
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster
from lightgbm import DaskLGBMClassifier

from eifffel import trace_path
from eifffel.datasets import make_biased_classification

# %%
# Files as a company might have them, one a month. The group is a column of the files, and no feature.


def write_people(folder, n_files, first_seed):
    folder.mkdir()
    for month in range(n_files):
        people = make_biased_classification(5000, random_state=first_seed + month)
        table = pd.DataFrame(people.data, columns=people.feature_names)
        table["hired"], table["gender"] = people.target, np.where(people.sensitive == 1, "man", "woman")
        table.to_parquet(folder / f"{month:02}.parquet")
    return dd.read_parquet(folder)


# %%
# Everything that needs the cluster is in one function. Which worker trains on which files is not fixed, so that the
# model and all that follows may differ a little from run to run. With ``confidence=0.95`` the bound of 0.05 is to hold
# for people like those of the files held out, and not only for these. At last the edited model is sent to the workers,
# which predict for people who came later: what the path says of it and what it does should be the same.


def train_edit_audit(client, folder):
    training, held_out, later = (
        write_people(folder / name, n_files, seed)
        for name, n_files, seed in (("training", 4, 0), ("held_out", 3, 100), ("later", 3, 200))
    )
    training = training.persist()  # to train on it, LightGBM wants features and labels in the same partitions
    features = [name for name in training.columns if name not in ("hired", "gender")]
    model = DaskLGBMClassifier(client=client, n_estimators=50, random_state=0, verbose=-1)
    model.fit(training[features], training["hired"])

    names = {"y": "hired", "sensitive_features": "gender"}
    path = trace_path(model, training, select_on=(held_out, "hired", "gender"), **names)
    choice = path.select(epsilon=0.05, confidence=0.95)
    fair = path.model_at(choice)
    audited = path.measure(later, **names)
    decided = later.map_partitions(lambda part: part.assign(decided=fair.predict(part[features])))
    return path, choice, fair, audited, decided.groupby("gender")["decided"].mean().compute()


# %%
# Each process that is started imports this script, so that whatever starts them has to stand behind this ``if``.
# LightGBM warns that the workers decide how many threads there are, which is what we want.

if __name__ == "__main__":
    warnings.filterwarnings("ignore", "Parameter n_jobs will be ignored")
    local = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False}}
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(n_workers=2, threads_per_worker=1, **local) as cluster,
        Client(cluster) as client,
    ):
        path, choice, fair, audited, rates = train_edit_audit(client, Path(folder))

    print(f"{type(fair).__name__} of {path.leaf_counts.counts.shape[0]:,} leaves, step {choice.step}")
    print("                      discrimination  accuracy")
    for name, found, step in (
        ("held out, original model", path, 0),
        ("held out, edited", path, choice.step),
        ("later, original model", audited, 0),
        ("later, edited", audited, choice.step),
    ):
        print(f"{name:>21} {found.discrimination[step]:>15.4f} {found.accuracy[step]:>9.4f}")
    print(f"later, the model itself selects {rates['man']:.2%} of the men and {rates['woman']:.2%} of the women")
    print(audited.verdict(choice))
    assert np.isclose(rates["man"] - rates["woman"], audited.discrimination[choice.step], atol=1e-3)

# %%
# The trade-off on the files held out, and the same path on the later ones. Of no row have features left the workers for
# it: what came back are counts, and the leaves that a sample of rows falls into.

if __name__ == "__main__":
    fig, ax = plt.subplots(figsize=(7.2, 4.8), layout="constrained")
    path.plot(ax=ax, name="held out", selection=choice)
    audited.plot(ax=ax, name="later", selection=choice)
