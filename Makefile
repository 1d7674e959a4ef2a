# Needs Python 3.11 or later, make and pip; all is installed into .venv, at the versions of constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal
# Python keeps what it has compiled, as it does by default: tests start a thousand processes.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: install install-all demo wheel docs pictures test test-all golden nightly oldest newest chaos lint bench clean

# What the demo and your own data need: 4 extras of 17. A torch that .venv has already, such as one for a CPU, stays.
install: .venv/installed

# Everything: for tests, documents and benchmarks.
install-all: .venv/all

# Not compiled: most of what so many packages hold is never imported.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) torch
	$(INSTALL) --editable '.[train,offline,excel,report]'
	touch .venv/installed

.venv/all: .venv/installed
	$(INSTALL) --editable '.[train,dev,offline,excel,xml,report,explain,lora,sentencepiece,search,export,serve,docs]'
	touch .venv/all

# A model, its scores next to the baselines, and every prediction, in under 3 minutes, without a network.
demo: install
	$(BIN)/finetune run quickstart --out build/demo --force
	$(BIN)/finetune show paraphrase --out build/demo --predictions 5

# The package with its tasks and recipes, in dist/: `pip install` takes it into any environment.
wheel: install
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

# The documentation site, in build/site; every link is checked, nothing comes from a network.
docs: install-all
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

# The pictures of the documents: what commands print, and their pages in Chromium; trains the quickstart. Then the tables.
pictures: install-all
	$(BIN)/python docs/generate/pictures.py --write
	$(BIN)/python docs/generate/pages.py --write

# Unit and contract tests, documents, and what else is fast.
test: install-all
	$(PYTEST) -m "not slow and not nightly"

# Those, the golden set, and the slow tests that hold a contract: what continuous integration runs.
test-all: install-all
	$(PYTEST) -m "not nightly"

# Whether anything changed for a user: runs, ids, tables, files as read, commands, kills. `python -m golden` keeps another answer.
golden: install-all
	$(PYTEST) -m "" tests/golden tests/learning/test_parity.py tests/unit/metrics

# Every test with all pairs of encoder family and task type, the oldest and newest packages, and then the kills: some hours.
nightly: install-all
	FINETUNE_ALL_PAIRS=1 $(PYTEST) -m ""
	$(MAKE) oldest newest chaos

# Runs, and losses next to transformers', with the oldest packages that pyproject.toml allows, and with the newest. both have
# the torch of constraints.txt: another may be a build of gigabytes for GPUs.
oldest newest:
	$(PYTHON) -m venv --clear build/$@
	grep -oE '"[a-z-]+>=[0-9.]+' pyproject.toml | tr -d '"' | sed 's/>=/==/' | grep -v ^torch= > build/oldest.txt
	build/$@/bin/pip install --quiet --no-compile $$(grep ^torch== constraints.txt)
	build/$@/bin/pip install --quiet --no-compile $(if $(filter oldest,$@),--constraint build/oldest.txt) \
		--editable '.[train,offline,excel]' pytest pytest-timeout
	build/$@/bin/python -m pytest -m "" tests/system/test_runs.py tests/learning/test_parity.py

# Kills, full disks, damaged files and the like, about an hour on 2 idle cores; resumes if it was stopped.
chaos: install-all
	PYTHONPATH=.:tests $(BIN)/python -m slow.chaos $(CHAOS)

lint: install-all
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# Training speed against transformers.Trainer on MRPC; needs FINETUNE_DATA, an idle machine and about 15 minutes.
bench: install-all
	$(BIN)/python benchmarks/against_trainer.py --only finetune trainer-padded-fp32 trainer-grouped-fp32 --updates 16 \
		--out results/benchmarks/against_trainer.json
	$(BIN)/python benchmarks/against_trainer.py --only finetune trainer-grouped-bf16 --updates 3 --rounds 1 \
		--out results/benchmarks/against_trainer_bf16.json
	$(BIN)/python benchmarks/against_trainer.py --updates 16 \
		--only finetune finetune-bf16 trainer-grouped-fp32 trainer-grouped-bf16 \
		--out results/benchmarks/against_trainer_avx512.json # where the processor computes bf16
	$(BIN)/python benchmarks/cpu_parts.py --updates 16 --out results/benchmarks/cpu_parts.json
	$(BIN)/python benchmarks/cpu_parts.py --updates 16 --precision bf16 --out results/benchmarks/cpu_parts_bf16.json
	$(BIN)/python benchmarks/step_profile.py --out results/benchmarks/step_profile.json
	$(BIN)/python benchmarks/against_pipeline.py --out results/benchmarks/against_pipeline.json

clean:
	rm -rf .venv dist build
