//! What FluxLoop projects hold, on a terminal.

use serde_json::Value;

use crate::process::run;

/// Projects that real CLIs wrote.
const BOOKSHOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fluxloop/tests/projects/bookshop-0.2.30");

#[test]
fn insight_prints_tables_or_json() {
    let (code, out, err) = run(&["call", "fetch_insight_context", "--root", BOOKSHOP]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with("desk (0.2)\n4 experiments, 20 runs, 7 failed, 65 % succeeded"), "{out}");
    assert!(out.contains("Trend ▇▁█▇ oldest first\n"), "{out}");
    assert!(out.contains("2026-03-09 08:00  desk_smoke_20260309_080059  5     ██████████ 100 %"), "{out}");
    assert!(out.contains("fails now: Do you sell gift vouchers?"), "{out}");
    assert!(out.contains("1 not judged; not fully judged"), "{out}");
    let (code, out, _) = run(&["call", "fetch_insight_context", "--root", BOOKSHOP, "--json"]);
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &answer["aggregated_metrics"]["total"]), (0, &20.into()));
}

#[test]
fn folder_without_a_project_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    let (code, out, _) = run(&["call", "fetch_insight_context", "--root", root]);
    assert_eq!(code, 0);
    assert!(out.contains("0 experiments"), "{out}");
    assert!(out.contains("no FluxLoop project found"), "{out}");
}
