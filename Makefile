# A thin front for people; Meson does the work.
#
#     make run       install what is missing (apt), build, run the example
#     make check     the same for the tests, then all tests; TESTFLAGS goes to tests/run
#     make           build only
#     make install   PREFIX=/usr/local, DESTDIR=

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
MESON_OPTIONS ?=
TESTFLAGS ?=
BENCHFLAGS ?=
NINJA ?= ninja

.PHONY: all build run check asan analyze bench install clean setup-build setup-run setup-check setup-analyze setup-bench
all: build

build: $(BUILD)/build.ninja
	$(NINJA) -C $(BUILD)

$(BUILD)/build.ninja:
	meson setup --prefix=$(abspath $(PREFIX)) $(MESON_OPTIONS) $(BUILD)

setup-build:
	tools/setup.sh build
setup-run:
	tools/setup.sh build run
setup-check:
	tools/setup.sh build run test vm
setup-analyze:
	tools/setup.sh build test analyze
setup-bench:
	tools/setup.sh build run bench

run: setup-run $(BUILD)/build.ninja
	$(NINJA) -C $(BUILD) src/cli/snapcell
	SNAPCELL=$(abspath $(BUILD))/src/cli/snapcell examples/analysis/run.sh

check: setup-check $(BUILD)/build.ninja
	meson configure $(BUILD) -Dtests=enabled
	$(MAKE) build
	tests/run --build $(BUILD) $(TESTFLAGS)

# Address and undefined-behaviour checks. The agent is a static program of its own and stays as it is.
asan: setup-check
	test -f $(BUILD)-asan/build.ninja || meson setup -Db_sanitize=address,undefined -Db_lundef=false \
		-Dbuildtype=debugoptimized $(BUILD)-asan
	$(NINJA) -C $(BUILD)-asan
	ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
		meson test -C $(BUILD)-asan --print-errorlogs

# A second compiler, warnings as errors, and the analyzers of both.
analyze: setup-analyze
	test -f $(BUILD)-clang/build.ninja || CC=clang meson setup -Dwerror=true $(BUILD)-clang
	$(NINJA) -C $(BUILD)-clang
	tools/analyze.sh $(BUILD)-clang

bench: setup-bench
	$(MAKE) build
	bench/run --build $(BUILD) $(BENCHFLAGS)

install: build
	meson configure $(BUILD) --prefix=$(abspath $(PREFIX))
	DESTDIR=$(abspath $(DESTDIR)) meson install -C $(BUILD)
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" -ne 0 ] || ldconfig
	@# AppArmor looks for profiles in one place, whatever the prefix. An ordinary user's install leaves it to root.
	@if [ -n "$(DESTDIR)" ] || [ -w /etc/apparmor.d ]; then \
		install -D -m 644 policy/apparmor/snapcell-cell $(abspath $(DESTDIR))/etc/apparmor.d/snapcell-cell && \
		echo "Installed the AppArmor profile; load it: apparmor_parser -r /etc/apparmor.d/snapcell-cell"; \
	else \
		echo "The AppArmor profile lies in $(PREFIX)/share/snapcell/apparmor.d; root may copy it to /etc/apparmor.d"; \
	fi

clean:
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-clang
