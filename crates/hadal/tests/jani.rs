//! Documents in JANI, solved as the models they describe.

mod support;

use support::hadal;

/// A coin that is flipped at most three times, together with whoever counts; or somebody stops.
const COIN: &str = r#"{
  "jani-version": 1, "name": "coin", "type": "mdp", "features": ["derived-operators"],
  "actions": [{"name": "flip"}, {"name": "tick"}, {"name": "go"}],
  "constants": [{"name": "N", "type": "int"}, {"name": "max", "type": "real", "value": 0.25}],
  "variables": [
    {"name": "n", "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": "N"}, "initial-value": 0},
    {"name": "won", "type": "bool", "transient": true, "initial-value": false},
    {"name": "over", "type": "bool", "transient": true, "initial-value": false},
    {"name": "cost", "type": "real", "transient": true, "initial-value": 0}
  ],
  "automata": [
    {"name": "coin.game", "locations": [
        {"name": "play"},
        {"name": "won", "transient-values": [{"ref": "won", "value": true}, {"ref": "over", "value": true}]},
        {"name": "lost", "transient-values": [{"ref": "over", "value": true}]}],
      "initial-locations": ["play"],
      "edges": [
        {"location": "play", "action": "flip", "guard": {"exp": {"op": "<", "left": "n", "right": "N"}},
         "destinations": [
           {"location": "won", "probability": {"exp": "max"}},
           {"location": "play", "probability": {"exp": {"op": "-", "left": 1, "right": "max"}}}]},
        {"location": "play", "destinations": [
           {"location": "lost", "assignments": [{"ref": "cost", "value": 0.5}]}]}]},
    {"name": "counter", "variables": [{"name": "seen", "type": "bool", "initial-value": false}],
      "locations": [{"name": "only"}], "initial-locations": ["only"],
      "edges": [{"location": "only", "action": "tick", "destinations": [
         {"location": "only", "assignments": [
            {"ref": "n", "value": {"op": "+", "left": "n", "right": 1}},
            {"ref": "seen", "value": true}, {"ref": "cost", "value": 1}]}]}]}
  ],
  "system": {"elements": [{"automaton": "coin.game"}, {"automaton": "counter"}],
    "syncs": [{"synchronise": ["flip", "tick"], "result": "go"}, {"synchronise": [null, "never"]}]},
  "properties": [
    {"name": "wins", "expression": {"op": "filter", "fun": "max", "states": {"op": "initial"},
      "values": {"op": "Pmax", "exp": {"op": "F", "exp": "won"}}}},
    {"name": "likely", "expression": {"op": "filter", "fun": "∀", "states": {"op": "initial"},
      "values": {"op": "≤", "left": {"op": "Pmax", "exp": {"op": "F", "exp": "won"}}, "right": 0.5}}},
    {"name": "soon", "expression": {"op": "filter", "fun": "max", "states": {"op": "initial"},
      "values": {"op": "Pmax", "exp": {"op": "U", "left": {"op": "¬", "exp": "over"}, "right": "won",
        "step-bounds": {"upper": 2}}}}},
    {"name": "pays", "expression": {"op": "filter", "fun": "max", "states": {"op": "initial"},
      "values": {"op": "Emax", "accumulate": ["steps", "exit"], "exp": "cost", "reach": "over"}}},
    {"name": "steps", "expression": {"op": "filter", "fun": "min", "states": {"op": "initial"},
      "values": {"op": "Emin", "accumulate": ["steps"], "exp": 1, "reach": "over"}}},
    {"name": "odd", "expression": {"op": "filter", "fun": "max", "states": {"op": "initial"},
      "values": {"op": "Pmax", "exp": {"op": "R", "left": "won", "right": "over"}}}}
  ]
}"#;

#[test]
fn a_document_in_jani_has_the_values_of_its_automata() {
    let place = tempfile::tempdir().expect("a place");
    let file = place.path().join("coin.jani").display().to_string();
    std::fs::write(&file, COIN).expect("written");
    let solve = |more: &[&str]| hadal(&[&["solve", &file, "-D", "N=3", "--exact", "--json"], more].concat());
    let value = |property: &str| {
        let found = solve(&["--property", property]).expect_code(0).json();
        // Play with 0 to 3 flips, won after 1 to 3, lost after 0 to 3.
        assert_eq!(found["states"], 11, "{found}");
        found["exact"].as_str().expect("a fraction").to_owned()
    };
    assert_eq!(value("wins"), "37/64");
    assert_eq!(value("soon"), "7/16");
    // Three flips, or stopping after them: 1 + 3/4 + 9/16, and half of what is left.
    assert_eq!(value("pays"), format!("{}/128", 2 * (64 + 48 + 36) + 27));
    assert_eq!(value("steps"), "1");
    solve(&["--property", "likely"]).expect_code(1);
    let refused = solve(&["--property", "odd"]);
    assert!(refused.code == 2 && refused.stderr.contains("`R` is not asked"), "{refused:?}");
    for (from, to, reason) in [
        ("\"mdp\"", "\"pta\"", "`pta`"),
        ("\"derived-operators\"", "\"arrays\"", "`arrays`"),
        ("\"ref\": \"n\"", "\"ref\": \"m\"", "`m` is not declared"),
        ("{\"op\": \"<\"", "{\"op\": \"der\"", "`der`"),
    ] {
        std::fs::write(&file, COIN.replace(from, to)).expect("written");
        let run = solve(&["--property", "wins"]);
        assert!(run.code == 2 && run.stderr.contains(reason), "{reason}: {run:?}");
    }
}
