# shellcheck shell=bash
# SPDX-License-Identifier: BSL-1.0
# Fuzzers: clang 19 with libFuzzer.

# Runs one fuzzer and says in one line how it went; all that it said is in a file, and so is what to
# do if it failed.
fuzz_one() { # NAME SECONDS
    local name=$1 folder=$root/.build/fuzz/found/$1 program=$root/.build/fuzz/tests/fuzz/fuzz_$1
    local done_line='^#([0-9]+).*cov: ([0-9]+).*corp: ([0-9]+)/.*exec/s: ([0-9]+) '
    local status=0 input last
    mkdir -p "$folder/corpus"
    rm -f "$folder/failed"
    "$program" "-max_total_time=$2" -timeout=20 -rss_limit_mb=2048 -max_len=1024 \
        "-artifact_prefix=$folder/" "$folder/corpus" "tests/fuzz/corpus/$name" \
        >"$folder/log" 2>&1 || status=$?
    last=$(grep -a $'\tDONE' "$folder/log") || true
    if ((status == 0)) && [[ $last =~ $done_line ]]; then
        say "    $name: ${BASH_REMATCH[1]} inputs, ${BASH_REMATCH[4]} a second," \
            "${BASH_REMATCH[2]} places in the code, ${BASH_REMATCH[3]} inputs kept"
        return 0
    fi
    say "    $name: FAILED"
    input=$(sed -n 's/.*Test unit written to //p' "$folder/log" | tail -n 1)
    {
        grep -av '^#[0-9]' "$folder/log" | tail -n 60
        printf 'run: the fuzzer %s failed; all that it said is in %s\n' "$name" "$folder/log"
        [[ -z $input ]] || printf 'run: the input is in %s, and this replays it:\n    %s %s\n' \
            "$input" "$program" "$input"
    } >"$folder/failed"
}

verb_fuzz() {
    local seconds=60 known names name at_once running=0 status=0
    known=(tests/fuzz/fuzz_*.cpp)
    known=("${known[@]#tests/fuzz/fuzz_}")
    known=("${known[@]%.cpp}")
    if [[ ${1:-} =~ ^[1-9][0-9]*$ ]]; then
        seconds=$1
        shift
    fi
    for name in "$@"; do
        [[ " ${known[*]} " == *" $name "* ]] ||
            die "there is no fuzzer '$name', but these: ${known[*]}" 2
    done
    names=("${@:-${known[@]}}")
    need "${to_build[@]}" "${to_fuzz[@]}"
    need_boost
    configure fuzz
    build fuzz "${names[@]/#/fuzz_}"
    at_once=$(jobs)
    step "Fuzzing, $seconds s each, $at_once at a time"
    export ASAN_OPTIONS="detect_stack_use_after_return=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
    export UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"
    for name in "${names[@]}"; do
        if ((running == at_once)); then
            wait -n
            running=$((running - 1))
        fi
        fuzz_one "$name" "$seconds" &
        running=$((running + 1))
    done
    wait
    for name in "${names[@]}"; do
        [[ -e .build/fuzz/found/$name/failed ]] || continue
        cat ".build/fuzz/found/$name/failed" >&2
        status=1
    done
    return $status
}
