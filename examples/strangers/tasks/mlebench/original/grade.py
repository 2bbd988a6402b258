import pandas as pd
from sklearn.metrics import mean_squared_error

from mlebench.grade_helpers import InvalidSubmissionError


def grade(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    if "id" not in submission.columns or "price" not in submission.columns:
        raise InvalidSubmissionError("submission must have the columns id and price")
    if len(submission) != len(answers):
        raise InvalidSubmissionError("submission and answers must have as many rows")
    submission = submission.sort_values("id")
    answers = answers.sort_values("id")
    if (submission["id"].values != answers["id"].values).any():
        raise InvalidSubmissionError("submission and answers must have the same ids")
    return mean_squared_error(answers["price"], submission["price"], squared=False)
