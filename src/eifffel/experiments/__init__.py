"""The paper's experiments: `reproduce` runs them all."""

from eifffel.experiments._printed import PRINTED, PRINTED_ALPHA
from eifffel.experiments._protocol import EXPERIMENTS
from eifffel.experiments._reproduce import plan, reproduce
from eifffel.experiments._results import Results

__all__ = ["EXPERIMENTS", "PRINTED", "PRINTED_ALPHA", "Results", "plan", "reproduce"]
