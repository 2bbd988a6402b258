"""Makes artifacts/hours.json: reads the shifts, and has the solver add up what belongs to one name."""

import csv
import json


async def run(ctx):
    minutes = {}
    with (ctx.workspace / "shifts.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            minutes.setdefault(row["name"], []).append(int(row["minutes"]))

    hours = {}
    async with ctx.session("solver") as session:
        for name, values in minutes.items():
            asked = json.dumps({"do": "sum", "of": values})
            reply = await session.invoke(ctx.params["prompt"].format(name=name) + "\n" + asked)
            hours[name] = reply["answer"]

    target = ctx.artifacts / "hours.json"
    target.write_text(json.dumps(hours), encoding="utf-8")
    await ctx.publish("hours", target)
