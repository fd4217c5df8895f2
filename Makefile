# Rollcall. "make help" lists the targets.

GO       ?= go
PYTHON   ?= python3
BUILD    := .build
VENV     := .venv
BIN      := bin
TOOLS    := $(GO) tool -modfile=tests/tools/go.mod
# Two packages at a time: the control plane of the tests runs beside them. No -timeout: see
# tests/progress, which stops a package in which nothing happens.
TESTFLAGS ?= -p 2
# What make build and the tests that run the tool link. Flags of the compiler would have every
# package compiled twice, once for the tool and once for its tests.
LDFLAGS   := -ldflags "-s -w"
PROGRESS  := GO="$(GO)" $(GO) run ./tests/progress
NEEDS     := GO="$(GO)" PYTHON="$(PYTHON)" sh tests/needs.sh

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build the command-line tool into bin/rollcall
	@$(NEEDS) go
	@[ -e $(BIN)/rollcall ] || echo "the first build takes about five minutes on two cores, since it downloads and compiles the AWS and Kubernetes SDKs"
	@$(PROGRESS) build $(BIN)/rollcall $(LDFLAGS) -o $(BIN)/rollcall ./functions/local

.PHONY: demo
demo: build ## Watch a simulated account live through a day, on one screen in seconds; needs nothing but Go
	$(BIN)/rollcall demo

.PHONY: demo-real
demo-real: testbed-deps $(BUILD)/sam/.installed ## Deploy to an emulated account with a real control plane, show it at work, and uninstall it
	$(GO) run ./tests/demo

# Each soak begins with another seed; what it prints names it, so that a run can be had again.
SOAK ?= 10m
SEED ?= $(shell date +%s)

.PHONY: soak
soak: build ## Try to make Rollcall do harm in simulated accounts, by random faults, for SOAK (default 10m)
	$(BIN)/rollcall simulate --seed $(SEED) --soak $(SOAK)

# What neither needs the control plane nor the emulator, and is done in seconds.
CHECKED = $$($(GO) list ./shared/... ./functions/... ./tests/corpus/... ./tests/docs ./tests/harness/... ./tests/mutate ./tests/pictures ./tests/progress)

# Tests make much garbage in little memory: a fifth of their time went to collecting it.
check test: export GOGC ?= 400

.PHONY: check
check: lint ## What to run before each commit: lint, and the unit tests; under two minutes once compiled
	$(GO) test -short $(CHECKED)

.PHONY: test
test: needs-test testbed-deps ## Install what the tests need and run them all
	@echo "2 of 3: the tests, two packages at a time"
	@$(PROGRESS) test $(TESTFLAGS) -- ./...
	@echo "3 of 3: every page, in a browser"
	@$(MAKE) --no-print-directory test-pages

# First of all, even with -j: what takes minutes to build depends on it, too.
.PHONY: needs-test needs-testbed
needs-test:
	@$(NEEDS) go python gcc browser
	@echo "1 of 3: what the tests need, in .venv and .build; the first time this takes about ten minutes on two cores, most of it for the control plane"
needs-testbed:
	@$(NEEDS) go python
$(VENV)/.installed $(BUILD)/bin/.built $(BUILD)/karpenter-crds.yaml $(BUILD)/sam/.installed $(BUILD)/checkov/.installed: | $(if $(filter test,$(MAKECMDGOALS)),needs-test,needs-testbed)

.PHONY: mutate
mutate: ## Test the simulator's rules with wrong versions of the code, one by one
	$(GO) run ./tests/mutate/cmd/mutate

.PHONY: test-pages
test-pages: ## Test every page in a headless browser, which is installed if there is none
	cd tests/browser && $(GO) test -timeout 30m ./...

.PHONY: race
race: testbed-deps ## Run the tests under the race detector (needs gcc)
	@$(NEEDS) gcc
	@$(PROGRESS) test -race $(TESTFLAGS) -- ./shared/... ./functions/...

.PHONY: lint
lint: ## Check formatting, imports and habits
	$(TOOLS) golangci-lint run --allow-serial-runners ./...
	cd tests/browser && $(GO) tool -modfile=$(CURDIR)/tests/tools/go.mod golangci-lint run --allow-serial-runners ./...

.PHONY: bench
bench: testbed-deps ## Measure observation, explanations, decisions and simulated node-hours
	$(GO) test -run '^$$' -bench . -benchtime 1x -count 3 -timeout 30m ./tests/bench
	$(GO) test -run '^$$' -bench . -benchtime 5x ./shared/lambdas/statechange ./tests/serverless
	$(GO) test -run '^$$' -bench . ./tests/corpus ./shared/evidence/console

.PHONY: corpus
corpus: ## Write the verdicts and examples of the corpus, and all cases to .build/corpus
	cd tests/corpus && $(GO) run ./cmd/generate

# By the pinned browser, with its own fonts, so that pictures change only where pages do.
PICTURE = $(BUILD)/picture
TERMTOSVG = $(BUILD)/termtosvg
$(TERMTOSVG)/.installed: tests/pictures/requirements.txt
	$(PYTHON) -m venv $(TERMTOSVG)
	$(TERMTOSVG)/bin/pip install --quiet --disable-pip-version-check --requirement tests/pictures/requirements.txt
	touch $@

