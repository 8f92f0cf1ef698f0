//! Runs one child process and measures it: wall clock, processor time, peak resident memory.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The system counts resident memory in kilobytes; macOS in bytes.
const MAXRSS_UNIT: u64 = if cfg!(target_os = "macos") { 1 } else { 1024 };

/// What a child did and what it took.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Its exit code; `None` where a signal ended it.
    pub exit_code: Option<i32>,
    /// What it wrote.
    pub output: String,
    /// What it complained about.
    pub complaints: String,
    /// Wall clock.
    pub wall_seconds: f64,
    /// Processor time, user and system, of all its threads.
    pub cpu_seconds: f64,
    /// The most memory it had resident. Never below what hadal itself has resident when it starts the child (the
    /// system counts the moment before the program is replaced), which is a few megabytes.
    pub peak_bytes: u64,
    /// Whether it was killed at the limit.
    pub timed_out: bool,
}

/// Runs the command to its end, or kills it at `limit`.
pub fn measure(command: &mut Command, limit: Duration) -> std::io::Result<Measured> {
    let begun = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let output = reader(child.stdout.take());
    let complaints = reader(child.stderr.take());
    let id = child.id();
    let (ended, watch) = channel::<()>();
    let watchdog = std::thread::spawn(move || {
        let late = watch.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
        if late {
            kill(id);
        }
        late
    });
    let waited = await_end(id);
    let wall_seconds = begun.elapsed().as_secs_f64();
    // The child is a zombie until it is reaped below, so its id cannot mean another process while the watchdog lives.
    drop(ended);
    let timed_out = watchdog.join().unwrap_or(false);
    waited?;
    let (exit_code, usage) = reap(child)?;
    Ok(Measured {
        exit_code,
        output: output.join().unwrap_or_default(),
        complaints: complaints.join().unwrap_or_default(),
        wall_seconds,
        cpu_seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        peak_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0) * MAXRSS_UNIT,
        timed_out,
    })
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // A pipe that breaks has said all it will say.
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits until the child has ended, and leaves it to be reaped.
fn await_end(id: u32) -> std::io::Result<()> {
    loop {
        // SAFETY: `info` is a plain C structure that the call fills in; the pointer lives across the call.
        let outcome = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(libc::P_PID, id, &mut info, libc::WEXITED | libc::WNOWAIT)
        };
        if outcome == 0 {
            return Ok(());
        }
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn reap(child: Child) -> std::io::Result<(Option<i32>, libc::rusage)> {
    let id = child.id() as libc::pid_t;
    let mut status = 0;
    // SAFETY: `status` and `usage` are plain C data that the call fills in; both live across the call. Nobody else
    // waits for this child: `child` is owned here, and dropping it does not wait.
    let (outcome, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::wait4(id, &mut status, 0, &mut usage), usage)
    };
    if outcome < 0 {
        return Err(std::io::Error::last_os_error());
    }
    let exit_code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
    Ok((exit_code, usage))
}

fn kill(id: u32) {
    // SAFETY: sends a signal to a child that is not reaped yet (see `measure`), so the id is still its own.
    unsafe { libc::kill(id as libc::pid_t, libc::SIGKILL) };
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 * 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_measured_with_its_output_and_exit_code() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo told; echo off >&2; exit 3"]);
        let measured = measure(&mut command, Duration::from_secs(60)).expect("sh runs");
        assert_eq!(measured.exit_code, Some(3));
        assert_eq!((measured.output.as_str(), measured.complaints.as_str()), ("told\n", "off\n"));
        assert!(measured.peak_bytes > 0 && !measured.timed_out);
    }

    #[test]
    fn a_child_that_runs_too_long_is_killed_and_said_so() {
        let mut command = Command::new("sleep");
        command.arg("1000");
        let measured = measure(&mut command, Duration::from_millis(20)).expect("sleep runs");
        assert!(measured.timed_out);
        assert_eq!(measured.exit_code, None);
    }
}
