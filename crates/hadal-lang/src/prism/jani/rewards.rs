//! Transient variables: formulas over locations, and rewards where a property accumulates them.

use super::{Document, Instance, Read, list, text, wrong};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

/// When a reward is earned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accumulate {
    pub steps: bool,
    /// In states: when they are left, or by time.
    pub states: bool,
}

impl Document<'_> {
    /// Transient variables as formulas of the state.
    pub(super) fn transients(&self, model: &mut String) -> Read<()> {
        for (n, variable) in list(self.root, "variables").iter().enumerate() {
            if variable["transient"] == true {
                let place = format!("variables[{n}]");
                let name = text(variable, "name", &place)?;
                let (value, _) = self.in_locations(name, variable, &place)?;
                let _ = writeln!(model, "formula {} = {value};", self.globals.name(name, &place)?);
            }
        }
        Ok(())
    }

    /// The value of a transient variable by location, and whether any location says something of it.
    fn in_locations(&self, name: &str, variable: &Value, place: &str) -> Read<(String, bool)> {
        let mut value = match &variable["initial-value"] {
            Value::Null if variable["type"] == "bool" => "false".to_owned(),
            Value::Null => "0".to_owned(),
            value => self.globals.expression(value, place)?,
        };
        let mut owner = None;
        for (n, instance) in self.instances.iter().enumerate() {
            for (k, location) in list(instance.automaton, "locations").iter().enumerate() {
                for given in list(location, "transient-values").iter().filter(|given| given["ref"] == name) {
                    if owner.is_some_and(|owner| owner != n) {
                        return wrong(place, format!("several automata give `{name}` a value"));
                    }
                    owner = Some(n);
                    let given = instance.scope.expression(&given["value"], &instance.place)?;
                    value = format!("({} ? ({given}) : {value})", instance.at(k));
                }
            }
        }
        let says = owner.is_some() || value != "0" && value != "0.0";
        Ok((value, says))
    }

    /// A reward structure of a transient variable or a number.
    pub(super) fn reward(&self, name: &str, earned: &Value, when: Accumulate) -> Read<String> {
        let mut items = String::new();
        let place = "properties";
        match earned {
            Value::Number(number) => {
                let _ = writeln!(items, "  true : {number};");
            }
            Value::String(variable) if self.is_transient(variable) => {
                let all = list(self.root, "variables");
                let declared = all.iter().find(|v| v["name"] == variable.as_str()).unwrap_or(&Value::Null);
                let (_, in_states) = self.in_locations(variable, declared, place)?;
                if when.states && in_states {
                    let _ = writeln!(items, "  true : {};", self.globals.name(variable, place)?);
                }
                if when.steps {
                    for n in 0..self.instances.len() {
                        self.edge_rewards(n, variable, &mut items)?;
                    }
                }
            }
            other => {
                return wrong(
                    place,
                    format!("{other} is accumulated: a transient variable or a number can be"),
                );
            }
        }
        Ok(format!("rewards \"{name}\"\n{items}endrewards\n"))
    }

    fn edge_rewards(&self, n: usize, variable: &str, items: &mut String) -> Read<()> {
        let instance = &self.instances[n];
        // By location and action that is shared: what its edges earn.
        let mut shared: BTreeMap<(String, String), String> = BTreeMap::new();
        for (k, edge) in list(instance.automaton, "edges").iter().enumerate() {
            let place = format!("{}.edges[{k}]", instance.place);
            let earned = edge_value(instance, edge, variable, &place)?;
            let guard = self.guard(instance, edge, &place)?;
            for label in self.labels(n, edge) {
                let Some(label) = label else {
                    if let Some(earned) = &earned {
                        let _ = writeln!(items, "  [{}] {guard} : {earned};", self.reward_action(n, k));
                    }
                    continue;
                };
                let key = (text(edge, "location", &place)?.to_owned(), label.to_owned());
                let now = earned.clone().unwrap_or_default();
                match shared.insert(key, now.clone()) {
                    Some(before) if before != now => {
                        return wrong(&place, "edges of one location and action earn different rewards");
                    }
                    // The same again: the first item may not cover this guard.
                    _ if earned.is_some() => {
                        let _ = writeln!(items, "  [{label}] {guard} : {now};");
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// What an edge gives a transient variable, whatever happens.
fn edge_value(instance: &Instance, edge: &Value, variable: &str, place: &str) -> Read<Option<String>> {
    let given = |assignments: &[Value]| -> Read<Option<String>> {
        let found = assignments.iter().find(|a| a["ref"] == variable);
        found.map(|a| instance.scope.expression(&a["value"], place)).transpose()
    };
    if let Some(value) = given(list(edge, "assignments"))? {
        return Ok(Some(value));
    }
    let mut values = Vec::new();
    for destination in list(edge, "destinations") {
        values.push(given(list(destination, "assignments"))?);
    }
    match values.windows(2).all(|pair| pair[0] == pair[1]) {
        true => Ok(values.into_iter().next().flatten()),
        false => wrong(place, "what is earned depends on the destination"),
    }
}
