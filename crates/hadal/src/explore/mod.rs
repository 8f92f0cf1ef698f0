//! `hadal explore MODEL`: a page on this machine to walk through a model, with a running search and its counterexample
//! beside it. `docs/explore.md` describes the page.

mod http;
mod search;
mod zones;

use crate::args::ModelArgs;
use crate::failure::Failure;
use crate::load;
use crate::stepping::{Spot, Stepper};
use crate::timed;
use crate::trace::Scalar;
use clap::Args;
use hadal_check::properties::select_properties;
use hadal_exec::model::{Engine, Model, ModelOptions};
use hadal_exec::symmetry::SymmetryMode;
use hadal_exec::zones::{Extrapolation, ZoneOptions, ZoneSpace};
use hadal_lang::LoadedModel;
use hadal_system::{DeadlockNotion, ProcessId, Property, PropertyId, PropertyKind, StateSpace, System};
use http::{Answer, Request};
use search::LiveSearch;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Arguments of `explore`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "EXAMPLES:\n  \
    hadal explore models/ticket_lock.m\n  \
    hadal explore models/philosophers.mdve -D N=8 -- --deadlock off --memory 1G\n\n\
    The page is served on the loopback interface only. What stands after -- goes to `hadal check`, which searches in \
    the background.")]
pub struct ExploreArgs {
    /// Which model.
    #[command(flatten)]
    model: ModelArgs,
    /// The port to listen on; 0 picks a free one.
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,
    /// Do not search in the background.
    #[arg(long)]
    no_check: bool,
    /// Options for the search in the background.
    #[arg(last = true)]
    check: Vec<String>,
}

const PAGE: &str = include_str!("page.html");

/// What the page is about.
struct Session<'a> {
    args: &'a ExploreArgs,
    model: &'a Model,
    /// Of a model in real time, whose discrete part the model then is.
    zones: Option<&'a ZoneSpace>,
    deadlock: DeadlockNotion,
    search: Mutex<Option<Arc<LiveSearch>>>,
    /// Models with one more proposition: what is watched.
    watched: Mutex<HashMap<String, Result<Arc<Watched>, String>>>,
}

/// An expression of the model's language, ready to be evaluated.
struct Watched {
    model: Model,
    property: PropertyId,
}

/// Runs the command until it is interrupted.
pub fn run(args: &ExploreArgs) -> Result<u8, Failure> {
    let options = ModelOptions { engine: Engine::Interpreted, symmetry: SymmetryMode::Off };
    if timed::reads(&args.model) {
        let timed = timed::load(&args.model, &[], false)?;
        let source = timed.system.source.clone();
        let is_invariant = |it: &Property| it.kind == PropertyKind::Invariant;
        let asked = timed.system.properties.iter().map(is_invariant).collect();
        // What people look at is not abstracted more than it must be.
        let extrapolation = Extrapolation::Max;
        let zones = ZoneOptions { model: options, asked, extrapolation, ..ZoneOptions::default() };
        let space = ZoneSpace::new(timed, zones).map_err(|error| timed::refused(&source, &error))?;
        return serve(args, space.model(), Some(&space), DeadlockNotion::Off);
    }
    let mut loaded = load::load(&args.model)?;
    crate::output::aside(format_args!("{}", loaded.warnings));
    select_properties(&mut loaded.system, &[], &[])?;
    let model = Model::new(loaded.system, options).map_err(|error| Failure::Usage(error.to_string()))?;
    serve(args, &model, None, loaded.language.deadlock)
}

fn serve(
    args: &ExploreArgs,
    model: &Model,
    zones: Option<&ZoneSpace>,
    deadlock: DeadlockNotion,
) -> Result<u8, Failure> {
    let session =
        Session { args, model, zones, deadlock, search: Mutex::default(), watched: Mutex::default() };
    if !args.no_check {
        session.begin_search()?;
    }
    let unusable = |error| Failure::File { path: format!("127.0.0.1:{}", args.port).into(), error };
    let listener = http::listen(args.port).map_err(unusable)?;
    let address = listener.local_addr().map_err(unusable)?;
    crate::output::line(&format!("http://{address}/  (Ctrl-C ends it)"))?;
    http::serve(&listener, &|request| session.answer(request));
    Ok(0)
}

