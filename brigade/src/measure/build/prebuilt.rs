//! Programs of a package, which are found and never built.

use std::collections::BTreeSet;
use std::io::ErrorKind;

use anyhow::Context;

use super::{Binaries, Executable};
use crate::manifest::Manifest;
use crate::manifest::program::Prebuilt;
use crate::manifest::program::Source;
use crate::measure::availability::Capabilities;

/// Finds the `needed` programs. Of those that a command builds a package has some;
/// the others are noted in `capabilities`.
///
/// # Errors
/// When a file is not where it should be.
pub(super) fn binaries(
    manifest: &Manifest,
    prebuilt: &Prebuilt,
    needed: &BTreeSet<&str>,
    capabilities: &mut Capabilities,
) -> anyhow::Result<Binaries> {
    let folder = manifest.root.join(&prebuilt.folder);
    let mut binaries = Binaries::new();
    for (name, program) in &manifest.programs {
        if !needed.contains(&**name) || capabilities.lacking_for(name).is_some() {
            continue;
        }
        let path = match &program.source {
            Source::Package(package) => folder.join(package),
            Source::Path(path) => manifest.root.join(path),
            Source::Built(_) => folder.join(name),
        };
        let file = match path.canonicalize() {
            Err(error)
                if matches!(program.source, Source::Built(_))
                    && error.kind() == ErrorKind::NotFound =>
            {
                let reason = "this package has no build of it: run it from the sources";
                capabilities.note_missing(name, reason.to_owned());
                continue;
            }
            found => found.with_context(|| {
                format!(
                    "program '{name}': looking for {}: unpack the package again",
                    path.display()
                )
            })?,
        };
        binaries.insert(name.clone(), Executable::new(file, program)?);
    }
    Ok(binaries)
}
