//! What a process that failed printed on standard error: the reason, and the rest.

/// Parts of lines that name an error, in lower case, such as `panic: index out of range` in Go.
const MARKS: [&str; 8] = [
    "error:",
    "error[",
    "error [",
    "exception:",
    "exception in thread",
    "fatal error",
    "panic:",
    "panicked at",
];

/// The most that is kept of it, in characters.
const LONGEST: usize = 2000;

/// The first line that names an error, or else the last one. Lines that are indented, such as those
/// of a stack, or of a source text, belong to the one before. A line that ends with a colon
/// continues. `None` if all is blank.
pub fn reason(printed: &str) -> Option<String> {
    let lines: Vec<&str> = printed.lines().filter(|line| !line.trim().is_empty()).collect();
    let is_outer = |line: &&str| !line.starts_with(char::is_whitespace);
    let named = lines.iter().position(|line| is_outer(line) && names_error(line));
    let last = || lines.iter().rposition(is_outer).or(lines.len().checked_sub(1));
    let at = named.or_else(last)?;
    let line = lines[at].trim();
    Some(match lines.get(at + 1) {
        Some(next) if line.ends_with(':') => format!("{line} {}", next.trim()),
        _ => line.to_owned(),
    })
}

fn names_error(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    let is_name = line.ends_with("error") || line.ends_with("exception");
    is_name || line.starts_with("error") || MARKS.iter().any(|mark| line.contains(mark))
}

/// The last lines of what a program printed, if there are more than the reason.
pub fn rest(printed: &str) -> Option<String> {
    let lines: Vec<&str> = printed.lines().filter(|line| !line.trim().is_empty()).collect();
    let text = lines.join("\n");
    let first = text.char_indices().rev().nth(LONGEST - 1).map_or(0, |(at, _)| at);
    (lines.len() > 1).then(|| text[first..].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_first_line_with_an_error_or_else_the_last() {
        let node = "/guests/node.js:7\n    throw new Error('boom')\n    ^\n\nError: boom\n    at \
                    Object.<anonymous> (/guests/node.js:7:11)\n\nNode.js v20.20.2\n";
        let go = "panic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 \
                  [running]:\nmain.main()\n\t/guests/go/main.go:9 +0x18\nruntime.goexit({})\n\t\
                  /usr/local/go/src/runtime/asm_amd64.s:373 +0x123\n";
        let workspace = "current directory is contained in a module that is not one of the \
                         workspace modules listed in go.work. You can add it using:\n\tgo work use .\n";
        let python = "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    \
                      raise ValueError('error: 3')\nValueError: 3\n";
        let rust = "thread 'main' panicked at src/main.rs:2:5:\nboom\nnote: run with \
                    `RUST_BACKTRACE=1`\n";
        for (printed, expected) in [
            (node, "Error: boom"),
            (go, "panic: runtime error: index out of range [5] with length 3"),
            (
                workspace,
                "current directory is contained in a module that is not one of the workspace \
                 modules listed in go.work. You can add it using: go work use .",
            ),
            (python, "ValueError: 3"),
            (rust, "thread 'main' panicked at src/main.rs:2:5: boom"),
            ("warning: old\nrings: --tasks: 0 is too few\n\n", "rings: --tasks: 0 is too few"),
            ("  indented\n  twice", "twice"),
        ] {
            assert_eq!(reason(printed).as_deref(), Some(expected));
        }
        assert_eq!(reason(" \n\n"), None);
    }

    #[test]
    fn the_rest_is_kept_up_to_a_bound() {
        assert_eq!(rest("only\n"), None);
        assert_eq!(rest("one\n\ntwo\n").as_deref(), Some("one\ntwo"));
        let long = rest(&"ä\n".repeat(LONGEST)).unwrap();
        assert_eq!((long.chars().count(), long.ends_with("\nä")), (LONGEST, true));
    }
}
