//! Message sequence charts: who sends what to whom, read off the states of a trace.
//!
//! A step that makes a channel longer sends, one that makes it shorter receives; a joint step of two processes is a
//! handshake. Messages leave a channel in the order in which they entered it, unless one that equals a later message is
//! taken first.

use super::StepView;
use hadal_system::portrait::Content;
use std::fmt::Write;

/// What the messages of a trace are read from.
pub struct Step<'a> {
    /// What is shown.
    pub view: &'a StepView,
    /// The processes that take part, the sender of a handshake first.
    pub processes: Vec<usize>,
}

/// A message on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Message {
    text: String,
    /// Who sent it, and in which step.
    from: (usize, usize),
    /// Who received it, and when.
    to: Option<(usize, usize)>,
}

/// A chart: the processes that send or receive, and their messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart {
    processes: Vec<String>,
    messages: Vec<Message>,
}

impl Chart {
    /// The messages of a trace; `None` where there are none. Channels are named as the state names them.
    pub fn of(steps: &[Step], processes: &[String], channels: &[String]) -> Option<Chart> {
        let mut messages: Vec<Message> = Vec::new();
        let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); channels.len()];
        for (n, pair) in steps.windows(2).enumerate() {
            let (before, step, at) = (pair[0].view, &pair[1], n + 1);
            let Some(&mover) = step.processes.first() else { continue };
            if let [sender, receiver] = step.processes[..] {
                let text = handshake(&step.view.action);
                messages.push(Message { text, from: (sender, at), to: Some((receiver, at)) });
                continue;
            }
            for (channel, name) in channels.iter().enumerate() {
                let (Some(old), Some(new)) = (contents(before, name), contents(step.view, name)) else {
                    continue;
                };
                let same = old.iter().zip(new).take_while(|(old, new)| old == new).count();
                if new.len() == old.len() + 1 {
                    let place = same.min(waiting[channel].len());
                    waiting[channel].insert(place, messages.len());
                    let text = format!("{name}!{}", new[same]);
                    messages.push(Message { text, from: (mover, at), to: None });
                } else if new.len() + 1 == old.len() && same < waiting[channel].len() {
                    messages[waiting[channel].remove(same)].to = Some((mover, at));
                }
            }
        }
        let mut used: Vec<usize> =
            messages.iter().flat_map(|it| [Some(it.from.0), it.to.map(|to| to.0)]).flatten().collect();
        used.sort_unstable();
        used.dedup();
        let place = |process: usize| used.iter().position(|&it| it == process).unwrap_or(0);
        for message in &mut messages {
            message.from.0 = place(message.from.0);
            message.to = message.to.map(|(process, at)| (place(process), at));
        }
        let processes = used.iter().map(|&n| processes[n].clone()).collect();
        (!messages.is_empty()).then_some(Chart { processes, messages })
    }

    /// When something happens, ascending: the step, the message, and whether it is sent then.
    fn events(&self) -> Vec<(usize, &Message, bool)> {
        let mut events: Vec<(usize, &Message, bool)> = Vec::new();
        for message in &self.messages {
            events.push((message.from.1, message, true));
            if let Some((_, at)) = message.to.filter(|(_, at)| *at != message.from.1) {
                events.push((at, message, false));
            }
        }
        events.sort_by_key(|(at, ..)| *at);
        events
    }

    /// For reading: a line per process, an arrow per message where it arrives.
    pub fn text(&self) -> String {
        let width = self.processes.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(6) + 4;
        let column = |n: usize| n * width + width / 2;
        let mut text = String::from(" step ");
        self.processes.iter().for_each(|name| _ = write!(text, "{name:^width$}"));
        text = text.trim_end().to_owned() + "\n";
        for (at, message, is_sent) in self.events() {
            let mut line: Vec<char> = vec![' '; width * self.processes.len()];
            (0..self.processes.len()).for_each(|n| line[column(n)] = '|');
            let from = column(message.from.0);
            let label = match message.to {
                Some((to, got)) if got == at => {
                    let to = column(to);
                    (from.min(to)..=from.max(to)).for_each(|n| line[n] = '-');
                    line[from] = if is_sent { '*' } else { 'o' };
                    line[to] = if from < to { '>' } else { '<' };
                    match is_sent {
                        true => message.text.clone(),
                        false => format!("{} (sent in step {})", message.text, message.from.1),
                    }
                }
                to => {
                    line[from] = '*';
                    format!("{}{}", message.text, if to.is_none() { " (not received)" } else { "" })
                }
            };
            let line: String = line.into_iter().collect();
            let _ = writeln!(text, "{at:>5} {line}  {label}");
        }
        text
    }

    /// For a page: time runs downwards.
    pub fn svg(&self) -> String {
        let events = self.events();
        let mut times: Vec<usize> = events.iter().map(|(at, ..)| *at).collect();
        times.dedup();
        let (left, top, row) = (56, 44, 26);
        let longest = self.processes.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let gap = (longest * 9 + 40).max(130);
        let x = |process: usize| left + gap / 2 + process * gap;
        let y = |at: usize| top + row / 2 + row * times.iter().position(|&it| it == at).unwrap_or(0);
        let (width, height) = (left + gap * self.processes.len() + 40, top + row * times.len() + 20);
        let mut svg = format!(
            "<svg class=\"messages\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"message sequence chart\" \
             font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"none\" stroke=\"currentColor\">\
             <defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" \
             markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 z\" fill=\"currentColor\" \
             stroke=\"none\"/></marker></defs>"
        );
        for (n, name) in self.processes.iter().enumerate() {
            let _ = write!(
                svg,
                "<text x=\"{0}\" y=\"20\" text-anchor=\"middle\" fill=\"currentColor\" stroke=\"none\">{1}</text>\
                 <line x1=\"{0}\" y1=\"28\" x2=\"{0}\" y2=\"{height}\" stroke-opacity=\".35\"/>",
                x(n),
                escape(name)
            );
        }
        for &at in &times {
            let _ = write!(
                svg,
                "<text x=\"8\" y=\"{}\" fill=\"currentColor\" stroke=\"none\" opacity=\".6\">{at}</text>",
                y(at) + 4
            );
        }
        for message in &self.messages {
            let (from, at) = message.from;
            let (x1, y1) = (x(from), y(at));
            let (x2, y2, dash) = match message.to {
                Some((to, got)) if to == from => (x1 + 24, y(got), ""),
                Some((to, got)) => (x(to), y(got), ""),
                None => (x1 + 34, y1 + 8, " stroke-dasharray=\"4 3\""),
            };
            let _ = write!(
                svg,
                "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" marker-end=\"url(#arrow)\"{dash}/>\
                 <text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"currentColor\" stroke=\"none\">{}</text>",
                (x1 + x2) / 2,
                (y1 + y2) / 2 - 5,
                escape(&message.text)
            );
        }
        svg + "</svg>"
    }
}

