//! What models mean, run on the interpreter: outcomes of the one-feature models, published counts, and small models
//! for what those do not cover.

use hadal_exec::{Interpreter, Outcome};
use hadal_lang::murphi;
use hadal_system::{Check, Label, Layout, PropertyId, PropertyKind, Source, Successors, System};
use std::collections::{HashMap, HashSet, VecDeque};
use std::fs;
use std::path::PathBuf;

/// When a state counts as a deadlock.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deadlock {
    Off,
    /// No rule can fire.
    Stuck,
    /// Every rule that can fire leads back to the state.
    Stuttering,
}

/// How an exploration without symmetry reduction ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Holds {
        states: usize,
        fired: u64,
    },
    /// What was violated.
    Violated(String),
    TooLarge,
}

fn explore(system: &System, deadlock: Deadlock, limit: usize) -> End {
    let layout = Layout::natural(system);
    let interpreter = Interpreter::new(system, &layout);
    let infos = system.property_infos();
    let mut covers = vec![0u64; infos.len()];
    let mut found: HashSet<Vec<u64>> = HashSet::new();
    let mut before: HashMap<Vec<u64>, Vec<Vec<u64>>> = HashMap::new();
    let mut queue = VecDeque::new();
    let mut out = Successors::new(layout.words());
    let mut fired = 0;
    let explain = |outcome: Outcome| match outcome {
        Outcome::Fault(fault) => End::Violated(fault.message),
        _ => End::Violated("fault".into()),
    };
    interpreter.initial(&mut out, &mut covers);
    if let Some(&label) = out.faults().first() {
        return explain(interpreter.start(label));
    }
    let mut source: Option<Vec<u64>> = None;
    loop {
        let reached: Vec<Vec<u64>> = out.iter().map(|(_, state)| state.to_vec()).collect();
        if let Some(state) = &source {
            fired += reached.len() as u64;
            let is_stuck = match deadlock {
                Deadlock::Off => false,
                Deadlock::Stuck => reached.is_empty(),
                Deadlock::Stuttering => reached.iter().all(|next| next == state),
            };
            if is_stuck {
                return End::Violated("deadlock".into());
            }
        }
        for next in reached {
            if let Some(state) = &source {
                before.entry(next.clone()).or_default().push(state.clone());
            }
            if found.insert(next.clone()) {
                match interpreter.check(&next) {
                    Check::Fine => {}
                    Check::Hit(id) | Check::Fault(id) => {
                        return End::Violated(infos[id.0 as usize].name.clone());
                    }
                }
                for (n, info) in infos.iter().enumerate() {
                    let holds = info.kind == PropertyKind::Cover
                        && interpreter.satisfies(&next, PropertyId(n as u32)) == Some(true);
                    covers[n] += u64::from(holds);
                }
                queue.push_back(next);
            }
        }
        if found.len() > limit {
            return End::TooLarge;
        }
        let Some(state) = queue.pop_front() else { break };
        out.clear();
        interpreter.successors(&state, &mut out, &mut covers);
        if let Some(&Label(label)) = out.faults().first() {
            return explain(interpreter.fire(&state, Label(label)));
        }
        source = Some(state);
    }
    for (n, info) in infos.iter().enumerate() {
        let id = PropertyId(n as u32);
        let violated = match info.kind {
            PropertyKind::Cover => covers[n] == 0,
            PropertyKind::Liveness => {
                let mut good: HashSet<&Vec<u64>> =
                    found.iter().filter(|s| interpreter.satisfies(s, id) == Some(true)).collect();
                let mut open: Vec<&Vec<u64>> = good.iter().copied().collect();
                while let Some(state) = open.pop() {
                    for previous in before.get(state).into_iter().flatten() {
                        if good.insert(previous) {
                            open.push(previous);
                        }
                    }
                }
                good.len() < found.len()
            }
            _ => false,
        };
        if violated {
            return End::Violated(info.name.clone());
        }
    }
    End::Holds { states: found.len(), fired }
}

fn system(text: &str, overrides: &[(&str, i64)]) -> System {
    let overrides: Vec<(String, i64)> = overrides.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
    match murphi::load(Source::new("model.m", text), &overrides) {
        Ok(loaded) => loaded.system,
        Err(refused) => panic!("refused: {:#?}", refused.diagnostics.list),
    }
}

fn corpus() -> Option<PathBuf> {
    hadal_testkit::corpus::find("murphi")
}

