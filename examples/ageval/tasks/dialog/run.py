"""A conversation of two turns; a tool says what is in stock."""

from __future__ import annotations

from ageval_sdk import Agent, CallLimit, RunContext, RunTerminal, Tool, ToolSet
from lib.shop import stock
from shared.loop import asked


async def run(ctx: RunContext) -> RunTerminal:
    colour = ctx.params.get("wish.colour", "white")
    ctx.params = {**ctx.params.as_mapping(), "seen": True}
    profile_id = str(ctx.params["models"].get("default") or "solver")
    tools = ToolSet(call_limit=CallLimit(1), allowlist={"stock"})
    tools.add(Tool(name="stock", fn=lambda _args: stock()))
    found = await tools.call("stock", {})
    denied = await tools.call("stock", {})
    listing = (ctx.workspace_root / "shop.json").read_text(encoding="utf-8")
    agent = Agent(attempt_id=ctx.scope.attempt_id)
    async with agent.session(profile_id, max_turns=2) as session:
        prompts = ["You are the clerk.", f"colour:{colour} of {' '.join(found['result'])}", "once more"]
        replies = await asked(session, prompts)
        record = getattr(session, "record_observation", None)
        if callable(record):
            await record("call-1", content=listing, function_name="stock")
    if not replies[1].get("ok"):
        return RunTerminal.failed(replies[1].get("error") or "invoke_failed")
    if replies[2].get("ok") or denied["status"] != "denied":
        return RunTerminal.failed("a limit did not hold")
    ctx.publish_json("final-state", {"item": (replies[1].get("structured") or {}).get("item")})
    ctx.publish_json("trace", {"replies": [reply.get("text") for reply in replies]})
    return RunTerminal.completed("dialog")
