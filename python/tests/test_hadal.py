"""The package against models whose answers are known, and state spaces that can be counted by hand."""

from pathlib import Path

import hadal
import pytest

MODELS = Path(__file__).resolve().parents[2] / "models"


def test_a_bundled_model_holds_with_the_counts_of_the_command():
    result = hadal.check(MODELS / "peterson.m", memory="64M")
    assert result and result.verdict == "holds"
    assert (result.states, result.transitions, result.depth) == (322, 943, 24)
    assert result.properties == {"mutual exclusion": "holds", "no deadlock": "holds"}
    assert result.trace is None


def test_a_violation_has_its_shortest_trace(tmp_path):
    model = tmp_path / "counter.m"
    model.write_text(
        "var x: 0..9; startstate x := 0; end; rule \"up\" x < 9 ==> x := x + 1; end; "
        "rule \"again\" x = 9 ==> x := 0; end; invariant \"small\" x < 3;"
    )
    for strategy in ("auto", "sort", "dfs"):
        result = hadal.check(model, strategy=strategy, memory="64M")
        assert not result
        assert result.property == "small"
        assert [step.action for step in result.trace][1:] == ["up"] * 3
        assert result.trace[-1].state == {"x": "3"}


def test_families_take_parameters_and_limits_stop():
    result = hadal.check(MODELS / "philosophers.mdve", define={"N": 4}, deadlock=False)
    assert (result.verdict, result.states) == ("holds", 80)
    result = hadal.check(MODELS / "philosophers.mdve", define={"N": 9}, deadlock=False, max_states=100)
    assert result.verdict == "stopped" and "states" in result.reason


def test_mistakes_are_exceptions_with_places(tmp_path):
    model = tmp_path / "wrong.m"
    model.write_text("var x: 0..9;\nstartstate y := 0; end;")
    with pytest.raises(hadal.ModelError, match=r"wrong.m:2:12: error"):
        hadal.check(model)
    with pytest.raises(OSError):
        hadal.check(tmp_path / "absent.m")
    with pytest.raises(ValueError, match="no property"):
        hadal.check(MODELS / "peterson.m", properties=["absent"])
    with pytest.raises(ValueError, match="no such strategy"):
        hadal.check(MODELS / "peterson.m", strategy="absent")


def test_a_plan_of_least_cost_is_found(tmp_path):
    domain = tmp_path / "domain.pddl"
    domain.write_text(
        """(define (domain line) (:requirements :strips :typing) (:types place)
        (:predicates (at ?p - place) (next ?a ?b - place))
        (:action go :parameters (?a ?b - place) :precondition (and (at ?a) (next ?a ?b))
         :effect (and (not (at ?a)) (at ?b))))"""
    )
    problem = tmp_path / "problem.pddl"
    problem.write_text(
        """(define (problem p) (:domain line) (:objects a b c d - place)
        (:init (at a) (next a b) (next b c) (next c d) (next a c)) (:goal (at d)))"""
    )
    result = hadal.plan(domain, problem, optimal=True, memory="256M")
    assert (result.answer, result.optimal, result.cost) == ("solved", True, 2.0)
    assert [step.strip("()") for step in result.steps] == ["go a c", "go c d"]
    problem.write_text(problem.read_text().replace("(next c d)", ""))
    assert hadal.plan(domain, problem, memory="256M").answer == "unsolvable"


def test_values_lie_between_their_bounds():
    (value,) = hadal.solve(MODELS / "gambler.prism", 'Pmax=? [ F "rich" ]')
    assert value.lower <= value.upper and value.upper - value.lower <= 1e-6 * max(value.upper, 1e-9)
    (exact,) = hadal.solve(MODELS / "gambler.prism", 'Pmax=? [ F "rich" ]', exact=True)
    numerator, _, denominator = exact.exact.partition("/")
    assert value.lower - 1e-12 <= int(numerator) / int(denominator or 1) <= value.upper + 1e-12


class Jugs(hadal.StateSpace):
    """Two jugs of 3 and 5 litres: measure 4."""

    goals = {"four litres": lambda state: state[1] == 4}

    def initial(self):
        yield (0, 0)

    def successors(self, state):
        small, large = state
        yield "fill small", (3, large)
        yield "fill large", (small, 5)
        yield "empty small", (0, large)
        yield "empty large", (small, 0)
        moved = min(small, 5 - large)
        yield "small to large", (small - moved, large + moved)
        moved = min(large, 3 - small)
        yield "large to small", (small + moved, large - moved)


def test_a_space_in_python_has_shortest_traces_in_every_strategy():
    for strategy in (None, "bfs", "sort"):
        result = Jugs().explore(strategy=strategy, memory="64M")
        assert (result.verdict, result.property) == ("violated", "four litres")
        assert len(result.trace) - 1 == 6
        state = (0, 0)
        for step in result.trace[1:]:
            assert (step.action, step.state) in list(Jugs().successors(state))
            state = step.state
        assert state[1] == 4


def test_all_states_are_counted_once():
    class Cube(hadal.StateSpace):
        """Ten bits that are set one by one, as frozen sets: equal sets are one state."""

        invariants = {"at most ten": lambda state: len(state) <= 10}

        def initial(self):
            return [frozenset()]

        def successors(self, state):
            for bit in range(10):
                if bit not in state:
                    yield f"set {bit}", state | {bit}

    result = Cube().explore(memory="64M")
    assert (result.verdict, result.states, result.transitions, result.depth) == ("holds", 1024, 5120, 10)
    Cube.deadlock = True
    stuck = Cube().explore(memory="64M")
    assert (stuck.property, len(stuck.trace) - 1) == ("deadlock", 10)


def test_what_python_raises_is_raised():
    class Broken(Jugs):
        def successors(self, state):
            raise KeyError("not written yet")

    with pytest.raises(KeyError, match="not written yet"):
        Broken().explore()

    class Unhashable(Jugs):
        def initial(self):
            return [[0, 0]]

    with pytest.raises(TypeError, match="unhashable"):
        Unhashable().explore()
