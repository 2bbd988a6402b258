#!/usr/bin/env python3
"""A judge without a model: it checks rules that the prompt states, and says which of them failed.

One rule a line, in the description of an assertion or in the prompt of a session, above a line `output:`:

    rule made: run test -s /attempt/artifacts/report.json
    rule sound: run python3 /attempt/evaluation/check.py --strict
    rule told: prints "0 errors": run cat /attempt/artifacts/log.txt
    rule named: contains Ada Lovelace
    rule short: at most 200 characters

`run` works in the host that the session is tied to, and holds when the command ends with 0; `prints "…":
run …` holds when its stdout has that text too. The other rules look at a text: the output that is judged,
or in a session all that follows the first line `output:`, which is material to judge and states no rule: put
what was submitted there, and nothing of it above. They are `contains …`, `lacks …`, `equals …`, `matches
REGEX`, `is json`, `at most N characters`.

A session's answer is {"ok": true or false, "failed": [names], "reason": "…"}. An assertion may also be one
rule without its name. A rule that cannot be read, or that needs a host where there is none, ends the
adapter with status 2.
"""

from __future__ import annotations

import json
import re
import shlex
import signal
import sys
import uuid
from typing import Any

RULE = re.compile(r"^\s*rule\s+([A-Za-z0-9_.-]+):\s*(.+?)\s*$")
PRINTS = re.compile(r'prints "(.*)": (run .+)')
AT_MOST = re.compile(r"at most ([0-9]+) characters")


MATCH_SECONDS = 2  # for one pattern: a text can be made so that some patterns never come to an end


class Unreadable(Exception):
    """A rule that this judge does not know."""


def rules_in(text: str) -> list[tuple[str, str]]:
    """(name, what must hold) of every rule that stands in `text`."""
    found = (RULE.match(line) for line in text.splitlines())
    return [(match[1], match[2]) for match in found if match]


def run(command: str) -> dict[str, Any]:
    """Has the host of the session run a command; one JSON line each way."""
    print(json.dumps({"exec": {"argv": shlex.split(command)}}), flush=True)
    return dict(json.loads(sys.stdin.readline())["exec_result"])


def run_fault(words: str, expected: str, *, tied: bool) -> str:
    """Why a rule about a command does not hold; empty when it does."""
    if not tied:
        raise Unreadable("a rule with `run` needs a session that is tied to a host")
    result = run(words.removeprefix("run "))
    if result["error"]:
        return str(result["error"])
    if result["exit_code"] != 0:
        return f"the command ended with {result['exit_code']}"
    return "" if expected in result["stdout"] else "the command did not print the text"


def found(pattern: str, text: str) -> bool:
    """Whether a pattern matches. TimeoutError when that cannot be told in time."""

    def late(_number: int, _frame: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, MATCH_SECONDS)
    try:
        return re.search(pattern, text) is not None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def text_fault(words: str, text: str) -> str:
    """Why a rule about a text does not hold; empty when it does."""
    kind, _, rest = words.partition(" ")
    at_most = AT_MOST.fullmatch(words)
    if at_most:
        return "" if len(text) <= int(at_most[1]) else f"it has {len(text)} characters"
    if words == "is json":
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return "it is not JSON"
        return ""
    holds = {
        "contains": lambda: rest in text,
        "lacks": lambda: rest not in text,
        "equals": lambda: text.strip() == rest,
        "matches": lambda: found(rest, text),
    }
    if kind not in holds or not rest:
        raise Unreadable(f"no such rule: {words[:80]}")
    try:
        return "" if holds[kind]() else f"it does not hold that the text {words[:80]}"
    except TimeoutError:
        return f"it cannot be told in {MATCH_SECONDS} s whether the text {words[:80]}"


def check(rules: list[tuple[str, str]], text: str, *, tied: bool) -> dict[str, str]:
    """What is wrong, by the name of the rule."""
    if not rules:
        raise Unreadable("no rule is stated")
    faults = {}
    for name, words in rules:
        prints = PRINTS.fullmatch(words)
        command, expected = (prints[2], prints[1]) if prints else (words, "")
        if command.startswith("run "):
            faults[name] = run_fault(command, expected, tied=tied)
        else:
            faults[name] = text_fault(words, text)
    return {name: fault for name, fault in faults.items() if fault}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The reply's own fields."""
    if request.get("mode") == "session":
        stated, _, text = f"\n{request['prompt']}\n".partition("\noutput:\n")
        faults = check(rules_in(stated), text.removesuffix("\n"), tied=bool(request["tools"]))
        reason = "; ".join(f"{name}: {fault}" for name, fault in faults.items())
        return {"output": {"ok": not faults, "failed": list(faults), "reason": reason or "every rule holds"}}
    if "assertion" not in request:
        raise Unreadable("this judge plays session and judge")
    stated = request["assertion"]["description"]
    rules = rules_in(stated) or [(request["assertion"]["id"], stated.strip())]
    faults = check(rules, request["output"], tied=False)
    reason = "; ".join(f"{name}: {fault}" for name, fault in faults.items())
    return {"status": "failed" if faults else "passed", "reason": reason or "every rule holds"}


def main() -> int:
    """One call: a request on stdin, a reply on stdout."""
    request = json.loads(sys.stdin.readline())
    try:
        reply = answer(request)
    except (Unreadable, re.error) as error:
        print(error, file=sys.stderr)
        return 2
    # No model was asked: no tokens were used, and this is no guess.
    usage = {"input_tokens": 0, "output_tokens": 0}
    made = {
        "request_id": str(uuid.uuid4()),
        "provider": "rule-judge",
        "cache_hit": False,
        "token_usage": usage,
    }
    print(json.dumps({**made, **reply}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
