"""Holds `hadal validate` against an evaluator that shares nothing with it, on mutated plans of the corpus.

    python3 crates/hadal-lang/tests/mutated_plans.py target/release/hadal $HADAL_CORPUS/pddl [MUTANTS PER PLAN]

Knows lifted PDDL without time, preferences and constraints. Verdicts, failing steps and total costs must be equal.
"""

import glob
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from fractions import Fraction

NUMBER = re.compile(r"^-?[\d.]+$")


def parsed(text):
    """The first list of a text in parentheses."""
    stack = [[]]
    for token in re.findall(r"[()]|[^\s()]+", re.sub(r";[^\n]*", "", text).lower()):
        if token == "(":
            stack.append([])
        elif token == ")":
            closed = stack.pop()
            stack[-1].append(closed)
        else:
            stack[-1].append(token)
    return stack[0][0]


def typed(words):
    """Names with their types."""
    out, waiting, at = [], [], 0
    while at < len(words):
        if words[at] == "-":
            kind = words[at + 1]
            kinds = kind[1:] if isinstance(kind, list) else [kind]
            out += [(name, kinds) for name in waiting]
            waiting, at = [], at + 2
        else:
            waiting.append(words[at])
            at += 1
    return out + [(name, ["object"]) for name in waiting]


class Task:
    """A domain and a problem."""

    def __init__(self, domain, problem):
        self.actions, self.axioms, self.objects, self.fluents = {}, [], {}, {}
        self.facts, self.goal, self.metric, supertypes = set(), ["and"], None, {}
        for section in parsed(open(domain, errors="replace").read())[1:]:
            match section[0]:
                case ":types":
                    for name, kinds in typed(section[1:]):
                        supertypes.setdefault(name, set()).update(kinds)
                case ":constants":
                    self.objects.update(typed(section[1:]))
                case ":action":
                    parts = dict(zip(section[2::2], section[3::2]))
                    self.actions[section[1]] = (
                        typed(parts.get(":parameters", [])),
                        parts.get(":precondition", []),
                        parts.get(":effect", []),
                    )
                case ":derived":
                    self.axioms.append((section[1][0], typed(section[1][1:]), section[2]))
        for section in parsed(open(problem, errors="replace").read())[1:]:
            match section[0]:
                case ":objects":
                    self.objects.update(typed(section[1:]))
                case ":goal":
                    self.goal = section[1]
                case ":metric":
                    self.metric = section[2]
                case ":init":
                    for fact in section[1:]:
                        if fact[0] == "=":
                            name = tuple(fact[1]) if isinstance(fact[1], list) else (fact[1],)
                            self.fluents[name] = Fraction(fact[2])
                        elif fact[0] != "not":
                            self.facts.add(tuple(fact))
        self.kinds, self.of_kind = {}, {}
        for name, kinds in self.objects.items():
            known, waiting = {"object"}, list(kinds)
            while waiting:
                kind = waiting.pop()
                if kind not in known:
                    known.add(kind)
                    waiting += supertypes.get(kind, ())
            self.kinds[name] = known
            for kind in known:
                self.of_kind.setdefault(kind, []).append(name)
        self.derived = {name for name, _, _ in self.axioms}

    def bindings(self, parameters, outer):
        """All ways to bind the parameters."""
        choices = [[it for kind in kinds for it in self.of_kind.get(kind, [])] for _, kinds in parameters]
        for chosen in itertools.product(*choices):
            yield {**outer, **{name: value for (name, _), value in zip(parameters, chosen)}}

    def value(self, term, bound, fluents):
        if isinstance(term, str):
            return Fraction(term) if NUMBER.match(term) else fluents[(term,)]
        if term[0] not in ("+", "-", "*", "/"):
            return fluents[tuple(bound.get(word, word) for word in term)]
        first, *others = [self.value(part, bound, fluents) for part in term[1:]]
        if term[0] == "-" and not others:
            return -first
        for other in others:
            match term[0]:
                case "+":
                    first += other
                case "-":
                    first -= other
                case "*":
                    first *= other
                case "/":
                    first /= other
        return first

    def holds(self, formula, bound, facts, fluents):
        def inner(part, binding=bound):
            return self.holds(part, binding, facts, fluents)

        if not formula:
            return True
        match formula[0]:
            case "and":
                return all(map(inner, formula[1:]))
            case "or":
                return any(map(inner, formula[1:]))
            case "not":
                return not inner(formula[1])
            case "imply":
                return not inner(formula[1]) or inner(formula[2])
            case "forall":
                return all(inner(formula[2], it) for it in self.bindings(typed(formula[1]), bound))
            case "exists":
                return any(inner(formula[2], it) for it in self.bindings(typed(formula[1]), bound))
            case "=" if isinstance(formula[1], str) and isinstance(formula[2], str) and not NUMBER.match(formula[2]):
                return bound.get(formula[1], formula[1]) == bound.get(formula[2], formula[2])
            case "<" | ">" | "<=" | ">=" | "=":
                left, right = (self.value(part, bound, fluents) for part in formula[1:])
                return {"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}.get(
                    formula[0], left == right
                )
        return tuple(bound.get(word, word) for word in formula) in facts

    def negations(self, formula, positive=True):
        """Derived predicates in a formula, with whether they stand there without a negation."""
        if formula and formula[0] in ("not", "imply"):
            yield from self.negations(formula[1], not positive)
            yield from (it for part in formula[2:] for it in self.negations(part, positive))
        elif formula and formula[0] in ("and", "or"):
            yield from (it for part in formula[1:] for it in self.negations(part, positive))
        elif formula and formula[0] in ("forall", "exists"):
            yield from self.negations(formula[2], positive)
        elif formula and formula[0] in self.derived:
            yield formula[0], positive

    def closed(self, facts, fluents):
        """The facts with those that axioms derive from them, stratum by stratum."""
        if not self.axioms:
            return facts
        stratum = dict.fromkeys(self.derived, 0)
        for _ in self.axioms:
            for name, _, body in self.axioms:
                for other, positive in self.negations(body):
                    stratum[name] = max(stratum[name], stratum[other] + (not positive))
        known = set(facts)
        for level in range(max(stratum.values()) + 1):
            before = None
            while before != len(known):
                before = len(known)
                for name, parameters, body in self.axioms:
                    if stratum[name] == level:
                        for bound in self.bindings(parameters, {}):
                            if self.holds(body, bound, known, fluents):
                                known.add((name, *(bound[it] for it, _ in parameters)))
        return known

    def effects(self, effect, bound, facts, fluents):
        """What an effect adds, deletes and computes."""
        if not effect:
            return
        match effect[0]:
            case "and":
                for part in effect[1:]:
                    yield from self.effects(part, bound, facts, fluents)
            case "when":
                if self.holds(effect[1], bound, facts, fluents):
                    yield from self.effects(effect[2], bound, facts, fluents)
            case "forall":
                for inner in self.bindings(typed(effect[1]), bound):
                    yield from self.effects(effect[2], inner, facts, fluents)
            case "increase" | "decrease" | "assign" | "scale-up" | "scale-down":
                name = effect[1] if isinstance(effect[1], list) else [effect[1]]
                target = tuple(bound.get(word, word) for word in name)
                yield effect[0], target, self.value(effect[2], bound, fluents)
            case "not":
                yield "delete", tuple(bound.get(word, word) for word in effect[1]), None
            case _:
                yield "add", tuple(bound.get(word, word) for word in effect), None

    def judged(self, plan):
        """Whether a plan is valid, at which step it fails (none where the goal is missed), and its total cost."""
        facts, fluents = self.facts, self.fluents
        for number, (name, *arguments) in enumerate(plan, 1):
            parameters, precondition, effect = self.actions.get(name, ([], [], []))
            fits = name in self.actions and len(parameters) == len(arguments)
            if not fits or not all(
                any(kind in self.kinds.get(it, ()) for kind in kinds) for (_, kinds), it in zip(parameters, arguments)
            ):
                return False, number, None
            bound = {it: value for (it, _), value in zip(parameters, arguments)}
            known = self.closed(facts, fluents)
            try:
                if not self.holds(precondition, bound, known, fluents):
                    return False, number, None
                changes = list(self.effects(effect, bound, known, fluents))
            except KeyError:
                # A number that has no value.
                return False, number, None
            facts = facts - {fact for what, fact, _ in changes if what == "delete"}
            facts = facts | {fact for what, fact, _ in changes if what == "add"}
            fluents = dict(fluents)
            for what, target, value in changes:
                old = fluents.get(target, Fraction(0))
                match what:
                    case "assign":
                        fluents[target] = value
                    case "increase":
                        fluents[target] = old + value
                    case "decrease":
                        fluents[target] = old - value
                    case "scale-up":
                        fluents[target] = old * value
                    case "scale-down":
                        fluents[target] = old / value
        valid = self.holds(self.goal, {}, self.closed(facts, fluents), fluents)
        return valid, None, fluents.get(("total-cost",))


