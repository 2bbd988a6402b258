"""One attempt: prepare, start, upload, evaluate, collect, clean up; its folder appears whole."""

from __future__ import annotations

import threading
import traceback
from contextlib import AsyncExitStack
from pathlib import Path

from scorehost.aio.threads import in_thread
from scorehost.attempt.agents import AttemptAgents
from scorehost.attempt.archived import link_submission
from scorehost.attempt.binding import Verdict, bind, bind_told
from scorehost.attempt.blueprints import (
    evaluator_blueprint,
    memory_needed,
    named_blueprints,
    run_blueprint,
)
from scorehost.attempt.digests import scoring_digests
from scorehost.attempt.inputs import evaluator_inputs
from scorehost.attempt.layout import laid_out
from scorehost.attempt.progress import Emit, Progress
from scorehost.attempt.resources import Resources
from scorehost.attempt.run_phase import carry_out
from scorehost.attempt.work import WorkOrder
from scorehost.errors import (
    AttemptFailed,
    DiskTrouble,
    EngineError,
    EngineRefused,
    EngineTimeout,
    EngineUnreachable,
)
from scorehost.hosts.cargo import Cargo
from scorehost.hosts.evaluation import Evaluation, evaluate
from scorehost.hosts.exec_ends import FAULTY
from scorehost.hosts.host import Site
from scorehost.hosts.kept import KeptHosts
from scorehost.hosts.shared import taken_over
from scorehost.hosts.working import works
from scorehost.model.blame import Facts, Place, Ran, Trouble, blame
from scorehost.model.check import CheckRow
from scorehost.model.exec_result import ExecResult
from scorehost.model.failure import Failure, Phase, failure, is_agents
from scorehost.model.ids import utc_now
from scorehost.model.result import Digests, Result, Status, axes
from scorehost.runs.drafting import Drafting, drafting
from scorehost.runs.private import result_salt
from scorehost.submissions.intake import Taken, take_in
from scorehost.submissions.sample import Sample

SHARED = (
    "not isolated: run phase and scoring shared one container (evaluate_host.isolated: false), so what run.py"
    " did there could have reached gold and verdict"
)


async def score(resources: Resources, order: WorkOrder, folder: Path, emit: Emit) -> Result:
    """Scores one attempt and publishes its folder at `folder`.

    Every failure of the attempt is a Result of status ERROR. Raises only DiskTrouble, and cancellation; then
    there is no folder, and nothing of the attempt is left on the engine. Where hosts are kept, those
    of the attempt stay, and `emit` is told how to enter them.
    """
    if resources.keep is None:
        try:
            return await _scored(resources, order, folder, emit, None)
        except BaseException:  # there was a verdict, say, and no room for it: its host may still be leaving
            await resources.leaving.gone()
            raise
    shelter = KeptHosts(resources.dataset.profiles.engine.host)
    try:
        result = await _scored(resources, order, folder, emit, shelter)
        if resources.keep == "always" or result.status == "ERROR":
            for line in await shelter.commands():
                emit("warning", {"text": f"kept {line}"})
            shelter.hosts.clear()
        return result
    finally:
        for name in await shelter.remove():
            emit(
                "warning", {"text": f"{name} was not removed; run `scorehost clean --job {resources.job_id}`"}
            )


async def _scored(
    resources: Resources, order: WorkOrder, folder: Path, emit: Emit, shelter: KeptHosts | None
) -> Result:
    progress = Progress(order, emit, shelter)
    async with drafting(resources.writer, folder, resources.masker) as draft:
        if resources.agents is not None and order.work.task.spec.agent_profiles:
            progress.agents = AttemptAgents(
                resources.agents, order.work.task.spec, draft, emit, submission=order.key.submission
            )
        verdict: Verdict | None = None
        error: Failure | None = None
        try:
            # Waiting for memory is on no clock: no phase has begun.
            needed = memory_needed(order.work.task, resources.dataset.profiles)
            async with resources.pool.reserved(needed), AsyncExitStack() as progress.run.keep:
                with resources.attempting():
                    verdict = await _verdict(resources, progress, draft)
        except AttemptFailed as failed:
            error = failed.failure
        except EngineUnreachable as lost:
            error = failure(progress.phase, "engine_lost", lost.message, hint=lost.hint)
        except DiskTrouble:
            raise
        except (EngineRefused, EngineTimeout) as trouble:
            if isinstance(trouble, EngineRefused) and trouble.status < FAULTY:
                error = _internal(resources, progress, draft, trouble)
            else:
                error = await _engines(resources, progress, trouble)
        except Exception as defect:  # noqa: BLE001 - whatever it is, it is ours and must not be lost
            error = _internal(resources, progress, draft, defect)
        if progress.agents is not None:
            progress.agents.close()
            if error is None or not is_agents(error.kind):
                progress.warnings += progress.agents.warnings
        checks = verdict.checks if verdict is not None else _told(progress)
        return await draft.publish(lambda: (_result(resources, progress, verdict, error), checks))


