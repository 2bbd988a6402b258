test = {
    "name": "q2",
    "points": 1,
    "suites": [{"cases": [{"code": ">>> spread\n[-1, 0, 1]\n", "hidden": True}], "type": "doctest"}],
}
