//! What Git cannot hold: links, pipes, files without permission, files that are too large.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use fluxloop::project::{DetailLimits, ExperimentMetrics, FluxloopProjects};
use proptest::prelude::*;
use tempfile::TempDir;
use tree::WorkBudget;

use crate::{FixtureReport, UNLIMITED_DETAIL, open_tree, read_all};

const SUMMARY_JSON: &str = r#"{"name": "n", "date": "2026-01-01T00:00:00", "results": {"total_runs": 2, "successful": 1,
    "failed": 1, "success_rate": 0.5, "avg_duration_ms": 1.5}}"#;

fn write_files(root: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// A sound project with these files in it.
fn project_with_files(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    write_files(
        root.path(),
        &[
            ("configs/project.yaml", "name: shop\n"),
            ("configs/simulation.yaml", "name: smoke\nrunner: {target: 'a:b'}\n"),
        ],
    );
    write_files(root.path(), files);
    root
}

#[track_caller]
fn assert_warned(all: &FixtureReport, file: &str, words: &str) {
    let found = all.warnings().any(|warning| warning.file == file && warning.what.contains(words));
    assert!(found, "{file}: {words}: {:?}", all.warnings().collect::<Vec<_>>());
}

#[test]
fn symlinked_experiment_is_not_followed() {
    let outside = project_with_files(&[("experiments/exp_20260101_000000/summary.json", SUMMARY_JSON)]);
    let root = project_with_files(&[("experiments/exp_20260102_000000/summary.json", SUMMARY_JSON)]);
    let target = outside.path().join("experiments/exp_20260101_000000");
    symlink(target, root.path().join("experiments/exp_20260101_000000")).unwrap();
    let all = read_all(&open_tree(root.path()), "");
    assert_warned(&all, "experiments/exp_20260101_000000", "symbolic link");
    assert_eq!(all.experiments.list.len(), 1);
}

#[test]
fn settings_symlink_leading_out_is_not_followed() {
    let outside = project_with_files(&[("secret.yaml", "name: outside\n")]);
    let root = project_with_files(&[]);
    fs::remove_file(root.path().join("configs/project.yaml")).unwrap();
    symlink(outside.path().join("secret.yaml"), root.path().join("configs/project.yaml")).unwrap();
    write_files(root.path(), &[("configs/input.yaml", "personas: []\n")]);
    let all = read_all(&open_tree(root.path()), "");
    assert_warned(&all, "configs/project.yaml", "link");
    assert!(!serde_json::to_string(&all.projects).unwrap().contains("outside\""));
    assert_eq!(all.projects.list[0].settings.experiment_name.as_deref(), Some("smoke"));
}

#[test]
fn unused_symlink_is_ignored() {
    let root = tempfile::tempdir().unwrap();
    let scenario = ".fluxloop/scenarios/desk";
    write_files(
        root.path(),
        &[
            (&format!("{scenario}/configs/scenario.yaml"), "name: desk\n"),
            (&format!("{scenario}/configs/simulation.yaml"), "runner: {target: 'a:b'}\n"),
            (&format!("{scenario}/.state/x"), ""),
        ],
    );
    symlink("/etc/hostname", root.path().join(scenario).join(".state/latest_result.md")).unwrap();
    let all = read_all(&open_tree(root.path()), "");
    assert_eq!(all.warnings().count(), 0);
    assert_eq!((all.projects.list[0].line.name(), all.experiments.list.len()), ("0.3", 0));
}

#[test]
fn non_file_summaries_are_reported() {
    let root = project_with_files(&[("experiments/exp_20260101_000000/summary.json", SUMMARY_JSON)]);
    let folder = root.path().join("experiments");
    fs::create_dir_all(folder.join("exp_20260102_000000")).unwrap();
    symlink("summary.json", folder.join("exp_20260102_000000/summary.json")).unwrap();
    fs::create_dir_all(folder.join("exp_20260103_000000/summary.json")).unwrap();
    let all = read_all(&open_tree(root.path()), "");
    assert_warned(&all, "experiments/exp_20260102_000000/summary.json", "cannot be read");
    assert_warned(&all, "experiments/exp_20260103_000000/summary.json", "not a regular file");
    let totals = all.experiments.list.iter().map(|experiment| experiment.total);
    assert_eq!(totals.collect::<Vec<_>>(), [None, None, Some(2)]);
}

#[test]
fn empty_experiment_folder_is_unfinished() {
    let root = project_with_files(&[]);
    fs::create_dir_all(root.path().join("experiments/exp_20260103_000000")).unwrap();
    fs::create_dir_all(root.path().join("experiments/notes")).unwrap();
    let all = read_all(&open_tree(root.path()), "");
    assert_warned(&all, "experiments/exp_20260103_000000", "no `summary.json`");
    assert_eq!(all.experiments.list.len(), 1);
    assert!(all.experiments.list[0].unfinished && all.experiments.list[0].total.is_none());
}

#[test]
fn too_large_traces_are_reported() {
    let at = "experiments/exp_20260101_000000";
    let root = project_with_files(&[(&format!("{at}/summary.json"), SUMMARY_JSON)]);
    let size = (64 << 20) + 1;
    File::create(root.path().join(at).join("traces.jsonl")).unwrap().set_len(size).unwrap();
    let all = read_all(&open_tree(root.path()), "");
    assert_warned(&all, &format!("{at}/traces.jsonl"), &format!("{size} bytes"));
    assert_warned(&all, &format!("{at}/traces.jsonl"), &format!("{}", 64 << 20));
    assert_eq!(all.experiments.list[0].total, Some(2));
}

#[test]
fn too_long_line_is_skipped() {
    let at = "experiments/exp_20260101_000000";
    let line = |input: &str| format!("{{\"input\": \"{input}\", \"output\": \"x\", \"success\": true}}\n");
    let text = [line("one"), line(&"x".repeat(5 << 20)), line("three")].concat();
    let root = project_with_files(&[
        (&format!("{at}/summary.json"), SUMMARY_JSON),
        (&format!("{at}/traces.jsonl"), &text),
    ]);
    let all = read_all(&open_tree(root.path()), "");
    let warning = all.warnings().next().unwrap();
    assert_eq!((warning.file.as_str(), warning.line), (format!("{at}/traces.jsonl").as_str(), Some(2)));
    assert!(warning.what.contains("longer than"));
    let inputs = &all.experiments.list[0].details.as_ref().unwrap().by_input;
    assert_eq!(inputs.keys().collect::<Vec<_>>(), ["one", "three"]);
}

#[test]
fn file_without_permission_is_reported() {
    let root = project_with_files(&[]);
    let path = root.path().join("configs/project.yaml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&path).is_ok() {
        return; // As root there is nothing that may not be read.
    }
    let all = read_all(&open_tree(root.path()), "");
    assert_warned(&all, "configs/project.yaml", "permission denied");
}

#[test]
fn freshly_initialized_project_is_read() {
    let root = project_with_files(&[]);
    let all = read_all(&open_tree(root.path()), "");
    assert_eq!(all.warnings().count(), 0);
    assert_eq!((all.experiments.list.len(), all.projects.list[0].inputs.count), (0, 0));
    assert_eq!(ExperimentMetrics::from_experiments(&all.experiments.list), ExperimentMetrics::default());
}

#[test]
fn success_rate_is_computed_from_counts() {
    let wrong = SUMMARY_JSON.replace("\"success_rate\": 0.5", "\"success_rate\": 0.9");
    let root = project_with_files(&[("experiments/exp_20260101_000000/summary.json", &wrong)]);
    assert_eq!(read_all(&open_tree(root.path()), "").experiments.list[0].success_rate, Some(0.5));
}

#[test]
fn missing_simulation_is_reported() {
    let root = project_with_files(&[("configs/input.yaml", "personas: [{name: guest}]\n")]);
    fs::remove_file(root.path().join("configs/simulation.yaml")).unwrap();
    let all = read_all(&open_tree(root.path()), "");
    assert_warned(&all, "configs/simulation.yaml", "not there");
    let settings = &all.projects.list[0].settings;
    assert_eq!((settings.runner.as_ref(), settings.personas.len()), (None, 1));
}

#[test]
fn runner_secrets_are_redacted() {
    let runner = r#"name: smoke
runner:
  command: ["run", "--token", "hunter2", "--header", "Authorization: Bearer hunter2", "--password=hunter2"]
  endpoint: https://me:hunter2@host/
  env:
    - SHOP_TOKEN=hunter2
    - PLAIN
    - sk-test-not-a-key
"#;
    let root = project_with_files(&[("configs/simulation.yaml", runner)]);
    let all = read_all(&open_tree(root.path()), "");
    let said = serde_json::to_string(&all.projects).unwrap();
    assert!(!said.contains("hunter2") && !said.contains("sk-test"), "{said}");
    let runner = all.projects.list[0].settings.runner.as_ref().unwrap();
    assert_eq!(runner.environment_names, ["PLAIN", "SHOP_TOKEN"]);
    let command = runner.command.as_ref().unwrap();
    assert_eq!(
        command[..],
        [
            "run",
            "--token",
            "[redacted]",
            "--header",
            "Authorization: Bearer [redacted]",
            "--password=[redacted]"
        ]
    );
    assert_warned(&all, "configs/simulation.yaml", "an entry of `env` has no name");
}

/// What tells whether everybody judged: the traces if they are whole, else the reasons of the summary.
#[test]
fn fully_judged_is_derived_from_traces_or_reasons() {
    let check = |reasons: &str, traces: &str, expected: Option<bool>| {
        let at = "experiments/exp_20260101_000000";
        let said = format!(r#"{{"total_traces": 1, "overall_success": false {reasons}}}"#);
        let root = project_with_files(&[
            (&format!("{at}/summary.json"), SUMMARY_JSON),
            (&format!("{at}/evaluation/summary.json"), &said),
            (&format!("{at}/evaluation/per_trace.jsonl"), traces),
        ]);
        let all = read_all(&open_tree(root.path()), "");
        let evaluation = all.experiments.list[0].evaluation.as_ref().unwrap();
        assert_eq!(evaluation.fully_judged, expected, "{reasons} {traces}");
        assert_eq!(
            evaluation.overall_success,
            expected.filter(|all| *all).map(|_| false),
            "{reasons} {traces}"
        );
    };
    let good = r#", "top_reasons": [["fine", 1]]"#;
    let excuse = r#", "top_reasons": [["LLM call failed: no", 1], "half"]"#;
    check("", "", None);
    check(r#", "top_reasons": null"#, "", None);
    check(r#", "top_reasons": []"#, "", Some(true));
    check(r#", "top_reasons": {"fine": 1}"#, "", None);
    check(r#", "top_reasons": [["fine", 1], "half"]"#, "", None);
    check(good, "", Some(true));
    check(excuse, "", Some(false));
    let judged = r#"{"pass": true, "scores": {"a": 1.0}, "reasons": {"a": "fine"}}"#;
    let excused =
        r#"{"pass": true, "scores": {"a": 0.0}, "reasons": {"a": ["Skipped due to LLM sampling"]}}"#;
    let unreadable = r#"{"pass": true, "scores": {"a": 0.0}, "reasons": {"a": 5}}"#;
    check("", judged, Some(true));
    check(good, excused, Some(false));
    check("", unreadable, None);
    check("", &format!("{judged}\n{{"), None);
    check("", &format!("{excused}\n{{"), Some(false));
}

/// The last experiment against the one before: each is given by its inputs, `!` before those that fail.
#[test]
fn only_inputs_of_both_experiments_are_compared() {
    let check = |previous: &[&str], last: &[&str], expected: Option<(&[&str], &[&str])>| {
        let root = project_with_files(&[]);
        for (day, inputs) in [(1, previous), (2, last)] {
            let at = format!("experiments/exp_2026010{day}_000000");
            let (bad, good): (Vec<_>, Vec<_>) = inputs.iter().partition(|input| input.starts_with('!'));
            let line = |input: &&str| format!("{{\"input\": \"{input}\", \"success\": true}}\n");
            let error = |input: &&str| format!("{{\"input\": \"{}\", \"error\": \"e\"}}", &input[1..]);
            write_files(root.path(), &[(&format!("{at}/summary.json"), SUMMARY_JSON)]);
            let traces: String = good.iter().map(line).collect();
            let errors = format!("[{}]", bad.iter().map(error).collect::<Vec<_>>().join(","));
            write_files(
                root.path(),
                &[(&format!("{at}/trace_summary.jsonl"), &traces), (&format!("{at}/errors.json"), &errors)],
            );
        }
        let against =
            ExperimentMetrics::from_experiments(&read_all(&open_tree(root.path()), "").experiments.list)
                .last_against_previous
                .unwrap();
        let said = against.inputs_that_fail_now.zip(against.inputs_that_work_now);
        let strings = |list: &[&str]| list.iter().map(|&input| input.to_owned()).collect::<Vec<_>>();
        assert_eq!(
            said,
            expected.map(|(fail, work)| (strings(fail), strings(work))),
            "{previous:?} {last:?}"
        );
    };
    check(&["a", "!b"], &["!a", "b"], Some((&["a"], &["b"])));
    check(&["!gone", "a"], &["!new", "a"], Some((&[], &[])));
    check(&["!a"], &["!a", "a"], Some((&[], &[])));
    check(&["a", "!a"], &["a"], Some((&[], &["a"])));
    check(&["!a"], &[], None);
    check(&[], &["!a"], None);
}

/// A stop in the middle leaves no half of the traces behind that would be told as all of them.
#[test]
fn interrupted_read_leaves_no_partial_details() {
    let at = "experiments/exp_20260101_000000";
    let line = "{\"input\": \"x\", \"output\": \"y\", \"success\": true}\n";
    let root = project_with_files(&[
        (&format!("{at}/summary.json"), SUMMARY_JSON),
        (&format!("{at}/traces.jsonl"), &line.repeat(600)),
    ]);
    let tree = open_tree(root.path());
    let sources = AtomicUsize::new(0);
    // The summary and the begin of the details are looked at twice before; then comes the first look between lines.
    let budget =
        WorkBudget::unlimited().with_cancellation(move || sources.fetch_add(1, Ordering::Relaxed) >= 2);
    let read = FluxloopProjects::find(&tree, "").experiments(&tree, UNLIMITED_DETAIL, &budget);
    assert_eq!((read.list[0].total, read.list[0].details.as_ref()), (Some(2), None));
    assert_eq!((read.coverage.left_out[0].experiments, read.coverage.left_out[0].first.as_str()), (1, at));
}

#[test]
fn vendored_folders_are_not_searched() {
    let configs =
        [("configs/project.yaml", "name: x\n"), ("configs/simulation.yaml", "runner: {target: 'a:b'}\n")];
    let root = tempfile::tempdir().unwrap();
    for at in ["node_modules/x", ".venv/x", "lib/site-packages/x", "a/b/c/d", "a/b/c/d/e"] {
        for (name, text) in configs {
            write_files(root.path(), &[(&format!("{at}/{name}"), text)]);
        }
    }
    let found = FluxloopProjects::find(&open_tree(root.path()), "");
    assert_eq!(found.list.iter().map(|project| project.folder.as_str()).collect::<Vec<_>>(), ["a/b/c/d"]);
    let deeper = FluxloopProjects::find(&open_tree(root.path()), "a/b/c/d/e");
    assert_eq!(deeper.list.iter().map(|project| project.folder.as_str()).collect::<Vec<_>>(), ["a/b/c/d/e"]);
}

#[test]
fn results_of_missing_scenario_are_reported() {
    let summary = r#"{"experiment_name": "old", "runner_type": "function", "total_runs": 1, "success_count": 1,
        "failure_count": 0, "success_rate": 1.0, "total_duration_ms": 5, "created_at": "2026-01-01T00:00:00+00:00"}"#;
    let root = tempfile::tempdir().unwrap();
    write_files(
        root.path(),
        &[
            (".fluxloop/scenarios/new/configs/simulation.yaml", "name: new\nrunner: {target: 'a:b'}\n"),
            (".fluxloop/results/old-20260101-000000/summary.json", summary),
        ],
    );
    let all = read_all(&open_tree(root.path()), "");
    assert_warned(&all, ".fluxloop/results/old-20260101-000000", "no scenario has the name `old`");
    assert_eq!(all.experiments.list[0].project, ".fluxloop/results");
    assert_eq!(read_all(&open_tree(root.path()), ".fluxloop/scenarios/new").experiments.list.len(), 1);
}

/// A thousand experiments with 200 MB of traces: run it with `--ignored --nocapture` to see how long it takes.
#[test]
#[ignore = "a measurement; it writes 200 MB"]
fn thousand_experiments_are_read() {
    let root = project_with_files(&[]);
    let turn = format!(r#"{{"role": "assistant", "content": "{}"}}"#, "words ".repeat(60));
    let conversation = vec![turn; 4].join(", ");
    let line = |n: usize| {
        format!(
            r#"{{"trace_id": "{n}", "iteration": 0, "persona": "p{}", "input": "question {}", "output": "answer",
            "duration_ms": 12.5, "success": true, "conversation": [{conversation}]}}"#,
            n % 5,
            n % 50
        )
        .replace('\n', " ")
    };
    let traces = (0..118).map(line).collect::<Vec<_>>().join("\n");
    for n in 0..1000 {
        let at = format!("experiments/exp_2026{:02}{:02}_{:02}0000", 1 + n / 280, 1 + n / 10 % 28, n % 10);
        write_files(
            root.path(),
            &[(&format!("{at}/summary.json"), SUMMARY_JSON), (&format!("{at}/trace_summary.jsonl"), &traces)],
        );
    }
    let tree = open_tree(root.path());
    for detail in [
        DetailLimits::NONE,
        DetailLimits { newest: 20, bytes: 64 << 20 },
        DetailLimits { newest: 1000, bytes: 64 << 20 },
    ] {
        let start = std::time::Instant::now();
        let read = FluxloopProjects::find(&tree, "").experiments(&tree, detail, &WorkBudget::unlimited());
        let metrics = ExperimentMetrics::from_experiments(&read.list);
        println!("{detail:?}: {:?}, {:?}, {} inputs", start.elapsed(), read.coverage, metrics.by_input.len());
        assert_eq!(read.list.len(), 1000);
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever the folders are called: the newest first, the trend the other way round, and sums that fit.
    #[test]
    fn experiments_are_sorted_and_summed(runs in prop::collection::vec((1u32..29, 0u32..24, 0u64..9, 0u64..9), 1..8)) {
        let root = project_with_files(&[]);
        for (day, hour, good, bad) in &runs {
            let summary = format!(r#"{{"name": "n", "results": {{"total_runs": {}, "successful": {good}, "failed": {bad}}}}}"#, good + bad);
            write_files(root.path(), &[(&format!("experiments/e_202602{day:02}_{hour:02}0000/summary.json"), &summary)]);
        }
        let tree = open_tree(root.path());
        let list = FluxloopProjects::find(&tree, "").experiments(&tree, UNLIMITED_DETAIL, &WorkBudget::unlimited()).list;
        prop_assert!(list.iter().rev().map(|experiment| &experiment.time).is_sorted());
        let metrics = ExperimentMetrics::from_experiments(&list);
        prop_assert!(metrics.trend.iter().map(|point| &point.time).is_sorted());
        prop_assert_eq!(metrics.total, metrics.successful + metrics.failed);
        prop_assert_eq!(ExperimentMetrics::from_experiments(list.iter().rev()), metrics);
    }
}
