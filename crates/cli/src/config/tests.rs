use std::io::Write as _;

use super::*;

fn sources(toml: &str, typed: SettingsLayer) -> (tempfile::NamedTempFile, ConfigSources) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(toml.as_bytes()).unwrap();
    let sources = ConfigSources {
        cli_layer: typed,
        file_path: Some(file.path().to_owned()),
        data_dir: None,
        home_dir: None,
    };
    (file, sources)
}

fn resolve(toml: &str, typed: SettingsLayer) -> Result<Config, String> {
    let (file, sources) = sources(toml, typed);
    let name = file.path().display().to_string();
    Config::resolve(&sources).map_err(|error| error.to_string().replace(&name, "FILE"))
}

#[test]
fn flags_override_the_config_file() {
    let file = "server-name = 'from file'\nread-only = true\nlog = 'debug'\ntoolsets = ['diagnostics']";
    let typed = SettingsLayer { server_name: Some("typed".to_owned()), ..SettingsLayer::default() };
    let config = resolve(file, typed).unwrap();
    assert_eq!(config.server_name, "typed");
    assert!(config.read_only);
    assert_eq!(config.log, LevelFilter::DEBUG);
    assert_eq!(config.toolsets, [Toolset::Diagnostics]);
}

#[test]
fn invalid_settings_are_rejected_by_name() {
    for (toml, expected) in [
        (
            "read_only = true",
            "the settings in FILE are not usable: unknown field `read_only`, expected one of",
        ),
        (
            "toolsets = ['nonsense']",
            "toolsets: there is no toolset `nonsense`; there are integrate, docs, context, reference, projects, diagnostics",
        ),
        ("root = ['/no/such/folder']", "root: /no/such/folder is not a folder"),
        ("seal-key = 'short'", "seal-key: want 32 bytes as base64 or hexadecimal"),
        ("log = 'loud'", "the settings in FILE are not usable: unknown variant `loud`"),
        ("= 3", "the settings in FILE are not usable:"),
    ] {
        let error = resolve(toml, SettingsLayer::default()).unwrap_err();
        assert!(error.starts_with(expected), "{toml}: {error}");
    }
}

#[test]
fn secrets_are_not_printed() {
    let key = "0a".repeat(32);
    let (_file, sources) = sources(&format!("seal-key = '{key}'"), SettingsLayer::default());
    let printed = format!("{:?} {:?}", sources.read_file().unwrap(), Config::resolve(&sources).unwrap());
    assert!(!printed.contains(&key[..8]), "{printed}");
}

/// The page is generated. `UPDATE=1 cargo test -p fluxway-cli` writes it.
#[test]
#[expect(clippy::disallowed_methods, reason = "the page and the switch are this test's alone")]
fn configuration_docs_are_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
    let page = render_configuration_docs();
    if std::env::var("UPDATE").is_ok() {
        std::fs::write(path, &page).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(path).unwrap_or_default(),
        page,
        "run UPDATE=1 cargo test -p fluxway-cli"
    );
}

fn render_configuration_docs() -> String {
    let code = |text: &str| if text.is_empty() { String::new() } else { format!("`{text}`") };
    let rows: Vec<String> = setting_rows()
        .iter()
        .map(|[name, flag, variable, help]| {
            format!(
                "| {} | {} | {} | {} |\n",
                code(name),
                code(flag),
                code(variable),
                help.replace('|', "\\|")
            )
        })
        .collect();
    format!(
        "# Settings\n\n\
         <!-- Generated from the settings themselves: UPDATE=1 cargo test -p fluxway-cli -->\n\n\
         A flag goes before a variable, a variable before the file, the file before the default. What is not known is\n\
         refused with an error, wherever it stands: a flag, a variable that begins with `FLUXWAY_`, a key of the file.\n\n\
         | in the file | flag | variable | what it does |\n|---|---|---|---|\n{}\n\
         In the file, lists are lists (`toolsets = [\"reference\"]`); in a variable they are separated by commas, and\n\
         `FLUXWAY_ROOT` names one folder, `FLUXWAY_INDEX` one file. `SIGHUP` makes a running server read `toolsets` again and tell its\n\
         clients if tools came or went; over HTTP also `rate-limit`, `rate-burst` and the files of `jwks`, `tls-cert` and `tls-key`.\n",
        rows.concat()
    )
}

#[test]
fn http_without_keys_is_read_only() {
    let may_write =
        |layer: SettingsLayer| resolve("", layer).unwrap().local_user().has_scope(server::Scope::Write);
    assert!(may_write(SettingsLayer::default()));
    assert!(!may_write(SettingsLayer { read_only: Some(true), ..SettingsLayer::default() }));
    assert!(!may_write(SettingsLayer { http: "127.0.0.1:0".parse().ok(), ..SettingsLayer::default() }));
}
