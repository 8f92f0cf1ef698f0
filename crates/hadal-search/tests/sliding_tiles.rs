//! The example of a state space written in Rust gives the numbers known for the 8-puzzle.

#[path = "../examples/sliding_tiles.rs"]
mod sliding_tiles;

use hadal_search::Verdict;
use sliding_tiles::SlidingTiles;

#[test]
fn the_eight_puzzle_has_181440_states_and_depth_31() {
    for threads in [1, 2] {
        let report = SlidingTiles::all(3).explore(1 << 30, threads);
        assert_eq!(report.verdict, Verdict::Holds);
        assert_eq!(report.states, 181_440);
        assert_eq!(report.depth, Some(31));
    }
}

#[test]
fn the_hardest_instances_need_31_moves() {
    for tiles in [[8, 6, 7, 2, 5, 4, 3, 0, 1], [6, 4, 7, 8, 5, 0, 3, 2, 1]] {
        let puzzle = SlidingTiles::solve(&tiles).expect("these are the tiles of an 8-puzzle");
        let Verdict::Violated(found) = puzzle.explore(1 << 30, 1).verdict else { panic!("not solved") };
        assert_eq!(found.path.len(), 31 + 1);
    }
}

#[test]
fn an_odd_permutation_cannot_be_solved() {
    let puzzle = SlidingTiles::solve(&[2, 1, 3, 0]).expect("these are the tiles of a 3-puzzle");
    let report = puzzle.explore(1 << 30, 1);
    assert_eq!(report.verdict, Verdict::Holds);
    assert_eq!(report.states, 12);
}
