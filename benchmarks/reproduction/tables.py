"""Runs -> the paper's tables, measured beside printed, as Markdown, CSV and LaTeX."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from reproduction import protocol
from reproduction.printed import PRINTED, PRINTED_ALPHA
from reproduction.summary import Runs, mean_of_seeds

MEASURES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "discrimination": "discrimination",
    "accuracy_loss": "loss of accuracy",
    "balanced_accuracy_loss": "loss of balanced accuracy",
}
CHOSEN_ON = {protocol.TRAINING: "training rows", protocol.HELD_OUT: "held-out rows"}
PRINTED_COLUMNS = ("accuracy", "discrimination")

TableRecord = dict[str, Any]


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper: ``records`` hold the numbers, one for each method, bound and choice of rows.

    Attributes
    ----------
    name : str
        What its files are called.
    title : str
    bound : str
        The bound that its rows differ in, "epsilon" or "alpha".
    shown : tuple of str
        The measures that Markdown and LaTeX show; the CSV has all.
    records : list of dict
    """

    name: str
    title: str
    bound: str
    shown: tuple[str, ...]
    records: list[TableRecord]

    def to_csv(self) -> str:
        """All numbers, one record a line."""
        text = io.StringIO()
        writer = csv.DictWriter(text, list(self.records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.records)
        return text.getvalue()

    def to_markdown(self) -> str:
        """One line for each method and bound."""
        header, rows = self._grid(" ± ")
        lines = [header, ["---"] * len(header), *rows]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def to_latex(self) -> str:
        """A tabular for ``\\usepackage{booktabs}``, with a rule between bounds."""
        header, rows = self._grid(r" $\pm$ ")
        columns = " & ".join(rf"\shortstack{{{_escape(cell).replace(', ', chr(92) * 2)}}}" for cell in header[2:])
        lines = [f"% {self.title}. Needs \\usepackage{{booktabs}}."]
        lines += [rf"\begin{{tabular}}{{ll{'c' * (len(header) - 2)}}}", r"\toprule"]
        lines += [rf"$\{self.bound}$ & method & {columns} \\"]
        for place, row in enumerate(rows):
            if place == 0 or row[0] != rows[place - 1][0]:
                lines.append(r"\midrule")
            lines.append(rf"{' & '.join(map(_escape, row))} \\")
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"

    def _grid(self, plus_minus: str) -> tuple[list[str], list[list[str]]]:
        """Header and cells: for each measure what is printed, and what was measured on either choice of rows."""
        has_print = any(record["printed_accuracy"] is not None for record in self.records)
        columns = [
            (measure, source)
            for measure in self.shown
            for source in (*(["printed"] if has_print and measure in PRINTED_COLUMNS else []), *CHOSEN_ON)
        ]
        header = [self.bound, "method"]
        header += [f"{MEASURES[measure]}, {CHOSEN_ON.get(source, source)}" for measure, source in columns]
        header += [f"bounds met, {words}" for words in CHOSEN_ON.values()]
        lines: dict[tuple[Any, str], list[str]] = {}
        for record in self.records:
            key = (record[self.bound], record["method"])
            line = lines.setdefault(key, [""] * (len(columns) + len(CHOSEN_ON)))
            if record["n_met"] is not None:
                place = len(columns) + list(CHOSEN_ON).index(record["chosen_on"])
                line[place] = f"{record['n_met']} of {record['n_seeds']}"
            for place, (measure, source) in enumerate(columns):
                if source == "printed" and record[f"printed_{measure}"] is not None:
                    line[place] = f"{record[f'printed_{measure}']:.2f}"
                elif source == record["chosen_on"]:
                    spread = record[f"{measure}_sd"]
                    line[place] = f"{round(record[measure], 3) + 0.0:.3f}" + (
                        "" if spread is None else f"{plus_minus}{spread:.3f}"
                    )
        return header, [
            ["" if bound is None else f"{bound:g}", method, *line] for (bound, method), line in lines.items()
        ]


def make_tables(runs: Runs) -> Iterator[PaperTable]:
    """The tables of the data sets that were run: one per data set, and that of alpha."""
    for features in protocol.FEATURES:
        for name in runs.names:
            experiment = protocol.EXPERIMENTS[name]
            bounds = [(None, None), *((epsilon, None) for epsilon in protocol.EPSILONS)]
            shown: tuple[str, ...] = ("accuracy", "discrimination")
            if experiment.objective != "accuracy":
                shown = ("accuracy", experiment.objective, "discrimination")
            yield _table(runs, name, features, "epsilon", bounds, shown)
            if experiment.alphas:
                with_alpha = [(protocol.ALPHA_EPSILON, alpha) for alpha in experiment.alphas]
                yield _table(runs, name, features, "alpha", with_alpha, shown)


def _table(
    runs: Runs,
    data: str,
    features: str,
    bound: str,
    bounds: Sequence[tuple[float | None, float | None]],
    shown: tuple[str, ...],
) -> PaperTable:
    printed = PRINTED_ALPHA if bound == "alpha" else PRINTED[data]
    records = []
    for epsilon, alpha in bounds:
        for method in protocol.METHODS:
            for chosen_on in CHOSEN_ON:
                rows = runs.pick(
                    data=data,
                    features=features,
                    method=method,
                    chosen_on=chosen_on,
                    epsilon=epsilon,
                    alpha=alpha,
                )
                if len(rows):
                    in_print = None
                    # The paper chooses on training rows, with the sensitive column among the features.
                    if features == protocol.WITH and chosen_on == protocol.TRAINING:
                        in_print = printed.get(method, {}).get(alpha if bound == "alpha" else epsilon)
                    records.append(
                        {"data": data, "features": features, "epsilon": epsilon, "alpha": alpha, "method": method}
                        | {"chosen_on": chosen_on, "n_seeds": len(rows)}
                        | {"n_met": int(rows["met"].sum()) if rows["met"].notna().all() else None}
                        | _measured(rows)
                        | {"printed_accuracy": None if in_print is None else in_print[0]}
                        | {"printed_discrimination": None if in_print is None else in_print[1]}
                    )
    title = protocol.EXPERIMENTS[data].title
    limits = f", epsilon = {protocol.ALPHA_EPSILON:g} and alpha" if bound == "alpha" else ""
    name = "_".join([data, *(["alpha"] if bound == "alpha" else []), features])
    n_seeds = records[0]["n_seeds"]
    seeds = f"{n_seeds} seed" if n_seeds == 1 else f"mean ± standard deviation of {n_seeds} seeds"
    return PaperTable(name, f"{title}{limits}, {protocol.FEATURES[features]}: {seeds}", bound, shown, records)


def _measured(rows: Any) -> TableRecord:
    cells: TableRecord = {}
    for measure in MEASURES:
        found = mean_of_seeds(rows[measure])
        cells[measure] = round(found.mean, 6)
        cells[f"{measure}_sd"] = round(found.sd, 6) if found.n > 1 else None
    return cells


def _escape(cell: str) -> str:
    """Text as LaTeX; what is already mathematics stays."""
    if cell.endswith("*"):
        cell = cell[:-1] + r"$^{\star}$"
    return cell.replace("%", r"\%").replace("_", r"\_")
