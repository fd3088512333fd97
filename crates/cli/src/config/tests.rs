use std::io::Write as _;

use super::*;

fn sources(toml: &str, flags: SettingsLayer) -> (tempfile::NamedTempFile, ConfigSources) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(toml.as_bytes()).unwrap();
    let sources = ConfigSources {
        flags_and_env: flags,
        file_path: Some(file.path().to_owned()),
        data_dir: None,
        home_dir: None,
        is_server: true,
    };
    (file, sources)
}

fn resolve(toml: &str, flags: SettingsLayer) -> Result<Config, String> {
    let (file, sources) = sources(toml, flags);
    let name = file.path().display().to_string();
    Config::resolve(&sources).map_err(|error| error.to_string().replace(&name, "FILE"))
}

#[test]
fn flags_override_the_config_file() {
    let file = "server-name = 'from file'\nread-only = true\nlog = 'debug'\ntoolsets = ['diagnostics']";
    let mut flags = SettingsLayer::default();
    flags.server.server_name = Some("typed".to_owned());
    let config = resolve(file, flags).unwrap();
    assert_eq!(config.server_name, "typed");
    assert!(config.read_only);
    assert_eq!(config.log, LevelFilter::DEBUG);
    assert_eq!(config.toolsets, [Toolset::Diagnostics]);
}

#[test]
fn every_section_of_the_file_is_read() {
    let file = "http = 'localhost:8080'\n[serve]\nrate-limit = 7\nallow-host = ['a', 'b']\n[docs]\nno-shipped-docs = true\n\
                [flow]\nsessions = 3";
    let config = resolve(file, SettingsLayer::default()).unwrap();
    assert_eq!(config.http, "127.0.0.1:8080".parse().ok());
    assert_eq!(config.serving.rate.map(|rate| rate.per_minute), Some(7));
    assert_eq!(config.serving.hosts, ["a", "b"]);
    assert!(!config.documents.shipped);
    assert_eq!(config.interactive.limits.max_open_sessions, 3);
}

#[test]
fn only_a_server_listens() {
    let (_file, mut sources) = sources("http = '127.0.0.1:8080'", SettingsLayer::default());
    sources.is_server = false;
    let config = Config::resolve(&sources).unwrap();
    assert_eq!(config.http, None);
    assert!(config.local_user().has_scope(server::Scope::Write));
}

#[test]
fn addresses_to_listen_on() {
    for (text, expected) in [
        ("127.0.0.1:80", Some("127.0.0.1:80")),
        ("localhost:80", Some("127.0.0.1:80")),
        ("8080", Some("127.0.0.1:8080")),
        ("[::1]:80", Some("[::1]:80")),
        ("localhost", None),
        ("example.com:80", None),
        ("127.0.0.1", None),
    ] {
        let parsed = layers::parse_listen_address(text).ok();
        assert_eq!(parsed.map(|address| address.to_string()).as_deref(), expected, "{text}");
    }
}

#[test]
fn invalid_settings_are_rejected_by_name() {
    for (toml, expected) in [
        (
            "read_only = true",
            "invalid settings in FILE: unknown setting `read_only`; did you mean `read-only`?",
        ),
        (
            "[serve]\nrate-limt = 3",
            "invalid settings in FILE: unknown setting `serve.rate-limt`; did you mean `serve.rate-limit`?",
        ),
        (
            "rate-limit = 3",
            "invalid settings in FILE: unknown setting `rate-limit`; did you mean `serve.rate-limit`?",
        ),
        ("[colours]\nred = 3", "invalid settings in FILE: unknown setting `colours`"),
        (
            "toolsets = ['nonsense']",
            "toolsets: unknown toolset `nonsense`; expected one of integrate, docs, context, reference, projects, diagnostics",
        ),
        ("root = ['/no/such/folder']", "no such folder: /no/such/folder"),
        ("seal-key = 'short'", "seal-key: expected 32 bytes as base64 or hexadecimal"),
        ("log = 'loud'", "invalid settings in FILE: unknown variant `loud`"),
        (
            "http = 'nowhere'",
            "invalid settings in FILE: expected IP:PORT or localhost:PORT, such as 127.0.0.1:8080",
        ),
        ("= 3", "invalid settings in FILE:"),
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
        .map(|SettingRow { name, flag, variable, help }| {
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
         Every setting can be a flag, an environment variable or a line of a TOML file; a flag overrides a variable, a variable\n\
         overrides the file. An unknown flag or a misspelt setting in the file is an error; an unknown `FLUXWAY_` variable is a\n\
         warning. A command accepts the flags that it uses; variables and the file may set everything.\n\n\
         | in the file | flag | variable | what it does |\n|---|---|---|---|\n{}\n\
         A dot in the first column is a section: `serve.rate-limit` is `rate-limit` under `[serve]`. Lists are written as\n\
         `toolsets = [\"reference\"]` in the file and separated by commas in a variable, except that `FLUXWAY_ROOT` names one\n\
         folder and `FLUXWAY_INDEX` one file.\n\n\
         On `SIGHUP`, a running server reads `toolsets` again and notifies its clients if the list of tools changed; over HTTP\n\
         also `rate-limit`, `rate-burst` and the files of `jwks`, `tls-cert` and `tls-key`.\n",
        rows.concat()
    )
}

#[test]
fn http_without_keys_is_read_only() {
    let may_write =
        |layer: SettingsLayer| resolve("", layer).unwrap().local_user().has_scope(server::Scope::Write);
    assert!(may_write(SettingsLayer::default()));
    let mut read_only = SettingsLayer::default();
    read_only.toolsets.read_only = Some(true);
    assert!(!may_write(read_only));
    let mut http = SettingsLayer::default();
    http.server.http = "127.0.0.1:0".parse().ok();
    assert!(!may_write(http));
}
