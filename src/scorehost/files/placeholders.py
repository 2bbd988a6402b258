"""Files that stand for others: what a checkout, a download or a cloud folder leaves behind."""

from __future__ import annotations

HEAD_BYTES = 1024  # that are looked at; a pointer of Git LFS has at most so many
_LFS = b"version https://git-lfs.github.com/spec/"
_ANNEX = (b"/annex/objects/", b"../.git/annex/objects/", b".git/annex/objects/")
_HTML = (b"<!doctype html", b"<html")
# Of these an HTML page is no content. Text, templates and code may hold one.
_DATA = frozenset(
    (
        *(
            [
                "json",
                "jsonl",
                "csv",
                "tsv",
                "parquet",
                "arrow",
                "feather",
                "npy",
                "npz",
                "h5",
                "hdf5",
                "pkl",
                "pickle",
                "pt",
                "pth",
                "safetensors",
                "onnx",
            ]
        ),
        *(
            [
                "zip",
                "gz",
                "bz2",
                "xz",
                "zst",
                "tar",
                "tgz",
                "7z",
                "rar",
                "png",
                "jpg",
                "jpeg",
                "gif",
                "pdf",
                "wav",
                "mp3",
                "mp4",
                "sqlite",
                "db",
                "xlsx",
                "docx",
                "bin",
            ]
        ),
        *(["yaml", "yml", "toml", "py", "c", "cpp", "java", "rs", "go", "ipynb"]),
    )
)


def placeholder(name: str, head: bytes, size: int) -> str:
    """What the file `name`, which begins with `head`, is instead of its content; "" for nothing of the kind.

    Words that follow its path in a message, and say what to do.
    """
    base = name.rpartition("/")[2]
    if base.startswith(".") and base.endswith(".icloud"):
        return f"is a placeholder of iCloud; download {base[1:-7]} first"
    if size <= HEAD_BYTES and head.startswith(_LFS):
        return "is a pointer of Git LFS, not the file itself; run `git lfs pull`"
    if size <= HEAD_BYTES and head.startswith(_ANNEX):
        return "is a pointer of git-annex, not the file itself; run `git annex get`"
    if base.rpartition(".")[2].lower() in _DATA and head[:64].lstrip().lower().startswith(_HTML):
        return "holds an HTML page, such as a server answers instead of a file; download it again"
    return ""
