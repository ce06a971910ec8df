//! Sizes in bytes, as flags give them.

/// Reads a size: a number of bytes, or of KiB, MiB or GiB, like `400KiB`.
pub fn bytes(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        unit => return Err(format!("'{unit}' is not one of B, KiB, MiB, GiB")),
    };
    let number: usize = digits.parse().map_err(|_| "not a number of bytes, like 400KiB")?;
    number.checked_mul(unit).filter(|bytes| *bytes <= 1 << 46).ok_or("more than 64 TiB".into())
}

/// Reads the value of `--stack-size`, within what threads and coroutines take.
pub fn stack(text: &str) -> Result<usize, String> {
    harness::flags::stack_size(&bytes(text)?.to_string())
}

#[cfg(test)]
mod tests {
    use super::{bytes, stack};

    #[test]
    fn sizes_have_binary_suffixes() {
        assert_eq!(bytes("0"), Ok(0));
        assert_eq!(bytes("409600"), bytes("400KiB"));
        assert_eq!(bytes("2MiB"), Ok(2 << 20));
        assert_eq!(bytes("1GiB"), bytes("1024MiB"));
    }

    #[test]
    fn nonsense_is_told_apart_from_too_much() {
        for nonsense in ["", "-1", "KiB", "1.5MiB", "1 KiB", "1KB", "9kib", "x"] {
            assert!(bytes(nonsense).is_err(), "{nonsense}");
        }
        assert_eq!(bytes("99999999999GiB"), Err("more than 64 TiB".into()));
        assert!(stack("4KiB").is_err());
        assert_eq!(stack("64KiB"), Ok(65536));
    }
}
