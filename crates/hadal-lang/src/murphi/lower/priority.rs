//! CMurphi's rule priorities: a rule fires only where no rule of a lower number can.
//!
//! Each level but the last becomes a function that tells whether some rule of it can fire; guards of higher levels
//! ask these functions.

use super::Lowering;
use super::expr::{and, not};
use super::frame::Frame;
use crate::murphi::hir::RuleKind;
use hadal_system::{
    Domain, Expr, ExprKind, Function, FunctionId, ParamValues, Quantifier, Range, Span, Stmt, StmtKind,
};
use std::collections::BTreeSet;

impl Lowering<'_> {
    /// For each level of priority but the last, the function that tells whether one of its rules can fire.
    pub(super) fn priorities(&mut self) -> Vec<(i64, FunctionId)> {
        let levels: BTreeSet<i64> = self
            .model
            .rules
            .iter()
            .filter_map(|r| match r.kind {
                RuleKind::Rule { priority, .. } => Some(priority),
                _ => None,
            })
            .collect();
        let asked = levels.len().saturating_sub(1);
        levels.into_iter().take(asked).map(|level| (level, self.can_fire(level))).collect()
    }

    fn can_fire(&mut self, level: i64) -> FunctionId {
        let model = self.model;
        self.frames.push(Frame::default());
        let mut branches = Vec::new();
        for rule in &model.rules {
            let RuleKind::Rule { guard, priority, .. } = &rule.kind else { continue };
            if *priority != level {
                continue;
            }
            self.expansions = 0;
            let (params, present) = self.open_scopes(&rule.scopes);
            let guard = self.expr(guard);
            let mut enabled = and(present, guard);
            for param in params.into_iter().rev() {
                let range = match param.values {
                    ParamValues::Domain(domain) => Range::Domain(domain),
                    ParamValues::Steps { from, to, by } => Range::Steps {
                        from: Expr::constant(from),
                        to: Expr::constant(to),
                        by: Expr::constant(by),
                    },
                };
                let kind = ExprKind::Quantified {
                    quantifier: Quantifier::Exists,
                    local: param.local,
                    range: Box::new(range),
                    body: Box::new(enabled),
                };
                enabled = Expr::new(kind, rule.span);
            }
            let yes = vec![Stmt::new(StmtKind::Return(Some(Self::always(rule.span))), rule.span)];
            branches.push((enabled, yes));
        }
        let span = Span::default();
        let body = vec![
            Stmt::new(StmtKind::If { branches, otherwise: Vec::new() }, span),
            Stmt::new(StmtKind::Return(Some(Expr::constant(0))), span),
        ];
        let result = Some(self.domains.add(Domain::boolean(true)));
        let frame = self.close_frame();
        self.add_function(Function {
            name: format!("rule of priority {level} can fire"),
            parameters: 0,
            locals: frame.locals,
            result,
            body,
            span,
        })
    }

    /// The guard of a rule of this priority, in the present frame.
    pub(super) fn behind_lower_priorities(
        &mut self,
        guard: Expr,
        priority: i64,
        levels: &[(i64, FunctionId)],
    ) -> Expr {
        levels.iter().filter(|(level, _)| *level < priority).fold(guard, |guard, (_, function)| {
            let span = guard.span;
            let before = Expr::new(ExprKind::Call(*function, Vec::new()), span);
            and(guard, not(before))
        })
    }
}
