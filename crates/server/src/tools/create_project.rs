//! `create_project`: a new project, from nothing or as a copy. Asks for what is not given.

use design_tokens::Document;
use flow::{Conversation, Flow, Halt, Invalid, choice, text};
use projects::blocks::{Around, Spot, insert};
use projects::limits::{MAX_DESCRIPTION, MAX_NAME};
use projects::{Block, Fields, Ids, NewBlock, NewFields, NewProject, Problem, Refusal};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::support::projects::view::ProjectView;
use super::{Effect, InteractiveTool, ToolSpec, Toolset};
use crate::Call;
use crate::app::project_scope::{Changed, Desk, Guard};
use crate::error::Failure;

/// Create a project, or a copy of one with `copyOf`. Asks for what is not given.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    name: Option<String>,
    /// What it is for.
    description: Option<String>,
    /// Its name in addresses; made from the name without it.
    slug: Option<String>,
    /// What it begins with.
    template: Option<Template>,
    /// The id of the project to copy: blocks, assets, design system.
    copy_of: Option<String>,
    /// With `copyOf`: refuse if the original is at another revision.
    if_revision: Option<u64>,
    /// Only tell what would happen.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Template {
    Landing,
    Page,
    Empty,
    Bare,
}

impl Template {
    const OPTIONS: [(&str, &str); 4] = [
        ("landing", "A landing page and starter design tokens"),
        ("page", "One page and starter design tokens"),
        ("empty", "Starter design tokens alone"),
        ("bare", "Nothing at all"),
    ];

    fn parse(name: &str) -> Self {
        match name {
            "landing" => Self::Landing,
            "page" => Self::Page,
            "bare" => Self::Bare,
            _ => Self::Empty,
        }
    }

    /// The blocks that a project of this name begins with.
    fn blocks(self, name: &str) -> Value {
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

    fn rows(self, name: &str, ids: &mut Ids) -> Result<Vec<Block>, Refusal> {
        let new = NewBlock::parse(&self.blocks(name))?;
        let spot = Spot::default();
        let keys = spot.keys(new.len()).unwrap_or_default();
        insert(&spot, keys, &Around::default(), &new, &mut || ids.block())
    }
}

/// The tool, in one call.
pub(crate) struct CreateProject {
    call: Call,
}

impl InteractiveTool for CreateProject {
    const SPEC: ToolSpec = ToolSpec {
        name: "create_project",
        title: "Create a project",
        toolset: Toolset::Projects,
        effect: Effect::Creates,
    };
    type Talk = Self;

    fn talk(call: &Call) -> Self {
        Self { call: call.clone() }
    }
}

/// Name, purpose, what it begins with, and then it is made.
const STAGES: u32 = 4;

impl Conversation for CreateProject {
    type Args = Args;
    type Reply = ProjectView;

    async fn run(&self, f: &mut Flow<'_>, args: Args) -> Result<ProjectView, Halt> {
        // Nobody should answer questions for something that cannot be.
        self.foresee(&args).await?;
        f.progress(1, STAGES, "Name");
        let name = text("What is the project called?").length(1..=MAX_NAME).placeholder("Such as My website");
        let fits = |name: &String| judged(Some(name), None);
        let name = f.ask_until("name", name, fits).await?;
        f.progress(2, STAGES, "Purpose");
        let purpose = text("What is it for?").length(0..=MAX_DESCRIPTION).optional();
        let fits = |text: &Option<String>| judged(None, text.as_deref());
        let description = f.ask_until("description", purpose, fits).await?.unwrap_or_default();
        let template = if args.copy_of.is_some() {
            Template::Empty
        } else {
            f.progress(3, STAGES, "Beginning");
            let wish = choice("What should it begin with?", Template::OPTIONS).default("empty");
            Template::parse(&f.ask("template", wish).await?)
        };
        f.progress(STAGES, STAGES, "Creating it");
        let fields = NewFields { name, slug: args.slug, description, metadata: Map::new() };
        let guard = Guard { if_revision: args.if_revision, dry_run: args.dry_run };
        let wish = Wish { fields, template, copy_of: args.copy_of, guard };
        let made: ProjectView = f.once("create", async || Ok(self.create(wish).await?)).await?;
        let done = if made.dry_run { "Would create" } else { "Created" };
        f.summary(format!("{done} the project {} ({}).", made.name, made.id));
        Ok(made)
    }
}

/// What is wrong with what a project is to say of itself. What is not known yet is nothing to complain about.
fn problems(name: Option<&str>, slug: Option<&str>, description: Option<&str>) -> Vec<Problem> {
    let or_fine = |text: Option<&str>| text.unwrap_or("x").to_owned();
    let (name, slug, description) = (or_fine(name), or_fine(slug), or_fine(description));
    Fields { name, slug, description, metadata: Map::new() }.problems()
}

/// The same for whoever is asked for a name or a description.
fn judged(name: Option<&str>, description: Option<&str>) -> Result<(), Invalid> {
    match problems(name, None, description).into_iter().next() {
        None => Ok(()),
        Some(problem) => Err(Invalid::new("That cannot be kept", format!("It {}", problem.message))),
    }
}

/// What was wished for.
struct Wish {
    fields: NewFields,
    template: Template,
    copy_of: Option<String>,
    guard: Guard,
}

impl CreateProject {
    /// Refuses what no answer could make right. Whether a slug is free is decided when the project is made.
    async fn foresee(&self, args: &Args) -> Result<(), Failure> {
        let Args { name, slug, description, copy_of, .. } = args;
        if copy_of.is_none() && args.if_revision.is_some() {
            return Err(Failure::argument("ifRevision", "a new project has none; it is for `copyOf`"));
        }
        if copy_of.is_some() && args.template.is_some() {
            return Err(Failure::argument(
                "template",
                "a copy begins with what is in the original; leave it out",
            ));
        }
        Refusal::if_any(problems(name.as_deref(), slug.as_deref(), description.as_deref()))?;
        let Some(original) = copy_of else { return Ok(()) };
        let guard = Guard { if_revision: args.if_revision, dry_run: args.dry_run };
        Desk::of(&self.call).await?.look(original, guard).await?;
        Ok(())
    }

    async fn create(&self, wish: Wish) -> Result<ProjectView, Failure> {
        let Wish { fields, template, copy_of, guard } = wish;
        let desk = Desk::of(&self.call).await?;
        let mut ids = Ids::of(desk.seed());
        let id = ids.project();
        let project = if let Some(original) = copy_of {
            let original = desk.project(&original)?;
            desk.store().duplicate_project(desk.write(&original, guard), id, fields).await?
        } else {
            let mut new = NewProject::empty(id, fields);
            new.blocks = template.rows(&new.fields.name, &mut ids)?;
            if template == Template::Bare {
                new.design = Document::default();
            }
            desk.store().create_project(&desk.account, new, guard.dry_run, self.call.now).await?
        };
        desk.tell(&project.id, Changed::List, guard);
        Ok(ProjectView::written(project, guard))
    }
}
