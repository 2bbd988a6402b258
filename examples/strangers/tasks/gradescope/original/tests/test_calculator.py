import unittest

from calculator import evaluate


def points(weight, visibility="visible"):
    def mark(test):
        test.weight, test.visibility = weight, visibility
        return test

    return mark


class TestCalculator(unittest.TestCase):
    @points(1)
    def test_sum(self):
        self.assertEqual(evaluate("1 + 2"), 3)

    @points(2)
    def test_precedence(self):
        self.assertEqual(evaluate("1 + 2 * 3"), 7)

    @points(2, "hidden")
    def test_whitespace(self):
        self.assertEqual(evaluate(" 8*2 -1"), 15)
