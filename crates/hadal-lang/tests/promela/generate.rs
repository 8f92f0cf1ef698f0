//! Random Promela programs whose states are few: every variable is small, every loop has a condition.

use hadal_testkit::random::Random;
use std::fmt::Write;

/// What a program is made of.
struct Made<'r> {
    random: &'r mut Random,
    text: String,
    channels: Vec<Chan>,
    /// What may be read inside the process at hand.
    readable: Vec<String>,
    /// What may be written.
    writable: Vec<String>,
    /// What holds every message. SPIN takes messages back from variables: what does not fit is lost.
    roomy: Vec<String>,
    /// Labels of the process at hand that can be jumped to.
    labels: Vec<String>,
    started: Vec<&'static str>,
    has_rendezvous: bool,
    /// Labels of processes may be accepting, and there may be a claim.
    watched: bool,
}

#[derive(Clone)]
struct Chan {
    name: String,
    capacity: usize,
    fields: usize,
}

/// A program, and a claim that watches it where `watched`. The same choices give the same text.
pub fn program(random: &mut Random, watched: bool) -> String {
    let mut made = Made {
        random,
        text: String::new(),
        channels: Vec::new(),
        readable: Vec::new(),
        writable: Vec::new(),
        roomy: Vec::new(),
        labels: Vec::new(),
        started: Vec::new(),
        has_rendezvous: false,
        watched,
    };
    made.whole();
    made.text
}

