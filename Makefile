# Everything runs in virtual environments below .venv; Python, make and a package index are all that is needed.
PYTHON ?= python3
BIN = .venv/dev/bin
JOBS ?= 2
OUT ?= output/reproduction
MADE_DOCS = docs/_build docs/api/generated docs/gallery docs/made docs/sg_execution_times.rst

.PHONY: help browser demo docs test lint types tests check check-rest check-slow check-oldest check-no-extras benchmark benchmark-baselines benchmark-boosted benchmark-confidence benchmark-curve benchmark-export benchmark-groups benchmark-peers benchmark-scale benchmark-upwards benchmark-settings reproduce clean

help:
	@echo "make demo       train a forest on synthetic data, make it fair, write model and report to output/demo"
	@echo "make test       lint, types and tests"
	@echo "make docs       the documentation, with every example run, into docs/_build/html"
	@echo "make browser    install Chromium from Debian's packages, in which the reports are tested"
	@echo "make check      make test, then what is slow, the oldest supported versions, and without any extra"
	@echo "make reproduce  the paper's experiments, into OUT=$(OUT); QUICK=1, DATA=compas,bank or SEEDS=5 runs less"
	@echo "make benchmark  time of the path as ratios to predict, fit and the literal algorithm"
	@echo "make benchmark-baselines  the methods compared with, on the paper's data, beside its numbers"
	@echo "make benchmark-boosted    shifted forests and boosted models beside thresholds per group, and what that costs"
	@echo "make benchmark-confidence how often bounds hold on people the model has not seen, and what that costs"
	@echo "make benchmark-curve      how shifts of several differences are best found: variants beside each other"
	@echo "make benchmark-export     how exported models decide, those of other converters too"
	@echo "make benchmark-groups     what bounding more than two groups costs, beside fairlearn"
	@echo "make benchmark-peers      eifffel beside what people would use instead, each in an environment of its own"
	@echo "make benchmark-scale      seconds and memory against rows and trees: in memory, in batches, on a cluster"
	@echo "make benchmark-upwards    what it costs to take no favourable decision from anybody"
	@echo "make benchmark-settings   which forests come near the paper's baseline"

.venv/dev/installed: pyproject.toml
	$(PYTHON) -m venv .venv/dev
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: .venv/dev/installed
	$(BIN)/eifffel demo --out output/demo --overwrite

# Tests of reports use Chromium where it is on the PATH.
browser:
	@command -v chromium > /dev/null || { apt-get update -q && apt-get install -y -q --no-install-recommends chromium; }

test: lint types tests

lint: .venv/dev/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/dev/installed
	$(BIN)/mypy

tests: .venv/dev/installed
	$(BIN)/pytest -n $(JOBS) --dist worksteal -m "not slow"

# Pages are in docs/_build/html. The examples of the gallery run, and a warning is an error.
docs: .venv/dev/installed
	rm -rf $(MADE_DOCS)
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html

check: test check-rest

check-rest: docs check-slow check-oldest check-no-extras

# What takes long and seldom breaks: examples and the code of pages, reports in a browser, interrupts at many moments,
# the paper's experiments, clusters, and thousands of damaged model files.
DAMAGES ?= 2000
check-slow: .venv/dev/installed
	EIFFFEL_DAMAGES=$(DAMAGES) $(BIN)/pytest -n $(JOBS) --dist worksteal -m slow tests

.venv/oldest/installed: pyproject.toml requirements/oldest.txt
	$(PYTHON) -m venv .venv/oldest
	.venv/oldest/bin/pip install --quiet --disable-pip-version-check --editable '.[test-all]' --constraint requirements/oldest.txt
	touch $@

# What takes long and hardly depends on versions is tested with the newest alone: examples, on pages and in docstrings too, the paper's
# experiments, what a browser shows, and of the command line all but its commands and their mistakes.
NEWEST_ALONE = tests/reproduction tests/test_examples.py tests/test_readme.py tests/report/test_browser.py tests/report/test_few_people.py \
	$(filter-out tests/cli/test_commands.py tests/cli/test_mistakes.py,$(wildcard tests/cli/test_*.py))
check-oldest: .venv/oldest/installed
	.venv/oldest/bin/pytest -n $(JOBS) --dist worksteal tests $(addprefix --ignore ,$(NEWEST_ALONE))

# Not editable: what users install is what is tested.
check-no-extras:
	rm -rf .venv/no-extras
	$(PYTHON) -m venv .venv/no-extras
	.venv/no-extras/bin/pip install --quiet --disable-pip-version-check '.[test]'
	.venv/no-extras/bin/pytest -n $(JOBS) --dist worksteal tests

benchmark: .venv/dev/installed
	$(BIN)/python benchmarks/core.py --out docs/results/core_benchmark.md

benchmark-baselines: .venv/dev/installed
	$(BIN)/python benchmarks/baselines.py --seeds 10 --out docs/results/baselines.md

benchmark-boosted: .venv/dev/installed
	$(BIN)/python benchmarks/boosted.py --parts cost --out docs/results/boosted_cost.md
	$(BIN)/python benchmarks/boosted.py --parts accuracy,directions --out docs/results/boosted.md

benchmark-confidence: .venv/dev/installed
	$(BIN)/python benchmarks/confidence.py --out docs/results/confidence.md
	$(BIN)/python benchmarks/confidence_several.py --out docs/results/confidence_several.md

benchmark-curve: .venv/dev/installed
	$(BIN)/python benchmarks/shift_curve.py --out docs/results/shift_curve.md
	$(BIN)/python benchmarks/shift_groups.py --out docs/results/shift_groups.md

benchmark-export: .venv/dev/installed
	$(BIN)/python benchmarks/export.py --out docs/results/export.md

benchmark-groups: .venv/dev/installed
	$(BIN)/python benchmarks/several_groups.py --out docs/results/several_groups.md

# Each peer's environment is made by it. Some five hours of one core, base forests included; what it has done it does not do again.
benchmark-peers: .venv/dev/installed
	$(BIN)/python benchmarks/peers/run.py --jobs $(JOBS) --out docs/results/peers.md
	$(BIN)/python benchmarks/peers/run.py --errors --jobs $(JOBS) --out docs/results/peers_errors.md

benchmark-scale: .venv/dev/installed
	$(BIN)/python benchmarks/scale.py --out docs/results/scale.md --picture docs/results/scale.png

benchmark-upwards: .venv/dev/installed
	$(BIN)/python benchmarks/upwards.py --out docs/results/upwards.md

benchmark-settings: .venv/dev/installed
	$(BIN)/python benchmarks/forest_settings.py --out docs/results/forest_settings.md

# Finished runs in OUT are kept, and the same command goes on from there.
reproduce: .venv/dev/installed
	PYTHONPATH=benchmarks $(BIN)/python -m reproduction --out $(OUT)$(if $(DATA), --data $(DATA))$(if $(SEEDS), --seeds $(SEEDS))$(if $(QUICK), --quick)

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis output $(MADE_DOCS)
