//! What DVE models mean: small models with counts that can be checked by hand, and the lowered system against a second,
//! plain reading of the checked model.

#[path = "dve/corpus.rs"]
#[allow(dead_code)]
mod corpus;
#[path = "dve/explorer.rs"]
mod explorer;
#[path = "dve/oracle.rs"]
mod oracle;

use explorer::Found;
use hadal_lang::ModelErrors;
use hadal_lang::diagnostic::{Diagnostics, render_plain};
use hadal_lang::dve::{Options, load, load_with};
use hadal_system::Source;

fn system(name: &str, text: &str, errors: ModelErrors) -> hadal_system::System {
    match load_with(Source::new(name, text), Options { errors, ..Options::default() }) {
        Ok(loaded) => {
            let problems = hadal_system::validate::validate(&loaded.system);
            assert!(problems.is_empty(), "{name}: {problems:?}");
            loaded.system
        }
        Err(refused) => {
            let shown: Vec<String> =
                refused.diagnostics.list.iter().map(|f| render_plain(&refused.source_text, f)).collect();
            panic!("{}", shown.concat());
        }
    }
}

fn run(text: &str) -> Found {
    explorer::explore(&system("m.dve", text, ModelErrors::Report), 100_000).expect("small")
}

/// Explores a model by both readings, with and without DiVinE's error state, and asks for equal counts.
fn agree(name: &str, text: &str, limit: u64) -> bool {
    let mut findings = Diagnostics::default();
    let tree = hadal_lang::dve::parse::parse(text, &mut findings);
    let model = hadal_lang::dve::check::check(&tree, &[], &mut findings).expect("accepted");
    for errors in [ModelErrors::Report, ModelErrors::ErrorState] {
        let Some(expected) = oracle::Oracle::new(&model).explore(limit, errors == ModelErrors::ErrorState)
        else {
            return false;
        };
        let found = explorer::explore(&system(name, text, errors), limit).expect("as many states");
        let faults = if errors == ModelErrors::Report { expected.errors } else { 0 };
        assert_eq!(
            (found.states, found.transitions, found.depth, found.faults),
            (expected.states, expected.transitions, expected.depth, faults),
            "{name} {errors:?}"
        );
    }
    true
}

#[test]
fn the_lowered_system_agrees_with_a_plain_reading_of_the_corpus() {
    let Some(folder) = corpus::folder() else { return };
    let limit = 3_000;
    let mut agreed = 0;
    for path in corpus::files(&folder, "dve") {
        let text = String::from_utf8_lossy(&std::fs::read(&path).expect("readable")).into_owned();
        if text.contains("property") || text.len() > 20_000 {
            continue;
        }
        agreed += u32::from(agree(&path.display().to_string(), &text, limit));
    }
    println!("{agreed} models agree");
    assert!(agreed > 20);
}

#[test]
fn channels_of_every_kind_agree_with_a_plain_reading() {
    let models = [
        // A typed handshake of several values, cut to the types; the index of a received element is the one before.
        "channel {byte,int} c; process P { int x = 250; state p; init p; trans p -> p { guard x < 260; sync c!{x, -x*300}; \
         effect x = x + 1; }; } process Q { byte i; int a[3]; byte b[260]; state q; init q; \
         trans q -> q { sync c?{i, a[i%3]}; effect b[i] = 1; }; } system async;",
        // A buffer of pairs; negative values; several readers.
        "channel {byte,int} c[3]; process P { int x; state p; init p; trans p -> p { guard x < 5; sync c!{x, -x}; \
         effect x = x + 1; }, p -> p { guard x == 5; effect x = 0; }; } \
         process Q { byte y; int z = 7; state q; init q; trans q -> q { sync c?{y, z}; effect y = y * 2; }; } \
         process R { byte y; int z; state r, s; init r; trans r -> s { sync c?{y, z}; }, s -> r { guard z < 0; }; } system async;",
        // A long buffer.
        "channel {byte} c[20]; process P { byte x; state p; init p; trans p -> p { guard x < 22; sync c!x; effect x = x + 1; }; } \
         process Q { byte y; state q; init q; trans q -> q { guard y != 21; sync c?y; }; } system async;",
        // Handshakes without values, several partners, receiver's effects before the sender's.
        "byte g; channel c; process P { state a, b; init a; trans a -> b { sync c!; effect g = g * 2; }, b -> a { guard g > 0; }; } \
         process Q { state a, b; init a; trans a -> b { sync c?; }, b -> a { sync c!; effect g = (g + 1) % 7; }; } \
         process R { state a; init a; trans a -> a { sync c?; effect g = (g + 3) % 20; }; } system async;",
        // Errors: overflow, index, division, in guards and effects and messages.
        "byte x = 253, a[3]; int i; channel c; process P { state p, q; init q; trans q -> p { effect x = x + 1; }, \
         p -> q { guard a[x - 250] == 0; }, p -> q { guard 10 / (x - 254) >= 0 or x == 1; effect i = 3 % (x - 253); }; } \
         process Q { byte y; state s, t; init t; trans s -> t { sync c!(x * 2); }, t -> s { effect a[i] = 1, i = i - 1; }; } \
         process R { byte z; state r; init r; trans r -> r { sync c?z; effect x = z; }; } system async;",
        // Committed locations, alone and in handshakes.
        "channel c; process P { state a, b, d; init a; commit b; trans a -> b {}, b -> d { sync c!; }, d -> a {}; } \
         process Q { state a, b; init a; commit a; trans a -> b { sync c?; }, b -> a {}; } \
         process R { state a, b; init a; trans a -> b {}, b -> a {}, a -> a { sync c?; }; } system async;",
        // Constant arrays, read with constants and at run time.
        "const int T[5] = {3, -2, 0, 700, 1}; const byte B[70] = {1,0,1,1,0,0,0,1,1,1,1,0}; byte i, v; int w; \
         process P { state p; init p; trans p -> p { guard i < 69 && T[i % 5] < 700; effect w = T[i % 5], v = B[i], i = i + 1; }, \
         p -> p { guard T[i % 5] == 700; effect w = T[3], i = i + 1; }, p -> p { guard i == 69; effect v = B[i + 1]; }; } system async;",
        // Every operator.
        "int x, y; process P { state p; init p; trans p -> p { guard x < 6; effect x = x + 1, y = (x | 8) ^ 3 & ~x; }, \
         p -> p { guard x == 6 imply y > 0 and not y == 3; effect y = -(y >> 1) + (1 << x) - x * 2 / 3 % 5; }, \
         p -> p { guard (x >= 3 || y <= 2) && x != 5; effect x = x % 4; }; } system async;",
    ];
    for (number, text) in models.iter().enumerate() {
        assert!(agree(&format!("model {number}"), text, 100_000));
    }
}

