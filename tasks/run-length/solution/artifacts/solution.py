from itertools import groupby


def encode(text):
    runs = ((character, len(list(run))) for character, run in groupby(text))
    return "".join(character if length == 1 else f"{length}{character}" for character, length in runs)
