//! The configuration by which FluxLoop runs a program, new or in a project that is there.

use codebase::plan::{Anchor, Edit, Payload, Setting, Strategy};
use serde_json::{Value, json};
use tree::Tree;

use crate::layout::{self, FluxloopLayout};
use crate::release_line::ReleaseLine;

/// What FluxLoop calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RunnerConfig {
    /// A Python function.
    Function {
        /// `module:function`.
        target: String,
        /// The folder that the module is found from, from the root; nothing: the project's own.
        folder: Option<String>,
    },
    /// A program that reads and writes lines of JSON. Only 0.4 has that.
    Process {
        /// Its words.
        command: Vec<String>,
    },
}

/// A project or scenario, and what runs in it.
pub(crate) struct ProjectConfig<'a> {
    pub(crate) release_line: ReleaseLine,
    pub(crate) name: &'a str,
    pub(crate) runner: &'a RunnerConfig,
    /// Where the program listens, if it is reached over HTTP.
    pub(crate) url: Option<&'a str>,
}

pub(crate) const SAMPLE_INPUT: &str = "Hello, what can you do for me?";

pub(crate) fn create_file_edit(path: String, content: String, why: &str) -> Edit {
    Edit {
        filepath: path,
        strategy: Strategy::CreateFile,
        anchors: Vec::<Anchor>::new(),
        payload: Payload { code: Some(content), ..Payload::default() },
        rationale: why.to_owned(),
        changes: Vec::new(),
    }
}

impl ProjectConfig<'_> {
    /// The edits: a new project, or the runner of the one that is there.
    pub(crate) fn edits(&self, tree: &Tree, layout: &FluxloopLayout) -> Vec<Edit> {
        match layout.projects.iter().find(|(name, _)| name == self.name) {
            Some((_, folder)) => self.update_edits(tree, folder),
            None => self.create_edits(),
        }
    }

    fn create_edits(&self) -> Vec<Edit> {
        let folder = self.release_line.project_folder(self.name);
        let simulation = create_file_edit(
            format!("{folder}/configs/simulation.yaml"),
            self.render_simulation(),
            "FluxLoop reads from here what to run and with which inputs.",
        );
        let inputs = || {
            create_file_edit(
                format!("{folder}/inputs/inputs.yaml"),
                format!("inputs:\n  - input: {}\n", json!(SAMPLE_INPUT)),
                "One input to begin with; add your own.",
            )
        };
        let head = |file: &str| {
            let path = format!("{folder}/configs/{file}");
            create_file_edit(
                path,
                format!("name: {}\n", self.name),
                "This line of FluxLoop does not start without it.",
            )
        };
        match self.release_line {
            ReleaseLine::V02 => vec![head("project.yaml"), simulation, inputs()],
            ReleaseLine::V03 => vec![head("scenario.yaml"), simulation, inputs()],
            ReleaseLine::V04 => vec![simulation],
        }
    }

    /// The keys of `runner`, in the order in which people read them.
    fn runner_keys(&self) -> Vec<(&'static str, Value)> {
        let mut keys = Vec::new();
        match self.runner {
            RunnerConfig::Function { target, folder } => {
                if self.release_line == ReleaseLine::V04 {
                    keys.push(("type", json!("function")));
                }
                keys.push(("target", json!(target)));
                let folder = match folder {
                    Some(folder) => self.release_line.working_directory(folder),
                    None => self.release_line.project_working_directory(self.name),
                };
                keys.push(("working_directory", json!(folder)));
            }
            RunnerConfig::Process { command } => {
                keys.push(("type", json!("process")));
                keys.push(("command", json!(command)));
            }
        }
        keys
    }

    fn render_simulation(&self) -> String {
        let runner: Vec<String> = self
            .runner_keys()
            .into_iter()
            .map(|(key, value)| format!("  {key}: {}\n", value.to_string().replace(",\"", ", \"")))
            .collect();
        let url = self.url.map(|url| format!("  environment_vars:\n    AGENT_URL: {}\n", json!(url)));
        let inputs = match self.release_line {
            ReleaseLine::V02 | ReleaseLine::V03 => "inputs_file: inputs/inputs.yaml\n".to_owned(),
            ReleaseLine::V04 => format!("input:\n  items:\n    - text: {}\n", json!(SAMPLE_INPUT)),
        };
        let head = format!("name: {}\niterations: 1\nrunner:\n", self.name);
        [head, runner.concat(), url.unwrap_or_default(), inputs].concat()
    }

    fn update_edits(&self, tree: &Tree, folder: &str) -> Vec<Edit> {
        let inside =
            |path: &str| if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") };
        let path = inside("configs/simulation.yaml");
        let text = tree
            .read(&path, 1 << 20)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .unwrap_or_default();
        let setting = |key: &str, value: Value| Setting {
            key: key.split('.').map(str::to_owned).collect(),
            value,
            append: false,
        };
        let mut set: Vec<Setting> = self
            .runner_keys()
            .into_iter()
            .map(|(key, value)| setting(&format!("runner.{key}"), value))
            .collect();
        // The older way to name the target stands beside it in generated files, and is shown by the CLI.
        if let RunnerConfig::Function { target, .. } = self.runner
            && let Some((module, function)) = target.split_once(':')
            && text.contains("module_path:")
        {
            set.push(setting("runner.module_path", json!(module)));
            set.push(setting("runner.function_name", json!(function)));
        }
        if let Some(url) = self.url {
            set.push(setting("runner.environment_vars.AGENT_URL", json!(url)));
        }
        let named = layout::find_inputs_file(tree, folder);
        let needs_inputs = self.release_line != ReleaseLine::V04;
        if needs_inputs && named.is_none() {
            set.push(setting("inputs_file", json!("inputs/inputs.yaml")));
        }
        let mut edits = vec![Edit {
            filepath: path,
            strategy: Strategy::ModifyConfig,
            anchors: Vec::new(),
            payload: Payload { set, ..Payload::default() },
            rationale: "Points the runner of this project at the agent; everything else in the file stays."
                .to_owned(),
            changes: Vec::new(),
        }];
        let inputs = inside(named.as_deref().unwrap_or("inputs/inputs.yaml"));
        if needs_inputs && tree.metadata(&inputs).is_ok_and(|found| found.is_none()) {
            let content = format!("inputs:\n  - input: {}\n", json!(SAMPLE_INPUT));
            edits.push(create_file_edit(
                inputs,
                content,
                "The project names this file, and does not run without it.",
            ));
        }
        edits
    }
}
