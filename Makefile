# Everything here needs Go and nothing else; tools are pinned in go.mod. "make help" lists the targets.

GO ?= go
BIN := bin
# How long "make fuzz" spends on each target, and which packages it looks at.
FUZZTIME ?= 10s
PACKAGES ?= ./...
# How often "make torture" kills the server, and how many random histories it holds against the model.
KILLS ?= 300
CHECKS ?= 20000
# Arguments for the programs that "make run" and "make bench" start.
ARGS ?=

# The race detector needs a C compiler on some systems. Without one the tests run all the same, just without it. It
# multiplies memory and time, so the test that holds bars of both runs once more without it.
ifeq ($(shell $(GO) env CGO_ENABLED),1)
RACE := -race
endif

.DEFAULT_GOAL := build

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/houseful and bin/houseful-bench
	CGO_ENABLED=0 $(GO) build -trimpath -o $(BIN)/ ./cmd/...

.PHONY: run
run: ## build and start a server with the demo catalogue (ARGS: more flags)
	CGO_ENABLED=0 $(GO) build -trimpath -o $(BIN)/houseful ./cmd/houseful
	$(BIN)/houseful serve --demo $(ARGS)

.PHONY: test
test: lint generate-check ## every check and every test
	$(if $(RACE),,@echo "no C compiler: testing without the race detector")
	$(GO) test $(RACE) -timeout 20m $(PACKAGES)
	$(if $(RACE),$(GO) test ./fsm -run TestMemoryAndSnapshotBars)

.PHONY: lint
lint: ## formatting, go vet, staticcheck
	@unformatted=$$($(GO) tool gofumpt -l .); \
	  if [ -n "$$unformatted" ]; then echo "not formatted (make format):"; echo "$$unformatted"; exit 1; fi
	$(GO) vet $(PACKAGES)
	$(GO) tool staticcheck $(PACKAGES)

.PHONY: format
format: ## format the tree
	$(GO) tool gofumpt -w .

.PHONY: generate
generate: ## make the code of fsm/wire from its schemas
	$(GO) run ./fsm/wire/gen

.PHONY: generate-check
generate-check: ## check that the generated code is what the schemas make
	@scratch=$$(mktemp -d) && trap 'rm -rf "$$scratch"' EXIT && \
	  cp fsm/wire/*.pb.go "$$scratch/" && $(GO) run ./fsm/wire/gen && \
	  for file in fsm/wire/*.pb.go; do \
	    cmp -s "$$file" "$$scratch/$$(basename "$$file")" || { echo "$$file was not up to date; it is now"; stale=1; }; \
	  done; [ -z "$$stale" ]

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME (10s)
	@set -e; for package in $$($(GO) list $(PACKAGES)); do \
	  for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
	    echo "$$package $$target"; \
	    $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x $$package; \
	  done; done

# HOUSEFUL_KILLS, and HOUSEFUL_SEED to repeat a run's choices, are read by tests only. The server refuses variables of
# that prefix that it does not know; the tests take them out of the environment of those they start.
.PHONY: torture
torture: ## the long forms: KILLS (300) kills under load, CHECKS (20000) histories against the model, then fuzz
	HOUSEFUL_KILLS=$(KILLS) $(GO) test ./cmd/houseful -run TestKill9 -timeout 3h -v
	$(GO) test ./fsm -run TestAgainstModel -timeout 2h -rapid.checks=$(CHECKS) -rapid.steps=80
	$(MAKE) fuzz

# Like HOUSEFUL_KILLS, HOUSEFUL_BARS is read by tests only.
.PHONY: bars
bars: ## hold a real node to its bars of memory and start (minutes, idle machine), and the rules alone to theirs
	HOUSEFUL_BARS=1 $(GO) test ./fsm -run TestMemoryAndSnapshotBars -count 1 -v
	HOUSEFUL_BARS=1 $(GO) test ./cmd/houseful -run TestBar -count 1 -timeout 30m -v

.PHONY: bench
bench: build ## measure a server that it starts (ARGS: flags of houseful-bench)
	$(BIN)/houseful-bench --start $(ARGS)

.PHONY: microbench
microbench: ## Go benchmarks with allocations
	$(GO) test -run '^$$' -bench . -benchmem $(PACKAGES)

.PHONY: clean
clean: ## remove what build made
	rm -rf $(BIN)
