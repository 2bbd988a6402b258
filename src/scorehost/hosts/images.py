"""Images of a job: found, pulled once or built once, however many attempts wait for them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from scorehost.aio.threads import in_thread
from scorehost.engine.door import Engine, Image
from scorehost.errors import AttemptFailed, EngineRefused, EngineTimeout, NotFound, UsageError
from scorehost.hosts import labels
from scorehost.hosts.recipe import Recipe
from scorehost.model.failure import Phase, failure

OWN_PREFIX = "scorehost/"
PULL_SECONDS = 1800.0
FILE_THREADS = 2

Choice = str | Recipe


class Images:
    """Resolves image choices to images on the engine.

    The first outcome of each choice holds for the whole job, a failure too: twenty attempts that need one
    missing image cause one pull. `say` is told when something slow begins.
    """

    def __init__(self, engine: Engine, logs: Path, say: Callable[[str], None] = lambda _: None) -> None:
        self._engine = engine
        self._logs = logs
        self._say = say
        self._locks: dict[Choice, anyio.Lock] = {}
        self._found: dict[Choice, Image | AttemptFailed] = {}
        # Ids of images that were seen to hold what a named host needs, with the place where its execs begin.
        self.proven: set[tuple[str, str]] = set()
        self._files = anyio.CapacityLimiter(FILE_THREADS)

    def known(self, choice: Choice) -> Image | None:
        """The image of a choice that has been resolved already; None before that, and after a failure."""
        found = self._found.get(choice)
        return found if isinstance(found, Image) else None

    async def resolve(self, choice: Choice, *, build_seconds: float) -> Image:
        """The image to run. Raises AttemptFailed (image_missing, image_pull_failed, image_build_failed)."""
        async with self._locks.setdefault(choice, anyio.Lock()):
            if choice not in self._found:
                make: Awaitable[Image] = (
                    self._present_or_pulled(choice)
                    if isinstance(choice, str)
                    else self._built(choice, build_seconds)
                )
                try:
                    self._found[choice] = await make
                except AttemptFailed as error:
                    self._found[choice] = error
        found = self._found[choice]
        if isinstance(found, AttemptFailed):
            raise AttemptFailed(found.failure)
        return found

    async def _present_or_pulled(self, reference: str) -> Image:
        try:
            return await self._engine.image(reference)
        except NotFound:
            pass
        if reference.startswith(OWN_PREFIX):
            raise _failed("image_missing", f"the image {reference} is not on this engine")
        self._say(f"pulling {reference}")
        try:
            with anyio.fail_after(PULL_SECONDS):
                await self._engine.pull(reference)
            return await self._engine.image(reference)
        except (EngineRefused, EngineTimeout) as error:
            raise _failed("image_pull_failed", error.message, error.hint) from error
        except TimeoutError:
            raise _failed(
                "image_pull_failed", f"{reference} was not pulled within {PULL_SECONDS:.0f} s"
            ) from None

    async def _built(self, recipe: Recipe, seconds: float) -> Image:
        try:
            names = await in_thread(recipe.bases, self._files)
            bases = {base: (await self.resolve(base, build_seconds=seconds)).id for base in names}
            digest = await in_thread(lambda: recipe.digest(bases), self._files)
            tag = built_tag(digest)
            # Two recipes of one content are one image.
            async with self._locks.setdefault(tag, anyio.Lock()):
                return await self._present_or_built(recipe, digest, tag, seconds)
        except UsageError as error:
            raise _failed("image_build_failed", error.message, error.hint) from error
        except OSError as error:
            text = f"a file for {recipe.dockerfile} cannot be read: {error.strerror}: {error.filename}"
            raise _failed("image_build_failed", text, "See that the recipe's folder is readable.") from error

    async def _present_or_built(self, recipe: Recipe, digest: str, tag: str, seconds: float) -> Image:
        try:
            return await self._engine.image(tag)
        except NotFound:
            pass
        self._say(f"building {recipe.dockerfile}")
        self._logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        log = self._logs / f"build-{digest[:24]}.log"
        try:
            with TemporaryDirectory(prefix="scorehost-context-") as folder:
                context = Path(folder) / "context.tar"
                await in_thread(lambda: recipe.write_context(context), self._files)
                await self._engine.build(
                    context,
                    dockerfile=recipe.dockerfile.name,
                    tag=tag,
                    labels={labels.RECIPE: digest},
                    log=log,
                    timeout=seconds,
                )
            return await self._engine.image(tag)
        except EngineTimeout:
            message = f"{recipe.dockerfile} was not built within {seconds:g} s; its output is in {log}"
            raise _failed(
                "image_build_failed", message, "Raise limits.build_seconds, or see what hangs."
            ) from None
        except EngineRefused as error:
            raise _failed(
                "image_build_failed",
                f"{recipe.dockerfile} does not build: {error.message}",
                f"The whole output is in {log}.",
            ) from error


def built_tag(digest: str) -> str:
    """What the image of a recipe with this digest is called on the engine."""
    return f"scorehost/built:{digest[:24]}"


def _failed(kind: str, message: str, hint: str = "") -> AttemptFailed:
    # The outcome holds for the whole job: another try in it would ask nobody.
    return AttemptFailed(failure(Phase.PREPARE, kind, message, hint=hint, retryable=False))
