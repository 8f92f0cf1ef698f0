//! What print statements say. Nothing is evaluated unless someone asked for the text, and evaluating it leaves no
//! mark on the execution: printing can neither fail nor change anything.

use hadal_system::PrintItem;

use super::{Execution, Notes, Stop};

impl Execution<'_, '_> {
    pub(super) fn print(&mut self, items: &[PrintItem]) {
        if self.notes.printed.is_none() {
            return;
        }
        let mut text = String::new();
        for item in items {
            match self.aside(|aside| aside.show(item)) {
                Ok(shown) => text.push_str(&shown),
                Err(Stop::Fault(fault)) => text.push_str(&format!("<{fault}>")),
                Err(Stop::Dropped) => text.push_str("<assumption failed>"),
            }
        }
        if let Some(printed) = &mut self.notes.printed {
            printed.push_str(&text);
        }
    }

    /// Runs `question` on a copy of everything.
    fn aside<T>(&self, question: impl FnOnce(&mut Execution) -> T) -> T {
        let mut notes = Notes::default();
        let mut copy = Execution {
            code: self.code,
            state: self.state.clone(),
            frames: self.frames.clone(),
            notes: &mut notes,
        };
        question(&mut copy)
    }

    fn show(&mut self, item: &PrintItem) -> Result<String, Stop> {
        let domains = &self.code.system.domains;
        match item {
            PrintItem::Text(text) => Ok(text.clone()),
            PrintItem::Value(expr, domain) => {
                let value = self.value(expr)?;
                Ok(domain.map_or_else(|| value.to_string(), |domain| domains.render(domain, Some(value))))
            }
            PrintItem::Whole(place) => {
                let system = self.code.system;
                let target = self.resolve(place)?;
                let (contents, path) = (self.contents(target), self.name(target));
                let (mut lines, mut n) = (String::new(), 0);
                system.shapes.for_each_scalar(domains, target.shape, &path, &mut |name, domain| {
                    lines.push_str(&format!("{name}: {}\n", domains.render(domain, contents[n])));
                    n += 1;
                });
                Ok(lines)
            }
        }
    }
}
