"""A Dockerfile is read as the Dockerfile reference says; what cannot be built here is told with its line."""

from __future__ import annotations

import pytest

from scorehost.spec.dockerfile import bases, read

RECIPE = "tasks/one/environment/evaluate.Dockerfile"


def names(text):
    return [base.name for base in bases(read(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FROM base:1\n", ["base:1"]),
        ("\ufeffFROM base:1\n", ["base:1"]),
        ("FROM base:1", ["base:1"]),
        ("\tfrom\tbase:1\r\n", ["base:1"]),
        ('FROM "base:1"\n', ["base:1"]),
        ("FROM 'base:1'\n", ["base:1"]),
        ("FROM --platform=linux/amd64 base:1\n", ["base:1"]),
        ("ARG TAG=3\nFROM base:$TAG\n", ["base:3"]),
        ('ARG TAG="3"\nFROM base:${TAG}\n', ["base:3"]),
        ("ARG NAME=base TAG=3\nFROM $NAME:$TAG\n", ["base:3"]),
        ("ARG A=base\nARG B=$A:1\nFROM ${B}\n", ["base:1"]),
        ("FROM base:${TAG:-4}\n", ["base:4"]),
        ("ARG TAG\nFROM base:${TAG:-4}\n", ["base:4"]),
        ("ARG TAG=5\nFROM base:${TAG:-4}\n", ["base:5"]),
        ("ARG TAG=\nFROM base:${TAG:-4}\n", ["base:4"]),
        ("ARG TAG=5\nFROM base${TAG:+:x}\n", ["base:x"]),
        ("FROM base${TAG:+:x}\n", ["base"]),
        ("ARG DEEP=7\nFROM base:${TAG:-${DEEP:-8}}\n", ["base:7"]),
        ("ARG TAG='$x'\nFROM base:1\n", ["base:1"]),
        ("FROM $NONE\n", [""]),
        ("FROM a AS one\nFROM one\nFROM ONE as two\nFROM two\n", ["a"]),
        ("FROM a\nFROM b AS build\nCOPY --from=build /x /\nCOPY --from=0 /x /\n", ["a", "b"]),
        ("FROM a\nCOPY --chown=1:1 --from=c:1 /x /\n", ["a", "c:1"]),
        ("FROM a\nCOPY --from=1 /x /\n", ["a", "1"]),
        ("FROM a\nARG LATE=b\nFROM base:${LATE:-c}\n", ["a", "base:c"]),
        ("FROM scratch\nCOPY x /\n", []),
        ("# FROM old:1\nFROM \\\n  base:1\n", ["base:1"]),
        ("FROM a\nRUN echo \\\n\n# why\nFROM users\n", ["a"]),
        ("# escape=`\nFROM a\nRUN echo `\nFROM users\n", ["a"]),
        ("# escape=`\nFROM a\nRUN echo \\\nFROM b\n", ["a", "b"]),
        ("# syntax=docker/dockerfile:1\n# escape=`\nFROM a\nRUN x `\nFROM b\n", ["a"]),
        ("\n# escape=`\nFROM a\nRUN x `\nFROM b\n", ["a", "b"]),
        ("# why\n# escape=`\nFROM a\nRUN x `\nFROM b\n", ["a", "b"]),
        ("FROM a\nRUN echo x \\   \nFROM b\n", ["a"]),
        ("FROM a\nRUN ['x', --from=c]\nLABEL from=--from=d\n", ["a"]),
        ("", []),
    ],
)
def test_what_a_recipe_builds_on_is_read_as_the_reference_says(text, expected):
    assert names(text) == expected


@pytest.mark.parametrize(
    ("lines", "line", "words"),
    [
        (
            "RUN cat > /f <<EOF\nFROM strangers/image\nEOF\n",
            2,
            "which only BuildKit can build",
        ),
        ("RUN <<-'EOF'\necho x\nEOF\n", 2, "a here-document after RUN"),
        ("COPY <<EOF /f\nx\nEOF\n", 2, "a here-document after COPY"),
        ("RUN --mount=type=cache,target=/x true\n", 2, "`RUN --mount`, which only BuildKit"),
        ("RUN --network=none true\n", 2, "`RUN --network`"),
        ("COPY --chmod=755 x /\n", 2, "`COPY --chmod`"),
        ("COPY --link x /\n", 2, "`COPY --link`"),
        ("ADD --checksum=sha256:1 http://x /\n", 2, "`ADD --checksum`"),
        ("RUN true\nECHO x\n", 3, "unknown instruction `ECHO`"),
        ("RUN a \\\n  && b\n\n&& c\n", 5, "unknown instruction `&&`"),
        (
            "FROM Foo/Bar:1\n",
            2,
            "`Foo/Bar:1` cannot be the name of an image",
        ),
        ("FROM a:\n", 2, "nothing after the colon"),
        ("FROM $BASE\n", 2, "`$BASE` is empty here"),
        ("COPY --from=Other:1 /x /\n", 2, "`Other:1` cannot be the name of an image"),
        ("COPY --from=$X /x /\n", 2, "it holds a variable"),
    ],
)
def test_what_cannot_be_built_here_is_told_at_load_with_its_line(folder, lines, line, words):
    folder.write(RECIPE, "FROM scorehost/python:3\n" + lines)
    problem = folder.problem()
    assert problem.startswith(f"{RECIPE}:{line}:1: ")
    assert words in problem


def test_a_recipe_without_a_from_is_told(folder):
    folder.write(RECIPE, "# nothing yet\nRUN true\n")
    assert folder.problem().startswith(f"{RECIPE}:2:1: there is no FROM")


@pytest.mark.parametrize(
    "lines",
    [
        "RUN echo $((1<<3)) && cat <<< word\n",
        "RUN echo '<<EOF'\n",
        'RUN echo "a <<EOF b"\n',
        "RUN x = 1 << 3\n",
        "HEALTHCHECK --interval=5s --timeout=3s CMD true\n",
        "COPY --chown=1:1 --from=scorehost/python:3 /bin/true /x\n",
        "ONBUILD RUN true\n",
        'SHELL ["/bin/sh", "-c"]\nSTOPSIGNAL 9\nMAINTAINER me\nEXPOSE 80\n',
        "RUN if true; then \\\n  # a comment between\n\n  echo x; fi\n",
    ],
)
def test_what_the_classic_builder_takes_is_no_problem(folder, lines):
    folder.write(RECIPE, "FROM scorehost/python:3\n" + lines)
    assert folder.load().tasks["one"].evaluate_dockerfile is not None
