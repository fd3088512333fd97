//! `fluxway projects`: works on the store directly, without a key, across all accounts.

mod export;
mod export_folder;
mod export_format;
mod import;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use server::Timestamp;
use server::projects::{Account, Error, Page, Project, ProjectId, ProjectStatus, ProjectStore};

use super::database;
use crate::args::ProjectsCommand;
use crate::config::Config;
use crate::exit::{self, CommandError, print_notice};
use crate::table::render_table;
use export_folder::StagedFolder;
use import::{ImportOptions, ImportOutcome};

pub(crate) fn run(config: &Config, command: ProjectsCommand) -> Result<(), CommandError> {
    if let ProjectsCommand::List { account: Some(account), .. }
    | ProjectsCommand::Export { account: Some(account), .. }
    | ProjectsCommand::Import { account: Some(account), .. } = &command
    {
        check_account(account)?;
    }
    let database = database::DatabaseHandle::for_settings(&config.serving);
    // Who reads has a database. A new one, made by a slip of the pen, would be an empty backup.
    if !matches!(command, ProjectsCommand::Import { .. }) {
        database.require_existing()?;
    }
    let stopped = interruption_notice(&command);
    database::run_with_store(&database, stopped, async move |store, now| {
        let owner = ProjectAdmin { store: store.projects(), now };
        match command {
            ProjectsCommand::List { account, json } => owner.list(account.as_deref(), json).await,
            ProjectsCommand::Export { id, account, out } => owner.export(&id, account.as_deref(), out).await,
            ProjectsCommand::Import { folder, account, copy } => {
                owner.import(&folder, account.as_deref(), copy).await
            }
            ProjectsCommand::Backup { folder } => owner.back_up(&folder).await,
        }
    })
}

/// What an interrupted command may have left behind.
fn interruption_notice(command: &ProjectsCommand) -> &'static str {
    match command {
        ProjectsCommand::List { .. } => "nothing has changed",
        ProjectsCommand::Export { .. } | ProjectsCommand::Backup { .. } => {
            "nothing is left of what was written; the same command begins anew"
        }
        ProjectsCommand::Import { copy: false, .. } => {
            "what was imported is whole, and nothing is left half done; the same command does the rest"
        }
        ProjectsCommand::Import { copy: true, .. } => {
            "what was imported is whole, and nothing is left half done; the same command would copy all of it once more"
        }
    }
}

/// The owner of the store.
struct ProjectAdmin {
    store: ProjectStore,
    now: Timestamp,
}

impl ProjectAdmin {
    async fn accounts(&self, only: Option<&str>) -> Result<Vec<Account>, CommandError> {
        match only {
            Some(name) => Ok(vec![Account::new(name)]),
            None => Ok(self.store.accounts().await?),
        }
    }

    async fn projects(&self, account: Option<&str>) -> Result<Vec<Project>, CommandError> {
        let mut all = Vec::new();
        for account in self.accounts(account).await? {
            all.extend(self.store.list_projects(&account, Page::ALL).await?.items);
        }
        Ok(all)
    }

    async fn list(&self, account: Option<&str>, as_json: bool) -> Result<(), CommandError> {
        let projects = self.projects(account).await?;
        if as_json {
            let projects: Vec<Value> = projects.iter().map(project_json).collect();
            return exit::print(&json!({ "projects": projects }).to_string());
        }
        if projects.is_empty() {
            print_notice(&match account {
                Some(account) => format!("{account} has no projects. Without --account, all are listed."),
                None => "There are no projects. The tool create_project makes one.".to_owned(),
            });
            return Ok(());
        }
        let head = ["ID", "NAME", "ACCOUNT", "STATUS", "REVISION", "BLOCKS", "ASSETS", "VERSIONS", "UPDATED"];
        let rows: Vec<[String; 9]> =
            std::iter::once(head.map(str::to_owned)).chain(projects.iter().map(table_row)).collect();
        exit::print(&render_table(&rows, ""))
    }

    /// Finds a project by id, in any account.
    async fn find(&self, id: &str, account: Option<&str>) -> Result<Project, CommandError> {
        let id = ProjectId::parse(id).map_err(Error::from)?;
        for account in self.accounts(account).await? {
            match self.store.project(&account, &id).await {
                Err(Error::Rejected(_)) => {}
                found => return Ok(found?),
            }
        }
        Err(unknown_project(&id))
    }

