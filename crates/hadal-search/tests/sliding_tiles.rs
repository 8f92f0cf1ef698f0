//! The example of a state space written in Rust gives the numbers known for the 8-puzzle.

#[path = "../examples/sliding_tiles.rs"]
mod sliding_tiles;

use hadal_search::Verdict;
use hadal_search::tiles::Tiles;
use sliding_tiles::explore;

#[test]
fn the_eight_puzzle_has_181440_states_and_depth_31() {
    let puzzle = Tiles::parse("012345678").expect("the tiles of an 8-puzzle").without_goal();
    for threads in [1, 2] {
        let report = explore(&puzzle, 1 << 30, threads);
        assert_eq!(report.verdict, Verdict::Holds);
        assert_eq!(report.states, 181_440);
        assert_eq!(report.depth, Some(31));
    }
}

#[test]
fn the_hardest_instances_need_31_moves() {
    for tiles in ["806547231", "876041253"] {
        let puzzle = Tiles::parse(tiles).expect("these are the tiles of an 8-puzzle");
        let Verdict::Violated(found) = explore(&puzzle, 1 << 30, 1).verdict else { panic!("not solved") };
        assert_eq!(found.path.len(), 31 + 1);
    }
}

#[test]
fn an_odd_permutation_cannot_be_solved() {
    let puzzle = Tiles::parse("0213").expect("these are the tiles of a 3-puzzle");
    let report = explore(&puzzle, 1 << 30, 1);
    assert_eq!(report.verdict, Verdict::Holds);
    assert_eq!(report.states, 12);
}
