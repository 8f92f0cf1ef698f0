//! A real browser for tests of pages: headless Chromium, driven through its DevTools protocol over a pair of pipes.

use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long anything may take before a test says that it never came.
const PATIENCE: Duration = Duration::from_secs(120);

/// A browser with one page. It ends with the test.
pub struct Browser {
    child: Child,
    to: File,
    messages: Receiver<Value>,
    last: u64,
    session: Option<String>,
    _folder: tempfile::TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It has ended already where the test found that.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Browser {
    /// Starts it with an empty page; says "skipped" where there is none.
    pub fn start() -> Option<Self> {
        let known = ["chromium", "chromium-browser", "google-chrome"];
        let version = |name: &&str| {
            let run =
                Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
            run.is_ok_and(|status| status.success())
        };
        let Some(name) = known.into_iter().find(version) else {
            println!("skipped: there is no Chromium");
            return None;
        };
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = |name: &str| {
            let path = folder.path().join(name);
            assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
            // Opened both ways, so that nobody waits for the other end.
            let file = File::options().read(true).write(true).open(&path).expect("a pipe");
            (path, file)
        };
        let ((commands, to), (answers, from)) = (pipe("commands"), pipe("answers"));
        let child = Command::new("sh")
            .args(["-c", "commands=$1 answers=$2; shift 2; exec \"$@\" 3<\"$commands\" 4>\"$answers\"", "sh"])
            .args([&commands, &answers])
            .args([name, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-quic"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--remote-debugging-pipe", "--hide-scrollbars"])
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the browser starts");
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            // A message ends with a zero byte.
            for message in BufReader::new(from).split(0).map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice(&message) else { continue };
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser = Browser { child, to, messages, last: 0, session: None, _folder: folder };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let asked = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", asked);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        Some(browser)
    }

    /// Asks the browser for something and returns its answer.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = session.clone().into();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).expect("the browser listens");
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let answer =
                self.messages.recv_timeout(left).unwrap_or_else(|_| panic!("no answer to {message}"));
            if answer["id"] == self.last {
                assert!(answer["error"].is_null(), "{message}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// Goes to an address.
    pub fn open(&mut self, address: &str) {
        self.call("Page.navigate", json!({ "url": address }));
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'");
    }

    /// The value of an expression on the page.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", asked);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true on the page.
    #[track_caller]
    pub fn until(&mut self, expression: &str) {
        let until = Instant::now() + PATIENCE;
        while self.value(&format!("Boolean({expression})")) != true {
            let shown = || "document.body ? document.body.innerText.slice(0, 3000) : ''";
            assert!(Instant::now() < until, "never: {expression}\n{}", self.value(shown()));
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// A window of so many points, in light or dark.
    pub fn window(&mut self, width: u32, height: u32, scheme: &str) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// Writes what the window shows into the folder that `HADAL_SCREENSHOTS` names, if it names one.
    pub fn picture(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("HADAL_SCREENSHOTS") else { return };
        let data = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        let bytes = decoded(data["data"].as_str().expect("a picture"));
        std::fs::write(std::path::Path::new(&folder).join(format!("{name}.png")), bytes).expect("a picture");
    }

    /// The least contrast between text that is shown and what is behind it, after WCAG 2.1, with the text.
    #[track_caller]
    pub fn least_contrast(&mut self) -> (f64, String) {
        let least = self.value(CONTRAST);
        (least[0].as_f64().expect("a number"), least[1].as_str().unwrap_or_default().to_owned())
    }

    /// How far the page reaches beyond the window to the right.
    #[track_caller]
    pub fn overhang(&mut self) -> i64 {
        let wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
        self.value(wide).as_i64().expect("a number")
    }
}

/// Colours are composed from the element outwards until one is opaque; behind the page is the canvas of its colour scheme.
const CONTRAST: &str = r#"(() => {
  const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const parse = text => { paint.clearRect(0, 0, 1, 1); paint.fillStyle = text; paint.fillRect(0, 0, 1, 1); const d = paint.getImageData(0, 0, 1, 1).data; return [d[0], d[1], d[2], d[3] / 255]; };
  const over = (a, b) => { const alpha = a[3] + b[3] * (1 - a[3]); return [0, 1, 2].map(i => alpha ? (a[i] * a[3] + b[i] * b[3] * (1 - a[3])) / alpha : 0).concat(alpha); };
  const probe = document.createElement("i"); probe.style.color = "Canvas"; document.body.append(probe);
  const canvas = parse(getComputedStyle(probe).color); probe.remove();
  const light = c => { const [r, g, b] = c.map(v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); let least = [21, ""];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const e = node.parentElement; if (!node.data.trim() || !e.checkVisibility() || e.closest("script,style,svg")) continue;
    let back = [0, 0, 0, 0];
    for (let up = e; up && back[3] < 0.999; up = up.parentElement) back = over(back, parse(getComputedStyle(up).backgroundColor));
    back = over(back, canvas); const front = over(parse(getComputedStyle(e).color), back), [a, b] = [light(front), light(back)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); if (ratio < least[0]) least = [ratio, node.data.trim()];
  }
  return least;
})()"#;

fn decoded(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::new();
    for four in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits =
            four.iter().fold(0u32, |bits, &c| bits << 6 | u32::from(digit(c))) << (6 * (4 - four.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..four.len()]);
    }
    bytes
}
