//! A subset of JANI (Budde et al. 2017): decision processes and chains of automata with locations, bounded variables and vectors of
//! synchronisation. They become a model in PRISM's language, so that every question can be asked of them.
//!
//! An automaton becomes a module, its location a variable; a vector of synchronisation becomes an action of its own. Transient
//! variables become formulas over locations, and rewards where a property accumulates them.

mod expression;
mod property;
mod rewards;

use expression::Scope;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Why a document is not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct JaniError {
    /// Where in the document.
    pub place: String,
    /// What is wrong, or not supported.
    pub what: String,
}

type Read<T> = Result<T, JaniError>;

fn wrong<T>(place: &str, what: impl Into<String>) -> Read<T> {
    Err(JaniError { place: place.to_owned(), what: what.into() })
}

/// A document in PRISM's language.
#[derive(Clone, Debug)]
pub struct Translated {
    /// The model.
    pub model: String,
    /// Its properties, a line each.
    pub properties: String,
    /// Properties that cannot be asked: their names, and why.
    pub refused: Vec<(String, String)>,
}

/// Translates a document.
pub fn to_prism(text: &str) -> Read<Translated> {
    let root: Value = match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
        Ok(root) => root,
        Err(error) => return wrong("document", error.to_string()),
    };
    Document::new(&root)?.translate()
}

/// An automaton as an element of the system.
struct Instance<'d> {
    automaton: &'d Value,
    /// Where it stands in the document.
    place: String,
    name: String,
    scope: Scope,
    /// The numbers of its locations.
    locations: BTreeMap<&'d str, usize>,
}

impl Instance<'_> {
    /// The variable that holds its location, if it has several.
    fn location(&self) -> Option<String> {
        (self.locations.len() > 1).then(|| format!("{}_location", self.name))
    }

    /// Being in a location.
    fn at(&self, location: usize) -> String {
        self.location().map_or_else(|| "true".into(), |name| format!("{name}={location}"))
    }
}

struct Document<'d> {
    root: &'d Value,
    kind: &'static str,
    globals: Scope,
    instances: Vec<Instance<'d>>,
    /// By instance and action: the names of the vectors in which it takes part so; without a vector, an action stands alone.
    vectors: Vec<(String, Vec<Option<String>>)>,
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

fn text<'v>(value: &'v Value, name: &str, place: &str) -> Read<&'v str> {
    match value[name].as_str() {
        Some(text) => Ok(text),
        None => wrong(place, format!("`{name}` is missing")),
    }
}

impl<'d> Document<'d> {
    fn new(root: &'d Value) -> Read<Self> {
        let kind = match text(root, "type", "document")? {
            "mdp" => "mdp",
            "dtmc" => "dtmc",
            "ctmc" => "ctmc",
            other => return wrong("type", format!("models of type `{other}` are not read")),
        };
        for feature in list(root, "features").iter().filter_map(Value::as_str) {
            if !["derived-operators", "state-exit-rewards"].contains(&feature) {
                return wrong("features", format!("the feature `{feature}` is not supported"));
            }
        }
        if !list(root, "functions").is_empty() {
            return wrong("functions", "functions are not supported");
        }
        let mut taken = BTreeSet::new();
        let mut globals = Scope::default();
        for (kind, prefix) in [("constants", ""), ("variables", "")] {
            for (n, declared) in list(root, kind).iter().enumerate() {
                globals.declare(text(declared, "name", &format!("{kind}[{n}]"))?, prefix, &mut taken);
            }
        }
        let mut document = Document { root, kind, globals, instances: Vec::new(), vectors: Vec::new() };
        for (n, element) in list(&root["system"], "elements").iter().enumerate() {
            let place = format!("system.elements[{n}]");
            if !list(element, "input-enable").is_empty() {
                return wrong(&place, "input-enabled automata are not supported");
            }
            let wanted = text(element, "automaton", &place)?;
            let all = list(root, "automata");
            let Some(at) = all.iter().position(|a| a["name"] == wanted) else {
                return wrong(&place, format!("there is no automaton `{wanted}`"));
            };
            document.instance(&all[at], format!("automata[{at}]"), &mut taken)?;
        }
        if document.instances.is_empty() {
            return wrong("system", "there are no elements");
        }
        document.read_vectors()?;
        Ok(document)
    }

