//! The lines of a file that may come from a stranger: one that is too long is not kept.

use std::io::{self, BufRead, BufReader, Read, Take};

/// The longest line of records, in bytes. Lines have 4 KiB; a histogram may have half a MiB.
pub const LONGEST_LINE: usize = 4 << 20;

/// The first bytes of a file, line by line.
pub struct Lines<R> {
    reader: BufReader<Take<R>>,
    line: Vec<u8>,
}

/// A line that was read.
pub enum RecordLine<'a> {
    /// A line with its end, unless it is the last and lacks one.
    Whole(&'a [u8]),
    /// A line of more than [`LONGEST_LINE`] bytes.
    TooLong,
}

impl<R: Read> Lines<R> {
    /// The lines of the first `length` bytes.
    pub fn new(file: R, length: u64) -> Self {
        Self { reader: BufReader::new(file.take(length)), line: Vec::new() }
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn next(&mut self) -> io::Result<Option<RecordLine<'_>>> {
        self.line.clear();
        let most = LONGEST_LINE as u64 + 1;
        let read = self.reader.by_ref().take(most).read_until(b'\n', &mut self.line)?;
        if read == 0 {
            return Ok(None);
        }
        if read > LONGEST_LINE {
            if !self.line.ends_with(b"\n") {
                self.reader.skip_until(b'\n')?;
            }
            return Ok(Some(RecordLine::TooLong));
        }
        Ok(Some(RecordLine::Whole(&self.line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_what_follows_is_read() {
        for ends in ["\n", ""] {
            let long = "x".repeat(LONGEST_LINE + 9);
            let text = format!("a\n{long}\n{}\nb{ends}", "y".repeat(LONGEST_LINE - 1));
            let mut lines = Lines::new(text.as_bytes(), u64::MAX);
            let mut found = Vec::new();
            while let Some(line) = lines.next().unwrap() {
                found.push(match line {
                    RecordLine::Whole(line) => line.len(),
                    RecordLine::TooLong => 0,
                });
            }
            assert_eq!(found, [2, 0, LONGEST_LINE, 1 + ends.len()]);
        }
        assert!(Lines::new(&b"abc\n"[..], 0).next().unwrap().is_none());
    }
}
