//! What a planner should ask `faq` next, chosen by what was found. A test asks every topic.

use codebase::Profile;
use fluxloop::project::{Experiment, FluxloopProject, InputSource};

use super::LocatedProjects;

const ASYNC_AND_STREAMING: &str = "async_and_streaming";
const CHOOSE_CLI: &str = "which_cli_version";
const CONTRACTS: &str = "skill_contracts";
const ENVIRONMENT_VARIABLES: &str = "runner_environment_variables";
const EVALUATION_CONFIG: &str = "evaluation_config";
const EXPERIMENT_EXECUTION: &str = "experiment_execution";
const FAILED_RUNS: &str = "failed_runs_troubleshooting";
const FUNCTION_RUNNER: &str = "python_function_runner";
const HTTP_REST_RUNNER: &str = "http_rest_runner";
const INPUT_GENERATION: &str = "input_generation";
const JUDGE_KEYS: &str = "judge_api_key";
const LLM_JUDGE: &str = "llm_judge_evaluator";
const MULTI_TURN: &str = "multi_turn_mode";
const PERSONA_DESIGN: &str = "persona_design";
const PROCESS_RUNNER: &str = "process_runner";
const PROJECT_STRUCTURE: &str = "project_structure";
const REPORTS: &str = "report_generation";
const RULES: &str = "rule_based_evaluation";
const RUNNERS: &str = "runner_configuration";
const SIMULATION_CONFIG: &str = "simulation_config";
const SKILL_RUNNER: &str = "skill_runner";
const SUCCESS_CRITERIA: &str = "success_criteria";
const TRACES: &str = "traces_jsonl";
const VARIATION: &str = "variation_strategies";

/// Topics in order, without duplicates.
#[derive(Default)]
struct TopicList(Vec<String>);

impl TopicList {
    fn add(&mut self, topic: impl Into<String>) {
        let topic = topic.into();
        if !self.0.contains(&topic) {
            self.0.push(topic);
        }
    }

    fn add_if(&mut self, is_there: bool, topic: &str) {
        if is_there {
            self.add(topic);
        }
    }

    fn add_runner(&mut self, project: &FluxloopProject) {
        let kind = project.settings.runner.as_ref().map(|runner| runner.kind.as_str());
        self.add(match kind {
            Some("python-function" | "function") => FUNCTION_RUNNER,
            Some("process") => PROCESS_RUNNER,
            Some("skill") => SKILL_RUNNER,
            Some(kind) if kind.starts_with("http") => HTTP_REST_RUNNER,
            _ => RUNNERS,
        });
    }
}

pub(super) fn framework_topic(name: &str) -> String {
    format!("{}_integration", name.replace('-', "_"))
}

pub(crate) fn integration_topics(
    profile: &Profile,
    runner: Option<&str>,
    located: &LocatedProjects,
) -> Vec<String> {
    let mut topics = TopicList::default();
    let known = profile.frameworks.iter().filter(|one| fluxloop::find_recipe(one.name).is_some());
    known.take(3).for_each(|framework| topics.add(framework_topic(framework.name)));
    match runner {
        Some(runner) if runner.starts_with("http") => topics.add(HTTP_REST_RUNNER),
        Some("process" | "subprocess-jsonl") => topics.add(PROCESS_RUNNER),
        _ => topics.add(FUNCTION_RUNNER),
    }
    located.projects.list.iter().for_each(|project| topics.add_runner(project));
    topics.add(SIMULATION_CONFIG);
    topics.add_if(profile.agents.iter().any(|agent| agent.is_async), ASYNC_AND_STREAMING);
    topics.add(if located.projects.list.is_empty() { CHOOSE_CLI } else { PROJECT_STRUCTURE });
    topics.0
}

