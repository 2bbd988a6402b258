"""Whether an image leaves room for what is laid into its containers: /attempt, and places in memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from scorehost.engine.door import Engine, Image
from scorehost.errors import AttemptFailed
from scorehost.model.failure import Phase, failure

ROOT = "/attempt"
OWNER_WRITES = 0o300  # what the owner of a folder needs to make files in it
LINKS = 8  # that are followed from one path; more are a loop

Looked = tuple[str, str]  # an image's id, and a path that was found fit in it


class Named(NamedTuple):
    """How messages call what is looked over: the host, its image, and the recipe when there is one."""

    host: str
    image: str
    recipe: str = ""


async def look_over(
    engine: Engine,
    container: str,
    image: Image,
    memory: Iterable[str],
    looked: set[Looked],
    *,
    named: Named,
) -> None:
    """Looks at an image's own folders below what is mounted, each once (`looked` grows).

    Raises AttemptFailed (image_unusable): /attempt is not a folder, so that an upload would lead elsewhere;
    or a place in memory would take on a mode in which its owner cannot write. EngineError.
    """
    for path in (ROOT, *memory):
        if (image.id, path) in looked:
            continue
        text = await _fault(engine, container, path)
        if text:
            said = f"{named.image} of {named.host} has {text}"
            anew = f"a recipe: `FROM {image.reference}`, then a RUN line"
            hint = f"Mend it in {f'{named.recipe}, by a RUN line' if named.recipe else anew}."
            raise AttemptFailed(failure(Phase.START, "image_unusable", said, hint=hint))
        looked.add((image.id, path))


async def _fault(engine: Engine, container: str, path: str) -> str:
    found = await engine.place(container, path)
    if path == ROOT:
        if found is None or found.kind == "folder":
            return ""
        what = f"a link to {found.link}" if found.kind == "link" else "a file"
        return f"{what} at {ROOT}, where scorehost lays its own folder"
    where = path
    for _ in range(LINKS):
        if found is None or found.kind != "link":
            break
        where = found.link if found.link.startswith("/") else f"{where.rpartition('/')[0]}/{found.link}"
        found = await engine.place(container, where)
    if found is None or (found.kind == "folder" and found.mode & OWNER_WRITES == OWNER_WRITES):
        return ""
    if found.kind != "folder":
        return f"no folder at {path}, where there is to be a place in memory"
    text = f"a folder {path} with mode {found.mode:04o}"
    return f"{text}, which the place in memory there takes on: nobody could write to it"
