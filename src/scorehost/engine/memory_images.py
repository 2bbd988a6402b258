"""Images of the in-memory engine: added, pulled from a list, or built from a few recipe lines."""

from __future__ import annotations

import hashlib
import tarfile
from dataclasses import replace
from typing import TYPE_CHECKING

from scorehost.engine.door import Image, Listed, Place
from scorehost.errors import EngineRefused, NotFound
from scorehost.spec.own_secrets import own_masker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

Step = tuple[str, str]


class MemoryImages:
    """Which images are present, which can be pulled, and which RUN lines fail."""

    def __init__(self) -> None:
        self.present: dict[str, Image] = {}
        self._pullable: dict[str, Image] = {}
        self.places: dict[tuple[str, str], Place] = {}  # what an image (by id) has at a path
        self.failing_run: Callable[[str], int] = lambda _line: 0  # the exit code of a RUN line

    def add(
        self,
        reference: str,
        *,
        env: Mapping[str, str] | None = None,
        volumes: tuple[str, ...] = (),
        labels: Mapping[str, str] | None = None,
        on_build: tuple[str, ...] = (),
        architecture: str = "amd64",
        pullable: bool = False,
    ) -> Image:
        """An image that is present, or with `pullable` one that a pull would bring."""
        image = Image(
            id="sha256:" + hashlib.sha256(reference.encode()).hexdigest(),
            reference=reference,
            repo_digests=(),
            architecture=architecture,
            env=dict(env or {}),
            volumes=volumes,
            labels=dict(labels or {}),
            on_build=on_build,
        )
        (self._pullable if pullable else self.present)[reference] = image
        return image

    def remove(self, reference: str) -> None:
        """It is present no longer."""
        del self.present[reference]

    def find(self, reference: str) -> Image:
        """By reference or id; NotFound."""
        for name, image in self.present.items():
            if reference in {name, image.id}:
                return replace(image, reference=reference)
        raise NotFound(f"The in-memory engine has no image {reference}: No such image", status=404)

    def listed(self, labels: Mapping[str, str | None]) -> list[Listed]:
        """Images that carry all labels; a value of None asks for the key alone."""
        return [
            Listed(image.id, name, "image", dict(image.labels), created=0.0, size=len(name))
            for name, image in self.present.items()
            if all(key in image.labels and want in (None, image.labels[key]) for key, want in labels.items())
        ]

    def name_of(self, identity: str) -> str:
        """The reference that an image was added under."""
        return next(name for name, image in self.present.items() if identity in {name, image.id})

    def pull(self, reference: str) -> None:
        """Makes a pullable image present; EngineRefused as a registry refuses."""
        if reference not in self._pullable:
            raise EngineRefused(
                f"The image {reference} cannot be pulled: pull access denied, repository does not exist",
                status=404,
                hint=f"Try it by hand: `docker pull {reference}`.",
            )
        self.present[reference] = self._pullable[reference]

    def build(self, context: Path, dockerfile: str, tag: str, labels: Mapping[str, str], log: Path) -> None:
        """Reads FROM, ENV, LABEL and VOLUME, and takes RUN as `failing_run` says; other lines pass."""
        steps = self._recipe(context, dockerfile)
        env: dict[str, str] = {}
        found: dict[str, str] = {}
        volumes: list[str] = []
        written: list[str] = []
        code = 0
        for number, (word, rest) in enumerate(steps, start=1):
            written.append(f"Step {number}/{len(steps)} : {word} {rest}")
            if word == "FROM" and rest != "scratch":
                base = self.find(rest)
                env, volumes = dict(base.env), list(base.volumes)
            elif word in {"ENV", "LABEL"}:
                name, _, value = rest.partition("=")
                (env if word == "ENV" else found)[name] = value.strip('"')
            elif word == "VOLUME":
                volumes.append(rest)
            elif word == "RUN" and (code := self.failing_run(rest)):
                written.append(f"The command '{rest}' returned a non-zero code: {code}")
                break
        written = [own_masker().text(line) for line in written]
        log.write_text("".join(f"{line}\n" for line in written), encoding="utf-8")
        if code:
            lines = "\n".join(f"    {line}" for line in written[-15:])
            raise EngineRefused(f"{written[-1]}\nThe last lines of the build:\n{lines}", status=0)
        self.add(tag, env=env, volumes=tuple(volumes), labels={**found, **labels})

    @staticmethod
    def _recipe(context: Path, dockerfile: str) -> list[Step]:
        with tarfile.open(context) as tar:
            try:
                file = tar.extractfile(dockerfile)
            except KeyError:
                file = None
            if file is None:
                raise EngineRefused(f"The context has no {dockerfile}: Cannot locate it", status=0)
            lines = file.read().decode().splitlines()
        rows = (line.strip().partition(" ") for line in lines if line.strip() and not line.startswith("#"))
        return [(word.upper(), rest.strip()) for word, _, rest in rows]
