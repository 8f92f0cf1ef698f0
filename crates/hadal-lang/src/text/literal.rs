//! Numbers and quoted text as languages of this family write them.

use super::cursor::length_while;

/// Whether a leading zero makes a number octal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeadingZero {
    /// As in C, where no digit is above 7.
    Octal,
    /// It means nothing.
    Ignored,
}

/// The length in bytes of the number that `text` begins with: decimal digits, or `0x` and hexadecimal ones.
pub fn number_length(text: &str) -> usize {
    let hexadecimal = text.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("0x"))
        && text[2..].starts_with(|c: char| c.is_ascii_hexdigit());
    match hexadecimal {
        true => 2 + length_while(&text[2..], |c| c.is_ascii_hexdigit()),
        false => length_while(text, |c| c.is_ascii_digit()),
    }
}

/// The value of a number's text; `None` where it is none, or exceeds what any computation here can hold.
pub fn number_value(text: &str, leading_zero: LeadingZero) -> Option<i128> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        i128::from_str_radix(digits, 16).ok()
    } else if leading_zero == LeadingZero::Octal && is_octal(text) {
        i128::from_str_radix(text, 8).ok()
    } else {
        text.parse().ok()
    }
}

/// Whether C reads the number as octal: a leading zero and no digit above 7.
pub fn is_octal(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0') && text.bytes().all(|b| (b'0'..=b'7').contains(&b))
}

/// What text between quotes stands for: backslashes resolved as in C, one before any other character dropped.
pub fn unescaped(inner: &str) -> String {
    let mut value = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match if c == '\\' { chars.next() } else { None } {
            None => value.push(c),
            Some('n') => value.push('\n'),
            Some('t') => value.push('\t'),
            Some('r') => value.push('\r'),
            Some(other) => value.push(other),
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_three_bases() {
        assert_eq!(number_value("010", LeadingZero::Octal), Some(8));
        assert_eq!(number_value("010", LeadingZero::Ignored), Some(10));
        assert_eq!(number_value("089", LeadingZero::Octal), Some(89));
        assert_eq!(number_value("0x1F", LeadingZero::Octal), Some(31));
        assert_eq!(number_value("0", LeadingZero::Octal), Some(0));
        assert_eq!(number_value(&"9".repeat(60), LeadingZero::Octal), None);
        assert_eq!(number_length("0x1Fg"), 4);
        assert_eq!(number_length("0xg"), 1);
        assert_eq!(number_length("12..3"), 2);
    }

    #[test]
    fn escapes_are_resolved() {
        assert_eq!(unescaped(r#"a\n\"b\\"#), "a\n\"b\\");
        assert_eq!(unescaped("ends with \\"), "ends with \\");
    }
}
