//! Diagrams written and read back; damage is noticed wherever it is.

#[path = "diagram/states.rs"]
mod states;

use hadal_store::diagram::{ClosedDiagram, Diagram, DiagramReadError, Keep, Levels, Set as Kind};
use hadal_store::{Bitmap, Governor};
use proptest::prelude::*;
use states::{families, flat};

fn all_states(closed: &ClosedDiagram, set: Kind) -> Vec<u64> {
    let mut all = Vec::new();
    let mut position = closed.iter(set);
    while position.next_batch(closed, 1000, &mut all) == 1000 {}
    all
}

fn is_damage(read: Result<ClosedDiagram, DiagramReadError>) -> bool {
    matches!(read, Err(DiagramReadError::Corrupted { .. } | DiagramReadError::Foreign(_)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_diagram_read_back_is_the_same((shape, family) in families(3, 300), width in 4..=8usize) {
        let levels = Levels::even(shape.words, shape.bits, width).unwrap();
        let mut d = Diagram::new(levels, &Governor::unlimited()).unwrap();
        let roots: Vec<_> = (0..family.len()).map(|index| d.add_root(&format!("set {index}"))).collect();
        let garbage = d.add_root("garbage");
        for (set, &root) in family.iter().zip(&roots) {
            d.build(garbage, &flat(&family[0])).unwrap();
            d.build(root, &flat(set)).unwrap();
        }
        let mut bytes = Vec::new();
        d.write_to(&roots, &mut bytes).unwrap();
        bytes.extend_from_slice(b"what follows is left alone");
        let mut input = bytes.as_slice();
        let back = Diagram::read_from(&mut input, &Governor::unlimited()).unwrap();
        prop_assert_eq!(input, b"what follows is left alone");
        for (index, set) in family.iter().enumerate() {
            let root = back.root(&format!("set {index}")).unwrap();
            let mut listed = Vec::new();
            back.enumerate(root).next_batch(&back, usize::MAX, &mut listed);
            prop_assert_eq!(listed, flat(set));
        }
        prop_assert!(back.root("garbage").is_none());
    }

    #[test]
    fn a_flipped_bit_or_a_missing_end_is_noticed((shape, family) in families(1, 60), at in any::<prop::sample::Index>()) {
        let mut closed = ClosedDiagram::new(shape.words, shape.bits, &Governor::unlimited()).unwrap();
        closed.filter_add(&flat(&family[0]), Keep::ClosedAndNext, &mut Bitmap::default()).unwrap();
        let mut bytes = Vec::new();
        closed.write_to(&mut bytes).unwrap();
        let read = |mut bytes: &[u8]| ClosedDiagram::read_from(&mut bytes, shape.words, &Governor::new(1 << 24));
        prop_assert_eq!(all_states(&read(&bytes).unwrap(), Kind::Closed), flat(&family[0]));
        let at = at.index(bytes.len());
        let cut = read(&bytes[..at]);
        prop_assert!(is_damage(cut), "cut at {}", at);
        for bit in 0..8 {
            bytes[at] ^= 1 << bit;
            let flipped = read(&bytes);
            prop_assert!(is_damage(flipped), "flipped at {}", at);
            bytes[at] ^= 1 << bit;
        }
    }
}

#[test]
fn a_sharded_set_is_read_back_with_all_its_layers() {
    let states: Vec<u64> = (0..300_000u64).map(|index| index * 37).collect();
    let mut closed = ClosedDiagram::new(1, 32, &Governor::unlimited()).unwrap();
    closed.set_threads(2);
    let mut fresh = Bitmap::default();
    let (old, new) = states.split_at(200_000);
    for part in old.chunks(50_000) {
        closed.filter_add(part, Keep::ClosedAndNext, &mut fresh).unwrap();
    }
    closed.turn_layer();
    closed.filter_add(new, Keep::ClosedAndNext, &mut fresh).unwrap();
    assert!(closed.shards() > 1);
    let mut bytes = Vec::new();
    closed.write_to(&mut bytes).unwrap();
    let mut back = ClosedDiagram::read_from(&mut bytes.as_slice(), 1, &Governor::unlimited()).unwrap();
    assert_eq!(back.len(), 300_000);
    assert_eq!(all_states(&back, Kind::Closed), states);
    assert_eq!(all_states(&back, Kind::Frontier), old);
    assert_eq!(all_states(&back, Kind::Next), new);
    assert_eq!(back.filter_add(&states, Keep::Closed, &mut fresh).unwrap(), 0);
    assert!(matches!(
        ClosedDiagram::read_from(&mut bytes.as_slice(), 2, &Governor::unlimited()),
        Err(DiagramReadError::Foreign(_))
    ));
    let small = Governor::new(40_000);
    assert!(matches!(
        ClosedDiagram::read_from(&mut bytes.as_slice(), 1, &small),
        Err(DiagramReadError::OverBudget(_))
    ));
    assert_eq!(small.current(), 0);
}
