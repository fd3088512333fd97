//! The file through which FluxLoop calls a Python program that it cannot call as it is.

use std::collections::BTreeSet;

use serde_json::json;

use crate::application::Application;
use crate::crew::CrewCall;
use crate::endpoint::{AgentEndpoint, render_template};
use crate::graph::GraphCall;
use crate::python::ObjectSource;
use crate::python_module::PythonModule;
use crate::recipe::InProcessClient;
use crate::target::{TargetFunction, TextCall};

/// The module that is written.
pub(crate) const WRAPPER_MODULE: &str = "fluxloop_target";

/// A call of a function of the program.
#[derive(Clone, Copy)]
pub(crate) struct FunctionCall<'c> {
    pub(crate) module: &'c PythonModule,
    pub(crate) function: &'c TargetFunction,
    pub(crate) passing: &'c TextCall,
    /// What a method is called on.
    pub(crate) object: Option<&'c ObjectSource>,
    /// The Flask application that it needs around it.
    pub(crate) context: Option<&'c Application>,
    /// The application that has to run meanwhile.
    pub(crate) lifespan: Option<&'c Application>,
    /// The modules of the files that make its object and arguments.
    pub(crate) modules: &'c [(String, PythonModule)],
}

/// What all such files have in common.
#[derive(Clone, Copy)]
pub(crate) struct PythonWrapper<'a> {
    /// The folder that the file goes to.
    pub(crate) folder: &'a str,
    /// Where the program's modules are found.
    pub(crate) root: &'a str,
    /// Where others of them are found.
    pub(crate) more_roots: &'a [String],
    /// The folder that the program expects to be started in.
    pub(crate) start_folder: Option<&'a str>,
    /// The program reads an `.env` file in code that the call may not come by.
    pub(crate) loads_env_file: bool,
    /// The settings of a Django project.
    pub(crate) django: Option<&'a str>,
    /// The host that a request to a Django project names.
    pub(crate) host: &'a str,
    /// How the SDK records a run.
    pub(crate) recording: Recording<'a>,
}

/// How the SDK records what a wrapper runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recording<'a> {
    None,
    /// FluxLoop opens a trace; the wrapper is the outermost function in it.
    Decorated {
        name: &'a str,
    },
    /// FluxLoop opens none: the wrapper does. `records_agent`: nothing inside is decorated as the agent.
    OwnTrace {
        name: &'a str,
        records_agent: bool,
    },
}

/// An object of an agent framework that is run with a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentObject {
    Graph,
    OpenAiAgent,
    PydanticAgent,
    AutogenAgent,
    LlamaAgent,
    AdkAgent,
    /// A chain of `LangChain` that is invoked.
    Chain,
    /// An executor of `LangChain` for an agent with tools.
    Executor,
    /// An agent of ADK with what applies to all of its runs.
    AdkApp,
}

impl AgentObject {
    /// The kind of object that a call makes, in a file that imports these modules.
    pub(crate) fn from_constructor(callee: &str, imports: &[(String, Option<String>)]) -> Option<Self> {
        let from = |module: &str| imports.iter().any(|(known, _)| known.split('.').next() == Some(module));
        let from_langchain = || imports.iter().any(|(known, _)| known.starts_with("langchain"));
        let from_adk = || imports.iter().any(|(known, _)| known.starts_with("google.adk"));
        match callee.rsplit('.').next()?.trim_end_matches("()") {
            _ if from_langchain() && Self::from_chain_constructor(callee).is_some() => {
                Self::from_chain_constructor(callee)
            }
            "compile" if from("langgraph") && callee != "re.compile" => Some(Self::Graph),
            "create_react_agent" | "create_agent" if from("langgraph") || from("langchain") => {
                Some(Self::Graph)
            }
            "create_deep_agent" | "async_create_deep_agent" if from("deepagents") => Some(Self::Graph),
            "Agent" if from("pydantic_ai") => Some(Self::PydanticAgent),
            "Agent" if from("agents") => Some(Self::OpenAiAgent),
            "App" if from_adk() => Some(Self::AdkApp),
            "Agent" | "LlmAgent" | "SequentialAgent" | "LoopAgent" | "ParallelAgent" if from_adk() => {
                Some(Self::AdkAgent)
            }
            "AssistantAgent" | "RoundRobinGroupChat" | "SelectorGroupChat" | "Swarm"
                if from("autogen_agentchat") =>
            {
                Some(Self::AutogenAgent)
            }
            "FunctionAgent" | "ReActAgent" | "AgentWorkflow" if from("llama_index") => Some(Self::LlamaAgent),
            _ => None,
        }
    }

