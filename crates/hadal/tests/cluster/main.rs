//! Several workers as a person meets them: the same answers, whatever happens to a worker, a connection or the launcher.

#![cfg(target_os = "linux")]

mod bounds;
mod kills;
mod layers;
mod place;
mod searches;
mod stops;
#[path = "../support/mod.rs"]
mod support;
mod zones;
