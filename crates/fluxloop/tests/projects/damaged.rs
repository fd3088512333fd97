//! Every folder of `damaged/`: what is reported, with file and line, and what is still told.

use fluxloop::project::{ExperimentMetrics, ExperimentState, InputSource};

use crate::{FixtureReport, fixture_path, open_tree, read_all};

fn read_damaged(name: &str) -> FixtureReport {
    read_all(&open_tree(&fixture_path("damaged").join(name)), "")
}

/// What must be reported, as `file:line: some words`; nothing else may be.
#[track_caller]
fn check_warnings(name: &str, wanted: &[&str]) -> FixtureReport {
    let all = read_damaged(name);
    let said: Vec<_> = all
        .warnings()
        .map(|warning| match warning.line {
            Some(line) => format!("{}:{line}: {}", warning.file, warning.what),
            None => format!("{}: {}", warning.file, warning.what),
        })
        .collect();
    for wanted in wanted {
        let (place, words) = wanted.split_once(": ").unwrap();
        let found = said
            .iter()
            .any(|said| said.split_once(": ").is_some_and(|(at, what)| at == place && what.contains(words)));
        assert!(found, "`{wanted}` is not among\n{}", said.join("\n"));
    }
    assert_eq!(said.len(), wanted.len(), "{}", said.join("\n"));
    assert_eq!(all.projects.list.len(), 1);
    all
}

/// The project is there with everything but what the broken file would have said.
fn runner_target(all: &FixtureReport) -> Option<&str> {
    all.projects.list[0].settings.runner.as_ref()?.target.as_deref()
}

#[test]
fn tab_is_reported_with_its_line() {
    let all = check_warnings("yaml-tab", &["configs/input.yaml:3: tab"]);
    let project = &all.projects.list[0];
    assert_eq!((project.name.as_str(), runner_target(&all)), ("shop", Some("shop:answer")));
    assert_eq!((project.settings.personas.len(), project.settings.base_inputs.len()), (0, 0));
    assert_eq!((project.inputs.source, project.inputs.count), (InputSource::Unknown, 0));
}

#[test]
fn unquoted_colon_is_reported() {
    let all = check_warnings("yaml-colon", &["configs/simulation.yaml:5: mapping"]);
    let settings = &all.projects.list[0].settings;
    assert_eq!((settings.runner.as_ref(), settings.iterations), (None, None));
    assert_eq!((settings.personas.len(), all.projects.list[0].inputs.count), (1, 1));
}

#[test]
fn second_yaml_document_is_reported() {
    let all = check_warnings("yaml-two-documents", &["configs/project.yaml:2: second document"]);
    assert_eq!(all.projects.list[0].name, "yaml-two-documents", "not the name in the file");
    assert_eq!(all.projects.list[0].settings.service_context, None);
    assert_eq!(runner_target(&all), Some("shop:answer"));
}

#[test]
fn alias_bomb_is_rejected() {
    let all = check_warnings("yaml-bomb", &["configs/input.yaml:4: too many aliases"]);
    assert_eq!((all.projects.list[0].name.as_str(), runner_target(&all)), ("shop", Some("shop:answer")));
}

#[test]
fn wrong_setting_types_are_reported() {
    let all = check_warnings(
        "yaml-types",
        &[
            "configs/input.yaml:1: `personas` is a text",
            "configs/input.yaml:2: `base_inputs` is a mapping",
            "configs/input.yaml:3: `variation_strategies` is a text",
            "configs/input.yaml:4: `inputs_file` is a list",
            "configs/project.yaml:1: `name` is a number",
            "configs/project.yaml:2: `metadata` is a list",
            "configs/simulation.yaml:1: the file is a list",
        ],
    );
    let project = &all.projects.list[0];
    assert_eq!((project.name.as_str(), project.inputs.source), ("yaml-types", InputSource::Unknown));
}

#[test]
fn non_utf8_settings_are_reported() {
    let all = check_warnings("yaml-latin-1", &["configs/project.yaml:3: not UTF-8"]);
    assert_eq!((runner_target(&all), all.projects.list[0].inputs.count), (Some("shop:answer"), 1));
}

#[test]
fn byte_order_mark_is_accepted() {
    let all = check_warnings("yaml-bom-crlf", &[]);
    let settings = &all.projects.list[0].settings;
    assert_eq!(settings.service_context.as_deref(), Some("A shop."));
    assert_eq!((settings.base_inputs.len(), settings.personas.len()), (1, 1));
}

