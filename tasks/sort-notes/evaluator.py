"""PASS when the submitted tree equals the gold tree; score: files that are right / files in either tree."""

from pathlib import Path

from scorehost_sdk import evaluation_check
from shared import answers, canary


def evaluate(inputs):
    folder = inputs["artifacts"].get("notes")
    if folder is None:
        return answers.refused(answers.MalformedError("the folder artifacts/notes was not handed in"))
    wanted = read_tree(Path(inputs["evaluation_dir"], "notes"))
    found = read_tree(Path(folder))

    both = wanted.keys() & found.keys()
    checks = [
        names_check("missing", "Every note is in its folder", wanted.keys() - found.keys()),
        names_check("unexpected", "No other files", found.keys() - wanted.keys()),
        names_check("changed", "Notes are unchanged", {name for name in both if wanted[name] != found[name]}),
    ]
    leaked = any(canary.quoted(data, inputs["evaluation_dir"]) for data in found.values())
    checks.append(evaluation_check("gold-unseen", status="FAIL" if leaked else "PASS"))

    right = sum(wanted[name] == found[name] for name in both)
    passed = all(check["status"] == "PASS" for check in checks)
    return {
        "status": "PASS" if passed else "FAIL",
        "score": right / len(wanted.keys() | found.keys()),
        "checks": checks,
    }


def read_tree(root):
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def names_check(check_id, title, names):
    shown = ", ".join(ascii(name)[:120] for name in sorted(names)[:10])
    return evaluation_check(
        check_id, title=title, status="FAIL" if names else "PASS", message=f"{len(names)}: {shown}" if names else ""
    )
