"""Objects of submitted code in its host: constructed, asked and called through what stands for them."""

import copy
import operator

import pytest

from scorehost_sdk import ArgumentError, SubmissionError, SubmissionFault, as_instance

STACK = """
class Empty(Exception): pass
class Stack:
    limit = 3
    def __init__(self, items=()): self.items = list(items); self.name = "s"
    def push(self, item, *, twice=False):
        self.items += [item] * (2 if twice else 1)
        return len(self.items)
    def pop(self):
        if not self.items: raise Empty("nothing left")
        return self.items.pop()
    def __len__(self): return len(self.items)
    def __bool__(self): return bool(self.items)
    def __str__(self): return "Stack(%s)" % self.items
    def __contains__(self, item): return item in self.items
    def __iter__(self): return iter(self.items)
    def __getitem__(self, n): return self.items[n]
    def __setitem__(self, n, v): self.items[n] = v
    def __delitem__(self, n): del self.items[n]
    def __eq__(self, other): return isinstance(other, Stack) and self.items == other.items
    def __lt__(self, other): return self.items < other.items
    def __add__(self, other): return Stack(self.items + other.items)
    def copy(self): return Stack(self.items)
    def first(self): return self.items[0] if self.items else None
    def extend(self, other): self.items += other.items; return self
    @property
    def top(self): return self.items[-1]
"""


@pytest.fixture
def stack(host):
    with host(STACK, "Stack", instances=True) as make:
        yield make


def test_a_class_is_constructed_and_its_methods_are_called(stack):
    one = stack([1])
    assert one.push(5) == 2
    assert one.push(6, twice=True) == 4
    assert (one.pop(), one.top, one.items, one.limit) == (6, 6, [1, 5, 6], 3)


def test_attributes_can_be_set_there(stack):
    one = stack()
    one.name = "renamed"
    assert one.name == "renamed"


def test_what_python_asks_of_an_object_is_asked_there(stack):
    one = stack([1, 2])
    assert (len(one), bool(one), str(one), 2 in one, 9 in one) == (2, True, "Stack([1, 2])", True, False)
    assert list(one) == [1, 2]
    one[0] = 7
    assert one[0] == 7
    del one[0]
    assert [*one] == [2]
    assert not stack()


def test_objects_of_the_submission_are_given_to_it_and_compared_there(stack):
    one, two = stack([1]), stack([2])
    assert one.first() == 1
    assert one != two
    assert one == stack([1])
    assert one < two
    both = as_instance(one.__add__, two)
    assert list(both) == [1, 2]
    assert as_instance(one.copy) == one
    assert list(as_instance(one.extend, two)) == [1, 2]
    assert as_instance(stack().first) is not None  # the result of a call is kept, whatever it is


def test_its_exceptions_are_told_and_the_object_lives_on(stack):
    one = stack()
    with pytest.raises(SubmissionError, match="Empty: nothing left"):
        one.pop()
    with pytest.raises(AttributeError, match="nosuch"):
        one.nosuch  # noqa: B018 - reading it is what is tried
    with pytest.raises(TypeError):
        one.push()
    assert one.push(1) == 1
    assert stack.fault is None


HOSTILE = """
class Everything:
    def __eq__(self, other): return True
    def __lt__(self, other): return True
    __gt__ = __le__ = __ge__ = __eq__
    __hash__ = None
    def __sub__(self, other): return 0.0
    __rsub__ = __add__ = __sub__
    def __len__(self): return 3
    def answer(self): return Everything()
    value = 5
"""


def test_an_object_that_equals_everything_equals_no_plain_value(host):
    with host(HOSTILE, "Everything", instances=True) as make:
        one = make()
        assert one != 5
        assert one != 5
        assert one not in [1, 2]
        for wrong in (operator.sub, operator.add, operator.lt, operator.ge):
            for pair in ((one, 5), (5, one)):
                with pytest.raises(TypeError):
                    wrong(*pair)
        with pytest.raises(TypeError):
            abs(one)
    with host(HOSTILE, "Everything", instances=True) as make, pytest.raises(SubmissionFault):
        assert make().answer() == 5  # the result of a method is plain data, or a fault


def test_a_function_gives_no_object_unless_the_test_asks_for_instances(host):
    with pytest.raises(SubmissionFault, match="not plain data; with instances=True a test can call"):
        host(STACK, "Stack")()


LIARS = {
    "a length that is text": ("_asked", "'three'", len),
    "a truth that is no boolean": ("_asked", "[1]", bool),
    "an attribute that is neither": ("_asked", "5", lambda one: one.x),
    "an attribute without a number": ("_asked", "('x',)", lambda one: one.x),
    "an object without a number": ("_keep", "-1", str),
}


@pytest.mark.parametrize("kind", LIARS)
def test_a_harness_that_was_turned_over_gives_a_fault(host, kind):
    method, forged, ask = LIARS[kind]
    source = f"""
import sys
def make():
    sys.modules["__main__"]._Service.{method} = lambda *rest: {forged}
    return sys
"""
    with host(source, "make", instances=True) as make, pytest.raises(SubmissionFault):
        ask(make())


def test_what_stands_for_an_object_is_of_use_in_its_own_process_only(host):
    with host(STACK, "Stack", instances=True) as make, host(STACK, "Stack", instances=True) as other:
        one = make()
        with pytest.raises(ArgumentError):
            other(one)
        with pytest.raises(AttributeError, match="_scorehost"):
            len(copy.copy(one))
        make.close()
        with pytest.raises(SubmissionFault, match="has ended"):
            one.push(1)


def test_an_instance_needs_a_process_that_lasts(host):
    with pytest.raises(ValueError, match="fresh"):
        host(STACK, "Stack", instances=True, fresh=True)


def test_an_attribute_that_is_an_object_can_be_kept_and_none_ends_the_way(host):
    source = "class Node:\n  def __init__(self, value, next=None): self.value, self.next = value, next\n"
    with host(source, "Node", instances=True) as make:
        node, seen = make(1, make(2, make(3))), []
        while node is not None:
            seen.append(node.value)
            node = as_instance(node.next)
    assert seen == [1, 2, 3]
