//! Planning texts in an editor: read without grounding, since that may take as long as planning does. A text defines a
//! domain, a problem, or, as PPDDL likes it, both.

use super::symbols::Symbol;
use hadal_lang::pddl::tree::{Tree, read as trees};
use hadal_lang::pddl::{find_domain, read};
use hadal_lang::{Diagnostic, Diagnostics, Refused};
use hadal_system::{Source, Span};
use std::path::Path;

/// Whether a file is read here.
pub fn is_planning(path: &Path) -> bool {
    path.extension().is_some_and(|it| it.eq_ignore_ascii_case("pddl") || it.eq_ignore_ascii_case("ppddl"))
}

/// What a text says, beside mistakes.
#[derive(Default)]
pub struct Found {
    /// Mistakes and warnings in this text.
    pub findings: Vec<Diagnostic>,
    /// What it declares, and what the domain of its problem does.
    pub symbols: Vec<Symbol>,
}

/// Reads a text.
pub fn look_at(path: &Path, source: &Source) -> Found {
    let lower = source.text.to_ascii_lowercase();
    let mut broken = Diagnostics::default();
    let read_trees = trees(&lower, &mut broken);
    let part = |what: &str| {
        read_trees.iter().find(|tree| tree.head() == Some("define") && item(tree, what).is_some())
    };
    let (domain, problem) = (part("domain"), part("problem"));
    let mut symbols = domain.into_iter().chain(problem).flat_map(declared).collect::<Vec<_>>();
    let wanted = problem.and_then(|problem| item(problem, ":domain")).and_then(name);
    let mut beside = None;
    if let (None, Some(wanted)) = (domain, wanted)
        && let Some(file) = find_domain(path, wanted)
        && let Ok(text) = std::fs::read(&file)
    {
        let text = String::from_utf8_lossy(&text).into_owned();
        let lower = text.to_ascii_lowercase();
        let known = trees(&lower, &mut Diagnostics::default());
        let other = format!("file://{}", file.display());
        symbols.extend(known.iter().flat_map(declared).map(|symbol| symbol.elsewhere(&other, &text)));
        beside = Some(Source::new(file.display().to_string(), text));
    }
    let error = |message: String| vec![Diagnostic::error(Span::default(), message)];
    let only = |part: Option<&Tree>| part.map(|part| only(source, part.span));
    let stand_in = |wanted: &str| {
        let text = format!("(define (problem none) (:domain {wanted}) (:init) (:goal (and)))");
        Source::new("problem", text)
    };
    let findings = match (
        only(domain).or(beside),
        only(problem),
        domain.and_then(|it| item(it, "domain")).and_then(name),
    ) {
        _ if broken.has_errors() => broken.list,
        (Some(domain), Some(problem), _) => checked(&domain, &problem, &source.name),
        (Some(domain), None, Some(name)) => checked(&domain, &stand_in(name), &source.name),
        (None, Some(_), _) => error(format!(
            "no file beside this one defines the domain `{}`",
            wanted.unwrap_or("of the problem")
        )),
        _ => error("neither a domain nor a problem is defined here".to_owned()),
    };
    Found { findings, symbols }
}

/// The findings about the text of this name.
fn checked(domain: &Source, problem: &Source, name: &str) -> Vec<Diagnostic> {
    match read(domain, problem) {
        Ok(read) => read.warnings.into_iter().filter(|(of, _)| &*of.name == name).map(|(_, it)| it).collect(),
        Err(Refused { source_text, diagnostics }) if &*source_text.name == name => diagnostics.list,
        Err(Refused { source_text, .. }) => {
            vec![Diagnostic::error(
                Span::default(),
                format!("the domain in {} has mistakes", source_text.name),
            )]
        }
    }
}

/// The text with nothing but what stands in `span`, in its place.
fn only(source: &Source, span: Span) -> Source {
    let blank = |part: &str| {
        part.chars()
            .map(|c| if c == '\n' { "\n".to_owned() } else { " ".repeat(c.len_utf8()) })
            .collect::<String>()
    };
    let (start, end) = (span.start as usize, span.end as usize);
    let text = &*source.text;
    Source::new(
        &*source.name,
        format!("{}{}{}", blank(&text[..start]), &text[start..end], blank(&text[end..])),
    )
}

fn item<'t, 'a>(tree: &'t Tree<'a>, head: &str) -> Option<&'t Tree<'a>> {
    tree.list()?.iter().find(|item| item.head() == Some(head))
}