    async fn export(
        &self,
        id: &str,
        account: Option<&str>,
        out: Option<PathBuf>,
    ) -> Result<(), CommandError> {
        let Project { id, account, fields, .. } = self.find(id, account).await?;
        let folder = out.unwrap_or_else(|| PathBuf::from(&fields.slug));
        let written = export::export_project(&self.store, &account, &id, &folder).await?;
        let project = written.ok_or_else(|| unknown_project(&id))?;
        print_notice(&format!("Exported {} to {}.", project.fields.name, folder.display()));
        exit::print(&folder.display().to_string())
    }

    async fn back_up(&self, folder: &Path) -> Result<(), CommandError> {
        let backup = StagedFolder::create(folder)?;
        let projects = self.projects(None).await?;
        let mut written = 0;
        for Project { id, account, .. } in &projects {
            let place = backup.path().join(export_folder::account_folder_name(account)).join(id.as_str());
            match export::write_project(&self.store, account, id, &place).await? {
                Some(_) => written += 1,
                None => print_notice(&format!("{id} of {account} was deleted meanwhile; it is left out.")),
            }
            tracing::info!(written, of = projects.len(), "backed up");
        }
        export_format::mark_backup(backup.path())?;
        backup.commit()?;
        print_notice(&format!("Backed up {written} projects to {}.", folder.display()));
        exit::print(&folder.display().to_string())
    }

    /// One that is refused does not keep the others of a backup out.
    async fn import(&self, folder: &Path, account: Option<&str>, copy: bool) -> Result<(), CommandError> {
        let found = export_folder::find_exports(folder)?;
        if found.is_empty() {
            print_notice(&format!(
                "{} is a backup without projects: there is nothing to import.",
                folder.display()
            ));
        }
        let wish = ImportOptions { account, copy, now: self.now };
        let mut refused = 0;
        for place in &found {
            let project = match import::import_project(&self.store, place, &wish).await {
                Ok(ImportOutcome::Imported(project)) => {
                    print_notice(&format!(
                        "Imported {} as {} of {}.",
                        project.fields.name, project.id, project.account
                    ));
                    project
                }
                Ok(ImportOutcome::AlreadyPresent(project)) => {
                    print_notice(&format!(
                        "{} of {} is there already, and the same.",
                        project.id, project.account
                    ));
                    project
                }
                Err(CommandError::Refused(why)) if found.len() > 1 => {
                    print_notice(&format!("not imported: {}: {why}", place.display()));
                    refused += 1;
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            exit::print(project.id.as_str())?;
        }
        if refused == 0 {
            return Ok(());
        }
        Err(CommandError::Refused(format!("{refused} of {} projects were not imported", found.len())))
    }
}

fn unknown_project(id: &ProjectId) -> CommandError {
    CommandError::Refused(format!("there is no project `{id}`; `fluxway projects list` shows what there is"))
}

/// An account is the tenant of keys or tokens, by a name that a store can keep.
fn check_account(name: &str) -> Result<(), CommandError> {
    if name.is_empty() || name.len() > 1000 || name.chars().any(char::is_control) {
        let why = "--account takes a name of 1 to 1000 bytes, and none that controls terminals";
        return Err(CommandError::Usage(why.to_owned()));
    }
    Ok(())
}

fn status_label(project: &Project) -> &'static str {
    match project.status() {
        ProjectStatus::Draft => "draft",
        ProjectStatus::Published if project.has_unpublished_changes() => "published, changed since",
        ProjectStatus::Published => "published",
    }
}

fn project_json(project: &Project) -> Value {
    let usage = project.usage;
    json!({
        "id": project.id.as_str(),
        "account": project.account.as_str(),
        "name": project.fields.name,
        "slug": project.fields.slug,
        "status": status_label(project),
        "revision": project.revision,
        "createdAt": project.created.to_string(),
        "updatedAt": project.updated.to_string(),
        "usage": { "blocks": usage.blocks, "assets": usage.assets, "assetBytes": usage.asset_bytes, "versions": usage.versions },
    })
}

fn table_row(project: &Project) -> [String; 9] {
    let usage = project.usage;
    [
        project.id.to_string(),
        project.fields.name.clone(),
        project.account.to_string(),
        status_label(project).to_owned(),
        project.revision.to_string(),
        usage.blocks.to_string(),
        usage.assets.to_string(),
        usage.versions.to_string(),
        project.updated.strftime("%Y-%m-%d %H:%M").to_string(),
    ]
}