#[test]
fn a_committed_location_holds_the_others_back() {
    // Q may not move while P is in b; 2 locations of Q with P in a, then b with each, then c with each.
    let found = run("process P { state a, b, c; init a; commit b; trans a -> b {}, b -> c {}; } \
         process Q { state x, y; init x; trans x -> y {}; } system async;");
    assert_eq!((found.states, found.transitions), (6, 6));
}

#[test]
fn the_property_process_moves_with_the_system_and_alone_where_it_is_stuck() {
    // The system makes one move and stops; the property moves with it, then on its own.
    let found = run("process P { state a, b; init a; trans a -> b {}; } \
         process N { state q, r, s; init q; accept s; trans q -> r { guard P.a; }, r -> s { guard P.b; }, s -> s {}; } \
         system async property N;");
    assert_eq!((found.states, found.transitions, found.deadlocks), (3, 3, 0));
}

#[test]
fn a_synchronous_system_moves_all_processes_at_once() {
    // Both swap: each reads what the other held before.
    let found = run("byte x = 1, y = 2; process P { state a; init a; trans a -> a { effect x = y; }; } \
         process Q { state a; init a; trans a -> a { effect y = x; }; } system sync;");
    assert_eq!((found.states, found.transitions), (2, 2));
}

#[test]
fn and_and_or_bind_equally_from_the_left() {
    // (1 or 0) and 0 is false: nothing moves.
    let found = run("process P { state a, b; init a; trans a -> b { guard 1 or 0 and 0; }; } system async;");
    assert_eq!(found.states, 1);
}

#[test]
fn assertions_are_invariants_of_their_location() {
    let text = |bound: u32| {
        format!(
            "process P {{ byte i; state a; init a; assert a : i < {bound}; trans a -> a {{ guard i < 5; effect i = i + 1; }}, \
             a -> a {{ guard i == 5; effect i = 0; }}; }} system async;"
        )
    };
    let system = system("m.dve", &text(3), ModelErrors::Report);
    assert_eq!(system.properties[0].name, "P.a");
    let found = explorer::explore(&system, 100).expect("small");
    assert_eq!(found.states, 6);
}

#[test]
fn templates_inputs_and_keys_are_instantiated() {
    let found = run("input int n = 2; process a(key i, limit) { int x; int b; state s; init s; \
         trans s -> s { effect x = (x + 1) % n, b = (a(1)->b + 1) % limit; }; } \
         for (x : 1 .. 3) { process a(x, 4-x); } system async;");
    assert!(found.states > 8);
}

#[test]
fn variables_take_as_few_bits_as_their_values_need() {
    let found = run("byte x; byte flag[8]; int big; process P { state a, b; init a; \
         trans a -> b { guard x < 5; effect x = x + 1, flag[x % 8] = 1; }, b -> a { effect flag[0] = 0, big = x * 2; }; } system async;");
    // x: 0..5, eight flags: 0..1, big: 0..10, two locations.
    assert_eq!(found.bits, 3 + 8 + 4 + 1);
}

#[test]
fn every_model_of_the_corpus_loads() {
    let Some(folder) = corpus::folder() else { return };
    for path in corpus::files(&folder, "dve") {
        let text = String::from_utf8_lossy(&std::fs::read(&path).expect("readable")).into_owned();
        system(&path.display().to_string(), &text, ModelErrors::Report);
    }
    let rows = corpus::known(&folder);
    for path in corpus::files(&folder, "mdve") {
        let text = String::from_utf8_lossy(&std::fs::read(&path).expect("readable")).into_owned();
        let family = path.file_stem().expect("a name").to_string_lossy().into_owned();
        // Some families refuse to be without parameters: give them those of BEEM's first instance, where they are numbers.
        let row = rows
            .iter()
            .find(|row| row.get("file").starts_with(&format!("{family}/")) && !row.get("params").is_empty());
        let parameters: Vec<(String, i64)> = row
            .map_or("", |row| row.get("params"))
            .split(',')
            .filter_map(|pair| pair.split_once('='))
            .filter(|(name, _)| text.contains(name.trim()))
            .filter_map(|(name, value)| Some((name.trim().to_string(), value.trim().parse().ok()?)))
            .collect();
        let loaded = load(Source::new(path.display().to_string(), text), &parameters);
        assert!(loaded.is_ok(), "{}: {:?}", path.display(), loaded.err().map(|refused| refused.diagnostics));
    }
}