.PHONY: session
session: $(TERMTOSVG)/.installed ## Draw the terminal session of the README from the demo's output
	$(GO) run ./tests/pictures session > $(BUILD)/session.cast
	$(TERMTOSVG)/bin/termtosvg render $(BUILD)/session.cast tests/pictures/session.svg --template tests/pictures/session.template.svg --loop-delay 10000

.PHONY: pictures
pictures: build session ## Draw the pictures of the README: the demo on a terminal and as a page, a notice, the architecture (needs Graphviz)
	dot -Tsvg tests/pictures/architecture.dot > tests/pictures/architecture.svg
	$(BIN)/rollcall demo --html $(BUILD)/day.html > /dev/null
	$(GO) run ./tests/pictures notice > $(BUILD)/notice.html
	cd tests/browser && $(GO) build -o $(CURDIR)/$(BUILD)/picture ./cmd/picture
	$(PICTURE) -width 1280 -height 1100 $(BUILD)/day.html tests/pictures/day.png
	$(PICTURE) -width 1280 -height 1100 -dark $(BUILD)/day.html tests/pictures/day-dark.png
	$(PICTURE) -width 390 -height 1000 -scale 1.5 $(BUILD)/notice.html tests/pictures/notice.png

.PHONY: fuzz
fuzz: ## Fuzz every parser for FUZZTIME each (default 30s)
	$(GO) test -run '^$$' -fuzz FuzzParse -fuzztime $(FUZZTIME) ./shared/policy
	$(GO) test -run '^$$' -fuzz FuzzRead -fuzztime $(FUZZTIME) ./shared/evidence/userdata
	$(GO) test -run '^$$' -fuzz FuzzDecode -fuzztime $(FUZZTIME) ./shared/evidence/userdata
	$(GO) test -run '^$$' -fuzz FuzzParseStateChange -fuzztime $(FUZZTIME) ./shared/lambdas/trigger
	$(GO) test -run '^$$' -fuzz FuzzParseCheck -fuzztime $(FUZZTIME) ./shared/lambdas/trigger
	$(GO) test -run '^$$' -fuzz FuzzParseOrder -fuzztime $(FUZZTIME) ./shared/lambdas/trigger
	$(GO) test -run '^$$' -fuzz FuzzAnyBytesThatDecodeToANode -fuzztime $(FUZZTIME) ./shared/kube
	$(GO) test -run '^$$' -fuzz FuzzWireReadsWhatTheDecoderDoes -fuzztime $(FUZZTIME) ./shared/kube
	$(GO) test -run '^$$' -fuzz FuzzWhateverAPodHolds -fuzztime $(FUZZTIME) ./shared/kube
	$(GO) test -run '^$$' -fuzz FuzzText -fuzztime $(FUZZTIME) -fuzzminimizetime 2s ./shared/evidence/redact
	$(GO) test -run '^$$' -fuzz FuzzRead -fuzztime $(FUZZTIME) -fuzzminimizetime 2s ./shared/evidence/console
	$(GO) test -run '^$$' -fuzz FuzzParse -fuzztime $(FUZZTIME) ./shared/kube/awsauth
	$(GO) test -run '^$$' -fuzz FuzzOpenInstances -fuzztime $(FUZZTIME) ./shared/observe/bundle
	$(GO) test -run '^$$' -fuzz FuzzOpenCluster -fuzztime $(FUZZTIME) ./shared/observe/bundle
	$(GO) test -run '^$$' -fuzz FuzzOpenNodes -fuzztime $(FUZZTIME) ./shared/observe/bundle
	$(GO) test -run '^$$' -fuzz FuzzOpenAccessEntries -fuzztime $(FUZZTIME) ./shared/observe/bundle
	$(GO) test -run '^$$' -fuzz FuzzOpenLedger -fuzztime $(FUZZTIME) ./shared/observe/bundle
	$(GO) test -run '^$$' -fuzz FuzzRandom -fuzztime $(FUZZTIME) ./shared/sim
FUZZTIME ?= 30s

.PHONY: testbed
testbed: testbed-deps ## Start the control plane and the emulator, print how to use rollcall with them, run until Ctrl-C
	$(GO) run ./tests/testbed/cmd/testbed

