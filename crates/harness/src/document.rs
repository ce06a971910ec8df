//! Reads JSON that somebody else may have written: records, laps and the files of a run's folder.
//! Whatever a document means, its texts, lists and numbers have bounds, so that nothing made from
//! it grows without one.

use std::{fmt, iter};

use anyhow::ensure;
use serde::Deserialize;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess,
    Visitor,
};

/// The major schema version that readers understand. Minor versions add fields that older readers
/// ignore.
const READABLE_MAJOR: &str = "1";

/// The longest text, in bytes: the CPUs of a large machine, by the caches that they share.
const LONGEST_TEXT: usize = 16 * 1024;

/// The longest encoded histogram, in bytes; 10 KiB are usual, and one whose counts are all above 0
/// takes a few hundred.
const LONGEST_HISTOGRAM: usize = 512 * 1024;

/// The most elements of a list or an object, apart from laps.
const MOST_ELEMENTS: usize = 10_000;

/// Every figure is smaller than this, and so is the sum of a run's: in nanoseconds, 30 years.
const ABSURD: f64 = 1e18;

/// The version of a document, whatever else it contains, and of the record in it.
#[derive(Debug, Deserialize)]
struct Versioned {
    schema_version: String,
    record: Option<Box<Self>>,
}

/// Parses a JSON document, and any record in it, of this major schema version. Unknown fields are
/// ignored.
///
/// # Errors
/// For another major version, for anything that is no such document, and for a text, a list or a
/// number beyond its bound.
pub fn parsed<T: DeserializeOwned>(json: &[u8]) -> anyhow::Result<T> {
    let mut walked = serde_json::Deserializer::from_slice(json);
    Element { name: "" }.deserialize(&mut walked)?;
    let whole: Versioned = serde_json::from_slice(json)?;
    let of_record = whole.record.as_deref();
    for Versioned { schema_version, .. } in iter::once(&whole).chain(of_record) {
        let major = schema_version.split('.').next();
        ensure!(
            major == Some(READABLE_MAJOR),
            "its schema version is {schema_version:.20}, but this Brigade reads \
             {READABLE_MAJOR}.x: update Brigade to read it"
        );
    }
    Ok(serde_json::from_slice(json)?)
}

/// A value of a document, and the name that it has there. It is visited, not kept.
#[derive(Clone, Copy)]
struct Element<'a> {
    name: &'a str,
}

impl<'de> DeserializeSeed<'de> for Element<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, document: D) -> Result<(), D::Error> {
        document.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Element<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        if number.abs() < ABSURD {
            return Ok(());
        }
        Err(E::custom(format_args!("`{}` is {number:e}, which no figure is", self.shown())))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        let most = if self.name == "histogram" { LONGEST_HISTOGRAM } else { LONGEST_TEXT };
        if text.len() <= most {
            return Ok(());
        }
        Err(E::custom(format_args!(
            "`{}` is a text of {} bytes, more than {most}",
            self.shown(),
            text.len()
        )))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let most = if self.name == "laps_ns" { usize::MAX } else { MOST_ELEMENTS };
        for _ in 0..most {
            if list.next_element_seed(self)?.is_none() {
                return Ok(());
            }
        }
        match list.next_element::<IgnoredAny>()? {
            None => Ok(()),
            Some(_) => Err(self.has_too_many()),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        for _ in 0..MOST_ELEMENTS {
            let Some(name) = object.next_key::<String>()? else { return Ok(()) };
            Element { name: "" }.visit_str(&name)?;
            object.next_value_seed(Element { name: &name })?;
        }
        match object.next_key::<IgnoredAny>()? {
            None => Ok(()),
            Some(_) => Err(self.has_too_many()),
        }
    }
}

impl Element<'_> {
    /// The value's name in an error, which it must not make long.
    fn shown(&self) -> &str {
        let end = self.name.char_indices().nth(40).map_or(self.name.len(), |(at, _)| at);
        &self.name[..end]
    }

    fn has_too_many<E: Error>(&self) -> E {
        E::custom(format_args!("`{}` has more than {MOST_ELEMENTS} elements", self.shown()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Document {
        laps_ns: Vec<u64>,
    }

    #[test]
    fn a_document_with_anything_beyond_its_bound_is_refused_and_the_error_is_short() {
        let with = |more: &str| {
            let laps = vec!["7"; 20_000].join(",");
            format!("{{\"schema_version\":\"1.0\",\"laps_ns\":[{laps}]{more}}}")
        };
        let read = |more: &str| parsed::<Document>(with(more).as_bytes());
        let text = |length: usize| format!("\"{}\"", "x".repeat(length));
        let list = |length: usize| format!("[{}]", vec!["1"; length].join(","));
        let object = |length: usize| {
            let keys = (0..length).map(|key| format!("\"{key}\":1"));
            format!("{{{}}}", keys.collect::<Vec<_>>().join(","))
        };
        for good in [
            format!(",\"a\":{}", text(LONGEST_TEXT)),
            format!(",\"histogram\":{}", text(LONGEST_HISTOGRAM)),
            format!(",\"a\":{{\"b\":[{},1e17,-3,null,true]}}", list(MOST_ELEMENTS)),
            format!(",\"a\":{}", object(MOST_ELEMENTS)),
        ] {
            assert_eq!(read(&good).expect("within all bounds").laps_ns.len(), 20_000);
        }
        for (bad, reason) in [
            (format!(",\"a\":{{\"b\":[{}]}}", text(LONGEST_TEXT + 1)), "text of 16385 bytes"),
            (format!(",\"histogram\":{}", text(LONGEST_HISTOGRAM + 1)), "text of 524289 bytes"),
            (format!(",{}:1", text(100_000)), "text of 100000 bytes"),
            (format!(",{}:{}", text(9000), text(100_000)), "text of 100000 bytes"),
            (format!(",\"a\":{}", list(MOST_ELEMENTS + 1)), "`a` has more than 10000 elements"),
            (format!(",\"a\":{}", object(MOST_ELEMENTS + 1)), "`a` has more than 10000 elements"),
            (",\"a\":1e308".to_owned(), "`a` is 1e308"),
            (",\"a\":[-1e18]".to_owned(), "`a` is -1e18"),
            (format!(",\"a\":{}", "[".repeat(100_000)), "recursion limit"),
        ] {
            let error = read(&bad).expect_err(reason).to_string();
            assert!(error.contains(reason) && error.len() < 200, "{error}");
        }
    }
}
