//! Every number of every `expected.json`, from the root, from a folder below it and from the project itself.

use std::collections::BTreeMap;

use fluxloop::project::{
    CriterionOutcome, DetailLimits, Experiment, ExperimentDetails, ExperimentEvaluation, ExperimentMetrics,
    FluxloopProject, FluxloopProjects, FluxloopSettings, SkillContractResult,
};
use serde_json::{Value, json};
use tree::WorkBudget;

use crate::{FixtureReport, UNLIMITED_DETAIL, fixture_path, open_tree, read_all};

const SECRET: &str = "sk-test-not-a-key";

/// What the files say, in the words of the readers where they know better.
fn expected_report(name: &str) -> Value {
    let text = std::fs::read(fixture_path(name).join("expected.json")).unwrap();
    let mut expected: Value = serde_json::from_slice(&text).unwrap();
    for project in expected["projects"].as_object_mut().unwrap().values_mut() {
        for experiment in project["experiments"].as_array_mut().unwrap() {
            // 0.2 and 0.3 write 0 for the mean over the runs with an answer, if there is none. That is no duration.
            if experiment["successful"] == 0 && experiment["mean_duration_ms"] == 0 {
                experiment["mean_duration_ms"] = Value::Null;
            }
            // 0.2.30 calls it no success if a judge could not judge. Nobody knows.
            if experiment["evaluation"]["fully_judged"] == false {
                experiment["evaluation"]["overall_success"] = Value::Null;
            }
        }
    }
    expected
}

/// Compares everything that can be told of a repository.
fn check_repository(name: &str) {
    let expected = expected_report(name);
    let all = read_all(&open_tree(&fixture_path(name)), "");
    assert_eq!(all.projects.warnings, [], "{name}");
    let ended = all.experiments.list.iter().filter(|experiment| !experiment.unfinished);
    let order: Vec<_> = ended.map(|experiment| experiment.id.as_str()).collect();
    assert_eq!(json!(order), expected["newest_first"], "{name}");
    let said: BTreeMap<_, _> = all
        .projects
        .list
        .iter()
        .map(|project| (project.folder.clone(), project_json(project, &all, "")))
        .collect();
    assert_same_json(name, &json!(said), &expected["projects"]);

    for (at, wanted) in expected["projects"].as_object().unwrap() {
        check_from_within(name, at, wanted);
        check_from_project_folder(name, at, wanted);
    }
}

/// The path of a project, or of a folder in it, means that project alone.
fn check_from_within(name: &str, at: &str, wanted: &Value) {
    let tree = open_tree(&fixture_path(name));
    for inside in [at.to_owned(), format!("{at}/inputs"), format!("./{at}/experiments/")] {
        let one = read_all(&tree, &inside);
        assert_eq!(one.projects.list.len(), 1, "{name}: {inside}");
        assert_same_json(&inside, &project_json(&one.projects.list[0], &one, ""), wanted);
    }
}

/// The folder of a project is enough, except for results of 0.4, which lie beside it.
fn check_from_project_folder(name: &str, at: &str, wanted: &Value) {
    let one = read_all(&open_tree(&fixture_path(name).join(at)), "");
    assert_eq!(one.projects.list.len(), 1, "{name}: {at}");
    let prefix = if at == "." { String::new() } else { format!("{at}/") };
    let said = project_json(&one.projects.list[0], &one, &prefix);
    if wanted["line"] == "0.4" {
        for key in ["name", "runner", "inputs", "multi_turn", "line", "experiment_name", "iterations"] {
            assert_same_json(at, &said[key], &wanted[key]);
        }
        assert_eq!(one.experiments.list, []);
        let warning = &one.projects.list[0].warnings[0];
        assert!(warning.file == "." && warning.what.contains("name the repository as `root`"), "{warning:?}");
    } else {
        assert_eq!(one.projects.list[0].warnings, []);
        assert_same_json(at, &said, wanted);
    }
}

