//! Broken models of every kind: an answer always comes, and a refusal says what is wrong and where.
//!
//! Mutates models (the corpus where there is one, small ones otherwise) with a fixed seed. HADAL_FUZZ_SECONDS sets how
//! long; a few seconds by default.

#[path = "dve/corpus.rs"]
#[allow(dead_code)]
mod corpus;

use hadal_lang::diagnostic::render_plain;
use hadal_lang::dve::load;
use hadal_system::Source;
use hadal_testkit::Random;
use std::time::{Duration, Instant};

const SMALL: [(&str, &str); 4] = [
    (
        "small.dve",
        "channel {byte,int} c[2]; channel d; const byte T[3] = {1,2,3}; int g = -1;\n\
         process P { byte x, a[3] = {1,2}; state p, q, r; init p; commit q; accept r; assert p: x < 9;\n\
         trans p -> q { guard x < 3 and not Q.z; sync c!{x, g}; effect x = x + 1, a[x%3] = T[x%3]; },\n\
         -> r { sync d!x*2; }, r -> p { effect g = -x | 3 ^ 1 << 2; }; }\n\
         process Q { byte y; int w; state z; init z; trans z -> z { sync c?{y, w}; }, z -> z { sync d?y; }; }\n\
         system async;",
    ),
    (
        "late.dve",
        "input int n = 3; int x[n]; process a(key i, k) { int b; state s; init s;\n\
         trans s -> s { effect b = (a(1)->b + k) % n, x[0] = i; } }\n\
         process a(1, 2); for (j : 2 .. 3) { process a(j, 4-j); } expression e() { a(1).s }\n\
         property ltl L \"G(e)\" system async;",
    ),
    (
        "watched.dve",
        "byte v; process P { state a, b; init a; trans a -> b { effect v = 1; }, b -> a {}; }\n\
         process N { state q; init q; accept q; trans q -> q { guard v == 1 && P.b; }; }\nsystem async property N;",
    ),
    (
        "family.mdve",
        "default(N,3)\ndefine(p, `process P_$1 { byte v; queue(b, 2) state q; init q;\n\
         trans q -> q { guard not(full(b)); sync c_$1?v; effect push(b, v); },\n\
         q -> q { effect v = ifelse(eval($1 > 1),1,`0',`1'); }; }')\n\
         forloop(i,0,decr(N),`async_channel(c_`'i)')\nforloop(i,0,decr(N),`p(i)')\nsystem async;\n",
    ),
];

const PIECES: [&str; 48] = [
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ";",
    ",",
    "->",
    "==",
    "=",
    "!",
    "?",
    "-1",
    "0",
    "99999999999999999999",
    "65535",
    "byte",
    "int",
    "const",
    "process",
    "state",
    "init",
    "trans",
    "guard",
    "sync",
    "effect",
    "system",
    "commit",
    "accept",
    "assert",
    "channel",
    "property",
    "input",
    "not ",
    "imply",
    "/",
    "%",
    "<<",
    "\"",
    "/*",
    "//",
    "`",
    "'",
    "$1",
    "define(x,`x x')x",
    "\u{e9}\u{2192}",
    "((((((((((((((((((((",
];

fn mutate(text: &str, random: &mut Random) -> String {
    let mut bytes: Vec<char> = text.chars().collect();
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len() + 1);
        let most = 1 + random.below(40);
        let length = random.below(most).min(bytes.len() - at);
        match random.below(5) {
            0 => {
                bytes.drain(at..at + length);
            }
            1 => {
                let piece: Vec<char> = PIECES[random.below(PIECES.len())].chars().collect();
                let times = if random.below(50) == 0 { 1 + random.below(3000) } else { 1 };
                for _ in 0..times {
                    bytes.splice(at..at, piece.iter().copied());
                }
            }
            2 => {
                let part: Vec<char> = bytes[at..at + length].to_vec();
                let to = random.below(bytes.len() + 1);
                bytes.splice(to..to, part);
            }
            3 => {
                if at < bytes.len() {
                    bytes[at] = char::from(32 + random.below(95) as u8);
                }
            }
            _ => bytes.truncate(at),
        }
    }
    bytes.into_iter().collect()
}

#[test]
fn no_text_makes_the_front_end_panic_or_hang() {
    let seconds = std::env::var("HADAL_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(3);
    let mut texts: Vec<(String, String)> =
        SMALL.iter().map(|(n, t)| (n.to_string(), t.to_string())).collect();
    if let Some(folder) = corpus::folder() {
        for ending in ["dve", "mdve"] {
            for path in corpus::files(&folder, ending) {
                let text = String::from_utf8_lossy(&std::fs::read(&path).expect("readable")).into_owned();
                if text.len() < 12_000 {
                    texts.push((path.file_name().expect("a name").to_string_lossy().into_owned(), text));
                }
            }
        }
    }
    let mut random = Random::new(0x5EED_0DEE_9EA1_0001);
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut accepted, mut refused) = (0u64, 0u64);
    while Instant::now() < end {
        // Half of the effort goes to the small models, which have every construct.
        let chosen = if random.below(2) == 0 { random.below(SMALL.len()) } else { random.below(texts.len()) };
        let (name, text) = &texts[chosen];
        let broken = mutate(text, &mut random);
        let parameters =
            if random.below(4) == 0 { vec![("N".to_string(), random.below(6) as i64 - 1)] } else { vec![] };
        match load(Source::new(name.as_str(), broken), &parameters) {
            Ok(loaded) => {
                accepted += 1;
                assert!(!loaded.warnings.has_errors());
            }
            Err(refusal) => {
                refused += 1;
                assert!(refusal.diagnostics.has_errors());
                for finding in &refusal.diagnostics.list {
                    let span = finding.span;
                    assert!(
                        span.start <= span.end && span.end as usize <= refusal.source_text.text.len(),
                        "{finding:?}"
                    );
                    assert!(!finding.message.is_empty());
                    render_plain(&refusal.source_text, finding);
                }
            }
        }
    }
    println!("{accepted} accepted, {refused} refused");
    assert!(refused > 0);
}

#[test]
fn the_unbroken_models_are_accepted() {
    for (name, text) in SMALL {
        if let Err(refusal) = load(Source::new(name, text), &[]) {
            let shown: Vec<String> =
                refusal.diagnostics.list.iter().map(|f| render_plain(&refusal.source_text, f)).collect();
            panic!("{}", shown.concat());
        }
    }
}

#[test]
fn deep_nesting_is_refused_not_fatal() {
    let deep = |open: &str, close: &str, n: usize| {
        format!(
            "byte x = {}1{}; process P {{ state q; init q; }} system async;",
            open.repeat(n),
            close.repeat(n)
        )
    };
    for text in [
        deep("(", ")", 100_000),
        deep("not ", "", 100_000),
        deep("1+", "", 100_000),
        deep("x[", "]", 100_000),
        deep("1+(", ")", 50_000),
        "{".repeat(100_000),
        "process P {".repeat(10_000),
    ] {
        assert!(load(Source::new("deep.dve", text), &[]).is_err());
    }
    for text in [
        "eval(".repeat(100_000),
        "`".repeat(100_000),
        "define(x,`x')x".to_string(),
        "define(x,`x x')x".to_string(),
    ] {
        assert!(load(Source::new("deep.mdve", text), &[]).is_err());
    }
}
