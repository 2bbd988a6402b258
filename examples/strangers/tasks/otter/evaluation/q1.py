test = {
    "name": "q1",
    "points": 2,
    "suites": [
        {
            "cases": [
                {"code": ">>> round(mean([1, 2, 6]), 6)\n3.0\n", "hidden": False},
                {"code": ">>> mean([])\nnan\n", "hidden": True},
            ],
            "type": "doctest",
        }
    ],
}
