# shellcheck shell=sh
# Sourced by the other scripts: how they speak, and how they install Debian packages.

say() { printf '%s\n' "==> $*" >&2; }

die() {
    printf '%s\n' "scorehost: $1" >&2
    shift
    for line in "$@"; do printf '    %s\n' "$line" >&2; done
    exit 2
}

# Whether this is Debian, Ubuntu or a child of theirs, and we may install packages.
can_install() {
    [ "$(id -u)" -eq 0 ] && [ -r /etc/os-release ] && command -v apt-get >/dev/null 2>&1 || return 1
    grep -Eq '^ID(_LIKE)?="?([a-z ]* )?(debian|ubuntu)\b' /etc/os-release
}

# packages NAME…: by apt, with its output in a file that is shown only when it fails.
packages() {
    say "installing by apt: $*"
    log=$(mktemp)
    if ! { apt_get "$@" || { apt-get update && apt_get "$@"; }; } </dev/null >"$log" 2>&1; then
        tail -n 15 "$log" >&2
        rm -f "$log"
        die "apt could not install: $*" "Install them by hand, then run the same command again."
    fi
    rm -f "$log"
}

apt_get() { DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 install -y --no-install-recommends "$@"; }
