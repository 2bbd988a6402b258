"""Score: the share of predictions within tolerance. PASS: that share is large enough. Metric: rmse in °C."""

import csv
import math
from pathlib import Path

from scorehost_sdk import evaluation_check
from shared import answers

HEADER = ["minute", "celsius"]


def evaluate(inputs):
    truth = read_table(Path(inputs["evaluation_dir"], "truth.csv").read_text("utf-8"))
    try:
        predictions = read_table(answers.read_text(inputs["artifacts"].get("predictions")))
        if [minute for minute, _ in predictions] != [minute for minute, _ in truth]:
            raise answers.MalformedError("the minutes are not those of data/asked.csv, in that order")
    except answers.MalformedError as problem:
        return answers.refused(problem)

    errors = [abs(mine - true) for (_, mine), (_, true) in zip(predictions, truth, strict=True)]
    parameters = inputs["parameters"]
    share = sum(error <= parameters["tolerance_celsius"] for error in errors) / len(errors)
    passed = share >= parameters["pass_share"]
    check = evaluation_check(
        "within-tolerance",
        title="Predictions within tolerance",
        status="PASS" if passed else "FAIL",
        message=f"{share:.0%} within {parameters['tolerance_celsius']} °C, wanted {parameters['pass_share']:.0%}",
        details={"errors_celsius": [round(error, 3) for error in errors]},
        score=share,
        max_score=1.0,
    )
    rmse = math.sqrt(sum(error**2 for error in errors) / len(errors))
    return {
        "status": "PASS" if passed else "FAIL",
        "score": share,
        "metrics": {"rmse": rmse},
        "checks": [check],
    }


def read_table(text):
    try:
        header, *rows = csv.reader(text.splitlines(), strict=True)
    except (csv.Error, ValueError):
        raise answers.MalformedError("the file is not CSV with a header") from None
    if header != HEADER or any(len(row) != len(HEADER) for row in rows):
        raise answers.MalformedError(f"the columns are not {','.join(HEADER)}")
    return [tuple(answers.number(cell, low=-1000, high=1000) for cell in row) for row in rows]
