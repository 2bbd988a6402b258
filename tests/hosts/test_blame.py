"""The table of blame: each row's case, that every case has one, and what no row may say."""

from __future__ import annotations

import itertools

import pytest

from scorehost.model.blame import (
    TABLE,
    TOLD,
    Facts,
    Order,
    Peak,
    Place,
    Ran,
    Trouble,
    Verdict,
    blame,
    peak_of,
)
from scorehost.model.failure import KINDS, Blame, Phase, counts_as_lowest

MIB = 1 << 20
EVALUATOR, NAMED, RUN = Place.EVALUATOR, Place.NAMED, Place.RUN
NOTHING, TRUSTED, SUBMITTED = Ran.NOTHING, Ran.TRUSTED, Ran.SUBMITTED
AWAY = {"engine_answers": False}
OTHERS = {"order": Order.OTHERS}
FAR = {"peak": Peak.BELOW}
CASES = [
    # trouble, container, what ran there, further facts: kind, made again
    (Trouble.STUCK, NAMED, SUBMITTED, AWAY, "engine_lost", True),
    (Trouble.STUCK, EVALUATOR, SUBMITTED, AWAY, "engine_lost", True),
    (Trouble.ENDED, EVALUATOR, TRUSTED, OTHERS, "host_lost", True),
    (Trouble.ENDED, NAMED, SUBMITTED, OTHERS, "host_lost", True),
    (Trouble.TIME, NAMED, SUBMITTED, OTHERS, "host_lost", True),
    (Trouble.TIME, EVALUATOR, TRUSTED, OTHERS, "host_lost", True),
    (Trouble.ENDED, RUN, SUBMITTED, OTHERS, "host_lost", True),
    (Trouble.REMOVED, NAMED, SUBMITTED, {}, "host_lost", True),
    (Trouble.MEMORY, NAMED, SUBMITTED, FAR, "host_lost", True),
    (Trouble.MEMORY, EVALUATOR, TRUSTED, FAR, "host_lost", True),
    (Trouble.MEMORY, NAMED, SUBMITTED, {}, TOLD, False),
    (Trouble.MEMORY, NAMED, SUBMITTED, {"peak": Peak.REACHED}, TOLD, False),
    (Trouble.MEMORY, EVALUATOR, SUBMITTED, {}, "evaluator_oom", False),
    (Trouble.CUT, EVALUATOR, TRUSTED, {}, "engine_lost", True),
    (Trouble.CUT, EVALUATOR, SUBMITTED, {}, "engine_lost", False),
    (Trouble.STUCK, NAMED, NOTHING, {}, "engine_lost", True),
    (Trouble.STUCK, EVALUATOR, TRUSTED, {}, "engine_lost", True),
    (Trouble.STUCK, EVALUATOR, SUBMITTED, {}, "submission_fault", False),
    (Trouble.STUCK, RUN, SUBMITTED, {}, "submission_fault", False),
    (Trouble.STUCK, NAMED, SUBMITTED, {}, TOLD, False),
    (Trouble.NOT_STARTED, NAMED, NOTHING, {}, "start_failed", True),
    (Trouble.NOT_STARTED, NAMED, SUBMITTED, {}, "submission_fault", False),
    (Trouble.NOT_STARTED, EVALUATOR, SUBMITTED, {}, "submission_fault", False),
    (Trouble.NOT_STARTED, EVALUATOR, TRUSTED, {}, TOLD, False),
    (Trouble.PRINTED, EVALUATOR, TRUSTED, {}, "output_limit", False),
    (Trouble.PRINTED, EVALUATOR, NOTHING, {}, "image_unusable", False),
    (Trouble.PRINTED, NAMED, SUBMITTED, {}, TOLD, False),
    (Trouble.TIME, EVALUATOR, TRUSTED, {}, "evaluator_timeout", False),
    (Trouble.TIME, EVALUATOR, NOTHING, {}, "start_timeout", True),
    (Trouble.TIME, NAMED, SUBMITTED, {"order": Order.OURS}, TOLD, False),
    (Trouble.ENDED, EVALUATOR, NOTHING, {}, "image_unusable", False),
    (Trouble.ENDED, EVALUATOR, SUBMITTED, {}, "evaluator_exit", False),
    (Trouble.ENDED, NAMED, SUBMITTED, {}, TOLD, False),
    (Trouble.ENDED, RUN, SUBMITTED, {}, TOLD, False),
]
EVERY = [
    Facts(trouble, place, ran, order, answers, peak)
    for trouble, place, ran, order, answers, peak in itertools.product(
        Trouble, Place, Ran, Order, (True, False), Peak
    )
]


@pytest.mark.parametrize(("trouble", "place", "ran", "more", "kind", "retried"), CASES)
def test_trouble_of_a_container_is_blamed_as_the_table_says(trouble, place, ran, more, kind, retried):  # noqa: PLR0917
    assert blame(Facts(trouble, place, ran, **more)) == Verdict(kind, retried)


def test_every_row_of_the_table_decides_one_of_the_cases():
    cases = [Facts(trouble, place, ran, **more) for trouble, place, ran, more, _, _ in CASES]
    assert {next(row for row in TABLE if row.fits(facts)) for facts in cases} == set(TABLE)


def test_every_case_has_a_row():
    assert all(any(row.fits(facts) for row in TABLE) for facts in EVERY)


def test_what_is_made_again_is_of_a_kind_that_may_be():
    assert all(KINDS[row.verdict.kind].retryable for row in TABLE if row.verdict.retried)


def test_while_the_engine_answers_nothing_that_ran_in_a_container_can_take_its_trouble_out_of_the_mean():
    """Left out is what only others can bring about: an order, a removal, the machine's memory, a cut way."""
    own = [
        facts
        for facts in EVERY
        if facts.engine_answers
        and facts.ran is SUBMITTED
        and facts.order is not Order.OTHERS
        and facts.trouble not in {Trouble.REMOVED, Trouble.CUT}
        and not (facts.trouble is Trouble.MEMORY and facts.peak is Peak.BELOW)
    ]
    for facts in own:
        kind, retried = blame(facts)
        assert not retried, facts
        assert kind == TOLD or counts_as_lowest(KINDS[kind].blame, Phase.EVALUATE), facts


def test_an_order_of_somebody_else_is_never_the_submissions_or_the_datasets():
    ordered = [facts for facts in EVERY if facts.order is Order.OTHERS]
    blamed = {KINDS[blame(facts).kind].blame for facts in ordered}
    assert blamed == {Blame.ENVIRONMENT, Blame.ENGINE}
    assert all(blame(facts).retried for facts in ordered)


@pytest.mark.parametrize(
    ("peak", "limit", "said"),
    [
        (None, 64 * MIB, Peak.UNKNOWN),
        (0, 64 * MIB, Peak.UNKNOWN),
        (150 * MIB, 1024 * MIB, Peak.BELOW),
        (64 * MIB, 64 * MIB, Peak.REACHED),
        (58 * MIB, 64 * MIB, Peak.REACHED),
        (57 * MIB, 64 * MIB, Peak.BELOW),
    ],
)
def test_a_peak_is_well_below_its_limit_under_nine_tenths_of_it(peak, limit, said):
    assert peak_of(peak, limit) is said
