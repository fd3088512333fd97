//! The settings of a Django project.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::patterns;

use crate::integrate::RecipeInput;
use crate::python_module::join;

/// A Django project: its settings module, and the folder of its `manage.py`.
pub(super) struct DjangoProject {
    pub(super) settings: String,
    pub(super) folder: String,
}

impl DjangoProject {
    /// Where its routes begin: beside its settings.
    pub(super) fn urls_file(&self) -> String {
        let package = self.settings.split('.').next().unwrap_or_default();
        join(&self.folder, &format!("{package}/urls.py"))
    }
}

/// The text of the settings of a Django project.
pub(super) fn settings_text(input: &RecipeInput<'_>, django: &DjangoProject) -> Option<Rc<str>> {
    let place = django.settings.replace('.', "/");
    let files = [format!("{place}.py"), format!("{place}/__init__.py")];
    files.iter().map(|file| input.file_text(&join(&django.folder, file))).find(|text| !text.is_empty())
}

/// The host to name in a request, if the settings allow none of the usual.
pub(super) fn allowed_host(settings: &str) -> Option<String> {
    let is_debug = patterns::compile(r"(?m)^DEBUG\s*=\s*True").ok()?.is_match(settings);
    let listed = patterns::compile(r"(?m)^ALLOWED_HOSTS\s*=\s*\[([^\]]*)\]").ok()?.captures(settings)?;
    let names = patterns::compile(r"[\x22']([^\x22']+)[\x22']").ok()?;
    let hosts: Vec<&str> =
        names.captures_iter(listed.get(1)?.as_str()).filter_map(|host| Some(host.get(1)?.as_str())).collect();
    let is_usual = |host: &str| matches!(host, "*" | "localhost" | "127.0.0.1");
    let first = hosts.first().filter(|_| !is_debug && !hosts.iter().any(|host| is_usual(host)))?;
    Some(first.trim_start_matches('.').to_owned())
}

/// The settings module that `manage.py` names.
pub(super) fn django_settings(input: &RecipeInput<'_>) -> Option<DjangoProject> {
    let pattern = patterns::compile(r#"DJANGO_SETTINGS_MODULE["']\s*,\s*["']([\w.]+)["']"#).ok()?;
    // The folder of the package, else one that a file of the program is in.
    let files = input.agents().map(|agent| &agent.path).chain(input.routes().map(|route| &route.file));
    let above = files.flat_map(|path| path.match_indices('/').map(|(end, _)| path[..end].to_owned()));
    let folders: BTreeSet<String> = std::iter::once(input.package.clone()).chain(above).collect();
    folders.into_iter().take(200).find_map(|folder| {
        let path = join(&folder, "manage.py");
        let settings = pattern.captures(&input.file_text(&path))?.get(1)?.as_str().to_owned();
        Some(DjangoProject { settings, folder })
    })
}
