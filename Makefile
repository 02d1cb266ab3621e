# zkflock: flock(1) for clusters.
#
#   make            builds build/zkflock
#   make demo       shows what it is for, on a throwaway ZooKeeper
#   make check      unit tests and the whole suite on real servers
#   make bench      speed and memory, as ratios
#   make lint       compilers' warnings, static analysis, scripts, manual
#   make install    below DESTDIR and PREFIX
#
# WERROR=1 makes warnings errors; SANITIZE=address,undefined builds and tests with sanitizers.

VERSION = 0.1.0

PREFIX ?= /usr/local
bindir ?= $(PREFIX)/bin
mandir ?= $(PREFIX)/share/man
INSTALL ?= install

CFLAGS ?= -O2 -g
# Linked in, which makes starting faster; -lzookeeper_mt takes the shared one.
ZOOKEEPER_LIB ?= -l:libzookeeper_mt.a
WARNINGS = -Wall -Wextra -Wshadow -Wconversion -Wmissing-prototypes -Wstrict-prototypes \
	-Wwrite-strings -Wvla -Wundef
BUILD = build$(if $(SANITIZE),/sanitize)

all_cflags = -std=gnu11 $(WARNINGS) $(if $(WERROR),-Werror) \
	$(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer) \
	$(CFLAGS)
all_cppflags = -D_GNU_SOURCE -DZKFLOCK_VERSION='"$(VERSION)"' -Isrc $(CPPFLAGS)
all_ldflags = $(if $(SANITIZE),-fsanitize=$(SANITIZE)) $(LDFLAGS)

sources := $(sort $(wildcard src/*.c))
objects := $(sources:src/%.c=$(BUILD)/%.o)
# What the unit tests are linked with: everything that does no input or output.
pure_objects := $(addprefix $(BUILD)/,clock.o contender.o lockname.o log.o recipe.o record.o \
	servers.o xalloc.o)

# Run in every recipe that needs more than a compiler; see tests/need.
need = ./tests/need

.PHONY: all demo check unit bench lint format install uninstall clean
all: $(BUILD)/zkflock

$(BUILD)/zkflock: $(objects)
	$(CC) $(all_cflags) $(all_ldflags) -o $@ $^ $(ZOOKEEPER_LIB) -lpthread $(LDLIBS)

$(BUILD)/%.o: src/%.c $(BUILD)/flags
	$(CC) $(all_cppflags) $(all_cflags) -MMD -MP -c -o $@ $<

# Rebuilt when the flags are others.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(subst ','\'',$(all_cppflags) $(all_cflags))' | cmp -s - $@ || \
		echo '$(CC) $(subst ','\'',$(all_cppflags) $(all_cflags))' >$@
.PHONY: FORCE

$(BUILD)/unit: tests/unit/unit.c $(pure_objects)
	$(CC) $(all_cppflags) $(all_cflags) $(all_ldflags) -o $@ $^ -lpthread $(LDLIBS)

$(BUILD)/bare: tests/bench/bare.c $(BUILD)/flags
	$(CC) $(all_cppflags) $(all_cflags) $(all_ldflags) -o $@ $< -lzookeeper_mt -lpthread

-include $(wildcard $(BUILD)/*.d)

demo:
	@$(need) build zookeeper
	@$(MAKE) --no-print-directory all
	@./tests/demo $(BUILD)/zkflock

check:
	@$(need) build zookeeper tests
	@$(MAKE) --no-print-directory all $(BUILD)/unit
	@./tests/check $(BUILD)

unit: $(BUILD)/unit
	@$<

bench:
	@$(need) build zookeeper bench
	@$(MAKE) --no-print-directory all $(BUILD)/bare
	@./tests/bench/run $(BUILD)

lint:
	@$(need) build lint
	@./tests/lint

format:
	clang-format -i src/*.[ch] tests/unit/*.c tests/tools/*.c tests/bench/*.c

install: all
	$(INSTALL) -d $(DESTDIR)$(bindir) $(DESTDIR)$(mandir)/man1
	$(INSTALL) -m 755 $(BUILD)/zkflock $(DESTDIR)$(bindir)/zkflock
	$(INSTALL) -m 644 man/zkflock.1 $(DESTDIR)$(mandir)/man1/zkflock.1

uninstall:
	rm -f $(DESTDIR)$(bindir)/zkflock $(DESTDIR)$(mandir)/man1/zkflock.1

clean:
	rm -rf build
