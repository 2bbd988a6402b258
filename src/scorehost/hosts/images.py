"""Images of a job: found, pulled once or built once, however many attempts wait for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from scorehost.aio.retry import Retry
from scorehost.aio.threads import in_thread
from scorehost.engine.door import Engine, EngineInfo, Image
from scorehost.errors import AttemptFailed, EngineRefused, EngineTimeout, NotFound, UsageError
from scorehost.files.atomic import FULL, make_folder
from scorehost.files.scratch import temporary_place
from scorehost.hosts import labels
from scorehost.hosts.fitness import Looked
from scorehost.hosts.platforms import HINT as PLATFORM_HINT
from scorehost.hosts.platforms import foreign
from scorehost.hosts.recipe import Recipe, copied_on_build
from scorehost.model.failure import Failure, Phase, failure

OWN_PREFIX = "scorehost/"
BUILT = "scorehost/built"
PULL_SECONDS = 1800.0
FILE_THREADS = 2

Choice = str | Recipe
_UNSTARTED = ("image_unusable", "start_failed")


# After a failure. The first wait is short enough for the attempt that is made again; then it is a registry's
# patience that counts, and that of whoever waits for a build.
PULL_AGAIN = Retry(None, pause=1.0, growth=5.0, most=600.0)
BUILD_AGAIN = Retry(None, pause=60.0, growth=5.0, most=3600.0)
PATIENCE_SECONDS = 5.0  # a wait that is at most so long is waited for; else the last failure is told again
REFUSED_BROKEN = 500  # statuses from here on are about the engine, not about what was asked


@dataclass(frozen=True, slots=True)
class _Failed:
    """The last failure of a choice, when it was, and how many there have been in a row."""

    failure: Failure
    at: float
    times: int


class Images:
    """Resolves image choices to images on the engine.

    An image that was found holds until a host cannot be made from it any more. A failure is that of everybody
    who waited for it: twenty attempts that need one missing image cause one pull. Whoever comes later asks
    again, after pauses that grow. `say` is told when something slow begins.
    """

    def __init__(
        self,
        engine: Engine,
        logs: Path,
        say: Callable[[str], None] = lambda _: None,
        info: EngineInfo | None = None,
    ) -> None:
        self._engine = engine
        self._logs = logs
        self._say = say
        self._info = info
        self._locks: dict[Choice, anyio.Lock] = {}
        self._found: dict[Choice, Image] = {}
        self._failed: dict[Choice, _Failed] = {}
        # Ids of images that were seen to hold what a named host needs, with the place where its execs begin.
        self.looked: set[Looked] = set()  # what images were found fit for, see `fitness`
        self.proven: set[tuple[str, str]] = set()
        self._files = anyio.CapacityLimiter(FILE_THREADS)

    def known(self, choice: Choice) -> Image | None:
        """The image of a choice that has been resolved already; None before that, and after a failure."""
        return self._found.get(choice)

    @contextmanager
    def using(self, image: Image) -> Iterator[None]:
        """Hosts are made from `image` inside; when it turns out to be gone, it is resolved anew next time.

        What cannot be started since the image is for another platform is said to be so (image_unusable).
        """
        try:
            yield
        except AttemptFailed as error:
            other = self._foreign(image)
            if other and error.failure.phase is Phase.START and error.failure.kind in _UNSTARTED:
                text = f"the image {image.reference} is for {other}, which cannot run it"
                told = failure(Phase.START, "image_unusable", text, hint=PLATFORM_HINT)
                raise AttemptFailed(told) from error
            if isinstance(error.__cause__, NotFound):
                self._found = {choice: one for choice, one in self._found.items() if one.id != image.id}
                self.proven = {each for each in self.proven if each[0] != image.id}
            raise

    def emulated(self, image: Image) -> str:
        """What to say of an image that runs though it is for another platform; "" for any other."""
        other = self._foreign(image)
        return f"the image {image.reference} runs emulated: it is for {other}" if other else ""

    def _foreign(self, image: Image) -> str:
        return "" if self._info is None else foreign(image, self._info)

    async def resolve(self, choice: Choice, *, build_seconds: float) -> Image:
        """The image to run. Raises AttemptFailed (image_missing, image_pull_failed, image_build_failed)."""
        came = anyio.current_time()
        async with self._locks.setdefault(choice, anyio.Lock()):
            if choice in self._found:
                return self._found[choice]
            last = self._failed.get(choice)
            if last is not None and last.at >= came:
                raise AttemptFailed(last.failure)  # it was waited for
            try:
                found = (
                    await self._present_or_pulled(choice, last)
                    if isinstance(choice, str)
                    else await self._built(choice, build_seconds, last)
                )
            except AttemptFailed as error:
                if last is None or error.failure is not last.failure:
                    times = 1 if last is None else last.times + 1
                    self._failed[choice] = _Failed(error.failure, anyio.current_time(), times)
                raise
            self._failed.pop(choice, None)
            self._found[choice] = found
            return found

    async def _present(self, reference: str) -> Image | None:
        try:
            return await self._engine.image(reference)
        except NotFound:
            return None
        except EngineRefused as error:
            if error.status >= REFUSED_BROKEN:
                raise
            hint = f"Correct `{reference}`: lower-case letters, digits and . _ - / : @, without quotes."
            raise _failed("image_pull_failed", error.message, hint, retryable=False) from error

    async def _present_or_pulled(self, reference: str, last: _Failed | None) -> Image:
        found = await self._present(reference)
        if found is not None:
            return found
        if reference.startswith(OWN_PREFIX):
            raise _failed("image_missing", f"the image {reference} is not on this engine")
        await _due(last, PULL_AGAIN)
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

    async def _built(self, recipe: Recipe, seconds: float, last: _Failed | None) -> Image:
        try:
            names = await in_thread(recipe.bases, self._files)
            bases = await self._bases(names, seconds)
            digest = await in_thread(lambda: recipe.digest(bases), self._files)
            tag = built_tag(digest)
            # Two recipes of one content are one image.
            async with self._locks.setdefault(tag, anyio.Lock()):
                return await self._present_or_built(recipe, digest, tag, seconds, last)
        except UsageError as error:
            raise _failed("image_build_failed", error.message, error.hint) from error
        except OSError as error:
            place = temporary_place()
            if error.errno in FULL or str(error.filename).startswith(f"{place}/scorehost-context-"):
                text = f"no room for the build context of {recipe.dockerfile} in {place}: {error.strerror}"
                hint = "Make room there, or set TMPDIR to another folder."
                raise _failed("image_build_failed", text, hint) from error
            text = f"a file for {recipe.dockerfile} cannot be read: {error.strerror}: {error.filename}"
            raise _failed("image_build_failed", text, "See that the recipe's folder is readable.") from error

    async def _bases(self, names: tuple[str, ...], seconds: float) -> dict[str, str]:
        """Ids of the images that a recipe builds on, and of those that their ONBUILD lines copy from."""
        ids: dict[str, str] = {}
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in ids:
                image = await self.resolve(name, build_seconds=seconds)
                ids[name] = image.id
                waiting += copied_on_build(image.on_build)
        return ids

    async def _present_or_built(
        self, recipe: Recipe, digest: str, tag: str, seconds: float, last: _Failed | None
    ) -> Image:
        found = await self._present(tag)
        if found is not None:
            return found
        await _due(last, BUILD_AGAIN)
        self._say(f"building {recipe.dockerfile}")
        make_folder(self._logs)
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
    return f"{BUILT}:{digest[:24]}"


async def _due(last: _Failed | None, again: Retry) -> None:
    """Returns when it is time to ask again; AttemptFailed as before when that is too far off."""
    if last is None:
        return
    wait = last.at + (again.after(last.times) or 0.0) - anyio.current_time()
    if wait > PATIENCE_SECONDS:
        raise AttemptFailed(last.failure)
    await anyio.sleep(max(wait, 0.0))


def _failed(kind: str, message: str, hint: str = "", *, retryable: bool | None = None) -> AttemptFailed:
    return AttemptFailed(failure(Phase.PREPARE, kind, message, hint=hint, retryable=retryable))
