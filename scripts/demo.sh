# shellcheck shell=bash
# SPDX-License-Identifier: BSL-1.0
# What a newcomer runs: the demonstrations, the command, the benchmarks.

# The flash sale with a Redis server and a Kafka broker, which end with it.
demo_full() {
    need "${to_serve[@]}"
    need_redis
    need_kafka
    build_release flash_sale
    local work port=$((20000 + RANDOM % 10000)) archive=() status=0
    work=$(mktemp -d)
    # shellcheck disable=SC2064  # the folder as it is now
    trap "end_kafka; rm -rf '$work'" EXIT
    if [[ -e $kafka_dir/classes.jsa ]]; then # else it only starts more slowly
        archive=("-XX:SharedArchiveFile=$kafka_dir/classes.jsa")
    fi
    step "Starting a Kafka broker on port $port"
    if ! begin_kafka "$work" "$port" "${archive[@]}"; then
        tail -n 20 "$work/log" >&2
        die "the Kafka broker did not start; see above"
    fi
    cd "$caller"
    "$root/.build/release/examples/flash_sale" --store redis --kafka "127.0.0.1:$port" "$@" ||
        status=$?
    return "$status"
}

# The flash sale with its locks at a database server, which ends with it.
demo_at_database() { # postgresql|mysql ARGS...
    local kind=$1 work port=$((20000 + RANDOM % 10000)) place status=0
    shift
    need_databases
    build_release flash_sale
    work=$(mktemp -d)
    # shellcheck disable=SC2064  # the folder as it is now
    trap "end_database '$work'; rm -rf '$work'" EXIT
    step "Starting a database server on port $port"
    if ! "begin_$kind" "$work" "$port"; then
        tail -n 20 "$work/log" >&2
        die "the database server did not start; see above"
    fi
    place=mortise:mortise-test@127.0.0.1:$port
    if [[ $kind == postgresql ]]; then place+=/postgres; else place+=/mortise; fi
    cd "$caller"
    "$root/.build/release/examples/flash_sale" "$@" --store "$kind://$place" || status=$?
    return "$status"
}

# Money from PostgreSQL to MariaDB by two-phase commit; both servers end with it.
demo_bank() {
    local work port=$((20000 + RANDOM % 10000)) status=0
    need_databases
    build_release 22_xa_transfer
    work=$(mktemp -d)
    # shellcheck disable=SC2064  # the folder as it is now
    trap "end_database '$work/postgresql' '$work/mysql'; rm -rf '$work'" EXIT
    chmod a+x "$work"
    mkdir "$work/postgresql" "$work/mysql"
    step "Starting PostgreSQL on port $port and MariaDB on port $((port + 1))"
    if ! begin_postgresql "$work/postgresql" "$port" ||
        ! begin_mysql "$work/mysql" "$((port + 1))"; then
        tail -n 20 "$work"/*/log >&2
        die "a database server did not start; see above"
    fi
    cd "$work"
    "$root/.build/release/examples/22_xa_transfer" \
        "postgresql://mortise:mortise-test@127.0.0.1:$port/postgres" \
        "mariadb://mortise:mortise-test@127.0.0.1:$((port + 1))/mortise" || status=$?
    return "$status"
}

verb_demo() {
    if [[ ${1:-} == bank ]]; then
        demo_bank
        return
    fi
    if [[ ${1:-} == order ]]; then
        build_release 13_order_service
        cd "$(mktemp -d)"
        trap 'rm -rf "$PWD"' EXIT
        "$root/.build/release/examples/13_order_service" "${@:2}"
        return
    fi
    if [[ ${1:-} == --full ]]; then
        demo_full "${@:2}"
        return
    fi
    if [[ ${1:-} == --store && (${2:-} == postgresql || ${2:-} == mysql) ]]; then
        demo_at_database "${@:2}"
        return
    fi
    local others='\ --store\ (redis|rediss|postgres|postgresql|mysql|mariadb)'
    if [[ " $*" =~ $others ]]; then
        if [[ " $* " == *" --store redis "* ]]; then
            need "${to_serve[@]}"
            need_redis
        fi
        build_release flash_sale
        cd "$caller"
        exec "$root/.build/release/examples/flash_sale" "$@"
    fi
    build_demo
    cd "$caller"
    exec "$root/.build/demo/examples/flash_sale" "$@"
}

verb_bench() {
    if [[ ${1:-} == --peers ]]; then
        bench_peers "${@:2}"
        return
    fi
    need "${to_serve[@]}"
    need_redis
    build_release mortise_cli
    cd "$caller"
    if (($#)) && [[ $1 != -* ]]; then exec "$root/.build/release/tools/mortise" bench "$@"; fi
    local kind
    for kind in handoff contend uncontended local waiters idle linger takeover txn; do
        "$root/.build/release/tools/mortise" bench "$kind" "$@"
    done
}

verb_mortise() {
    build_release mortise_cli
    cd "$caller"
    exec "$root/.build/release/tools/mortise" "$@"
}
