"""The fixed numbers of docs/limits.md, taken from the sources; `make schema` writes them there.

A constant is a limit when it is public, stands at the top of a module and is called like one. Its reason is the
comment in its line, else what `WHY` says.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "limits.md"
BEGIN, END = "<!-- fixed numbers: make schema -->", "<!-- end of fixed numbers -->"
NAMED = re.compile(
    r"(SECONDS|BYTES|FILES|ENTRIES|NODES|LEVELS|ROWS|LINES|EXECS|TRIES|DEPTH|CHARACTERS|BITS|LOSSES|VALUES|COPIES"
    r"|REPLACEMENTS|SESSIONS|SAMPLES|ATTEMPTS|INODES|TRANSFERS|ARGUMENTS)$|^(MAX_|MOST$|INODES_PER)"
)
# How much is taken at a time, sizes of what has one size, and numbers that bound nothing.
NO_LIMITS = frozenset(
    {
        "BATCH_BYTES",
        "BYTES_PER_TOKEN",
        "CHUNK_BYTES",
        "HEADER_BYTES",
        "ID_BYTES",
        "KEY_BYTES",
        "PIECE_BYTES",
        "READ_BYTES",
        "SALT_BYTES",
        "SHIFT_SECONDS",
        "TRUSTED_BYTES",
    }
)
# The command line shows less than there is, and says so; engines in memory and the kernel's tables bound nobody.
LEFT_OUT = ("cli/", "engine/memory", "engine/seccomp")
SIZES = frozenset(
    {"ARGUMENTS", "MAX_ARGV_ENV", "MAX_FILE", "MAX_FRAME", "MAX_LINE", "MAX_PART", "MAX_STDIN", "MAX_TEXT"}
)
GROUPS = {
    "What is handed in": ("submissions/", "importers/"),
    "What an evaluator returns and asks": (
        "attempt/agents",
        "attempt/binding",
        "hosts/held",
        "hosts/messages",
        "hosts/named",
        "hosts/processes",
        "hosts/requests",
        "hosts/sessions",
        "hosts/transfers",
        "model/check",
        "scorehost_sdk/",
    ),
    "Hosts": ("attempt/", "engine/container", "hosts/", "model/limits"),
    "Agents": ("adapters/", "calls/"),
    "Files that are read": ("model/", "runs/", "scoring/", "spec/"),
    "The engine": ("engine/",),
    "Jobs": ("",),
}
WHY = {
    ("adapters/http_client.py", "CLOSE_SECONDS"): "for a connection to close",
    ("adapters/replies.py", "REPLY_BYTES"): "of one reply of an adapter or endpoint: it is parsed whole",
    (
        "scorehost_sdk/verdict.py",
        "METRICS_BYTES",
    ): "of `metrics`: they stand in result.json, which every reader loads",
    ("scorehost_sdk/verdict.py", "METRICS_DEPTH"): "levels of `metrics`",
    ("attempt/resources.py", "CLEANUP_SECONDS"): "for what a job holds on the engine to go at its end",
    ("audit/subject.py", "MAX_FILES"): "of a solution; one with more is not mutated",
    ("api/watching.py", "POLL_SECONDS"): "between two looks at the files of a watched task",
    ("api/watching.py", "MOST"): "files that `--watch` looks at",
    ("engine/calls.py", "CONNECT_SECONDS"): "to the engine",
    ("engine/calls.py", "REMOVE_SECONDS"): "for one object to go",
    (
        "engine/container_config.py",
        "OPEN_FILES",
    ): "descriptors of one process in a host: each is kernel memory that `memory_mb` does not count",
    ("engine/docker_engine.py", "CREATE_SECONDS"): "for the engine to make a container",
    ("engine/docker_engine.py", "ANSWER_BYTES"): "of a short answer of the engine",
    ("engine/docker_events.py", "LINE_BYTES"): "of one event of the engine",
    ("engine/docker_images.py", "LAST_LINES"): "of a failed build that a message quotes",
    ("engine/docker_images.py", "LINE_CHARACTERS"): "of each of them",
    ("engine/endpoint.py", "CONFIG_BYTES"): "of a docker context or config file",
    ("engine/linger.py", "UNDO_SECONDS"): "to take back what a cancelled request made",
    ("engine/opening.py", "PROBE_SECONDS"): "for the first answers of an engine",
    ("engine/opening.py", "PROBE_BYTES"): "of them",
    ("engine/wire.py", "CONNECT_SECONDS"): "to the engine",
    ("engine/wire.py", "HEAD_BYTES"): "of the head of a response",
    ("engine/wire.py", "ERROR_BODY_BYTES"): "of an error that the engine answers",
    ("hosts/exec_ends.py", "BRIEF_SECONDS"): "between the first questions whether a program has ended",
    ("hosts/exec_ends.py", "PROMPT_SECONDS"): "within which an engine that is well answers that",
    (
        "hosts/exec_ends.py",
        "TOLERANCE_SECONDS",
    ): "that a program may be told late to have ended without counting as timed out",
    ("hosts/feed.py", "MAX_BYTES"): "of cargo that goes over the channel; more is uploaded",
    ("hosts/host.py", "CLEANUP_SECONDS"): "for one host to be removed",
    ("hosts/host.py", "UPLOAD_SECONDS"): "for one upload: a submission may have 4 GiB",
    ("hosts/images.py", "PULL_SECONDS"): "for one image to be pulled",
    ("hosts/leaving.py", "REMOVE_SECONDS"): "for a host that has served to go",
    ("hosts/messages.py", "MAX_FRAME"): "of one frame of the channel",
    ("hosts/messages.py", "MAX_EXECS"): "uses of hosts by one evaluation: each costs the engine an exec",
    ("hosts/messages.py", "MAX_OPEN"): "processes that an evaluator keeps open at a time",
    ("hosts/messages.py", "MAX_ARGV_ENV"): "of `argv` and `env` of one exec together",
    ("hosts/messages.py", "MAX_STDIN"): "of `stdin` of one exec",
    ("hosts/messages.py", "MAX_LOG_LINES"): "that `scoring.log` writes into the journal",
    ("hosts/messages.py", "MAX_PART"): "of a part of a file or of stdin",
    (
        "hosts/named.py",
        "REPLACEMENTS",
    ): "of a named host that ended, in one attempt; `fresh` and `reset` do not count",
    ("hosts/processes.py", "UNSENT_BYTES"): "of input that a process has not read yet",
    ("hosts/requests.py", "KILL_TRIES"): "to end a process that is closed",
    ("hosts/requests.py", "KILL_SECONDS"): "for each of them",
    ("hosts/usage.py", "READ_SECONDS"): "for the engine to say what a host used",
    ("hosts/warm.py", "FRESH_SECONDS"): "that a host that was made ahead may wait",
    ("hosts/warm.py", "CLOSE_SECONDS"): "for hosts made ahead to go",
    ("importers/humaneval.py", "MAX_TEXT"): "characters of a prompt, a solution or a test",
    ("importers/humaneval.py", "MAX_ROWS"): "problems of a file",
    ("importers/humaneval.py", "CALL_SECONDS"): "for one call of a solution in a task that is written",
    ("importers/humaneval.py", "TOTAL_SECONDS"): "for all calls of a problem",
    ("jobs/gate.py", "PING_SECONDS"): "for an engine that is doubted to answer",
    ("jobs/plan.py", "MAX_ATTEMPTS"): "of one job: the plan is in memory",
    ("scorehost_sdk/verdict.py", "MAX_ROWS"): "rows of `checks`",
    ("model/check.py", "MAX_BYTES"): "of `checks` as JSON",
    ("runs/claim.py", "CLAIM_BYTES"): "of a `.claim` file",
    ("runs/folder.py", "RESERVE_BYTES"): "kept free for the end of a job",
    ("runs/index.py", "HEAD_BYTES"): "of the head of an index",
    ("runs/index.py", "INDEX_BYTES"): "of an index: one is made anew from the attempts when it is larger",
    ("runs/packed.py", "HEAD_BYTES"): "of the head of a packed attempt",
    ("spec/problems.py", "MAX_PER_FILE"): "problems of one file that are told",
    ("spec/scalars.py", "MAX_DIGITS"): "of a number in YAML",
    ("spec/yaml_reader.py", "MAX_BYTES"): "of one YAML file",
    ("spec/yaml_reader.py", "MAX_DEPTH"): "levels of it",
    (
        "spec/yaml_reader.py",
        "MAX_NODES",
    ): "values of it: anchors and aliases, which multiply, are refused as well",
    ("submissions/archives.py", "MAX_FILES"): "of an archive",
    ("submissions/archives.py", "MAX_BYTES"): "that an archive unpacks to",
    ("submissions/archives.py", "MAX_NAME_BYTES"): "of one name in it",
    ("submissions/cards.py", "MAX_CARD_BYTES"): "of submission.yaml",
    ("submissions/finding.py", "MAX_NAME"): "characters of a submission's name",
    ("submissions/intake.py", "MAX_FILES"): "of one hand-in",
    ("submissions/intake.py", "MAX_BYTES"): "of one hand-in, whatever `max_bytes` says",
    ("submissions/layout.py", "MAX_SAMPLES"): "of a submission for one task",
    ("scorehost_sdk/wire.py", "MAX_BYTES"): "of one reply of submitted code through `untrusted`",
    ("scorehost_sdk/wire.py", "MAX_NODES"): "values in it, so that it is checked in under 0.2 s",
    ("scorehost_sdk/wire.py", "MAX_LEVELS"): "levels of it",
    (
        "scorehost_sdk/wire.py",
        "MAX_INT_BITS",
    ): "of a whole number: larger ones take long to print and to compare",
    ("scorehost_sdk/wire.py", "MAX_ENTRIES"): "of one container",
    (
        "scorehost_sdk/wire.py",
        "MAX_SAME_HASH",
    ): "values of one container with one hash: more would make a dict slow",
    ("scorehost_sdk/wire.py", "MAX_TEXT"): "of the text of an exception",
    (
        "scorehost_sdk/keeper.py",
        "LINGER_SECONDS",
    ): "that the keeper stays once its controller is gone, so that a cut is seen as one",
    ("scorehost_sdk/processes.py", "MAX_LINE"): "that `read_line` takes",
    ("scorehost_sdk/requests.py", "MAX_STDIN"): "of `stdin` of one exec, as the controller takes it",
    ("scorehost_sdk/requests.py", "MAX_ARGV_ENV"): "of `argv` and `env`, as the controller takes them",
}


class Limit(NamedTuple):
    """One constant: the module below src/scorehost (or the SDK's package), its name, number and reason."""

    module: str
    name: str
    number: float
    why: str


def limits() -> list[Limit]:
    """Every limit of the sources, in their order; `why` is empty where nobody says it."""
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        module = str(path.relative_to(ROOT / "src")).removeprefix("scorehost/")
        if not module.startswith(LEFT_OUT):
            found += _in(module, path.read_text(encoding="utf-8"))
    return found


def _in(module: str, source: str) -> list[Limit]:
    lines = source.splitlines()
    found = []
    for node in ast.parse(source).body:
        for name, value in _assigned(node):
            number = _number(value)
            if number is None or not name.isupper() or name[0] == "_" or name in NO_LIMITS:
                continue
            if NAMED.search(name):
                comment = lines[node.lineno - 1].partition("#")[2].strip()
                found.append(Limit(module, name, number, comment or WHY.get((module, name), "")))
    return found


def _assigned(node: ast.stmt) -> list[tuple[str, ast.expr]]:
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        return [(node.target.id, node.value)]
    if not isinstance(node, ast.Assign):
        return []
    (target, *_) = node.targets
    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
        pairs = zip(target.elts, node.value.elts, strict=True)
        return [(name.id, value) for name, value in pairs if isinstance(name, ast.Name)]
    return [(target.id, node.value)] if isinstance(target, ast.Name) else []


def _number(node: ast.expr) -> float | None:
    """What products, sums and shifts of numbers (and MIB) come to; None for anything else."""
    if isinstance(node, ast.Constant):
        return (
            node.value if isinstance(node.value, (int, float)) and not isinstance(node.value, bool) else None
        )
    if isinstance(node, ast.Name):
        return 1 << 20 if node.id == "MIB" else None
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _number(node.left), _number(node.right)
    if left is None or right is None:
        return None
    if isinstance(node.op, ast.Mult):
        return left * right
    if isinstance(node.op, ast.LShift):
        return int(left) << int(right)
    if isinstance(node.op, ast.Pow):
        return float(left**right)
    return left + right if isinstance(node.op, ast.Add) else None


def shown(limit: Limit) -> str:
    """The number with its unit."""
    if limit.name.endswith("SECONDS"):
        return f"{limit.number:g} s"
    number = int(limit.number)
    if "BYTES" in limit.name or limit.name in SIZES:
        for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
            if number >= size and number % size == 0:
                return f"{number // size:,} {unit}"
        return f"{number:,} bytes"
    return f"{number:,}"


def tables() -> str:
    """The section of the page."""
    rows: dict[str, list[str]] = {title: [] for title in GROUPS}
    for one in limits():
        title = next(title for title, starts in GROUPS.items() if one.module.startswith(starts))
        rows[title].append(f"| `{one.module}` `{one.name}` | {shown(one)} | {one.why} |")
    parts = [
        "\n".join([f"### {title}", "", "| constant | number | why |", "|---|---|---|", *lines])
        for title, lines in rows.items()
        if lines
    ]
    return "\n\n".join(parts)


def page(text: str) -> str:
    """The page with its section as the sources have it."""
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}"


if __name__ == "__main__":
    silent = [f"{one.module} {one.name}" for one in limits() if not one.why]
    if silent:
        sys.exit("say why in a comment in its line: " + ", ".join(silent))
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
