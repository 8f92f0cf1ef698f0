//! Whatever the text, the front end answers: no panic, no overflow, spans on the text, accepted systems well formed.
//!
//! Mutates small models below and, where present, the corpus. Deterministic for a given number of rounds; runs a few
//! seconds, or as long as `HADAL_FUZZ_SECONDS` says. A failure prints the round: `HADAL_FUZZ_ROUND` repeats it alone.

use hadal_lang::diagnostic::render_plain;
use hadal_lang::murphi::{self, lex, token::Kind};
use hadal_lang::{Diagnostics, Severity};
use hadal_system::{Source, validate::validate};
use hadal_testkit::Random;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

const SMALL_MODELS: &[&str] = &[
    "const N: 3; type t: 0 .. N; s: scalarset(N); e: enum { a, b }; u: union { s, e };\n\
     r: record x: t; y: array [u] of e; end;\n\
     var v: r; m: multiset [N] of u; w: array [s] of boolean;\n\
     function f(p: t; var q: r): r; var l: r; begin l := q; l.x := p; return l; end;\n\
     function g(p: r): boolean; begin return p.x = 1 | isundefined(p.y[a]); end;\n\
     procedure h(p: u); begin multisetadd(p, m); end;\n\
     startstate \"s\" begin clear v; for i: s do w[i] := false; end; undefine m; end;\n\
     ruleset i: s; j := 0 to N by 2 do alias z: w[i]; k: j + 1 do\n\
     rule \"r\" !z & g(f(j, v)) & multisetcount(c: m, m[c] = i) < N ==> var l: r; begin z := !z; l := f(k - 1, v); h(i); end;\n\
     end end;\n\
     choose c: m do rule ismember(m[c], s) ==> begin multisetremove(c, m); multisetremovepred(d: m, true); end end;\n\
     invariant \"i\" forall i: s do exists j: u do w[i] -> i = j end end;\n\
     cover v.x = 2; liveness \"l\" v.x = 0; assume v.x <= N;",
    "var x: 0 .. 10; b: boolean; startstate begin x := 0; b := x = 0; end;\n\
     rule x < 10 ==> begin x := (x + 1) % 11 << 0 | 0; switch x case 1, 2: b := !b; else put x; put \"n\\n\"; end; end;\n\
     rule 5 \"p\" b ==> begin while x > 0 do x := x - 1; end; if b then return; elsif !b then error \"e\" end; end;\n\
     rule begin alias y: x do y := b ? 1 : -~-2; assert y != 3 \"m\"; cover y = 1; assume b || !b && b; end; end;",
];

fn seeds() -> Vec<String> {
    let mut seeds: Vec<String> = SMALL_MODELS.iter().map(|m| (*m).to_owned()).collect();
    let root = hadal_testkit::corpus::root();
    let files = hadal_testkit::corpus::files(&root.join("murphi"), &["m"]);
    if files.is_empty() {
        println!("no corpus at {}: mutating small models only", root.display());
    }
    for file in files {
        let text = hadal_testkit::corpus::text(&file);
        // The largest models make few rounds per second and add little.
        if text.len() < 60_000 {
            seeds.push(text);
        }
    }
    seeds
}

/// Signs, letters, and pieces of characters of several bytes.
const INSERTED: &[u8] = b"()[]{};:=<>&|!-+*/%?,.\"'\\0aZ_ \n\xe2\x86\x92\xff";

