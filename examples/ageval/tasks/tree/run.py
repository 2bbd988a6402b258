"""Writes the program where it lies."""

from __future__ import annotations

from ageval_sdk import RunContext, RunTerminal


async def run(ctx: RunContext) -> RunTerminal:
    greeting = ctx.params.require_str("greeting")
    (ctx.workspace_root / "repo" / "main.py").write_text(f"print({greeting!r})\n", encoding="utf-8")
    (ctx.workspace_root / "repo" / "noise.log").write_text("left out\n", encoding="utf-8")
    return RunTerminal.completed("tree")
