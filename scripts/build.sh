# shellcheck shell=bash
# SPDX-License-Identifier: BSL-1.0
# Configuring and building a preset, each in a folder of its own below .build.

# One job per processor, but no more than memory allows (about 1.5 GB for a coroutine-heavy file).
jobs() {
    local cpus memory_kb fit
    cpus=$(nproc)
    memory_kb=$(sed -n 's/^MemAvailable: *\([0-9]*\).*/\1/p' /proc/meminfo)
    fit=$((${memory_kb:-4000000} / 1500000))
    ((fit < 1)) && fit=1
    echo $((cpus < fit ? cpus : fit))
}

# Two calls at once share a build folder one after the other; taken by configure, let go by build.
lock_folder() {
    mkdir -p "$root/.build"
    exec 8>"$root/.build/$1.lock"
    if ! flock -n 8; then
        step "Waiting for another ./run that builds .build/$1"
        flock 8
    fi
}

# configure PRESET [-DNAME=VALUE...]: only when something changed since the last time.
configure() {
    local preset=$1 dir=$root/.build/$1 stamp
    shift
    lock_folder "$preset"
    stamp="$preset $* $(cksum CMakePresets.json)"
    if [[ -e $dir/build.ninja && -r $dir/configured && $(<"$dir/configured") == "$stamp" ]]; then
        return 0
    fi
    step "Configuring .build/$preset"
    mkdir -p "$dir"
    if ! cmake --preset "$preset" "$@" >"$dir/configure.log" 2>&1; then
        cat "$dir/configure.log" >&2
        die "CMake could not configure"
    fi
    printf '%s\n' "$stamp" >"$dir/configured"
}

# How far a build is, from the last line of its log that begins with "[DONE/ALL]": on a terminal one
# line that changes, elsewhere a line now and then. The files are about as long as one another.
show_progress() { # LOG SECONDS
    local last done all left
    [[ -r $1 ]] || return 0 # it has just begun
    last=$(tail -c 4000 "$1" | grep -ao '^\[[0-9]*/[0-9]*\]' | tail -n 1) || return 0
    last=${last#[}
    done=${last%/*}
    all=${last#*/}
    all=${all%]}
    ((done > 0)) || return 0
    left=$(($2 * (all - done) / done))
    if [[ -t 2 ]]; then
        printf '\r    %d of %d done, about %d s left   ' "$done" "$all" "$left" >&2
    elif (($2 % 20 == 0)); then
        say "    $done of $all done after $2 s, about $left s left"
    fi
}

# build PRESET TARGET...: says what it does only when there is something to do. What compilers say
# is in a file, and is shown if the build fails.
build() {
    local preset=$1 begin=$SECONDS log=$root/.build/$1/build.log pid
    shift
    local ninja=(ninja -C "$root/.build/$preset")
    if "${ninja[@]}" -n "$@" 2>/dev/null | grep -q '^ninja: no work to do'; then
        exec 8>&-
        return 0
    fi
    step "Building .build/$preset"
    NINJA_STATUS='[%f/%t] ' "${ninja[@]}" -j "$(jobs)" "$@" >"$log" 2>&1 &
    pid=$!
    trap 'kill "$pid" 2>/dev/null; exit 130' INT TERM # a job in the background hears no Ctrl-C
    while kill -0 "$pid" 2>/dev/null; do
        show_progress "$log" $((SECONDS - begin))
        sleep 1
    done
    [[ ! -t 2 ]] || printf '\r%60s\r' '' >&2
    if ! wait "$pid"; then
        sed -n '/^FAILED: /,$p' "$log" | head -n 300 >&2
        die "the build failed; all of its output is in $log"
    fi
    trap - INT TERM
    say "    built in $((SECONDS - begin)) s"
    exec 8>&-
}

# The flash sale alone, without what it does not use.
build_demo() {
    need "${to_build[@]}"
    need_boost
    configure demo
    build demo flash_sale
}

build_release() { # TARGET...
    need "${to_build[@]}"
    need_boost
    # Tests stay out of the release folder until `./run release` asks for them.
    local tests=OFF
    grep -qs '^MORTISE_BUILD_TESTS:BOOL=ON' .build/release/CMakeCache.txt && tests=ON
    configure release -DMORTISE_BUILD_TESTS=$tests
    build release "$@"
}

verb_build() { build_release; }
