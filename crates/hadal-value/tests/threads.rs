//! Large components are swept by several threads: values have the same bits for any number of them.

use hadal_exec::{Model, ModelOptions};
use hadal_lang::prism;
use hadal_system::Source;
use hadal_value::disk::answer_in_ram;
use hadal_value::{Options, Precision, answer};
use std::collections::HashMap;

/// A floor that is one component but for its ends: 19 600 cells, so several chunks.
const FLOOR: &str = "mdp
module walk
    x : [0..139] init 70;
    y : [0..139] init 60;
    end : [0..2] init 0;
    [east] end=0 -> 0.6 : (x'=mod(x+1,140)) + 0.2 : (y'=max(y-1,0)) + 0.15 : (x'=mod(y,7)) + 0.05 : (end'=1);
    [north] end=0 -> 0.5 : (y'=min(y+1,139)) + 0.4 : (x'=max(x-1,0)) + 0.1 : (end'=x>y?1:2);
    [] end>0 -> true;
endmodule
rewards [east] true : 1; [north] true : 2; endrewards
label \"good\" = end=1;
label \"end\" = end>0;";

#[test]
fn values_do_not_depend_on_the_number_of_threads() {
    for question in
        ["Pmax=? [ F \"good\" ]", "Pmin=? [ F \"good\" ]", "Rmin=? [ F \"end\" ]", "Rmax=? [ C<=30 ]"]
    {
        let mut loaded = prism::load(Source::new("floor", FLOOR), &HashMap::new()).expect("a model");
        let objective = loaded.formula(question).expect("a question");
        let model = Model::new(loaded.into_system(), ModelOptions::default()).expect("a model that runs");
        let with = |threads: usize| {
            let precision = Precision { threads, relative: 1e-4, ..Precision::default() };
            let options = Options { precision, memory: None, max_states: None };
            (options, answer(&model, model.system(), &objective, options).expect("an answer"))
        };
        let (options, one) = with(1);
        let (low, high) = one.value.expect("bounds");
        assert!(one.size.states > 19_000 && low <= high && high - low <= 1e-4 * high, "{question}: {one:?}");
        for threads in [2, 3, 8, 64] {
            let (_, found) = with(threads);
            let (other_low, other_high) = found.value.expect("bounds");
            assert_eq!(
                (low.to_bits(), high.to_bits()),
                (other_low.to_bits(), other_high.to_bits()),
                "{question}"
            );
            assert_eq!(one.sweeps, found.sweeps);
        }
        // Sweeps of all values at once prove other bounds of the same value.
        let plain = answer_in_ram(&model, model.system(), &objective, options).expect("an answer");
        let (plain_low, plain_high) = plain.value.expect("bounds");
        assert!(plain_low <= high && low <= plain_high, "{question}: {one:?} {plain:?}");
    }
}
