//! Prices against brute force: priced zones against integer points, and the models of the sheet.

use hadal_exec::zones::priced::{Answer, Order, PricedLimits, PricedSpace, PricedZone, search};
use hadal_exec::zones::{Zone, ZoneOptions, dbm::weak};
use hadal_lang::LoadedModel;
use hadal_system::timed::{Clause, TimedFormula};
use hadal_system::{Expr, Property, PropertyBody, PropertyKind, Source, Span, TimedSystem};
use hadal_testkit::Random;

const ORDERS: fn() -> [Order; 4] =
    || [Order::Best, Order::Breadth, Order::Depth, Order::Broadening(vec![1, 50, 100])];

fn read(text: &str) -> TimedSystem {
    let loaded = hadal_lang::ta::tck::load(Source::new("priced.tck", text)).expect("the model is accepted");
    let LoadedModel::Timed(mut timed) = loaded.model else { panic!("a timed model") };
    let label = timed.labels.iter().find(|label| label.name == "goal").expect("a goal").clone();
    let when = timed.label_holds(&label);
    timed.system.properties.push(Property {
        name: "goal".into(),
        kind: PropertyKind::Goal,
        params: Vec::new(),
        locals: Vec::new(),
        body: PropertyBody::State(Expr::constant(0)),
        span: Span::default(),
    });
    timed
        .formulas
        .push(Some(TimedFormula { clauses: vec![Clause { when, bounds: Vec::new(), going_on: None }] }));
    timed
}

fn cheapest(text: &str, order: &Order, bound: Option<i64>) -> (PricedSpace, Answer) {
    let timed = read(text);
    let goal = timed.formulas.len() - 1;
    let space = PricedSpace::new(timed, ZoneOptions::default(), goal).expect("it has prices");
    let answer = search(&space, order, bound, PricedLimits::default()).expect("no errors");
    (space, answer)
}

/// Two locations with rates 4 and 2, edges that cost 1 and 4: wait nothing in the first, 4 in the second.
const FIGURE: &str = "system:figure\nevent:a\nclock:1:y\nprocess:P\n\
    location:P:s1{initial: : rate: 4 : invariant: y<=10}\nlocation:P:s2{rate: 2 : invariant: y<=10}\n\
    location:P:s3{labels: goal}\nedge:P:s1:s2:a{do: y=0 : price: 1}\nedge:P:s2:s3:a{provided: y>=4 : price: 4}\n";

/// A zone that is cheap at its lower corner only must not make one needless that is cheap elsewhere.
const TRAP: &str = "system:trap\nevent:a\nclock:1:x\nprocess:P\n\
    location:P:l0{initial: : rate: 10 : invariant: x<=10}\nlocation:P:n{invariant: x<=10}\n\
    location:P:m{rate: 10 : invariant: x<=10}\nlocation:P:g{labels: goal}\n\
    edge:P:l0:m:a{}\nedge:P:l0:n:a{provided: x==0 : price: 20}\nedge:P:n:m:a{provided: x==10}\n\
    edge:P:m:g:a{provided: x==10}\n";

#[test]
fn the_figure_costs_13_and_the_trap_20_in_every_order() {
    for (text, cost) in [(FIGURE, 13), (TRAP, 20)] {
        for order in ORDERS() {
            let (space, answer) = cheapest(text, &order, None);
            let best = answer.best.expect("the goal is reached");
            assert_eq!((best.cost, answer.complete), (cost, true), "{order:?}");
            let schedule = space.schedule(&best).expect("it is paid");
            assert_eq!((schedule.program_cost, schedule.replay_cost), (cost, cost));
        }
    }
}

#[test]
fn a_bound_that_is_the_cost_keeps_the_run_and_one_below_says_none() {
    for order in ORDERS() {
        let (_, answer) = cheapest(FIGURE, &order, Some(13));
        assert_eq!(answer.best.map(|best| best.cost), Some(13), "{order:?}");
        let (_, answer) = cheapest(FIGURE, &order, Some(12));
        assert!(answer.best.is_none() && answer.complete, "{order:?}");
    }
}

const LARGEST: i32 = 4;

/// A bounded zone of two clocks with a cost over it.
fn priced(random: &mut Random) -> PricedZone {
    loop {
        let mut zone = Zone::all(2);
        let mut holds = zone.constrain(1, 0, weak(LARGEST)) && zone.constrain(2, 0, weak(LARGEST));
        for _ in 0..random.below(4) {
            let (i, j) = (random.below(3) as usize, random.below(3) as usize);
            let constant = random.below(2 * LARGEST as u64 + 1) as i32 - LARGEST;
            holds = holds && (i == j || zone.constrain(i, j, weak(constant)));
        }
        if holds {
            let mut slope = || random.below(7) as i64 - 3;
            let slopes = vec![0, slope(), slope()];
            return PricedZone { zone, cost: 100, slopes };
        }
    }
}

fn contains(zone: &Zone, point: [i32; 3]) -> bool {
    (0..3).all(|i| (0..3).all(|j| i == j || weak(point[i] - point[j]) <= zone.entry(i, j)))
}

fn cost(priced: &PricedZone, point: [i32; 3]) -> i64 {
    (1..3).fold(priced.cost, |cost, x| {
        cost + priced.slopes[x] * i64::from(point[x] + (priced.zone.entry(0, x) >> 1))
    })
}

/// The least cost of a point over several pieces.
fn least(pieces: &[PricedZone], point: [i32; 3]) -> Option<i64> {
    pieces.iter().filter(|piece| contains(&piece.zone, point)).map(|piece| cost(piece, point)).min()
}

fn points() -> impl Iterator<Item = [i32; 3]> {
    (0..=2 * LARGEST).flat_map(|x| (0..=2 * LARGEST).map(move |y| [0, x, y]))
}

#[test]
fn delays_resets_and_infima_are_least_costs_of_points() {
    let mut random = Random::new(0xD1B5_4A32_D192_ED03);
    for _ in 0..400 {
        let from = priced(&mut random);
        let rate = random.below(8) as i64;
        let later = from.delay(rate);
        let clock = 1 + random.below(2) as usize;
        let value = random.below(3);
        let reset = from.reset(clock, value);
        for p in points() {
            let delayed = (0..=p[1].min(p[2]))
                .filter(|d| contains(&from.zone, [0, p[1] - d, p[2] - d]))
                .map(|d| cost(&from, [0, p[1] - d, p[2] - d]) + rate * i64::from(d))
                .min();
            assert_eq!(least(&later, p), delayed, "delay {rate} of {from:?} at {p:?}");
            let expected = (p[clock] == value).then_some(()).and_then(|()| {
                (0..=LARGEST)
                    .map(|before| {
                        let mut q = p;
                        q[clock] = before;
                        q
                    })
                    .filter(|&q| contains(&from.zone, q))
                    .map(|q| cost(&from, q))
                    .min()
            });
            assert_eq!(least(&reset, p), expected, "reset {clock} of {from:?} at {p:?}");
        }
        let infimum = points().filter(|&p| contains(&from.zone, p)).map(|p| cost(&from, p)).min();
        assert_eq!(from.infimum(), infimum, "{from:?}");
        let mut other = priced(&mut random);
        other.cost += random.below(21) as i64 - 10;
        let expected = points()
            .filter(|&p| contains(&from.zone, p))
            .all(|p| contains(&other.zone, p) && cost(&other, p) <= cost(&from, p));
        assert_eq!(from.is_dominated_by(&other), expected, "{from:?} {other:?}");
    }
}
