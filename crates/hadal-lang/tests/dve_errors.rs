//! Mistakes in models: what is told, and where.

use hadal_lang::Severity;
use hadal_lang::diagnostic::render_plain;
use hadal_lang::dve::load;
use hadal_system::Source;

/// What is told about a model, one `line:column: message` per finding.
fn told(name: &str, text: &str, overrides: &[(String, i64)]) -> Vec<String> {
    let (source, findings) = match load(Source::new(name, text), overrides) {
        Ok(loaded) => (loaded.system.source, loaded.warnings),
        Err(refused) => (refused.source_text, refused.diagnostics),
    };
    findings
        .list
        .iter()
        .map(|finding| {
            let at = source.locate(finding.span);
            assert!(!render_plain(&source, finding).is_empty());
            let warning = if finding.severity == Severity::Warning { "warning: " } else { "" };
            format!("{}:{}: {warning}{}", at.line, at.column, finding.message)
        })
        .collect()
}

#[test]
fn several_mistakes_are_told_in_one_go() {
    let text = "byte x = 300;\n\
                byte a[2] = 5;\n\
                channel c;\n\
                process P {\n\
                state p, q;\n\
                init r;\n\
                trans p -> q { guard y > 0; sync d!; effect x = a; },\n\
                p -> z { effect P.q = 1, 3 = x; };\n\
                }\n\
                system async;\n";
    assert_eq!(
        told("m.dve", text, &[]),
        [
            "1:10: 300 does not fit `byte`",
            "2:13: `a` is an array",
            "6:6: `P` has no state `r`",
            "7:22: `y` is not declared",
            "7:34: the channel `d` is not declared",
            "7:49: warning: `a` is an array",
            "8:6: `P` has no state `z`",
            "8:17: a location is changed by a transition, not by an assignment",
            "8:26: only a variable or an element of an array can be assigned",
        ]
    );
}

#[test]
fn a_syntax_mistake_in_one_transition_leaves_the_others_alone() {
    let text = "process P {\n\
                state p;\n\
                init p;\n\
                trans p -> p { guard ; },\n\
                p -> p { effect 1 + = 2, x = 3; },\n\
                p => { p: 3 },\n\
                p -> p {};\n\
                }\n\
                process Q { state q init q; }\n\
                system async;\n";
    assert_eq!(
        told("m.dve", text, &[]),
        [
            "4:22: expected an expression, found `;`",
            "5:21: expected an expression, found `=`",
            "6:3: probabilistic transitions are not supported in DVE",
            "9:21: expected `;`, found the keyword `init`",
        ]
    );
}

#[test]
fn what_is_missing_is_named() {
    assert_eq!(told("m.dve", "", &[]), ["1:1: the `system` line is missing"]);
    assert_eq!(told("m.dve", "system async;", &[]), ["1:1: the model has no process"]);
    assert_eq!(
        told("m.dve", "process P { }\nprocess Q { state q; }\nsystem async;", &[]),
        ["1:9: the process `P` has no state", "2:9: the process `Q` has no initial state"]
    );
    assert_eq!(
        told("m.dve", "bool b;\nprocess P { state q; init q; }\nsystem async;", &[]),
        ["1:1: expected a type (`byte` or `int`), found the name `bool`"]
    );
}

#[test]
fn both_ends_of_a_channel_must_fit() {
    let text = "channel c; channel {byte,byte} t; channel b[3];\n\
                process P { byte x; state p; init p; trans p -> p { sync c!1; }, p -> p { sync t!x; }; }\n\
                process Q { byte x, y; state q; init q; trans q -> q { sync c?; }, q -> q { sync t?{x,y}; }; }\n\
                system async;";
    assert_eq!(
        told("m.dve", text, &[]),
        [
            "1:43: the buffered channel `b` has no types",
            "2:75: `t` carries 2 values, here are 1",
            "3:56: `c` is received with 0 values but sent with 1",
        ]
    );
}

#[test]
fn parameters_must_name_something() {
    let text = "const byte N = 3; process P { state q; init q; } system async;";
    assert_eq!(told("m.dve", text, &[("M".to_string(), 1)]), ["1:1: -D M: the model has no constant `M`"]);
    assert_eq!(told("m.dve", text, &[("N".to_string(), 256)]), ["1:12: -D N=256 does not fit `byte`"]);
    assert!(told("m.dve", text, &[("N".to_string(), 4)]).is_empty());
}

#[test]
fn family_mistakes_point_into_the_family() {
    assert_eq!(
        told("m.mdve", "default(N,3)\ndefine(P, `process", &[]),
        ["2:11: this quotation is not closed: `'` is missing"]
    );
    assert_eq!(told("m.mdve", "byte x = eval(1 +);", &[]), ["1:10: a number is missing at the end"]);
    assert_eq!(
        told("m.mdve", "forloop(i, 0, 3", &[]),
        ["1:1: the arguments of `forloop` are not closed: `)` is missing"]
    );
}

#[test]
fn a_suggestion_is_made_where_a_name_is_near() {
    let text =
        "byte counter; process P { state q; init q; trans q -> q { effect countr = 1; }; } system async;";
    let refused = load(Source::new("m.dve", text), &[]).expect_err("refused");
    assert_eq!(refused.diagnostics.list[0].help.as_deref(), Some("did you mean `counter`?"));
}
