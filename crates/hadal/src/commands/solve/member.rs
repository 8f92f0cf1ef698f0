//! Questions that several workers answer: the side of each of them.

use super::asking::{Asking, ppddl, questions};
use super::together::{Question, Solved};
use crate::commands::worker::join;
use crate::failure::Failure;
use hadal_check::memory::{ENOUGH_MEMORY, default_memory};
use hadal_check::usage::{begin_peak, cpu_seconds};
use hadal_cluster::link::Link;
use hadal_cluster::message::Job;
use hadal_cluster::worker::{Launcher, Watched};
use hadal_exec::{Model, ModelOptions};
use hadal_search::exchange::{Exchange, Shares};
use hadal_search::{Control, Limits};
use hadal_store::Governor;
use hadal_system::chance::Objective;
use hadal_system::{StateSpace, System};
use hadal_value::disk::{Company, Member, Tier, answer_among, fingerprint};
use hadal_value::{Answer, Precision, SolveError};
use std::rc::Rc;
use std::sync::Arc;

/// What a worker is asked, where it is a question about values.
pub(in crate::commands) fn question(job: &Job) -> Option<Result<Question, Failure>> {
    let told = job.command.get("solve")?;
    let unreadable = |error| Failure::Usage(format!("the command cannot be read: {error}"));
    Some(serde_json::from_value(told.clone()).map_err(unreadable))
}

/// Answers together with the others; returns the exit code.
pub(in crate::commands) fn take_part(
    question: &Question,
    job: &Job,
    launcher: Launcher,
) -> Result<u8, Failure> {
    let asking = Asking {
        model: &question.model,
        problem: question.problem.as_deref(),
        define: &question.define,
        properties: question.properties.as_deref(),
        formula: question.formula.as_deref(),
        property: question.property.as_deref(),
    };
    let precision = Precision { relative: question.precision, ..Precision::default() };
    if asking.is_ppddl() {
        return match ppddl(&asking) {
            Ok((space, system, objective)) => {
                solve((&space, &system), &objective, precision, (job, launcher))
            }
            Err(failure) => Ok(refuse(&failure, &launcher)),
        };
    }
    let read = questions(&asking).and_then(|(loaded, objectives)| {
        let model = Model::new(loaded.into_system(), ModelOptions::default());
        let model =
            model.map_err(|error| Failure::Usage(format!("{}: {error}", question.model.display())))?;
        match objectives.into_iter().next() {
            Some(objective) => Ok((model, objective)),
            None => Err(Failure::Usage("nothing is asked".into())),
        }
    });
    match read {
        Ok((model, objective)) => solve((&model, model.system()), &objective, precision, (job, launcher)),
        Err(failure) => Ok(refuse(&failure, &launcher)),
    }
}

fn refuse(failure: &Failure, launcher: &Launcher) -> u8 {
    launcher.fail(failure.exit_code(), failure.to_string());
    failure.exit_code()
}

fn solve(
    (space, system): (&dyn StateSpace, &System),
    objective: &Objective,
    precision: Precision,
    (job, mut launcher): (&Job, Launcher),
) -> Result<u8, Failure> {
    let limits = &job.limits;
    let usual = (default_memory() / limits.sharing.max(1) as u64).max(ENOUGH_MEMORY);
    let governor = Governor::new(limits.memory.unwrap_or(usual));
    let number = fingerprint(space, system, objective, (precision, Some(Tier::SemiExternal)));
    let joined = Shares::weighted(&job.weights).map_err(|error| (2, error.to_string()));
    let link = match joined.and_then(|shares| join(job, (shares, number), &mut launcher)) {
        Ok(link) => Rc::new(link),
        Err((code, why)) => {
            launcher.fail(code, why);
            return Ok(code);
        }
    };
    let control = Arc::new(Control::new(Limits::default()));
    let watched =
        Watched { control, governor: governor.clone(), link: Arc::clone(link.figures()), cpu_seconds };
    let attending = launcher.attend(watched);
    // What reading and compiling needed of the program's file need not stay in memory.
    begin_peak();
    let answered = answer(&link, (space, system), objective, (job, precision, &governor));
    match answered {
        Ok(answer) => {
            let removes = attending.done(&Solved::from(&answer));
            if let Ok(link) = Rc::try_unwrap(link) {
                link.close();
            }
            let gone = |error| Failure::Internal(format!("the launcher is gone: {error}"));
            if removes.map_err(gone)? {
                // The launcher removes what is left on its own machine.
                let _ = std::fs::remove_dir_all(&job.folder);
            }
            Ok(0)
        }
        Err(error) => {
            let code: u8 = if matches!(error, SolveError::Disk(_)) { 3 } else { 2 };
            // Others wait: the process ends without closing the link in order.
            let _ = attending.fail(code, error.to_string());
            std::process::exit(code.into());
        }
    }
}

fn answer(
    link: &Rc<Link>,
    (space, system): (&dyn StateSpace, &System),
    objective: &Objective,
    (job, precision, governor): (&Job, Precision, &Governor),
) -> Result<Answer, SolveError> {
    let inbox = governor.try_reserve(link.inbox_bytes(), "records on their way");
    let _inbox = inbox.map_err(|over| SolveError::Disk(over.to_string()))?;
    let exchange: Rc<dyn Exchange> = Rc::<Link>::clone(link);
    let company = Company::of(exchange, governor)?;
    let former = job.former.as_deref().unwrap_or_default();
    if job.former.is_some() {
        // What an earlier attempt to move records left.
        let _ = std::fs::remove_dir_all(&job.folder);
    }
    let member = Member { company, folder: &job.folder, governor: governor.clone(), former };
    answer_among(space, system, objective, precision, &member)
}
