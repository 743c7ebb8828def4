# Every command of the project. `make help` lists them.

GO           ?= go
FANS         ?= 200
KILLS        ?= 100
RELAY_KILLS  ?= 30
PACKAGES     ?= $(addsuffix /...,$(shell ./scripts/modules))
# Packages that are tested at once. Most of their time they wait for timers and servers.
PARALLEL     ?= 3
GOLANGCI     := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# The race detector needs cgo and a C compiler. It leaves SQLite alone, which is C that
# was translated to Go: watching each step of it takes half the time of all tests, and
# finds nothing of ours. Its callers are watched as ever.
CC_FOUND := $(shell command -v $$($(GO) env CC) 2>/dev/null)
ifneq ($(CC_FOUND),)
RACE := -race -gcflags='modernc.org/...=-race=false -d=checkptr=0'
export CGO_ENABLED = 1
# Each watched program waits a second at its end for its goroutines; there are hundreds of
# programs, and the tests look for leaked goroutines themselves.
export GORACE ?= atexit_sleep_ms=50
endif

.DEFAULT_GOAL := help
.PHONY: help run demo test check tidy fmt services services-down matrix prove stress upgrade rolling chaos limit-proof mirror bench retained onsale observe observe-down browser clients fuzz fuzz-nightly

help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

run: ## serve the box office on embedded defaults; prints its address
	$(GO) run ./examples/boxoffice

demo: ## send a crowd through the box office (FANS=200), check the invariants
	$(GO) run ./examples/boxoffice demo --fans $(FANS)

test: ## every test that needs no server, with the race detector where a C compiler is found (PACKAGES=./sse/...: of these)
ifeq ($(RACE),)
	@echo 'no C compiler found: the tests run without the race detector'
endif
	$(GO) test -p=$(PARALLEL) $(RACE) -vet=off -timeout 30m $(PACKAGES) # make check vets
ifeq ($(origin PACKAGES),file)
	./scripts/googlepubsub.sh $(RACE) -vet=off -timeout 5m
endif

check: ## format, vet, lint, modules, links
	./scripts/check.sh $(GOLANGCI)

tidy: ## go mod tidy in every module
	./scripts/tidy.sh -w

fmt: ## format the code
	gofmt -w .

services: ## start the real servers on ports of their own; prints their URLs (SERVERS="kafka3 connect": by name)
	./scripts/services.sh up $(SERVERS)

services-down: ## stop what make services started
	./scripts/services.sh down

matrix: ## every test on every real server, nothing skipped, a table at the end (SERVERS="rabbitmq postgres": those columns)
	SERVERS='$(SERVERS)' VERSIONS='$(VERSIONS)' ./scripts/matrix.sh -p=$(PARALLEL) $(RACE)

prove: ## the 29 scenarios on embedded defaults and on servers, one table (ONLY=5,9 COLUMN=servers)
	./scripts/prove.sh $(if $(ONLY),-only $(ONLY)) $(if $(COLUMN),-column $(COLUMN))

stress: ## the out-of-order stress on every database, with the naive reader as control; then with relays and servers that fail
	MILLRACE_PAIR="$(CURDIR)/scripts/services.sh pair" ./scripts/with-services.sh postgres mariadb mysql -- $(GO) run ./proof/cmd/stress

upgrade: ## pg_upgrade with a backlog, and a restored dump, from this machine's PostgreSQL to that of Debian sid (needs root on Debian)
	eval "$$(./scripts/services.sh upgrade)" && $(GO) test -count=1 -v ./internal/upgradetest

rolling: ## upgrade a working service from an older release (FROM=636e1c5) and back: outboxes, transports, waiting room, limiter
	MILLRACE_ROLLING_FROM=$(or $(FROM),636e1c5) ./scripts/with-services.sh postgres mariadb redis kafka rabbitmq -- $(GO) test -count=1 -v ./internal/wholetest/rollingtest

chaos: ## kill -9 the box office at random moments (KILLS=100) and its relay (RELAY_KILLS=30), check the invariants
	$(GO) run ./proof/cmd/chaos --kills $(KILLS) --relay-kills $(RELAY_KILLS)

limit-proof: ## the rate limiter against an upstream that bans: every window measured, a table (needs redis-server)
	$(GO) run ./proof/cmd/limit-proof

mirror: ## the artist mirror at its budget for SECONDS (60), on embedded defaults or BOXOFFICE_DB_URL, _BUS_URL and _REDIS_URL
	$(GO) run ./examples/boxoffice mirror-run --seconds $(or $(SECONDS),60)

bench: ## the benchmarks beside their peers, and proof/REPORT.md made of them (ONLY=limit,growth-queue)
	./scripts/with-services.sh -- $(GO) run ./proof/cmd/bench $(if $(ONLY),-only $(ONLY)) $(FLAGS)

retained: ## a relay on 20 million retained rows and a backlog of 4 million, by statement (DBS="postgres mysql", FLAGS="-rows 1000000")
	./scripts/with-services.sh $(or $(DBS),postgres mysql) -- $(GO) run ./proof/cmd/retained $(FLAGS) $(DBS)

onsale: ## 200,000 people in ten seconds at four instances of the waiting room, every promise judged, an opening with a draw of as many, how right the told waits are, and ten minutes with 2,500 cheats (FLAGS="-memory": without Redis; CHEATS="-for 2m -people 1000": shorter; CHEATS_AT=COMMIT: the cheats at another release)
	$(if $(CHEATS_AT),,$(GO) run ./proof/cmd/onsale $(FLAGS))
	$(if $(CHEATS_AT),GO=$(GO) ./scripts/cheats-at.sh $(CHEATS_AT) $(CHEATS),$(if $(findstring -memory,$(FLAGS)),,$(GO) run ./proof/cmd/cheats $(CHEATS)))

observe: ## Prometheus and Grafana over a box office on this machine (needs Docker)
	docker compose --profile observe up -d --wait prometheus grafana
	@echo 'Grafana: http://127.0.0.1:25300, Prometheus: http://127.0.0.1:25090; make observe-down ends them'

observe-down: ## stop what make observe started
	docker compose --profile observe rm -sfv prometheus grafana

browser: ## book, decline, cancel and wait in line in a headless Chromium
	MILLRACE_REQUIRE_BROWSER=1 MILLRACE_GALLERY=all MILLRACE_SCREENSHOTS=$(CURDIR)/build/screenshots $(GO) test -count=1 -v ./examples/boxoffice/internal/browsertest ./internal/wholetest/queuepagetest

clients: ## live streams as Chromium, the npm package eventsource and curl read them (needs npm)
	eventsource=$$(./scripts/clients.sh) && MILLRACE_REQUIRE_BROWSER=1 MILLRACE_NPM_EVENTSOURCE=$$eventsource $(GO) test -count=1 -v -run '^TestPrograms' ./sse

fuzz: ## every fuzz target for FUZZTIME (10s), or all of them within BUDGET (5m); PACKAGE=./sse: of one package
	./scripts/fuzz.sh $(if $(BUDGET),-budget $(BUDGET),$(or $(FUZZTIME),10s)) $(PACKAGE)

fuzz-nightly: ## every fuzz target for ten minutes (PACKAGE=./sse: of one package)
	./scripts/fuzz.sh 10m $(PACKAGE)
