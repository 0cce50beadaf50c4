# shellcheck shell=bash
# SPDX-License-Identifier: BSL-1.0
# The layout of sources, and rules that a machine can check.

verb_format() {
    need "${to_format[@]}"
    local files
    mapfile -d '' -t files < <(git ls-files -z --cached --others --exclude-standard \
        '*.hpp' '*.cpp' ':!:tests/tidy/fixtures')
    ((${#files[@]})) || return 0
    if [[ ${1:-} == --check ]]; then
        clang-format-14 --dry-run --Werror "${files[@]}"
    else
        clang-format-14 -i "${files[@]}"
        say "formatted ${#files[@]} files"
    fi
}

verb_tidy() {
    need_for_tests "${to_tidy[@]}"
    step "Style rules"
    python3 tests/tidy/tidy.py "$root"
    configure dev # where each source is compiled by itself
    exec 8>&-
    step "clang-tidy 19 (some seconds a file)"
    local files
    mapfile -d '' -t files < <(git ls-files -z '*.cpp' ':!:tests/tidy' ':!:tests/consumer')
    printf '%s\0' "${files[@]}" |
        xargs -0 -r -n 1 -P "$(jobs)" clang-tidy-19 -p .build/dev --quiet --warnings-as-errors='*'
}