/// A project in the words of `expected.json`.
fn project_json(project: &FluxloopProject, all: &FixtureReport, prefix: &str) -> Value {
    let own = || all.experiments.list.iter().rev().filter(|experiment| experiment.project == project.folder);
    let unfinished = own().filter(|experiment| experiment.unfinished);
    let FluxloopSettings {
        metadata,
        tags,
        iterations,
        runner,
        multi_turn,
        personas,
        base_inputs,
        variation,
        ..
    } = &project.settings;
    let runner = runner.as_ref().unwrap();
    json!({
        "line": project.line.name(),
        "name": project.name,
        "experiment_name": project.settings.experiment_name,
        "service_context": project.settings.service_context,
        "metadata": metadata,
        "tags": tags,
        "iterations": iterations,
        "runner": {
            "type": runner.kind,
            "target": runner.target,
            "command": runner.command,
            "skill_path": runner.skill_path,
            "environment_names": runner.environment_names,
        },
        "multi_turn": multi_turn,
        "inputs": {
            "base_inputs": base_inputs.iter().map(|base| &base.input).collect::<Vec<_>>(),
            "personas": personas.iter().map(|persona| &persona.name).collect::<Vec<_>>(),
            "variation_strategies": variation.strategies,
            "count": project.inputs.count,
            "texts": project.inputs.items.iter().map(|input| &input.text).collect::<Vec<_>>(),
            "by_persona": project.inputs.by_persona,
            "by_strategy": project.inputs.by_strategy,
        },
        "unfinished": unfinished.map(|experiment| format!("{prefix}{}", experiment.id)).collect::<Vec<_>>(),
        "aggregate": metrics_json(&ExperimentMetrics::from_experiments(own()), prefix),
        "experiments": own().filter(|one| !one.unfinished).map(|one| experiment_json(one, prefix)).collect::<Vec<_>>(),
    })
}

fn metrics_json(metrics: &ExperimentMetrics, prefix: &str) -> Value {
    let against = metrics.last_against_previous.as_ref().map(|against| {
        json!({
            "last": format!("{prefix}{}", against.last),
            "previous": format!("{prefix}{}", against.previous),
            "success_rate": against.success_rate,
            "mean_duration_ms": against.mean_duration_ms,
            "inputs_that_fail_now": against.inputs_that_fail_now,
            "inputs_that_work_now": against.inputs_that_work_now,
        })
    });
    json!({
        "experiments": metrics.experiments,
        "total": metrics.total,
        "successful": metrics.successful,
        "failed": metrics.failed,
        "success_rate": metrics.success_rate,
        "total_tokens": metrics.total_tokens,
        "by_persona": metrics.by_persona,
        "by_input": metrics.by_input,
        "trend": metrics.trend.iter().map(|point| json!([point.time, point.success_rate])).collect::<Vec<_>>(),
        "last_against_previous": against,
        "pass_rate": metrics.pass_rate,
        "not_fully_judged": metrics.not_fully_judged,
    })
}

fn experiment_json(experiment: &Experiment, prefix: &str) -> Value {
    let ExperimentDetails { tokens, conversations, .. } = experiment.details.as_ref().unwrap();
    let details = experiment.details.as_ref().unwrap();
    let tokens = tokens.map(|tokens| {
        json!({"from": tokens.source, "input": tokens.input, "output": tokens.output, "total": tokens.total,
            "in_summary": experiment.tokens_in_summary})
    });
    json!({
        "path": format!("{prefix}{}", experiment.id),
        "name": experiment.name,
        "time": experiment.time,
        "written": experiment.written,
        "total": experiment.total,
        "successful": experiment.successful,
        "failed": experiment.failed,
        "success_rate": experiment.success_rate,
        "success_rate_in_file": experiment.success_rate,
        "mean_duration_ms": experiment.mean_duration_ms,
        "traced_runs": details.traced_runs,
        "slowest_ms": details.slowest_ms,
        "empty_outputs": details.empty_outputs,
        "by_persona": details.by_persona,
        "failures": details.failures,
        "tokens": tokens,
        "conversations": conversations,
        "guardrail_warnings": details.guardrail_warnings,
        "evaluation": experiment.evaluation.as_ref().map(evaluation_json),
        "contract": experiment.contract.as_ref().map(|contract| contract_json(contract, details.traced_runs)),
        "lines": details.lines,
        "disagreements": experiment.disagreements,
    })
}

