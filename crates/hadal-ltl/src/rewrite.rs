//! The makers of formulas: equivalences that need fewer temporal operators, applied bottom up.
//!
//! Etessami and Holzmann, "Optimizing Büchi automata" (CONCUR 2000); Somenzi and Bloem (CAV 2000).

use crate::pool::{FALSE, Id, Node, Pool, TRUE};

impl Pool {
    /// The conjunction.
    pub fn and(&mut self, parts: Vec<Id>) -> Id {
        let mut flat = Vec::new();
        for part in parts {
            match self.node(part) {
                Node::And(inner) => flat.extend(inner.iter().copied()),
                _ => flat.push(part),
            }
        }
        let Some(flat) = self.joined_below(flat, Join::And) else { return FALSE };
        match flat.as_slice() {
            [] => TRUE,
            [one] => *one,
            _ => self.intern(Node::And(flat)),
        }
    }

    /// The disjunction.
    pub fn or(&mut self, parts: Vec<Id>) -> Id {
        let mut flat = Vec::new();
        for part in parts {
            match self.node(part) {
                Node::Or(inner) => flat.extend(inner.iter().copied()),
                _ => flat.push(part),
            }
        }
        let Some(flat) = self.joined_below(flat, Join::Or) else { return TRUE };
        match flat.as_slice() {
            [] => FALSE,
            [one] => *one,
            _ => self.intern(Node::Or(flat)),
        }
    }

    /// Drops what the others imply, and joins temporal operators that may be joined. `None`: the whole is the constant that
    /// swallows the others.
    fn joined_below(&mut self, mut parts: Vec<Id>, join: Join) -> Option<Vec<Id>> {
        loop {
            parts.sort_unstable();
            parts.dedup();
            let mut n = 0;
            while n < parts.len() {
                let one = parts[n];
                let mut dropped = false;
                for &other in parts.iter().filter(|&&other| other != one) {
                    let (weak, strong) = if join == Join::And { (one, other) } else { (other, one) };
                    let swallowed = self.implies(strong, weak);
                    // Two that imply each other: the one with the smaller number stays.
                    dropped |= swallowed && !(self.implies(weak, strong) && one < other);
                    let (a, b) =
                        if join == Join::And { (one, self.not(other)) } else { (self.not(one), other) };
                    if self.implies(a, b) {
                        return None;
                    }
                }
                if dropped {
                    parts.remove(n);
                } else {
                    n += 1;
                }
            }
            let swallowing = if join == Join::And { FALSE } else { TRUE };
            if parts.contains(&swallowing) {
                return None;
            }
            parts.retain(|&part| part != TRUE && part != FALSE);
            let pair = (0..parts.len())
                .flat_map(|i| (i + 1..parts.len()).map(move |j| (i, j)))
                .find_map(|(i, j)| self.joined_pair(parts[i], parts[j], join).map(|joined| (i, j, joined)));
            let Some((i, j, joined)) = pair else { return Some(parts) };
            parts.remove(j);
            parts.remove(i);
            match (self.node(joined).clone(), join) {
                (Node::And(inner), Join::And) | (Node::Or(inner), Join::Or) => parts.extend(inner),
                _ => parts.push(joined),
            }
        }
    }

