//! BEEM's descriptions: the XML file beside a model family that names propositions and properties.
//!
//! The reachability properties become goals `prop1`, `prop2` and so on. Propositions may use the family's macros and
//! parameters, so the family is expanded with the instance's parameters to understand them.

use super::ast::Expr;
use super::check::resolve;
use super::lower::Goal;
use super::m4::{Expanded, Limits, expand};
use super::model::Model;
use super::parse::parse_expression;
use crate::diagnostic::{Diagnostic, Diagnostics};
use hadal_system::{Source, Span};
use std::path::Path;

/// A description, as far as goals need it.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// Propositions: name and expression, as written.
    pub propositions: Vec<(String, String)>,
    /// Properties: name (`prop1`), whether it is a goal (else LTL), formula.
    pub properties: Vec<(String, bool, String)>,
    /// The parameters of the instance, as written in the description.
    pub instance: Vec<(String, String)>,
    /// The names of all parameters.
    pub parameters: Vec<String>,
    /// The family's text, for its macros.
    pub family: Option<String>,
}

impl Description {
    /// Reads a description's XML. `instance` is the number in the model's file name (`anderson.4.dve`).
    pub fn parse(xml: &str, instance: Option<&str>, family: Option<String>) -> Self {
        let xml = without_comments(xml);
        let mut description = Description { family, ..Description::default() };
        for (_, body) in elements(&xml, "ap") {
            if let (Some(name), Some(expression)) = (child(body, "ap-name"), child(body, "ap-expression")) {
                description.propositions.push((name, expression));
            }
        }
        for (attributes, body) in elements(&xml, "property") {
            let number = attribute(attributes, "id").unwrap_or_default();
            let is_goal = attribute(attributes, "prop-type").as_deref() == Some("reachability");
            if let Some(formula) = child(body, "formula") {
                description.properties.push((format!("prop{number}"), is_goal, formula));
            }
        }
        for (_, body) in elements(&xml, "parameter-description") {
            description.parameters.extend(child(body, "par-name"));
        }
        let chosen = elements(&xml, "instance")
            .find(|(attributes, _)| attribute(attributes, "id").as_deref() == instance);
        if let Some((_, body)) = chosen.filter(|_| instance.is_some()) {
            for pair in child(body, "parameters").unwrap_or_default().split(',') {
                if let Some((name, value)) = pair.split_once('=') {
                    description.instance.push((name.trim().to_string(), value.trim().to_string()));
                    description.parameters.push(name.trim().to_string());
                }
            }
        }
        description
    }

    /// Finds and reads the description that lies beside a model: `anderson.xml` beside `anderson.4.dve` or
    /// `anderson.mdve`, with the family `anderson.mdve` for its macros. `None` where there is none.
    pub fn beside(model: &Path) -> std::io::Result<Option<Self>> {
        let Some(stem) = model.file_stem().and_then(|stem| stem.to_str()) else { return Ok(None) };
        let (family, instance) = match stem.split_once('.') {
            Some((family, instance)) => (family, Some(instance)),
            None => (stem, None),
        };
        let path = model.with_file_name(format!("{family}.xml"));
        if !path.is_file() {
            return Ok(None);
        }
        let xml = String::from_utf8_lossy(&std::fs::read(path)?).into_owned();
        let path = model.with_file_name(format!("{family}.mdve"));
        let text = if path.is_file() {
            Some(String::from_utf8_lossy(&std::fs::read(path)?).into_owned())
        } else {
            None
        };
        Ok(Some(Description::parse(&xml, instance, text)))
    }
}

