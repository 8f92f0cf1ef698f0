//! One priority layer of any kind: what each says about a step, put together into a queue.

use super::bound::Bound;
use super::context::{Contexts, Index};
use super::useless::{Useless, UselessTest};
use super::{Judge, Placement, Priority, Selection, Step};
use hadal_system::Label;
use hadal_system::guide::{Distance, Estimator};

/// Which of two criteria decides first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    /// What is useless comes after everything that is not.
    Useless,
    /// What is farther in the interference graph comes after everything nearer.
    Context,
}

/// A priority layer.
pub(super) enum Layer {
    Useless(Useless),
    Context(Contexts, Index),
    Both(Useless, Contexts, First),
    /// Preferred transitions in turns with all; useless ones last, where they are told.
    Preferred(Option<Useless>),
    Bound(Bound),
}

pub(super) struct Named {
    pub(super) name: String,
    pub(super) layer: Layer,
}

/// Queues below this number are for one half of a pair of criteria.
const LEVELS: u32 = 256;

impl Priority for Named {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn selection(&self) -> Selection {
        match self.layer {
            Layer::Preferred(_) => Selection::Alternate,
            _ => Selection::Lowest,
        }
    }

    fn keeps_context(&self) -> bool {
        matches!(self.layer, Layer::Bound(_))
    }

    fn uses_estimates(&self) -> bool {
        matches!(self.layer, Layer::Useless(_) | Layer::Both(..) | Layer::Preferred(Some(_)))
    }

    fn is_deferred(&self, queue: u32) -> bool {
        match self.layer {
            Layer::Preferred(_) => queue > 1,
            _ => queue > 0,
        }
    }

    fn judge(&self) -> Box<dyn Judge + '_> {
        let useless = match &self.layer {
            Layer::Useless(useless) | Layer::Both(useless, ..) | Layer::Preferred(Some(useless)) => {
                Some(useless)
            }
            _ => None,
        };
        Box::new(LayerJudge {
            layer: &self.layer,
            useless: useless.map(UselessTest::new),
            preferred: Vec::new(),
        })
    }
}

struct LayerJudge<'l> {
    layer: &'l Layer,
    useless: Option<UselessTest<'l>>,
    /// What the guide would take now.
    preferred: Vec<Label>,
}

impl LayerJudge<'_> {
    fn is_useless(&mut self, step: &Step, estimator: &mut dyn Estimator) -> bool {
        self.useless.as_mut().is_some_and(|test| test.is_useless(step, estimator))
    }
}

impl Judge for LayerJudge<'_> {
    fn begin(&mut self, state: &[u64], _: Distance, estimator: &mut dyn Estimator) {
        if let Some(test) = &mut self.useless {
            test.begin();
        }
        if let Layer::Preferred(_) = self.layer {
            estimator.keep_preferred();
            estimator.estimate(state, None);
            self.preferred.clear();
            self.preferred.extend_from_slice(estimator.preferred());
        }
    }

    fn comes_first(&self, label: Label) -> bool {
        self.preferred.contains(&label)
    }

    fn place(&mut self, step: &Step, estimator: &mut dyn Estimator) -> Option<Placement> {
        Some(match self.layer {
            Layer::Useless(_) => Placement::queue(u32::from(self.is_useless(step, estimator))),
            Layer::Context(contexts, index) => Placement::queue(contexts.queue(step, *index)?),
            Layer::Both(_, contexts, first) => {
                let level = contexts.queue(step, Index::Shifted)?;
                let useless = u32::from(self.is_useless(step, estimator));
                Placement::queue(match first {
                    First::Useless => useless * LEVELS + level,
                    First::Context => 2 * level + useless,
                })
            }
            Layer::Preferred(_) => {
                if self.is_useless(step, estimator) {
                    Placement::queue(2)
                } else if self.preferred.contains(&step.label) {
                    Placement { queue: 0, also: Some(1), context: 0 }
                } else {
                    Placement::queue(1)
                }
            }
            Layer::Bound(bound) => Placement {
                queue: step.queue + u32::from(bound.switches(step)),
                also: None,
                context: bound.context(step.label),
            },
        })
    }
}
