# zkflock: flock(1) for clusters.
#
#   make            builds build/zkflock
#   make help       prints this
#   make demo       shows what it is for, on a throwaway ZooKeeper
#   make check      unit tests and the whole suite on real servers
#                   (LANES=4: so many suites at a time; LIMIT=300: seconds for each test)
#   make checked    builds what tests/check needs to run single suites
#   make check-debian13  the same in a bare Debian 13 that is made for it; as root
#   make check-32bit  the same in a bare Debian 12 for 32-bit processors; as root
#   make check-systemd  zkflock under systemd, cron, sudo, ssh and others, in a bare Debian that is made for
#                   it and booted; as root (RELEASE=trixie, bookworm)
#   make check-package  builds the Debian package in such a Debian, installs, uses and purges it (RELEASE)
#   make check-hosts  what the README says of three servers, on three bare Debians; as root
#   make unit       unit tests alone
#   make model      verifies a model of the lock protocol, in every state
#   make bench      speed and memory beside other clients, as ratios; for 10 minutes
#                   (ROWS="handover free": only these rows, ROWS=list names them; JSON=1: as JSON)
#   make bench-plot draws the time of a hand-over against the number of waiters, beside other clients
#                   (PLOT=build/handover.svg)
#   make bench-scale  a long queue at an ensemble of three, and the end of its leader
#                   (WAITERS=1000)
#   make chaos      faults drawn at random against a crowd of contenders; as root
#                   (SEED=1 MINUTES=3; one by one: tests/chaos/run fault 4)
#   make fuzz       made-up bytes for all that reads bytes, and for the lock protocol; with clang
#                   (MINUTES=1: for each target, two at a time; TARGETS="lock reply": only these)
#   make combine    options and keys in triples drawn by lot (SEED=1 TRIPLES=3000)
#   make interop    tables: increments beside other clients, watch events
#   make mixed      tests contenders of this version and of 0.1.0 in one queue; in a full git clone
#   make mutants    small mistakes in the code that decides, and what notices them
#                   (all of the list, which takes hours; SEED=1 SAMPLE=20: for 8 minutes, or
#                   WITHIN=5, at the most, so many that tests have noticed, drawn by lot)
#   make coverage   which lines of src the unit tests and the suite run, by gcc's gcov; fails below 90 of
#                   100, in src/lock and src/process below 95; takes as long as make check
#   make lint       compilers' warnings, static analysis, scripts, manual
#   make format     formats the C source
#   make install    below DESTDIR and PREFIX
#   make uninstall  deletes what install has installed there
#   make dist       the source as build/zkflock-VERSION.tar.xz, from the same files always the same bytes
#   make deb        the Debian package, in build/deb
#   make clean      deletes build
#
# V=1 prints whole commands; WERROR=1 makes warnings errors; SANITIZE=address,undefined builds and
# tests with sanitizers and assertions (-DZKFLOCK_DEBUG).

VERSION = 1.0.0

SEED ?= 1
MINUTES ?= 3
TRIPLES ?= 3000
PLOT ?= $(BUILD)/handover.svg
WAITERS ?= 1000
RELEASE ?= trixie

PREFIX ?= /usr/local
bindir ?= $(PREFIX)/bin
mandir ?= $(PREFIX)/share/man
bashcompdir ?= $(PREFIX)/share/bash-completion/completions
zshcompdir ?= $(PREFIX)/share/zsh/site-functions
fishcompdir ?= $(PREFIX)/share/fish/vendor_completions.d
INSTALL ?= install

CFLAGS ?= $(if $(COVERAGE),-O0,-O2) -g
# Linked in, which makes starting faster; -linih and -ljansson take the shared ones.  So does
# -lzookeeper_mt, but then zkflock does not check the replies of servers, see src/ensemble/wire.c.
ZOOKEEPER_LIB ?= -l:libzookeeper_mt.a
INIH_LIB ?= -l:libinih.a
JANSSON_LIB ?= -l:libjansson.a
WARNINGS = -Wall -Wextra -Wshadow -Wconversion -Wmissing-prototypes -Wstrict-prototypes \
	-Wwrite-strings -Wvla -Wundef
BUILD = build$(if $(SANITIZE),/sanitize)$(if $(COVERAGE),/coverage)