#[test]
fn deep_nesting_is_reported() {
    let all = check_warnings(
        "deep-nesting",
        &[
            "configs/input.yaml:1: nested too deeply",
            "experiments/exp_20260203_100000/summary.json:1: nested too deeply",
        ],
    );
    assert_eq!(all.experiments.list.len(), 1);
}

#[test]
fn bad_input_rows_are_reported() {
    let all = check_warnings(
        "inputs-rows",
        &[
            "inputs/generated.yaml:3: without `input`",
            "inputs/generated.yaml:4: a row is a text",
            "inputs/generated.yaml:5: `input` is a number",
            "inputs/generated.yaml:6: `metadata` is a text",
        ],
    );
    let inputs = &all.projects.list[0].inputs;
    assert_eq!(inputs.items.iter().map(|input| input.text.as_str()).collect::<Vec<_>>(), ["hello", "bye"]);
    assert_eq!(inputs.by_persona["guest"], 1);
}

#[test]
fn inputs_outside_repository_are_not_read() {
    let all = check_warnings("inputs-outside", &["configs/input.yaml:5: leads out"]);
    assert_eq!(all.projects.list[0].inputs.count, 0);
    assert!(!serde_json::to_string(&all.projects).unwrap().contains("4711"));
}

#[test]
fn truncated_jsonl_line_is_reported() {
    let all = check_warnings(
        "jsonl-half",
        &[
            "experiments/exp_20260203_100000/trace_summary.jsonl:3: ends in the middle",
            "experiments/exp_20260203_100000/traces.jsonl:3: no whole object",
        ],
    );
    let experiment = &all.experiments.list[0];
    assert_eq!((experiment.total, experiment.details.as_ref().unwrap().traced_runs), (Some(3), 2));
}

#[test]
fn bad_jsonl_lines_are_skipped() {
    let file = ".fluxloop/results/shop-20260203-100000/trace_summary.jsonl";
    let wanted = [(2, "no JSON"), (4, "no object"), (5, "no JSON"), (7, "not UTF-8")];
    let wanted = wanted.map(|(line, words)| format!("{file}:{line}: {words}"));
    let all = check_warnings("jsonl-middle", &wanted.iter().map(String::as_str).collect::<Vec<_>>());
    let details = all.experiments.list[0].details.as_ref().unwrap();
    assert_eq!((details.traced_runs, all.experiments.list[0].total), (3, Some(8)));
    assert_eq!(details.failures.len(), 1);
    assert_eq!(
        (details.failures[0].input.as_str(), details.failures[0].error.as_str()),
        ("question 6", "it broke")
    );
}

#[test]
fn missing_summary_means_unfinished() {
    let all =
        check_warnings("summary-missing", &[".fluxloop/results/shop-20260203-100000: no `summary.json`"]);
    let experiment = &all.experiments.list[0];
    assert!(experiment.unfinished && experiment.state == ExperimentState::Unfinished);
    assert_eq!((experiment.total, experiment.failed, experiment.success_rate), (Some(2), Some(1), Some(0.5)));
    assert_eq!(experiment.project, ".fluxloop/scenarios/shop");
    assert_eq!(experiment.details.as_ref().unwrap().failures[0].error, "it broke");
    let metrics = ExperimentMetrics::from_experiments(&all.experiments.list);
    assert_eq!((metrics.experiments, metrics.unfinished, metrics.total), (0, 1, 0));
}

#[test]
fn truncated_summary_is_unreadable() {
    let all = check_warnings(
        "summary-half",
        &["experiments/exp_20260203_100000/summary.json:11: ends in the middle"],
    );
    let numbers = all.experiments.list.iter().map(|experiment| (experiment.total, experiment.successful));
    assert_eq!(numbers.collect::<Vec<_>>(), [(None, None), (Some(2), Some(1))]);
    let states = all.experiments.list.iter().map(|experiment| (experiment.state, experiment.unfinished));
    assert_eq!(
        states.collect::<Vec<_>>(),
        [(ExperimentState::Unreadable, false), (ExperimentState::Finished, false)]
    );
    let metrics = ExperimentMetrics::from_experiments(&all.experiments.list);
    assert_eq!((metrics.experiments, metrics.unreadable, metrics.unfinished), (1, 1, 0));
    assert_eq!(metrics.trend.len(), 1);
    assert_eq!(metrics.last_against_previous, None);
}