    /// What it is, for people.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Graph => "a LangGraph graph",
            Self::OpenAiAgent => "an agent of the OpenAI Agents SDK",
            Self::PydanticAgent => "a Pydantic AI agent",
            Self::AutogenAgent => "an AutoGen agent or team",
            Self::LlamaAgent => "a LlamaIndex agent",
            Self::Chain => "a chain of LangChain",
            Self::Executor => "an agent of LangChain",
            Self::AdkAgent => "an agent of Google ADK",
            Self::AdkApp => "an application of Google ADK",
        }
    }

    /// More that has to be imported, and the lines that run it.
    fn render_call(self, name: &str, call: &GraphCall) -> (&'static str, String) {
        let compiled = if call.is_builder { ".compile()" } else { "" };
        let made = match call.factory {
            None if call.is_builder => format!("{name}.compile()"),
            None => name.to_owned(),
            Some(false) => format!("{name}(){compiled}"),
            Some(true) => format!("(await {name}()){compiled}"),
        };
        let name = made.as_str();
        match self {
            Self::Chain | Self::Executor => {
                let (input, output) = call.chain.clone().unwrap_or_else(|| ("message".to_owned(), None));
                let answer = match output {
                    Some(key) => format!("result[{}]", json!(key)),
                    None => "result".to_owned(),
                };
                ("", format!("    result = await {name}.ainvoke({input})\n    return _text({answer})"))
            }
            Self::Graph => {
                let context =
                    call.context.as_ref().map(|class| format!(", context={class}()")).unwrap_or_default();
                let config = if call.has_checkpointer {
                    ", config={\"configurable\": {\"thread_id\": str(uuid.uuid4())}}"
                } else {
                    ""
                };
                let import = match (call.has_checkpointer, call.fields.is_none()) {
                    (true, true) => {
                        "import uuid  # noqa: E402\n\nfrom langchain_core.messages import HumanMessage  # noqa: E402\n"
                    }
                    (true, false) => "import uuid  # noqa: E402\n\n",
                    (false, true) => "from langchain_core.messages import HumanMessage  # noqa: E402\n",
                    (false, false) => "",
                };
                let invoke =
                    if call.is_sync { format!("{made}.invoke") } else { format!("await {made}.ainvoke") };
                let call_line = format!("    result = {invoke}(state{config}{context})");
                let lines = match &call.fields {
                    None => vec![
                        "    state = {\"messages\": [HumanMessage(content=message)]}".to_owned(),
                        call_line,
                        match &call.answer {
                            _ if call.output.is_some() => {
                                format!("    return _text(result[{}])", json!(call.output))
                            }
                            Some(answer) => {
                                format!(
                                    "    return _text(result.get({}) or result[\"messages\"][-1])",
                                    json!(answer)
                                )
                            }
                            None => "    return _text(result[\"messages\"][-1])".to_owned(),
                        },
                    ],
                    Some((input, output)) => vec![
                        format!("    state = {{{}: message}}", json!(input)),
                        call_line,
                        format!("    return _text(result[{}])", json!(output)),
                    ],
                };
                (import, lines.join("\n"))
            }
            Self::OpenAiAgent => (
                "from agents import Runner  # noqa: E402\n",
                format!(
                    "    result = await Runner.run({name}, message)\n    return _text(result.final_output)"
                ),
            ),
            Self::PydanticAgent => (
                "",
                format!(
                    "    result = await {name}.run(message)\n    # Older versions call it `data`.\n    return _text(result.output if hasattr(result, \"output\") else result.data)"
                ),
            ),
            Self::AutogenAgent => (
                "",
                format!(
                    "    result = await {name}.run(task=message)\n    return _text(result.messages[-1].content)"
                ),
            ),
            Self::LlamaAgent => ("", format!("    return str(await {name}.run(message))")),
            Self::AdkAgent | Self::AdkApp => (
                "from google.adk.runners import InMemoryRunner  # noqa: E402\nfrom google.genai import types  # noqa: E402\n\n",
                include_str!("templates/adk.py").trim_end().replace(
                    "@AGENT@",
                    &format!("{}={name}", if self == Self::AdkApp { "app" } else { "agent" }),
                ),
            ),
        }
    }
}

