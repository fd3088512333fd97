//! The lines of the FluxLoop CLI. Each has its own folders, runner and commands.

/// A line of the CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReleaseLine {
    /// Up to 0.3.2: `fluxloop/<project>/`.
    V02,
    /// From 0.3.3: `.fluxloop/scenarios/<name>/`, with a `scenario.yaml`.
    V03,
    /// From 0.4: the same folder, with `simulation.yaml` alone.
    V04,
}

impl ReleaseLine {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::V02, Self::V03, Self::V04];

    /// The line that one gets today.
    pub const NEWEST: Self = Self::V04;

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::V02 => "0.2",
            Self::V03 => "0.3",
            Self::V04 => "0.4",
        }
    }

    /// The line of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|line| line.name() == name)
    }

    /// The line that a version of `fluxloop-cli` belongs to.
    pub fn from_version(version: &str) -> Option<Self> {
        let mut parts =
            version.split('.').map(|part| part.trim_matches(|c: char| !c.is_ascii_digit()).parse::<u32>());
        let (major, minor) = (parts.next()?.ok()?, parts.next()?.ok()?);
        let patch = parts.next().and_then(Result::ok).unwrap_or(u32::MAX);
        Some(match (major, minor, patch) {
            (0, 0..=2, _) | (0, 3, 0..=2) => Self::V02,
            (0, 3, _) => Self::V03,
            _ => Self::V04,
        })
    }

    /// What to ask a package manager for.
    pub fn requirement(self) -> &'static str {
        match self {
            Self::V02 => "fluxloop-cli>=0.2.30,<0.3",
            Self::V03 => "fluxloop-cli>=0.3.3,<0.4",
            Self::V04 => "fluxloop-cli>=0.4,<0.5",
        }
    }

    /// The folder of a project or scenario.
    pub fn project_folder(self, name: &str) -> String {
        match self {
            Self::V02 => format!("fluxloop/{name}"),
            Self::V03 | Self::V04 => format!(".fluxloop/scenarios/{name}"),
        }
    }

    /// The command for one run, from the root of the repository.
    pub fn run_command(self, name: &str) -> String {
        match self {
            Self::V02 => format!("fluxloop run experiment --project {name} --iterations 1 --yes"),
            Self::V03 => format!("fluxloop test --scenario {name} --smoke --skip-upload --no-stream-turns"),
            Self::V04 => format!("fluxloop run --scenario {name} --iterations 1"),
        }
    }

    /// Where a run leaves its summary, and what in it says that all went well.
    pub fn results_location(self, name: &str) -> String {
        match self {
            Self::V02 => format!("fluxloop/{name}/experiments/*/summary.json (`successful`)"),
            Self::V03 => format!(".fluxloop/scenarios/{name}/experiments/exp_*/summary.json (`successful`)"),
            Self::V04 => format!(".fluxloop/results/{name}-*/summary.json (`success_count`)"),
        }
    }

    /// A folder of the repository, as `working_directory` wants it: this line starts from the project's folder, 0.4 from
    /// where the command is run.
    pub(crate) fn working_directory(self, folder: &str) -> String {
        let up = match self {
            Self::V02 => "../..",
            Self::V03 => "../../..",
            Self::V04 => ".",
        };
        match (up, folder) {
            (up, "") => up.to_owned(),
            (".", folder) => folder.to_owned(),
            (up, folder) => format!("{up}/{folder}"),
        }
    }

    /// The project's own folder, as `working_directory` wants it.
    pub(crate) fn project_working_directory(self, name: &str) -> String {
        if self == Self::V04 { self.project_folder(name) } else { ".".to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_map_to_release_lines() {
        let line = |version| ReleaseLine::from_version(version).map(ReleaseLine::name);
        assert_eq!(
            ["0.1.9", "0.2.30", "0.3.2", "0.3.3", "0.3.11", "0.3", "0.4.0", "1.0", "x"].map(line),
            [
                Some("0.2"),
                Some("0.2"),
                Some("0.2"),
                Some("0.3"),
                Some("0.3"),
                Some("0.3"),
                Some("0.4"),
                Some("0.4"),
                None
            ]
        );
    }
}
