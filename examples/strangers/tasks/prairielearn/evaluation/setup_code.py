def cases():
    yield "short", 1, ([3.0, 6.0, 9.0], 3)
    yield "window of one", 1, ([1.0, 2.0], 1)
    yield "empty", 2, ([], 3)
