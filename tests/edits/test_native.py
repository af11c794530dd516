"""Model files of the libraries themselves: read, made fair, and written again."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_record import X, halfway, y

from boosters import BOOSTED
from eifffel import ModelFileError, UnsupportedModelError, load, view_ensemble
from eifffel.edits.native import read_native, write_native

# A Booster decides otherwise than the classifier that was saved.
STOPPED = "xgboost, stopped early"
NAMES = [name for name in BOOSTED if name.partition(",")[0] in ("lightgbm", "xgboost", "catboost")]
EDITED = [name for name in NAMES if name != "lightgbm, one leaf"]


def saved(model, file):
    """By the library's own means."""
    inner = getattr(model, "booster_", model)
    inner.save_model(str(file))
    return file


def decided(model):
    return view_ensemble(model).model_decides(X)


@pytest.mark.parametrize("name", NAMES)
def test_a_librarys_own_file_is_read(name, tmp_path):
    model = BOOSTED[name](X, y)
    if name == STOPPED:
        with pytest.raises(ModelFileError, match="was stopped early in its training, and a Booster decides by all"):
            load(saved(model, tmp_path / "model.json"))
        best = saved(model.get_booster()[: model.best_iteration + 1], tmp_path / "best.json")
        np.testing.assert_array_equal(decided(load(best)), decided(model))
        return
    endings = (".json", ".ubj") if name.startswith("xgboost") else (".model",)
    for ending in endings:
        same = load(saved(model, tmp_path / f"model{ending}"))
        np.testing.assert_array_equal(decided(same), decided(model))


@pytest.mark.filterwarnings("ignore::eifffel.exceptions.IndistinctGroupsWarning")
@pytest.mark.parametrize("name", EDITED)
def test_an_edited_model_goes_back_into_its_own_file(name, tmp_path):
    edited = halfway(BOOSTED[name](X, y))
    file = tmp_path / "fair.json"
    file.write_bytes(write_native(edited))
    if name == STOPPED:
        same = type(edited)()
        same.load_model(str(file))
    else:
        same = load(file)
    np.testing.assert_array_equal(decided(same), decided(edited))
    assert (decided(edited) != decided(BOOSTED[name](X, y))).any()


@pytest.mark.parametrize("name", [name for name in NAMES if name in ("lightgbm", "xgboost", "catboost")])
def test_damaged_files_are_refused(name, tmp_path):
    whole = write_native(BOOSTED[name](X, y))
    file = tmp_path / "model"
    file.write_bytes(whole[: len(whole) // 3])
    with pytest.raises(ModelFileError, match=f"cannot be read as a model of {name}: ."):
        load(file)


def test_other_files_are_left_to_others(tmp_path):
    for data in (b"", b"tree of life", b"{}", b"CBM", b"\x80\x04pickle", b"trees\n"):
        assert read_native(tmp_path / "file", data) is None


def test_models_without_a_file_of_their_own_are_refused():
    boosted = HistGradientBoostingClassifier(max_iter=3).fit(X, y)
    with pytest.raises(UnsupportedModelError, match="has no file of its own that other programs read; lightgbm"):
        write_native(boosted)
    with pytest.raises(UnsupportedModelError, match=r"a Pipeline has no file of its own .* Save a part of it"):
        write_native(make_pipeline(StandardScaler(), boosted))
