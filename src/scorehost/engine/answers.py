"""The engine's JSON answers as values of the door."""

from __future__ import annotations

import base64
import json
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from scorehost.engine.door import ContainerState, EngineInfo, Image, Listed, Place

if TYPE_CHECKING:
    from scorehost.engine.endpoint import Endpoint

# Fields of /info that are False where the kernel cannot enforce a limit, with the engine's own words for it.
UNENFORCED = {
    "MemoryLimit": "No memory limit support",
    "SwapLimit": "No swap limit support",
    "CpuCfsQuota": "No cpu cfs quota support",
    "PidsLimit": "No pids limit support",
}

_GO_FOLDER, _GO_LINK = 1 << 31, 1 << 27


def engine_info(info: Any, version: Any, endpoint: Endpoint) -> EngineInfo:
    """From /info and /version. Limits that are said to be missing only by a field become warnings too."""
    said = [str(warning) for warning in info.get("Warnings") or ()]
    for name, words in UNENFORCED.items():
        if info.get(name) is False and not any(words.lower() in warning.lower() for warning in said):
            said.append(f"WARNING: {words}")
    return EngineInfo(
        endpoint=endpoint.url,
        version=str(version.get("Version", "")),
        api_version=str(version.get("ApiVersion", "")),
        kernel=str(info.get("KernelVersion", "")),
        architecture=str(info.get("Architecture", "")),
        operating_system=str(info.get("OperatingSystem", "")),
        cpus=int(info.get("NCPU", 1)),
        memory_bytes=int(info.get("MemTotal", 0)),
        default_runtime=str(info.get("DefaultRuntime") or "runc"),
        runtimes=tuple(sorted(info.get("Runtimes") or ())),
        cgroup_version=str(info.get("CgroupVersion", "1")),
        warnings=tuple(said),
        security=tuple(_security(str(option)) for option in info.get("SecurityOptions") or ()),
    )


def _security(option: str) -> str:
    """The name in a row such as "name=seccomp,profile=default"; old engines write the name alone."""
    return option.partition(",")[0].removeprefix("name=")


def engine_seconds(info: Any) -> str:
    """The engine's own clock out of /info, as seconds.nanoseconds since the epoch."""
    text = str(info["SystemTime"])
    fraction = re.search(r"\.(\d{1,9})", text)
    whole = int(datetime.fromisoformat(text).timestamp())
    return f"{whole}.{fraction[1] if fraction else '':0<9}"


def image(answer: Any, reference: str) -> Image:
    """From /images/NAME/json."""
    config = answer.get("Config") or {}
    rows = (row.partition("=") for row in config.get("Env") or ())
    return Image(
        id=answer["Id"],
        reference=reference,
        repo_digests=tuple(answer.get("RepoDigests") or ()),
        architecture=str(answer.get("Architecture", "")),
        env={name: value for name, _, value in rows},
        volumes=tuple(sorted(config.get("Volumes") or ())),
        labels=dict(config.get("Labels") or {}),
        on_build=tuple(str(line) for line in config.get("OnBuild") or ()),
        operating_system=str(answer.get("Os") or "linux"),
    )


def place(header: str) -> Place | None:
    """From the header of /containers/ID/archive; its mode is Go's. None when there is no such header."""
    if not header:
        return None
    found = json.loads(base64.b64decode(header))
    mode = int(found["mode"])
    kind: Literal["folder", "file", "link"] = (
        "folder" if mode & _GO_FOLDER else "link" if mode & _GO_LINK else "file"
    )
    return Place(kind, mode & 0o777, str(found.get("linkTarget") or "") if kind == "link" else "")


def state(answer: Any) -> ContainerState:
    """From /containers/ID/json. The exit code is None until the main process has ended."""
    found = answer["State"]
    status = str(found["Status"])
    ended = status in {"exited", "dead", "removing"}
    return ContainerState(
        id=answer["Id"],
        status=status,
        running=bool(found["Running"]),
        exit_code=int(found["ExitCode"]) if ended else None,
        oom_killed=bool(found.get("OOMKilled")),
        error=str(found.get("Error") or ""),
    )


def listed_container(row: Any) -> Listed:
    """From a row of /containers/json."""
    names = row.get("Names") or [""]
    return Listed(
        id=row["Id"],
        name=names[0].removeprefix("/"),
        kind="container",
        labels=dict(row.get("Labels") or {}),
        created=float(row["Created"]),
        running=row.get("State") == "running",
    )


def listed_volume(row: Any) -> Listed:
    """From a row of /volumes."""
    created = row.get("CreatedAt")
    return Listed(
        id=row["Name"],
        name=row["Name"],
        kind="volume",
        labels=dict(row.get("Labels") or {}),
        created=datetime.fromisoformat(created).timestamp() if created else 0.0,
    )


def listed_images(row: Any) -> list[Listed]:
    """From a row of /images/json, one for each tag."""
    return [
        Listed(
            id=row["Id"],
            name=str(tag),
            kind="image",
            labels=dict(row.get("Labels") or {}),
            created=float(row["Created"]),
            size=int(row.get("Size") or 0),
        )
        for tag in row.get("RepoTags") or ()
        if tag != "<none>:<none>"
    ]