fn name<'a>(tree: &Tree<'a>) -> Option<&'a str> {
    tree.list()?.get(1)?.word()
}

/// What a domain or a problem declares.
fn declared(define: &Tree) -> Vec<Symbol> {
    let mut symbols = Vec::new();
    let sections = define.list().unwrap_or_default();
    // Objects first: they are what types range over.
    let all: Vec<(&Tree, String)> = sections
        .iter()
        .filter(|it| matches!(it.head(), Some(":objects" | ":constants")))
        .flat_map(objects)
        .collect();
    for section in sections {
        match section.head() {
            Some(":types") => {
                for (it, above) in objects(section) {
                    let word = it.word().unwrap_or_default();
                    let of: Vec<&str> =
                        all.iter().filter(|(_, kind)| kind == word).filter_map(|(it, _)| it.word()).collect();
                    let members =
                        if of.is_empty() { String::new() } else { format!(": {{ {} }}", of.join(", ")) };
                    symbols.push(Symbol::planning(
                        word,
                        it.span,
                        format!("type `{word}` of `{above}`{members}"),
                    ));
                }
            }
            Some(head @ (":objects" | ":constants")) => {
                let what = if head == ":objects" { "object" } else { "constant" };
                for (it, kind) in objects(section) {
                    let word = it.word().unwrap_or_default();
                    symbols.push(Symbol::planning(
                        word,
                        it.span,
                        format!("{what} `{word}` of type `{kind}`"),
                    ));
                }
            }
            Some(head @ (":predicates" | ":functions")) => {
                let what = if head == ":predicates" { "predicate" } else { "function" };
                for it in section.list().unwrap_or_default().iter().skip(1) {
                    let Some([first, parameters @ ..]) = it.list() else { continue };
                    let word = first.word().unwrap_or_default();
                    let about = format!("{what} `{}`", signature(word, parameters));
                    symbols.push(Symbol::planning(word, first.span, about));
                }
            }
            Some(head @ (":action" | ":derived")) => {
                let items = section.list().unwrap_or_default();
                let Some(first) = items.get(1).filter(|_| head == ":action") else { continue };
                let word = first.word().unwrap_or_default();
                let after =
                    items.iter().position(|it| it.word() == Some(":parameters")).map_or(0, |at| at + 1);
                let parameters = items.get(after).and_then(Tree::list).unwrap_or_default();
                symbols.push(Symbol::action(
                    word,
                    first.span,
                    format!("action `{}`", signature(word, parameters)),
                ));
                for (it, kind) in typed(parameters) {
                    let parameter = it.word().unwrap_or_default();
                    let about = format!("parameter `{parameter}` of type `{kind}`, of action `{word}`");
                    symbols.push(Symbol::planning(parameter, it.span, about).within(section.span));
                }
            }
            _ => {}
        }
    }
    symbols
}

/// The typed words of a section.
fn objects<'t, 'a>(section: &'t Tree<'a>) -> Vec<(&'t Tree<'a>, String)> {
    typed(section.list().and_then(|items| items.get(1..)).unwrap_or_default())
}

fn signature(word: &str, parameters: &[Tree]) -> String {
    let mut text = format!("({word}");
    for (it, kind) in typed(parameters) {
        text.push_str(&format!(" {} - {kind}", it.word().unwrap_or_default()));
    }
    text + ")"
}

/// The words of a list such as `a b - room c`, each with its type; `object` where none is said.
fn typed<'t, 'a>(items: &'t [Tree<'a>]) -> Vec<(&'t Tree<'a>, String)> {
    let (mut found, mut open): (Vec<(&Tree, String)>, usize) = (Vec::new(), 0);
    let mut at = 0;
    while let Some(it) = items.get(at) {
        if it.word() == Some("-") {
            let kind = items.get(at + 1).map_or_else(String::new, |kind| match kind.list() {
                // `(either a b)`
                Some(either) => either.iter().skip(1).filter_map(Tree::word).collect::<Vec<_>>().join(" or "),
                None => kind.word().unwrap_or_default().to_owned(),
            });
            found[open..].iter_mut().for_each(|(_, of)| of.clone_from(&kind));
            open = found.len();
            at += 2;
        } else {
            if it.word().is_some() {
                found.push((it, "object".to_owned()));
            }
            at += 1;
        }
    }
    found
}
