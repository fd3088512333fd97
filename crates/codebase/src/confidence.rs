//! Confidence of a finding.
//!
//! Kinds of evidence are treated as independent, so their residual doubts are multiplied: declared (0.25) and
//! imported (0.35) yields a confidence of 0.91. The result is weighted by the dependency status and by the
//! role of the project. The numbers were calibrated so that the share of correct findings on real
//! repositories is within the documented bands; docs/analysis.md has the table.

use std::collections::BTreeSet;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EvidenceKind {
    /// A manifest lists it.
    Declared,
    /// The product's code imports it.
    Imported,
    /// The product's code creates its central object.
    Constructed,
    /// A configuration file specific to the library exists.
    Configured,
    /// Examples, scripts or documentation of the project use it.
    UsedInExamples,
}

/// How a project depends on a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DependencyStatus {
    Required,
    /// An optional extra.
    Optional,
    /// A development dependency: often used for a mock server or a test.
    Development,
    /// Not listed in the manifest: often an integration for a library that users bring themselves.
    Undeclared,
    /// There is no manifest.
    NoManifest,
}

/// The role of a project in its repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProjectRole {
    /// The product, or a part of it.
    Product,
    /// An example, demo or template.
    Example,
    Test,
}

impl EvidenceKind {
    fn doubt(self) -> f64 {
        match self {
            Self::Declared => 0.25,
            Self::Imported | Self::Constructed => 0.35,
            Self::Configured => 0.4,
            Self::UsedInExamples => 0.6,
        }
    }
}

/// The confidence, from 0 to 0.99, in hundredths.
pub(crate) fn confidence(
    kinds: &BTreeSet<EvidenceKind>,
    standing: DependencyStatus,
    place: ProjectRole,
) -> f64 {
    let counts = |kind: &&EvidenceKind| match **kind {
        // Non-required declarations are already reflected in the status.
        EvidenceKind::Declared => standing == DependencyStatus::Required,
        _ => true,
    };
    let doubt: f64 = kinds.iter().filter(counts).map(|kind| kind.doubt()).product();
    let by_standing = match standing {
        DependencyStatus::Required => 1.0,
        DependencyStatus::NoManifest => 0.9,
        DependencyStatus::Optional | DependencyStatus::Undeclared => 0.72,
        DependencyStatus::Development => 0.5,
    };
    let by_place = match place {
        ProjectRole::Product => 1.0,
        ProjectRole::Example => 0.6,
        ProjectRole::Test => 0.4,
    };
    // A configuration file alone may belong to anything, and a mere optional declaration is weak evidence.
    let weak = kinds.iter().all(|kind| matches!(kind, EvidenceKind::Configured)) || doubt > 0.99;
    let sure = if weak { 0.3 } else { 1.0 - doubt };
    (sure * by_standing * by_place * 100.0).round().min(99.0) / 100.0
}

#[cfg(test)]
mod tests {
    use super::EvidenceKind::{Configured, Constructed, Declared, Imported, UsedInExamples};
    use super::*;

    #[test]
    fn evidence_raises_and_weak_status_lowers_confidence() {
        let check = |kinds: &[EvidenceKind], standing, expected: f64| {
            let found = confidence(&kinds.iter().copied().collect(), standing, ProjectRole::Product);
            assert!((found - expected).abs() < 0.001, "{kinds:?} {standing:?}: {found}");
        };
        check(&[Declared], DependencyStatus::Required, 0.75);
        check(&[Declared, UsedInExamples], DependencyStatus::Required, 0.85);
        check(&[Declared, Imported], DependencyStatus::Required, 0.91);
        check(&[Declared, Imported, Constructed], DependencyStatus::Required, 0.97);
        check(&[Declared, Imported, Constructed, Configured], DependencyStatus::Required, 0.99);
        check(&[Imported, Constructed], DependencyStatus::NoManifest, 0.79);
        check(&[Imported], DependencyStatus::NoManifest, 0.59);
        check(&[Imported, Constructed], DependencyStatus::Undeclared, 0.63);
        check(&[Imported], DependencyStatus::Undeclared, 0.47);
        check(&[Declared, Imported], DependencyStatus::Optional, 0.47);
        check(&[Declared, Imported, Constructed], DependencyStatus::Optional, 0.63);
        check(&[Declared, Imported, Constructed], DependencyStatus::Development, 0.44);
        check(&[Declared], DependencyStatus::Optional, 0.22);
        check(&[Configured], DependencyStatus::NoManifest, 0.27);
    }

    #[test]
    fn examples_and_tests_lower_confidence() {
        let kinds = BTreeSet::from([Declared, Imported, Constructed]);
        let at = |place| confidence(&kinds, DependencyStatus::Required, place);
        assert!(
            at(ProjectRole::Product) > 0.9
                && (0.5..0.7).contains(&at(ProjectRole::Example))
                && at(ProjectRole::Test) < 0.5
        );
    }
}
