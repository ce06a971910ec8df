//! Versions of schemas, `major.minor`, as docs/PROTOCOL.md has them: a newer minor
//! version has fields that this reader ignores, a newer major one is refused.

/// How data relates to the version that this reader knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// All of it is known.
    Known,
    /// It may have fields that are not known.
    NewerMinor,
}

/// Compares the version that data names with the one that this reader knows.
///
/// # Errors
/// What is wrong and what to do, when `found` is of a newer major version or is
/// no version.
pub fn compare(found: &str, known: &str) -> Result<Version, String> {
    let (Some(parsed), Some((known_major, known_minor))) = (parse(found), parse(known)) else {
        return Err(format!("its schema version, '{found}', is not of the form 1.0"));
    };
    let (major, minor) = parsed;
    if major > known_major {
        return Err(format!(
            "its schema version is {found}, this Brigade reads {known_major}.x: update Brigade \
             to read it"
        ));
    }
    let is_newer = major == known_major && minor > known_minor;
    Ok(if is_newer { Version::NewerMinor } else { Version::Known })
}

fn parse(version: &str) -> Option<(u32, u32)> {
    let (major, minor) = version.split_once('.')?;
    Some((number(major)?, number(minor)?))
}

/// A number of digits alone: `u32`'s own parser takes a sign too.
fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_and_equal_versions_are_known() {
        for found in ["1.4", "1.0", "0.9"] {
            assert_eq!(compare(found, "1.4"), Ok(Version::Known), "{found}");
        }
    }

    #[test]
    fn a_newer_minor_version_is_told_apart() {
        assert_eq!(compare("1.5", "1.4"), Ok(Version::NewerMinor));
        assert_eq!(compare("1.10", "1.9"), Ok(Version::NewerMinor), "numbers, not text");
    }

    #[test]
    fn a_newer_major_version_is_refused() {
        let error = compare("2.0", "1.4").unwrap_err();
        assert!(error.contains("version is 2.0, this Brigade reads 1.x: update"), "{error}");
    }

    #[test]
    fn what_is_no_version_is_refused() {
        for found in ["", "1", "1.", ".1", "1.x", "+1.0", "1.0.0", "99999999999.0"] {
            assert!(compare(found, "1.4").is_err(), "{found:?}");
        }
    }
}