pub(crate) fn base_input_topics(located: &LocatedProjects) -> Vec<String> {
    let mut topics = TopicList(vec![PERSONA_DESIGN.to_owned(), INPUT_GENERATION.to_owned()]);
    let any = |is_so: fn(&FluxloopProject) -> bool| located.projects.list.iter().any(is_so);
    topics.add_if(
        located.projects.list.is_empty() || any(|project| project.line != fluxloop::ReleaseLine::V04),
        VARIATION,
    );
    topics.add_if(any(|project| project.settings.multi_turn.enabled), MULTI_TURN);
    topics.add_if(any(|project| !matches!(project.inputs.source, InputSource::File)), SIMULATION_CONFIG);
    topics.0
}

pub(crate) fn experiment_topics(located: &LocatedProjects, experiments: &[Experiment]) -> Vec<String> {
    let mut topics = TopicList(vec![EXPERIMENT_EXECUTION.to_owned(), RUNNERS.to_owned()]);
    let projects = &located.projects.list;
    for project in projects {
        topics.add_runner(project);
    }
    topics.add_if(projects.iter().any(|project| project.settings.multi_turn.enabled), MULTI_TURN);
    topics.add_if(experiments.iter().any(|experiment| experiment.failed > Some(0)), FAILED_RUNS);
    let has_variables = |project: &FluxloopProject| {
        project.settings.runner.as_ref().is_some_and(|runner| !runner.environment_names.is_empty())
    };
    topics.add_if(projects.iter().any(has_variables), ENVIRONMENT_VARIABLES);
    topics.0
}

pub(crate) fn insight_topics(experiments: &[Experiment]) -> Vec<String> {
    let mut topics =
        TopicList([EVALUATION_CONFIG, SUCCESS_CRITERIA, REPORTS].into_iter().map(str::to_owned).collect());
    let any = |is_so: &dyn Fn(&Experiment) -> bool| experiments.iter().any(is_so);
    topics.add_if(any(&|one| one.contract.is_some()), CONTRACTS);
    let is_judged = |one: &Experiment| one.evaluation.as_ref().and_then(|evaluation| evaluation.fully_judged);
    let is_unjudged = |one: &Experiment| is_judged(one) == Some(false);
    topics.add_if(any(&|one| is_judged(one) == Some(true)), RULES);
    topics.add_if(any(&is_unjudged), LLM_JUDGE);
    topics.add_if(any(&is_unjudged), JUDGE_KEYS);
    topics.add_if(any(&|one| one.failed > Some(0)), FAILED_RUNS);
    topics.add_if(any(&|one| one.details.is_some()), TRACES);
    topics.0
}

#[cfg(test)]
mod tests {
    use knowledge::{Query, shipped};

    use super::*;

    const ALL_TOPICS: &[&str] = &[
        ASYNC_AND_STREAMING,
        CHOOSE_CLI,
        CONTRACTS,
        ENVIRONMENT_VARIABLES,
        EVALUATION_CONFIG,
        EXPERIMENT_EXECUTION,
        FAILED_RUNS,
        FUNCTION_RUNNER,
        HTTP_REST_RUNNER,
        INPUT_GENERATION,
        JUDGE_KEYS,
        LLM_JUDGE,
        MULTI_TURN,
        PERSONA_DESIGN,
        PROCESS_RUNNER,
        PROJECT_STRUCTURE,
        REPORTS,
        RULES,
        RUNNERS,
        SIMULATION_CONFIG,
        SKILL_RUNNER,
        SUCCESS_CRITERIA,
        TRACES,
        VARIATION,
    ];

    #[test]
    fn every_topic_gets_an_answer_with_a_citation() {
        let frameworks = fluxloop::RECIPES.iter().map(|recipe| framework_topic(recipe.name));
        let mut unanswered = Vec::new();
        for topic in ALL_TOPICS.iter().map(|topic| (*topic).to_owned()).chain(frameworks) {
            let answer = shipped::library().answer(&Query { text: &topic, hints: &[], top: 5 }).unwrap();
            match answer.citations.first() {
                Some(first) => println!("{topic}: {}", first.path),
                None => unanswered.push(format!("{topic} ({:.2}): {:?}", answer.score, answer.weak)),
            }
        }
        assert!(unanswered.is_empty(), "{unanswered:#?}");
    }
}
