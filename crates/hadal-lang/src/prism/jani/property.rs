//! Properties of JANI as questions in PRISM's language.

use super::rewards::Accumulate;
use super::{Document, Read, list, text, wrong};
use serde_json::Value;
use std::fmt::Write;

/// Reward structures that properties ask for.
#[derive(Default)]
struct Rewards {
    known: Vec<(Value, Accumulate)>,
    text: String,
}

impl Document<'_> {
    /// All properties, a line each, and those that cannot be asked; reward structures are added to the model.
    pub(super) fn properties(&self, model: &mut String) -> Read<(String, Vec<(String, String)>)> {
        let (mut lines, mut refused, mut rewards) = (String::new(), Vec::new(), Rewards::default());
        for (n, property) in list(self.root, "properties").iter().enumerate() {
            let place = format!("properties[{n}]");
            let name = text(property, "name", &place)?;
            match self.question(&property["expression"], &place, &mut rewards) {
                Ok(question) => {
                    let _ = writeln!(lines, "\"{}\": {question};", super::expression::plain(name));
                }
                Err(error) => refused.push((name.to_owned(), error.to_string())),
            }
        }
        model.push_str(&rewards.text);
        Ok((lines, refused))
    }

    fn question(&self, value: &Value, place: &str, rewards: &mut Rewards) -> Read<String> {
        if value["op"] == "filter" {
            if value["states"]["op"] != "initial" {
                return wrong(place, "filters are of the initial states");
            }
            return self.question(&value["values"], place, rewards);
        }
        let op = value["op"].as_str().unwrap_or_default();
        let bound = match op {
            "≥" => ">=",
            ">" => ">",
            "≤" => "<=",
            "<" => "<",
            _ => return self.query(value, "=?", place, rewards),
        };
        // A bound holds whatever is chosen: it is one on the least value, or on the greatest.
        let inner = value["left"]["op"].as_str().unwrap_or_default();
        match (inner, bound) {
            ("Pmin" | "Emin", ">=" | ">") | ("Pmax" | "Emax", "<=" | "<") => {}
            _ => return wrong(place, "a bound from below is on a least value, one from above on a greatest"),
        }
        let limit = self.globals.expression(&value["right"], place)?;
        self.query(&value["left"], &format!("{bound}({limit})"), place, rewards)
    }

    fn query(&self, value: &Value, asked: &str, place: &str, rewards: &mut Rewards) -> Read<String> {
        let op = value["op"].as_str().unwrap_or_default();
        // Bounds say by themselves which value they are on.
        let sense = |op: &str| match (asked, self.kind) {
            ("=?", "mdp") => op[1..].to_owned(),
            _ => String::new(),
        };
        Ok(match op {
            "Pmin" | "Pmax" => format!("P{}{asked} [ {} ]", sense(op), self.path(&value["exp"], place)?),
            "Smin" | "Smax" => {
                format!("S{}{asked} [ {} ]", sense(op), self.globals.expression(&value["exp"], place)?)
            }
            "Emin" | "Emax" => {
                let horizon = match (&value["reach"], &value["step-instant"]) {
                    (Value::Null, Value::Null) => {
                        return wrong(place, "what is earned ends in `reach` or `step-instant`");
                    }
                    (Value::Null, steps) => format!("C<={}", self.globals.expression(steps, place)?),
                    (target, Value::Null) => format!("F ({})", self.globals.expression(target, place)?),
                    _ => return wrong(place, "`reach` and `step-instant` together are not supported"),
                };
                if !list(value, "reward-instants").is_empty() || !value["time-instant"].is_null() {
                    return wrong(place, "instants of rewards and time are not supported");
                }
                let name = self.accumulated(value, place, rewards)?;
                format!("R{{\"{name}\"}}{}{asked} [ {horizon} ]", sense(op))
            }
            other => return wrong(place, format!("`{other}` is not asked")),
        })
    }

    /// The reward structure of what is accumulated.
    fn accumulated(&self, value: &Value, place: &str, rewards: &mut Rewards) -> Read<String> {
        let has = |what: &str| list(value, "accumulate").iter().any(|a| a == what);
        let when = Accumulate { steps: has("steps"), states: has("exit") || has("time") };
        if !when.steps && !when.states {
            return wrong(place, "nothing is accumulated");
        }
        let earned = &value["exp"];
        let known = rewards.known.iter().position(|(of, at)| of == earned && *at == when);
        let number = known.unwrap_or(rewards.known.len());
        let name = format!("earned_{number}");
        if known.is_none() {
            rewards.text.push_str(&self.reward(&name, earned, when)?);
            rewards.known.push((earned.clone(), when));
        }
        Ok(name)
    }

    fn path(&self, value: &Value, place: &str) -> Read<String> {
        if !list(value, "reward-bounds").is_empty() {
            return wrong(place, "bounds on rewards are not supported");
        }
        let bounds = match (&value["step-bounds"], &value["time-bounds"]) {
            (Value::Null, bounds) | (bounds, Value::Null) => bounds,
            _ => return wrong(place, "bounds on steps and time together are not supported"),
        };
        let bound = match (&bounds["lower"], &bounds["upper"]) {
            (Value::Null, Value::Null) => String::new(),
            (Value::Null, upper) => {
                let less = if bounds["upper-exclusive"] == true { "<" } else { "<=" };
                format!("{less}({})", self.globals.expression(upper, place)?)
            }
            _ => return wrong(place, "bounds from below are not supported"),
        };
        let part = |name: &str| self.globals.expression(&value[name], place);
        Ok(match value["op"].as_str().unwrap_or_default() {
            op @ ("F" | "G") => format!("{op}{bound} ({})", part("exp")?),
            "U" => format!("({}) U{bound} ({})", part("left")?, part("right")?),
            other => return wrong(place, format!("the path `{other}` is not asked")),
        })
    }
}
