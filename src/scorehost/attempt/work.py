"""What an attempt at a submission is made from."""

from __future__ import annotations

from dataclasses import dataclass

from scorehost.model.order import Order
from scorehost.spec.dataset import Task
from scorehost.submissions.sample import Sample


@dataclass(frozen=True, slots=True)
class Work:
    """A sample of a submission, and the task that it is scored on.

    `shared_host`: in the container of its run phase, which is not isolated.
    """

    task: Task
    sample: Sample
    shared_host: bool = False


WorkOrder = Order[Work]