fn evaluation_json(evaluation: &ExperimentEvaluation) -> Value {
    // The file calls a criterion unmet that nobody judged. The readers know better, which is checked below.
    let met = |met| if met == CriterionOutcome::Met { json!(true) } else { json!(false) };
    let criteria = evaluation.criteria.iter().map(|criterion| (criterion.name.clone(), met(criterion.met)));
    let personas = evaluation.by_persona.iter();
    json!({
        "traces": evaluation.traces,
        "passed": evaluation.passed,
        "pass_rate": evaluation.pass_rate,
        "pass_rate_in_file": evaluation.pass_rate,
        "average_score": evaluation.average_score,
        "threshold": evaluation.threshold,
        "evaluators": evaluation.evaluators,
        "by_persona": personas
            .map(|(name, score)| (name.clone(), json!({"count": score.count, "passed": score.passed})))
            .collect::<BTreeMap<_, _>>(),
        "top_reasons": evaluation.top_reasons,
        "goal": evaluation.goal,
        "overall_success": evaluation.overall_success,
        "criteria": criteria.collect::<BTreeMap<_, _>>(),
        "recommendations": evaluation.recommendations.iter().map(|advice| &advice.title).collect::<Vec<_>>(),
        "fully_judged": evaluation.fully_judged,
    })
}

fn contract_json(contract: &SkillContractResult, runs: u64) -> Value {
    let assertions = contract.assertions.iter();
    // The same warnings of the same text, run by run.
    let each = contract.static_warnings.unwrap() / runs;
    json!({
        "judged": contract.judged,
        "not_judged": contract.not_judged,
        "passed": contract.passed,
        "pass_rate": contract.pass_rate,
        "assertions": assertions
            .map(|(kind, count)| (kind.clone(), json!({"passed": count.passed, "total": count.total})))
            .collect::<BTreeMap<_, _>>(),
        "static_warnings": vec![each; usize::try_from(runs).unwrap()],
        "cost_usd": contract.cost_usd,
    })
}

/// Numbers may differ in the last of four digits; everything else may not.
#[track_caller]
fn assert_same_json(at: &str, said: &Value, wanted: &Value) {
    let mut different = Vec::new();
    collect_differences(at, said, wanted, &mut different);
    assert!(different.is_empty(), "{}", different.join("\n"));
}

