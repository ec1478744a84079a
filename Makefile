# Everything around the code. `make` alone lists the targets.
#
# Every target that needs them installs the packages (bin/setup) and the libraries (Composer) first, and does
# nothing there the second time.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: newcomer packages release screenshots-wordpress help setup demo demo-failover test test-slow test-long test-metrics test-web test-valkey test-wordpress test-wordpress-here check style stan fix build fuzz bench bench-quick instructions bench-fpm self-check cache-tests screenshots ext ext-costs ext-test ext-debug arginfo debian plugin frameworks test-bridge test-bridge-debian

export COMPOSER_ALLOW_SUPERUSER := 1
export COMPOSER_NO_INTERACTION := 1

# apc.enable_cli and apc.shm_size can only be set when PHP starts, so neither phpunit.xml.dist nor ini_set() can.
# With the extension, where `make ext` has built it (LARDER_EXT=0: without all the same).
PHP_OPTIONS := -d apc.enable_cli=1 -d apc.shm_size=128M -d memory_limit=1G -d zend.assertions=1 -d error_reporting=-1
PHP := ext/with php $(PHP_OPTIONS) -d larder.segment=/dev/shm/larder-test-$$$$-%u/segment -d larder.state=/tmp/larder-test-$$$$-state-%u
# Last in what CI prints is to be what has failed.
DISPLAY := $(if $(CI),,--display-skipped)
PHPUNIT := $(PHP) vendor/bin/phpunit $(DISPLAY)
# Test classes side by side, each process with a segment and a state of its own (PHP puts in TEST_TOKEN, the process's number).
# Five times as many as there are cores: most of the time tests wait, for a server, for another process or for an end.
# By name: what lasts longest (Coherence, Faults, Model, Reentrancy, Segment) does not come last then.
PROCESSES := $(shell echo $$((5 * $$(nproc))))
PARATEST := $(PHP) vendor/bin/paratest $(DISPLAY) --order-by=default --processes=$(PROCESSES) --passthru-php="$(PHP_OPTIONS) -d 'larder.segment=/dev/shm/larder-test-$$$$-\$${TEST_TOKEN}-%u/segment' -d 'larder.state=/tmp/larder-test-$$$$-\$${TEST_TOKEN}-state-%u'"
# With one of these, which Paratest does not know, PHPUnit runs them one after the other.
ONLY_PHPUNIT := --exclude-filter --fail-on-empty-test-suite --list- --debug --extension
RUN_TESTS = $(if $(strip $(foreach option,$(ONLY_PHPUNIT),$(findstring $(option),$(ARGS)))),$(PHPUNIT),$(PARATEST))

help: ## list the targets
	@echo 'Larder: one cache for PHP. make TARGET, where TARGET is one of'
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  \1\t\2/p' Makefile | expand -t 26

setup: ## install what is missing (Debian packages, Composer libraries)
	@bin/setup
	@$(MAKE) --silent vendor/autoload.php

# No lock file is kept: a library is tested with what its users get.
vendor/autoload.php: composer.json
	@echo "composer: fetching the libraries that composer.json names"
	@composer update --no-progress --prefer-dist --quiet
	@touch $@

demo: setup ## show what Larder does, on real engines, in half a minute
	@$(PHP) demo/run.php

demo-failover: setup ## kill the primary of a Redis Cluster under a small shop, and count what was old, in half a minute
	@$(PHP) demo/run.php failover

# The processes that their tests start are spared the extensions that no test of these needs (tests/bootstrap.php).
test test-slow: export LARDER_TEST_CHILDREN := light

test: setup ## run the tests, on private servers of their own (PROCESSES=4 classes at a time; default: five for each core)
	@bin/in-memory $(RUN_TESTS) --exclude-group slow --exclude-group long --exclude-group wordpress --exclude-group web --exclude-group bridge $(ARGS)

test-slow: setup ## run what takes a processor for seconds: models, kills at every step, random requests, stampedes, reentrancy, what stands over Predis, the C core and the laboratory by themselves
	@bin/in-memory $(RUN_TESTS) --group slow --exclude-group long --exclude-group bridge $(ARGS)

test-long: setup ## run all of these, and the long ones, which take minutes each
	@bin/setup metrics
	$(PHPUNIT) --exclude-group wordpress --exclude-group web --exclude-group bridge $(ARGS)

