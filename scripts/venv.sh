#!/bin/sh
# Makes the virtual environment .venv with scorehost in it (editable, with all that its checks need).
# PYTHON names the interpreter to use; without it the first of python3.14 … python3.11, python3 that is new enough.
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=scripts/say.sh
. scripts/say.sh

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

choose() {
    for python in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if new_enough "$python"; then
            printf '%s\n' "$python"
            return
        fi
    done
    return 1
}

python=$(choose) || {
    can_install && packages python3 python3-venv
    python=$(choose) || die "no Python 3.11 or later was found." \
        "Install one and name it: make setup PYTHON=/path/to/python3"
}

if ! .venv/bin/python -c '' >/dev/null 2>&1; then
    say "making .venv with $("$python" --version)"
    rm -rf .venv
    if ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
        can_install || die "$python has no venv module." "Install it (on Debian and Ubuntu: apt-get install python3-venv)."
        packages python3-venv
    fi
    "$python" -m venv .venv
fi

say "installing scorehost and its tools into .venv"
log=.venv/install.log
if ! .venv/bin/python -m pip install --disable-pip-version-check --quiet --editable '.[dev]' </dev/null >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    die "pip could not install scorehost; its whole output is in $log"
fi
touch .venv/.installed
