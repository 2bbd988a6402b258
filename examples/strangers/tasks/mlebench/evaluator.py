"""Root mean squared error against the private answers."""

import csv
import math
from pathlib import Path

from scorehost_sdk import SubmissionFault

ANSWERS = Path(__file__).parent / "evaluation" / "test.csv"
WORST = 1000


def prices(path):
    with open(path, newline="", encoding="utf-8") as file:
        return {int(row["id"]): float(row["price"]) for row in csv.DictReader(file)}


def evaluate(inputs):
    answers = prices(ANSWERS)
    try:
        told = prices(inputs["artifacts"]["submission"])
        if told.keys() != answers.keys() or not all(map(math.isfinite, told.values())):
            raise ValueError("other ids than the answers, or no numbers")
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise SubmissionFault(f"invalid submission: {type(error).__name__}") from None
    return {"score": min(WORST, math.sqrt(sum((told[id] - answers[id]) ** 2 for id in answers) / len(answers)))}
