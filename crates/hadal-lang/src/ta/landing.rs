//! Aircraft landing as a priced timed automaton, from files of the OR-Library (Beasley et al. 2000; the automata follow
//! Behrmann, Larsen and Rasmussen): each plane pays for every unit it lands before or after its target time.

use std::fmt::Write;

/// A plane.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Plane {
    earliest: i64,
    target: i64,
    latest: i64,
    early: i64,
    late: i64,
    /// Time from its landing to that of each plane.
    separation: Vec<i64>,
}

/// The text of a model in TChecker's language for the planes that `text` lists, or what is wrong with it.
pub fn model(text: &str, runways: u8, copies: u8) -> Result<String, String> {
    let planes = read(text)?;
    match broken_triangle(&planes) {
        None => Ok(write(&planes, runways, copies)),
        Some((i, j, k)) => Err(format!(
            "planes {}, {} and {} break the triangle inequality of separations, so it is not enough to look at the plane \
             that landed last",
            i + 1,
            j + 1,
            k + 1
        )),
    }
}

fn read(text: &str) -> Result<Vec<Plane>, String> {
    let mut numbers = text.split_whitespace();
    let mut next = |what: &str| -> Result<i64, String> {
        let word = numbers.next().ok_or_else(|| format!("ends where {what} is expected"))?;
        let number: f64 = word.parse().map_err(|_| format!("`{word}` is no number"))?;
        if number.fract() != 0.0 || number.abs() > 1e6 {
            return Err(format!("`{word}`: only whole numbers up to a million are supported"));
        }
        Ok(number as i64)
    };
    let count = next("the number of planes")?;
    if !(1..=64).contains(&count) {
        return Err(format!("{count} planes: between 1 and 64 are supported"));
    }
    next("the freeze time")?;
    let mut planes = Vec::new();
    for _ in 0..count {
        next("an appearance time")?;
        let plane = Plane {
            earliest: next("an earliest time")?,
            target: next("a target time")?,
            latest: next("a latest time")?,
            early: next("a penalty")?,
            late: next("a penalty")?,
            separation: (0..count).map(|_| next("a separation")).collect::<Result<_, _>>()?,
        };
        if plane.earliest > plane.target || plane.target > plane.latest || plane.early < 0 || plane.late < 0 {
            return Err(format!(
                "plane {}: its times do not ascend, or a penalty is negative",
                planes.len() + 1
            ));
        }
        planes.push(plane);
    }
    Ok(planes)
}

fn broken_triangle(planes: &[Plane]) -> Option<(usize, usize, usize)> {
    let all = 0..planes.len();
    let between = |i: usize, j: usize| planes[i].separation[j];
    for i in all.clone() {
        for j in all.clone().filter(|&j| j != i) {
            for k in all.clone().filter(|&k| k != i && k != j) {
                if between(i, k) > between(i, j) + between(j, k) {
                    return Some((i, j, k));
                }
            }
        }
    }
    None
}

/// Planes of one class keep the same distances, seen from before and after.
fn classes(planes: &[Plane]) -> Vec<usize> {
    let mut first: Vec<usize> = Vec::new();
    planes
        .iter()
        .enumerate()
        .map(|(n, plane)| {
            let same = |&other: &usize| {
                (0..planes.len())
                    .all(|k| k == n || k == other || plane.separation[k] == planes[other].separation[k])
                    && first_separation(planes, n, other)
            };
            match first.iter().position(same) {
                Some(class) => class,
                None => {
                    first.push(n);
                    first.len() - 1
                }
            }
        })
        .collect()
}

/// Whether two planes keep among each other the distance that others of their class keep to them.
fn first_separation(planes: &[Plane], a: usize, b: usize) -> bool {
    planes[a].separation[b] == planes[b].separation[a]
}

fn write(planes: &[Plane], runways: u8, copies: u8) -> String {
    let class = classes(planes);
    let count = class.iter().max().map_or(0, |most| most + 1);
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "# {} planes, {runways} runways, {copies} copies: find the cheapest run to all labels",
        planes.len()
    );
    let _ = writeln!(out, "system:landing\nevent:wait\nclock:1:time");
    for copy in 1..=copies {
        for runway in 1..=runways {
            let _ = writeln!(out, "clock:1:free_{copy}_{runway}\nint:1:0:{count}:0:last_{copy}_{runway}");
            let _ = writeln!(out, "event:land_{copy}_{runway}");
        }
        for n in 1..=planes.len() {
            let _ = writeln!(out, "event:plane_{copy}_{n}");
        }
    }
    for copy in 1..=copies {
        for (n, plane) in planes.iter().enumerate() {
            let name = format!("plane_{copy}_{}", n + 1);
            let Plane { earliest, target, latest, early, late, .. } = plane;
            let _ = writeln!(out, "\nprocess:{name}");
            let _ = writeln!(out, "location:{name}:approach{{initial: : invariant: time<={target}}}");
            let _ = writeln!(out, "location:{name}:early{{invariant: time<={target} : rate: {early}}}");
            let _ = writeln!(out, "location:{name}:late{{invariant: time<={latest} : rate: {late}}}");
            let _ = writeln!(out, "location:{name}:done{{labels: {name}}}");
            for runway in 1..=runways {
                let land = format!("land_{copy}_{runway}");
                let _ = writeln!(out, "edge:{name}:approach:early:{land}{{provided: time>={earliest}}}");
                let _ = writeln!(out, "edge:{name}:late:done:{land}{{}}");
            }
            let _ = writeln!(out, "edge:{name}:early:done:wait{{provided: time=={target}}}");
            let _ = writeln!(out, "edge:{name}:approach:late:wait{{provided: time=={target}}}");
        }
        for runway in 1..=runways {
            let name = format!("runway_{copy}_{runway}");
            let _ = writeln!(out, "\nprocess:{name}\nlocation:{name}:open{{initial:}}");
            for n in 0..planes.len() {
                let mut distance = "0".to_owned();
                for before in 0..count {
                    let example = (0..planes.len()).find(|&k| k != n && class[k] == before);
                    let Some(example) = example else { continue };
                    let apart = planes[example].separation[n];
                    distance =
                        format!("if last_{copy}_{runway}=={} then {apart} else {distance}", before + 1);
                }
                let _ = writeln!(
                    out,
                    "edge:{name}:open:open:plane_{copy}_{}{{provided: free_{copy}_{runway}>=({distance}) : do: \
                     free_{copy}_{runway}=0; last_{copy}_{runway}={}}}",
                    n + 1,
                    class[n] + 1
                );
            }
        }
        for n in 1..=planes.len() {
            for runway in 1..=runways {
                let _ = writeln!(
                    out,
                    "sync:plane_{copy}_{n}@land_{copy}_{runway}:runway_{copy}_{runway}@plane_{copy}_{n}"
                );
            }
        }
    }
    out
}
