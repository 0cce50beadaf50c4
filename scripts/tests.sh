# shellcheck shell=bash
# SPDX-License-Identifier: BSL-1.0
# The tests, and what goes on for longer: simulations, storms, soaking.

# g++ 12's sanitizers cannot live with more than 28 random bits in addresses.
steady_addresses() {
    local bits=/proc/sys/vm/mmap_rnd_bits
    if [[ -r $bits ]] && (($(<$bits) > 28)) && setarch "$(uname -m)" -R true 2>/dev/null; then
        exec setarch "$(uname -m)" -R "$@"
    fi
    exec "$@"
}

# Most tests wait most of the time, so six entries share two processors. A call that chooses tests
# by name sees an entry for each case; otherwise a binary with hundreds of cases is started a few
# times.
run_ctest() { # PRESET ARGS...
    local preset=$1 word
    shift
    for word in "$@"; do
        case $word in
        -R* | --tests-regex* | -E* | --exclude-regex* | -I* | --tests-information*)
            export MORTISE_CASES=1
            ;;
        esac
    done
    step "Running the tests of .build/$preset"
    cd "$root/.build/$preset"
    steady_addresses ctest -j "$(($(jobs) * 3))" --output-on-failure "$@"
}

need_for_tests() { # also need WORD...
    need "${to_build[@]}" "${to_test[@]}" "${to_serve_zookeeper[@]}" "$@"
    need_boost
    need_redis
    need_databases
    need_pgbouncer
    need_kafka
}

sanitizer_options() {
    export ASAN_OPTIONS="detect_stack_use_after_return=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
    export UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"
}

verb_test() {
    local times='' words=() word status=0
    for word in "$@"; do
        if [[ $word == --times ]]; then times=1; else words+=("$word"); fi
    done
    need_for_tests
    configure test
    build test
    sanitizer_options
    local folder=$root/.build/test
    if [[ $times ]]; then
        rm -rf "$folder/times"
        export MORTISE_TIMES=$folder/times
    fi
    (run_ctest test -LE proof "${words[@]}") || status=$?
    if [[ $times ]]; then
        python3 tests/dearest.py "$folder" >&2
    fi
    if ((status == 0 && ${#words[@]} == 0)); then touch "$folder/passed"; fi
    return $status
}

# Whether nothing was built since `./run test` has passed.
test_has_passed() {
    [[ -e .build/test/passed ]] &&
        [[ -z $(find .build/test -path .build/test/tests/consumer -prune -o \
            -newer .build/test/passed -type f -perm -u+x -print -quit) ]]
}

verb_proof() {
    need_for_tests
    configure test
    build test
    if ! test_has_passed; then
        verb_test
    else
        step "./run test has passed on this build"
    fi
    sanitizer_options
    run_ctest test -L proof "$@"
}

verb_release() {
    need_for_tests
    configure release -DMORTISE_BUILD_TESTS=ON
    build release
    run_ctest release "$@"
}

verb_tsan() {
    need_for_tests "${to_tsan[@]}"
    configure tsan
    build tsan unit_tests conformance_tests cluster_tests txn_tests txn_http_tests outbox_tests \
        postgres_tests mysql_tests zookeeper_tests
    # Tests fork children that use threads, as a case no longer has a process of its own.
    local options="halt_on_error=1:second_deadlock_stack=1:die_after_fork=0"
    options+=":suppressions=$root/tests/tsan.supp"
    export TSAN_OPTIONS="$options${TSAN_OPTIONS:+:$TSAN_OPTIONS}"
    run_ctest tsan -L 'unit|conformance|^cluster$|txn|outbox|^postgres$|^mysql$|^zookeeper$' "$@"
}

verb_sim() {
    need_for_tests
    configure test
    if [[ ${1:-} == txn ]]; then
        build test txn_sim_runner
        exec "$root/.build/test/tests/txn_sim_runner" "${@:2}"
    fi
    build test sim_runner
    exec "$root/.build/test/tests/sim_runner" "$@"
}

verb_storm() {
    need_for_tests
    configure test
    build test storm
    steady_addresses "$root/.build/test/tests/storm" "$@"
}

# Other seeds each time; what fails says how to replay it. First what is simulated, a third of the
# time for each store and for transactions; then real processes, which are killed and stopped, for
# as long again, then coordinators, then relays with their Kafka broker, and that broker while it
# commits (100 times in ten minutes).
verb_soak() {
    local span=${1:-600} first=$((1000000 + RANDOM * 32768 + RANDOM)) store
    [[ $span =~ ^[0-9]+$ ]] && ((span >= 3)) || die "soak for how many seconds? At least 3" 2
    need_for_tests
    configure test
    build test sim_runner storm txn_sim_runner process_tests relay_tests
    for store in server pair sqlite redis redlock sql zookeeper zookeeper_nodes; do
        step "Simulating the store '$store' for $((span / 3)) s"
        .build/test/tests/sim_runner --store "$store" --seed "$first" --seconds "$((span / 3))"
    done
    step "Simulating transactions for $((span / 3)) s"
    .build/test/tests/txn_sim_runner --seed "$first" --seconds "$((span / 3))"
    step "Simulating XA transactions for $((span / 3)) s"
    .build/test/tests/txn_sim_runner --xa --seed "$first" --seconds "$((span / 3))"
    step "Storms of real processes for $span s"
    (steady_addresses .build/test/tests/storm --seed "$first" --seconds "$span")
    for store in postgresql mysql; do
        step "Storms at a database server for $span s: --store $store"
        (steady_addresses .build/test/tests/storm --store "$store" --processes 16 \
            --seed "$first" --seconds "$span")
    done
    step "Killing coordinators for $span s"
    (MORTISE_TAKE_OVER_SECONDS=$span steady_addresses .build/test/tests/process_tests \
        --gtest_filter=TxnTakeOver.ThreeCoordinatorsAreKilledOneAfterTheOther)
    export MORTISE_FIRST_SEED=$first MORTISE_RELAY_SECONDS=$span MORTISE_RELAY_ROWS=101000
    export MORTISE_COMMIT_SEEDS=$((span < 18 ? 3 : span / 6))
    step "Killing relays and their Kafka broker for $span s (MORTISE_FIRST_SEED=$first)"
    (steady_addresses .build/test/tests/relay_tests --gtest_filter='RelayStorm.*')
    step "Killing the broker a moment after each of $MORTISE_COMMIT_SEEDS commits"
    (steady_addresses .build/test/tests/relay_tests \
        --gtest_filter=RelayBroker.IsKilledAMomentAfterItWasAskedToCommit)
}