fn mutate_bytes(text: &str, random: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(8) {
        let at = random.below(bytes.len());
        match random.below(5) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            1 => bytes.insert(at, INSERTED[random.below(INSERTED.len())]),
            2 if !bytes.is_empty() => {
                bytes.drain(at..(at + random.below(20)).min(bytes.len()));
            }
            3 => {
                let piece = bytes[at..(at + random.below(200)).min(bytes.len())].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            _ => bytes.truncate(at.max(bytes.len() / 2)),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Texts that stand for one token each.
fn tokens(text: &str) -> Vec<&str> {
    lex::lex(text, &mut Diagnostics::default())
        .iter()
        .filter(|t| t.kind != Kind::EndOfFile)
        .map(|t| &text[t.span.start as usize..t.span.end as usize])
        .collect()
}

fn mutate_tokens(text: &str, other: &str, random: &mut Random) -> String {
    const EXTREMES: &[&str] = &[
        "0",
        "-1",
        "9223372036854775807",
        "-9223372036854775808",
        "0xffffffffffffffffffff",
        "undefined",
        "true",
    ];
    let mut list = tokens(text);
    let others = tokens(other);
    for _ in 0..=random.below(6) {
        let at = random.below(list.len());
        if list.is_empty() {
            break;
        }
        match random.below(6) {
            0 => {
                list.remove(at);
            }
            1 => list.insert(at, list[random.below(list.len())]),
            2 => {
                let to = random.below(list.len());
                list.swap(at, to);
            }
            3 if !others.is_empty() => list[at] = others[random.below(others.len())],
            4 if !others.is_empty() => {
                let from = random.below(others.len());
                let piece = others[from..(from + random.below(40)).min(others.len())].to_vec();
                list.splice(at..at, piece);
            }
            _ => list[at] = EXTREMES[random.below(EXTREMES.len())],
        }
    }
    list.join(" ")
}

/// Loads a text and checks what must be true of every answer.
fn must_answer(text: &str) {
    let overrides = [("N".to_owned(), 2)];
    let overrides = if text.len().is_multiple_of(7) { &overrides[..] } else { &[] };
    match murphi::load(Source::new("fuzz.m", text), overrides) {
        Ok(loaded) => {
            let problems = validate(&loaded.system);
            assert!(problems.is_empty(), "not well formed: {}", problems[0]);
        }
        Err(refused) => {
            let list = &refused.diagnostics.list;
            assert!(list.iter().any(|d| d.severity == Severity::Error), "refused without an error");
            for finding in list {
                assert!(
                    finding.span.start <= finding.span.end && finding.span.end as usize <= text.len(),
                    "{finding:?}"
                );
                assert!(!finding.message.is_empty());
            }
            // Rendering looks for the line from the start of the text: a few are enough.
            for finding in list.iter().take(3) {
                render_plain(&refused.source_text, finding);
            }
        }
    }
}

fn mutant(seeds: &[String], round: u64) -> String {
    let mut random = Random::new(round);
    // Half of the rounds go to the small models: they reach deepest.
    let pick = |random: &mut Random| match random.below(2) {
        0 => random.below(SMALL_MODELS.len()),
        _ => random.below(seeds.len()),
    };
    let (one, two) = (pick(&mut random), pick(&mut random));
    match random.below(3) {
        0 => mutate_bytes(&seeds[one], &mut random),
        _ => mutate_tokens(&seeds[one], &seeds[two], &mut random),
    }
}

#[test]
fn the_small_models_load() {
    for text in SMALL_MODELS {
        let loaded = murphi::load(Source::new("small.m", *text), &[]);
        let shown = loaded
            .as_ref()
            .err()
            .map(|r| r.diagnostics.list.iter().map(|d| render_plain(&r.source_text, d)).collect::<String>());
        assert!(loaded.is_ok(), "{}", shown.unwrap_or_default());
        must_answer(text);
    }
}

#[test]
fn mutated_models_are_answered() {
    let seeds = seeds();
    if let Some(round) = std::env::var("HADAL_FUZZ_ROUND").ok().and_then(|r| r.parse().ok()) {
        let text = mutant(&seeds, round);
        println!("{text}");
        return must_answer(&text);
    }
    let seconds = std::env::var("HADAL_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(4);
    let started = Instant::now();
    let mut rounds = 0;
    while started.elapsed() < Duration::from_secs(seconds) {
        rounds += 1;
        let text = mutant(&seeds, rounds);
        let begun = Instant::now();
        let answered = catch_unwind(AssertUnwindSafe(|| must_answer(&text)));
        assert!(answered.is_ok(), "round {rounds} (HADAL_FUZZ_ROUND={rounds}) failed on:\n{text}");
        if begun.elapsed() > Duration::from_secs(5) {
            println!("round {rounds} took {:?}", begun.elapsed());
        }
    }
    println!("{rounds} mutants answered");
}
