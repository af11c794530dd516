"""The paper's three data sets are prepared as it says: on a few made-up rows, and on the publishers' own files."""

import hashlib
import io
import sys
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from eifffel.datasets import _adult, _bank, _compas, _files, fetch_adult, fetch_bank, fetch_compas
from real_data import FOLDER, needs_real_data

ADULT_DATA = b"""\
39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, Cuba, <=50K
50, Private, 83311, Masters, 13, Divorced, Sales, Husband, White, Female, 0, 0, 13, United-States, >50K
28, ?, 83311, Masters, 13, Divorced, ?, Husband, White, Female, 0, 0, 13, United-States, >50K

"""
ADULT_TEST = b"""\
|1x3 Cross validator
25, Private, 226802, 11th, 7, Never-married, Sales, Own-child, Black, Male, 0, 0, 40, United-States, >50K.
38, Private, 89814, HS-grad, 9, Divorced, Sales, Husband, White, Female, 0, 0, 50, ?, <=50K.
28, Private, 89814, HS-grad, 9, Divorced, Sales, Husband, White, Female, 0, 0, 50, Cuba, <=50K.

"""
BANK = b"""\
"age";"job";"marital";"education";"default";"balance";"housing";"loan";"contact";"day";"month";"duration";\
"campaign";"pdays";"previous";"poutcome";"y"
58;"management";"married";"tertiary";"no";2143;"yes";"no";"unknown";5;"may";261;1;-1;0;"unknown";"no"
24;"admin.";"single";"secondary";"no";29;"yes";"no";"unknown";5;"may";151;1;-1;0;"unknown";"yes"
25;"unknown";"single";"unknown";"no";-2;"no";"yes";"cellular";5;"jun";76;2;10;1;"failure";"no"
"""
COMPAS = b"""\
id,name,sex,age,age_cat,race,juv_fel_count,juv_misd_count,juv_other_count,priors_count,c_charge_degree,is_recid,\
vr_case_number,start,end,two_year_recid
1,a person,Male,69,Greater than 45,Other,0,0,0,0,F,0,,0,327,0
2,another,Female,34,25 - 45,African-American,0,0,1,2,M,1,1300,9,159,1
3,a third,Male,24,Less than 25,Caucasian,0,1,0,4,F,,,0,63,1
4,a fourth,Male,,Less than 25,Caucasian,0,1,0,4,F,,,0,63,1
5,a fifth,Male,23,Less than 25,African-American,0,1,0,4,F,,,0,63,0
"""


@pytest.fixture
def pandas():
    return pytest.importorskip("pandas")


@pytest.fixture
def folder(pandas, tmp_path, monkeypatch):
    """The made-up rows as files, which count as the published ones."""
    contents = {"adult.data": ADULT_DATA, "adult.test": ADULT_TEST, "bank-full.csv": BANK}
    contents["compas-scores-two-years.csv"] = COMPAS
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    for module in (_adult, _bank, _compas):
        files = []
        for file in module.FILES:
            plain = file.plain(contents[file.name])
            files.append(replace(file, size=len(plain), sha256=hashlib.sha256(plain).hexdigest()))
        monkeypatch.setattr(module, "FILES", tuple(files))
    return tmp_path


def test_adult(folder):
    people = fetch_adult(data_home=folder)
    assert people.target.tolist() == [0, 1, 1, 0], "both files, > 50K is favourable, the dot of adult.test is no matter"
    assert people.sensitive.tolist() == [1, 0, 1, 0], "men are privileged"
    assert people.sensitive_columns == ["sex_Male"]
    assert people.data["sex_Male"].tolist() == [1, 0, 1, 0]
    assert people.data["age"].tolist() == [39, 50, 25, 28], "rows with a question mark are dropped"
    assert people.data["native-country_Cuba"].tolist() == [1, 0, 0, 1]
    assert not any(name.startswith("sex_Fem") or "income" in name for name in people.data)
    assert people.frame["income"].tolist() == ["<=50K", ">50K", ">50K", "<=50K"]
    assert people.frame["sex"].tolist() == ["Male", "Female", "Male", "Female"]


