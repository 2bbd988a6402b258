#!/bin/sh
# Makes the image scorehost/python:3: from environment/base/Dockerfile where a registry answers, else from Debian's
# packages by debootstrap (root on Debian or Ubuntu). Does nothing when the image is there. `--again` makes it anew.
# SCOREHOST_BASE=registry|debootstrap takes one of the two ways only.
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=scripts/say.sh
. scripts/say.sh
PATH=$PATH:/usr/sbin:/sbin
IMAGE=scorehost/python:3
FROM=$(sed -n 's/^FROM //p' environment/base/Dockerfile)
SUITE=bookworm
ANSWER_SECONDS=15
PULL_SECONDS=600

present() { docker image inspect "$1" </dev/null >/dev/null 2>&1; }

[ "${1:-}" != --again ] && present "$IMAGE" && exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# A registry that does not answer may hang for minutes: the first line about the image must come soon.
pull() {
    present "$FROM" && return
    say "asking the registry for $FROM"
    timeout "$PULL_SECONDS" docker pull "$FROM" </dev/null >"$work/pull" 2>&1 &
    puller=$!
    waited=0
    while kill -0 "$puller" 2>/dev/null; do
        if [ "$waited" -ge "$ANSWER_SECONDS" ] && ! grep -q 'Pulling from' "$work/pull"; then
            kill "$puller" 2>/dev/null || true
            echo "no answer in $ANSWER_SECONDS s" >>"$work/pull"
        fi
        sleep 1
        waited=$((waited + 1))
    done
    wait "$puller"
}

from_registry() {
    pull || return 1
    docker build --tag "$IMAGE" environment/base </dev/null >"$work/build" 2>&1 || {
        tail -n 15 "$work/build" >&2
        return 1
    }
}

# This machine's own mirror of the suite, where apt knows one; else debootstrap's default.
mirror() {
    # shellcheck disable=SC2016  # apt's placeholder, not the shell's
    apt-get indextargets --format '$(REPO_URI)' "Codename: $SUITE" 'Component: main' 'Origin: Debian' 2>/dev/null | head -n 1
}

from_packages() {
    command -v debootstrap >/dev/null 2>&1 || packages debootstrap
    keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    [ -r "$keyring" ] || packages debian-archive-keyring
    say "making $IMAGE from Debian packages by debootstrap (about a minute)"
    url=$(mirror)
    # shellcheck disable=SC2086  # no mirror known: no argument at all
    if ! debootstrap --variant=minbase --keyring="$keyring" --include=python3,python-is-python3,libnss-myhostname \
        "$SUITE" "$work/root" ${url:+"$url"} </dev/null >"$work/log" 2>&1; then
        tail -n 8 "$work/log" >&2
        die "debootstrap failed, so $IMAGE could not be made." "See that this machine reaches a Debian mirror, then run the same command again."
    fi
    tar -C "$work/root" --one-file-system --exclude='./dev/*' --exclude='./proc/*' --exclude='./sys/*' \
        --exclude='./var/cache/apt/*' --exclude='./var/lib/apt/lists/*' --exclude='./var/log/*' \
        --exclude='./usr/share/doc/*' --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*' -c . |
        docker import --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
            --change 'CMD ["python3"]' --change "LABEL org.opencontainers.image.title=$IMAGE" - "$IMAGE" >/dev/null
}

# An image that resolves localhost by itself says so: the engine then makes no network and no /etc/hosts for a host of
# it, which is half of a start (docs/adr/0014).
label() {
    if docker run --rm --network none "$IMAGE" getent -s hosts:myhostname hosts localhost </dev/null >/dev/null 2>&1; then
        # 127.0.0.1 before ::1, as the engine's own /etc/hosts has it.
        printf 'FROM %s\nRUN echo "precedence ::ffff:0:0/96 100" >/etc/gai.conf\nLABEL scorehost.names=own\n' "$IMAGE" |
            docker build --network none --tag "$IMAGE" - >/dev/null 2>"$work/label" || {
            tail -n 5 "$work/label" >&2
            return 1
        }
    fi
}

case "${SCOREHOST_BASE:-any}" in
registry) from_registry || { tail -n 3 "$work/pull" >&2; die "the registry did not give $FROM."; } ;;
debootstrap) from_packages ;;
*)
    if ! from_registry; then
        [ -s "$work/pull" ] && say "no: $(tail -n 1 "$work/pull")"
        can_install || die "$IMAGE is missing, and no registry gave $FROM to make it from." \
            "Either load it:     docker pull $FROM (or docker load), then run the same command again;" \
            "or on a Debian or Ubuntu machine, as root: make images, then docker save $IMAGE | docker -H THIS load"
        from_packages
    fi
    ;;
esac
label
say "$IMAGE is there: $(docker image inspect --format '{{.Id}}' "$IMAGE")"
