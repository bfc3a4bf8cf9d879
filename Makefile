# SPDX-License-Identifier: GPL-2.0
#
# The front door. Not part of the overlay: `make help` lists the targets. ARCH, if
# given, reaches the scripts in the environment.

IMPL ?= rust
CONFIG ?= lean

.DELETE_ON_ERROR:
.PHONY: help setup kernel run shell test test-debug fuzz models models-mutate matrix bench deb series apply doc lint rust-analyzer clean

help:
	@echo 'make setup               fetch the toolchain and the kernel source (once, outside of this folder)'
	@echo 'make run                 boot the kernel and show user_events and histograms at work'
	@echo 'make shell               a shell in the guest          [IMPL=rust|c|patched] [CONFIG=...]'
	@echo 'make test                lint, KUnit, our selftests and the kernel'\''s own, comparison with C'
	@echo '                         (ARCH=arm64: what is about the machine, on that one; also for'
	@echo '                         setup, kernel, run, shell and bench)'
	@echo 'make test ONLY=...       a part, a suite or a case of it, for example own, hist_interface,'
	@echo '                         hist_interface:files_modes; scripts/test --list lists them  [IMPL=...] [CONFIG=...]'
	@echo 'make test CONFIG=...     the tests on a kernel that checks itself: lockdep, kasan, kcsan, rt (PREEMPT_RT), cfi, um'
	@echo 'make test-debug          a part of the tests, failing allocations and a storm,'
	@echo '                         under lockdep with kmemleak and under KASAN'
	@echo 'make fuzz                fuzzes the kernel with KASAN, guided by its coverage   [SECONDS=N]'
	@echo 'make models              the lock-free code under model checkers'
	@echo 'make models-mutate       the same with one memory ordering weakened at a time'
	@echo 'make matrix              builds in many configurations, without a warning [ONLY=NAME[,NAME]]'
	@echo 'make bench               C and Rust side by side, with inlined helpers and with default options'
	@echo 'make kernel              build the guest'\''s kernel       [IMPL=rust|c|patched] [CONFIG=...]'
	@echo 'make deb                 packages for a machine with Debian: linux-image and linux-headers'
	@echo '                         [KCONFIG=FILE] (default: Debian'\''s configuration) [LOCALVERSION=-NAME]'
	@echo 'make series OUT=DIR      the work as a patch series for git am'
	@echo '                         CHECK=build [FROM=N] [TO=N]: builds after each commit, too'
	@echo 'make apply LINUX=DIR     the work onto a Linux 7.3 tree of your own'
	@echo 'make doc, make lint      documentation; static checks'
	@echo 'make rust-analyzer       rust-project.json, for an editor with rust-analyzer'
	@echo 'make clean               remove build/'

setup:
	@scripts/setup

kernel: setup
	@scripts/kernel IMPL=$(IMPL) CONFIG=$(CONFIG)

run: setup
	@scripts/kernel IMPL=rust
	@scripts/run

shell: kernel
	@scripts/vm --impl $(IMPL) --config $(CONFIG) --shell

test: setup
	@scripts/test --config $(CONFIG) --impl $(IMPL) $(if $(ONLY),--only '$(ONLY)')

test-debug: setup
	@scripts/test --debug

fuzz: setup
	@scripts/fuzz $(if $(SECONDS),--seconds '$(SECONDS)')

models: setup
	@scripts/models

models-mutate: setup
	@scripts/models --mutate

matrix: setup
	@scripts/matrix $(if $(ONLY),ONLY=$(ONLY))

bench: setup
	@scripts/kernel IMPL=rust
	@[ '$(ARCH)' = arm64 ] || scripts/kernel IMPL=rust CONFIG=outline
	@scripts/kernel IMPL=c
	@scripts/bench

deb: setup
	@scripts/deb $(if $(KCONFIG),'KCONFIG=$(KCONFIG)') $(if $(LOCALVERSION),'LOCALVERSION=$(LOCALVERSION)')

series: setup
	@scripts/series "OUT=$(OUT)" "CHECK=$(CHECK)" "FROM=$(FROM)" "TO=$(TO)"

apply:
	@scripts/apply "LINUX=$(LINUX)"

doc: setup
	@scripts/doc

lint: setup
	@scripts/lint

rust-analyzer: setup
	@scripts/rust-analyzer

clean:
	rm -rf build
