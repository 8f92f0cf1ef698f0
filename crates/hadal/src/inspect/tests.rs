use super::*;
use hadal_system::Source;

/// Two players pass a ball; nobody looks at `score` but the one action that counts.
const MODEL: &str = "
type player: scalarset(2);
var ball: array [player] of boolean;
    score: 0..3;
startstate begin clear ball; score := 0; end;
ruleset p: player; q: player do
  rule \"pass\" ball[p] & !ball[q] ==> begin ball[p] := false; ball[q] := true; end;
end;
rule \"count\" score < 3 ==> begin score := score + 1; end;
invariant \"one ball\" forall p: player do forall q: player do p = q | !ball[p] | !ball[q] end end;
";

fn shown(format: Format) -> String {
    let loaded = hadal_lang::murphi::load(Source::new("ball.m", MODEL), &[]);
    let system = loaded.expect("the model is well formed").system;
    render(&system, &Layout::natural(&system), format)
}

#[test]
fn the_json_names_what_every_instance_touches() {
    let json: serde_json::Value = serde_json::from_str(&shown(Format::Json)).expect("one JSON object");
    assert_eq!(json["state"]["scalars"], 3);
    assert_eq!(json["state"]["bytes"], 8);
    let pass = &json["actions"][0];
    assert_eq!(pass["instances"], 4);
    assert_eq!(pass["may_write"][0], "ball");
    // The same player twice can never be: the guard contradicts itself.
    let can_fire: Vec<bool> =
        pass["each"].as_array().expect("a list").iter().map(|i| i["can_fire"] == true).collect();
    assert_eq!(can_fire, [false, true, true, false]);
    let one = &pass["each"][1];
    assert_eq!(one["must_write"].as_array().map(Vec::len), Some(1), "both elements: the whole array");
    assert_eq!(one["results"][0]["values"], "false");
    assert_eq!(one["results"][1]["values"], "true");
    assert_eq!(json["symmetric_domains"][0]["size"], 2);
}

#[test]
fn the_cone_of_the_invariant_leaves_the_score_out() {
    let json: serde_json::Value = serde_json::from_str(&shown(Format::Json)).expect("one JSON object");
    assert_eq!(json["properties"][0]["cone"], serde_json::json!(["ball"]));
    assert_eq!(json["causal_graph"]["components"], 2);
    assert_eq!(json["interference"]["components"], 2);
}

#[test]
fn the_text_shows_demands_and_results() {
    let text = shown(Format::Text);
    assert!(text.contains("`count`"), "{text}");
    assert!(text.contains("score in 0..2"), "{text}");
    assert!(text.contains("depends on  ball"), "{text}");
    assert!(text.contains("2 of the instances can never fire"), "{text}");
}

#[test]
fn the_graphs_have_balanced_braces_and_every_node() {
    let causal = shown(Format::DotCausal);
    assert!(causal.contains("\"ball\"") && causal.contains("\"score\""), "{causal}");
    let control = shown(Format::DotControl);
    assert!(control.contains("label=\"score\""), "{control}");
    for dot in [causal, control] {
        assert_eq!(dot.matches('{').count(), dot.matches('}').count());
    }
}
