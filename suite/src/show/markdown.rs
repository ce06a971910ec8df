//! Text as Markdown.

/// A line as code in Markdown.
pub fn indented(line: &str) -> String {
    if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") }
}
