"""A reader of Universal Binary JSON, the form in which XGBoost stores its models: plain data out of bytes."""

import json
import struct
from typing import Any

import numpy as np

from eifffel.edits.file_checks._damage import DamageError, refuse_unless

# How numbers are written, by their letter: the form that struct has for one, and that NumPy has for many.
NUMBERS = {"i": ">i1", "U": ">u1", "I": ">i2", "u": ">u2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}
STRUCTS = {letter: struct.Struct(">" + letter_of) for letter, letter_of in zip("iUIulLdD", "bBhHiqfd", strict=True)}
CONSTANTS = {"T": True, "F": False, "Z": None}
# XGBoost nests its models no deeper.
DEEPEST_NESTING = 50
CUT_OFF = "a model of XGBoost that is cut off"


def read_ubjson(data: bytes) -> Any:
    """The value that bytes hold; arrays of one type of numbers are NumPy's."""
    value, place = _Reader(data).read(0, 0)
    refuse_unless(place == len(data), "a model of XGBoost that does not end where it should")
    return value


class _Reader:
    def __init__(self, data: bytes):
        self.data = data

    def _letter(self, place: int) -> str:
        refuse_unless(place < len(self.data), CUT_OFF)
        return chr(self.data[place])

    def _number(self, letter: str, place: int) -> tuple[Any, int]:
        refuse_unless(letter in STRUCTS, "a model of XGBoost with unknown types")
        form = STRUCTS[letter]
        refuse_unless(place + form.size <= len(self.data), CUT_OFF)
        return form.unpack_from(self.data, place)[0], place + form.size

    def _size(self, place: int) -> tuple[int, int]:
        size, place = self._number(self._letter(place), place + 1)
        refuse_unless(isinstance(size, int) and 0 <= size <= len(self.data), CUT_OFF)
        return size, place

    def _text(self, place: int) -> tuple[str, int]:
        size, place = self._size(place)
        refuse_unless(place + size <= len(self.data), CUT_OFF)
        return self.data[place : place + size].decode(), place + size

    def read(self, place: int, depth: int) -> tuple[Any, int]:
        refuse_unless(depth < DEEPEST_NESTING, "a model of XGBoost that is nested too deeply")
        letter, place = self._letter(place), place + 1
        if letter == "N":  # no operation
            return self.read(place, depth + 1)
        if letter in CONSTANTS:
            return CONSTANTS[letter], place
        if letter == "C":
            return self._letter(place), place + 1
        if letter == "S":
            return self._text(place)
        if letter == "{":
            return self._object(place, depth)
        if letter == "[":
            return self._list(place, depth)
        return self._number(letter, place)

    def _object(self, place: int, depth: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        refuse_unless(self._letter(place) not in "$#", "a model of XGBoost with unknown types")
        while self._letter(place) != "}":
            name, place = self._text(place)
            refuse_unless(name not in found, f"a model of XGBoost that says {name} twice")
            found[name], place = self.read(place, depth + 1)
        return found, place + 1

    def _list(self, place: int, depth: int) -> tuple[Any, int]:
        if self._letter(place) == "$":
            kind = self._letter(place + 1)
            refuse_unless(kind in NUMBERS and self._letter(place + 2) == "#", "a model of XGBoost with unknown types")
            size, place = self._size(place + 3)
            form = np.dtype(NUMBERS[kind])
            refuse_unless(place + size * form.itemsize <= len(self.data), CUT_OFF)
            numbers = np.frombuffer(self.data, form, size, place)
            return numbers.astype(form.newbyteorder("=")), place + size * form.itemsize
        found: list[Any] = []
        if self._letter(place) == "#":
            size, place = self._size(place + 1)
            for _ in range(size):
                value, place = self.read(place, depth + 1)
                found.append(value)
            return found, place
        while self._letter(place) != "]":
            value, place = self.read(place, depth + 1)
            found.append(value)
        return found, place + 1


def read_json(data: bytes) -> Any:
    """The value that JSON of XGBoost's holds; nothing may be said twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        refuse_unless(len({name for name, _ in pairs}) == len(pairs), "a model of XGBoost that says something twice")
        return dict(pairs)

    try:
        return json.loads(data, object_pairs_hook=once)
    except RecursionError:
        raise DamageError("a model of XGBoost that is nested too deeply") from None
