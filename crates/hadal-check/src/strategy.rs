//! A strategy by its name in [`hadal_search::strategies`].

use hadal_search::strategies::{STRATEGIES, StrategyInfo};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt::{Display, Formatter};
use std::ops::Deref;
use std::str::FromStr;

/// How states are visited and stored: one of [`STRATEGIES`].
#[derive(Clone, Copy, Debug)]
pub struct Strategy(&'static StrategyInfo);

impl Strategy {
    /// The strategy of this name.
    pub fn named(name: &str) -> Option<Self> {
        StrategyInfo::named(name).map(Strategy)
    }

    /// Its entry in the table.
    pub fn info(self) -> &'static StrategyInfo {
        self.0
    }

    /// Whether it is the one that is used unless another is named.
    pub fn is_default(self) -> bool {
        self == Strategy::default()
    }

    /// Every strategy.
    pub fn all() -> impl Iterator<Item = Strategy> {
        STRATEGIES.iter().map(Strategy)
    }
}

impl Default for Strategy {
    fn default() -> Self {
        Strategy(&STRATEGIES[0])
    }
}

impl Deref for Strategy {
    type Target = StrategyInfo;

    fn deref(&self) -> &StrategyInfo {
        self.0
    }
}

impl PartialEq for Strategy {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Strategy {}

impl Display for Strategy {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl FromStr for Strategy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Strategy::named(text).ok_or_else(|| {
            let names: Vec<&str> = STRATEGIES.iter().map(|info| info.name).collect();
            format!("no such strategy; there are {}", names.join(", "))
        })
    }
}

impl Serialize for Strategy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

impl<'de> Deserialize<'de> for Strategy {
    /// Also as earlier versions wrote it: `SternDill`.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let plain = |name: &str| name.replace('-', "").to_ascii_lowercase();
        let known = Strategy::all().find(|strategy| plain(strategy.name) == plain(&text));
        known.ok_or_else(|| D::Error::custom(format!("no such strategy: {text}")))
    }
}

#[cfg(feature = "clap")]
impl clap::builder::ValueParserFactory for Strategy {
    type Parser = clap::builder::ValueParser;

    fn value_parser() -> Self::Parser {
        use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
        let values = STRATEGIES.iter().map(|info| PossibleValue::new(info.name).help(info.help));
        // Only names of the table pass the parser.
        PossibleValuesParser::new(values).try_map(|name| name.parse::<Strategy>()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_a_run_folder_also_as_they_once_were() {
        for strategy in Strategy::all() {
            let text = serde_json::to_string(&strategy).expect("a name");
            assert_eq!(serde_json::from_str::<Strategy>(&text).expect("the same"), strategy);
        }
        let old = serde_json::from_str::<Strategy>("\"SortFilePerLayer\"").expect("an old name");
        assert_eq!(old.name, "sort-file-per-layer");
        assert!(serde_json::from_str::<Strategy>("\"none\"").is_err());
        assert!(Strategy::default().is_default() && Strategy::default().name == "auto");
    }
}
