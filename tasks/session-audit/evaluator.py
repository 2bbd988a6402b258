"""Audit by a program, then verification by a judge who works in a second host; not started when the first fails."""

from scorehost_sdk import evaluation_check
from shared import answers


async def evaluate(inputs):
    books = inputs["artifacts"].get("session-output")
    if books is None:
        return answers.refused(answers.MalformedError("artifacts/session-output.json was not handed in"))
    scoring = inputs["scoring"]

    audit = await scoring.exec("audit", ["ledger-audit", books])
    checks = [stage_check("audit", "The books are sound in themselves", audit)]
    if not audit.ok:
        return {"status": "FAIL", "score": 0.0, "checks": checks}

    async with inputs["agent"].session("judge", environment="verification") as session:
        reply = await session.invoke(inputs["parameters"]["verify_prompt"])
    right = reply.flag("ok")  # an error when the judge said anything but true or false
    checks.append(
        evaluation_check(
            "verification",
            title="The books say what the vouchers say",
            status="PASS" if right else "FAIL",
            environment="verification",
            message=str(reply.get("reason", "")),
        )
    )
    return {"status": "PASS" if right else "FAIL", "score": 1.0 if right else 0.5, "checks": checks}


def stage_check(name, title, result):
    told = result.timed_out or result.oom_killed or result.host_lost
    if not told and result.exit_code not in (0, 1):
        raise RuntimeError(f"stage {name} did not run")  # the image is at fault, not the submission
    return evaluation_check(
        name,
        title=title,
        status="PASS" if result.ok else "FAIL",
        environment=name,
        exec_result=result,
        message="" if result.ok else result.stdout.strip()[:500] or "the stage was ended by a limit",
    )
