# Sotto: make demo, make test, make install.

SWIFT ?= swift
PREFIX ?= /usr/local
bindir ?= $(PREFIX)/bin
libexecdir ?= $(PREFIX)/libexec
mandir ?= $(PREFIX)/share/man
datadir ?= $(PREFIX)/share/sotto
bashcompdir ?= $(PREFIX)/share/bash-completion/completions
zshcompdir ?= $(PREFIX)/share/zsh/site-functions
fishcompdir ?= $(PREFIX)/share/fish/vendor_completions.d
unitdir ?= $(PREFIX)/lib/systemd/system
userunitdir ?= $(PREFIX)/lib/systemd/user
# What stands before the names in bindir. Empty installs the short names there.
PROGRAM_PREFIX ?= sotto-

# Completions of the short names only where these are installed: other programs have some of them too.
COMPLETIONS = $(if $(PROGRAM_PREFIX),sotto*,*)

ZSH_NAMES = $(if $(PROGRAM_PREFIX),1s/^\(.compdef sotto-[a-z]*\) .*/\1/)

TOOLS := keygen contact device group chat compose encrypt decrypt history bridge fingerprint qr pad send recv relay
# Started by tools and not by users, so never on the path: qr, encrypt and chat start qr-scan.
HELPERS := qr-scan
USER_UNITS := sotto-recv.service sotto-reader.service
# Separate sections let the linker remove functions that nothing calls.
RELEASE_FLAGS := -c release --static-swift-stdlib --scratch-path .build-release \
  -Xcc -ffunction-sections -Xcc -fdata-sections -Xswiftc -Xfrontend -Xswiftc -function-sections
RELEASE := .build-release/release
MADE_COMPLETIONS := .build-release/completions

.PHONY: all build deps demo test check bench bench-page faults soak properties simulation fuzz lint format install install-pages uninstall clean

all: build

## deps: install the Debian packages that building and testing need
deps:
	@Scripts/deps

## build: release programs in .build-release/release, and the shells' completions
build: deps
	@# Not everything: that would take in what only the tests use.
	$(SWIFT) build $(RELEASE_FLAGS) --target programs
	rm -rf $(MADE_COMPLETIONS)
	completions/generate $(RELEASE) $(MADE_COMPLETIONS)

## demo: play a whole conversation over a loopback relay
demo: build
	Scripts/demo $(RELEASE)

## test: the demo, then every test
test: demo check

## check: every test, without the demo
check: deps
	$(SWIFT) build --build-tests
	rm -f .build/records.jsonl
	SOTTO_RECORDS=$(CURDIR)/.build/records.jsonl SWIFT_BACKTRACE=enable=no $(SWIFT) test --skip-build $(TEST_FLAGS)
	@Scripts/records .build/records.jsonl

## bench: start-up, throughput, the relay, the ratchet and codes, each with a peer in the same run, and how cost grows; PART="growth qr" for some
bench: build
	$(SWIFT) build $(RELEASE_FLAGS) --target benchmarks
	Scripts/bench $(RELEASE) $(PART)

## bench-page: the same, with the picture of README
bench-page: export BENCH_PAGE = docs/bench.svg
bench-page: bench

## faults: the relay broken in each way that it must survive, half an hour; FAULTS_FLAGS="--row NAME" for some
faults: build
	$(SWIFT) build $(RELEASE_FLAGS) --product relay-faults
	$(RELEASE)/relay-faults $(FAULTS_FLAGS) $(RELEASE)

## soak: two people, two relays, kills and clock jumps; SOAK_SECONDS of it, with the programs of a debug build
SOAK_SECONDS ?= 7200
soak: deps
	$(SWIFT) build --target programs
	python3 Bench/soak.py .build/debug $(SOAK_SECONDS)

## properties: PROPERTY_ROUNDS mutated records of each kind through every path, and each row of the state damaged in two ways
PROPERTY_ROUNDS ?= 100000
properties: deps
	$(SWIFT) build --build-tests
	SOTTO_PROPERTY_ROUNDS=$(PROPERTY_ROUNDS) SWIFT_BACKTRACE=enable=no $(SWIFT) test --skip-build \
	  --filter 'RecordPropertyTests|StateDamageTests' | grep -E '^(records|state): |failed|passed'

## simulation: twenty members of a group, two relays, loss and kills; ACTIONS random actions, with the programs of a debug build
##             then DEVICE_SCHEDULES schedules of people with several devices, of 2,000 actions each
ACTIONS ?= 5000
DEVICE_SCHEDULES ?= 20
simulation: deps
	$(SWIFT) build --target programs
	python3 Bench/group_have.py --runs 1000
	python3 Bench/group_simulation.py --actions $(ACTIONS) $(SIMULATION_FLAGS) .build/debug
	python3 Bench/device_simulation.py --schedules $(DEVICE_SCHEDULES) $(DEVICE_FLAGS) .build/debug

## fuzz: libFuzzer on every parser, FUZZ_SECONDS each
FUZZ_SECONDS ?= 60
fuzz: deps
	Scripts/fuzz $(FUZZ_SECONDS)

