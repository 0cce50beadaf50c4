# shellcheck shell=bash
# SPDX-License-Identifier: BSL-1.0
# Boost of a newer Debian, unpacked into .deps; nothing is installed.

readonly boost_wanted=108800
# Boost.MySQL needs Boost.Charconv, the only one of its parts that is no header.
readonly boost_packages=(libboost1.88-dev libboost-charconv1.88-dev)
readonly boost_suite=trixie
readonly boost_dir=$root/.deps/boost

boost_version_in() { # the number in INCLUDE_DIR/boost/version.hpp, else 0
    local number=0 file=$1/boost/version.hpp
    [[ -r $file ]] && number=$(sed -n 's/^#define BOOST_VERSION \([0-9]*\).*/\1/p' "$file")
    echo "${number:-0}"
}

boost_is_there() {
    local prefix prefixes=()
    if [[ -r $boost_dir/packages && $(<"$boost_dir/packages") == "${boost_packages[*]}" ]]; then
        return 0
    fi
    IFS=: read -r -a prefixes <<<"${CMAKE_PREFIX_PATH:-}"
    for prefix in "${prefixes[@]}" /usr/local /usr; do
        [[ -n $prefix ]] || continue
        (($(boost_version_in "$prefix/include") >= boost_wanted)) && return 0
    done
    return 1
}

# The address of the Debian archive that this machine uses, as apt itself understands its source
# lists (both formats). Third-party archives carry another origin.
debian_mirror() {
    # shellcheck disable=SC2016  # the $(...) are apt's
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
        'Label: Debian' 'Component: main' 2>/dev/null | head -n 1
}

# Debian packages of a newer suite, unpacked into a folder and not installed: apt gets a state of
# its own, so that nothing on the system changes; signatures are checked as ever.
unpack_boost() { # DIR MIRROR
    local dir=$1 mirror=$2 options deb
    mkdir -p "$dir"/lists/partial "$dir"/cache/archives/partial "$dir"/debs "$dir"/root
    printf 'deb [signed-by=%s] %s %s main\n' /usr/share/keyrings/debian-archive-keyring.gpg \
        "$mirror" "$boost_suite" >"$dir/sources.list"
    options=(-qq -o "Dir::Etc::sourcelist=$dir/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o "Dir::State::lists=$dir/lists" -o "Dir::Cache=$dir/cache" -o APT::Sandbox::User=root
        -o Acquire::Retries=3 -o Acquire::Languages=none)
    with_retries apt-get "${options[@]}" update >&2 || return 1
    (cd "$dir/debs" && with_retries apt-get "${options[@]}" download "${boost_packages[@]}" >&2) ||
        return 1
    for deb in "$dir"/debs/*.deb; do
        dpkg -x "$deb" "$dir/root" || return 1
    done
    rm -rf "$dir"/{lists,cache,debs,sources.list} "$dir/root/usr/share/doc"
    printf '%s\n' "${boost_packages[*]}" >"$dir/packages"
}

need_boost() {
    boost_is_there && return 0
    if ! is_debian; then
        say "note: Boost 1.88 or newer is needed; put its folder on CMAKE_PREFIX_PATH."
        return 0
    fi
    mkdir -p "$root/.deps"
    exec 9>"$root/.deps/lock"
    flock 9 # two calls at once: the second finds the work done
    if ! boost_is_there; then
        local mirror begin=$SECONDS
        mirror=$(debian_mirror)
        if [[ -z $mirror ]]; then # the lists were cleaned away, as container images do
            if ((EUID == 0)) || command -v sudo >/dev/null; then with_retries apt_update || true; fi
            mirror=$(debian_mirror)
        fi
        if [[ -z $mirror ]]; then
            say "run: Boost 1.88 or newer is needed, and apt's sources name no Debian archive."
            die "install Boost by other means and put its folder on CMAKE_PREFIX_PATH"
        fi
        [[ $mirror == https:* ]] && need ca-certificates
        step "Fetching Boost 1.88 into .deps (12 MB to load, 190 MB on disk; nothing is installed)"
        rm -rf "$root"/.deps/boost.new.*
        local fresh=$root/.deps/boost.new.$$
        unpack_boost "$fresh" "$mirror" || die "Boost could not be fetched; call ./run again"
        rm -rf "$boost_dir"
        mv "$fresh" "$boost_dir" # all or nothing: an interrupted run is repaired by the next
        say "    there in $((SECONDS - begin)) s"
    fi
    exec 9>&-
}
