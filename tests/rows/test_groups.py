"""Who is told apart, and who is compared with whom."""

import re

import numpy as np
import pytest

from eifffel.rows.groups import read_groups, read_two_groups
from eifffel.rows.sensitive import UNKNOWN

SEX = np.array(list("fmfmfm"))
RACE = np.array(["x", "x", "y", "y", "z", "z"])
BOTH = {"sex": SEX, "race": RACE}


def codes(groups, given):
    return groups.encode(given, SEX, rows="rows")[0].tolist()


def test_one_column_is_its_values():
    groups = read_groups(RACE)
    assert groups.values == ("x", "y", "z")
    assert codes(groups, RACE) == [0, 0, 1, 1, 2, 2]
    (attribute,) = groups.attributes
    assert (attribute.name, attribute.values, attribute.privileged) == ("", ("x", "y", "z"), None)


def test_the_intersection_compares_all_combinations():
    groups = read_groups(BOTH, combine="intersection")
    assert groups.values == (("f", "x"), ("f", "y"), ("f", "z"), ("m", "x"), ("m", "y"), ("m", "z"))
    assert codes(groups, BOTH) == [0, 3, 1, 4, 2, 5]
    assert len(groups.attributes) == 1
    assert groups.compared[3] == "m, x"


def test_each_attribute_is_compared_by_itself():
    groups = read_groups(BOTH, privileged={"race": "y"})
    assert [(a.name, a.values, a.privileged) for a in groups.attributes] == [
        ("sex", ("f", "m"), None),
        ("race", ("x", "y", "z"), 1),
    ]
    sex, race = groups.attributes
    np.testing.assert_array_equal(sex.members, [[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]])
    np.testing.assert_array_equal(race.members[2], [0, 0, 1, 0, 0, 1])
    assert groups.compared == ("sex f", "sex m", "race x", "race y", "race z")
    # Counts of groups add up to those of the values.
    counted = groups.count_compared(np.arange(12).reshape(6, 2))
    np.testing.assert_array_equal(counted[0], [0 + 2 + 4, 1 + 3 + 5])
    np.testing.assert_array_equal(counted[4], [4 + 10, 5 + 11])


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("combine", ["each", "intersection"])
def test_frames_dicts_and_arrays_are_read_alike(library, combine):
    frames = pytest.importorskip(library)
    expected = codes(read_groups(BOTH, combine=combine), BOTH)
    frame = frames.DataFrame(BOTH)
    groups = read_groups(frame, combine=combine)
    assert groups.names == ("sex", "race")
    assert codes(groups, frame) == codes(groups, BOTH) == expected
    assert codes(groups, np.column_stack([SEX, RACE])) == expected, "columns without names go by their places"
    assert read_groups(frames.Series(name="sex", values=SEX) if library == "polars" else frame["sex"]).names == ("sex",)