#[test]
fn wrong_summary_types_are_reported() {
    let file = "experiments/exp_20260203_100000/summary.json";
    let mut wanted: Vec<_> = [
        "`total_runs` is a text",
        "`successful` is a negative number",
        "`failed` is null",
        "`success_rate` is a number, not a rate",
        "`date` is a number",
    ]
    .iter()
    .map(|words| format!("{file}: {words}"))
    .collect();
    wanted.push("experiments/exp_20260202_100000/summary.json:1: a list".to_owned());
    let all = check_warnings("summary-types", &wanted.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(all.experiments.list.iter().all(|experiment| experiment.success_rate.is_none()));
    assert_eq!(all.experiments.list[0].mean_duration_ms, Some(20.0));
    let states = all.experiments.list.iter().map(|experiment| experiment.state);
    assert_eq!(
        states.collect::<Vec<_>>(),
        [ExperimentState::Finished, ExperimentState::Unreadable],
        "one number of it is sound"
    );
    assert_eq!(ExperimentMetrics::from_experiments(&all.experiments.list).success_rate, None);
}

#[test]
fn disagreeing_counts_are_listed() {
    let all = check_warnings("counts-disagree", &[]);
    let experiment = &all.experiments.list[0];
    assert_eq!((experiment.total, experiment.failed), (Some(5), Some(1)));
    assert_eq!(
        experiment.disagreements,
        ["trace_summary.jsonl: 2, summary.json successful: 4", "errors.json: 2, summary.json failed: 1"]
    );
}

#[test]
fn wrong_errors_file_is_reported() {
    let all =
        check_warnings("errors-types", &["experiments/exp_20260203_100000/errors.json: neither a list"]);
    let experiment = &all.experiments.list[0];
    assert_eq!((experiment.failed, experiment.details.as_ref().unwrap().failures.len()), (Some(1), 0));
}

#[test]
fn wrong_evaluation_types_are_reported() {
    let file = "experiments/exp_20260203_100000/evaluation/summary.json";
    let wanted = ["`passed_traces`", "`pass_rate`", "`evaluators`", "`persona_breakdown`", "`top_reasons`"];
    let wanted = wanted.map(|words| format!("{file}: {words}"));
    let all = check_warnings("evaluation-types", &wanted.iter().map(String::as_str).collect::<Vec<_>>());
    let evaluation = all.experiments.list[0].evaluation.as_ref().unwrap();
    assert_eq!((evaluation.average_score, evaluation.threshold), (Some(0.5), Some(0.7)));
    assert_eq!((evaluation.passed, evaluation.pass_rate), (None, None));
    assert_eq!((evaluation.fully_judged, evaluation.caution.is_some()), (None, true), "unknown is not yes");
    assert!(serde_json::to_value(evaluation).unwrap()["fully_judged"].is_null());
    let metrics = ExperimentMetrics::from_experiments(&all.experiments.list);
    assert_eq!((metrics.pass_rate, metrics.not_fully_judged, metrics.judging_unknown), (None, 0, 1));
}

#[test]
fn empty_files_are_reported() {
    let at = "experiments/exp_20260203_100000";
    let wanted = ["summary.json", "errors.json", "evaluation/summary.json"];
    let wanted = wanted.map(|name| format!("{at}/{name}: the file is empty"));
    let all = check_warnings("empty-files", &wanted.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!((runner_target(&all), all.experiments.list.len()), (Some("shop:answer"), 1));
}

#[test]
fn experiments_without_time_are_sorted_last() {
    let all = check_warnings("names-without-time", &[]);
    let names = all.experiments.list.iter().map(|experiment| experiment.id.as_str());
    let order = ["exp_20260205_100000", "exp_20261399_256199", "backup"];
    assert_eq!(names.collect::<Vec<_>>(), order.map(|name| format!("experiments/{name}")));
}

#[test]
fn missing_current_scenario_is_reported() {
    let all = check_warnings("context-missing", &[".fluxloop/context.json: `gone` does not exist"]);
    assert_eq!((all.projects.list[0].name.as_str(), all.projects.current.as_deref()), ("shop", None));
}

/// Every damaged folder has a test: a new one without is found here.
#[test]
fn every_damaged_fixture_has_a_test() {
    let tests = include_str!("damaged.rs");
    let mut untested = Vec::new();
    for entry in std::fs::read_dir(fixture_path("damaged")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name != "README.md" && !tests.contains(&format!("\"{name}\"")) {
            untested.push(name);
        }
    }
    assert_eq!(untested, Vec::<String>::new());
}