    /// One formula for two that stand side by side.
    fn joined_pair(&mut self, f: Id, g: Id, join: Join) -> Option<Id> {
        let side = |pool: &mut Pool, a: Id, b: Id| match join {
            Join::And => pool.and(vec![a, b]),
            Join::Or => pool.or(vec![a, b]),
        };
        match (self.node(f).clone(), self.node(g).clone(), join) {
            (Node::Next(a), Node::Next(b), _) => {
                let inner = side(self, a, b);
                Some(self.next(inner))
            }
            // a U b || a U d = a U (b || d);  a U b && c U b = (a && c) U b
            (Node::Until(a, b), Node::Until(c, d), Join::Or) if a == c => {
                let inner = self.or(vec![b, d]);
                Some(self.until(a, inner))
            }
            (Node::Until(a, b), Node::Until(c, d), Join::And) if b == d => {
                let inner = self.and(vec![a, c]);
                Some(self.until(inner, b))
            }
            (Node::Release(a, b), Node::Release(c, d), Join::And) if a == c => {
                let inner = self.and(vec![b, d]);
                Some(self.release(a, inner))
            }
            (Node::Release(a, b), Node::Release(c, d), Join::Or) if b == d => {
                let inner = self.or(vec![a, c]);
                Some(self.release(inner, b))
            }
            // GF a || GF b = GF (a || b);  FG a && FG b = FG (a && b)
            (Node::Release(FALSE, b), Node::Release(FALSE, d), Join::Or) => {
                let (Node::Until(TRUE, b), Node::Until(TRUE, d)) =
                    (self.node(b).clone(), self.node(d).clone())
                else {
                    return None;
                };
                let inner = self.or(vec![b, d]);
                let inner = self.until(TRUE, inner);
                Some(self.release(FALSE, inner))
            }
            (Node::Until(TRUE, b), Node::Until(TRUE, d), Join::And) => {
                let (Node::Release(FALSE, b), Node::Release(FALSE, d)) =
                    (self.node(b).clone(), self.node(d).clone())
                else {
                    return None;
                };
                let inner = self.and(vec![b, d]);
                let inner = self.release(FALSE, inner);
                Some(self.until(TRUE, inner))
            }
            _ => None,
        }
    }

    /// `X a`
    pub fn next(&mut self, a: Id) -> Id {
        if a == TRUE || a == FALSE || self.is_eventual(a) && self.is_universal(a) {
            return a;
        }
        self.intern(Node::Next(a))
    }

    /// `a U b`
    pub fn until(&mut self, a: Id, b: Id) -> Id {
        if b == TRUE || b == FALSE || a == FALSE || self.is_eventual(b) || self.implies(a, b) {
            return b;
        }
        let not_b = self.not(b);
        if a != TRUE && self.implies(not_b, a) {
            return self.until(TRUE, b);
        }
        match (self.node(a).clone(), self.node(b).clone()) {
            (Node::Next(a), Node::Next(b)) => {
                let inner = self.until(a, b);
                self.next(inner)
            }
            (Node::True, Node::Next(b)) => {
                let inner = self.until(TRUE, b);
                self.next(inner)
            }
            // a U (c U d) = c U d where a implies c; <> (c U d) = <> d
            (_, Node::Until(c, _)) if self.implies(a, c) => b,
            (Node::True, Node::Until(_, d)) => self.until(TRUE, d),
            // <> (x && y) = <> x && y where y may wait: eventual and universal
            (Node::True, Node::And(parts)) => {
                let (still, moved): (Vec<Id>, Vec<Id>) =
                    parts.into_iter().partition(|&part| self.is_eventual(part) && self.is_universal(part));
                if still.is_empty() {
                    return self.intern(Node::Until(a, b));
                }
                let inner = self.and(moved);
                let mut all = still;
                all.push(self.until(TRUE, inner));
                self.and(all)
            }
            _ => self.intern(Node::Until(a, b)),
        }
    }

    /// `a R b`
    pub fn release(&mut self, a: Id, b: Id) -> Id {
        if b == TRUE || b == FALSE || a == TRUE || self.is_universal(b) || self.implies(b, a) {
            return b;
        }
        let not_a = self.not(a);
        if a != FALSE && self.implies(b, not_a) {
            return self.release(FALSE, b);
        }
        match (self.node(a).clone(), self.node(b).clone()) {
            (Node::Next(a), Node::Next(b)) => {
                let inner = self.release(a, b);
                self.next(inner)
            }
            (Node::False, Node::Next(b)) => {
                let inner = self.release(FALSE, b);
                self.next(inner)
            }
            (_, Node::Release(c, _)) if self.implies(c, a) => b,
            (Node::False, Node::Release(_, d)) => self.release(FALSE, d),
            (Node::False, Node::Or(parts)) => {
                let (still, moved): (Vec<Id>, Vec<Id>) =
                    parts.into_iter().partition(|&part| self.is_eventual(part) && self.is_universal(part));
                if still.is_empty() {
                    return self.intern(Node::Release(a, b));
                }
                let inner = self.or(moved);
                let mut all = still;
                all.push(self.release(FALSE, inner));
                self.or(all)
            }
            _ => self.intern(Node::Release(a, b)),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Join {
    And,
    Or,
}
