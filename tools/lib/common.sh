# Shared by the tools; source it. Sets repository, cache and the helpers below.
set -euo pipefail
repository="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
export HOME="${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}" # Go and ccache keep their caches there
export GPUCTL_CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/gpuctl"
cache="$GPUCTL_CACHE"
mkdir -p "$cache"
jobs="$(nproc)"

say() { printf '%s\n' "$*"; }
step() { printf '\n== %s\n' "$*"; }
fail() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# stop_left_over PID-FILE: ends the gpuctld that the file names. The pid may belong to another program by now (a
# reboot, a long day): that one is left alone. A program rebuilt since shows as "... (deleted)".
stop_left_over() {
    local pid program
    [[ -f "$1" ]] || return 0
    pid="$(cat "$1")"
    [[ "$pid" =~ ^[0-9]+$ ]] || return 0
    program="$(readlink "/proc/$pid/exe" 2>/dev/null || true)"
    [[ "${program% (deleted)}" == */gpuctld ]] || return 0
    say "stopping the daemon an earlier quickstart left running (pid $pid)"
    kill "$pid" 2>/dev/null || return 0
    for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
}

# Debian's Go is too old for Kubernetes 1.36; anything from here on will do.
go_minor_min=26
suitable_go() {
    local candidate version
    for candidate in "${GPUCTL_GO:-}" "$(command -v go || true)" /usr/local/go/bin/go "$cache/go/bin/go"; do
        [[ -n "$candidate" && -x "$candidate" ]] || continue
        version="$(GOTOOLCHAIN=local "$candidate" env GOVERSION 2>/dev/null || true)"
        if [[ "$version" =~ ^go1\.([0-9]+) ]] && ((BASH_REMATCH[1] >= go_minor_min)); then
            printf '%s\n' "$candidate"
            return 0
        fi
    done
    return 1
}

# install_clang PROGRAM...: through apt, those that are missing (clang++-19 is in the package clang-19).
install_clang() {
    local program packages=() as_root=()
    for program in "$@"; do command -v "$program" >/dev/null || packages+=("${program/++/}"); done
    ((${#packages[@]})) || return 0
    ((EUID == 0)) || as_root=(sudo)
    say "installing ${packages[*]} through apt"
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}"
}

# build PRESET TARGET...: configures once, then builds into build/PRESET.
build() {
    local preset="$1"
    shift
    local folder="$repository/build/$preset"
    if [[ ! -f "$folder/build.ninja" ]]; then
        (cd "$repository" && cmake --preset "$preset" -Wno-dev >"$cache/configure-$preset.log" 2>&1) ||
            { tail -40 "$cache/configure-$preset.log"; fail "configuring $preset failed"; }
    fi
    ninja -C "$folder" -j "$jobs" "$@"
}
