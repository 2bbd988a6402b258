#!/bin/sh
# Sees that a Docker engine answers. Where none does: on Debian or Ubuntu as root, installs and starts one and
# says so; elsewhere says exactly what to do and ends with status 2.
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=scripts/say.sh
. scripts/say.sh
PATH=$PATH:/usr/sbin:/sbin
LOG=/var/log/scorehost-dockerd.log

answers() { timeout 20 docker version --format '{{.Server.Version}}' </dev/null >/dev/null 2>&1; }
why() { timeout 20 docker version --format '{{.Server.Version}}' </dev/null 2>&1 | tail -n 1; }

stop_elsewhere() {
    context=$(docker context show 2>/dev/null || echo default)
    if [ -n "${DOCKER_HOST:-}" ] || [ "$context" != default ]; then
        die "no Docker engine answers at ${DOCKER_HOST:-the docker context \"$context\"}: $(why)" \
            "Start it there; or use this machine's own: unset DOCKER_HOST; docker context use default"
    fi
}

if command -v docker >/dev/null 2>&1; then
    answers && exit 0
    case "$(why)" in
    *"permission denied"*)
        die "the Docker engine runs, but this user may not talk to it." \
            "As root: usermod -aG docker $(id -un)" "Then log in again, and run the same command."
        ;;
    esac
    stop_elsewhere
fi

if ! can_install; then
    if [ "$(uname -s)" = Darwin ]; then
        die "no Docker engine answers." "Start Docker Desktop (or colima start), wait until 'docker version' shows a server," \
            "then run the same command again."
    elif command -v dockerd >/dev/null 2>&1; then
        die "no Docker engine answers; it is installed but does not run." \
            "As root: systemctl start docker   (without systemd: dockerd &)" "Then run the same command again."
    fi
    die "no Docker engine answers, and this user or system is not one that this script may change." \
        "On Debian or Ubuntu, as root: apt-get install docker.io iptables && systemctl start docker" \
        "Elsewhere: install Docker Engine as its manual says for your system." "Then run the same command again."
fi

if ! command -v dockerd >/dev/null 2>&1 || ! command -v iptables >/dev/null 2>&1; then
    packages docker.io iptables ca-certificates
fi
# Newer Debian has the command in a package of its own.
command -v docker >/dev/null 2>&1 || packages docker-cli
if answers; then
    say "a Docker engine answers now"
    exit 0
fi
stop_elsewhere

if [ -d /run/systemd/system ]; then
    say "starting the Docker engine by systemctl (its log: journalctl -u docker)"
    systemctl start docker || true
else
    if ! grep -q ' /sys/fs/cgroup' /proc/mounts; then
        die "no control groups are mounted at /sys/fs/cgroup, so no engine can run here." \
            "As root: mount -t cgroup2 none /sys/fs/cgroup, or use a machine that has them."
    fi
    say "starting a Docker engine; its log: $LOG"
    setsid dockerd </dev/null >>"$LOG" 2>&1 &
fi

waited=0
until answers; do
    waited=$((waited + 1))
    if [ "$waited" -gt 60 ]; then
        [ -r "$LOG" ] && tail -n 8 "$LOG" >&2
        die "the Docker engine was started and does not answer after 60 s: $(why)" \
            "Read $LOG (with systemd: journalctl -u docker)."
    fi
    sleep 1
done
say "a Docker engine runs now (version $(docker version --format '{{.Server.Version}}')); it stays after this command"
