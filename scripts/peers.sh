# shellcheck shell=bash
# SPDX-License-Identifier: BSL-1.0
# Lock libraries of other projects beside mortise: `./run bench --peers`.

# The tools of other languages are not installed here: a library without them is left out, and the
# report says what to install.
bench_peers() { # ARGS...
    need "${to_serve[@]}" python3=python3
    need_redis
    case " $* " in
    *' --help '* | *' -h '*) ;;
    *) build_release mortise_cli ;;
    esac
    cd "$caller"
    PYTHONDONTWRITEBYTECODE=1 exec python3 "$root/tools/peers/peers.py" "$@"
}