/// The messages in a channel, oldest first.
fn contents<'s>(step: &'s StepView, channel: &str) -> Option<&'s [String]> {
    let item = step.state.iter().find(|item| item.name == channel)?;
    match &item.content {
        Content::Queue(messages) => Some(messages),
        _ => None,
    }
}

/// The statement of the sender: joint steps are named `sender: statement -> receiver: statement`.
fn handshake(action: &str) -> String {
    let sender = action.split(" -> ").next().unwrap_or(action);
    sender.split_once(": ").map_or(sender, |(_, statement)| statement).to_owned()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::{Scalar, StepView};
    use super::{Chart, Content, Step};

    fn view(action: &str, content: &str) -> StepView {
        let inner = content.trim_matches(['[', ']']);
        let messages = inner.split("; ").filter(|it| !it.is_empty()).map(str::to_owned).collect();
        let state =
            vec![Scalar { name: "q".into(), value: content.into(), content: Content::Queue(messages) }];
        StepView::new(action.into(), None, state, String::new())
    }

    #[test]
    fn a_message_goes_from_who_sent_it_to_who_received_it() {
        let views = [
            view("start", "[]"),
            view("A: q!1", "[1]"),
            view("A: q!2", "[1; 2]"),
            view("B: q??2", "[1]"),
            view("A: r!x -> B: r?y", "[1]"),
        ];
        let processes = [vec![], vec![0], vec![0], vec![1], vec![0, 1]];
        let steps: Vec<Step> =
            views.iter().zip(processes).map(|(view, processes)| Step { view, processes }).collect();
        let names = ["A".to_owned(), "B".to_owned()];
        let chart = Chart::of(&steps, &names, &["q".to_owned()]).expect("messages");
        let text = chart.text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5, "{text}");
        assert!(lines[1].ends_with("q!1 (not received)"), "{text}");
        assert!(lines[2].ends_with("q!2") && lines[2].contains('*'), "{text}");
        assert!(lines[3].contains("o--") && lines[3].ends_with("q!2 (sent in step 2)"), "{text}");
        assert!(lines[4].contains("*--") && lines[4].ends_with("r!x"), "{text}");
        let svg = chart.svg();
        assert_eq!(svg.matches("marker-end").count(), 3, "{svg}");
        assert_eq!(svg.matches("stroke-dasharray").count(), 1, "{svg}");
        assert!(Chart::of(&steps[..1], &names, &["q".to_owned()]).is_none());
    }
}