/// The goals of a description over a model. What cannot be understood is told as a warning and left out.
pub fn goals(
    description: &Description,
    model: &Model,
    expanded: Option<&Expanded>,
    overrides: &[(String, i64)],
    findings: &mut Diagnostics,
) -> Vec<Goal> {
    let mut goals = Vec::new();
    let macros = match expanded {
        Some(expanded) => expanded.clone(),
        None => {
            let mut parameters = description.instance.clone();
            parameters.extend(overrides.iter().map(|(name, value)| (name.clone(), value.to_string())));
            let family = description.family.as_deref().unwrap_or("");
            match expand(family, &parameters, Limits::default())
                .or_else(|_| expand("", &parameters, Limits::default()))
            {
                Ok(expanded) => expanded,
                Err(failure) => {
                    let message = format!("the description's macros cannot be expanded: {}", failure.message);
                    findings.push(Diagnostic::warning(Span::default(), message));
                    return goals;
                }
            }
        }
    };
    for (name, _, formula) in description.properties.iter().filter(|(_, is_goal, _)| *is_goal) {
        match goal(formula, description, &macros, model) {
            Ok(condition) => goals.push(Goal { name: name.clone(), condition }),
            Err(problem) => {
                let message = format!("the property `{name}` of the description is skipped: {problem}");
                findings.push(Diagnostic::warning(Span::default(), message));
            }
        }
    }
    goals
}

/// Expressions that become propositions, as goals; what cannot be understood is an error.
pub(super) fn propositions(texts: &[String], model: &Model, findings: &mut Diagnostics) -> Vec<Goal> {
    let mut goals = Vec::new();
    for text in texts {
        let term = understood(text).and_then(|expression| {
            let mut problems = Diagnostics::default();
            let told = |problems: &Diagnostics| {
                problems.list.first().map_or_else(String::new, |it| it.message.clone())
            };
            resolve(&expression, model, &mut problems).ok_or_else(|| told(&problems))
        });
        match term {
            Ok(condition) => goals.push(Goal { name: text.clone(), condition }),
            Err(problem) => {
                findings
                    .push(Diagnostic::error(Span::default(), format!("the proposition `{text}`: {problem}")));
            }
        }
    }
    goals
}

impl Description {
    /// The LTL properties with the propositions put in place of their names, each in parentheses: name and formula.
    pub fn formulas(&self, overrides: &[(String, i64)]) -> Vec<(String, Result<String, String>)> {
        let mut parameters = self.instance.clone();
        parameters.extend(overrides.iter().map(|(name, value)| (name.clone(), value.to_string())));
        let family = self.family.as_deref().unwrap_or("");
        let macros = expand(family, &parameters, Limits::default())
            .or_else(|_| expand("", &parameters, Limits::default()))
            .map_err(|failure| failure.message);
        let put = |formula: &str| -> Result<String, String> {
            let macros = macros.as_ref().map_err(Clone::clone)?;
            // `p0U(...)` means `p0 U (...)`: names and operators are written together now and then.
            let known = |word: &str| self.propositions.iter().any(|(name, _)| name == word);
            let mut spaced = String::new();
            let mut rest = formula;
            while let Some(at) = rest.find(is_part) {
                let length = rest[at..].find(|c| !is_part(c)).unwrap_or(rest.len() - at);
                let word = &rest[at..at + length];
                spaced.push_str(&rest[..at]);
                match word.strip_suffix(['U', 'R', 'W']).filter(|name| !known(word) && known(name)) {
                    Some(name) => spaced.push_str(&format!("{name} {}", &word[name.len()..])),
                    None => spaced.push_str(word),
                }
                rest = &rest[at + length..];
            }
            spaced.push_str(rest);
            let bracketed = Description {
                propositions: self
                    .propositions
                    .iter()
                    .map(|(name, text)| (name.clone(), format!("({text})")))
                    .collect(),
                ..self.clone()
            };
            substitute(&spaced, &bracketed, macros)
        };
        let formulas = self.properties.iter().filter(|(_, is_goal, _)| !is_goal);
        formulas.map(|(name, _, formula)| (name.clone(), put(formula))).collect()
    }
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn goal(
    formula: &str,
    description: &Description,
    macros: &Expanded,
    model: &Model,
) -> Result<super::model::Term, String> {
    let formula = understood(&substitute(formula, description, macros)?)?;
    let mut problems = Diagnostics::default();
    let term = resolve(&formula, model, &mut problems);
    term.ok_or_else(|| problems.list.first().map_or_else(String::new, |finding| finding.message.clone()))
}

fn understood(text: &str) -> Result<Expr, String> {
    let mut problems = Diagnostics::default();
    parse_expression(text, &mut problems).ok_or_else(|| {
        let source = Source::new("", text);
        problems.list.first().map_or_else(String::new, |finding| {
            format!("{} at column {}", finding.message, source.locate(finding.span).column)
        })
    })
}

/// Puts the texts of propositions in the place of their names. As text, without parentheses: that is what BEEM's
/// published answers are about (`not p` with `p` an equation negates its left side only).
fn substitute(formula: &str, description: &Description, macros: &Expanded) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = formula;
    while let Some(at) = rest.find(|c: char| c.is_ascii_alphanumeric() || c == '_') {
        text.push_str(&rest[..at]);
        let length =
            rest[at..].find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len() - at);
        let word = &rest[at..at + length];
        match description.propositions.iter().find(|(proposition, _)| proposition == word) {
            Some((_, expression)) => {
                text.push_str(&macros.expand_further(expression).map_err(|failure| failure.message)?);
            }
            None => text.push_str(word),
        }
        rest = &rest[at + length..];
    }
    text.push_str(rest);
    Ok(text)
}