/// What is imported under a name, and the name that it then has: not one that the file defines itself.
fn imported_name(name: &str) -> (String, String) {
    #[rustfmt::skip] // a list, not a column
    const OWN: &[&str] = &[
        "run", "message", "json", "os", "sys", "ast", "uuid", "Path", "fluxloop", "django", "load_dotenv", "result", "state", "runner",
        "session", "content", "types",
    ];
    if OWN.contains(&name) || name.starts_with('_') {
        let other = format!("agent_{}", name.trim_start_matches('_'));
        return (format!("{name} as {other}"), other);
    }
    (name.to_owned(), name.to_owned())
}

impl PythonWrapper<'_> {
    pub(crate) fn path(&self) -> String {
        format!("{}/{WRAPPER_MODULE}.py", self.folder)
    }

    pub(crate) fn target() -> String {
        format!("{WRAPPER_MODULE}:run")
    }

    /// Calls a function.
    pub(crate) fn wrap_function(&self, call: &FunctionCall<'_>) -> String {
        let FunctionCall { module, function, passing, object, context, lifespan, modules } = *call;
        let argument = passing.render();
        let method = function.name.rsplit('.').next().unwrap_or_default();
        let (import, call) = match (function.owner_class(), object) {
            (Some(_), Some(ObjectSource::Beside(object))) => {
                let (import, name) = imported_name(object);
                (import, format!("{name}.{method}({argument})"))
            }
            (Some(_), Some(ObjectSource::Made(made))) => {
                (String::new(), format!("{}.{method}({argument})", made.expression))
            }
            (Some(owner), None) => {
                let (import, name) = imported_name(owner);
                let given: Vec<String> =
                    passing.for_class.iter().map(|(name, value)| format!("{name}={value}")).collect();
                (import, format!("{name}({}).{method}({argument})", given.join(", ")))
            }
            (None, _) => {
                let (import, name) = imported_name(&function.name);
                (import, format!("{name}({argument})"))
            }
        };
        let (join, end) = if function.yields_frames { ("_reply(", ")") } else { ("", "") };
        let awaits_object =
            passing.awaits || matches!(object, Some(ObjectSource::Made(made)) if made.is_async);
        let body = match (function.is_async || awaits_object, function.is_generator) {
            (true, true) if !function.is_async => format!(
                "async def run(message: str) -> str:\n    return {join}\"\".join([_text(piece) for piece in {call}]){end}"
            ),
            (true, false) if !function.is_async => {
                format!("async def run(message: str) -> str:\n    return _text({call})")
            }
            (false, false) if function.returns_text => {
                format!("def run(message: str) -> str:\n    return {call}")
            }
            (true, false) if function.returns_text => {
                format!("async def run(message: str) -> str:\n    return await {call}")
            }
            (false, false) => format!("def run(message: str) -> str:\n    return _text({call})"),
            (true, false) => format!("async def run(message: str) -> str:\n    return _text(await {call})"),
            (false, true) => {
                format!(
                    "def run(message: str) -> str:\n    return {join}\"\".join(_text(piece) for piece in {call}){end}"
                )
            }
            (true, true) => format!(
                "async def run(message: str) -> str:\n    return {join}\"\".join([_text(piece) async for piece in {call}]){end}"
            ),
        };
        let classes = passing.classes.iter().map(String::as_str);
        let mut imports = passing.import.unwrap_or_default().to_owned();
        let mut import_from = |module: &PythonModule, names: Vec<&str>| {
            if !names.is_empty() {
                imports.extend(["from ", &module.name, " import ", &names.join(", "), "  # noqa: E402\n"]);
            }
        };
        let own = std::iter::once(import.as_str()).filter(|import| !import.is_empty());
        import_from(module, own.chain(classes).collect());
        let made = match object {
            Some(ObjectSource::Made(made)) => made.imports.as_slice(),
            _ => &[],
        };
        let mut known = BTreeSet::new();
        for (path, name) in made.iter().chain(&passing.imports).filter(|one| known.insert(*one)) {
            if let Some(module) = modules.iter().find(|(file, _)| file == path).map(|(_, module)| module) {
                import_from(module, vec![name]);
            }
        }
        let mut body = body;
        if let Some(application) = context {
            let (lines, name) = application.import_lines();
            imports.push_str(&lines);
            // Flask's objects exist only in here.
            let (head, rest) = body.split_once('\n').unwrap_or((&body, ""));
            let rest = rest.replace('\n', "\n    ");
            body = format!("{head}\n    with {name}.test_request_context():\n    {rest}");
        }
        if let Some(application) = lifespan {
            let (lines, name) = application.import_lines();
            imports.insert_str(0, "from starlette.testclient import TestClient  # noqa: E402\n\n");
            imports.push_str(&lines);
            // In the event loop that the application has started its things in.
            let call = if function.is_async || awaits_object {
                "client.portal.call(_answer, message)"
            } else {
                "_answer(message)"
            };
            let answer = body.replacen("def run(", "def _answer(", 1);
            body = format!(
                "def run(message: str) -> str:\n    with TestClient({name}){} :\n        return {call}\n\n\n{answer}",
                if call.starts_with("client") { " as client" } else { "" }
            )
            .replace(" :\n", ":\n");
        }
        self.render(&imports, &body, !passing.variables.is_empty())
    }

    /// Runs an object of an agent framework.
    pub(crate) fn wrap_object(
        &self,
        module: &PythonModule,
        name: &str,
        object: AgentObject,
        call: &GraphCall,
    ) -> String {
        let (import, name) = imported_name(name);
        let (more, lines) = object.render_call(&name, call);
        let context = call.context.as_ref().map(|class| format!("{class}, ")).unwrap_or_default();
        let imports = format!("{more}from {} import {context}{import}  # noqa: E402\n", module.name);
        let body = format!("async def run(message: str) -> str:\n{lines}");
        self.render(&imports, &body, false)
    }

    /// Starts a crew.
    pub(crate) fn wrap_crew(&self, crew: &CrewCall) -> String {
        let (import, body) = crew.render();
        self.render(&import, &body, false)
    }

    /// Sends a request through the program's own application object.
    pub(crate) fn wrap_route(
        &self,
        by: InProcessClient,
        app: Option<&Application>,
        endpoint: &AgentEndpoint,
    ) -> String {
        let (import, name) = app.map(Application::import_lines).unwrap_or_default();
        let (imports, lines) = match by {
            InProcessClient::Flask if endpoint.page_variable().is_some() => {
                (format!("import flask  # noqa: E402\n\n{import}"), {
                    let read =
                        endpoint.read_page("pages[-1] if pages else {}", "response.get_data(as_text=True)");
                    format!(
                        "    pages = []  # What the templates are given.\n    take = lambda _, context, **more: pages.append(context)  # noqa: \
                         E731\n    with flask.template_rendered.connected_to(take, {name}):\n        client = \
                         {name}.test_client()\n{}        response = client.{}\n    return _reply(response.status_code, {read})",
                        endpoint.lines_before("        "),
                        endpoint.test_client_call("flask"),
                    )
                })
            }
            InProcessClient::Flask => (import, {
                let call = endpoint.test_client_call("flask");
                let reply = "return _reply(response.status_code, response.get_data(as_text=True))";
                match endpoint.lines_before("    ") {
                    before if before.is_empty() => {
                        format!("    response = {name}.test_client().{call}\n    {reply}")
                    }
                    before => format!(
                        "    client = {name}.test_client()\n{before}    response = client.{call}\n    {reply}"
                    ),
                }
            }),
            InProcessClient::Starlette => (
                format!("from starlette.testclient import TestClient  # noqa: E402\n\n{import}"),
                endpoint.socket_lines(&name).unwrap_or_else(|| {
                    format!(
                        "    with TestClient({name}) as client:\n{}        response = client.{}\n    return \
                         _reply(response.status_code, {})",
                        endpoint.lines_before("        "),
                        endpoint.test_client_call("starlette"),
                        endpoint.read_page("getattr(response, \"context\", {})", "response.text")
                    )
                }),
            ),
            InProcessClient::Django => (
                {
                    let call = endpoint.test_client_call("django");
                    let encode =
                        if call.contains("urlencode(") { "from urllib.parse import urlencode\n" } else { "" };
                    let page = if endpoint.page_variable().is_some() {
                        "from django.test.utils import setup_test_environment  # noqa: E402\n\nsetup_test_environment()  # Keeps what the templates are given.\n"
                    } else {
                        ""
                    };
                    format!("{encode}from django.test import Client  # noqa: E402\n{page}")
                },
                format!(
                    "    response = Client(SERVER_NAME={}).{}\n    content = \
                     b\"\".join(response.streaming_content) if response.streaming else response.content\n    return \
                     _reply(response.status_code, {})",
                    json!(self.host),
                    endpoint.test_client_call("django"),
                    endpoint.read_page("response.context or {}", "content.decode()")
                ),
            ),
        };
        let body = format!("def run(message: str) -> str:\n{lines}");
        let uuid = if endpoint.makes_ids() { "import uuid  # noqa: E402\n\n" } else { "" };
        let imports = [uuid, imports.as_str()].concat();
        let values = self.template_values(&imports, &body, endpoint.reads_environment());
        let values: Vec<(&str, &str)> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
        endpoint.render_test_client(&values)
    }

    fn render(&self, imports: &str, body: &str, needs_variables: bool) -> String {
        let mut values = self.template_values(imports, body, needs_variables);
        let mut helpers = if needs_variables { include_str!("templates/required.py") } else { "" }.to_owned();
        if body.contains("_reply(") {
            let answer = include_str!("templates/answer.py");
            let text = include_str!("templates/text.py").trim_end();
            helpers.push_str("\n\ndef _reply(text: str) -> str:\n");
            helpers.push_str(render_template(answer, &[("PICK", "answer"), ("TEXT", text)]).trim_end());
            values.push(("JSON", "import ast\nimport json\n".to_owned()));
        } else if body.contains("_text(") {
            helpers.push_str(include_str!("templates/text.py").trim_end());
            values.push(("JSON", "import json\n".to_owned()));
        } else {
            values.push(("JSON", String::new()));
        }
        values.push(("TEXT", helpers));
        let values: Vec<(&str, &str)> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
        render_template(include_str!("templates/wrapper.py"), &values).trim_end().to_owned() + "\n"
    }

    /// What the templates have in common.
    fn template_values(
        &self,
        imports: &str,
        body: &str,
        reads_environment: bool,
    ) -> Vec<(&'static str, String)> {
        let up = self.folder.split('/').count().to_string();
        let root = |folder: &str| {
            let inside = if folder.is_empty() { String::new() } else { format!(" / {}", json!(folder)) };
            format!("Path(__file__).resolve().parents[{up}]{inside}")
        };
        let mut setup = String::new();
        if let Some(settings) = self.django {
            setup = [
                "import django  # noqa: E402\n\n",
                &format!("os.environ.setdefault(\"DJANGO_SETTINGS_MODULE\", {})\n", json!(settings)),
                "django.setup()\n\n",
            ]
            .concat();
        }
        let run = match self.recording {
            Recording::None => body.to_owned(),
            Recording::Decorated { name } => {
                setup.push_str("import fluxloop  # noqa: E402\n");
                format!("@fluxloop.agent(name={})\n{body}", json!(name))
            }
            Recording::OwnTrace { name, records_agent } => {
                setup.push_str(include_str!("templates/records.py"));
                let (prefix, call) =
                    if body.starts_with("async ") { ("async ", "await _run") } else { ("", "_run") };
                let decorator = if records_agent {
                    format!("@fluxloop.agent(name={})\n", json!(name))
                } else {
                    String::new()
                };
                format!(
                    "{prefix}def run(message: str) -> str:\n    with fluxloop.instrument({}):\n        return {call}(message)\n\n\n\
                     {decorator}{}",
                    json!(name),
                    body.replacen("def run(", "def _run(", 1)
                )
            }
        };
        setup.push_str(imports);
        let mut place = format!("sys.path.insert(0, str({}))\n", root(self.root));
        for more in self.more_roots {
            place.extend(["sys.path.append(str(", &root(more), "))\n"]);
        }
        if let Some(folder) = self.start_folder {
            place.push_str("# It finds its files, such as .env, from the folder that it is started in.\n");
            place.extend(["os.chdir(", &root(folder), ")\n"]);
        }
        if self.loads_env_file {
            place.push_str("load_dotenv()\n");
        }
        let needs_os = reads_environment || self.django.is_some() || self.start_folder.is_some();
        let dotenv = if self.loads_env_file { "\nfrom dotenv import load_dotenv\n" } else { "" };
        vec![
            ("PLACE", place),
            ("SETUP", setup.trim_end().to_owned()),
            ("IMPORTS", if needs_os { "import os\n" } else { "" }.to_owned()),
            ("PACKAGES", dotenv.to_owned()),
            ("RUN", run),
        ]
    }
}
