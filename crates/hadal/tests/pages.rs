//! Pages of traces and runs in a real browser: layout and contrast, on wide and narrow screens, in light and dark.

mod support;

use std::path::Path;
use support::browser::Browser;
use support::{bundled_model, hadal};

/// Few rows, so that a header that takes what is left over would be seen to.
const SHORT: &str =
    "var x: 0..3; startstate x := 0; end; rule \"up\" x < 3 ==> x := x + 1; end; invariant \"low\" x < 2;";

fn saved(folder: &Path, name: &str, page: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, page).expect("it can be written");
    format!("file://{}", path.display())
}

/// What must be true of any page: text can be read, and nothing is cut off.
#[track_caller]
fn is_readable(browser: &mut Browser, name: &str) {
    for (width, height) in [(1400, 900), (390, 844)] {
        for scheme in ["light", "dark"] {
            browser.window(width, height, scheme);
            let (contrast, of) = browser.least_contrast();
            assert!(contrast >= 4.5, "{name} {width} {scheme}: {contrast:.2} : 1 for `{of}`");
            assert!(browser.overhang() <= 0, "{name} {width}: {} points are cut off", browser.overhang());
            browser.picture(&format!("{name}-{width}-{scheme}"));
        }
    }
}

#[test]
fn a_trace_is_readable_on_any_screen() {
    let folder = tempfile::tempdir().expect("a folder");
    let short = folder.path().join("short.m");
    std::fs::write(&short, SHORT).expect("it can be written");
    let Some(mut browser) = Browser::start() else { return };
    for (name, model) in
        [("trace-short", short.display().to_string()), ("trace", bundled_model("ticket_lock.m"))]
    {
        let page = hadal(&["check", &model, "--trace", "html"]).expect_code(1).stdout;
        browser.open(&saved(folder.path(), &format!("{name}.html"), &page));
        browser.until("document.querySelectorAll('#steps li').length > 1");
        is_readable(&mut browser, name);
        // Wide: the header takes what it needs, the steps the rest.
        browser.window(1400, 900, "light");
        let header =
            browser.value("document.querySelector('header').offsetHeight").as_f64().expect("a height");
        assert!(header < 250.0, "{name}: the header is {header} points high");
        let (steps, main) =
            ("document.querySelector('#steps').offsetHeight", "document.querySelector('main').offsetWidth");
        assert!(browser.value(steps).as_f64() > Some(500.0));
        // Narrow: the state stands below the steps, as wide as the window.
        browser.window(390, 844, "light");
        assert!(browser.value(main).as_f64() > Some(350.0));
        let below = "document.querySelector('main').getBoundingClientRect().top >= document.querySelector('#steps').getBoundingClientRect().bottom - 1";
        assert_eq!(browser.value(below), true);
        // A touch on a step shows its state.
        browser.value("document.querySelector('#steps li:nth-child(2) button').click()");
        assert_eq!(browser.value("document.querySelectorAll('#steps [aria-current]').length"), 1);
    }
}

/// A long value beside short names.
const MESSAGES: &str = "type Node: scalarset(2); Message: record source: Node; target: Node; urgent: boolean; end; \
    var network: multiset [4] of Message; waiting: array [Node] of boolean; \
    startstate undefine network; for n: Node do waiting[n] := false; end; end; \
    ruleset n: Node; m: Node do rule \"send\" !waiting[n] ==> var it: Message; begin waiting[n] := true; it.source := n; \
    it.target := m; it.urgent := n = m; multisetadd(it, network); end; end; \
    invariant \"few\" multisetcount(i: network, true) < 2;";

#[test]
fn names_stay_in_one_piece_beside_long_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = folder.path().join("messages.m");
    std::fs::write(&model, MESSAGES).expect("it can be written");
    let page = hadal(&["check", &model.display().to_string(), "--trace", "html"]).expect_code(1).stdout;
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&saved(folder.path(), "messages.html", &page));
    browser.until("document.querySelectorAll('tbody tr').length > 2");
    is_readable(&mut browser, "trace-messages");
    for width in [1400, 390] {
        browser.window(width, 844, "light");
        let lines = "Math.max(...[...document.querySelectorAll('tbody tr')].map(row => { const range = \
            document.createRange(); range.selectNodeContents(row.cells[0]); return range.getClientRects().length; }))";
        assert_eq!(browser.value(lines), 1, "at {width} points a name is broken");
    }
}

#[test]
fn reports_and_answers_without_a_trace_are_readable_on_any_screen() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report.html");
    hadal(&["check", &bundled_model("peterson.m"), "--report", &report.display().to_string()]).expect_code(0);
    let holds = hadal(&["check", &bundled_model("peterson.m"), "--trace", "html"]).expect_code(0).stdout;
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&format!("file://{}", report.display()));
    is_readable(&mut browser, "report");
    browser.open(&saved(folder.path(), "holds.html", &holds));
    is_readable(&mut browser, "holds");
}

#[test]
fn the_benchmark_page_is_readable_on_any_screen() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("bench.html");
    let page_path = page.display().to_string();
    hadal(&["bench", "quick", "--no-peers", "--only", "ticket_lock", "--html", &page_path]).expect_code(0);
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&format!("file://{page_path}"));
    is_readable(&mut browser, "bench");
}