# What makes a mistake in memory harder to use.  CFLAGS and LDFLAGS stand behind it.  The checks of
# FORTIFY need an optimizing compiler; those that are asked for count.  Of control flow, each
# processor has its own way.
control_flow := $(firstword $(foreach flag,-fcf-protection -mbranch-protection=standard,\
	$(shell $(CC) $(flag) -fsyntax-only -x c /dev/null 2>/dev/null && echo $(flag))))
hardening_cflags = -fPIE -fstack-protector-strong -fstack-clash-protection $(control_flow)
hardening_cppflags = $(if $(SANITIZE)$(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),,$(if $(filter-out -O0,$(filter -O%,$(CFLAGS))),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2))
hardening_ldflags = -pie -Wl,-z,relro,-z,now,-z,noexecstack

# See src/ensemble/wire.c.
wire_ldflags = -Wl,--wrap=connect,--wrap=recv,--wrap=send,--wrap=close

# For COVERAGE=1.  Sections for counters.ld; gcc's own fork() and execvp() would write the counters, see
# counters.c.
coverage_cflags = --coverage -fprofile-update=atomic -fdata-sections -fno-builtin-fork -fno-builtin-execvp
coverage_ldflags = -Wl,--wrap=__gcov_exit -Wl,-T,tests/coverage/counters.ld

all_cflags = -std=gnu11 $(WARNINGS) $(if $(WERROR),-Werror) \
	$(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer) \
	$(hardening_cflags) $(CFLAGS) $(if $(COVERAGE),$(coverage_cflags))
all_cppflags = -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64 -DZKFLOCK_VERSION='"$(VERSION)"' $(if $(SANITIZE),-DZKFLOCK_DEBUG) -Isrc \
	$(hardening_cppflags) $(CPPFLAGS)
all_ldflags = $(if $(SANITIZE),-fsanitize=$(SANITIZE)) $(hardening_ldflags) $(LDFLAGS)

sources := $(sort $(wildcard src/*.c src/*/*.c))
objects := $(sources:src/%.c=$(BUILD)/%.o)
# What the unit tests are linked with: everything that does no input or output.
pure_objects := $(filter $(BUILD)/base/%,$(objects)) $(addprefix $(BUILD)/,config/option_table.o config/settings.o \
	config/values.o $(addprefix ensemble/,acl.o reply.o servers.o servers_resolve.o znode.o) list/list_change.o list/view.o \
	$(addprefix lock/,contender.o lockname.o naming.o note.o recipe.o record.o revocation.o))