CONTROLPLANE_SOURCES := tests/controlplane/go.mod tests/controlplane/go.sum $(wildcard tests/controlplane/cmd/*/main.go)
CONTROLPLANE_FLAGS   := -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3"

.PHONY: testbed-deps
testbed-deps: $(VENV)/.installed $(BUILD)/bin/.built $(BUILD)/karpenter-crds.yaml ## Build the control plane and install the emulator

# Linking takes long even when nothing changed, hence the stamp.
$(BUILD)/bin/.built: $(CONTROLPLANE_SOURCES)
	@mkdir -p $(BUILD)/bin
	@$(GO) build -o $(BUILD)/progress ./tests/progress
	@cd tests/controlplane && GO="$(GO)" $(CURDIR)/$(BUILD)/progress build "control plane" -p 2 $(CONTROLPLANE_FLAGS) -o $(CURDIR)/$(BUILD)/bin/ \
		./cmd/... sigs.k8s.io/aws-iam-authenticator/cmd/aws-iam-authenticator
	@touch $@

KARPENTER := tests/controlplane/karpenter

$(BUILD)/karpenter-crds.yaml: $(KARPENTER)/go.mod $(KARPENTER)/go.sum
	mkdir -p $(BUILD)
	cd $(KARPENTER) && $(GO) mod download sigs.k8s.io/karpenter && \
		cd "$$($(GO) list -m -f '{{.Dir}}' sigs.k8s.io/karpenter)/pkg/apis/crds" && \
		cat karpenter.sh_nodeclaims.yaml karpenter.sh_nodepools.yaml > $(CURDIR)/$@

$(VENV)/.installed: tests/emulator/requirements.txt
	@echo "emulated AWS: installing moto into $(VENV)"
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --requirement tests/emulator/requirements.txt
	touch $@

SAM := $(BUILD)/sam

# Beside the emulator's environment, not in it: see tests/template/requirements.txt.
$(SAM)/.installed: tests/template/requirements.txt
	@echo "templates: installing the SAM CLI into $(SAM)"
	$(PYTHON) -m venv $(SAM)
	$(SAM)/bin/pip install --quiet --disable-pip-version-check --requirement tests/template/requirements.txt
	touch $@

CHECKOV := $(BUILD)/checkov

$(CHECKOV)/.installed: tests/template/checkov.txt
	@echo "templates: installing checkov into $(CHECKOV)"
	$(PYTHON) -m venv $(CHECKOV)
	$(CHECKOV)/bin/pip install --quiet --disable-pip-version-check --requirement tests/template/checkov.txt
	touch $@

# The functions too, so that compiling them for another machine is not on the clock of the tests.
test: $(SAM)/.installed $(CHECKOV)/.installed build-StateChangeFunction build-SweepFunction build-InspectFunction build-RemediateFunction build-ApproveFunction

TEMPLATES := template.yaml infra/cluster-access.yaml infra/stackset.yaml infra/slack.yaml events/rules.yaml events/incidents.yaml

.PHONY: validate
validate: $(SAM)/.installed $(CHECKOV)/.installed ## Lint the templates, also in the form that CloudFormation gets
	SAM_CLI_TELEMETRY=0 $(SAM)/bin/sam validate --lint --region eu-west-1 --template template.yaml
	$(SAM)/bin/cfn-lint --include-checks I -- $(TEMPLATES)
	$(SAM)/bin/python tests/template/transform.py template.yaml > $(BUILD)/transformed.json
	$(SAM)/bin/cfn-lint --include-checks I -- $(BUILD)/transformed.json
	$(CHECKOV)/bin/checkov --config-file tests/template/checkov.yaml --file $(BUILD)/transformed.json $(filter-out template.yaml,$(TEMPLATES))

RELEASE = $(BUILD)/release

.PHONY: release
release: $(SAM)/.installed ## Build the release VERSION into .build/release: functions, command line, template, checksums; URL is where krew downloads it
	rm -rf $(RELEASE)
	$(GO) run ./tests/release/cmd/release "$(VERSION)" $(RELEASE) "$(URL)"

.PHONY: release-check
release-check: $(SAM)/.installed ## Build every program twice, and compare the bytes
	ROLLCALL_RELEASE_CHECK=all $(GO) test -count 1 -timeout 60m -run TheSameBytesAgain ./tests/release

.PHONY: grant
grant: ## Print the commands that give the stack STACK (default rollcall) access to CLUSTER, or to all clusters of the region
	@sh infra/grant.sh "$$CLUSTER" "$$STACK"

# What "sam build" calls. It names the folder; without it the binaries go to .build.
# No VCS stamp: a function is uploaded anew only if its code changed.
FUNCTION_FLAGS := -trimpath -buildvcs=false -tags lambda.norpc -ldflags "-s -w"
ARTIFACTS_DIR  ?= $(BUILD)/functions/$(FUNCTION)

build-StateChangeFunction: FUNCTION := statechange
build-SweepFunction: FUNCTION := sweep
build-InspectFunction: FUNCTION := inspect
build-RemediateFunction: FUNCTION := remediate
build-ApproveFunction: FUNCTION := approve

.PHONY: build-StateChangeFunction build-SweepFunction build-InspectFunction build-RemediateFunction build-ApproveFunction
build-StateChangeFunction build-SweepFunction build-InspectFunction build-RemediateFunction build-ApproveFunction:
	GOOS=linux GOARCH=arm64 CGO_ENABLED=0 $(GO) build $(FUNCTION_FLAGS) -o "$(ARTIFACTS_DIR)/bootstrap" ./functions/$(FUNCTION)

.PHONY: clean
clean: ## Remove what was built
	rm -rf $(BIN) $(BUILD) $(VENV)
