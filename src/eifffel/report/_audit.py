"""The tables that auditors ask for, by name."""

from collections.abc import Callable

from eifffel.report._blocks import AuditTable
from eifffel.report._four_fifths import four_fifths
from eifffel.report._ll144 import ll144
from eifffel.report._model_card import model_card
from eifffel.report.facts import Summary

TABLES: dict[str, Callable[[Summary], AuditTable]] = {
    "four-fifths": four_fifths,
    "ll144": ll144,
    "model-card": model_card,
}
