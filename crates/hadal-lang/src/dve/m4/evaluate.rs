//! m4's `eval`: integer arithmetic on 32 bits that wraps, with C's operators (and `=` for `==`, as BEEM writes it).

/// The value of an expression, or what is wrong with it.
pub fn evaluate(text: &str) -> Result<i32, String> {
    let mut reader = Reader { text: text.as_bytes(), at: 0, depth: 0 };
    let value = reader.binary(0)?;
    match reader.next_significant() {
        None => Ok(value),
        Some(_) => Err(format!("`eval` does not understand `{text}`")),
    }
}

const DEEPEST: u32 = 200;

/// Operators by level, loosest first; longer spellings before their prefixes.
const LEVELS: [&[&str]; 11] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!=", "="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
    &["**"],
];

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    depth: u32,
}

impl Reader<'_> {
    fn next_significant(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn starts_with(&self, word: &str) -> bool {
        self.text[self.at..].starts_with(word.as_bytes())
    }

    /// The operator of this level that stands here, not the beginning of a longer one of another level.
    fn operator(&mut self, level: usize) -> Option<&'static str> {
        self.next_significant()?;
        let longest = LEVELS
            .iter()
            .flat_map(|ops| ops.iter())
            .filter(|op| self.starts_with(op))
            .max_by_key(|op| op.len())?;
        LEVELS[level].contains(longest).then_some(*longest)
    }

    fn binary(&mut self, level: usize) -> Result<i32, String> {
        if level == LEVELS.len() {
            return self.unary();
        }
        let mut left = self.binary(level + 1)?;
        while let Some(op) = self.operator(level) {
            self.at += op.len();
            // `**` associates to the right.
            let right = self.binary(if op == "**" { level } else { level + 1 })?;
            left = apply(op, left, right)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<i32, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("the expression is nested too deeply".to_string());
        }
        let value = match self.next_significant() {
            Some(b'-') => {
                self.at += 1;
                self.unary()?.wrapping_neg()
            }
            Some(b'+') => {
                self.at += 1;
                self.unary()?
            }
            Some(b'~') => {
                self.at += 1;
                !self.unary()?
            }
            Some(b'!') => {
                self.at += 1;
                i32::from(self.unary()? == 0)
            }
            Some(b'(') => {
                self.at += 1;
                let value = self.binary(0)?;
                if self.next_significant() != Some(b')') {
                    return Err("`)` is missing".to_string());
                }
                self.at += 1;
                value
            }
            Some(digit) if digit.is_ascii_digit() => self.number()?,
            Some(other) => return Err(format!("expected a number, found `{}`", char::from(other))),
            None => return Err("a number is missing at the end".to_string()),
        };
        self.depth -= 1;
        Ok(value)
    }

    fn number(&mut self) -> Result<i32, String> {
        let rest = &self.text[self.at..];
        let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let word = String::from_utf8_lossy(&rest[..length]).to_lowercase();
        self.at += length;
        let (digits, radix) = if let Some(hex) = word.strip_prefix("0x") {
            (hex, 16)
        } else if let Some(binary) = word.strip_prefix("0b") {
            (binary, 2)
        } else if word.len() > 1 && word.starts_with('0') {
            (&word[1..], 8)
        } else {
            (word.as_str(), 10)
        };
        let value = i64::from_str_radix(digits, radix).map_err(|_| format!("`{word}` is not a number"))?;
        Ok(value as i32)
    }
}

fn apply(op: &str, left: i32, right: i32) -> Result<i32, String> {
    Ok(match op {
        "||" => i32::from(left != 0 || right != 0),
        "&&" => i32::from(left != 0 && right != 0),
        "|" => left | right,
        "^" => left ^ right,
        "&" => left & right,
        "==" | "=" => i32::from(left == right),
        "!=" => i32::from(left != right),
        "<=" => i32::from(left <= right),
        ">=" => i32::from(left >= right),
        "<" => i32::from(left < right),
        ">" => i32::from(left > right),
        "<<" => left.wrapping_shl(right as u32),
        ">>" => left.wrapping_shr(right as u32),
        "+" => left.wrapping_add(right),
        "-" => left.wrapping_sub(right),
        "*" => left.wrapping_mul(right),
        "/" | "%" if right == 0 => return Err("division by zero".to_string()),
        "/" => left.wrapping_div(right),
        "%" => left.wrapping_rem(right),
        _ => left.wrapping_pow(u32::try_from(right).map_err(|_| "a negative power".to_string())?),
    })
}

#[cfg(test)]
mod tests {
    use super::evaluate;

    #[test]
    fn operators_bind_as_in_c() {
        assert_eq!(evaluate("1 + 2 * 3"), Ok(7));
        assert_eq!(evaluate("(1+2)*3 == 9 && 1 < 2"), Ok(1));
        assert_eq!(evaluate("7 - 2 - 1"), Ok(4));
        assert_eq!(evaluate("1 | 2 & 3"), Ok(3));
        assert_eq!(evaluate("!0 + -3"), Ok(-2));
        assert_eq!(evaluate("2 = 1 + 1 || 0"), Ok(1));
        assert_eq!(evaluate("2 ** 3"), Ok(8));
        assert_eq!(evaluate("0x10 + 010"), Ok(24));
    }

    #[test]
    fn mistakes_are_told() {
        for text in ["", "1 +", "x", "1 2", "(1", "1/0", "5 % 0"] {
            assert!(evaluate(text).is_err(), "{text}");
        }
    }
}
