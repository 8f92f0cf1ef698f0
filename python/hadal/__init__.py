"""hadal: check models, plan, solve, and explore state spaces written in Python.

>>> import hadal
>>> hadal.check("models/peterson.m").verdict
'holds'

Searches run in the libraries that the command `hadal` runs on; there is no process in between.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Hashable, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from . import _hadal
from ._hadal import ModelError

__all__ = [
    "CheckResult",
    "ModelError",
    "PlanResult",
    "StateSpace",
    "Step",
    "Value",
    "check",
    "explore",
    "plan",
    "solve",
]

Path = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Step:
    """One step of a trace: the action, and the state after it."""

    action: str
    state: Any


@dataclass(frozen=True)
class CheckResult:
    """What a search came to. `verdict` is 'holds', 'violated' or 'stopped'; only 'holds' says that every state was seen."""

    verdict: str
    reason: str
    states: int
    transitions: int
    depth: Optional[int]
    property: Optional[str] = None
    trace: Optional[List[Step]] = None
    properties: Dict[str, str] = field(default_factory=dict)
    never_fired: List[str] = field(default_factory=list)
    warnings: List[str] = field(default_factory=list)
    run: Optional[str] = None

    def __bool__(self) -> bool:
        return self.verdict == "holds"

    def __str__(self) -> str:
        lines = [f"{self.verdict.upper()}: {self.property or self.reason}"]
        for number, step in enumerate(self.trace or ()):
            lines.append(f"{number:>5}  {step.action}  {step.state}")
        lines.append(f"  {self.states} states, {self.transitions} transitions")
        return "\n".join(lines)


@dataclass(frozen=True)
class PlanResult:
    """What planning came to. `answer` is 'solved', 'unsolvable' or 'stopped'; `optimal` is said only where it was proved."""

    answer: str
    reason: str
    steps: Optional[List[str]]
    cost: Optional[float]
    optimal: bool
    expanded: int


@dataclass(frozen=True)
class Value:
    """The answer to one question about a decision process: between `lower` and `upper`, or whether it `holds`."""

    name: str
    formula: str
    lower: Optional[float]
    upper: Optional[float]
    exact: Optional[str]
    holds: Optional[bool]
    states: int
    choices: int


def _settings(
    memory: Union[str, int, None] = None,
    threads: Optional[int] = None,
    strategy: Optional[str] = None,
    max_states: Optional[int] = None,
    max_depth: Optional[int] = None,
    time_limit: Optional[float] = None,
) -> Dict[str, Any]:
    return {
        "memory": None if memory is None else str(memory),
        "threads": threads,
        "strategy": strategy,
        "max_states": max_states,
        "max_depth": max_depth,
        "time_limit": time_limit,
    }


def _result(found: Dict[str, Any]) -> CheckResult:
    trace = found.pop("trace")
    run = found.pop("run", None)
    steps = None if trace is None else [Step(action, state) for action, state in trace]
    return CheckResult(trace=steps, run=None if run is None else str(run), **found)


def check(
    model: Path,
    *,
    define: Optional[Mapping[str, Any]] = None,
    properties: Sequence[str] = (),
    deadlock: Optional[bool] = None,
    find: bool = False,
    **settings: Any,
) -> CheckResult:
    """Checks the model in a file, in the language that its extension names.

    `define` gives constants values, `properties` names what is asked (everything the model asks unless it is given),
    `deadlock` says whether deadlocks are looked for (unless properties are named), `find` looks where a guide says an error is
    near. Settings: `memory` ("500M"), `threads`, `strategy`, `max_states`, `max_depth`, `time_limit` in seconds.
    """
    asked = {
        "properties": list(properties),
        "deadlock": not properties if deadlock is None else deadlock,
        "find": find,
    }
    return _result(_hadal.check(os.fspath(model), list((define or {}).items()), asked, _settings(**settings)))


def plan(domain: Path, problem: Optional[Path] = None, *, optimal: bool = False, **settings: Any) -> PlanResult:
    """Plans for a problem in PDDL, in RAM. Settings: `memory`, `threads`, `time_limit` in seconds."""
    where = os.fspath(domain)
    found = _hadal.plan(where, where if problem is None else os.fspath(problem), optimal, _settings(**settings))
    return PlanResult(**found)


def solve(
    model: Path,
    formula: Optional[str] = None,
    *,
    properties: Optional[Path] = None,
    names: Sequence[str] = (),
    define: Optional[Mapping[str, Any]] = None,
    precision: float = 1e-6,
    exact: bool = False,
    **settings: Any,
) -> List[Value]:
    """Answers a formula about a model in PRISM's language, or the properties in a file (all, or those in `names`).

    Settings: `memory`, `max_states`.
    """
    if not 0 < precision < 1:
        raise ValueError("precision lies between 0 and 1")
    asked = {
        "formula": formula,
        "properties": None if properties is None else os.fspath(properties),
        "names": list(names),
        "precision": precision,
        "exact": exact,
    }
    answers = _hadal.solve(os.fspath(model), list((define or {}).items()), asked, _settings(**settings))
    return [Value(**answer) for answer in answers]


class StateSpace:
    """A state space written in Python. States are any hashable values; equal values are one state.

    Write `initial` and `successors`; put functions from a state to a truth value in `invariants` (what must be true
    everywhere) and `goals` (what is looked for).
    """

    invariants: Mapping[str, Callable[[Any], bool]] = {}
    goals: Mapping[str, Callable[[Any], bool]] = {}
    deadlock: bool = False
    """Whether a state without successors is an error."""

    def initial(self) -> Iterable[Hashable]:
        """The initial states."""
        raise NotImplementedError

    def successors(self, state: Any) -> Iterable[Tuple[str, Hashable]]:
        """Pairs of an action's name and the state that it leads to."""
        raise NotImplementedError

    def explore(self, **settings: Any) -> CheckResult:
        """Explores it: see `hadal.explore`."""
        return explore(self, **settings)


def explore(space: StateSpace, **settings: Any) -> CheckResult:
    """Explores a state space, breadth-first unless another strategy is named: the trace is a shortest one.

    Settings: `memory`, `strategy`, `max_states`, `max_depth`, `time_limit` in seconds. What Python raises in the space's
    functions ends the search and is raised here.
    """
    parts = {
        "initial": space.initial,
        "successors": space.successors,
        "invariants": list(space.invariants.items()),
        "goals": list(space.goals.items()),
        "deadlock": space.deadlock,
    }
    return _result(_hadal.explore(parts, _settings(**settings)))
