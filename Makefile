# make demo   the main job: a real agent loop, no key, no network
# make demo-cluster  three workers and a database of their own, and you kill workers; ARGS=-auto needs nobody
# make test   all tests
# make sim    random programs for 60 s, see docs/simulator.md; make sim-long SEEDS=20000 runs more
# make guards switches off one check of the code at a time, and runs the tests that must notice it; it takes long
# make platforms  by hand: other processors, an empty root, tests linked for others; see docs/platforms.md
# make check  format, vet, staticcheck, tidy, other platforms

GO ?= go
BIN := bin/openagent
# The race detector needs cgo and a C compiler; CI has both and insists.
RACE := $(shell [ "$(CI)" = true ] && echo -race || { [ "`$(GO) env CGO_ENABLED`" = 1 ] && command -v `$(GO) env CC` >/dev/null 2>&1 && echo -race; })
# `make check` vets the tests too, and CI runs it before.
VET := $(if $(filter true,$(CI)),-vet=off)
# Paths of this checkout stay out of programs, so that another checkout finds them built.
export GOFLAGS := $(GOFLAGS) -trimpath
# Black-box cases that are kept outside this repository. You do not need them.
ACCEPTANCE ?= ../shared/acceptance/run.py
# The library and the command: go.work makes one workspace of the two modules.
PACKAGES := ./... ./cmd/openagent/...
# The packages that take longest come first, so that none of them runs alone at the end.
SLOWEST := ./cmd/openagent . ./sandbox ./internal/pairs ./session ./serve ./internal/checkpoint ./workspace ./internal/media
# Many tests wait for other programs: twice as many packages run at once as there are processors.
AT_ONCE := $(shell echo $$((2 * `getconf _NPROCESSORS_ONLN || echo 2`)))
# A program with the race detector waits at its end for goroutines that are left, without this for a second.
export GORACE ?= atexit_sleep_ms=50
# The program that go tool would run. Within a workspace, go refuses -modfile.
STATICCHECK = $$(GOWORK=off $(GO) tool -modfile=internal/devtools/go.mod -n staticcheck)

.PHONY: build demo demo-cluster servers test test-modules sim sim-long check guards platforms acceptance bench

build:
	$(GO) build -o $(BIN) ./cmd/openagent

demo: build
	$(BIN) demo

demo-cluster:
	cd postgres && GOWORK=off $(GO) build -o ../bin/demo-cluster ./examples/cluster
	bin/demo-cluster $(ARGS)

# Language and MCP servers that tests start, into .cache.
servers:
	internal/devtools/servers/install.sh

test: servers
	$(GO) test $(RACE) $(VET) -shuffle=on -timeout 30m -p $(AT_ONCE) $(SLOWEST) $(PACKAGES)
	$(MAKE) --no-print-directory test-modules
	@if [ -f $(ACCEPTANCE) ] && command -v python3 >/dev/null; then $(MAKE) --no-print-directory acceptance; \
	else echo "no acceptance cases at $(ACCEPTANCE): skipped"; fi

# The other modules. In a workspace with the library they use the packages that were compiled for
# its own tests.
test-modules:
	$(call together,postgres) && $(GO) test $(RACE) $(VET) -parallel 16 ./...
	$(call together,temporal) && $(GO) test $(RACE) $(VET) ./...
	$(call together,postgres/temporaltest postgres temporal) && $(GO) test $(RACE) $(VET) ./...
	$(call together,otel) && $(GO) test $(RACE) $(VET) ./...
	$(call together,otel/otlptest otel) && $(GO) test $(RACE) $(VET) ./...
	cd a2a && GOWORK=off $(GO) test $(RACE) $(VET) ./...
	cd benchmarks && GOWORK=off $(GO) test $(VET) ./...

# Enters a module, with a workspace of it, of the modules in the other folders and of the library.
# The workspace may need checksums from the network: without them the module is tested on its own.
together = mkdir -p bin && export GOWORK=$(CURDIR)/bin/$(notdir $(firstword $(1))).work && rm -f $$GOWORK && $(GO) work init . $(addprefix ./,$(1)) && \
	cd $(firstword $(1)) && { $(GO) list -deps -test ./... >/dev/null || export GOWORK=off; }

sim:
	$(GO) test ./internal/sim -count=1 -v -run 'Programs|Found|SameRun|Cut' -for 60s | grep -v '^=== '

SEEDS ?= 20000
sim-long:
	$(GO) test ./internal/sim -count=1 -v -run 'Programs|Found' -seeds $(SEEDS) -timeout 0 | grep -v '^=== '

acceptance:
	PROJECT=$(CURDIR) python3 $(ACCEPTANCE)

check:
	@out=`gofmt -l .`; [ -z "$$out" ] || { echo "gofmt -w these files:"; echo "$$out"; exit 1; }
	$(GO) vet $(PACKAGES)
	$(STATICCHECK) $(PACKAGES)
	GO="$(GO)" internal/devtools/tidy.sh -diff
	cd internal/devtools && GOWORK=off $(GO) build -o ../../bin/typecheck ./typecheck
	cd internal/devtools && GOWORK=off $(GO) vet ./guards ./typecheck && GOWORK=off $(GO) test -count=1 ./guards ./typecheck
	bin/typecheck darwin,windows $(PACKAGES)
	cd benchmarks && GOWORK=off $(GO) vet ./... && GOWORK=off ../bin/typecheck windows ./...
	cd otel && GOWORK=off $(GO) vet ./...
	cd otel/otlptest && GOWORK=off $(GO) vet ./...
	cd postgres && GOWORK=off $(GO) vet ./... && GOWORK=off ../bin/typecheck windows ./...
	cd a2a && GOWORK=off $(GO) vet ./... && GOWORK=off ../bin/typecheck windows ./...
	cd temporal && GOWORK=off $(GO) vet ./...
	cd internal/devtools/manifests && GOWORK=off $(GO) vet ./... && GOWORK=off $(GO) test ./...
	cd postgres/temporaltest && GOWORK=off $(GO) vet ./...

guards:
	cd internal/devtools && GOWORK=off $(GO) run ./guards $(ARGS)

# It takes hours for arm64: PACKAGES=./session/... tests less.
platforms:
	OPENAGENT_PLATFORMS=1 CGO_ENABLED=0 $(GO) test -run '^Test(Environments|EmptyRoot)$$' -count=1 -v ./cmd/openagent
	internal/devtools/platforms/suite.sh 386 $(PACKAGES)
	internal/devtools/platforms/suite.sh arm64 $(PACKAGES)
	internal/devtools/platforms/link.sh

bench:
	$(GO) test -run '^$$' -bench . -benchmem $(PACKAGES)
