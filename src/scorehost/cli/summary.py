"""summary.json in a few lines: for each submission its mean, its bounds and its counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scorehost.cli.tables import columns
from scorehost.cli.text import count, score_text, visible
from scorehost.cli.warned import told_lines
from scorehost.model.call import RoleUsage
from scorehost.model.summary import Group, Summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_ENDS = {"maximize": "lowest", "minimize": "highest", "mixed": "worst"}
_HEAD = ("submission", "done", "PASS", "FAIL", "ERROR", "mean", "n", "bounds")
_SHOWN = 50  # submissions in the table; all of them are in summary.json
_RATES = ("1", "2", "5", "10", "100")  # the k of pass@k that are worth a line


def summary_lines(content: Mapping[str, Any]) -> list[str]:
    """The lines below the table of attempts; `content` is what summary.json holds, {} for none."""
    if not content:
        return []
    summary = Summary.model_validate(content, strict=False)
    names = [rank.submission for rank in summary.ranking] or list(summary.submissions)
    shown = names[:_SHOWN]
    lines = columns([_cells(name, summary.submissions[name]) for name in shown], _HEAD)
    if len(names) > len(shown):
        lines.append(f"… and {count(len(names) - len(shown), 'submission')} more in summary.json")
    for name in shown:
        prefix = f"{name}: " if len(names) > 1 else ""
        lines += [visible(prefix + line) for line in _remarks(summary.submissions[name])]
    if summary.shared_host:
        lines.append("not isolated: scored in the run phase's own container (evaluate_host.isolated: false)")
    if summary.adapter_isolation == "none" and summary.usage:
        lines.append("adapter_isolation: none (programs that play roles run as this user)")
    lines += [visible(_used(role, usage)) for role, usage in summary.usage.items()]
    told = told_lines(summary.warnings, summary.warnings_left_out, "summary.json")
    return [*lines, "", *told] if told else lines


def _used(role: str, usage: RoleUsage) -> str:
    return f"role {role}: {count(usage.calls, 'call')}, {tokens_used(usage)}, {usage.seconds:.1f} s"


def tokens_used(usage: RoleUsage) -> str:
    """The tokens of a role's calls; what nobody told is not 0."""
    if usage.calls and usage.unknown >= usage.calls:
        return "tokens unknown"
    tokens = f"{usage.input_tokens} tokens in, {usage.output_tokens} out"
    missing = f", {usage.missing_counts} without counts" if usage.missing_counts else ""
    unknown = f", unknown for {count(usage.unknown, 'call')}" if usage.unknown else ""
    return tokens + missing + unknown


def _provoked(group: Group) -> str:
    """How many of the ERRORs that count as the lowest were agents that failed at the work they were shown."""
    number = group.errors_provoked
    return f" ({number} by calls of agents that the work can have made fail)" if number else ""


def _cells(name: str, group: Group) -> tuple[str, ...]:
    bounds = group.bounds
    known = bounds.lower is not None and bounds.upper is not None
    return (
        name,
        f"{group.done}/{group.planned}",
        str(group.counts.PASS),
        str(group.counts.FAIL),
        str(group.counts.ERROR),
        score_text(group.mean_score),
        str(group.n),
        f"{score_text(bounds.lower)} to {score_text(bounds.upper)}"
        if known
        else "mixed"
        if group.done and group.direction == "mixed"
        else "open"
        if group.done
        else "-",
    )


def _remarks(group: Group) -> Iterable[str]:
    if group.errors:
        yield _errors(group)
    if group.scored:
        yield f"SCORED {group.scored}: a score, and nothing that passes or fails"
    if group.direction == "minimize":
        yield "scores are minimised: less is better"
    if group.direction == "mixed":
        yield "some scores are maximised and some minimised: there is no mean over all tasks"
    if "2" in group.pass_at_k:
        rates = [(k, group.pass_at_k[k]) for k in _RATES if k in group.pass_at_k]
        yield ", ".join(f"pass@{k} {'undefined' if rate is None else f'{rate:.4g}'}" for k, rate in rates)
    if group.agreement is not None:
        yield f"agreement of repeats {group.agreement:.4g}"
    for metric in group.metrics:
        value = "undefined" if metric.value is None else score_text(metric.value)
        others = ", ".join(f"{number} {kind}" for kind, number in metric.left_out.items())
        left_out = f"; left out: {others}" if others else ""
        yield f"{metric.id} ({metric.aggregate}, {metric.direction}) {value}, n {metric.n}{left_out}"


def _errors(group: Group) -> str:
    """Every kind of ERROR with its blame, and how many of which count how in the mean."""
    kinds = ", ".join(f"{error.kind} {error.count} (blame {error.blame})" for error in group.errors)
    known = all(error.as_lowest is not None for error in group.errors)
    lowest = [(error.kind, error.as_lowest or 0) for error in group.errors]
    others = [(error.kind, error.count - (error.as_lowest or 0)) for error in group.errors]
    several = len(group.errors) > 1
    how = [
        f"{number} {what}" + (f" ({_numbers(parts)})" if known and several else "")
        for number, what, parts in (
            (
                group.errors_as_lowest,
                f"counted as the {_ENDS[group.direction]} score{_provoked(group)}",
                lowest,
            ),
            (group.errors_left_out, "left out of the mean", others),
        )
        if number
    ]
    return f"ERROR: {kinds}" + (f"; of {count(group.done, 'attempt')} {', '.join(how)}" if how else "")


def _numbers(parts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{number} {kind}" for kind, number in parts if number)
