//! A key that could not be shown opens nothing; and no door stands open to everybody.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::process::run_command;
use crate::serving::host::StoreFixture;

/// A stdout from which nobody ever reads what was printed.
#[derive(Clone, Copy, Debug)]
enum UnreadableStdout {
    Full,
    Broken,
    Closed,
    Null,
    ReadOnly,
}

const UNREADABLE_STDOUTS: [UnreadableStdout; 5] = [
    UnreadableStdout::Full,
    UnreadableStdout::Broken,
    UnreadableStdout::Closed,
    UnreadableStdout::Null,
    UnreadableStdout::ReadOnly,
];

/// Runs a command with such a stdout: exit code and stderr.
fn run_with_stdout(lost: UnreadableStdout, fixture: &StoreFixture, args: &[&str]) -> (i32, String) {
    let usual = fixture.command(args);
    let mut command = if matches!(lost, UnreadableStdout::Closed) {
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec \"$0\" \"$@\" >&-"]).arg(usual.get_program()).args(usual.get_args());
        shell.envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.env_remove("FLUXWAY_CONFIG").current_dir(fixture.folder.path());
        shell
    } else {
        usual
    };
    let out = match lost {
        UnreadableStdout::Full => Stdio::from(File::options().write(true).open("/dev/full").unwrap()),
        UnreadableStdout::Broken => {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            Stdio::from(writer)
        }
        UnreadableStdout::Null | UnreadableStdout::Closed => Stdio::null(),
        UnreadableStdout::ReadOnly => Stdio::from(File::open("/dev/zero").unwrap()),
    };
    let mut child = command.stdin(Stdio::null()).stdout(out).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (child.wait().unwrap().code().unwrap(), said)
}

#[test]
fn key_is_not_created_if_it_cannot_be_printed() {
    for lost in UNREADABLE_STDOUTS {
        let site = StoreFixture::new();
        for args in [&["keys", "create"][..], &["keys", "create", "--json"]] {
            let (code, said) = run_with_stdout(lost, &site, args);
            assert_eq!(code, 3, "{lost:?}: {said}");
            assert!(
                said.starts_with("error: the key cannot be shown, and none was made: "),
                "{lost:?}: {said}"
            );
            assert!(!said.contains("_sk_"), "a secret is told elsewhere");
        }
        assert_eq!(site.list_keys(), [Value::Null; 0], "{lost:?}");
    }
}

#[test]
fn secret_is_not_rotated_if_it_cannot_be_printed() {
    let site = StoreFixture::new();
    let key = site.create_key(&["--label", "kept"]);
    let host = site.serve(&[]);
    let before = site.list_keys();
    assert_eq!(before[0]["prefixes"], json!([key.prefix()]));
    for lost in UNREADABLE_STDOUTS {
        let (code, said) = run_with_stdout(lost, &site, &["keys", "rotate", &key.id, "--overlap", "0m"]);
        assert_eq!(code, 3, "{lost:?}: {said}");
        let expected = "error: the new secret cannot be shown, and the key stays as it was: ";
        assert!(said.starts_with(expected) && !said.contains("_sk_"), "{lost:?}: {said}");
        assert_eq!(site.list_keys()[0]["prefixes"], before[0]["prefixes"], "{lost:?}");
    }
    let way = crate::serving::http::McpEndpoint::Api;
    let answer = host.client().call(way, &key.text, "echo", json!({ "text": "x" })).unwrap();
    assert_eq!(answer.echo_text().as_deref(), Some("x"), "{answer:?}");
}

#[test]
fn key_can_be_printed_to_a_file() {
    let site = StoreFixture::new();
    let path = site.path("key.txt");
    let status = site
        .command(&["keys", "create"])
        .stdout(File::create(&path).unwrap())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    let key = std::fs::read_to_string(path).unwrap();
    assert!(key.starts_with("cf_live_sk_") && key.ends_with('\n') && key.lines().count() == 1);
}

#[test]
fn no_auth_with_a_public_name_is_rejected() {
    let site = StoreFixture::new();
    let url = "https://mcp.example.com";
    let file = |text: &str| site.write("settings.toml", text);
    let open = ["serve", "--http", "127.0.0.1:0", "--no-auth"];
    let typed = [&open[..], &["--public-url", url]].concat();
    let mut variables = site.command(&["serve", "--http", "127.0.0.1:0"]);
    variables.env("FLUXWAY_NO_AUTH", "true").env("FLUXWAY_PUBLIC_URL", url);
    let mixed = file(&format!("[serve]\npublic-url = '{url}'\n"));
    let mut mixed = site.command(&[&open[..], &["--config", &mixed]].concat());
    let (code, _, err) = run_command(&mut mixed);
    assert_eq!(code, 2, "{err}");
    let whole = file(&format!("http = '127.0.0.1:0'\n[serve]\nno-auth = true\npublic-url = '{url}'\n"));
    for command in [
        &mut site.command(&typed),
        &mut variables,
        &mut site.command(&["serve", "--config", &whole]),
        &mut site.command(&[&open[..], &["--public-url", "http://localhost:8080"]].concat()),
        &mut site.command(&[&open[..], &["--allow-host", "mcp.example.com:443"]].concat()),
    ] {
        let (code, out, err) = run_command(command);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.starts_with("error: --no-auth accepts calls without a key, but --"), "{err}");
        assert!(err.contains("create keys with `fluxway keys create`"), "{err}");
    }
    // What the message advises works with the same settings.
    let (code, _, err) = run_command(&mut site.command(&["keys", "create", "--config", &whole]));
    assert_eq!(code, 0, "{err}");
    // Names of this machine are no reason to refuse.
    for name in ["localhost", "127.0.0.1:8080", "[::1]:8080", "::1"] {
        drop(site.serve(&["--no-auth", "--allow-host", name]));
    }
}
