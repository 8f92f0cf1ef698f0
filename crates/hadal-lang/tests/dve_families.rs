//! Family files (`.mdve`): the expansion equals the instances that BEEM ships, and the expander agrees with m4.

#[path = "dve/corpus.rs"]
#[allow(dead_code)]
mod corpus;

use hadal_lang::diagnostic::Diagnostics;
use hadal_lang::dve::lex::lex;
use hadal_lang::dve::m4::{Limits, expand};
use hadal_lang::dve::token::TokenKind;

fn tokens(text: &str) -> Vec<TokenKind> {
    lex(text, &mut Diagnostics::default()).into_iter().map(|token| token.kind).collect()
}

#[test]
fn families_expand_to_the_instances_that_beem_ships() {
    let Some(folder) = corpus::folder() else { return };
    let mut same = 0;
    let mut different = Vec::new();
    for row in corpus::known(&folder) {
        let file = row.get("file");
        let (family, _) = file.rsplit_once('/').expect("a folder");
        let Ok(text) = std::fs::read_to_string(folder.join(format!("{family}/{family}.mdve"))) else {
            continue;
        };
        let Ok(instance) = std::fs::read_to_string(folder.join(file)) else { continue };
        // Two files come from another source than their family and differ from it in one line (SOURCES.md).
        if row.get("params").is_empty() || family == "train-gate" || file.ends_with("firewire_tree.5.dve") {
            continue;
        }
        let parameters: Vec<(String, String)> = row
            .get("params")
            .split(',')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.trim().to_string(), value.trim().to_string()))
            .collect();
        match expand(&text, &parameters, Limits::default()) {
            Ok(expanded) if tokens(&expanded.text) == tokens(&instance) => same += 1,
            Ok(expanded) => {
                let (a, b) = (tokens(&expanded.text), tokens(&instance));
                let at = a.iter().zip(&b).position(|(x, y)| x != y).unwrap_or(a.len().min(b.len()));
                let around =
                    |t: &[TokenKind]| format!("{:?}", &t[at.saturating_sub(4)..(at + 6).min(t.len())]);
                different.push(format!("{file}\n  ours {}\n  BEEM {}", around(&a), around(&b)));
            }
            Err(failure) => different.push(format!("{file}: {failure:?}")),
        }
    }
    println!("{same} instances equal, {} differ", different.len());
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// Texts that mean the same to m4 and to hadal (m4 has no words that end in `!`, and comments with `#`).
const TEXTS: [&str; 12] = [
    "define(`a', `b$1c$2')a(1, 2) a(x) a a()",
    "define(`f', `ifelse($1, 0, 1, `eval($1 * f(decr($1)))')')f(5)",
    "pushdef(`x', 1)x pushdef(`x', 2)x popdef(`x')x popdef(`x')x",
    "define(`l', `$# $* $@ `$0'')l(`a', b, (c, d), `e,f')",
    "ifdef(`zz', yes, no) define(`zz', 1)ifdef(`zz', yes, no) undefine(`zz')ifdef(`zz', yes, no)",
    "ifelse(a, b, 1, c, c, 2, 3) ifelse(a, b, 1, c, d, 2, 3) ifelse(a, b, 1) ifelse(a,a,1)",
    "divert(1)late divert early undivert(1) end divert(-1)lost divert(0)kept",
    "before dnl the rest goes\nafter len(abc) index(hello, ll) substr(hello, 1, 3) translit(hello, el, ip)",
    "define(`r', `ifelse(`$#', `1', ``$1'', `r(shift($@))')')r(a, b, `c d')",
    "eval(1 + 2 * (3 - 4) << 2) eval(7 / 2 % 2) eval(-7 % 3) eval(1 && 0 || 1) eval(~5 & 12 ^ 3 | 1) eval(!3 >= 0)",
    "define(`q', ``quoted' $1')q(`in `deep' out') `a `b' c' incr(41) decr(0)",
    "define(`n_1', one)define(`i', 1)indir(`n_'i) defn(`n_1') n_`'i",
];

#[test]
fn the_expander_agrees_with_m4() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    for text in TEXTS {
        let m4 =
            Command::new("m4").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let Ok(mut m4) = m4 else {
            println!("skipped: no m4 on this machine");
            return;
        };
        m4.stdin.take().expect("piped").write_all(text.as_bytes()).expect("written");
        let output = m4.wait_with_output().expect("run");
        let expected = String::from_utf8_lossy(&output.stdout).into_owned();
        let ours = expand(text, &[], Limits::default()).expect("expands").text;
        assert_eq!(ours, expected, "{text}");
    }
}

#[test]
fn a_parameter_may_be_text_that_macros_insert() {
    use hadal_lang::dve::{Options, load_with};
    use hadal_system::Source;
    let family = "ifdef(`START',`',`define(START, a)')\n\
                  process P { state a, b; init START; trans a -> b {}; }\nsystem async;\n";
    let load = |name: &str, texts: &[(&str, &str)]| {
        let texts: Vec<_> = texts.iter().map(|(n, t)| ((*n).to_owned(), (*t).to_owned())).collect();
        load_with(Source::new(name, family), Options { texts: &texts, ..Options::default() })
    };
    let first = |texts: &[(&str, &str)]| {
        let system = load("m.mdve", texts).expect("accepted").system;
        format!("{:?}", system.starts[0].body)
    };
    assert_ne!(first(&[]), first(&[("START", "b")]), "the process starts elsewhere");
    let message = |name: &str, texts: &[(&str, &str)]| match load(name, texts) {
        Ok(_) => String::new(),
        Err(refused) => refused.diagnostics.list[0].message.clone(),
    };
    assert_eq!(message("m.mdve", &[("STOP", "b")]), "the family has no parameter `STOP`");
    assert_eq!(
        message("m.dve", &[("START", "b")]),
        "`b` is not a number: only a family (.mdve) takes text for `START`"
    );
}