def test_missing_values_are_an_error_a_group_or_left_out():
    holes = RACE.astype(object)
    holes[[1, 4]] = None, np.nan
    with pytest.raises(ValueError, match=r"sensitive_features has 2 missing values; drop those rows, .*'own-group'"):
        read_groups(holes)
    own = read_groups(holes, missing="own-group")
    assert own.values == ("x", "y", "z", UNKNOWN)
    assert codes(own, holes) == [0, 3, 1, 1, 3, 2]
    dropped = read_groups(holes, missing="drop")
    code, known = dropped.encode(holes, SEX, rows="rows")
    np.testing.assert_array_equal(known, [True, False, True, True, False, True])
    assert code[known].tolist() == [0, 1, 1, 2]
    both = read_groups({"sex": SEX, "race": holes}, missing="own-group", combine="intersection")
    assert ("f", UNKNOWN) in both.values
    numbers = np.array([1.0, np.nan, 2.0, 2.0, np.nan, 1.0])
    assert codes(read_groups(numbers, missing="own-group"), numbers) == [0, 2, 1, 1, 2, 0]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_missing_values_of_frames(library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({"sex": SEX.tolist(), "race": ["x", None, "y", "y", None, "z"]})
    own = read_groups(frame, missing="own-group")
    assert own.columns == (("f", "m"), ("x", "y", "z", UNKNOWN))
    assert codes(own, frame) == [0, 7, 1, 5, 3, 6]
    with pytest.raises(
        ValueError, match=r"sensitive_features of rows \(sex\) has '\(missing\)', not among the groups 'f', 'm'"
    ):
        codes(own, {"sex": [None, *"mfmfm"], "race": RACE})
    np.testing.assert_array_equal(
        read_groups(frame, missing="drop").encode(frame, SEX, rows="rows")[1], [1, 0, 1, 1, 0, 1]
    )


def test_the_privileged_group_by_value_or_by_attribute():
    assert read_groups(RACE, privileged="z").privileged == (2,)
    assert read_groups(BOTH, combine="intersection", privileged=("m", "y")).privileged == (4,)
    assert read_groups(BOTH, combine="intersection", privileged={"race": "y", "sex": "m"}).privileged == (4,)
    assert read_groups(BOTH, privileged={"sex": "m"}).privileged == (1, None)
    assert (
        read_groups({"sex": SEX}, privileged="m").privileged
        == read_groups({"sex": SEX}, privileged={"sex": "m"}).privileged
    )


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (
            BOTH,
            {"privileged": "m"},
            "privileged must name the attribute, as in {'sex': 'f'}, where each of 'sex', 'race'",
        ),
        (BOTH, {"privileged": {"age": 1}}, "privileged names 'age', not among the attributes 'sex', 'race'"),
        (BOTH, {"privileged": {"sex": "w"}}, "privileged must be one of the groups 'f', 'm' of 'sex', got 'w'"),
        (
            BOTH,
            {"combine": "intersection", "privileged": {"sex": "m"}},
            "privileged must name a value of each of 'sex', 'race'",
        ),
        (BOTH, {"combine": "both"}, "combine must be one of 'each', 'intersection', got 'both'"),
        (BOTH, {"missing": "ignore"}, "missing must be one of 'error', 'own-group', 'drop', got 'ignore'"),
        ({}, {}, "sensitive_features has no columns"),
        ({"sex": SEX, "race": ["x"] * 6}, {}, "sensitive_features (race) must have two values or more, got only 'x'"),
        (np.arange(51), {}, "sensitive_features has 51 groups, and 50 are the most; make bands of numbers"),
        (
            {"a": np.arange(60) % 10, "b": np.arange(60) // 10},
            {},
            "has 60 groups in all combinations of 'a', 'b', and 50 are the most",
        ),
    ],
)
def test_what_cannot_be_groups_is_refused(given, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read_groups(given, **options)


def test_other_columns_than_those_known_are_refused():
    groups = read_groups(BOTH)
    with pytest.raises(
        ValueError, match="sensitive_features of rows has 1 columns, and the groups are of 2: 'sex', 'race'"
    ):
        groups.encode(SEX, SEX, rows="rows")
    with pytest.raises(
        ValueError, match="has the column 'age', and the groups are of 'sex', 'race'; give the same col"
    ):
        groups.encode({"age": RACE, "sex": SEX}, SEX, rows="rows")
    # In another order they are known by their names, and one column by itself whatever it is called.
    np.testing.assert_array_equal(
        groups.encode({"race": RACE, "sex": SEX}, SEX, rows="rows")[0], groups.encode(BOTH, SEX, rows="rows")[0]
    )
    alone = read_groups({"sex": SEX})
    np.testing.assert_array_equal(
        alone.encode({"gender": SEX}, SEX, rows="rows")[0], alone.encode(SEX, SEX, rows="rows")[0]
    )
    with pytest.raises(
        ValueError, match=r"sensitive_features of rows \(race\) has 'w', not among the groups 'x', 'y', 'z'"
    ):
        groups.encode({"sex": SEX, "race": ["w"] * 6}, SEX, rows="rows")


def test_groups_of_other_rows_join_those_of_an_attribute_of_more_than_two():
    more = {"sex": np.array(list("fmfmfx")), "race": np.array(list("xxyyza"))}
    groups = read_groups(BOTH, also=more)
    assert groups.columns == (("f", "m"), ("a", "x", "y", "z"))
    with pytest.raises(ValueError, match="has 'x', not among the groups 'f', 'm'"):
        groups.encode(more, SEX, rows="rows")
    with pytest.raises(ValueError, match="mixes values of several types"):
        read_groups(RACE, also=np.arange(6))


def test_methods_of_two_groups_say_what_to_do_with_more():
    assert read_two_groups(SEX).values == ("f", "m")
    with pytest.raises(ValueError, match=r"must have two values here, got 3: 'x', 'y', 'z'. Pass a column that says"):
        read_two_groups(RACE)


def test_lists_of_several_values_are_columns_without_names():
    rows = [list(row) for row in zip(SEX, RACE, strict=True)]
    assert read_groups(rows).columns == read_groups(BOTH).columns
    assert codes(read_groups(BOTH), rows) == codes(read_groups(BOTH), BOTH)
    with pytest.raises(ValueError, match="rows of several lengths; give each row one value of each attribute"):
        read_groups([["f", "x"], ["m"]])


def as_objects(values):
    column = np.empty(len(values), object)
    column[:] = values
    return column


@pytest.mark.parametrize("form", ["list", "tuple", "array", "series", "dict"])
def test_a_tuple_is_one_group(form):
    pairs = list(zip(SEX, RACE == "x", np.arange(6) // 3, strict=True))
    column = {
        "list": lambda: pairs,
        "tuple": lambda: tuple(pairs),
        "array": lambda: as_objects(pairs),
        "series": lambda: pytest.importorskip("pandas").Series(pairs),
        "dict": lambda: {"pair": pairs},
    }[form]()
    groups = read_groups(column, privileged=("m", False, 1))
    values = (("f", False, 0), ("f", False, 1), ("f", True, 0), ("m", False, 1), ("m", True, 0))
    assert (groups.columns, groups.privileged) == ((values,), (3,))
    assert {type(part) for value in groups.values for part in value} == {str, bool, int}, "NumPy's are not stored"
    assert codes(groups, column) == [2, 4, 0, 3, 1, 3]
    assert groups.compared[0] == "f, False, 0"


def test_a_tuple_with_a_gap_is_no_group():
    pairs = as_objects([("f", "x"), ("m", None), ("f", float("nan")), ("m", "y"), None, ("m",)])
    with pytest.raises(ValueError, match="sensitive_features has 3 missing values"):
        read_groups(pairs)
    groups = read_groups(pairs, missing="own-group")
    assert groups.values == (("f", "x"), ("m",), ("m", "y"), UNKNOWN)
    assert codes(groups, pairs) == [0, 3, 3, 2, 3, 1]


@pytest.mark.parametrize("value", [["f", "x"], {"f"}, np.array(["f", "x"])])
def test_a_collection_that_can_change_is_no_group(value):
    with pytest.raises(ValueError, match=f"must be numbers, booleans or strings, got a {type(value).__name__}"):
        read_groups(as_objects([("f", "x"), value, ("m", "y")]))
    with pytest.raises(ValueError, match="must be numbers, booleans or strings, got a tuple that can change"):
        read_groups(as_objects([("f", "x"), ("m", value)]))


def test_bands_of_numbers_are_known_by_their_names():
    pandas = pytest.importorskip("pandas")
    bands = pandas.cut(pandas.Series([5, 25, 35, 105] * 3), [0, 20, 30, 100, 120])
    groups = read_groups(bands)
    assert groups.values == ("(0, 20]", "(20, 30]", "(30, 100]", "(100, 120]")
    assert groups.encode(bands, bands, rows="rows")[0].tolist() == [0, 1, 2, 3] * 3


def test_two_columns_of_one_name_are_refused():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([["f", "x"], ["m", "y"]], columns=["sex", "sex"])
    with pytest.raises(ValueError, match="sensitive_features has more than one column named 'sex'; rename them"):
        read_groups(frame)


def test_nobody_is_described_who_is_one_of_few():
    groups = read_groups(list("abcde"))

    def described(*sizes):
        return "".join(np.array(list("abcde"))[groups.find_described(np.array(sizes))])

    assert described(500, 400, 8, 20, 10) == "abde"
    assert described(500, 400, 8, 20, 3) == "abd"
    assert described(500, 400, 0, 20, 15) == "abde", "one without rows is no secret, and has nothing to describe"
    both = read_groups({"sex": ["f", "m"] * 3, "race": ["w", "w", "x", "x", "y", "y"]})
    # Of race y there are 9; without those there are 8 of sex m, and without them 7 of race x.
    assert both.find_described(np.array([500, 7, 4, 5, 3, 5])).tolist() == [True] + [False] * 5
    assert both.find_described(np.array([500, 70, 4, 50, 30, 5])).tolist() == [True, True, False, True, True, False]


def test_labels_that_few_of_a_group_have_are_not_told():
    groups = read_groups(list("abc"))
    totals = np.array([[50, 60], [9, 60], [0, 80]])
    assert groups.find_labelled(totals, np.ones(3, bool)).tolist() == [True, False, True]


def test_groups_of_other_rows_are_found_by_the_names_of_their_columns():
    also = {"race": [*RACE, "w"], "sex": [*SEX, "f"]}
    groups = read_groups(BOTH, also=also)
    assert groups.columns == (("f", "m"), ("w", "x", "y", "z"))


def test_missing_groups_are_found_wherever_they_stand():
    column = np.array(["a", None, "a", None], object)
    groups = read_groups(column, missing="own-group")
    assert groups.values == ("a", "(missing)")
    codes_of = groups.encode(column, column, rows="rows")[0]
    assert [groups[code] for code in codes_of] == ["a", "(missing)", "a", "(missing)"]


@pytest.mark.parametrize("privileged", ["f", "m", None])
def test_of_two_groups_the_privileged_one_is_compared_last_and_counted_where_it_is(privileged):
    groups = read_groups(SEX, privileged=privileged)
    assert groups.values == ("f", "m")
    assert groups.compared == (("m", "f") if privileged == "f" else ("f", "m"))
    people = np.array([[3], [5]])
    expected = dict(zip(groups.values, people[:, 0], strict=True))
    assert dict(zip(groups.compared, groups.count_people(people[:, 0]), strict=True)) == expected
    (attribute,) = groups.attributes
    assert privileged is None or attribute.values[attribute.privileged] == privileged
