# Rollcall. "make help" lists the targets.

GO       ?= go
PYTHON   ?= python3
BUILD    := .build
VENV     := .venv
BIN      := bin
TOOLS    := $(GO) tool -modfile=tests/tools/go.mod
# Two packages at a time: the control plane of the tests runs beside them.
TESTFLAGS ?= -p 2

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build the command-line tool into bin/rollcall
	$(GO) build -trimpath -o $(BIN)/rollcall ./functions/local

.PHONY: demo
demo: testbed-deps ## Show the main job at work, on a real control plane and an emulated account
	$(GO) run ./tests/demo

.PHONY: test
test: testbed-deps ## Install what the tests need and run them all
	$(GO) test $(TESTFLAGS) ./...

.PHONY: race
race: testbed-deps ## Run the tests under the race detector (needs gcc)
	$(GO) test -race $(TESTFLAGS) ./shared/... ./functions/...

.PHONY: lint
lint: ## Check formatting, imports and habits
	$(TOOLS) golangci-lint run ./...

.PHONY: bench
bench: ## Measure observation against its floor, and decisions
	$(GO) test -run '^$$' -bench . -benchtime 1x -count 3 -timeout 30m ./tests/bench

.PHONY: fuzz
fuzz: ## Fuzz every parser for FUZZTIME each (default 30s)
	$(GO) test -run '^$$' -fuzz FuzzParse -fuzztime $(FUZZTIME) ./shared/policy
	$(GO) test -run '^$$' -fuzz FuzzBootstraps -fuzztime $(FUZZTIME) ./shared/userdata
FUZZTIME ?= 30s

.PHONY: testbed
testbed: testbed-deps ## Start the real parts, print how to point rollcall at them, run until Ctrl-C
	$(GO) run ./tests/testbed/cmd/testbed

CONTROLPLANE_SOURCES := tests/controlplane/go.mod tests/controlplane/go.sum $(wildcard tests/controlplane/cmd/*/main.go)
CONTROLPLANE_FLAGS   := -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3"

.PHONY: testbed-deps
testbed-deps: $(VENV)/.installed $(BUILD)/bin/.built ## Build the control plane and install the emulator

# Linking takes long even when nothing changed, hence the stamp.
$(BUILD)/bin/.built: $(CONTROLPLANE_SOURCES)
	mkdir -p $(BUILD)/bin
	cd tests/controlplane && $(GO) build -p 2 $(CONTROLPLANE_FLAGS) -o $(CURDIR)/$(BUILD)/bin/ \
		./cmd/... sigs.k8s.io/aws-iam-authenticator/cmd/aws-iam-authenticator
	touch $@

$(VENV)/.installed: tests/emulator/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --requirement tests/emulator/requirements.txt
	touch $@

.PHONY: clean
clean: ## Remove what was built
	rm -rf $(BIN) $(BUILD) $(VENV)
