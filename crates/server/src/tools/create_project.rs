//! `create_project`: creates a project from a template or as a copy. Asks for missing arguments.

use design_tokens::TokenDocument;
use flow::{Conversation, Flow, Halt, InvalidAnswer, choice, text};
use projects::blocks::{BlockLookupResults, BlockSlot, insert};
use projects::limits::{MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS};
use projects::{
    Block, IdGenerator, NewBlock, NewProject, NewProjectFields, ProjectFields, ProjectRejection,
    ValidationProblem,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::support::projects::view::ProjectView;
use super::{Effect, InteractiveTool, ToolSpec, Toolset};
use crate::ToolContext;
use crate::app::project_scope::{ProjectChange, ProjectScope, WriteOptions};
use crate::error::RequestError;

/// Create a project, or copy one with `copyOf`. Asks for missing arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    name: Option<String>,
    /// What it is for.
    description: Option<String>,
    /// Name in URLs; default: derived from the name.
    slug: Option<String>,
    /// Initial content.
    template: Option<ProjectTemplate>,
    /// Id of the project to copy: blocks, assets, design system.
    copy_of: Option<String>,
    /// With `copyOf`: fail if the original is at another revision.
    if_revision: Option<u64>,
    /// Validate without writing.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum ProjectTemplate {
    Landing,
    Page,
    Empty,
    Bare,
}

impl ProjectTemplate {
    const OPTIONS: [(&str, &str); 4] = [
        ("landing", "A landing page and starter design tokens"),
        ("page", "One page and starter design tokens"),
        ("empty", "Starter design tokens only"),
        ("bare", "Nothing"),
    ];

    fn parse(name: &str) -> Self {
        match name {
            "landing" => Self::Landing,
            "page" => Self::Page,
            "bare" => Self::Bare,
            _ => Self::Empty,
        }
    }

    /// The initial blocks of a project with this name.
    fn block_specs(self, name: &str) -> Value {
        let page = |children: Value| json!([{ "type": "page", "props": { "title": name, "path": "/" }, "children": children }]);
        match self {
            Self::Empty | Self::Bare => json!([]),
            Self::Page => page(json!([{ "type": "heading", "props": { "text": name, "level": 1 } }])),
            Self::Landing => page(json!([
                { "type": "hero", "props": { "title": name, "subtitle": "Say in one sentence what this is for." } },
                { "type": "section", "props": { "title": "What you get" }, "children": [
                    { "type": "columns", "children": [
                        { "type": "column", "children": [{ "type": "card", "props": { "title": "First", "text": "Why it matters." } }] },
                        { "type": "column", "children": [{ "type": "card", "props": { "title": "Second", "text": "Why it matters." } }] },
                        { "type": "column", "children": [{ "type": "card", "props": { "title": "Third", "text": "Why it matters." } }] },
                    ] },
                ] },
                { "type": "section", "props": { "title": "Begin" }, "children": [
                    { "type": "button", "props": { "label": "Get started", "href": "/" } },
                ] },
            ])),
        }
    }

    fn build_blocks(self, name: &str, ids: &mut IdGenerator) -> Result<Vec<Block>, ProjectRejection> {
        let new = NewBlock::parse(&self.block_specs(name))?;
        let spot = BlockSlot::default();
        let keys = spot.order_keys(new.len()).unwrap_or_default();
        insert(&spot, keys, &BlockLookupResults::default(), &new, &mut || ids.next_block_id())
    }
}

pub(crate) struct CreateProject {
    call: ToolContext,
}

impl InteractiveTool for CreateProject {
    const SPEC: ToolSpec = ToolSpec {
        name: "create_project",
        title: "Create a project",
        toolset: Toolset::Projects,
        effect: Effect::Create,
    };
    type Conversation = Self;

    fn conversation(call: &ToolContext) -> Self {
        Self { call: call.clone() }
    }
}

/// Name, purpose, template, creation.
const STAGE_COUNT: u32 = 4;

impl Conversation for CreateProject {
    type Args = Args;
    type Reply = ProjectView;

