//! Quantities as Kubernetes writes them: `10M`, `1.5Gi`, `500k`, `2e6`.

/// What a quantity is, rounded up. `None`: it is none, or below zero, or more than 64 bits hold.
pub fn quantity(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && part.is_empty() || part.contains('.') {
        return None;
    }
    // Over the number's own decimals: both are whole then.
    let (above, below) = scale(suffix)?;
    let digits: u128 = format!("{whole}{part}").parse().ok()?;
    let below = below.checked_mul(10_u128.checked_pow(u32::try_from(part.len()).ok()?)?)?;
    u64::try_from(digits.checked_mul(above)?.div_ceil(below)).ok()
}

/// What a suffix multiplies by, and divides by.
fn scale(suffix: &str) -> Option<(u128, u128)> {
    const DECIMAL: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let power =
        |names: &[&str]| names.iter().position(|name| *name == suffix).and_then(|at| u32::try_from(at).ok());
    if let Some(power) = power(&DECIMAL) {
        return Some((1000_u128.pow(power), 1));
    }
    if let Some(power) = power(&BINARY) {
        return Some((1024_u128.pow(power), 1));
    }
    match suffix {
        "m" => Some((1, 1000)),
        "u" => Some((1, 1_000_000)),
        "n" => Some((1, 1_000_000_000)),
        _ => {
            let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            let power = 10_u128.checked_pow(exponent.unsigned_abs())?;
            Some(if exponent < 0 { (1, power) } else { (power, 1) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_numbers() {
        for (text, number) in [
            ("10M", 10_000_000),
            ("1k", 1000),
            ("1Ki", 1024),
            ("1.5G", 1_500_000_000),
            ("0.5Mi", 524_288),
            (".5k", 500),
            ("5.", 5),
            ("1500m", 2),
            ("1e6", 1_000_000),
            ("2E3", 2000),
            ("25e-1", 3),
            ("1E", 1_000_000_000_000_000_000),
            ("42", 42),
        ] {
            assert_eq!(quantity(text), Some(number), "{text}");
        }
        for text in ["", ".", "M", "-1", "1MB", "1.2.3", "1 M", "100E", "1e99", "ten"] {
            assert_eq!(quantity(text), None, "{text}");
        }
    }
}