/// One-feature models whose outcome is about something else than the language, see `docs/languages/murphi.md`; and
/// one in which a rule leads to a state that an assumption removes, which is up to the explorer to count as no deadlock.
fn is_about_something_else(name: &str) -> bool {
    name.starts_with("smt-") || ["bound-limit.m", "uint64-model.m", "string-injection.m"].contains(&name)
}

#[test]
fn one_feature_models_end_as_their_headers_say() {
    let Some(corpus) = corpus() else { return };
    let mut wrong = Vec::new();
    for entry in fs::read_dir(corpus.join("rumur-tests")).expect("the corpus can be read") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_owned();
        let text = String::from_utf8_lossy(&fs::read(&path).expect("readable")).into_owned();
        if !name.ends_with(".m") || is_about_something_else(&name) || text.contains("rumur_exit_code: 1") {
            continue;
        }
        let flags = text.lines().find(|l| l.contains("rumur_flags")).unwrap_or_default();
        let deadlock = if flags.contains("'off'") && flags.contains("deadlock") {
            Deadlock::Off
        } else if flags.contains("'stuck'") {
            Deadlock::Stuck
        } else {
            Deadlock::Stuttering
        };
        let should_fail = text.contains("checker_exit_code: 1");
        match explore(&system(&text, &[]), deadlock, 20_000) {
            End::Holds { .. } if !should_fail => {}
            End::Violated(_) if should_fail => {}
            End::TooLarge => {}
            end => wrong.push(format!("{name}: {end:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn published_counts_are_met() {
    let Some(corpus) = corpus() else { return };
    for (file, overrides, states, fired) in [
        ("cmurphi/mux/2_peterson.m", &[][..], 26, 52),
        ("cmurphi/mux/mcslock1.m", &[("N", 2)], 159, 318),
        ("cmurphi/mux/mcslock1.m", &[("N", 3)], 7597, 22791),
        ("cmurphi/mux/mcslock2.m", &[("N", 2)], 1098, 2196),
        ("cmurphi/mux/n_peterson.m", &[("N", 3)], 882, 2646),
        ("cmurphi/others/cache3.m", &[], 577, 2440),
        ("cmurphi/dash/eadash.m", &[("RemoteCount", 1), ("nohome", 0)], 402, 2514),
        ("cmurphi/dash/eadash.m", &[("RemoteCount", 2)], 1694, 11712),
        ("cmurphi/dash/ldash.m", &[("RemoteCount", 1), ("nohome", 0)], 163, 683),
        ("cmurphi/dash/ldash.m", &[("RemoteCount", 2)], 740, 3596),
        ("cmurphi/sym/list6.m", &[("CellCount", 4)], 8893, 29584),
        ("mutual/mutual_n2.m", &[], 12, 20),
    ] {
        let text = fs::read(corpus.join(file)).expect("the corpus can be read");
        let system = system(&String::from_utf8_lossy(&text), overrides);
        assert_eq!(
            explore(&system, Deadlock::Off, 40_000),
            End::Holds { states, fired },
            "{file} {overrides:?}"
        );
    }
}

/// Runs a model that asserts what it is about.
fn holds(text: &str) -> (usize, u64) {
    match explore(&system(text, &[]), Deadlock::Off, 1000) {
        End::Holds { states, fired } => (states, fired),
        end => panic!("{end:?}\n{text}"),
    }
}

fn violates(text: &str) -> String {
    match explore(&system(text, &[]), Deadlock::Off, 1000) {
        End::Violated(what) => what,
        end => panic!("{end:?}\n{text}"),
    }
}

#[test]
fn functions_return_records_wherever_values_stand() {
    holds(
        "type r: record a: 0 .. 9; b: boolean; end; var v, w: r; n: 0 .. 9;\n\
         function make(a: 0 .. 9): r; var l: r; begin l.a := a; l.b := true; return l; end;\n\
         function again(a: 0 .. 9): r; begin return make(a + 1); end;\n\
         function sum(x: r; y: r): 0 .. 9; begin return x.a + y.a; end;\n\
         startstate begin v := make(1); w := again(2); n := 0; end;\n\
         ruleset i: 0 .. 1 do rule n < 3 & sum(make(i), again(n)) > 0 ==> var l: r; begin\n\
           l := v; v := again(v.a); assert v.a = l.a + 1; v := l;\n\
           assert make(3) = w; assert make(i) != again(i); assert sum(make(n), w) = n + 3;\n\
           make(4); n := n + 1;\n\
           alias z: make(5) do assert z.a = 5 & z.b; end;\n\
         end; end;",
    );
}

#[test]
fn aliases_are_bound_once() {
    holds(
        "var i: 0 .. 3; a: array [0 .. 3] of 0 .. 9; startstate begin i := 0; for j: 0 .. 3 do a[j] := j; end; end;\n\
         alias x: a[i]; y: i + 1 do rule x = i & y = i + 1 & i < 3 ==> begin\n\
           i := i + 1; assert y = i; x := 9; assert a[i - 1] = 9 & a[i] = i; x := i - 1;\n\
           alias p: a[i]; q: p do i := 0; q := 7; assert a[y] = 7; p := y; end; i := y;\n\
         end end;",
    );
}

#[test]
fn parameters_by_value_stay_what_they_were() {
    holds(
        "type r: record a: 0 .. 9; end; var v: r; n: 0 .. 9;\n\
         procedure p(x: r; var y: r; k: 0 .. 9); begin y.a := 5; v.a := 6; n := 7; assert x.a = 1 & y.a = 6 & k = 2; end;\n\
         startstate begin v.a := 1; n := 2; p(v, v, n); assert v.a = 6; end; rule begin end;",
    );
}

#[test]
fn multiset_operations_do_what_they_say() {
    holds(
        "type t: 0 .. 2; var m: multiset [3] of t; x: t;\n\
         startstate begin\n\
           x := 2; multisetadd(x, m); multisetadd(1, m); multisetadd(x, m);\n\
           assert multisetcount(i: m, true) = 3; assert multisetcount(i: m, m[i] = x) = 2;\n\
           multisetremovepred(i: m, m[i] = 2); assert multisetcount(i: m, true) = 1;\n\
           multisetadd(0, m);\n\
         end;\n\
         choose c: m do rule \"take\" m[c] = 1 ==> begin\n\
           multisetremove(c, m); assert multisetcount(i: m, m[i] = 1) = 0; multisetadd(x - 1, m);\n\
         end end;\n\
         choose c: m do invariant m[c] < 2 end;",
    );
    let full = violates(
        "var m: multiset [1] of boolean; startstate begin multisetadd(true, m); multisetadd(true, m); end; rule begin end;",
    );
    assert!(full.contains("full"), "{full}");
}

#[test]
fn rules_wait_for_rules_of_a_lower_number() {
    let (states, fired) = holds(
        "var x: 0 .. 9; startstate begin x := 0; end;\n\
         ruleset i: 0 .. 1 do rule 10 \"first\" x = i ==> begin x := x + 1; end end;\n\
         rule 20 \"later\" x < 5 ==> begin x := x + 1; assert x > 2; end;\n\
         rule 20 \"last\" x = 5 ==> begin x := 9; end;",
    );
    assert_eq!((states, fired), (7, 6));
}

#[test]
fn undefined_values_are_errors_or_copied_as_the_dialect_says() {
    let strict = violates("var x, y: 0 .. 1; startstate begin end; rule begin x := y; end;");
    assert!(strict.contains("undefined"), "{strict}");
    holds(
        "type s: scalarset(2); e: enum { home }; u: union { s, e }; var x, y: u; z: s; n, k: 0 .. 1;\n\
         procedure p(a: u; b: s); begin x := a; z := b; end;\n\
         startstate begin n := 0; k := 0; undefine k; end;\n\
         rule begin x := y; assert isundefined(x); assert x = y; assert x != home; n := k; assert isundefined(n);\n\
           p(undefined, undefined); assert isundefined(x) & isundefined(z); assert !ismember(x, s);\n\
           p(home, undefined); assert x = home & ismember(x, e); undefine x; n := 0; end;",
    );
    let range = violates(
        "type s: scalarset(2); e: enum { home }; u: union { s, e }; var x: u; n: 0 .. 1;\n\
         startstate begin x := home; end; rule n = 0 ==> begin end;",
    );
    assert!(range.contains("undefined"), "{range}");
}

#[test]
fn loops_run_up_down_and_not_at_all() {
    holds(
        "var n: 0 .. 99; z: 0 .. 3; startstate begin\n\
           n := 0; z := 0; for i := 5 to 1 by -2 do n := n * 10 % 90 + i; end; assert n = 81;\n\
           n := 0; for i := 1 to z do n := 9; end; assert n = 0;\n\
           for i: 0 .. 1; j := i to 2 do n := n + 1; end; assert n = 5;\n\
           assert forall i := 3 to z do false end; assert !exists i := 3 to z do true end;\n\
         end; rule begin end;",
    );
}
