"""What the numbers of a report do not say."""

from eifffel.constraints import DEMOGRAPHIC_PARITY

ALWAYS = (
    "Every number is of the rows that it names. Other people differ from them, and intervals say by how much rates may "
    "differ for that reason alone; they know nothing of a population that changes."
)
OF_EDITS = (
    "A smaller difference can be had by giving favourable decisions to some people and by taking them from others; "
    "the table of who changed has both.",
    "Probabilities of an edited model are no longer calibrated.",
)
NO_ADVICE = "This measures; it does not say that a law is complied with."

# What discrimination does not say, by what is compared.
UNSAID = {
    DEMOGRAPHIC_PARITY: "Discrimination is the difference between the groups' rates of favourable decisions "
    "(demographic parity). It does not say whether decisions are right, whether errors fall on all groups alike, or "
    "whether the labels were fair.",
    "equal_opportunity": "Discrimination is the difference between the groups' rates of favourable decisions among "
    "people with a favourable label (equal opportunity). It is silent on people without one, and on whether the labels "
    "were fair.",
    "predictive_equality": "Discrimination is the difference between the groups' rates of favourable decisions among "
    "people without a favourable label (predictive equality). It is silent on people with one, and on whether the "
    "labels were fair.",
    "equalized_odds": "Discrimination is the larger of two differences between groups: of the rates of favourable "
    "decisions among people with a favourable label, and among those without (equalized odds). It does not say whether "
    "the labels were fair, nor whether as many of each group are decided favourably.",
}


def list_limits(constraint: str, *, edited: bool) -> tuple[str, ...]:
    """What is to be said with any number, of a model that was edited or of decisions as they came."""
    return (ALWAYS, UNSAID[constraint], *(OF_EDITS if edited else ()), NO_ADVICE)
