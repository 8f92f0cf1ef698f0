//! Numbers, sizes and times as people write and read them, written one way everywhere.

/// A number with thin groups: `1 234 567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
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

/// Reads `90`, `90s`, `10m`, `2h`, `1d`.
pub fn parse_time(text: &str) -> Result<std::time::Duration, String> {
    let lower = text.trim().to_ascii_lowercase();
    let (digits, factor) = match lower.chars().last() {
        Some('s') => (&lower[..lower.len() - 1], 1.0),
        Some('m') => (&lower[..lower.len() - 1], 60.0),
        Some('h') => (&lower[..lower.len() - 1], 3600.0),
        Some('d') => (&lower[..lower.len() - 1], 86400.0),
        _ => (lower.as_str(), 1.0),
    };
    let number: f64 = digits.parse().map_err(|_| format!("`{text}` is not a time such as 90s, 10m or 2h"))?;
    std::time::Duration::try_from_secs_f64(number * factor)
        .map_err(|_| format!("`{text}` is not a sensible time"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_in_threes() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1234), "1 234");
        assert_eq!(grouped(123_456_789), "123 456 789");
        assert_eq!(size(3 << 20), "3.0 MiB");
    }

    #[test]
    fn times_read_as_people_write_them() {
        assert_eq!(parse_time("2h"), Ok(std::time::Duration::from_secs(7200)));
        assert_eq!(parse_time("90"), Ok(std::time::Duration::from_secs(90)));
        assert!(parse_time("soon").is_err());
    }
}
