//! Damage to texts and files, drawn from a seed: what a reader must survive.

use crate::random::Random;

/// What is put in where a text is changed: words and signs that several languages share.
const PIECES: [&str; 16] = [
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ";",
    ":=",
    "->",
    "0",
    "-1",
    "99999999999999999999",
    "end",
    "/*",
    "\"",
    "\0",
];

/// The text with one to four changes: bytes flipped, taken out, doubled, replaced, cut off, or nested deeply.
pub fn mutate(original: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len() + 1);
        let end = (at + 1 + random.below(24)).min(bytes.len());
        match random.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 if at < end => drop(bytes.drain(at..end)),
            2 if at < end => {
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            3 => bytes.truncate(at),
            4 => {
                let deep = ["(", "[", "{", "!", "-"][random.below(5)].repeat(1 + random.below(3000));
                bytes.splice(at..at, deep.into_bytes());
            }
            5 if at < end => {
                let to = random.below(bytes.len());
                let part = bytes[at..end].to_vec();
                bytes.splice(to..to, part);
            }
            _ => {
                let piece = PIECES[random.below(PIECES.len())];
                bytes.splice(at..at, piece.bytes());
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_damage() {
        let damaged = |seed| mutate(b"rule \"a\" x = 1 ==> x := 2; end;", &mut Random::new(seed));
        let changed = (0..100).filter(|&seed| damaged(seed) != b"rule \"a\" x = 1 ==> x := 2; end;");
        assert!(changed.count() > 80);
        assert_eq!(damaged(7), damaged(7));
        assert!(mutate(b"", &mut Random::new(3)).len() < 20_000);
    }
}