## lint: the format, the manual pages, the scripts
lint:
	$(SWIFT) format lint --strict --recursive Package.swift Sources Tests Bench Fuzz
	mandoc -T lint -W warning man/*.[1578]
	python3 -c 'import ast, sys; [ast.parse(open(name).read(), name) for name in sys.argv[1:]]' Scripts/picture Scripts/confusables Bench/*.py share/examples/*.py
	bash -n Scripts/deps Scripts/demo Scripts/bench Scripts/fuzz Scripts/peers Scripts/records .ci/run completions/generate
	for example in $(filter-out %.py,$(wildcard share/examples/*)); do bash -n $$example || exit 1; done

format:
	$(SWIFT) format --in-place --recursive Package.swift Sources Tests Bench Fuzz

# The pages name the places of the installation.
PLACES = s|/usr/local/share/sotto|$(datadir)|g;s|/usr/local/libexec/sotto|$(libexecdir)/sotto|g;s|/usr/local/bin\([: ]\)|$(bindir)\1|g

install: install-pages
	install -d "$(DESTDIR)$(bindir)" "$(DESTDIR)$(bashcompdir)" \
	  "$(DESTDIR)$(zshcompdir)" "$(DESTDIR)$(fishcompdir)"
	install -m 755 $(RELEASE)/sotto "$(DESTDIR)$(bindir)/sotto"
	install -d "$(DESTDIR)$(libexecdir)/sotto"
	for p in $(HELPERS); do \
	  install -m 755 $(RELEASE)/$$p "$(DESTDIR)$(libexecdir)/sotto/$$p" || exit 1; done
ifeq ($(PROGRAM_PREFIX),)
	for t in $(TOOLS); do \
	  install -m 755 $(RELEASE)/$$t "$(DESTDIR)$(bindir)/$$t" || exit 1; done
else
	@# Relative, so that a copy of the tree works anywhere.
	tools=$$(realpath -m --relative-to="$(bindir)" "$(libexecdir)/sotto"); \
	for t in $(TOOLS); do \
	  install -m 755 $(RELEASE)/$$t "$(DESTDIR)$(libexecdir)/sotto/$$t" || exit 1; \
	  ln -sf "$$tools/$$t" "$(DESTDIR)$(bindir)/$(PROGRAM_PREFIX)$$t" || exit 1; done
endif
	install -d "$(DESTDIR)$(datadir)/postgresql"
	install -m 644 share/postgresql/plproxy.sql Sources/SottoServer/Postgres/sotto.sql \
		"$(DESTDIR)$(datadir)/postgresql/"
	install -d "$(DESTDIR)$(datadir)/schema"
	install -m 644 share/schema/*.json "$(DESTDIR)$(datadir)/schema/"
	install -d "$(DESTDIR)$(datadir)/examples"
	install -m 755 share/examples/* "$(DESTDIR)$(datadir)/examples/"
	install -m 644 $(MADE_COMPLETIONS)/bash/$(COMPLETIONS) "$(DESTDIR)$(bashcompdir)/"
	for file in $(MADE_COMPLETIONS)/zsh/_sotto*; do \
	  sed -e '$(ZSH_NAMES)' $$file > "$(DESTDIR)$(zshcompdir)/$${file##*/}" || exit 1; done
	install -m 644 $(MADE_COMPLETIONS)/fish/$(COMPLETIONS) "$(DESTDIR)$(fishcompdir)/"
	install -d "$(DESTDIR)$(unitdir)"
	sed -e 's|^ExecStart=[^ ]*|ExecStart=$(bindir)/$(PROGRAM_PREFIX)relay|' \
	  share/systemd/sotto-relay.service > "$(DESTDIR)$(unitdir)/sotto-relay.service"
	chmod 644 "$(DESTDIR)$(unitdir)/sotto-relay.service"
	install -d "$(DESTDIR)$(userunitdir)"
	for unit in $(USER_UNITS); do \
	  sed -e 's|/usr/local/bin/sotto-|$(bindir)/$(PROGRAM_PREFIX)|g' share/systemd/user/$$unit \
	    > "$(DESTDIR)$(userunitdir)/$$unit" && \
	  chmod 644 "$(DESTDIR)$(userunitdir)/$$unit" || exit 1; done

install-pages:
	for page in man/*.[1578]; do \
	  name=$$(basename $$page); \
	  case $$name in sotto*) ;; *) name=$(PROGRAM_PREFIX)$$name ;; esac; \
	  folder="$(DESTDIR)$(mandir)/man$${page##*.}"; \
	  install -d "$$folder" && sed -e '$(PLACES)' $$page > "$$folder/$$name" && chmod 644 "$$folder/$$name" || exit 1; \
	  test $$name = $${page##*/} || ln -sf $$name "$$folder/$${page##*/}" || exit 1; done

uninstall:
	rm -rf "$(DESTDIR)$(datadir)"
	rm -f "$(DESTDIR)$(bindir)/sotto"
	for t in $(TOOLS); do \
	  rm -f "$(DESTDIR)$(bindir)/$(PROGRAM_PREFIX)$$t" "$(DESTDIR)$(libexecdir)/sotto/$$t"; done
	for p in $(HELPERS); do rm -f "$(DESTDIR)$(libexecdir)/sotto/$$p"; done
	rmdir "$(DESTDIR)$(libexecdir)/sotto" 2>/dev/null || true
	for page in man/*.[1578]; do \
	  name=$$(basename $$page); \
	  case $$name in sotto*) ;; *) name=$(PROGRAM_PREFIX)$$name ;; esac; \
	  rm -f "$(DESTDIR)$(mandir)/man$${page##*.}/$$name" \
	    "$(DESTDIR)$(mandir)/man$${page##*.}/$${page##*/}"; done
	rm -f "$(DESTDIR)$(unitdir)/sotto-relay.service"
	for unit in $(USER_UNITS); do rm -f "$(DESTDIR)$(userunitdir)/$$unit"; done
	rm -f $(foreach t,sotto $(addprefix sotto-,$(TOOLS) init add meet) $(if $(PROGRAM_PREFIX),,$(TOOLS)), \
	  "$(DESTDIR)$(bashcompdir)/$(t)" "$(DESTDIR)$(zshcompdir)/_$(t)" "$(DESTDIR)$(fishcompdir)/$(t).fish")

clean:
	rm -rf .build .build-release .build-fuzz .build-peers
