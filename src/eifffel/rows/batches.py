"""Rows in batches: every pass over rows is one function of a batch, and one that merges what it gave."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar

from sklearn.utils.validation import _num_samples

from eifffel._utils.parallel import Bar
from eifffel._utils.validation import check_table
from eifffel.exceptions import InputError, InputTypeError, message_of


@dataclass(frozen=True, eq=False)
class Batch:
    """Some of the rows, as they were given.

    Attributes
    ----------
    X, y, sensitive_features, sample_weight
        As in `eifffel.trace_path`. ``X`` is ``None`` where nobody asked for features.
    where : str
        What it is called in errors, such as ``"batch 3"``; empty where it is all there is.
    memo : dict
        What was read of it, which need not be read again.
    number : int
        The how many-th batch with rows it is, from 0 on; see `Survey.starts`.
    """

    X: Any
    y: Any
    sensitive_features: Any
    sample_weight: Any = None
    where: str = ""
    memo: dict[str, Any] = field(default_factory=dict)
    number: int = 0

    def __post_init__(self) -> None:
        do_named(lambda batch: check_table(batch.X), self)

    @property
    def like(self) -> Any:
        """The arrays that have an entry for each row."""
        if self.X is not None or self.y is not None:
            return self.y if self.X is None else self.X
        groups = self.sensitive_features
        return next(iter(groups.values())) if isinstance(groups, Mapping) else groups

    def __len__(self) -> int:
        return int(_num_samples(self.like))


class Batches(ABC):
    """Rows in batches that can be read again, each a `Batch` with a ``number`` of its own."""

    stay: ClassVar[bool] = False
    """Whether rows stay where they are, and only what is counted of them comes here."""

    @abstractmethod
    def map(self, function: Callable[[Any], Any], budget: float = 0) -> "Batches":
        """What a function makes of each batch, when it is needed; up to ``budget`` bytes of it may be kept."""

    @abstractmethod
    def reduce(
        self, work: Callable[[Any], Any], merge: Callable[[Any, Any], Any], bar: Bar, n_rows: int | None = None
    ) -> Any:
        """``merge`` together what ``work`` gives for each batch; ``None`` if there are no rows.

        ``n_rows`` is how many there are, if that is known, for the ``bar``.
        """

    def threads(self, n_jobs: int | None) -> int | None:
        """The jobs to take for the work on one batch, of those that the caller asked for."""
        return n_jobs

    @property
    def without_features(self) -> "Batches":
        """The same batches, which may lack features."""
        return self

    @property
    def in_memory(self) -> Any:
        """The rows, if they are one batch that is in memory; else ``None``."""
        return None


class OneBatch(Batches):
    """Rows that are all in memory, or what a function makes of them, once."""

    def __init__(self, batch: Any, function: Callable[[Any], Any] | None = None):
        self._batch, self._function = batch, function

    @cached_property
    def in_memory(self) -> Any:
        return self._batch if self._function is None else self._function(self._batch.in_memory)

    def map(self, function: Callable[[Any], Any], budget: float = 0) -> "OneBatch":
        return OneBatch(self, function)

    def reduce(
        self, work: Callable[[Any], Any], merge: Callable[[Any, Any], Any], bar: Bar, n_rows: int | None = None
    ) -> Any:
        return work(self.in_memory) if len(self.in_memory) else None


class LocalBatches(Batches):
    """Batches that are read in this process, one after another.

    Parameters
    ----------
    read : callable
        Gives an iterator over batches, as often as it is asked; those without rows are passed over.
    read_columns : callable, optional
        Likewise, without features.
    function : callable, optional
        What is made of each.
    budget : float
        Bytes of what it makes that may be kept; the rest is made again.
    """

    def __init__(
        self,
        read: Callable[[], Iterator[Any]],
        read_columns: Callable[[], Iterator[Any]] | None = None,
        function: Callable[[Any], Any] | None = None,
        budget: float = 0,
    ):
        self._read, self._read_columns, self._function, self._room = read, read_columns, function, budget
        self._kept: list[Any] = []
        self._has_all = False

    def __iter__(self) -> Iterator[Any]:
        if self._has_all:
            yield from self._kept
            return
        n_batches = 0
        for batch in self._read():
            if len(batch) == 0:
                continue
            n_batches += 1
            if n_batches <= len(self._kept):
                yield self._kept[n_batches - 1]
                continue
            function = self._function or partial(replace, number=n_batches - 1)
            made = do_named(function, batch)
            if len(self._kept) == n_batches - 1 and self._room and made.nbytes <= self._room:
                self._room -= made.nbytes
                self._kept.append(made.keep(with_rows=n_batches == 1))
            yield made
        self._has_all = 0 < n_batches == len(self._kept)

    def map(self, function: Callable[[Any], Any], budget: float = 0) -> "LocalBatches":
        return LocalBatches(lambda: iter(self), function=function, budget=budget)

    def reduce(
        self, work: Callable[[Any], Any], merge: Callable[[Any, Any], Any], bar: Bar, n_rows: int | None = None
    ) -> Any:
        total: Any = None
        with bar.open(n_rows, unit=" rows", unit_scale=True) as progress:
            for batch in self:
                total = merge_found(merge, total, do_named(work, batch))
                progress.update(len(batch))
        return total

    @property
    def without_features(self) -> "LocalBatches":
        return self if self._read_columns is None else LocalBatches(self._read_columns)


def merge_found(merge: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Merge what two batches gave, where either may have had no rows."""
    if a is None or b is None:
        return b if a is None else a
    return merge(a, b)


def do_named(function: Callable[[Any], Any], batch: Any) -> Any:
    """What a function makes of a batch; its errors say which one it was."""
    try:
        return function(batch)
    except Exception as error:
        if batch.where and type(error) in (ValueError, TypeError, InputError, InputTypeError):
            named = type(error)(f"{batch.where}: " + message_of(error))
            named.__dict__["where"] = batch.where
            raise named from error
        if batch.where:
            error.add_note(f"in {batch.where}")
            error.__dict__["where"] = batch.where
        raise
