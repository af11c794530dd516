"""What aif360 0.6.1 gives on a small drawn data set; the results are kept in aif360_reference.json.

aif360 is no dependency. To obtain the numbers again, in an environment of its own:

    python -m venv aif360-env
    aif360-env/bin/pip install aif360==0.6.1 'scikit-learn<1.5' 'numpy<2' 'pandas<2.3'
    aif360-env/bin/python tests/baselines/aif360_reference.py
"""

import json
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).with_suffix(".json")
N_ROWS = 400


def draw(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Scores, labels, groups (1 is privileged) and weights; the scores favour group 1."""
    random = np.random.RandomState(seed)
    group = (random.random_sample(N_ROWS) < 0.6).astype(int)
    label = (random.random_sample(N_ROWS) < 0.35 + 0.25 * group).astype(int)
    score = 1 / (1 + np.exp(-(1.5 * label - 0.9 + 0.8 * group + random.normal(size=N_ROWS))))
    weight = random.choice([0.5, 1.0, 2.0], N_ROWS)
    return score, label, group, weight


def main() -> None:
    import pandas as pd
    import scipy
    import sklearn
    from aif360.algorithms.postprocessing import (
        CalibratedEqOddsPostprocessing,
        EqOddsPostprocessing,
        RejectOptionClassification,
    )
    from aif360.algorithms.preprocessing import Reweighing
    from aif360.datasets import BinaryLabelDataset

    groups = {"unprivileged_groups": [{"s": 0}], "privileged_groups": [{"s": 1}]}
    results: dict = {
        "versions": {"aif360": "0.6.1", "scikit-learn": sklearn.__version__, "scipy": scipy.__version__},
        "seeds": {},
    }
    for seed in range(3):
        score, label, group, weight = draw(seed)

        def data(labels, weights=None, group=group, score=score):
            table = pd.DataFrame({"s": group, "y": labels, "x": score})
            if weights is not None:
                table["w"] = weights
            made = BinaryLabelDataset(
                df=table,
                label_names=["y"],
                protected_attribute_names=["s"],
                instance_weights_name=None if weights is None else "w",
            )
            made.scores = score.reshape(-1, 1)
            return made

        true, predicted = data(label), data((score > 0.5).astype(int))
        odds = EqOddsPostprocessing(**groups, seed=0).fit(true, predicted).model_params.x.tolist()
        found: dict = {
            # P(favourable | decided favourably), P(favourable | decided unfavourably): privileged, then unprivileged.
            "equalized_odds": odds,
            "calibrated": {},
            "reject_option": {},
            "reweighing": {},
        }
        for cost in ("fpr", "fnr", "weighted"):
            fitted = CalibratedEqOddsPostprocessing(**groups, cost_constraint=cost, seed=0).fit(true, predicted)
            found["calibrated"][cost] = {
                "mix_rates": [float(fitted.unpriv_mix_rate), float(fitted.priv_mix_rate)],
                "base_rates": [float(fitted.base_rate_unpriv), float(fitted.base_rate_priv)],
            }
        for bound in (0.02, 0.05, 0.2):
            reject = RejectOptionClassification(**groups, metric_ub=bound, metric_lb=-bound).fit(true, predicted)
            found["reject_option"][str(bound)] = {
                "threshold": float(reject.classification_threshold),
                "margin": float(reject.ROC_margin),
                "decisions": "".join(str(int(decided)) for decided in reject.predict(predicted).labels.ravel()),
            }
        for name, weights in (("equal", None), ("weighted", weight)):
            fitted = Reweighing(**groups).fit(data(label, weights))
            found["reweighing"][name] = {
                "unprivileged": [float(fitted.w_up_unfav), float(fitted.w_up_fav)],
                "privileged": [float(fitted.w_p_unfav), float(fitted.w_p_fav)],
            }
        results["seeds"][str(seed)] = found
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
