# shellcheck shell=bash
# SPDX-License-Identifier: BSL-1.0
# PostgreSQL and MariaDB for tests: their programs, and a data directory of each in .deps, which
# tests copy and start a server of their own on. No service runs, and no cluster of the system's is
# made or used.

readonly postgres_dir=$root/.deps/postgres
readonly mariadb_dir=$root/.deps/mariadb
# Whoever is root makes the data directories as this account: PostgreSQL refuses to run as root.
readonly database_account=nobody

# The folder of the newest PostgreSQL, 15 or newer, with `postgres` and `initdb`; fails if there is
# none.
postgres_bin() {
    local folder
    for folder in $(printf '%s\n' /usr/lib/postgresql/*/bin | sort -rV); do
        if [[ -x $folder/postgres && -x $folder/initdb ]]; then
            echo "$folder"
            return 0
        fi
    done
    folder=$(command -v postgres) && [[ -x $(dirname "$folder")/initdb ]] && dirname "$folder"
}

# Debian's package would make a cluster and start it as a service, unless a setting forbids that. It
# goes into a file of its own, so that an interrupted run, or two at once, spoil nothing of others.
install_postgres() {
    local folder=/etc/postgresql-common/createcluster.d
    need postgresql-common
    is_debian || return 1
    as_root mkdir -p "$folder"
    echo 'create_main_cluster = false' | as_root tee "$folder/mortise.conf" >/dev/null
    (need "${to_serve_postgres[@]}") || true # a subshell: `need` ends it when it fails
    as_root rm -f "$folder/mortise.conf"
}

as_database_account() {
    if ((EUID == 0)); then
        setpriv --reuid "$(id -u "$database_account")" --regid "$(id -g "$database_account")" \
            --clear-groups -- "$@"
    else
        "$@"
    fi
}

prepare_postgres() { # BIN DATA
    printf '%s\n' mortise-test >"$(dirname "$2")/password"
    chmod a+r "$(dirname "$2")/password"
    as_database_account "$1/initdb" -D "$2" --username=mortise --encoding=UTF8 --locale=C \
        --auth-local=trust --auth-host=scram-sha-256 "--pwfile=$(dirname "$2")/password" \
        --wal-segsize=1 --no-sync
}

prepare_mariadb() { # DATA
    as_database_account mariadb-install-db --no-defaults --datadir="$1" --skip-test-db \
        --auth-root-authentication-method=normal --innodb-log-file-size=4M \
        --innodb-flush-method=nosync
}

# prepare FOLDER VERSION COMMAND...: FOLDER/data by that command, which gets the place as its last
# argument; nothing if FOLDER has it already of that version. The work is done in a folder of the
# account's own, since it may not be able to reach ours.
prepare() {
    local folder=$1 version=$2 fresh begin=$SECONDS
    shift 2
    [[ -r $folder/stamp && $(<"$folder/stamp") == "$version" ]] && return 0
    mkdir -p "$root/.deps"
    exec 9>"$root/.deps/lock"
    flock 9 # two calls at once: the second finds the work done
    if [[ ! -r $folder/stamp || $(<"$folder/stamp") != "$version" ]]; then
        step "Preparing a data directory for tests: $version"
        fresh=$(mktemp -d)
        if ((EUID == 0)); then chown "$database_account" "$fresh"; fi
        if ! "$@" "$fresh/data" >"$fresh.log" 2>&1; then
            cat "$fresh.log" >&2
            rm -rf "$fresh" "$fresh.log"
            die "the data directory could not be made"
        fi
        rm -rf "$folder"
        mkdir -p "$folder"
        cp -a "$fresh/data" "$folder/data"
        rm -rf "$fresh" "$fresh.log"
        printf '%s\n' "$version" >"$folder/stamp" # last: an interrupted run is repaired by the next
        say "    there in $((SECONDS - begin)) s"
    fi
    exec 9>&-
}

need_postgres() {
    local bin
    bin=$(postgres_bin) || { install_postgres && bin=$(postgres_bin); } || return 0
    prepare "$postgres_dir" "$("$bin/postgres" --version)" prepare_postgres "$bin"
}

# A server on a copy of that data in WORK, which ends by end_database.
begin_postgresql() { # WORK PORT
    local bin tries=0
    bin=$(postgres_bin) || return 1
    cp -a "$postgres_dir/data" "$1/data"
    chmod a+x "$1"
    as_database_account "$bin/postgres" -D "$1/data" -c listen_addresses=127.0.0.1 -c "port=$2" \
        -c unix_socket_directories= -c fsync=off -c max_prepared_transactions=100 >"$1/log" 2>&1 &
    while ((++tries < 100)); do
        "$bin/pg_isready" -q -h 127.0.0.1 -p "$2" && return 0
        sleep 0.1
    done
    return 1
}

begin_mysql() { # WORK PORT
    local tries=0
    cp -a "$mariadb_dir/data" "$1/data"
    chmod a+x "$1"
    cat >"$1/first.sql" <<'SQL'
CREATE DATABASE mortise;
CREATE USER 'mortise'@'127.0.0.1' IDENTIFIED BY 'mortise-test';
GRANT ALL ON mortise.* TO 'mortise'@'127.0.0.1';
SQL
    as_database_account mariadbd --no-defaults --datadir="$1/data" --port="$2" \
        --bind-address=127.0.0.1 --socket="$1/data/socket" --pid-file="$1/data/pid" \
        --init-file="$1/first.sql" --skip-name-resolve --innodb-flush-method=nosync \
        >"$1/log" 2>&1 &
    while ((++tries < 100)); do
        if (exec 3<>"/dev/tcp/127.0.0.1/$2") 2>/dev/null; then return 0; fi
        sleep 0.1
    done
    return 1
}

end_database() { # WORK...
    local work file
    for work in "$@"; do
        for file in "$work/data/postmaster.pid" "$work/data/pid"; do
            if [[ -r $file ]]; then kill -QUIT "$(head -n 1 "$file")"; fi
        done
    done
    wait
}

fetch_pgbouncer() { # FOLDER
    cd "$1" && { with_retries apt-get -qq download pgbouncer ||
        { apt_update && apt-get -qq download pgbouncer; }; } && dpkg-deb -x ./pgbouncer_*.deb all
}

# A PgBouncer on the path, unpacked and not installed: Debian's package would start a service. Where
# there is none, its tests are left out.
need_pgbouncer() {
    local dir=$root/.deps/pgbouncer fresh
    if ! command -v pgbouncer >/dev/null && [[ ! -x $dir/pgbouncer ]] && is_debian; then
        (need "${to_pool_postgres[@]}") || return 0
        step "Fetching PgBouncer"
        fresh=$(mktemp -d)
        if ((EUID == 0)); then chmod a+rwx "$fresh"; fi # apt fetches as an account of its own
        if (fetch_pgbouncer "$fresh") >"$fresh.log" 2>&1; then
            mkdir -p "$dir"
            mv -f "$fresh/all/usr/sbin/pgbouncer" "$dir/pgbouncer"
        else
            cat "$fresh.log" >&2
            say "note: no PgBouncer, so its tests are left out"
        fi
        rm -rf "$fresh" "$fresh.log"
    fi
    if [[ -x $dir/pgbouncer ]]; then PATH=$dir:$PATH; fi
}

need_database_servers() {
    postgres_bin >/dev/null || install_postgres || true
    need "${to_serve_mariadb[@]}"
    if is_debian; then need "${to_pool_postgres[@]}"; fi
}

need_databases() {
    need_postgres
    need "${to_serve_mariadb[@]}"
    if command -v mariadbd >/dev/null && command -v mariadb-install-db >/dev/null; then
        prepare "$mariadb_dir" "$(mariadbd --no-defaults --version)" prepare_mariadb
    fi
}
