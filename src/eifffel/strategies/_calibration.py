"""Calibration: how sure a model is of its decisions about people whom it has not seen."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from eifffel.ensembles import EnsembleView

# A calibration is drawn towards what the scores stand for by themselves, as strongly as by so many rows.
PRIOR_ROWS = 1.0
# Scores order people, or there would be no model: the slope stays at least this share of what scores stand for.
LEAST_SLOPE = 0.02
# Scores so small that the margin is that of its slope at 0.
SMALLEST_SCORE = 1e-9


@dataclass(frozen=True, eq=False)
class ScoreCalibration:
    """What scores stand for.

    A cut-off, and the weights of the classes in training, say how much an error about either label counts. Among labels
    weighed like that, people with the score 0 have either label equally often.

    Attributes
    ----------
    slope : float
        Log-odds of the favourable label, so weighed, for each unit of the score.
    class_weight : ndarray of shape (2,)
        The weights of the unfavourable and of the favourable label; the geometric mean is 1.
    """

    slope: float
    class_weight: np.ndarray

    def probability(self, score: np.ndarray) -> np.ndarray:
        """The probability of the favourable label, where labels are weighed."""
        probability: np.ndarray = expit(self.slope * score)
        return probability

    def margin(self, score: np.ndarray) -> np.ndarray:
        """How much more likely than not the favourable label is, from -1 to 1, where labels are weighed."""
        # 2 expit(z) - 1 = tanh(z / 2)
        return np.tanh(self.slope * score / 2)

    def score_per_margin(self, score: np.ndarray) -> np.ndarray:
        """What turns a margin into a score; it is at least ``2 / slope``."""
        small = np.abs(score) < SMALLEST_SCORE
        return np.where(small, 2 / self.slope, score / np.where(small, 1.0, self.margin(score)))

    def label_shares(self, score: np.ndarray) -> np.ndarray:
        """The probability of each label over its weight, shape (2, n_rows)."""
        # p_y / c_y; their sum is the mean of 1 / weight of people of this score, and p_y / c_y over it the probability
        # of the label among people as they are.
        likely = self.probability(score)
        return np.stack([1 - likely, likely]) / self.class_weight[:, None]


def calibrate(
    view: EnsembleView, score: np.ndarray, label: np.ndarray | None, weight: np.ndarray, n_people: float
) -> ScoreCalibration:
    """Fit what the scores of rows, so many people, stand for, given labels; without these, take what the model says."""
    # Of the scores alone: margin(s) ~ slope s / 2 near 0.
    small = 1e-6
    own = 2 * float(view.margin(np.array(small))) / small
    if label is None:
        return ScoreCalibration(own, np.ones(2))
    sign, size = 2.0 * label - 1, weight * (n_people / weight.sum())
    line = own * score

    # a, b = argmin sum_i w_i log(1 + exp(-y_i (a + b own s_i))) + PRIOR_ROWS / 2 (a^2 + (b - 1)^2)
    def loss(free: np.ndarray) -> tuple[float, np.ndarray]:
        toward = -sign * (free[0] + free[1] * line)
        away = free - [0.0, 1.0]
        pull = -sign * size * expit(toward)
        value = size @ np.logaddexp(0, toward) + PRIOR_ROWS / 2 * away @ away
        return value, np.array([pull.sum(), pull @ line]) + PRIOR_ROWS * away

    intercept, slope = minimize(loss, [0.0, 1.0], jac=True, method="L-BFGS-B").x
    # log(P(1) / P(0)) = a + b s is b s once labels weigh c_1 : c_0 = exp(-a).
    balance = np.exp(np.array([1, -1]) * np.clip(intercept, -20, 20) / 2)
    return ScoreCalibration(own * max(float(slope), LEAST_SLOPE), balance)
