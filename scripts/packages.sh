# shellcheck shell=bash
# SPDX-License-Identifier: BSL-1.0
# Debian packages that the verbs of ./run need: named before they are installed. And the Redis
# server, which is one of them under another name.

is_debian() { command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; }

as_root() {
    if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

# Three tries, for networks have bad moments.
with_retries() {
    local try
    for try in 1 2 3; do
        if "$@"; then return 0; fi
        ((try == 3)) && break
        say "    that failed; trying again in $((try * 3)) s"
        sleep $((try * 3))
    done
    return 1
}

apt_update() { as_root apt-get -qq -o Acquire::Retries=3 update >&2; }
apt_install() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=3 \
        -o Dpkg::Use-Pty=0 install -y --no-install-recommends "$@" >&2
}

# need WORD... where WORD is `package` or `command=package`: the package counts as present when
# dpkg knows it as installed, or the command is on the path from wherever.
need() {
    local word packages=() missing=() installed
    for word in "$@"; do
        if [[ $word == *=* ]]; then
            command -v "${word%%=*}" >/dev/null || packages+=("${word#*=}")
        else
            packages+=("$word")
        fi
    done
    ((${#packages[@]})) || return 0
    if ! is_debian; then
        say "note: not Debian, so nothing is installed; needed are (Debian's names) ${packages[*]}"
        return 0
    fi
    # shellcheck disable=SC2016  # the ${...} are dpkg's
    installed=$(dpkg-query -W -f '|${Package} ${db:Status-Status}|' "${packages[@]}" 2>/dev/null) ||
        true # it fails where one is unknown
    for word in "${packages[@]}"; do
        [[ $installed == *"|$word installed|"* ]] || missing+=("$word")
    done
    ((${#missing[@]})) || return 0
    if ((EUID != 0)) && ! command -v sudo >/dev/null; then
        say "run: Debian packages are missing, and there is no sudo. As root, call"
        say "    apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
        die "then call ./run again"
    fi
    step "Installing Debian packages: ${missing[*]}"
    local begin=$SECONDS
    with_retries apt_update || die "apt-get update failed; see above"
    with_retries apt_install "${missing[@]}" || die "apt-get install failed; see above"
    say "    installed in $((SECONDS - begin)) s"
}

readonly to_build=('g++=g++' cmake=cmake ninja=ninja-build ccache=ccache libsqlite3-dev
    libcli11-dev libpq-dev libssl-dev librdkafka-dev libzookeeper-st-dev mold=mold)
# redis-tools: the server itself is in there, and no service comes with it.
readonly to_serve=(redis-server=redis-tools)
readonly to_test=(libgtest-dev libgmock-dev python3=python3 pkg-config=pkg-config spin=spin
    openssl=openssl liblua5.1-0-dev "${to_serve[@]}")
# The PostgreSQL of the distribution; scripts/databases.sh keeps it from starting a service.
readonly to_serve_postgres=(postgresql)
# The libraries of PgBouncer, which itself is fetched and not installed.
readonly to_pool_postgres=(libc-ares2 libevent-2.1-7)
# MariaDB's server without its service, and what makes its data directory.
readonly to_serve_mariadb=(mariadbd=mariadb-server-core my_print_defaults=mariadb-client-core)
# ZooKeeper's C client, and its server without a service; it runs on Kafka's Java.
readonly to_serve_zookeeper=(zookeeper)
# Kafka runs on Java, and Maven fetches it.
readonly to_serve_kafka=(java=openjdk-17-jre-headless mvn=maven)
readonly to_tsan=(clang++-19=clang-19 libclang-rt-19-dev llvm-symbolizer-19=llvm-19)
readonly to_fuzz=("${to_tsan[@]}" libgtest-dev)
readonly to_format=(clang-format-14=clang-format-14 git=git)
readonly to_tidy=(clang-tidy-19=clang-tidy-19 git=git)

# A Redis server on the path. Debian's redis-tools has one under the name of another tool; it goes
# by the name that it is called by.
need_redis() {
    command -v redis-server >/dev/null && return 0
    local dir=$root/.deps/redis tool
    tool=$(command -v redis-check-rdb) || return 0 # CMake says what is missing
    if [[ ! $dir/redis-server -ef $tool ]]; then
        mkdir -p "$dir"
        ln -sfn "$tool" "$dir/redis-server"
    fi
    PATH=$dir:$PATH
}