def mutated(plan, task, draw):
    """The plan with one step left out, exchanged, repeated or changed, or cut off."""
    plan = [list(step) for step in plan]
    at = draw.randrange(len(plan))
    match draw.choice(["drop", "swap", "argument", "repeat", "cut", "action"]):
        case "swap":
            other = draw.randrange(len(plan))
            plan[at], plan[other] = plan[other], plan[at]
        case "argument" if len(plan[at]) > 1:
            place = draw.randrange(1, len(plan[at]))
            kinds = task.kinds.get(plan[at][place], set()) - {"object"}
            alike = [it for it in task.objects if task.kinds[it] & kinds]
            plan[at][place] = draw.choice(alike or list(task.objects))
        case "repeat":
            plan.insert(draw.randrange(len(plan) + 1), list(plan[at]))
        case "cut":
            plan = plan[:at]
        case "action":
            plan[at][0] = draw.choice(list(task.actions))
        case _:
            plan.pop(at)
    return plan


def domain_of(problem):
    """The file of the domain that belongs to a problem."""
    folder, stem = os.path.dirname(problem), os.path.basename(problem)[: -len(".pddl")]
    for name in (f"domain-{stem}", f"{stem}-domain", f"domain_{stem}", f"{stem}_domain", "domain"):
        if os.path.exists(f"{folder}/{name}.pddl"):
            return f"{folder}/{name}.pddl"
    return None


