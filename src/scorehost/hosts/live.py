"""A started host with its cargo in it: a warm one where one is ready, else one made now."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from scorehost.engine.door import Image, Stream
from scorehost.files.tree import archive
from scorehost.hosts.blueprint import ROOT, TOOLS, Blueprint
from scorehost.hosts.cargo import Cargo
from scorehost.hosts.feed import feed, is_small, tools_feed
from scorehost.hosts.host import UPLOAD_SECONDS, Host, Site, attached, blamed, in_time, made_host, started
from scorehost.hosts.surroundings import missed
from scorehost.hosts.warm import WarmHosts
from scorehost.model.failure import Phase
from scorehost.model.ids import utc_now


@dataclass(frozen=True, slots=True)
class Live:
    """A host that runs; `stream` is that of its main process, of an evaluator's host only.

    `before` and `after` is what a fed host has to be sent around the channel's first frame.
    """

    host: Host
    stream: Stream | None
    before: bytes = b""
    after: bytes = b""

    def main_stream(self) -> Stream:
        """The stream of an evaluator's host; TypeError of any other."""
        if self.stream is None:
            raise TypeError(f"{self.host.blueprint.name} is no evaluator's host: nobody is attached to it")
        return self.stream


@asynccontextmanager
async def live_host(
    site: Site,
    blueprint: Blueprint,
    image: Image,
    cargo: Cargo,
    *,
    warm: WarmHosts | None,
    met: Callable[[Host], None],
    spoken_to: bool = False,
) -> AsyncIterator[Live]:
    """The host of one attempt, removed at the end of the block. `met` gets it as soon as it exists.

    `spoken_to`: whoever asks will speak to the evaluator's runner, and can send it the files: small cargo is
    not uploaded then. But what is kept for a person to look into keeps its files on disk, and folders of a
    submission, which evaluators copy to work on them, have the modes of an upload whatever their size.

    Raises AttemptFailed: start_failed, start_timeout, engine_lost, changed_input.
    """
    if names := missed(image.env, blueprint.env):
        text = f"the image {image.reference} of {blueprint.name} sets {', '.join(names)}"
        key = "evaluation.env" if blueprint.evaluator else "`env` of that environment"
        site.warn_once(f"{text}, which no host takes over; set what is needed by {key}")
    trees = cargo.trees(blueprint)
    rest = {folder: tree for folder, tree in trees.items() if folder != TOOLS}
    after = b""
    digested = spoken_to and blueprint.evaluator
    fits = not cargo.folders and blueprint.can_be_fed(image) and is_small(trees)
    if spoken_to and site.shelter is None and fits:
        with site.timed("upload"), blamed(Phase.UPLOAD, blueprint):
            after = feed(rest.items())
        blueprint = replace(blueprint, fed=True)
    ready = None
    if warm is not None and not blueprint.copy_workspace:
        ready = await warm.take(blueprint, image)
    if ready is None:
        size = cargo.workspace.in_memory
        sent = {} if blueprint.fed else trees
        before = tools_feed(trees[TOOLS]) if blueprint.fed else b""
        making = made_host(site, blueprint, image, sent, workspace_bytes=size, digested=digested)
        async with making as host:
            met(host)
            if not blueprint.evaluator:
                await started(site, host)
                _next_one(blueprint, warm)
                yield Live(host, None)
                return
            async with attached(host) as stream:
                await started(site, host)
                yield Live(host, stream, before, after)
        return
    async with ready.stack:
        host = ready.host
        host.blueprint = blueprint
        host.started_at = utc_now()  # of its service; it ran idle before, without anything of the attempt
        met(host)
        if not blueprint.fed:
            with site.timed("upload"), blamed(Phase.UPLOAD, blueprint):
                async with in_time(site.engine, UPLOAD_SECONDS):
                    await site.engine.upload(host.container, ROOT, archive(rest.items(), digested=digested))
        _next_one(blueprint, warm)
        yield Live(host, ready.stream, after=after)


def _next_one(blueprint: Blueprint, warm: WarmHosts | None) -> None:
    # An evaluator's host has the next one made when its evaluator runs; a named host has no such moment.
    if warm is not None and not blueprint.evaluator:
        warm.replan()