test-metrics: setup ## let a real Prometheus read the metrics
	@bin/setup metrics
	$(PHPUNIT) --group long --filter 'Larder.Tests.Metrics' $(ARGS)

test-web: setup ## test the page cache behind real web servers: nginx, Apache, Varnish, php-fpm
	@bin/setup web
	$(RUN_TESTS) --group web --exclude-group none $(ARGS)

# What it does, and over what: tests/Fuzz/run.php. For one: make fuzz ARGS="--dsn='redis apcu' --seed=1"
SECONDS_EACH := 60
fuzz: setup ## run random requests amid kills, stops, losses and wrong clocks, over every engine (SECONDS_EACH=60)
	$(PHP) tests/Fuzz/run.php --seconds=$(SECONDS_EACH) $(ARGS)

# What speaks to Redis in any way, over each Valkey: LARDER_REDIS names the program of tests/Support/RedisServer.
VALKEY := 8 9
OVER_REDIS := Larder.Tests.(Store.Redis|(Lock|Session|RateLimiter|Counter|Queue).(Php)?(R|Pr)edi|Session.(Cluster|FailOver)|Queue.Cluster|Console.Redis|Docs.SeveralServers|Demo.FailOver)

test-valkey: setup ## run the tests of what lies in Redis over Valkey 8 and 9, which are unpacked from Debian's packages (VALKEY=9: that alone)
	@bin/setup debian
	for version in $(VALKEY); do LARDER_REDIS=$$(bin/valkey $$version) bin/in-memory $(RUN_TESTS) --filter '$(OVER_REDIS)' --exclude-group none $(ARGS); done

# Of these releases; each test has sites of its own, single ones and networks.
WORDPRESS := 6.8 7.1

test-wordpress: test-wordpress-here ## run all tests of the WordPress plugin, with PHP 8.4 too
	@bin/setup debian
	@bin/in-debian trixie make ext test-wordpress-here WORDPRESS='$(WORDPRESS)' ARGS='$(ARGS)'

test-wordpress-here: setup ## the same with the PHP of this machine only
	@bin/setup wordpress
	@bin/wp --allow-root cli version >/dev/null
	@if command -v npm >/dev/null; then $(MAKE) --silent tests/WordPress/browser/node_modules; fi
	for version in $(WORDPRESS); do LARDER_WORDPRESS=$$version $(RUN_TESTS) --group wordpress --exclude-group none $(ARGS); done

# What speaks to Debian's chromium. Without that, or without npm, the browser's test is skipped and says so.
tests/WordPress/browser/node_modules: tests/WordPress/browser/package-lock.json
	@cd tests/WordPress/browser && npm ci --ignore-scripts --no-audit --no-fund --silent
	@touch $@

check: style stan test ## style, types and tests

style: setup ## show violations of the coding style
	vendor/bin/php-cs-fixer check --diff --show-progress=none

fix: setup ## fix the coding style
	vendor/bin/php-cs-fixer fix --show-progress=none

build: setup ## make what a release has and a checkout works without: classes/, one file of classes for each door
	@bin/classes

packages: setup ## make the packages that are installed, each a git repository in build/packages/
	@bin/split build/packages

release: setup ## make a release of what is committed: archives in build/release/, and tags (VERSION=1.2.3; with DRY=1 no tags, and nothing else changes)
	@bin/release $(if $(DRY),--dry-run) '$(VERSION)'

stan: setup ## check the types with PHPStan at its highest level
	vendor/bin/phpstan analyse --no-progress --memory-limit=1G

# The laboratory and the costs below use the extension too, where it is there.
# Three rounds are the fewest that have intervals. Ten have narrow ones, and requests enough for p99.
bench: build ## repeat every published comparison, three rounds of each (about two hours on two cores; with ARGS=--rounds=10 about seven; resumes where it stopped)
	@bin/setup lab
	@$(MAKE) --silent frameworks || echo 'Without Packagist: Laravel is left out.'
	@mkdir -p build/bench
	ext/with php bin/larder bench all --rounds=3 --json=build/bench/report.json --markdown=build/bench/report.md --html=build/bench/report.html $(ARGS)

bench-quick: build ## run every combination but WordPress with few samples, three rounds of each (about half an hour)
	@bin/setup lab
	@mkdir -p build/bench
	ext/with php bin/larder bench --quick --rounds=3 --json=build/bench/quick.json --markdown=build/bench/quick.md --html=build/bench/quick.html $(ARGS)

