"""fair-trees: a forest whose splits weigh how well they separate labels against how well they separate groups."""

from collections.abc import Iterator

from exchange import Answer, Task, clock, main
from fair_trees import FairRandomForestClassifier

# Weights of fairness: from none to nothing else.
THETAS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0)


def fair_forest(task: Task) -> Iterator[Answer]:
    rows = task.train
    for theta in THETAS:
        model = FairRandomForestClassifier(theta=theta, **task.forest)
        with clock() as fit:
            model.fit(task.X[rows], task.y[rows], Z=task.group[rows])
        with clock() as predict:
            favorable = model.predict(task.X[task.test])
        yield Answer(favorable, fit.seconds, predict.seconds, setting=f"theta {theta:g}", model=model)


METHODS = {"fair-trees": fair_forest}

if __name__ == "__main__":
    main(METHODS)
