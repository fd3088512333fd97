//! How sure a finding is.
//!
//! Kinds of evidence are independent of each other, so the doubt that each leaves is multiplied: what is declared
//! (0.25 left) and imported (0.35 left) is 0.91 sure. The whole is then weighed by how the project stands to the library
//! and by where it was found. The numbers were set so that on real repositories the share of findings that are right
//! lies within the documented bands; docs/analysis.md has the table.

use std::collections::BTreeSet;

/// A kind of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A manifest lists it.
    Declared,
    /// The product's code imports it.
    Imported,
    /// The product's code makes its central object.
    Made,
    /// There is a file that only its users have.
    Configured,
    /// Examples, scripts or documents of the project use it.
    UsedAside,
}

/// How a project stands to a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The program needs it.
    Needed,
    /// The program can do without it: an extra.
    Optional,
    /// Only those who work on the program need it: often a mock server, or a test.
    Development,
    /// There is a manifest, and it does not list it: an integration with what others use.
    Unlisted,
    /// There is no manifest that could list it.
    NoManifest,
}

/// Where a project stands in its repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// It is the product, or part of it.
    Product,
    /// An example, a demonstration, a template.
    Example,
    /// A test.
    Test,
}

impl Kind {
    fn doubt(self) -> f64 {
        match self {
            Self::Declared => 0.25,
            Self::Imported | Self::Made => 0.35,
            Self::Configured => 0.4,
            Self::UsedAside => 0.6,
        }
    }
}

/// The confidence, from 0 to 0.99, in hundredths.
pub(crate) fn confidence(kinds: &BTreeSet<Kind>, standing: Standing, place: Place) -> f64 {
    let counts = |kind: &&Kind| match **kind {
        // That it is listed for something else than the program is in the standing already.
        Kind::Declared => standing == Standing::Needed,
        _ => true,
    };
    let doubt: f64 = kinds.iter().filter(counts).map(|kind| kind.doubt()).product();
    let by_standing = match standing {
        Standing::Needed => 1.0,
        Standing::NoManifest => 0.9,
        Standing::Optional | Standing::Unlisted => 0.72,
        Standing::Development => 0.5,
    };
    let by_place = match place {
        Place::Product => 1.0,
        Place::Example => 0.6,
        Place::Test => 0.4,
    };
    // A file alone may belong to anything, and what is only listed as an extra is hardly a sign.
    let weak = kinds.iter().all(|kind| matches!(kind, Kind::Configured)) || doubt > 0.99;
    let sure = if weak { 0.3 } else { 1.0 - doubt };
    (sure * by_standing * by_place * 100.0).round().min(99.0) / 100.0
}

#[cfg(test)]
mod tests {
    use super::Kind::{Configured, Declared, Imported, Made, UsedAside};
    use super::*;

    #[test]
    fn every_kind_of_evidence_adds_and_weak_standing_takes_away() {
        let check = |kinds: &[Kind], standing, expected: f64| {
            let found = confidence(&kinds.iter().copied().collect(), standing, Place::Product);
            assert!((found - expected).abs() < 0.001, "{kinds:?} {standing:?}: {found}");
        };
        check(&[Declared], Standing::Needed, 0.75);
        check(&[Declared, UsedAside], Standing::Needed, 0.85);
        check(&[Declared, Imported], Standing::Needed, 0.91);
        check(&[Declared, Imported, Made], Standing::Needed, 0.97);
        check(&[Declared, Imported, Made, Configured], Standing::Needed, 0.99);
        check(&[Imported, Made], Standing::NoManifest, 0.79);
        check(&[Imported], Standing::NoManifest, 0.59);
        check(&[Imported, Made], Standing::Unlisted, 0.63);
        check(&[Imported], Standing::Unlisted, 0.47);
        check(&[Declared, Imported], Standing::Optional, 0.47);
        check(&[Declared, Imported, Made], Standing::Optional, 0.63);
        check(&[Declared, Imported, Made], Standing::Development, 0.44);
        check(&[Declared], Standing::Optional, 0.22);
        check(&[Configured], Standing::NoManifest, 0.27);
    }

    #[test]
    fn examples_and_tests_say_less() {
        let kinds = BTreeSet::from([Declared, Imported, Made]);
        let at = |place| confidence(&kinds, Standing::Needed, place);
        assert!(
            at(Place::Product) > 0.9 && (0.5..0.7).contains(&at(Place::Example)) && at(Place::Test) < 0.5
        );
    }
}