ext: ## build the extension: ext/modules/larder.so, which demo, test and bench then use
	@bin/setup ext
	@ext/compile
	@php -n -d extension=$(CURDIR)/ext/modules/larder.so -r 'echo "ext/modules/larder.so ", phpversion("larder"), " for PHP ", PHP_VERSION, "\n";'

ext-test: ## test the extension alone: its phpt files, with every invariant checked after every operation
	@bin/setup ext
	@ext/test $(ARGS)

ext-debug: ## test the extension with PHP's debug build, with threads, and under ASan and UBSan (builds PHP twice: half an hour)
	@bin/setup ext debian
	@ext/debug-php all

arginfo: setup ## write ext/larder_arginfo.h from ext/larder.stub.php
	@bin/setup ext
	@ext/arginfo

newcomer: ## type each row of docs/choose.md on a new Debian 12 and 13, as somebody who has just installed it (root, ten minutes)
	@bin/newcomer

debian: setup ## build and test everything on another release of Debian (SUITE=trixie, which has PHP 8.4)
	@bin/setup debian
	@bin/in-debian $(or $(SUITE),trixie) bash -c 'bin/setup ext && make ext && make ext-test && make test'

ext-costs: ## measure what decided the extension's design: locks, fences, probes, copying
	@mkdir -p build && $${CC:-cc} -std=c11 -O2 -D_GNU_SOURCE -Iext/segment ext/segment/*.c ext/measure/costs.c -o build/ext-costs -lpthread -lm
	@build/ext-costs

frameworks: build/frameworks/autoload.php ## fetch Symfony and Laravel, for the tests of the bridges (about 120 MB, in build/frameworks/)

build/frameworks/autoload.php: tests/Bridge/composer.json
	@composer update --working-dir=tests/Bridge --no-progress --prefer-dist --no-scripts --quiet
	@chmod -R a+rX build/frameworks
	@touch $@

test-bridge: setup frameworks ## test Larder in Symfony and Laravel, each of the newest release that this PHP can run (with LONG=1 what takes minutes, too)
	$(PHPUNIT) --group bridge --exclude-group $(if $(LONG),none,long) $(ARGS)

test-bridge-debian: setup ## the same on Debian 13: Symfony 8 and Laravel 13, with PHP 8.4
	@bin/setup debian
	@bin/in-debian trixie make test-bridge LONG='$(LONG)' ARGS='$(ARGS)'

plugin: setup ## build the WordPress plugin: build/larder/ and build/larder.zip
	@wordpress/build

screenshots: ## make the docs' pictures of the last report (Debian's chromium)
	php lab/picture.php build/bench/report.json docs/images/engines-read.svg
	for theme in light:1 dark:0; do chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1280,800 \
		--blink-settings=preferredColorScheme=$${theme#*:} --screenshot=docs/images/report-$${theme%:*}.png file://$(CURDIR)/build/bench/report.html; done

screenshots-wordpress: setup ## take pictures of the WordPress plugin for the docs (npm, Debian's chromium)
	@bin/setup wordpress
	@$(MAKE) --silent tests/WordPress/browser/node_modules
	@rm -rf build/pictures && mkdir -p build/pictures
	LARDER_PICTURES=$(CURDIR)/build/pictures $(PHPUNIT) --filter testASite tests/WordPress/NewUserTest.php
	cp build/pictures/wordpress-{activated,larder}-desktop.png docs/images/

self-check: setup ## check whether to trust the laboratory here: measure the same thing twice, and once slowed by 10 %
	ext/with php lab/self-check.php $(ARGS)

cache-tests: setup ## score the page cache with the public tests for HTTP caches, beside published results (nginx, node, npm, git)
	ext/with php lab/cache-tests.php $(ARGS)

instructions: build ## count the instructions of a call of each layer, beside those of docs/instructions.json, which are then written anew (valgrind)
	@command -v valgrind >/dev/null || { echo 'Instructions are not counted: valgrind is not installed. Type: apt-get install valgrind'; exit 0; }; \
	mkdir -p build/bench && ext/with php bin/larder bench instructions --rounds=1 --json=build/bench/instructions.json --markdown=build/bench/instructions.md --html=build/bench/instructions.html $(ARGS) \
		&& ext/with php lab/keep-instructions.php build/bench/instructions.json

bench-fpm: build ## measure what Larder costs a script behind nginx and php-fpm, beside an empty one
	@bin/setup lab
	ext/with php bin/larder bench fpm $(ARGS)