    async fn run(&self, f: &mut Flow<'_>, args: Args) -> Result<ProjectView, Halt> {
        // Before any question: the user should not answer in vain.
        self.validate_args(&args).await?;
        f.report_progress(1, STAGE_COUNT, "Name");
        let name =
            text("What is the project called?").length(1..=MAX_NAME_CHARS).placeholder("e.g. My website");
        let fits = |name: &String| validate_fields(Some(name), None);
        let name = f.ask_until("name", name, fits).await?;
        f.report_progress(2, STAGE_COUNT, "Purpose");
        let purpose = text("What is it for?").length(0..=MAX_DESCRIPTION_CHARS).optional();
        let fits = |text: &Option<String>| validate_fields(None, text.as_deref());
        let description = f.ask_until("description", purpose, fits).await?.unwrap_or_default();
        let template = if args.copy_of.is_some() {
            ProjectTemplate::Empty
        } else {
            f.report_progress(3, STAGE_COUNT, "Template");
            let wish = choice("What should it start with?", ProjectTemplate::OPTIONS).default("empty");
            ProjectTemplate::parse(&f.ask("template", wish).await?)
        };
        f.report_progress(STAGE_COUNT, STAGE_COUNT, "Creating the project");
        let fields = NewProjectFields { name, slug: args.slug, description, metadata: Map::new() };
        let guard = WriteOptions { if_revision: args.if_revision, dry_run: args.dry_run };
        let wish = ProjectCreation { fields, template, copy_of: args.copy_of, write_options: guard };
        let made: ProjectView = f.once("create", async || Ok(self.create(wish).await?)).await?;
        let done = if made.dry_run { "Would create" } else { "Created" };
        f.set_summary(format!("{done} the project {} ({}).", made.name, made.id));
        Ok(made)
    }
}

/// The problems of a new project's fields. Unknown fields have none.
fn field_problems(
    name: Option<&str>,
    slug: Option<&str>,
    description: Option<&str>,
) -> Vec<ValidationProblem> {
    let or_fine = |text: Option<&str>| text.unwrap_or("x").to_owned();
    let (name, slug, description) = (or_fine(name), or_fine(slug), or_fine(description));
    ProjectFields { name, slug, description, metadata: Map::new() }.problems()
}

/// Validates an answer to the question for a name or description.
fn validate_fields(name: Option<&str>, description: Option<&str>) -> Result<(), InvalidAnswer> {
    match field_problems(name, None, description).into_iter().next() {
        None => Ok(()),
        Some(problem) => Err(InvalidAnswer::new("That is not valid", format!("It {}", problem.message))),
    }
}

struct ProjectCreation {
    fields: NewProjectFields,
    template: ProjectTemplate,
    copy_of: Option<String>,
    write_options: WriteOptions,
}

impl CreateProject {
    /// Rejects arguments that no answer could fix. Whether a slug is free is decided when the project is
    /// created.
    async fn validate_args(&self, args: &Args) -> Result<(), RequestError> {
        let Args { name, slug, description, copy_of, .. } = args;
        if copy_of.is_none() && args.if_revision.is_some() {
            return Err(RequestError::invalid_argument(
                "ifRevision",
                "a new project has no revision; use it with `copyOf`",
            ));
        }
        if copy_of.is_some() && args.template.is_some() {
            return Err(RequestError::invalid_argument(
                "template",
                "a copy starts with the content of the original; omit it",
            ));
        }
        ProjectRejection::reject_if_any(field_problems(
            name.as_deref(),
            slug.as_deref(),
            description.as_deref(),
        ))?;
        let Some(original) = copy_of else { return Ok(()) };
        let guard = WriteOptions { if_revision: args.if_revision, dry_run: args.dry_run };
        ProjectScope::for_call(&self.call).await?.load_for_write(original, guard).await?;
        Ok(())
    }

    async fn create(&self, request: ProjectCreation) -> Result<ProjectView, RequestError> {
        let ProjectCreation { fields, template, copy_of, write_options: guard } = request;
        let scope = ProjectScope::for_call(&self.call).await?;
        let mut ids = IdGenerator::from_seed(scope.seed());
        let id = ids.next_project_id();
        let project = if let Some(original) = copy_of {
            let original = scope.resolve_project_id(&original)?;
            scope.store().duplicate_project(scope.write(&original, guard), id, fields).await?
        } else {
            let mut new = NewProject::empty(id, fields);
            new.blocks = template.build_blocks(&new.fields.name, &mut ids)?;
            if template == ProjectTemplate::Bare {
                new.design = TokenDocument::default();
            }
            scope.store().create_project(&scope.account, new, guard.dry_run, self.call.now).await?
        };
        scope.notify(&project.id, ProjectChange::List, guard);
        Ok(ProjectView::after_write(project, guard))
    }
}
