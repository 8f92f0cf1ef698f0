//! No text makes the Promela front end panic: damaged models, deep nesting, endless macros.

use hadal_lang::promela::{self, Options};
use hadal_system::Source;
use hadal_testkit::Random;

const MODEL: &str = r#"
#define N 3
#define MIN(a, b) ((a) < (b) -> (a) : (b))
mtype = { msg, ack };
typedef Pair { byte a; short b[2] };
chan q[N] = [2] of { mtype, byte };
chan rv = [0] of { byte };
byte x; int y = -4; Pair p; unsigned u : 5;
inline bump(v, by) { v = v + by; assert(v != 200) }
active [2] proctype P() provided (x < 250) {
  byte i; chan own = [1] of { byte };
end: do
  :: q[_pid]!msg(i) -> bump(x, 1)
  :: q[_pid]?ack,i
  :: atomic { x < 5 -> x++; if :: x == 3 -> rv!i :: else fi }
  :: d_step { i = 0; do :: i < N -> i++ :: else -> break od }
  :: timeout -> break
  :: run Q(own, MIN(x, 4))
  od unless { x == 77 -> skip };
  for (i : 0 .. 2) { p.b[1] = i };
  select (i : 1 .. 9); printf("%d %e\n", i, msg);
}
proctype Q(chan c; byte k) { c!k; rv?k; progress: c??eval(k); if :: q[0]?[msg, k] :: nfull(c) fi }
init { P[1]@end -> y = P[0]:i }
ltl f { [] <> (x == 1) }
never { do :: !(len(q[0]) < 2) -> break :: else od }
"#;

fn accepts(text: &str) -> bool {
    promela::load(Source::new("fuzz.pml", text), Options::default()).is_ok()
}

#[test]
fn damaged_models_are_refused_or_accepted_but_never_panic() {
    if let Err(refused) = promela::load(Source::new("whole.pml", MODEL), Options::default()) {
        panic!("{:#?}", refused.diagnostics.list);
    }
    let words: Vec<&str> = MODEL.split_inclusive(|c: char| !c.is_alphanumeric()).collect();
    let mut numbers = Random::new(7);
    for _ in 0..1500 {
        let mut list = words.clone();
        for _ in 0..1 + numbers.below(3) {
            let at = numbers.below(list.len());
            match numbers.below(3) {
                0 => {
                    list.remove(at);
                }
                1 => list.insert(at, words[numbers.below(words.len())]),
                _ => list[at] = words[numbers.below(words.len())],
            }
        }
        accepts(&list.concat());
    }
}

#[test]
fn deep_nesting_and_endless_macros_are_refused() {
    let deep = 20_000;
    let around = |inside: String| format!("byte x; active proctype A() {{ {inside} }}");
    assert!(!accepts(&around(format!("x = {}1{}", "(".repeat(deep), ")".repeat(deep)))));
    assert!(!accepts(&around(format!("{}skip{}", "{".repeat(deep), "}".repeat(deep)))));
    assert!(!accepts(&around(format!("x = {}1", "-".repeat(deep)))));
    assert!(!accepts(&around(format!("x = x{}", "[x".repeat(deep)))));
    let mut macros = String::from("#define A0 1\n");
    for n in 1..60 {
        macros.push_str(&format!("#define A{n} (A{} + A{})\n", n - 1, n - 1));
    }
    assert!(!accepts(&(macros + "active proctype A() { A59 > 0 }")));
    let nested =
        format!("#define F(x) x\nactive proctype A() {{ {}1{} }}", "F(".repeat(deep), ")".repeat(deep));
    accepts(&nested);
}

#[test]
fn several_mistakes_are_told_at_once() {
    let text = "byte x;\nactive proctype A() { y = 1; z = 2; goto nowhere; c_code { x++; } }\n";
    let refused = promela::load(Source::new("wrong.pml", text), Options::default()).expect_err("wrong");
    assert!(!refused.diagnostics.list.is_empty());
    let text = "byte x;\nactive proctype A() { y = 1; z = 2; goto nowhere }\n";
    let refused = promela::load(Source::new("wrong.pml", text), Options::default()).expect_err("wrong");
    let messages: Vec<&str> = refused.diagnostics.list.iter().map(|d| d.message.as_str()).collect();
    assert_eq!(
        messages,
        ["there is no variable `y`", "there is no variable `z`", "there is no label `nowhere`"]
    );
}