def test_bank(folder):
    people = fetch_bank(data_home=folder)
    assert people.target.tolist() == [0, 1, 0]
    assert people.sensitive.tolist() == [1, 0, 1], "25 counts as older"
    assert people.data["age_25_or_more"].tolist() == [1, 0, 1]
    assert "age" not in people.data, "the binary attribute takes its place"
    assert people.frame["age"].tolist() == [58, 24, 25]
    assert people.data["job_unknown"].tolist() == [0, 0, 1], "unknown is a category"
    assert people.data["duration"].tolist() == [261, 151, 76]
    assert "leaks" in people.DESCR
    assert "favoured by the labels" in people.DESCR


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.replace(b'"', b""),
        lambda content: content.replace(b"\n", b"\r\n"),
        lambda content: content.replace(b"management", b"mgmt").replace(b"admin.", b"admin"),
    ],
    ids=["no quotes", "CRLF", "misspelt"],
)
def test_bank_reads_alike_in_all_forms_in_circulation(change, folder, pandas):
    published = fetch_bank(data_home=folder)
    (folder / "bank-full.csv").write_bytes(change(BANK))
    assert (folder / "bank-full.csv").read_bytes() != BANK
    pandas.testing.assert_frame_equal(fetch_bank(data_home=folder).frame, published.frame)


def test_compas(folder):
    people = fetch_compas(data_home=folder)
    assert people.target.tolist() == [1, 0, 0, 1], "not to reoffend is favourable"
    assert people.sensitive.tolist() == [1, 0, 1, 0]
    assert people.data["age"].tolist() == [69, 34, 24, 23], "only rows that lack a feature are dropped"
    assert people.data["race_not_African-American"].tolist() == [1, 0, 1, 0]
    kept = {*_compas.FEATURES, "race", "two_year_recid"}
    assert set(people.frame) == kept, "nothing recorded after screening, no names, dates or case numbers"
    assert not any("recid" in name for name in people.data)


def test_downloads_are_unpacked_from_the_publishers_own_addresses(folder, tmp_path_factory, monkeypatch):
    """The addresses, and the archives within archives, are those that the publishers have today."""

    def zipped(members):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        return packed.getvalue()

    uci = "https://archive.ics.uci.edu/static/public"
    served = {
        f"{uci}/2/adult.zip": zipped({"Index": b"", "adult.data": ADULT_DATA, "adult.test": ADULT_TEST}),
        f"{uci}/222/bank+marketing.zip": zipped({"bank.zip": zipped({"bank.csv": b"", "bank-full.csv": BANK})}),
        "https://raw.githubusercontent.com/propublica/compas-analysis/master/compas-scores-two-years.csv": COMPAS,
    }
    monkeypatch.setattr(_files, "download", lambda url, verbose: served[url])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.delenv("EIFFFEL_DATA", raising=False)
    assert len(fetch_adult().data) == 4
    assert len(fetch_bank().data) == 3
    assert len(fetch_compas().data) == 4


@pytest.mark.parametrize("fetch", [fetch_adult, fetch_bank, fetch_compas])
def test_rows_go_into_a_forest_as_they_are(fetch, folder):
    people = fetch(data_home=folder)
    assert (people.data.dtypes == np.float64).all()
    assert people.feature_names == list(people.data)
    assert (
        list(people.data.index)
        == list(people.target.index)
        == list(people.sensitive.index)
        == list(range(len(people.data)))
    )
    assert len(people.frame) == len(people.data)
    assert np.isfinite(people.data.to_numpy()).all()


@pytest.mark.parametrize("fetch", [fetch_adult, fetch_bank, fetch_compas])
def test_without_pandas_the_error_says_what_to_install(fetch, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match=r"need pandas; install it with: pip install 'eifffel\[pandas\]'"):
        fetch()


@needs_real_data
@pytest.mark.parametrize(
    ("fetch", "shape", "n_favorable", "n_privileged", "rates"),
    [
        (fetch_adult, (45_222, 103), 11_208, 30_527, (0.114, 0.312)),
        (fetch_bank, (45_211, 51), 5_289, 44_402, (0.256, 0.114)),
        (fetch_compas, (7_214, 13), 3_963, 3_518, (0.486, 0.616)),
    ],
)
def test_the_publishers_own_files(fetch, shape, n_favorable, n_privileged, rates, pandas):
    people = fetch(data_home=FOLDER)
    assert people.data.shape == shape
    assert people.target.sum() == n_favorable
    assert people.sensitive.sum() == n_privileged
    assert people.target.groupby(people.sensitive).mean().round(3).tolist() == list(rates)
    assert f"{shape[0]:,}" in people.DESCR
    assert people.data[people.sensitive_columns[0]].tolist() == people.sensitive.tolist()
    assert not people.frame.isna().to_numpy().any()


@needs_real_data
def test_a_real_file_cut_short_is_refused(pandas, tmp_path):
    content = (FOLDER / "adult.data").read_bytes()
    (tmp_path / "adult.data").write_bytes(content[: len(content) // 2])
    with pytest.raises(OSError, match=r"not the published adult\.data: it is cut short, 1,987,152 of 3,974,305"):
        fetch_adult(data_home=tmp_path)