fn without_comments(xml: &str) -> String {
    let mut text = String::with_capacity(xml.len());
    let mut rest = xml;
    while let Some(at) = rest.find("<!--") {
        text.push_str(&rest[..at]);
        rest = rest[at..].find("-->").map_or("", |end| &rest[at + end + 3..]);
    }
    text.push_str(rest);
    text
}

/// The elements with this tag, each as attributes and content. Elements of one tag do not nest in descriptions.
fn elements<'x>(xml: &'x str, tag: &'x str) -> impl Iterator<Item = (&'x str, &'x str)> {
    let open = format!("<{tag}");
    let close = format!("</{tag}>");
    let mut rest = xml;
    std::iter::from_fn(move || {
        loop {
            let at = rest.find(&open)?;
            let after = &rest[at + open.len()..];
            if !after.starts_with(|c: char| c == '>' || c.is_whitespace()) {
                rest = after;
                continue;
            }
            let end = after.find('>')?;
            let (attributes, content) = (&after[..end], &after[end + 1..]);
            let length = content.find(&close)?;
            rest = &content[length + close.len()..];
            return Some((attributes, &content[..length]));
        }
    })
}

/// The text of the first child with this tag.
fn child(content: &str, tag: &str) -> Option<String> {
    let (_, text) = elements(content, tag).next()?;
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'");
    Some(text.replace("&amp;", "&").trim().to_string())
}

fn attribute(attributes: &str, name: &str) -> Option<String> {
    let after = &attributes[attributes.find(&format!("{name}="))? + name.len() + 1..];
    let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let length = after[1..].find(quote)?;
    Some(after[1..1 + length].to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_gives_goals_with_the_instances_parameters() {
        let xml = "<model><!-- <ap><ap-name>no</ap-name></ap> --><parameter-description><par-name>N</par-name>\
                   </parameter-description><ap parametrized=\"yes\"><ap-name>full</ap-name>\
                   <ap-expression>P->x &gt;= N &amp;&amp; P.q</ap-expression></ap>\
                   <property id=\"1\" prop-type=\"reachability\"><formula>full</formula></property>\
                   <property id=\"2\" prop-type=\"LTL\"><formula>G full</formula></property>\
                   <instance id=\"7\"><parameters>N=3, K=2</parameters></instance></model>";
        let description = Description::parse(xml, Some("7"), None);
        assert_eq!(description.propositions, [("full".to_string(), "P->x >= N && P.q".to_string())]);
        let model =
            "process P { byte x; state q; init q; trans q -> q { effect x = (x+1)%9; }; } system async;";
        let options = super::super::Options { description: Some(&description), ..Default::default() };
        let loaded = super::super::load_with(Source::new("p.7.dve", model), options).expect("accepted");
        assert_eq!(loaded.system.properties.len(), 1);
        assert_eq!(loaded.system.properties[0].name, "prop1");
        assert!(loaded.warnings.list.is_empty());
        let formulas = description.formulas(&[]);
        assert_eq!(formulas, [("prop2".to_string(), Ok("G (P->x >= 3 && P.q)".to_string()))]);
    }
}
