"""The corrected Algorithms 1 to 3, run as they are printed: one prediction of the whole forest after every flip.

Nothing here is shared with the package. Integers are compared as fractions, so nothing rounds.
"""

import copy
from fractions import Fraction

import numpy as np


class LiteralForest:
    """A forest being flipped, leaf by leaf, in a copy of the model."""

    def __init__(self, model, X, y, s, favorable):
        """``y`` is 1 for the favourable label, ``s`` is 1 for the privileged group."""
        self.model = copy.deepcopy(model)
        self.trees = getattr(self.model, "estimators_", [self.model])
        self.columns = getattr(self.model, "estimators_features_", [slice(None)] * len(self.trees))
        self.X, self.y, self.s = X, y, s
        self.favorable = list(model.classes_).index(favorable)
        self.label_weight = self._label_weight(model)
        self.flipped_leaves = set()

    def _label_weight(self, model):
        class_weight = (model if hasattr(model, "class_weight") else model.estimator).class_weight
        labels = [model.classes_[1 - self.favorable], model.classes_[self.favorable]]
        if class_weight is None:
            return [1, 1]
        if class_weight == "balanced":
            return [Fraction(len(self.y), 2 * int((self.y == k).sum())) for k in (0, 1)]
        return [Fraction(str(class_weight.get(label, 1))) for label in labels]  # 0.1 is a tenth

    def decisions(self):
        return self.model.predict(self.X) == self.model.classes_[self.favorable]

    def discrimination(self, decisions):
        rates = [Fraction(int(decisions[self.s == g].sum()), int((self.s == g).sum())) for g in (0, 1)]
        return rates[1] - rates[0]

    def accuracy(self):
        return Fraction(int((self.decisions() == self.y).sum()), len(self.y))

    def tree_discrimination(self, t):
        tree = self.trees[t]
        predicted = tree.predict(self.X[:, self.columns[t]])
        return self.discrimination(predicted == tree.classes_[self.favorable])

    def score_leaves(self, t, direction="any"):
        """Algorithm 1: {leaf: (score, drop of discrimination)} for the candidates of tree t."""
        tree = self.trees[t].tree_
        leaf_of_row = self.trees[t].apply(self.X[:, self.columns[t]])
        candidates = {}
        for leaf in np.flatnonzero(tree.children_left == -1):
            fractions = tree.value[leaf, 0]
            if (t, leaf) in self.flipped_leaves or fractions[0] == fractions[1]:
                continue
            predicts_favorable = int(np.argmax(fractions) == self.favorable)
            if direction == "up" and predicts_favorable:
                continue
            inside = leaf_of_row == leaf
            shares = [Fraction(int((inside & (self.s == g)).sum()), int((self.s == g).sum())) for g in (0, 1)]
            # A flip of a favourable leaf takes shares[1] - shares[0] away; of an unfavourable one, adds it.
            delta_disc = (shares[0] - shares[1]) if predicts_favorable else (shares[1] - shares[0])
            if not delta_disc < 0:
                continue
            n = [int((inside & (self.y == k)).sum()) for k in (0, 1)]
            agree = n[predicts_favorable] * self.label_weight[predicts_favorable]
            disagree = n[1 - predicts_favorable] * self.label_weight[1 - predicts_favorable]
            delta_accu = disagree - agree
            score = float("inf") if delta_accu >= 0 else delta_disc / delta_accu
            candidates[int(leaf)] = (score, -delta_disc)
        return candidates

    def flip(self, t, leaf):
        value = self.trees[t].tree_.value
        value[leaf, 0] = value[leaf, 0, ::-1].copy()
        self.flipped_leaves.add((t, leaf))


def run_literally(strategy, model, X, y, s, favorable, epsilon, alpha, direction="any"):
    """Algorithm 2 ("tree") or 3 ("leaf"): the flips in order, as (tree, leaf, step), and the last step."""
    forest = LiteralForest(model, X, y, s, favorable)
    unflipped = set(range(len(forest.trees)))
    accuracy = forest.accuracy()
    flips, step = [], 0
    while (
        unflipped
        and float(forest.discrimination(forest.decisions())) > epsilon
        and float(accuracy - forest.accuracy()) < alpha
    ):
        t = min(unflipped, key=lambda t: (-forest.tree_discrimination(t), t))
        candidates = forest.score_leaves(t, direction)
        if not candidates:
            unflipped.remove(t)
            continue
        step += 1
        if strategy == "tree":
            chosen = sorted(candidates)
            unflipped.remove(t)
        else:
            chosen = [min(candidates, key=lambda leaf: (-candidates[leaf][0], -candidates[leaf][1], leaf))]
        for leaf in chosen:
            forest.flip(t, leaf)
            flips.append((t, leaf, step))
    return flips, step