def _told(progress: Progress) -> tuple[CheckRow, ...]:
    """The checks of an evaluation without a verdict: what it had told by then."""
    checks = bind_told(progress.told, task=progress.order.work.task.folder)
    progress.warnings += checks.warnings
    return checks.rows


async def _engines(resources: Resources, progress: Progress, trouble: EngineError) -> Failure:
    """Whose failure it is that the engine did not do what was asked about the attempt's containers.

    While it answers otherwise, and submitted code has run in one of them, that has clogged its container.
    """
    scoring = progress.phase in (Phase.RUN, Phase.EVALUATE)
    run = progress.phase is Phase.RUN and progress.run.host is not None
    ran = scoring and (run or any(host.execs for host in progress.hosts))
    facts = Facts(
        Trouble.STUCK,
        Place.EVALUATOR,
        Ran.SUBMITTED if ran else Ran.NOTHING,
        engine_answers=await works(resources.engine, after=trouble),
    )
    verdict = blame(facts)
    return failure(
        progress.phase, verdict.kind, trouble.message, hint=trouble.hint, retryable=verdict.retried
    )


def _internal(resources: Resources, progress: Progress, draft: Drafting, defect: Exception) -> Failure:
    # Its text may quote gold: it is kept with the attempt, which is private, and nowhere else.
    trace = "".join(traceback.format_exception(defect)).encode("utf-8", "backslashreplace")
    draft.write("logs/scorehost.log", resources.masker().data(trace))
    text = f"{type(defect).__name__} in scorehost itself; its traceback is in logs/scorehost.log"
    return failure(progress.phase, "internal", text)


async def _verdict(resources: Resources, progress: Progress, draft: Drafting) -> Verdict:
    order = progress.order
    task, profiles = order.work.task, resources.dataset.profiles
    progress.enter(Phase.PREPARE)
    site = Site(
        engine=resources.engine,
        memory=resources.memory,
        job=resources.job_id,
        slot=str(order.key),
        warn=progress.warnings.append,
        timing=progress.spent,
        shelter=progress.shelter,
        starts=resources.starts,
        looked=resources.images.looked,
        leaving=resources.leaving,
        mapped=resources.info.maps_users,
        excused=resources.excused,
    )
    with progress.timed("prepare"):
        progress.trees = trees = await resources.trees(task)
    if order.work.sample.run:
        await _run(resources, progress, draft, site)
    with progress.timed("prepare"):
        progress.taken = taken = await _linked(resources, progress, draft)
        progress.warnings += taken.warnings
        plan = evaluator_blueprint(task, profiles)
        if progress.run.vacated is not None:
            plan = taken_over(plan, run_blueprint(task, profiles))
        image = await resources.images.resolve(plan.image, build_seconds=plan.limits.build_seconds)
        layout = laid_out(task.spec, taken)

    def keep(name: str, outcome: ExecResult) -> None:
        for stream, data, cut in (
            ("stdout", outcome.stdout, outcome.stdout_truncated),
            ("stderr", outcome.stderr, outcome.stderr_truncated),
        ):
            if data:
                _keep_log(resources, progress, draft, f"logs/{name}.{stream}.log", data, cut=cut)

    cargo = Cargo(
        gold=trees.gold,
        code=trees.code,
        tools=resources.tools.tools,
        harness=resources.tools.harness,
        artifacts=layout.artifacts,
        workspace=layout.workspace,
        folders=any(artifact.kind == "tree" for artifact in task.spec.artifacts),
    )
    progress.enter(Phase.START)
    evaluation = Evaluation(
        site=site,
        blueprint=plan,
        image=image,
        named=named_blueprints(task, profiles),
        images=resources.images,
        cargo=cargo,
        entrypoint=task.spec.evaluation.entrypoint,
        inputs=evaluator_inputs(order, layout, resources.gold_key, progress.run.end),
        keep=keep,
        enter=progress.enter,
        begun=resources.look_ahead,
        warm=resources.warm,
        agents=None if progress.agents is None else progress.agents.during(Phase.EVALUATE),
        roles=tuple(role.id for role in task.spec.agent_profiles),
        vacated=progress.run.vacated,
        told=progress.told,
        any_name=resources.dataset.layout == "ageval",
    )
    try:
        with resources.images.using(image):
            value = await evaluate(evaluation)
    finally:
        progress.hosts = evaluation.hosts
        if evaluation.log is not None:
            log, cut = evaluation.log.content(), evaluation.log.truncated
            _keep_log(resources, progress, draft, "logs/evaluator.log", log, cut=cut)
    progress.enter(Phase.COLLECT)
    with progress.timed("collect"):
        verdict = bind(value, task.spec.evaluation.output, task=task.folder, told=progress.told)
        if name := await in_thread(lambda: trees.changed(task), resources.files):
            text = f"{name} of the task changed on disk while the attempt ran"
            raise AttemptFailed(failure(Phase.COLLECT, "changed_input", text))
    progress.judged(verdict)
    if progress.agents is not None:
        why = progress.agents.must_not_pass(verdict.status, evaluation.misread)
        if why is not None:
            raise AttemptFailed(why)
    return verdict