def main(hadal, corpus, count=12):
    draw, plans, mutants, accepted, different, skipped = random.Random(7), 0, 0, 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for published in sorted(glob.glob(f"{corpus}/**/*.plan", recursive=True)):
            problem = published[: -len(".plan")] + ".pddl"
            domain = domain_of(problem)
            if domain is None:
                skipped += 1
                continue
            task = Task(domain, problem)
            steps = [parsed(line) for line in open(published) if line.startswith("(")]
            assert task.judged(steps)[0], published
            plans += 1
            for _ in range(count):
                plan = mutated(steps, task, draw)
                if plan == steps:
                    continue
                file = os.path.join(folder, "mutant.plan")
                with open(file, "w") as out:
                    out.writelines(f"({' '.join(step)})\n" for step in plan)
                run = subprocess.run([hadal, "validate", domain, problem, file, "--json"], capture_output=True, text=True)
                answer = json.loads(run.stdout)
                valid, step, cost = task.judged(plan)
                same = (answer["verdict"] == "valid") == valid
                same = same and (valid or answer["flaw"].get("step") == step)
                if valid and task.metric in (["total-cost"], "total-cost"):
                    same = same and Fraction(str(answer["cost"])) == cost
                mutants, accepted, different = mutants + 1, accepted + valid, different + (not same)
                if not same:
                    print(f"{published}: hadal says {answer}, the evaluator {valid, step, cost}\n{plan}")
    print(f"{plans} plans ({skipped} without a domain), {mutants} mutants, {accepted} of them valid, {different} judged differently")
    return different > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3], *map(int, sys.argv[3:])))