fn collect_differences(at: &str, said: &Value, wanted: &Value, different: &mut Vec<String>) {
    match (said, wanted) {
        (Value::Object(one), Value::Object(other)) => {
            let keys: std::collections::BTreeSet<_> = one.keys().chain(other.keys()).collect();
            for key in keys {
                let (one, other) =
                    (one.get(key).unwrap_or(&Value::Null), other.get(key).unwrap_or(&Value::Null));
                collect_differences(&format!("{at} / {key}"), one, other, different);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (number, (one, other)) in one.iter().zip(other).enumerate() {
                collect_differences(&format!("{at} / {number}"), one, other, different);
            }
        }
        (Value::Number(one), Value::Number(other)) => {
            if (one.as_f64().unwrap() - other.as_f64().unwrap()).abs() > 0.000_15 {
                different.push(format!("{at}: {one}, not {other}"));
            }
        }
        _ if said == wanted => {}
        _ => different.push(format!("{at}: {said}, not {wanted}")),
    }
}

#[test]
fn bookshop_0_2_matches_expected() {
    check_repository("bookshop-0.2.30");
}

#[test]
fn single_file_project_matches_expected() {
    check_repository("legacy-0.2.30");
}

#[test]
fn two_projects_match_expected() {
    check_repository("two-0.2.36");
}

#[test]
fn project_at_root_matches_expected() {
    check_repository("root-0.2.36");
}

#[test]
fn scenarios_0_3_match_expected() {
    check_repository("scenarios-0.3.11");
}

#[test]
fn workspace_0_4_matches_expected() {
    check_repository("workspace-0.4.0");
}

#[test]
fn contradictory_files_match_expected() {
    check_repository("twice-0.4.0");
}

#[test]
fn workspace_folder_alone_is_read() {
    for name in ["workspace-0.4.0", "scenarios-0.3.11"] {
        let all = read_all(&open_tree(&fixture_path(name).join(".fluxloop")), "");
        for (at, wanted) in expected_report(name)["projects"].as_object().unwrap() {
            let own = all.projects.get(at.strip_prefix(".fluxloop/").unwrap()).unwrap();
            assert_same_json(at, &project_json(own, &all, ".fluxloop/"), wanted);
        }
    }
}

/// As in a repository with many packages.
#[test]
fn all_repositories_are_found_together() {
    let all = read_all(&open_tree(&fixture_path("")), "");
    let folders: Vec<_> = all.projects.list.iter().map(|project| project.folder.as_str()).collect();
    for at in [
        "bookshop-0.2.30/fluxloop/desk",
        "legacy-0.2.30",
        "root-0.2.36",
        "two-0.2.36/fluxloop/chat",
        "workspace-0.4.0/.fluxloop/scenarios/talk",
        "damaged/yaml-tab",
    ] {
        assert!(folders.contains(&at), "{at} is not among {folders:?}");
    }
    assert!(folders.is_sorted());
    let beneath = FluxloopProjects::find(&open_tree(&fixture_path("")), "two-0.2.36");
    assert_eq!(
        beneath.list.iter().map(|project| project.name.as_str()).collect::<Vec<_>>(),
        ["chat", "tour"]
    );
    let elsewhere = FluxloopProjects::find(&open_tree(&fixture_path("bookshop-0.2.30")), "shop");
    assert_eq!(elsewhere.list.len(), 1, "a folder of the agent means the projects of its repository");
}

#[test]
fn no_secret_is_reported() {
    for name in ["bookshop-0.2.30", "two-0.2.36", "scenarios-0.3.11", "workspace-0.4.0"] {
        let tree = open_tree(&fixture_path(name));
        let all = read_all(&tree, "");
        let mut said = json!([all.projects, all.experiments]).to_string();
        said.push_str(&json!(ExperimentMetrics::from_experiments(&all.experiments.list)).to_string());
        for experiment in &all.experiments.list {
            for document in all.projects.documents(&tree, &experiment.id) {
                let text = all
                    .projects
                    .document(&tree, &experiment.id, &document.name, &WorkBudget::unlimited())
                    .unwrap();
                assert!(!text.text.is_empty() || document.bytes == 0, "{}", document.name);
                said.push_str(&text.text);
            }
        }
        // Of 0.4 nothing is told that could have secrets in it: its summaries are without settings.
        assert_eq!(said.contains("[redacted]"), name != "workspace-0.4.0", "{name}");
        assert!(!said.contains(SECRET), "{name}");
        assert!(said.contains("_TOKEN") || name != "bookshop-0.2.30", "names of variables stay");
    }
}

#[test]
fn evaluator_without_key_counts_as_not_judged() {
    let all = read_all(&open_tree(&fixture_path("bookshop-0.2.30")), "");
    let of = |at: usize| all.experiments.list[at].evaluation.as_ref().unwrap();
    let met = |at: usize| of(at).criteria.iter().map(|criterion| criterion.met).collect::<Vec<_>>();
    assert_eq!(met(0), [CriterionOutcome::NotJudged]);
    assert_eq!(met(1), [CriterionOutcome::Met, CriterionOutcome::Met, CriterionOutcome::NotMet]);
    assert!(of(0).caution.is_some() && of(1).caution.is_none());
    assert_eq!((of(0).overall_success, of(1).overall_success), (None, Some(false)));
    let details = |at: usize| &of(at).criteria[0].details;
    assert!(details(0).get("met").is_none() && details(0)["average_score"] == 0.0);
    assert!(of(0).recommendations.len() == 4 && of(1).recommendations.len() == 2);
    assert!(of(0).recommendations.iter().all(|advice| advice.based_on_unjudged));
    assert!(!of(1).recommendations.iter().any(|advice| advice.based_on_unjudged));
    assert_eq!(of(0).per_trace[0].not_judged, ["response_clarity"]);
    assert_eq!(of(0).per_trace[0].scores.keys().collect::<Vec<_>>(), ["answered"]);

    // The summary of the evaluation alone tells the same.
    let tree = open_tree(&fixture_path("bookshop-0.2.30"));
    let summaries = all.projects.experiments(&tree, DetailLimits::NONE, &WorkBudget::unlimited());
    let evaluation = summaries.list[0].evaluation.as_ref().unwrap();
    assert_eq!(
        (evaluation.fully_judged, evaluation.criteria[0].met),
        (Some(false), CriterionOutcome::NotJudged)
    );
    assert_eq!(
        ExperimentMetrics::from_experiments(&summaries.list).pass_rate,
        ExperimentMetrics::from_experiments(&all.experiments.list).pass_rate
    );
}

#[test]
fn project_without_traces_has_no_coverage() {
    let all = read_all(&open_tree(&fixture_path("legacy-0.2.30")), "");
    let metrics = ExperimentMetrics::from_experiments(&all.experiments.list);
    assert_eq!((metrics.experiments, metrics.covered.experiments, metrics.covered.runs), (1, 0, 0));
    assert_eq!(all.experiments.coverage.detailed_experiments, 0);
}

#[test]
fn contradictions_are_counted() {
    let contradictory = |name| {
        ExperimentMetrics::from_experiments(&read_all(&open_tree(&fixture_path(name)), "").experiments.list)
            .contradictory
    };
    assert_eq!(contradictory("twice-0.4.0"), 1);
    assert_eq!(contradictory("damaged/counts-disagree"), 1);
    assert_eq!(contradictory("workspace-0.4.0"), 0);
}

#[test]
fn missing_mean_duration_is_not_compared() {
    let all = read_all(&open_tree(&fixture_path("bookshop-0.2.30")), "");
    let failed = all.experiments.list.iter().position(|experiment| experiment.successful == Some(0)).unwrap();
    assert_eq!(all.experiments.list[failed].mean_duration_ms, None);
    let against =
        ExperimentMetrics::from_experiments(&all.experiments.list[failed..]).last_against_previous.unwrap();
    assert_eq!((against.mean_duration_ms, against.success_rate.is_some()), (None, true));
}

#[test]
fn detail_limits_are_reported_in_coverage() {
    let tree = open_tree(&fixture_path("bookshop-0.2.30"));
    let projects = FluxloopProjects::find(&tree, "");
    let read =
        |newest, bytes| projects.experiments(&tree, DetailLimits { newest, bytes }, &WorkBudget::unlimited());
    let two = read(2, u64::MAX);
    let detailed = two.list.iter().map(|experiment| experiment.details.is_some());
    assert_eq!(detailed.collect::<Vec<_>>(), [true, true, false, false]);
    assert_eq!((two.coverage.experiments, two.coverage.runs), (4, 20));
    assert_eq!((two.coverage.detailed_experiments, two.coverage.detailed_runs), (2, 10));
    assert_eq!(two.coverage.left_out[0].experiments, 2);
    let metrics = ExperimentMetrics::from_experiments(&two.list);
    assert_eq!((metrics.total, metrics.covered.experiments, metrics.covered.runs), (20, 2, 10));

    let little = read(9, 100);
    assert!(little.list.iter().filter(|experiment| experiment.details.is_some()).count() < 4);
    assert!(little.coverage.left_out.iter().any(|left_out| left_out.why.contains("100 bytes")));

    let over = WorkBudget::unlimited().with_cancellation(|| true);
    let none = projects.experiments(&tree, UNLIMITED_DETAIL, &over);
    assert_eq!((none.list.len(), none.coverage.left_out[0].experiments), (0, 4));
}

#[test]
fn experiment_is_read_by_id() {
    let tree = open_tree(&fixture_path("workspace-0.4.0"));
    let projects = FluxloopProjects::find(&tree, "");
    let budget = WorkBudget::unlimited();
    let one = projects.experiment(&tree, ".fluxloop/results/talk-20260605-100000", &budget).unwrap();
    assert_eq!(one.list[0].project, ".fluxloop/scenarios/talk");
    assert_eq!(one.list[0].details.as_ref().unwrap().traced_runs, 4);
    for wrong in ["", "..", ".fluxloop/results", ".fluxloop/results/gone", "../bookshop-0.2.30"] {
        assert!(projects.experiment(&tree, wrong, &budget).is_none(), "{wrong}");
        assert!(projects.documents(&tree, wrong).is_empty(), "{wrong}");
    }
}

#[test]
fn only_experiment_documents_are_readable() {
    let tree = open_tree(&fixture_path("bookshop-0.2.30"));
    let projects = FluxloopProjects::find(&tree, "");
    let id = "fluxloop/desk/experiments/all_inputs_20260316_080030";
    let names: Vec<_> = projects.documents(&tree, id).into_iter().map(|document| document.name).collect();
    assert_eq!(names.len(), 13);
    assert!(names.contains(&"evaluation/report.md".to_owned()));
    let show = |name: &str| projects.document(&tree, id, name, &WorkBudget::unlimited());
    assert!(show("summary.json").unwrap().text.contains("\"api_key\": \"[redacted]\""));
    assert_eq!(show("traces.jsonl").unwrap().text.lines().count(), 4);
    for wrong in
        ["../../.env", "../../configs/input.yaml", "evaluation/../summary.json", "gone.md", "", ".env"]
    {
        assert!(show(wrong).is_err(), "{wrong}");
    }
    let artifacts = "fluxloop/desk/experiments/artifacts";
    assert!(projects.document(&tree, artifacts, "traces.jsonl", &WorkBudget::unlimited()).is_err());
}
