//! Every timed model of the public corpus loads, or is on the list of docs/languages/ta.md; and refusals point at places.

use hadal_lang::{LoadError, LoadOptions, LoadedModel};
use hadal_testkit::corpus;

/// Files that are refused, by a part of their path, with a part of the reason.
const REFUSED: [(&str, &str); 10] = [
    ("tchecker-tests/expr-06", "array"),
    ("tchecker-tests/expr-07", "array"),
    ("tchecker-tests/bug-046", "array"),
    ("tchecker-tests/parsing-01", "declared twice"),
    ("tchecker-tests/parsing-02", "there is no"),
    ("demos/lsc_example", "live sequence charts"),
    ("demos/lsc_train-gate", "live sequence charts"),
    ("demos/SchedulingFramework", "not supported"),
    ("demos/scheduling3", "stopwatches"),
    ("GosGirls/goss-2", "resets clocks"),
];

#[test]
fn every_model_loads_or_is_on_the_list() {
    let Some(folder) = corpus::find("ta") else { return };
    let all = corpus::files(&folder, &["tck", "xml", "xta"]);
    assert!(all.len() > 100, "{} models", all.len());
    let mut wrong = Vec::new();
    for path in &all {
        // Hundreds of trains make thousands of steps; one of them is enough.
        let name = path.display().to_string();
        if ["400N", "500N", "1000N", "2000N"].iter().any(|many| name.contains(many)) {
            continue;
        }
        let expected = REFUSED.iter().find(|(part, _)| name.contains(part));
        match (hadal_lang::load(path, &LoadOptions::default()), expected) {
            (Ok((_, loaded)), None) => {
                let LoadedModel::Timed(timed) = loaded.model else { panic!("{name} is not timed") };
                let problems = hadal_system::validate::validate(&timed.system);
                if let Some(problem) = problems.first() {
                    wrong.push(format!("{name}: not well formed: {problem}"));
                }
            }
            (Err(error), Some((_, reason))) if error.to_string().contains(reason) => {}
            (Ok(_), Some(_)) => wrong.push(format!("{name}: loads, but is on the list")),
            (Err(error), _) => wrong.push(format!("{name}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}

#[test]
fn refusals_point_at_the_place_and_nothing_panics() {
    let folder = std::env::temp_dir().join(format!("hadal-ta-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let deep = format!(
        "process P() {{ state a {{ {}1{} }}; init a; }} system P;",
        "(".repeat(5000),
        ")".repeat(5000)
    );
    let cases = [
        ("a.xta", "process P() { clock x; state a { x' == 0 }; init a; }\nsystem P;", "stopwatch"),
        ("b.xta", "process P() { state a; init a; trans a -> b { }; }\nsystem P;", "location"),
        (
            "c.xta",
            "broadcast chan c; process P() { clock x; state a; init a; trans a -> a { guard x > 1; sync c?; }; }\n\
          process Q() { state a; init a; trans a -> a { sync c!; }; } system P, Q;",
            "broadcast",
        ),
        ("d.xta", "int x = ; system P;", "unexpected `;`"),
        ("e.xta", deep.as_str(), "nested too deeply"),
        (
            "f.xml",
            "<nta><declaration>int a = b;</declaration><system>system P;</system></nta>",
            "not declared",
        ),
        ("g.xml", "<nta><declaration>", "XML"),
        ("h.tck", "process:P\nlocation:P:a{initial: : invariant: y<=1}\n", "not declared"),
        ("i.tck", "process:P\nlocation:P:a{initial:\n", "do not end"),
    ];
    for (name, text, part) in cases {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("it can be written");
        let error = hadal_lang::load(&path, &LoadOptions::default()).expect_err(name);
        let LoadError::Refused(_) = &error else { panic!("{name}: {error}") };
        let message = error.to_string();
        assert!(message.contains(part), "{name}: {message}");
        assert!(message.contains('^'), "{name} shows no place: {message}");
    }
    std::fs::remove_dir_all(&folder).expect("it can be removed");
}
