//! Workers that stop before everything is known: nothing that all had is lost.

use super::place::{COUNTS, Place, SIDE, answer, cube, signal};
use super::support::hadal;
use serde_json::{Value, json};

/// What each worker fired in this sitting, together.
fn fired(result: &Value) -> u64 {
    let workers = result["workers"].as_array().expect("a list");
    workers.iter().filter_map(|worker| worker["transitions"].as_u64()).sum()
}

#[test]
fn an_interrupt_while_all_explore_small_layers_keeps_them() {
    for more in [&[][..], &["--order", "external-astar", "--guide", "blind"]] {
        let place = Place::new(&cube(SIDE, false));
        let mut search = place.start("local:3", &[&["--cluster-small", "1000000000"], more].concat());
        let has_some = |event: &Value| event["figures"]["states_of_all"].as_u64() > Some(20_000);
        assert!(search.until(|search| search.events().iter().any(has_some)), "it was over too soon");
        signal(search.pid(), "INT");
        let (code, stopped, told) = search.end();
        assert_eq!((code, &stopped["verdict"]), (130, &json!("stopped")), "{more:?}: {told}");
        assert!(stopped["states"].as_u64() > Some(10_000), "{more:?}: {stopped:#}");
        let (code, result, told) = place.resume("local:2").end();
        assert_eq!(
            (code, &result["states"], &result["transitions"]),
            (0, &json!(COUNTS.0), &json!(COUNTS.1)),
            "{told}"
        );
        // What was kept is not explored again.
        assert!(fired(&result) < COUNTS.1, "{more:?}: {} of {}", fired(&result), COUNTS.1);
    }
}

#[test]
fn a_disk_that_is_full_when_states_are_divided_stops_all_and_loses_nothing() {
    for more in [&["--strategy", "sort"][..], &["--order", "external-astar", "--guide", "blind"]] {
        let place = Place::new(&cube(60, true));
        let alone = hadal(&[&["check", &place.model, "--deadlock", "off", "--json"], more].concat()).json();
        let mut stopped = 0;
        for limit in ["1040K", "1050K", "1100K", "1200K", "1300K"] {
            let small = ["--cluster-small", "3000", "--disk-limit", limit];
            let place = Place::new(&cube(60, true));
            let (code, result, told) = place.start("local:3", &[&small[..], more].concat()).end();
            assert!(code == 1 || code == 3, "{more:?} {limit}: {told}");
            stopped += u32::from(code == 3);
            if code == 1 {
                assert_eq!(answer(&result), answer(&alone), "{more:?} {limit}");
                continue;
            }
            let full = "the disk is full, or --disk-limit is reached; no violation so far";
            assert_eq!(result["reason"], full, "{limit}");
            let (code, result, told) = place.resume("local:2").end();
            assert_eq!((code, answer(&result)), (1, answer(&alone)), "{more:?} {limit}: {told}");
        }
        assert!(stopped > 0, "{more:?}: the disk was never full");
    }
}

#[test]
fn what_does_not_fit_before_the_search_begins_stops_it_as_it_stops_one_process() {
    let Some(model) = hadal_testkit::corpus::find("dve/pgm_protocol/pgm_protocol.2.dve") else {
        return;
    };
    let model = model.display().to_string();
    let guided = ["--order", "external-astar", "--guide", "hu", "--memory", "24M", "--threads", "1"];
    let arguments = [&["check", &model, "--deadlock", "off", "--json"][..], &guided].concat();
    let alone = hadal(&arguments).expect_code(3).json();
    let together = hadal(&[&arguments[..], &["--cluster", "local:2"]].concat()).expect_code(3).json();
    assert_eq!(together["reason"], alone["reason"]);
}
