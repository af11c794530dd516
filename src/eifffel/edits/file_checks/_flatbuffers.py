"""A reader of flatbuffers, the form of CatBoost's models: tables of fields at offsets, each of which must be inside."""

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from eifffel.edits.file_checks._damage import refuse_unless

PARTS_OUTSIDE = "a model of CatBoost whose parts point outside of it"


def unpack(form: str, data: bytes, place: int) -> Any:
    """One number at a place; raises if that is outside."""
    refuse_unless(0 <= place <= len(data) - struct.calcsize(form), PARTS_OUTSIDE)
    return struct.unpack_from(form, data, place)[0]


class FlatTable:
    """A table of fields by their number; what is not there has a default."""

    def __init__(self, data: bytes, place: int):
        self.data, self.place = data, place
        self._offsets = place - unpack("<i", data, place)
        size, self._size = unpack("<H", data, self._offsets), unpack("<H", data, self._offsets + 2)
        refuse_unless(size >= 4 and size % 2 == 0 and self._offsets + size <= len(data), PARTS_OUTSIDE)
        refuse_unless(place + self._size <= len(data), PARTS_OUTSIDE)
        self._n_fields = (size - 4) // 2

    @classmethod
    def root(cls, data: bytes) -> "FlatTable":
        """The one that all others are in."""
        return cls(data, unpack("<I", data, 0))

    def _place_of(self, field: int, size: int) -> int | None:
        if field >= self._n_fields:
            return None
        offset = unpack("<H", self.data, self._offsets + 4 + 2 * field)
        refuse_unless(offset == 0 or offset + size <= self._size, PARTS_OUTSIDE)
        return self.place + offset if offset else None

    def number(self, field: int, form: str, default: Any) -> Any:
        """A number, by the form that struct has for it."""
        place = self._place_of(field, struct.calcsize(form))
        return default if place is None else unpack(form, self.data, place)

    def _target(self, field: int) -> int | None:
        place = self._place_of(field, 4)
        return None if place is None else place + unpack("<I", self.data, place)

    def numbers(self, field: int, form: Any) -> np.ndarray:
        """An array of numbers; empty where there is none."""
        form, place = np.dtype(form), self._target(field)
        if place is None:
            return np.empty(0, form)
        size = unpack("<I", self.data, place)
        refuse_unless(place + 4 + size * form.itemsize <= len(self.data), PARTS_OUTSIDE)
        return np.frombuffer(self.data, form, size, place + 4)

    def table(self, field: int) -> "FlatTable | None":
        """Another table."""
        place = self._target(field)
        return None if place is None else FlatTable(self.data, place)

    def tables(self, field: int) -> "Iterator[FlatTable]":
        """Several tables, one after another."""
        for k, place in self._places(field):
            yield FlatTable(self.data, place + k)

    def texts(self, field: int) -> list[str]:
        """Several texts."""
        found = []
        for k, place in self._places(field):
            size = unpack("<I", self.data, place + k)
            refuse_unless(place + k + 4 + size <= len(self.data), PARTS_OUTSIDE)
            found.append(self.data[place + k + 4 : place + k + 4 + size].decode())
        return found

    def _places(self, field: int) -> Iterator[tuple[int, int]]:
        offsets, start = self.numbers(field, "<u4"), self._target(field)
        for k, offset in enumerate(offsets.tolist()):
            assert start is not None
            yield offset, start + 4 + 4 * k
