//! Formulas as they are written.

use std::fmt;

/// A formula over numbered atoms.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Ltl {
    /// Always true.
    True,
    /// Never true.
    False,
    /// The atom with this number.
    Atom(u32),
    /// Negation.
    Not(Box<Ltl>),
    /// Both.
    And(Box<Ltl>, Box<Ltl>),
    /// One of them at least.
    Or(Box<Ltl>, Box<Ltl>),
    /// In the next state.
    Next(Box<Ltl>),
    /// The second some day, the first until then.
    Until(Box<Ltl>, Box<Ltl>),
    /// The second up to and including the day of the first, or for ever.
    Release(Box<Ltl>, Box<Ltl>),
}

impl Ltl {
    /// The negation.
    #[allow(clippy::should_implement_trait)]
    pub fn not(&self) -> Ltl {
        match self {
            Ltl::Not(inner) => (**inner).clone(),
            other => Ltl::Not(Box::new(other.clone())),
        }
    }

    /// `self && other`
    pub fn and(self, other: Ltl) -> Ltl {
        Ltl::And(Box::new(self), Box::new(other))
    }

    /// `self || other`
    pub fn or(self, other: Ltl) -> Ltl {
        Ltl::Or(Box::new(self), Box::new(other))
    }

    /// `self -> other`
    pub fn implies(self, other: Ltl) -> Ltl {
        self.not().or(other)
    }

    /// `self <-> other`
    pub fn equivalent(self, other: Ltl) -> Ltl {
        let both = self.clone().and(other.clone());
        both.or(self.not().and(other.not()))
    }

    /// `X self`
    pub fn next(self) -> Ltl {
        Ltl::Next(Box::new(self))
    }

    /// `self U other`
    pub fn until(self, other: Ltl) -> Ltl {
        Ltl::Until(Box::new(self), Box::new(other))
    }

    /// `self R other`, also written `V`
    pub fn release(self, other: Ltl) -> Ltl {
        Ltl::Release(Box::new(self), Box::new(other))
    }

    /// `self W other`: as until, but the second need not come.
    pub fn weak_until(self, other: Ltl) -> Ltl {
        other.clone().release(self.or(other))
    }

    /// `self M other`: as release, but the first must come.
    pub fn strong_release(self, other: Ltl) -> Ltl {
        other.clone().until(self.and(other))
    }

    /// `<> self`
    pub fn eventually(self) -> Ltl {
        Ltl::True.until(self)
    }

    /// `[] self`
    pub fn always(self) -> Ltl {
        Ltl::False.release(self)
    }

    /// How many operators and atoms.
    pub fn size(&self) -> usize {
        1 + self.parts().iter().map(|part| part.size()).sum::<usize>()
    }

    /// Whether no temporal operator stands in it.
    pub fn is_boolean(&self) -> bool {
        !matches!(self, Ltl::Next(_) | Ltl::Until(..) | Ltl::Release(..))
            && self.parts().iter().all(|part| part.is_boolean())
    }

    /// Whether `X` stands in it. Without it a formula cannot see stuttering.
    pub fn has_next(&self) -> bool {
        matches!(self, Ltl::Next(_)) || self.parts().iter().any(|part| part.has_next())
    }

    /// One more than the largest atom in it.
    pub fn atoms(&self) -> u32 {
        let own = if let Ltl::Atom(n) = self { n + 1 } else { 0 };
        self.parts().iter().map(|part| part.atoms()).fold(own, u32::max)
    }

    /// What stands directly below the operator.
    pub fn parts(&self) -> Vec<&Ltl> {
        match self {
            Ltl::True | Ltl::False | Ltl::Atom(_) => Vec::new(),
            Ltl::Not(a) | Ltl::Next(a) => vec![a],
            Ltl::And(a, b) | Ltl::Or(a, b) | Ltl::Until(a, b) | Ltl::Release(a, b) => vec![a, b],
        }
    }

    /// The formula with the atoms' own texts, in SPIN's notation.
    pub fn show<'a>(&'a self, atoms: &'a [String]) -> impl fmt::Display + 'a {
        Shown { formula: self, atoms }
    }
}

struct Shown<'a> {
    formula: &'a Ltl,
    atoms: &'a [String],
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |formula: &'_ Ltl| format!("{}", Shown { formula, atoms: self.atoms });
        match self.formula {
            Ltl::True => f.write_str("true"),
            Ltl::False => f.write_str("false"),
            Ltl::Atom(n) => match self.atoms.get(*n as usize) {
                Some(text) if text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') => {
                    f.write_str(text)
                }
                Some(text) => write!(f, "({text})"),
                None => write!(f, "p{n}"),
            },
            Ltl::Not(a) => write!(f, "! {}", part(a)),
            Ltl::Next(a) => write!(f, "X {}", part(a)),
            Ltl::Until(a, b) if **a == Ltl::True => write!(f, "<> {}", part(b)),
            Ltl::Release(a, b) if **a == Ltl::False => write!(f, "[] {}", part(b)),
            Ltl::And(a, b) => write!(f, "({} && {})", part(a), part(b)),
            Ltl::Or(a, b) => write!(f, "({} || {})", part(a), part(b)),
            Ltl::Until(a, b) => write!(f, "({} U {})", part(a), part(b)),
            Ltl::Release(a, b) => write!(f, "({} V {})", part(a), part(b)),
        }
    }
}

impl fmt::Display for Ltl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Shown { formula: self, atoms: &[] }.fmt(f)
    }
}
