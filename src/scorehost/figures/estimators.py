"""Rates over samples: pass@k, pass^k."""

from __future__ import annotations

from math import comb


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """The chance that at least one of k samples passes, estimated without bias from c passes among n samples.

    1 - C(n-c, k) / C(n, k): Chen et al., "Evaluating Large Language Models Trained on Code", 2021, eq. 1
    (arXiv:2107.03374). None when n < k.
    """
    if n < k:
        return None
    return 1.0 - comb(n - c, k) / comb(n, k)


def pass_power_k(n: int, c: int, k: int) -> float | None:
    """The chance that all of k samples pass, estimated without bias: C(c, k) / C(n, k).

    Called pass^k by Yao et al., "tau-bench: A Benchmark for Tool-Agent-User Interaction in Real-World
    Domains", 2024 (arXiv:2406.12045). None when n < k.
    """
    if n < k:
        return None
    return comb(c, k) / comb(n, k)


def ks(most: int) -> tuple[int, ...]:
    """The values of k that are told for at most `most` samples: 1 to 10, 20, 50, 100, …, and `most`."""
    chosen = {k for k in range(1, 11) if k <= most}
    step = 10
    while step <= most:
        chosen |= {k for k in (step, 2 * step, 5 * step) if k <= most}
        step *= 10
    return tuple(sorted(chosen | ({most} if most > 0 else set())))