impl Made<'_> {
    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.text, "{}{text}", "  ".repeat(depth));
    }

    fn whole(&mut self) {
        self.line(0, "mtype = { red, green };");
        let types = ["bit", "byte", "bool", "short", "unsigned"];
        for n in 0..1 + self.random.below(3) {
            let ty = types[self.random.below(types.len())];
            let width = if ty == "unsigned" { " : 3" } else { "" };
            let initial = self.random.below(2);
            self.line(0, &format!("{ty} g{n}{width} = {initial};"));
            self.readable.push(format!("g{n}"));
            self.writable.push(format!("g{n}"));
            if ["byte", "short"].contains(&ty) {
                self.roomy.push(format!("g{n}"));
            }
        }
        if self.random.chance(25) {
            self.line(0, "byte a[2];");
            self.readable.push("a[g0 % 2]".into());
            self.readable.push("a[1]".into());
            self.writable.push("a[0]".into());
            self.writable.push("a[g0 & 1]".into());
        }
        if self.random.chance(15) {
            self.line(0, "typedef T { bit f; byte h[2] };");
            self.line(0, "T t;");
            self.readable.push("t.f".into());
            self.writable.push("t.f".into());
            self.writable.push("t.h[1]".into());
        }
        for n in 0..self.random.below(3) {
            let capacity = self.random.below(3);
            let fields = 1 + self.random.below(2);
            self.has_rendezvous |= capacity == 0;
            let types = ["byte", "bit", "mtype"];
            let list: Vec<&str> = (0..fields).map(|_| types[self.random.below(3)]).collect();
            self.line(0, &format!("chan c{n} = [{capacity}] of {{ {} }};", list.join(", ")));
            self.channels.push(Chan { name: format!("c{n}"), capacity, fields });
        }
        let globals = (self.readable.clone(), self.writable.clone());
        let priorities = !self.has_rendezvous && self.random.chance(12);
        let types = 1 + self.random.below(3);
        self.started = ["P0", "P1", "P2"][..types].to_vec();
        let with_init = self.random.chance(35);
        for n in 0..types {
            (self.readable, self.writable) = globals.clone();
            self.roomy.retain(|name| name != "v");
            self.labels.clear();
            let last = self.random.chance(30);
            if last {
                self.labels.push("F".into());
            }
            let active = if n == 0 || self.random.chance(60) {
                if self.random.chance(25) { "active [2] " } else { "active " }
            } else {
                ""
            };
            let priority = match priorities && !active.is_empty() && self.random.chance(60) {
                true => format!(" priority {}", 1 + self.random.below(3)),
                false => String::new(),
            };
            let provided = match self.random.chance(7) {
                true => format!(" provided ({})", self.condition()),
                false => String::new(),
            };
            self.line(0, &format!("{active}proctype P{n}(){priority}{provided} {{"));
            if self.random.chance(50) {
                // SPIN forgets bits behind a priority.
                let ty = if priorities { "int" } else { ["byte", "bit", "int"][self.random.below(3)] };
                let initial = self.random.below(2);
                self.line(1, &format!("{ty} v = {initial};"));
                self.readable.push("v".into());
                self.writable.push("v".into());
                if ty != "bit" {
                    self.roomy.push("v".into());
                }
            }
            let length = 1 + self.random.below(4);
            self.sequence(1, length, 3, Inside::Process);
            if last {
                let statement = self.plain();
                self.line(1, &format!("F: {statement};"));
            }
            self.line(0, "}");
        }
        if self.watched && self.random.chance(70) {
            (self.readable, self.writable) = globals.clone();
            self.claim();
        }
        if with_init {
            (self.readable, self.writable) = globals;
            self.line(0, "init {");
            let atomic = self.random.chance(40);
            if atomic {
                self.line(1, "atomic {");
            }
            for _ in 0..1 + self.random.below(2) {
                let name = self.started[self.random.below(self.started.len())];
                let priority = if priorities && self.random.chance(50) { " priority 2" } else { "" };
                self.line(1, &format!("run {name}(){priority};"));
            }
            if atomic {
                self.line(1, "};");
            }
            let statement = self.plain();
            self.line(1, &statement);
            self.line(0, "}");
        }
    }

    /// A never claim of two or three places.
    fn claim(&mut self) {
        let places = 2 + self.random.below(2);
        let names: Vec<String> = (0..places)
            .map(|n| format!("{}{n}", if self.random.chance(40) { "accept_S" } else { "S" }))
            .collect();
        self.line(0, "never {");
        for name in &names {
            let repeats = self.random.chance(70);
            self.line(0, &format!("{name}:"));
            self.line(1, if repeats { "do" } else { "if" });
            for _ in 0..1 + self.random.below(3) {
                let condition = match self.random.below(8) {
                    0 => "true".into(),
                    1 => "np_".into(),
                    2 => "_last == 0".into(),
                    _ => self.condition(),
                };
                let target = &names[self.random.below(places)];
                let then = match self.random.below(5) {
                    0 if repeats => String::new(),
                    1 => format!(" -> atomic {{ ({}); goto {target} }}", self.condition()),
                    _ => format!(" -> goto {target}"),
                };
                self.line(1, &format!(":: ({condition}){then}"));
            }
            if self.random.chance(30) {
                let target = &names[self.random.below(places)];
                self.line(1, &format!(":: else -> goto {target}"));
            }
            self.line(1, if repeats { "od;" } else { "fi;" });
        }
        let last = if self.random.chance(70) { "false" } else { "skip" };
        self.line(1, last);
        self.line(0, "}");
    }

    fn value(&mut self) -> String {
        match self.random.below(12) {
            0..=2 => self.random.below(3).to_string(),
            // SPIN counts the claim.
            3 if !self.watched => "_nr_pr".into(),
            4 if self.random.chance(30) => "_last".into(),
            // During a handshake SPIN sees the message in the channel.
            5 if !self.channels.is_empty() && !self.has_rendezvous => {
                let at = self.random.below(self.channels.len());
                format!("len({})", self.channels[at].name)
            }
            _ => self.readable[self.random.below(self.readable.len())].clone(),
        }
    }

    fn condition(&mut self) -> String {
        let left = self.readable[self.random.below(self.readable.len())].clone();
        let right = self.value();
        match self.random.below(9) {
            0 => format!("{left} == {right}"),
            1 => format!("{left} != {right}"),
            2 => format!("{left} < {right}"),
            3 => format!("!{left}"),
            4 => format!("({left} || {right} == 1)"),
            5 => format!("({left} && {right} < 2)"),
            6 => format!("({left} -> {right} : 1)"),
            _ => left,
        }
    }

    /// A value that stays small.
    fn small(&mut self) -> String {
        let (left, right) = (self.value(), self.value());
        match self.random.below(6) {
            0 => format!("({left} + {right}) % 3"),
            1 => format!("({left} ^ {right}) & 1"),
            2 => format!("1 - ({left} & 1)"),
            3 => format!("({left} * {right} + 1) % 2"),
            4 => format!("({left} % 3)"),
            _ => self.random.below(3).to_string(),
        }
    }

    /// A statement that always can.
    fn plain(&mut self) -> String {
        match self.random.below(10) {
            0 => "skip".into(),
            1 => "printf(\"x\\n\")".into(),
            2 => {
                let target = self.writable[self.random.below(self.writable.len())].clone();
                format!("{target} = 255")
            }
            _ => {
                let target = self.writable[self.random.below(self.writable.len())].clone();
                let value = self.small();
                format!("{target} = {value}")
            }
        }
    }

    fn message(&mut self, inside: Inside) -> Option<String> {
        let usable: Vec<Chan> = self
            .channels
            .iter()
            .filter(|chan| inside != Inside::Step || chan.capacity > 0)
            .cloned()
            .collect();
        if usable.is_empty() {
            return None;
        }
        let chan = usable[self.random.below(usable.len())].clone();
        let name = &chan.name;
        if self.random.chance(50) {
            let sorted = chan.capacity > 0 && self.random.chance(20);
            let values: Vec<String> = (0..chan.fields).map(|_| self.small()).collect();
            return Some(format!("{name}{}{}", if sorted { "!!" } else { "!" }, values.join(", ")));
        }
        let mut arguments: Vec<String> = Vec::new();
        for _ in 0..chan.fields {
            arguments.push(match self.random.below(5) {
                0 => self.random.below(3).to_string(),
                1 => "_".into(),
                2 => format!("eval({})", self.value()),
                _ => {
                    // No variable twice.
                    let free = |it: &&String| !arguments.contains(it);
                    let plain: Vec<String> = self.roomy.iter().filter(free).cloned().collect();
                    match plain.len() {
                        0 => "_".into(),
                        n => plain[self.random.below(n)].clone(),
                    }
                }
            });
        }
        let list = arguments.join(", ");
        let buffered = chan.capacity > 0;
        Some(match self.random.below(6) {
            0 if buffered => format!("{name}??{list}"),
            1 if buffered => format!("{name}?<{list}>"),
            _ => format!("{name}?{list}"),
        })
    }

    /// A statement that may block.
    fn guard(&mut self, inside: Inside) -> String {
        match self.random.below(10) {
            0..=3 => self.condition(),
            4..=6 => match self.message(inside) {
                Some(message) => message,
                None => self.condition(),
            },
            7 if inside == Inside::Process && self.random.chance(40) => "timeout".into(),
            8 if !self.channels.is_empty() => {
                let chan = self.channels[self.random.below(self.channels.len())].clone();
                match self.random.below(4) {
                    0 => format!("empty({})", chan.name),
                    1 if chan.capacity > 0 => format!("nfull({})", chan.name),
                    2 if chan.capacity > 0 => {
                        let list = vec!["1"; chan.fields].join(", ");
                        format!("{}??[{list}]", chan.name)
                    }
                    _ => format!("nempty({})", chan.name),
                }
            }
            _ => self.plain(),
        }
    }

    fn sequence(&mut self, depth: usize, length: usize, levels: usize, inside: Inside) {
        for n in 0..length {
            self.statement(depth, levels, inside, n == 0);
        }
    }

    fn statement(&mut self, depth: usize, levels: usize, inside: Inside, first: bool) {
        let kind = self.random.below(20);
        match kind {
            0..=2 if levels > 0 => self.options(depth, levels, inside, false),
            3..=4 if levels > 0 && inside != Inside::Step => self.options(depth, levels, inside, true),
            5 | 6 if levels > 0 && inside != Inside::Step => {
                let plain = inside == Inside::Atomic && self.random.chance(40);
                self.line(depth, if plain { "{" } else { "atomic {" });
                let length = 1 + self.random.below(3);
                self.sequence(depth + 1, length, levels - 1, Inside::Atomic);
                self.line(depth, "};");
            }
            7 if levels > 0 && inside != Inside::Step => {
                self.line(depth, "d_step {");
                let length = 1 + self.random.below(3);
                let guard = self.guard(Inside::Step);
                self.line(depth + 1, &format!("{guard};"));
                self.sequence(depth + 1, length, levels - 1, Inside::Step);
                self.line(depth, "};");
            }
            // SPIN refuses it as a guard.
            8 if !first && levels > 0 && inside != Inside::Step && self.random.chance(50) => {
                self.line(depth, "{");
                self.sequence(depth + 1, 2, levels - 1, inside);
                self.line(depth, "} unless {");
                let escape = self.guard(inside);
                self.line(depth + 1, &format!("{escape};"));
                if self.random.chance(40) {
                    self.sequence(depth + 1, 1, 0, inside);
                }
                self.line(depth, "};");
            }
            9 if inside == Inside::Process && self.random.chance(30) => {
                let target = self.writable[0].clone();
                self.line(depth, &format!("select({target} : 0 .. 1);"));
            }
            // SPIN wants labels in front of blocks, not in them.
            10 if inside != Inside::Step && (!first || depth == 1) && self.labels.len() < 3 => {
                let label = match self.watched {
                    true => ["L", "accept", "progress"][self.random.below(3)],
                    false => ["L", "end"][self.random.below(2)],
                };
                let label = format!("{label}{}", self.labels.len());
                let guard = self.guard(inside);
                self.line(depth, &format!("{label}: {guard};"));
                self.labels.push(label);
            }
            11 | 12 if inside != Inside::Step && !self.labels.is_empty() => {
                let label = self.labels[self.random.below(self.labels.len())].clone();
                let condition = self.condition();
                match self.random.below(4) {
                    0 => self.line(depth, &format!("if :: {condition} -> skip :: goto {label} fi;")),
                    _ => self.line(depth, &format!("if :: {condition} -> goto {label} :: else fi;")),
                }
            }
            _ if inside == Inside::Step && !first || self.random.chance(60) => {
                let statement = self.plain();
                self.line(depth, &format!("{statement};"));
            }
            _ => {
                let statement = self.guard(inside);
                self.line(depth, &format!("{statement};"));
            }
        }
    }

    fn options(&mut self, depth: usize, levels: usize, inside: Inside, repeats: bool) {
        self.line(depth, if repeats { "do" } else { "if" });
        let mut guards = Vec::new();
        for _ in 0..1 + self.random.below(2) {
            let guard = match inside {
                // Steps inside must not block.
                Inside::Step => self.condition(),
                _ if repeats => match self.random.below(3) {
                    0 => self.message(inside).unwrap_or_else(|| self.condition()),
                    _ => self.condition(),
                },
                _ => self.guard(inside),
            };
            guards.push(guard);
        }
        // SPIN refuses `else` beside messages.
        let channels = ["c0", "c1"];
        let with_messages = guards.iter().any(|guard| channels.iter().any(|chan| guard.contains(chan)));
        for guard in guards {
            self.line(depth, &format!(":: {guard} ->"));
            let length = 1 + self.random.below(2);
            self.sequence(depth + 1, length, levels - 1, inside);
            if repeats && self.random.chance(40) {
                self.line(depth + 1, "break;");
            }
        }
        if inside == Inside::Step || !with_messages && self.random.chance(50) {
            let last = if repeats { "break" } else { "skip" };
            self.line(depth, &format!(":: else -> {last}"));
        } else if repeats {
            let condition = self.condition();
            self.line(depth, &format!(":: {condition} -> break"));
        }
        self.line(depth, if repeats { "od;" } else { "fi;" });
    }
}

/// What surrounds a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Process,
    Atomic,
    Step,
}
