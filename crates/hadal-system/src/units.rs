//! Numbers, sizes and times as people write and read them, written one way in everything that hadal prints.

use std::time::Duration;

/// A number in groups of three from ten thousand on: `1234`, `1 234 567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A number of things, each called `one`: `1 state`, `2 states`; `1 hit`, `0 hits`; `1 property`, `2 properties`;
/// `1 branch`, `2 branches`.
pub fn counted(number: u64, one: &str) -> String {
    let name = match (number, one.strip_suffix('y')) {
        (1, _) => one.to_owned(),
        (_, Some(stem)) => format!("{stem}ies"),
        _ if one.ends_with("ss") || one.ends_with("ch") => format!("{one}es"),
        _ => format!("{one}s"),
    };
    format!("{} {name}", grouped(number))
}

/// Bytes as people read them.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
        _ => format!("{:.2} GiB", bytes as f64 / 1_073_741_824.0),
    }
}

/// A span of time as people read it: `0.25 s`, `3.5 min`, `2.0 h`, `3.0 days`.
pub fn span(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.2} s"),
        s if s < 7200.0 => format!("{:.1} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.1} days", s / 86_400.0),
    }
}

/// A measured number: two decimals below a hundred, three below a tenth, whole and grouped from a hundred on: `0.012`, `2.50`,
/// `12 345`; a dash where there is no number.
pub fn decimal(value: impl Into<Option<f64>>) -> String {
    match value.into() {
        Some(value) if value.abs() < 0.1 && value != 0.0 => format!("{value:.3}"),
        Some(value) if value.abs() < 100.0 => format!("{value:.2}"),
        Some(value) if value.is_finite() => {
            let sign = if value < 0.0 { "-" } else { "" };
            format!("{sign}{}", grouped(value.abs().round() as u64))
        }
        _ => "-".to_owned(),
    }
}

/// So many in so much time, as whole numbers a second without the unit: `553 767`.
pub fn per_second(count: u64, seconds: f64) -> String {
    grouped((count as f64 / seconds.max(1e-6)) as u64)
}

/// Reads `90`, `90s`, `10m`, `2h`, `1d`.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let lower = text.trim().to_ascii_lowercase();
    let (digits, factor) = match lower.chars().last() {
        Some('s') => (&lower[..lower.len() - 1], 1.0),
        Some('m') => (&lower[..lower.len() - 1], 60.0),
        Some('h') => (&lower[..lower.len() - 1], 3600.0),
        Some('d') => (&lower[..lower.len() - 1], 86400.0),
        _ => (lower.as_str(), 1.0),
    };
    let number: f64 = digits.parse().map_err(|_| format!("`{text}` is not a time such as 90s, 10m or 2h"))?;
    Duration::try_from_secs_f64(number * factor).map_err(|_| format!("`{text}` is not a sensible time"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_in_threes_from_ten_thousand_on() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1234), "1234");
        assert_eq!(grouped(12_345), "12 345");
        assert_eq!(grouped(123_456_789), "123 456 789");
        assert_eq!(size(3 << 20), "3.0 MiB");
        let measured =
            [(0.0, "0.00"), (0.0123, "0.012"), (2.5, "2.50"), (-99.5, "-99.50"), (12_345.6, "12 346")];
        for (number, text) in measured {
            assert_eq!(decimal(number), text);
        }
        assert_eq!((decimal(None), decimal(f64::NAN)), ("-".into(), "-".into()));
    }

    #[test]
    fn one_thing_is_not_called_by_the_plural() {
        let all = [(1, "hit", "1 hit"), (0, "hit", "0 hits"), (2, "property", "2 properties")];
        let more =
            [(1, "process", "1 process"), (3, "process", "3 processes"), (10_000, "state", "10 000 states")];
        for (number, one, text) in all.into_iter().chain(more) {
            assert_eq!(counted(number, one), text);
        }
    }

    #[test]
    fn times_read_as_people_write_them() {
        assert_eq!(parse_time("2h"), Ok(Duration::from_secs(7200)));
        assert_eq!(parse_time("90"), Ok(Duration::from_secs(90)));
        assert!(parse_time("soon").is_err());
        assert_eq!(
            (span(1.5), span(150.0), span(172_800.0)),
            ("1.50 s".into(), "2.5 min".into(), "2.0 days".into())
        );
        assert_eq!(per_second(1_000_000, 0.5), "2 000 000");
    }
}
