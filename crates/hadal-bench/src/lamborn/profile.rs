//! The tables of layers (3.6 and 3.7): how many new states each layer has, ours beside the published ones as far as
//! `--max-states` and `--time-limit` let the search come.

use super::Bench;
use super::published::{Instance, Profile};
use crate::error::BenchError;
use hadal_check::units::{counted, grouped};
use serde::Serialize;

/// How far our layers are the published ones.
#[derive(Debug, Serialize)]
pub struct ProfileCompared {
    /// The table's number.
    pub table: String,
    /// The model, as the dissertation calls it.
    pub model: String,
    /// Layers from the first on that are the same.
    pub equal_layers: usize,
    /// States in those.
    pub equal_states: u64,
    /// The first layer that is not: its number, the published states, ours.
    pub first_difference: Option<(usize, u64, u64)>,
    /// Why the search came no further.
    pub stopped: Option<String>,
}

impl ProfileCompared {
    /// Compares layers.
    fn of(profile: &Profile, ours: &[u64], stopped: Option<String>) -> Self {
        let equal_layers =
            profile.layers.iter().zip(ours).take_while(|(theirs, ours)| theirs == ours).count();
        let pair = profile.layers.get(equal_layers).zip(ours.get(equal_layers));
        ProfileCompared {
            table: profile.table.clone(),
            model: profile.model.clone(),
            equal_layers,
            equal_states: ours[..equal_layers].iter().sum(),
            first_difference: pair.map(|(&theirs, &ours)| (equal_layers, theirs, ours)),
            stopped,
        }
    }

    /// One line about it.
    pub fn told(&self) -> String {
        let equal = format!(
            "{}: the first {} ({} states) are as published",
            self.model,
            counted(self.equal_layers as u64, "layer"),
            grouped(self.equal_states)
        );
        let differs = self.first_difference.map_or(String::new(), |(layer, theirs, ours)| {
            format!("; layer {layer} has {} states, published {}", grouped(ours), grouped(theirs))
        });
        let stopped = self.stopped.as_ref().map_or(String::new(), |why| format!("; then it stopped: {why}"));
        format!("{equal}{differs}{stopped}")
    }
}

impl Bench<'_> {
    /// Runs the published instance of a table of layers, as far as the limits let it.
    pub(super) fn compare_layers(
        &mut self,
        profile: &Profile,
        instance: &Instance,
    ) -> Result<ProfileCompared, BenchError> {
        let most = self.most_states().to_string();
        let words = ["--strategy", "auto", "--max-states", &most].map(str::to_owned).to_vec();
        let run = self.search(instance, words)?;
        let layers = run.json["layers"].as_array().map_or(&[][..], Vec::as_slice);
        let ours: Vec<u64> = layers.iter().filter_map(|layer| layer["states"].as_u64()).collect();
        let stopped = (run.verdict != instance.verdict).then(|| run.reason.clone().unwrap_or_default());
        Ok(ProfileCompared::of(profile, &ours, stopped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_compared_up_to_the_first_that_differs() {
        let profile = Profile { table: "3.6".into(), model: "m".into(), layers: vec![1, 4, 24, 89] };
        let compared = ProfileCompared::of(&profile, &[1, 4, 23, 89], None);
        assert_eq!((compared.equal_layers, compared.equal_states), (2, 5));
        assert_eq!(compared.first_difference, Some((2, 24, 23)));
        assert!(compared.told().contains("layer 2 has 23 states, published 24"), "{}", compared.told());
        let fewer = ProfileCompared::of(&profile, &[1, 4], Some("--max-states is reached".into()));
        assert_eq!((fewer.equal_layers, fewer.first_difference), (2, None));
        assert!(fewer.told().ends_with("then it stopped: --max-states is reached"));
    }
}
