"""What is measured: the workloads, and which client takes part in each with how many requests."""

from __future__ import annotations

from kit.workloads import bodies, crowds
from kit.workloads.workload import Workload

__all__ = ["Workload", "all_workloads"]


def all_workloads() -> list[Workload]:
    """In the order in which they are run and printed."""
    return [
        *(workload for at_once in (1, 64, 1000) for workload in bodies.small(at_once)),
        *bodies.blocking(),
        *bodies.senders(),
        *bodies.transports(),
        *bodies.large(),
        *bodies.decoding(),
        *bodies.tls(),
        *bodies.files(),
        *crowds.beside(),
        *crowds.flights(),
        *crowds.cold(),
        *crowds.wake_ups(),
        *crowds.threads(),
        *bodies.growth(),
    ]