unit_objects := $(patsubst tests/unit/%.c,$(BUILD)/test-%.o,$(wildcard tests/unit/*.c))

# Run in every recipe that needs more than a compiler; see tests/need.
need = ./tests/need

# $(call say,CC,FILE): in front of a command, prints that line in its place; the whole command with
# V=1, nothing with -s.
silent := $(findstring s,$(filter-out --%,$(firstword -$(MAKEFLAGS))))
say = $(if $(filter-out 0,$(V))$(silent),,@printf '%-5s %s\n' $(1) $(2) && )

.PHONY: all help demo check checked benched fuzzed unit model bench bench-plot bench-scale interop mixed chaos fuzz combine mutants coverage lint format install uninstall check-debian13 check-32bit check-systemd check-package check-hosts dist deb clean
all: $(BUILD)/zkflock

$(BUILD)/zkflock: $(objects) $(BUILD)/flags $(if $(COVERAGE),$(BUILD)/counters.o)
	$(call say,LD,$@)$(CC) $(all_cflags) $(all_ldflags) $(wire_ldflags) $(if $(COVERAGE),$(coverage_ldflags)) -o $@ $(filter %.o,$^) $(ZOOKEEPER_LIB) $(INIH_LIB) $(JANSSON_LIB) -lpthread $(LDLIBS)

$(BUILD)/%.o: src/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(all_cppflags) $(all_cflags) -MMD -MP -c -o $@ $<

$(BUILD)/counters.o: tests/coverage/counters.c $(BUILD)/flags
	$(call say,CC,$<)$(CC) $(all_cppflags) -DCOUNTERS='"$(abspath $(BUILD))/counters"' \
		-std=gnu11 $(WARNINGS) $(hardening_cflags) $(CFLAGS) -c -o $@ $<

# What knows the version, which may have changed with nothing else.
$(BUILD)/cli/arguments.o $(BUILD)/lock/contender.o: Makefile

# Rebuilt when the flags are others; not by `make install`, which root may run without those of `make`.
flags := $(CC) $(all_cppflags) $(all_cflags) $(all_ldflags) $(ZOOKEEPER_LIB) $(INIH_LIB) $(JANSSON_LIB) $(LDLIBS)
$(BUILD)/flags: $(if $(filter install,$(MAKECMDGOALS)),,FORCE)
	@mkdir -p $(@D)
	@echo '$(subst ','\'',$(flags))' | cmp -s - $@ || echo '$(subst ','\'',$(flags))' >$@
.PHONY: FORCE

$(BUILD)/unit: $(unit_objects) $(pure_objects)
	$(call say,LD,$@)$(CC) $(all_cflags) $(all_ldflags) -o $@ $^ $(ZOOKEEPER_LIB) $(JANSSON_LIB) -lpthread $(LDLIBS)

$(BUILD)/test-%.o: tests/unit/%.c $(BUILD)/flags
	$(call say,CC,$<)$(CC) $(all_cppflags) $(all_cflags) -MMD -MP -c -o $@ $<

$(BUILD)/bench/%: tests/bench/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(all_cppflags) -std=gnu11 $(WARNINGS) $(CFLAGS) -Wl,--as-needed -o $@ $< -lzookeeper_mt -lpthread

# The tests' own client, without sanitizers.
$(BUILD)/zk: tests/tools/zk.c $(BUILD)/flags
	$(call say,CC,$<)$(CC) $(all_cppflags) -std=gnu11 $(WARNINGS) $(CFLAGS) -o $@ $< $(ZOOKEEPER_LIB) -lpthread -lm

$(BUILD)/rekey: tests/tools/rekey.c $(BUILD)/flags
	$(call say,CC,$<)$(CC) $(all_cppflags) -std=gnu11 $(WARNINGS) $(CFLAGS) -o $@ $< -lssl -lcrypto

# What goes together, as the program has it.
$(BUILD)/table: tests/combine/table.c $(filter-out %/main.o,$(objects))
	$(call say,LD,$@)$(CC) $(all_cppflags) $(all_cflags) $(all_ldflags) $(wire_ldflags) -o $@ $^ $(ZOOKEEPER_LIB) $(INIH_LIB) $(JANSSON_LIB) -lpthread $(LDLIBS)

# What a clock that is faked for zkflock must not reach is linked statically, without sanitizers.
$(BUILD)/chaos/payload: tests/chaos/payload.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(all_cppflags) -std=gnu11 $(WARNINGS) $(CFLAGS) -static -o $@ $<

$(BUILD)/chaos/clockshift.so: tests/chaos/clockshift.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(all_cppflags) -std=gnu11 $(WARNINGS) $(CFLAGS) -shared -fPIC -o $@ $<

# The runtime that ZooKeeper needs brings the compiler along.
$(BUILD)/%.class: tests/%.java tests/interop/classpath
	@mkdir -p $(@D)
	$(call say,JAVAC,$<)java -m jdk.compiler/com.sun.tools.javac.Main -Xlint:all,-path -Werror \
		-cp $$(cat tests/interop/classpath) -d $(@D) $<

# What libFuzzer runs, see fuzz below.  Each target takes of the program what it calls, so that it can
# have functions of its own in the place of others.
fuzzers := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz-%,$(wildcard tests/fuzz/*.c))

$(BUILD)/zkflock.a: $(filter-out %/main.o,$(objects))
	$(call say,AR,$@)rm -f $@ && ar rcs $@ $^

$(BUILD)/fuzz-%.o: tests/fuzz/%.c $(BUILD)/flags
	$(call say,CC,$<)$(CC) $(all_cppflags) $(all_cflags) -MMD -MP -c -o $@ $<

$(BUILD)/fuzz-%: $(BUILD)/fuzz-%.o $(BUILD)/zkflock.a
	$(call say,LD,$@)$(CC) $(all_cflags) $(all_ldflags) -fsanitize=fuzzer $(fuzz_ldflags) -o $@ $^ $(ZOOKEEPER_LIB) $(INIH_LIB) $(JANSSON_LIB) -lpthread $(LDLIBS)

.SECONDARY: $(fuzzers:=.o)

# It is given what the client library is to be given.
$(BUILD)/fuzz-auth: fuzz_ldflags = -Wl,--wrap=zoo_add_auth
# It says what time it is.
$(BUILD)/fuzz-lock: fuzz_ldflags = -Wl,--wrap=clock_now,--wrap=getrandom
# So does this one, which is what a passage sees of the kernel, and a server of TLS.
$(BUILD)/fuzz-passage: fuzz_ldflags = -Wl,--wrap=clock_now,--wrap=poll,--wrap=getsockopt \
	-Wl,--wrap=recv,--wrap=send -Wl,--no-as-needed -lssl -lcrypto

fuzzed: $(fuzzers)

-include $(wildcard $(BUILD)/*.d $(BUILD)/*/*.d)

checked: all $(BUILD)/unit $(BUILD)/zk $(BUILD)/rekey $(BUILD)/table $(BUILD)/interop/Contend.class \
	$(BUILD)/interop/Revoke.class $(BUILD)/chaos/clockshift.so

# The head comment.
help:
	@sed '/^$$/q; s/^# \{0,1\}//' Makefile

demo:
	@echo 'A demo of zkflock. Building it ...'
	@$(need) build zookeeper
	@$(MAKE) --no-print-directory all
	@./tests/demo $(BUILD)/zkflock

check:
	@$(need) build zookeeper tests
	@$(MAKE) --no-print-directory checked
	@./tests/check $(BUILD)

check-debian13:
	@$(need) debian
	@./tests/debian trixie make check

check-32bit:
	@$(need) debian
	@./tests/debian bookworm-i386 make check

check-systemd:
	@$(need) debian
	@./tests/debian $(RELEASE) ./tests/need build zookeeper tests booted
	@LANES=1 ./tests/debian --boot $(RELEASE) sh -c 'make -s checked && ./tests/check build tests/booted/*.bats'

check-package:
	@$(need) debian
	@./tests/debian $(RELEASE) ./tests/package

check-hosts:
	@$(need) build hosts
	@$(MAKE) --no-print-directory all
	@./tests/threehosts $(BUILD)

unit: $(BUILD)/unit
	@$<

model:
	@$(need) model
	@./tests/model/check

benched: all $(BUILD)/zk $(addprefix $(BUILD)/bench/,bare floor stamp slowsync CuratorWaiters.class)

bench:
	@$(need) build zookeeper bench $(if $(JSON),>&2)
	@$(MAKE) --no-print-directory benched $(if $(JSON),>&2)
	@./tests/bench/run $(if $(JSON),--json) $(BUILD) $(ROWS)

bench-plot:
	@$(need) build zookeeper bench plot
	@$(MAKE) --no-print-directory benched
	@./tests/bench/plot $(BUILD) $(PLOT)

bench-scale:
	@$(need) build zookeeper bench
	@$(MAKE) --no-print-directory benched
	@./tests/bench/scale $(BUILD) $(WAITERS)

chaos:
	@$(need) build zookeeper chaos
	@$(MAKE) --no-print-directory all $(BUILD)/chaos/payload $(BUILD)/chaos/clockshift.so
	@./tests/chaos/run --build $(BUILD) all --seed $(SEED) --minutes $(MINUTES)

fuzz:
	@$(need) build fuzz
	@$(MAKE) --no-print-directory CC=clang BUILD=build/fuzz SANITIZE=fuzzer-no-link,address,undefined fuzzed
	@./tests/fuzz/run build/fuzz $(if $(filter file,$(origin MINUTES)),1,$(MINUTES)) $(TARGETS)

combine:
	@$(need) build zookeeper tests
	@$(MAKE) --no-print-directory checked
	@./tests/combine/alone $(BUILD) --triples $(TRIPLES) --seed $(SEED)

mutants:
	@$(need) build zookeeper tests
	@$(MAKE) --no-print-directory checked
	@./tests/mutants/run --build $(BUILD) --seed $(SEED) \
	  $(if $(SAMPLE),--known --minutes $(or $(WITHIN),8) --sample $(SAMPLE))

coverage:
	@$(need) build zookeeper tests
	@$(MAKE) --no-print-directory CC=gcc COVERAGE=1 checked
	@./tests/coverage/run build/coverage

interop:
	@$(need) build zookeeper tests
	@$(MAKE) --no-print-directory all $(BUILD)/interop/Contend.class
	@./tests/interop/table $(BUILD)

mixed:
	@$(need) build zookeeper tests mixed
	@./tests/mixed/old >/dev/null
	@$(MAKE) --no-print-directory checked
	@ZKFLOCK_OLD=$$(./tests/mixed/old) ./tests/check $(BUILD) tests/mixed/mixed.bats

lint:
	@$(need) build lint
	@./tests/lint

format:
	clang-format -i $(wildcard src/*.[ch] src/*/*.[ch] tests/*/*.[ch])

install: all
	$(INSTALL) -d "$(DESTDIR)$(bindir)" "$(DESTDIR)$(mandir)/man1" \
		"$(DESTDIR)$(mandir)/man5" "$(DESTDIR)$(mandir)/man7" \
		"$(DESTDIR)$(bashcompdir)" "$(DESTDIR)$(zshcompdir)" "$(DESTDIR)$(fishcompdir)"
	$(INSTALL) -m 755 $(BUILD)/zkflock "$(DESTDIR)$(bindir)/zkflock"
	$(INSTALL) -m 644 man/zkflock.1 "$(DESTDIR)$(mandir)/man1/zkflock.1"
	$(INSTALL) -m 644 man/zkflock.conf.5 "$(DESTDIR)$(mandir)/man5/zkflock.conf.5"
	$(INSTALL) -m 644 man/zkflock.7 "$(DESTDIR)$(mandir)/man7/zkflock.7"
	$(INSTALL) -m 644 completions/zkflock.bash "$(DESTDIR)$(bashcompdir)/zkflock"
	$(INSTALL) -m 644 completions/_zkflock "$(DESTDIR)$(zshcompdir)/_zkflock"
	$(INSTALL) -m 644 completions/zkflock.fish "$(DESTDIR)$(fishcompdir)/zkflock.fish"

uninstall:
	rm -f "$(DESTDIR)$(bindir)/zkflock" "$(DESTDIR)$(mandir)/man1/zkflock.1" \
		"$(DESTDIR)$(mandir)/man5/zkflock.conf.5" "$(DESTDIR)$(mandir)/man7/zkflock.7" \
		"$(DESTDIR)$(bashcompdir)/zkflock" \
		"$(DESTDIR)$(zshcompdir)/_zkflock" "$(DESTDIR)$(fishcompdir)/zkflock.fish"

# The files of the repository, or where there is none, all but what was built; with the time of the last
# change, that of CHANGELOG.md there.
BUILD_DIST ?= build
dist_name = zkflock-$(VERSION)
dist_files = $(if $(wildcard .git),git ls-files -z,find . -path ./build -prune -o -name __pycache__ -prune -o -type f -printf '%P\0')
dist_time = $(if $(wildcard .git),$$(git log -1 --format=%ct),$$(stat -c %Y CHANGELOG.md))

dist:
	@$(need) dist
	@mkdir -p $(BUILD_DIST)
	@$(dist_files) >$(BUILD_DIST)/files
	@LC_ALL=C sort -z $(BUILD_DIST)/files | tar --create --format=gnu --null --no-recursion --files-from=- \
		--mtime=@$(dist_time) --mode=go=rX,u+rw,a-s --owner=0 --group=0 --numeric-owner \
		--transform='s,^,$(dist_name)/,' --file=$(BUILD_DIST)/$(dist_name).tar
	@xz -6 --threads=1 --force $(BUILD_DIST)/$(dist_name).tar
	@echo $(BUILD_DIST)/$(dist_name).tar.xz

# Debian 12's lintian does not know the field Static-Built-Using.
deb: dist
	@$(need) build deb
	@mkdir -p build
	@./packaging/build-deb $(VERSION) $(BUILD_DIST)/$(dist_name).tar.xz build/deb >build/deb.log 2>&1 || { cat build/deb.log; exit 1; }
	@lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs,unknown-field build/deb/*.changes
	@ls build/deb/*.deb

clean:
	rm -rf build