    fn instance(&mut self, automaton: &'d Value, place: String, taken: &mut BTreeSet<String>) -> Read<()> {
        let wanted = text(automaton, "name", &place)?;
        let mut scope = self.globals.clone();
        let name = Scope::default().declare(wanted, "", taken);
        for (n, declared) in list(automaton, "variables").iter().enumerate() {
            let variable = text(declared, "name", &format!("{place}.variables[{n}]"))?;
            scope.declare(variable, &name, taken);
        }
        let mut locations = BTreeMap::new();
        for (n, location) in list(automaton, "locations").iter().enumerate() {
            let place = format!("{place}.locations[{n}]");
            if !location["time-progress"].is_null() {
                return wrong(&place, "invariants of time are not supported");
            }
            locations.insert(text(location, "name", &place)?, n);
        }
        self.instances.push(Instance { automaton, place, name, scope, locations });
        Ok(())
    }

    fn read_vectors(&mut self) -> Read<()> {
        let system = &self.root["system"];
        if system["syncs"].is_null() && self.instances.len() > 1 && self.has_actions() {
            return wrong("system", "`syncs` is missing");
        }
        for (n, sync) in list(system, "syncs").iter().enumerate() {
            let parts = list(sync, "synchronise");
            if parts.len() != self.instances.len() {
                return wrong(&format!("system.syncs[{n}]"), "there is one action or null for each element");
            }
            let result = sync["result"].as_str().or_else(|| parts.iter().find_map(Value::as_str));
            let name = expression::plain(&format!("v{n}_{}", result.unwrap_or_default()));
            self.vectors.push((name, parts.iter().map(|p| p.as_str().map(str::to_owned)).collect()));
        }
        Ok(())
    }

    fn has_actions(&self) -> bool {
        let edges = self.instances.iter().flat_map(|i| list(i.automaton, "edges"));
        edges.into_iter().any(|edge| edge["action"].is_string())
    }

    /// The actions by which an edge fires: none for one that is silent or stands alone.
    fn labels(&self, instance: usize, edge: &Value) -> Vec<Option<&str>> {
        let Some(action) = edge["action"].as_str() else { return vec![None] };
        if self.root["system"]["syncs"].is_null() {
            return vec![None];
        }
        let fits = self.vectors.iter().filter(|v| v.1[instance].as_deref() == Some(action));
        fits.map(|v| Some(v.0.as_str())).collect()
    }

    fn translate(&self) -> Read<Translated> {
        let mut model = format!("{}\n", self.kind);
        for (n, constant) in list(self.root, "constants").iter().enumerate() {
            let place = format!("constants[{n}]");
            let kind = match (&constant["type"], constant["type"]["base"].as_str()) {
                (Value::String(kind), _) => kind.as_str(),
                (_, Some(base)) => base,
                _ => return wrong(&place, "the type is missing"),
            };
            let kind = match kind {
                "bool" => "bool",
                "int" => "int",
                "real" => "double",
                other => return wrong(&place, format!("constants of type `{other}` are not read")),
            };
            let name = self.globals.name(text(constant, "name", &place)?, &place)?;
            let value = match &constant["value"] {
                Value::Null => String::new(),
                value => format!(" = {}", self.globals.expression(value, &place)?),
            };
            let _ = writeln!(model, "const {kind} {name}{value};");
        }
        let start = self.start()?;
        for (n, variable) in list(self.root, "variables").iter().enumerate() {
            if variable["transient"] != true {
                let declared =
                    declaration(variable, &self.globals, &format!("variables[{n}]"), start.is_some())?;
                let _ = writeln!(model, "global {declared}");
            }
        }
        for n in 0..self.instances.len() {
            self.module(n, start.is_some(), &mut model)?;
        }
        if let Some(start) = start {
            let _ = writeln!(model, "init {start} endinit");
        }
        self.transients(&mut model)?;
        let (properties, refused) = self.properties(&mut model)?;
        Ok(Translated { model, properties, refused })
    }