impl Session<'_> {
    fn begin_search(&self) -> Result<(), Failure> {
        let mut arguments = vec![self.args.model.model.display().to_string()];
        for (name, given) in &self.args.model.define {
            arguments.extend(["-D".to_owned(), format!("{name}={given}")]);
        }
        arguments.extend(self.args.check.iter().cloned());
        let begun = LiveSearch::begin(&arguments)
            .map_err(|error| Failure::Internal(format!("the search cannot be started: {error}")))?;
        *self.search.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(begun));
        Ok(())
    }

    fn answer(&self, request: &Request) -> Answer {
        let search = || self.search.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/") => Answer::Html(PAGE),
            ("GET", "/api/model") => Answer::Json(self.about()),
            ("GET", "/api/state") => {
                let state = match self.zones {
                    Some(space) => zones::state(space, request.get("s").filter(|it| !it.is_empty())),
                    None => self.spot(request).map(|spot| self.state(spot.as_ref())),
                };
                state.map_or_else(|why| Answer::Refused(400, why), Answer::Json)
            }
            ("GET", "/api/watch") => match (self.spot(request), request.get("e")) {
                (Ok(Some(spot)), Some(expression)) => Answer::Json(self.watch(expression, &spot)),
                (Err(why), _) => Answer::Refused(400, why),
                _ => Answer::Refused(400, "a state and an expression are needed".into()),
            },
            ("GET", "/api/events") => match search().map(LiveSearch::watch) {
                Some(Ok(events)) => Answer::Events(events),
                Some(Err(error)) => Answer::Refused(404, error.to_string()),
                None => Answer::Refused(404, "no search was begun".into()),
            },
            (_, "/api/check") if request.may_change() => match self.begin_search() {
                Ok(()) => Answer::Json(json!({})),
                Err(failure) => Answer::Refused(400, failure.to_string()),
            },
            (_, "/api/stop") if request.may_change() => {
                if let Some(search) = search() {
                    search.stop();
                }
                Answer::Json(json!({}))
            }
            _ => Answer::Refused(404, "there is nothing here".into()),
        }
    }

    fn about(&self) -> Value {
        let system = self.model.system();
        let file = &self.args.model.model;
        let properties = self.model.properties().iter().filter(|it| it.kind != PropertyKind::Assumption);
        json!({
            "name": system.name,
            "file": file.file_name().map_or_else(|| file.display().to_string(), |name| name.to_string_lossy().into_owned()),
            "path": file.display().to_string(),
            "source": system.source.original_text(),
            "properties": properties.map(|it| it.name.as_str()).collect::<Vec<_>>(),
            "searches": !self.args.no_check,
        })
    }

    /// The spot that a request names; none where it asks for the starts.
    fn spot(&self, request: &Request) -> Result<Option<Spot>, String> {
        let Some(text) = request.get("s").filter(|text| !text.is_empty()) else { return Ok(None) };
        if let Some(space) = self.zones {
            return Ok(Some(Spot { state: zones::after(space, text)?, then: None }));
        }
        let words: Option<Vec<u64>> =
            text.split('.').map(|word| u64::from_str_radix(word, 16).ok()).collect();
        let state = words.filter(|words| words.len() == self.model.words() && self.model.admits(words));
        let state = state.ok_or("this is no state of the model")?;
        let processes = self.model.system().processes.len() as u32;
        let then = request.get("then").and_then(|it| it.parse().ok()).filter(|&it| it < processes);
        Ok(Some(Spot { state, then: then.map(ProcessId) }))
    }

    fn state(&self, at: Option<&Spot>) -> Value {
        let mut stepper = Stepper::new(self.model, self.deadlock);
        let choices = stepper.choices(at);
        let listed: Vec<Value> = choices
            .iter()
            .map(|choice| {
                let step = choice.to.as_ref().map(|to| stepper.step(at, choice, to));
                json!({
                    "action": stepper.name(at, choice.label),
                    "to": choice.to.as_ref().map(|to| hex(&to.state)),
                    "then": choice.to.as_ref().and_then(|to| to.then).map(|process| process.0),
                    "line": step.as_ref().and_then(|step| step.line),
                    "channels": step.as_ref().map(|step| step.channels.clone()),
                    "changes": step.filter(|_| at.is_some()).map(|step| step.changes),
                    "printed": choice.printed,
                })
            })
            .collect();
        let wrong = at.and_then(|spot| {
            let kind = stepper.wrong(spot, &choices)?;
            let property = kind.property().map(|id| self.model.properties()[id.0 as usize].name.clone());
            Some(property.unwrap_or_else(|| "deadlock".into()))
        });
        json!({
            "items": at.map(|spot| items(self.model, stepper.items(&spot.state))),
            "choices": listed,
            "wrong": wrong,
        })
    }

    fn watch(&self, expression: &str, spot: &Spot) -> Value {
        let shown = match self.zones {
            Some(space) => zones::shown(space, &spot.state),
            None => Stepper::new(self.model, self.deadlock).items(&spot.state),
        };
        if let Some(item) = shown.into_iter().find(|item| item.name == expression) {
            return json!({ "value": item.value });
        }
        // Expressions are about the discrete part.
        let discrete = &spot.state[self.zones.map_or(0, ZoneSpace::zone_words)..];
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let found = watched.entry(expression.to_owned()).or_insert_with(|| self.compile(expression)).clone();
        drop(watched);
        match found {
            Ok(watched) => match watched.model.interpreter().holds(discrete, watched.property) {
                Ok(value) => json!({ "value": value }),
                Err(fault) => json!({ "error": fault.message }),
            },
            Err(why) => json!({ "error": why }),
        }
    }

    /// Reads the model once more with the expression as a proposition.
    fn compile(&self, expression: &str) -> Result<Arc<Watched>, String> {
        let mut options = self.args.model.load_options();
        options.propositions = vec![expression.to_owned()];
        let system = match self.zones {
            Some(_) => hadal_lang::load(&self.args.model.model, &options)
                .map_err(|error| Failure::from(error).to_string())
                .map(|(_, loaded)| match loaded.model {
                    LoadedModel::Timed(timed) => timed.system,
                    _ => System::default(),
                })?,
            None => {
                load::load_with(&self.args.model, &options).map_err(|failure| failure.to_string())?.system
            }
        };
        let options = ModelOptions { engine: Engine::Interpreted, symmetry: SymmetryMode::Off };
        let model = Model::new(system, options).map_err(|error| error.to_string())?;
        let proposition = model.properties().iter().rposition(|it| it.kind == PropertyKind::Proposition);
        let property = PropertyId(proposition.ok_or("this language has no expressions to watch")? as u32);
        if model.words() != self.model.words() {
            return Err("watching it would change what a state is".into());
        }
        Ok(Arc::new(Watched { model, property }))
    }
}

/// What a state shows, each with the process that owns it.
fn items(model: &Model, shown: Vec<Scalar>) -> Vec<Value> {
    let system = model.system();
    let group = |name: &str| {
        let process = system.processes.iter().find(|it| {
            name.strip_prefix(it.name.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        });
        match process {
            Some(process) => process.name.clone(),
            None => name.split(['.', '[']).next().filter(|it| it.len() < name.len()).unwrap_or("").to_owned(),
        }
    };
    let shown = shown.into_iter();
    shown.map(|item| json!({ "name": item.name, "value": item.value, "group": group(&item.name) })).collect()
}

fn hex(state: &[u64]) -> String {
    state.iter().map(|word| format!("{word:x}")).collect::<Vec<_>>().join(".")
}
