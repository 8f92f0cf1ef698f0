//! Workers over loopback connections give the numbers and the trace of one process, with inboxes that stay small.

use hadal_cluster::connect::{Listening, Pass};
use hadal_cluster::link::{Link, WINDOW};
use hadal_search::exchange::{Exchange, Shares};
use hadal_search::explore::{self, Run, Setting};
use hadal_search::layered::Trouble;
use hadal_search::layered::ledger::Ledger;
use hadal_search::ram::Breadth;
use hadal_search::strategy::{Distributed, Strategy};
use hadal_search::tiles::Tiles;
use hadal_search::{Control, DeadlockNotion, Limits, Question, Report, SearchTask};
use hadal_store::Governor;
use hadal_store::manifest::{Medium, RunFolder};
use hadal_store::shape::{RecordShape, Records};
use hadal_store::vfs::{Folder, IoThreads};
use hadal_system::StateSpace;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Lets each worker do something with its link.
fn with_links<T: Send>(workers: usize, work: impl Fn(&Link) -> T + Sync) -> Vec<T> {
    let places: Vec<Listening> =
        (0..workers).map(|_| Listening::at("127.0.0.1:0").expect("a port")).collect();
    let addresses: Vec<String> = places.iter().map(|place| place.address().expect("its own")).collect();
    let pass = Pass { token: "token".into(), fingerprint: 1 };
    std::thread::scope(|scope| {
        let started = places.into_iter().enumerate().map(|(me, place)| {
            let (addresses, pass, work) = (&addresses, &pass, &work);
            scope.spawn(move || {
                let sockets = place.connect(me, addresses, pass).expect("the others");
                let shares = Shares::weighted(&vec![1; workers]).expect("weights");
                let link = Link::new(me, sockets, shares).expect("a link");
                let done = work(&link);
                link.close();
                done
            })
        });
        let started: Vec<_> = started.collect();
        started.into_iter().map(|worker| worker.join().expect("no panic")).collect()
    })
}

fn search(link: &Link, space: &dyn StateSpace, folder: &Path) -> Result<Report, Trouble> {
    let strategy = Strategy::named("sort").expect("a strategy");
    let method = Distributed::new(&strategy, link)?;
    let path = folder.join(link.me().to_string());
    std::fs::create_dir_all(&path).expect("a folder");
    let governor = Governor::new(8 << 20);
    let ledger = || {
        let vfs = Arc::new(Folder::create(&path).expect("a folder"));
        let medium = Medium::new(vfs, IoThreads::new(1), governor.clone());
        Ok(Ledger::new(RunFolder::create(medium, space.fingerprint(), 4096)?, serde_json::Value::Null))
    };
    let question = Question::everything(space.properties(), DeadlockNotion::Off);
    let control = Control::new(Limits::default());
    let task = SearchTask { space, question: &question, control: &control };
    let setting = Setting { task, governor: &governor, threads: 1, run: Run::New(&ledger) };
    Ok(explore::explore(&method, setting)?.report)
}

#[test]
fn workers_over_loopback_answer_as_one_process_does() {
    let solvable = Tiles::parse("180274635").expect("a board");
    let whole = Tiles::parse("012345678").expect("a board").without_goal();
    for space in [&solvable as &dyn StateSpace, &whole] {
        let question = Question::everything(space.properties(), DeadlockNotion::Off);
        let control = Control::new(Limits::default());
        let task = SearchTask { space, question: &question, control: &control };
        let governor = Governor::unlimited();
        let alone = explore::explore(&Breadth, Setting::in_ram(task, &governor, 1)).expect("in RAM").report;
        let folder = tempfile::tempdir().expect("a folder");
        for report in with_links(3, |link| search(link, space, folder.path())) {
            let report = report.expect("an answer");
            assert_eq!(report.verdict, alone.verdict);
            let counts = |it: &Report| (it.states, it.transitions, it.depth);
            assert_eq!(counts(&report), counts(&alone));
        }
    }
}

#[test]
fn a_receiver_that_does_not_take_stops_its_senders() {
    const BLOCKS: u64 = 200;
    let shape = RecordShape::states(1);
    // Noise: nothing makes it small.
    let noise = |n: u64| (n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let sums = with_links(3, |link| {
        let (mut sent, mut sum, mut arrived) = (0, 0u64, Vec::new());
        let mut take = || {
            while link.arrived(0, &mut arrived).expect("nobody is lost") {
                sum = arrived.iter().fold(sum, |sum, &word| sum.wrapping_add(word));
            }
        };
        // Worker 0 takes nothing before the others have stopped.
        while link.me() > 0 && sent < BLOCKS {
            let mut block: Vec<u64> = (0..1000).map(|n| noise(n + 1000 * sent) >> 1).collect();
            block.sort_unstable();
            if !link.send(0, 0, Records::new(shape, &block)).expect("nobody is lost") {
                break;
            }
            sent += 1;
        }
        link.say(0, &[sent]).expect("nobody is lost");
        let heard = loop {
            if let Some(heard) = link.heard(0).expect("nobody is lost") {
                break heard;
            }
            link.wait();
        };
        take();
        let most = link.figures().most_inbox.load(Relaxed);
        assert!(most <= link.inbox_bytes(), "{most}");
        (heard, sum, sent)
    });
    let (heard, sum, _) = &sums[0];
    assert!(heard[1][0] < BLOCKS && heard[2][0] < BLOCKS, "they were refused: {heard:?}");
    assert!(heard[1][0] * 8000 >= WINDOW, "not before the window was full: {heard:?}");
    let expected: u64 = [1, 2].iter().fold(0, |sum: u64, &worker: &usize| {
        (0..1000 * heard[worker][0]).fold(sum, |sum, n| sum.wrapping_add(noise(n) >> 1))
    });
    assert_eq!(*sum, expected, "everything arrived once");
}