    /// The initial states, where they are not one by what variables and locations say.
    fn start(&self) -> Read<Option<String>> {
        let (mut parts, mut several) = (Vec::new(), false);
        let mut restrict = |value: &Value, scope: &Scope, place: &str| -> Read<()> {
            let exp = &value["restrict-initial"]["exp"];
            if !exp.is_null() && *exp != true {
                several = true;
                parts.push(format!("({})", scope.expression(exp, &format!("{place}restrict-initial"))?));
            }
            Ok(())
        };
        restrict(self.root, &self.globals, "")?;
        for instance in &self.instances {
            restrict(instance.automaton, &instance.scope, &format!("{}.", instance.place))?;
        }
        let mut declared: Vec<(&Value, &Scope)> =
            list(self.root, "variables").iter().map(|v| (v, &self.globals)).collect();
        for instance in &self.instances {
            declared.extend(list(instance.automaton, "variables").iter().map(|v| (v, &instance.scope)));
            let starts = list(instance.automaton, "initial-locations").iter().filter_map(Value::as_str);
            let starts: Vec<usize> =
                starts.filter_map(|name| instance.locations.get(name).copied()).collect();
            if starts.is_empty() {
                return wrong(&instance.place, "`initial-locations` names no location");
            }
            several |= starts.len() > 1;
            let at: Vec<String> = starts.into_iter().map(|location| instance.at(location)).collect();
            parts.push(format!("({})", at.join(" | ")));
        }
        for (variable, scope) in declared.into_iter().filter(|(v, _)| v["transient"] != true) {
            let name = scope.name(text(variable, "name", "variables")?, "variables")?;
            match &variable["initial-value"] {
                Value::Null => several = true,
                value => {
                    let value = scope.expression(value, "initial-value")?;
                    parts.push(format!("({name} = ({value}))"));
                }
            }
        }
        Ok(several.then(|| parts.join(" & ")))
    }

    fn module(&self, n: usize, several: bool, model: &mut String) -> Read<()> {
        let instance = &self.instances[n];
        let _ = writeln!(model, "module {}", instance.name);
        if let Some(location) = instance.location() {
            let first = list(instance.automaton, "initial-locations").first().and_then(Value::as_str);
            let first = first.and_then(|name| instance.locations.get(name)).copied().unwrap_or(0);
            let init = if several { String::new() } else { format!(" init {first}") };
            let _ = writeln!(model, "  {location} : [0..{}]{init};", instance.locations.len() - 1);
        }
        for (k, variable) in list(instance.automaton, "variables").iter().enumerate() {
            if variable["transient"] != true {
                let place = format!("{}.variables[{k}]", instance.place);
                let _ = writeln!(model, "  {}", declaration(variable, &instance.scope, &place, several)?);
            }
        }
        let mut used = BTreeSet::new();
        for (k, edge) in list(instance.automaton, "edges").iter().enumerate() {
            let place = format!("{}.edges[{k}]", instance.place);
            let (guard, updates) =
                (self.guard(instance, edge, &place)?, self.updates(instance, edge, &place)?);
            let alone = self.reward_action(n, k);
            for label in self.labels(n, edge) {
                used.extend(label);
                let label = label.map_or(alone.clone(), str::to_owned);
                let _ = writeln!(model, "  [{label}] {guard} -> {updates};");
            }
        }
        // Whoever takes part in a vector without an edge for it keeps it from firing.
        for (name, parts) in &self.vectors {
            if parts[n].is_some() && !used.contains(name.as_str()) {
                let _ = writeln!(model, "  [{name}] false -> true;");
            }
        }
        let _ = writeln!(model, "endmodule");
        Ok(())
    }

