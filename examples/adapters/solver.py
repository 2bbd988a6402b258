#!/usr/bin/env python3
"""A solver without a model: it does the one thing that the prompt's first JSON line with `do` asks for.

    {"do": "sum", "of": [3, 4, 5]}
    {"do": "words", "of": "a text, or the name of a file", "file": true}

`do` is one of sum, min, max, mean, count, sort, unique, reverse, words (how often each word stands in a
text). With `"file": true`, `of` is a path that is read in the host that the session is tied to: JSON if it
is that, else text. The answer is {"answer": …}.
"""

from __future__ import annotations

import collections
import json
import re
import sys
import uuid
from collections.abc import Callable
from typing import Any

TASKS: dict[str, Callable[[Any], Any]] = {
    "sum": sum,
    "min": min,
    "max": max,
    "mean": lambda values: sum(values) / len(values),
    "count": len,
    "sort": sorted,
    "unique": lambda values: sorted(set(values)),
    "reverse": lambda values: values[::-1],
    "words": lambda text: dict(sorted(collections.Counter(re.findall(r"\w+", text.lower())).items())),
}


def wanted(prompt: str) -> dict[str, Any]:
    """The first line of the prompt that is a JSON object with `do`: what follows may be another's text."""
    for line in prompt.splitlines():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and value.get("do") in TASKS and "of" in value:
            return value
    raise SystemExit(f"no line asks for one of: {', '.join(TASKS)}")


def content(path: str) -> Any:
    """A file of the host, by one exec: a JSON line each way."""
    print(json.dumps({"exec": {"argv": ["cat", path]}}), flush=True)
    result = json.loads(sys.stdin.readline())["exec_result"]
    if result["exit_code"] != 0:
        raise SystemExit(f"the file cannot be read: {result['error'] or result['stderr']}")
    try:
        return json.loads(result["stdout"])
    except ValueError:
        return result["stdout"]


def main() -> None:
    """One call: a request on stdin, a reply on stdout."""
    request = json.loads(sys.stdin.readline())
    if request.get("mode") != "session":
        raise SystemExit("this solver plays session")
    task = wanted(request["prompt"])
    if task.get("file") and not request["tools"]:
        raise SystemExit("a file needs a session that is tied to a host")
    material = content(task["of"]) if task.get("file") else task["of"]
    reply = {
        "request_id": str(uuid.uuid4()),
        "provider": "solver",
        "cache_hit": False,
        "token_usage": {"input_tokens": 0, "output_tokens": 0},  # no model was asked
        "output": {"answer": TASKS[task["do"]](material)},
    }
    print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
