# One entry point for people and CI. Everything real is done by the go command;
# this file only makes sure that what a build needs is there.
#
# Why not a shell script for each target: "make help" is where people look
# first, and the targets depend on one another.

GO      ?= go
BIN     := bin/alleria
DEMO    := demo-out
# The lowest Go version that go.mod accepts; read from there, not repeated here.
NEED_GO := $(shell sed -n 's/^go //p' go.mod)
SOURCES := $(shell find . -path ./.git -prune -o -path ./testdata/build -prune -o \
	\( -name '*.go' -o -name '*.[chS]' -o -name '*.xsd' -o -name '*.ksy' -o -name '*.sql' \) -print)
# Passed on to the benchmark: make bench BENCH="-short -only bzip2".
BENCH   ?=
SUITES  ?=
STRESS  ?=
SUITEFLAGS ?=
# Passed on to "go test": make test TEST="-run Heat ./analysis".
TEST    ?= ./...

.PHONY: all build demo test soak suites bench queues fmt lint help clean check-go build-deps test-deps

all: build

build: $(BIN) $(BIN)-whole ## build bin/alleria

# The first runs programs, the second does everything else and is executed by the first: see
# cmd/alleria/recorder.go. The prerequisites after "|" must hold, but do not make the binary out of date.
$(BIN): $(SOURCES) go.mod go.sum | check-go build-deps
	$(GO) build -tags recorder -o $@ ./cmd/alleria

$(BIN)-whole: $(SOURCES) go.mod go.sum | check-go build-deps
	$(GO) build -o $@ ./cmd/alleria

demo: build ## record a real program and draw its heat map
	@.ci/demo $(BIN) $(DEMO)

# Without vet, which "make lint" runs in full.
test: check-go build-deps test-deps ## run all tests
	$(GO) test -vet=off -timeout 30m $(TEST)

# Every program in every mode, a thousand random configurations, servers twenty times: an hour or two.
soak: check-go build-deps test-deps ## run the long forms of the tests
	$(GO) test -timeout 4h ./internal/acceptance -every -pairs 1000 -paired-calls 100000000
	$(GO) test -timeout 1h ./engine/difftest -every -programs 100 -seed $$(date +%s) -timers 10 -armings 1000
	$(GO) test -timeout 1h ./cab ./tool -every

# Folders of test programs, sources or built, and of installed programs: make suites SUITES="DIR DIR" INSTALLED=/usr/bin STRESS=1.
suites: check-go build-deps ## run others' programs natively and traced (SUITES="DIR …" INSTALLED="DIR …" STRESS=1)
	$(GO) test -timeout 12h ./internal/acceptance -run 'TestSuites|TestInstalled|TestStressors' -v \
		-suites "$$(printf %s '$(SUITES)' | tr ' ' ':')" -installed "$$(printf %s '$(INSTALLED)' | tr ' ' ':')" \
		$(if $(STRESS),-stressors) $(SUITEFLAGS)

bench: build ## measure against native and the rivals that are installed (BENCH="-short …" passes flags)
	$(GO) build -C examples/tools/memtrace -o $(CURDIR)/bin/memtrace .
	$(GO) run ./bench -alleria $(BIN) $(BENCH)

# How many records a second queues hand over by themselves.
queues: check-go build-deps ## measure ways of handing records over by themselves
	$(GO) run ./bench/queues

fmt: ## format the source
	gofmt -l -w $$(git ls-files '*.go')

lint: check-go build-deps ## gofmt, vet, staticcheck, sizes and the import check
	@.ci/lint

clean: ## remove what the other targets made
	rm -rf bin $(DEMO) bench-out testdata/build

help: ## list the targets
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | \
		while IFS="$$(printf '\t')" read -r t d; do printf '  %-8s %s\n' "$$t" "$$d"; done

check-go:
	@GO="$(GO)" .ci/check-go $(NEED_GO)

build-deps:
	@.ci/deps build

test-deps:
	@.ci/deps test