    /// The action of an edge that stands alone and earns something: no other edge has it.
    fn reward_action(&self, instance: usize, edge: usize) -> String {
        let value = &list(self.instances[instance].automaton, "edges")[edge];
        let assigned = list(value, "destinations").iter().flat_map(|d| list(d, "assignments"));
        let mut assigned = assigned.chain(list(value, "assignments"));
        match assigned.any(|a| self.is_transient(a["ref"].as_str().unwrap_or_default())) {
            true => format!("e{edge}_{}", self.instances[instance].name),
            false => String::new(),
        }
    }

    fn is_transient(&self, name: &str) -> bool {
        list(self.root, "variables").iter().any(|v| v["name"] == name && v["transient"] == true)
    }

    fn guard(&self, instance: &Instance, edge: &Value, place: &str) -> Read<String> {
        let from = text(edge, "location", place)?;
        let Some(&from) = instance.locations.get(from) else {
            return wrong(place, format!("there is no location `{from}`"));
        };
        Ok(match &edge["guard"]["exp"] {
            Value::Null => instance.at(from),
            exp => {
                let guard = instance.scope.expression(exp, &format!("{place}.guard"))?;
                format!("{} & ({guard})", instance.at(from))
            }
        })
    }

    fn updates(&self, instance: &Instance, edge: &Value, place: &str) -> Read<String> {
        let rate = match (&edge["rate"]["exp"], self.kind) {
            (Value::Null, "ctmc") => return wrong(place, "an edge of a ctmc has a rate"),
            (Value::Null, _) => None,
            (exp, _) => Some(instance.scope.expression(exp, &format!("{place}.rate"))?),
        };
        let mut updates = Vec::new();
        for (n, destination) in list(edge, "destinations").iter().enumerate() {
            let place = format!("{place}.destinations[{n}]");
            let to = text(destination, "location", &place)?;
            let Some(to) = instance.locations.get(to) else {
                return wrong(&place, format!("there is no location `{to}`"));
            };
            let mut parts = Vec::new();
            if let Some(location) = instance.location() {
                parts.push(format!("({location}'={to})"));
            }
            for assignment in list(destination, "assignments") {
                let name = text(assignment, "ref", &place)?;
                if assignment["index"].as_i64().is_some_and(|index| index != 0) {
                    return wrong(&place, "assignments one after the other are not supported");
                }
                if !self.is_transient(name) {
                    let value = instance.scope.expression(&assignment["value"], &place)?;
                    parts.push(format!("({}'={value})", instance.scope.name(name, &place)?));
                }
            }
            let parts = if parts.is_empty() { "true".into() } else { parts.join(" & ") };
            let probability = match &destination["probability"]["exp"] {
                Value::Null => None,
                exp => Some(instance.scope.expression(exp, &place)?),
            };
            updates.push(match (&rate, probability) {
                (None, None) => parts,
                (Some(one), None) => format!("({one}) : {parts}"),
                (None, Some(one)) => format!("({one}) : {parts}"),
                (Some(rate), Some(p)) => format!("({rate}) * ({p}) : {parts}"),
            });
        }
        match updates.is_empty() {
            true => wrong(place, "an edge has a destination"),
            false => Ok(updates.join(" + ")),
        }
    }
}

fn declaration(variable: &Value, scope: &Scope, place: &str, several: bool) -> Read<String> {
    let name = scope.name(text(variable, "name", place)?, place)?;
    let kind = match &variable["type"] {
        Value::String(kind) if kind == "bool" => "bool".to_owned(),
        Value::String(kind) if kind == "int" => "int".to_owned(),
        bounded if bounded["kind"] == "bounded" && bounded["base"] == "int" => {
            let bound = |which: &str| scope.expression(&bounded[which], place);
            format!("[{}..{}]", bound("lower-bound")?, bound("upper-bound")?)
        }
        other => return wrong(place, format!("variables of type {other} are not read")),
    };
    let init = match (&variable["initial-value"], several) {
        (Value::Null, _) | (_, true) => String::new(),
        (value, false) => format!(" init {}", scope.expression(value, place)?),
    };
    Ok(format!("{name} : {kind}{init};"))
}
