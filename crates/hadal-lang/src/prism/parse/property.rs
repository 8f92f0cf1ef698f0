//! Property files: questions with the operators `P`, `R`, `S` and `filter`.

use super::super::ast::{Bound, Earning, Expr, File, Kind as E, Path, Property, Query, RewardName, Use};
use super::super::lex::Kind;
use super::{Parsed, Parser};
use hadal_system::Span;
use hadal_system::chance::{Relation, Sense};

/// What begins or ends a part of a property file.
const PARTS: &[&str] = &["const", "label", "formula"];

impl Parser<'_> {
    pub(super) fn properties(&mut self, file: &mut File) {
        while !self.ended() {
            if self.take_sign(";") {
                continue;
            }
            let parsed = match self.kind() {
                Kind::Name(word) if PARTS.contains(&word.as_str()) => self.part(file),
                _ => self.property().map(|property| file.properties.push(property)),
            };
            if parsed.is_err() {
                self.recover(PARTS);
            }
        }
    }

    fn property(&mut self) -> Parsed<Property> {
        let name = match (self.kind(), self.ahead(1)) {
            (Kind::Text(name), Kind::Sign(":")) => Some(name.clone()),
            _ => None,
        };
        if name.is_some() {
            self.advance();
            self.advance();
        }
        let asks = self.expr()?;
        self.take_sign(";");
        Ok(Property { name, asks })
    }

    /// Whether this word is an operator of properties here.
    pub(super) fn begins_operator(&self, word: &str) -> bool {
        let next = self.ahead(1);
        let compares = matches!(next, Kind::Sign("=?" | "<" | "<=" | ">" | ">=" | "{" | "["))
            || matches!(next, Kind::Name(sense) if matches!(sense.as_str(), "min" | "max" | "minmax" | "maxmin"));
        match word {
            "P" | "Pmin" | "Pmax" | "R" | "Rmin" | "Rmax" | "S" | "Smin" | "Smax" | "LRA" | "LRAmin"
            | "LRAmax" | "T" | "Tmin" | "Tmax" => compares,
            "filter" | "multi" => *next == Kind::Sign("("),
            "F" | "G" | "X" => !matches!(next, Kind::Sign(")" | "," | "]" | ";")),
            "E" | "A" => *next == Kind::Sign("["),
            _ => false,
        }
    }

    pub(super) fn operator(&mut self, word: &str) -> Parsed<Expr> {
        let start = self.span();
        if matches!(word, "F" | "G" | "X") {
            let path = Box::new(self.unary_path()?);
            return Ok(Expr { kind: E::Path(path), span: self.since(start) });
        }
        self.advance();
        let kind = match word {
            "P" | "Pmin" | "Pmax" => {
                let used = self.used(word)?;
                self.expect("[")?;
                let of = self.path()?;
                let filter = self.old_filter()?;
                self.expect("]")?;
                E::Probability(Box::new(Query { used, of, filter }))
            }
            "R" | "Rmin" | "Rmax" => {
                let name = if self.take_sign("{") { Some(self.reward_name()?) } else { None };
                let used = self.used(word)?;
                self.expect("[")?;
                let of = self.earning()?;
                let filter = self.old_filter()?;
                self.expect("]")?;
                E::Reward(name, Box::new(Query { used, of, filter }))
            }
            "filter" => {
                self.expect("(")?;
                let op = match self.kind().clone() {
                    Kind::Name(op) => op,
                    Kind::Sign(op @ ("+" | "&" | "|")) => op.to_owned(),
                    _ => return self.wrong("what the filter does, such as `min` or `forall`"),
                };
                self.advance();
                self.expect(",")?;
                let what = self.expr()?;
                let states = if self.take_sign(",") { Some(Box::new(self.expr()?)) } else { None };
                self.expect(")")?;
                E::Filter(op, Box::new(what), states)
            }
            "multi" => E::Unsupported("questions with several objectives"),
            "E" | "A" => {
                self.expect("[")?;
                let of = Box::new(self.path()?);
                self.expect("]")?;
                E::Paths(word == "E", of)
            }
            "S" | "Smin" | "Smax" | "LRA" | "LRAmin" | "LRAmax" => {
                let used = self.used(word)?;
                self.expect("[")?;
                let of = self.expr()?;
                let filter = self.old_filter()?;
                self.expect("]")?;
                E::Average(Box::new(Query { used, of, filter }))
            }
            _ => E::Unsupported("expected times; write R of a reward that is 1 in every state"),
        };
        if let E::Unsupported(what) = kind {
            return self.error(start, format!("hadal does not answer {what}"));
        }
        Ok(Expr { kind, span: self.since(start) })
    }

    /// `min=?`, `>=0.5`, ...
    fn used(&mut self, word: &str) -> Parsed<Use> {
        let mut sense = match word {
            "Pmin" | "Rmin" | "Smin" | "LRAmin" => Some(Sense::Least),
            "Pmax" | "Rmax" | "Smax" | "LRAmax" => Some(Sense::Greatest),
            _ => None,
        };
        if self.take_word("min") {
            sense = Some(Sense::Least);
        } else if self.take_word("max") {
            sense = Some(Sense::Greatest);
        }
        if self.take_sign("=?") {
            return Ok(Use::Value(sense));
        }
        let relation = match self.kind() {
            Kind::Sign("<") => Relation::Below,
            Kind::Sign("<=") => Relation::AtMost,
            Kind::Sign(">") => Relation::Above,
            Kind::Sign(">=") => Relation::AtLeast,
            _ => return self.wrong("`=?` or a bound"),
        };
        self.advance();
        Ok(Use::Compare(relation, self.sum()?))
    }

    /// What stands between the braces of `R{...}`, up to and with the closing one.
    fn reward_name(&mut self) -> Parsed<RewardName> {
        let name = match self.kind().clone() {
            Kind::Text(name) => RewardName::Name(name, self.span()),
            Kind::Number(text) => RewardName::Number(text.parse().unwrap_or(0), self.span()),
            _ => return self.wrong("the name of a reward in double quotes"),
        };
        self.advance();
        self.expect("}")?;
        Ok(name)
    }

    fn old_filter(&mut self) -> Parsed<Option<(Expr, Option<String>)>> {
        if !self.take_sign("{") {
            return Ok(None);
        }
        let states = self.expr()?;
        self.expect("}")?;
        let mut op = None;
        while self.take_sign("{") {
            op = Some(self.name()?.0);
            self.expect("}")?;
        }
        Ok(Some((states, op)))
    }

    fn earning(&mut self) -> Parsed<Earning> {
        if self.take_word("F") {
            return Ok(Earning::Reach(self.expr()?));
        }
        if self.take_word("C") {
            return Ok(if self.take_sign("<=") { Earning::Cumulative(self.sum()?) } else { Earning::Total });
        }
        if self.take_word("I") {
            self.expect("=")?;
            return Ok(Earning::Instant(self.sum()?));
        }
        if self.take_word("S") || self.take_word("LRA") {
            return Ok(Earning::LongRun);
        }
        self.wrong("`F`, `C`, `C<=`, `I=` or `S`")
    }

    pub(super) fn path(&mut self) -> Parsed<Path> {
        let start = self.span();
        let left = self.unary_path()?;
        for word in ["U", "W", "R"] {
            if self.take_word(word) {
                let bounds = self.bounds()?;
                let right = Box::new(self.deeper(Self::path)?);
                let (left, span) = (Box::new(left), self.since(start));
                return Ok(match word {
                    "U" => Path::Until(left, right, bounds, span),
                    "W" => Path::WeakUntil(left, right, bounds, span),
                    _ => Path::Release(left, right, bounds, span),
                });
            }
        }
        Ok(left)
    }

    fn unary_path(&mut self) -> Parsed<Path> {
        self.deeper(|p| {
            let start = p.span();
            if p.take_word("X") {
                let of = Box::new(p.unary_path()?);
                return Ok(Path::Next(of, p.since(start)));
            }
            for word in ["F", "G"] {
                if p.take_word(word) {
                    let bounds = p.bounds()?;
                    let of = Box::new(p.unary_path()?);
                    let span = p.since(start);
                    return Ok(if word == "F" {
                        Path::Finally(of, bounds, span)
                    } else {
                        Path::Globally(of, bounds, span)
                    });
                }
            }
            // A temporal formula in parentheses is itself, not a formula about states.
            Ok(match p.expr()? {
                Expr { kind: E::Path(path), .. } => *path,
                expr => Path::State(expr),
            })
        })
    }

    fn bounds(&mut self) -> Parsed<Vec<Bound>> {
        let mut bounds = Vec::new();
        if self.take_sign("^") {
            self.expect("{")?;
            loop {
                bounds.push(self.reward_bound()?);
                if !self.take_sign(",") {
                    break;
                }
            }
            self.expect("}")?;
        } else if self.is_sign("{") {
            let start = self.span();
            self.advance();
            bounds.push(match self.kind() {
                // As Storm writes it: the bound stands behind the braces.
                Kind::Text(_) => {
                    let reward = Some(Some(self.reward_name()?));
                    self.bound_of(reward, start)?
                }
                _ => {
                    let bound = self.reward_bound()?;
                    self.expect("}")?;
                    bound
                }
            });
        } else if let Some(bound) = self.bound()? {
            bounds.push(bound);
        }
        Ok(bounds)
    }

    fn reward_bound(&mut self) -> Parsed<Bound> {
        let start = self.span();
        let reward = match self.kind().clone() {
            Kind::Name(word) if word == "rew" || word == "reward" => {
                self.advance();
                Some(if self.take_sign("{") { Some(self.reward_name()?) } else { None })
            }
            Kind::Name(word) if word == "steps" || word == "time" => {
                self.advance();
                None
            }
            _ => None,
        };
        self.bound_of(reward, start)
    }

    /// A bound on what is earned of a reward, or on steps.
    fn bound_of(&mut self, reward: Option<Option<RewardName>>, start: Span) -> Parsed<Bound> {
        match self.bound()? {
            Some(bound) => Ok(Bound { reward, span: self.since(start), ..bound }),
            None => self.wrong("a bound such as `<=10`"),
        }
    }

    /// `<=k`, `<k`, `>=k`, `>k`, `=k` or `[a,b]`.
    fn bound(&mut self) -> Parsed<Option<Bound>> {
        let start = self.span();
        let sign = match self.kind() {
            Kind::Sign(sign @ ("<=" | "<" | ">=" | ">" | "=" | "[")) => *sign,
            _ => return Ok(None),
        };
        self.advance();
        let (low, high) = if sign == "[" {
            let low = self.sum()?;
            self.expect(",")?;
            let high = self.sum()?;
            self.expect("]")?;
            (Some((low, false)), Some((high, false)))
        } else {
            let value = self.primary()?;
            match sign {
                "<=" | "<" => (None, Some((value, sign == "<"))),
                ">=" | ">" => (Some((value, sign == ">")), None),
                _ => (Some((value.clone(), false)), Some((value, false))),
            }
        };
        Ok(Some(Bound { reward: None, low, high, span: self.since(start) }))
    }
}