async def _run(resources: Resources, progress: Progress, draft: Drafting, site: Site) -> None:
    """The run phase, which has ended and left nothing alive when this returns."""
    progress.enter(Phase.RUN)
    if not resources.dataset.profiles.evaluate_host.isolated:
        progress.warnings.append(SHARED)
    try:
        await carry_out(
            resources,
            progress.order,
            site,
            progress.agents,
            staging=draft.staging,
            take=lambda source: _taken_in(resources, progress.order, source, draft),
            run=progress.run,
        )
    finally:
        if progress.run.log:
            _keep_log(resources, progress, draft, "logs/run.log", progress.run.log, cut=progress.run.log_cut)
    end = progress.run.end
    if end is not None and end.status == "failed":
        progress.warnings.append(f"the run phase failed, and what it had published was scored: {end.why}")
    elif end is not None and end.limit:
        text = f"the run phase was stopped at limits.{end.limit}, and what it had published was scored"
        progress.warnings.append(text)
    progress.enter(Phase.PREPARE)


def _keep_log(
    resources: Resources, progress: Progress, draft: Drafting, path: str, data: bytes, *, cut: bool
) -> None:
    if cut:
        progress.cut.append(path)
    masker = resources.masker()

    def write() -> None:
        masked = masker.data(data) if data else data
        if masked != data:
            # No container is ever given such a value: that one came into it from elsewhere should be
            # looked into.
            progress.warnings.append(f"{path} held a secret of the controller's; it was masked")
        draft.draft.write(path, masked)

    draft.post(write)


async def _linked(resources: Resources, progress: Progress, draft: Drafting) -> Taken:
    """What is scored, as files of the draft: what the run phase made, else what was handed in."""
    order, stop = progress.order, threading.Event()

    def bring() -> Taken:  # in one go: each way to a thread and back costs as much as the work itself
        taken = progress.run.taken
        if taken is None:
            blobs = draft.draft.holding(resources.blobs)
            taken = take_in(order.work.task.spec, order.work.sample, blobs, stop.is_set)
        return link_submission(draft.draft, order.work.task.spec, taken)

    try:
        return await in_thread(bring, resources.files)
    finally:
        stop.set()  # a cancel leaves the thread to itself: it must not copy on


async def _taken_in(resources: Resources, order: WorkOrder, source: Sample, draft: Drafting) -> Taken:
    stop = threading.Event()

    def bring() -> Taken:
        return take_in(order.work.task.spec, source, draft.draft.holding(resources.blobs), stop.is_set)

    try:
        return await in_thread(bring, resources.files)
    finally:
        stop.set()  # a cancel leaves the thread to itself: it must not copy on


def _result(
    resources: Resources, progress: Progress, verdict: Verdict | None, error: Failure | None
) -> Result:
    order, masker, run = progress.order, resources.masker(), progress.run
    if error is not None:  # it may have an engine's or a registry's words
        words = {"message": masker.text(error.message), "hint": masker.text(error.hint)}
        error = error.model_copy(update=words)
    digests = Digests(
        scoring=None
        if progress.trees is None
        else scoring_digests(
            progress.trees,
            {host.name: host.image_id for host in progress.hosts},
            {} if progress.agents is None else progress.agents.role_digests,
        ),
        submission=None if progress.taken is None else progress.taken.digest,
        operational={"profile": resources.profile, **({"run": run.digest} if run.digest else {})},
    )
    status: Status = "ERROR" if verdict is None else verdict.status
    infrastructure, evaluation = axes(status, error)
    metrics = {} if verdict is None else masker.tree(dict(verdict.metrics))
    return Result(
        job_id=resources.job_id,
        task_id=order.key.task_id,
        submission=order.key.submission,
        sample=order.key.sample,
        repeat=order.key.repeat,
        try_number=order.number,
        status=status,
        infrastructure=infrastructure,
        evaluation=evaluation,
        score=None if verdict is None else verdict.score,
        metrics=metrics,
        limit=None if run.end is None else run.end.limit,
        error=error,
        warnings=tuple(masker.text(warning) for warning in progress.said),
        started_at=progress.started_at,
        finished_at=utc_now(),
        timing={name: round(seconds, 4) for name, seconds in progress.timing.items()},
        hosts=((run.host,) if run.host is not None else ()) + progress.hosts,
        digests=digests,
        versions=resources.versions,
        agent_invocations=0 if progress.agents is None else progress.agents.invocations,
        agents={} if progress.agents is None else dict(progress.agents.by_role),
        salt=result_salt(metrics, (one.id for one in order.work.task.spec.evaluation.metrics)),
    )
