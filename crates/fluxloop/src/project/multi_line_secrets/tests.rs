//! The secrets here are made up, or samples of documentations; none was ever valid.

use proptest::prelude::*;

use super::*;

#[rustfmt::skip] // rows, not columns
const LINES_WITH_SECRETS: &[&str] = &[
    // Python
    r#"api_key = "hunter2""#,
    "api_key = 'sk-proj-Ab12Cd34Ef56'",
    r#"    client = OpenAI(api_key="abc123def456")"#,
    r#"API_KEY: str = "abc123def456""#,
    r#"    token: Optional[str] = "abc123""#,
    r#"os.environ["OPENAI_API_KEY"] = "abc""#,
    r#"    "password": "hunter2","#,
    r#"config = {"api_key": "abc", "model": "x"}"#,
    r#"self.token = "a1b2c3""#,
    r#"password = b"hunter2""#,
    r#"key = os.getenv("API_KEY", "hunter2")"#,
    r#"API_KEY = os.environ.get("API_KEY", "abc123")"#,
    r#"api_key = os.environ.get("API_KEY") or "abc123""#,
    r#"secret = SecretStr("hunter2")"#,
    r#"    monkeypatch.setenv("OPENAI_API_KEY", "abc123")"#,
    r#"if password == "hunter2":"#,
    r#"headers = {"Authorization": "Bearer abc123def"}"#,
    r#"subprocess.run(["run", "--token", "hunter2"])"#,
    r#"SECRET_KEY = "django-insecure-8f2k!x9""#,
    r#"# api_key = "abc123""#,
    r#"user.set_password("hunter2")"#,
    r#"engine = create_engine("postgresql://app:hunter2@db/x")"#,
    r#"dsn = "host=db user=app password=hunter2 dbname=x""#,
    r#"PRIVATE = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\n-----END PRIVATE KEY-----""#,
    r#"requests.get("https://x.test/?api_key=abc123&page=2")"#,
    // JavaScript and TypeScript
    r#"const apiKey = "abc123";"#,
    "const apiKey: string = 'abc123';",
    r#"  apiKey: "abc123","#,
    "  password: 'hunter2' }",
    r#"const token = process.env.TOKEN || "abc123";"#,
    "const token = process.env.TOKEN ?? 'abc123';",
    "process.env.API_KEY = 'abc123';",
    r#"headers: { "x-api-key": "abc123" },"#,
    r#"headers.set("Authorization", "Bearer abc123def456");"#,
    "const db = `mongodb+srv://me:hunter2@cluster.test/x`;",
    "const secret = `hunter2`;",
    r#"const s = '{"api_key": "abc123"}';"#,
    r#"const s = "{\"api_key\": \"abc123\"}";"#,
    // YAML
    "password: hunter2",
    "  password: postgres",
    "api_key: abc123def",
    "  OPENAI_API_KEY: abc123def456",
    "  - API_KEY=abc",
    "api_key: 'abc'",
    r#"token: "abc123" # for tests"#,
    "passphrase: correct horse battery staple",
    "  client-secret: a8f5f167-f44f-4964-e6c9-98fa",
    "db_url: redis://:hunter2@host:6379/0",
    "password: ab,cd;ef}gh[1]",
    "{password: hunter2, user: x}",
    // TOML and INI
    r#"api_key = "abc123""#,
    r#"auth = { token = "abc123" }"#,
    "password = hunter2",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzz",
    "spring.datasource.password=correcthorse",
    "//registry.test/:_authToken=abc123def",
    // JSON
    r#"  "apiKey": "abc123","#,
    r#"{"name": "API_KEY", "value": "abc123"}"#,
    r#"  "token" : "abc123""#,
    r#"  "private_key": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\n","#,
    r#"  "password": "ab\"cd1""#,
    r#"  "pin_password": 123456,"#,
    // .env
    "OPENAI_API_KEY=abc",
    "export SHOP_TOKEN=abc",
    r#"DB_PASSWORD="two words""#,
    "DB_PASS=ab,cd;ef}gh[ij",
    "DATABASE_URL=postgres://user:pass@host/db",
    "SECRET=ab$cd12ef",
    "#API_KEY=abc123",
    "AZURE=DefaultEndpointsProtocol=https;AccountName=x;AccountKey=Ab12Cd34Ef56Gh78==;EndpointSuffix=x",
    // Shell and other files
    "curl -u me:hunter2 https://x.test",
    "curl -sSume:hunter2 https://x.test",
    "  --user 'me:hunter2' \\",
    r#"curl -H "Authorization: Bearer abc123def456" https://x.test"#,
    r#"curl -H "X-Api-Key: abc123def456" https://x.test"#,
    "run --token hunter2 --verbose",
    "run --api-key=hunter2",
    "docker run -e API_KEY=abc123 image",
    "API_KEY=abc123 python main.py",
    r#": "${API_KEY:=abc123}""#,
    "api_key: ${API_KEY:-abc123}",
    "sshpass -p hunter2 ssh host",
    "mysql -u root -phunter2 db",
    "ENV API_KEY abc123",
    "machine x.test login me password hunter2",
    "<password>hunter2</password>",
    "git clone https://me:hunter2@x.test/a.git",
    // Forms, with a dot that keeps scanners of repositories from taking them for real
    "see sk-ant-api03-·Ab12Cd34Ef56Gh78",
    "x = f('ghp_·0123456789abcdefghijABCDEFGHIJ012345')",
    "id: AKIA·IOSFODNN7EXAMPLE",
    "glpat-·Ab12Cd34Ef56Gh78Ij90",
    "xoxb-·123456789012-123456789012-AbCdEfGhIjKlMnOpQrStUvWx",
    "sk_live_·Ab12Cd34Ef56Gh78",
    "AIza·SyA1234567890abcdefghijklmnopqrstuvw",
    "hf_·AbCdEfGhIjKlMnOpQrStUvWxYz12345678",
    "npm_·AbCdEfGhIjKlMnOpQrStUvWxYz1234567890",
    "pypi-·AgEIcHlwaS5vcmcCJDAwMDAwMDAwLTAwMDA",
    "eyJhbGciOiJIUzI1NiJ9.·eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "https://hooks.slack.com/services/·T00AB12CD/B00EF34GH/AbCdEfGhIjKl",
    "gsk_·0123456789abcdefghijABCDEFGHIJ",
    "SG.·Ab12Cd34Ef56Gh78Ij90.Ab12Cd34Ef56Gh78Ij90Ab12",
];

#[rustfmt::skip] // rows, not columns
const LINES_WITHOUT_SECRETS: &[&str] = &[
    // Python
    r#"api_key = os.environ["OPENAI_API_KEY"]"#,
    r#"api_key = os.getenv("OPENAI_API_KEY")"#,
    r#"api_key = os.getenv("OPENAI_API_KEY", "")"#,
    r#"api_key=os.environ.get("OPENAI_API_KEY"),"#,
    "    password: str",
    "    password: str = None",
    "    token: Optional[str] = None,",
    "    api_key: SecretStr",
    r#"    api_key: str = Field(..., description="The API key")"#,
    "OPENAI_API_KEY: str",
    "token = get_token()",
    "token = await fetch_token(user)",
    "token = tokens[0]",
    "api_key = settings.api_key",
    "    api_key=api_key,",
    "    token=settings.token,",
    "    password=password",
    "def login(password):",
    "def login(user: str, password: str, token: str = \"\") -> None:",
    "max_tokens = 5",
    r#"password = getpass.getpass("Password: ")"#,
    r#"password = input("Enter your password: ")"#,
    r#"API_KEY = """#,
    r#"api_key = "your-key-here""#,
    r#"api_key = "<your-api-key>""#,
    r#"api_key = "xxx""#,
    r#"api_key = "...""#,
    r#"api_key = "sk-...""#,
    r#"api_key = "sk-xxxxxxxxxxxxxxxx""#,
    r#"password = "changeme""#,
    r#"api_key = "test-key""#,
    r#"token = "EOF""#,
    r#"eos_token = "<|endoftext|>""#,
    r#"pad_token = "PAD""#,
    r#"PASSWORD_FIELD = "password""#,
    r#"token_url = "https://x.test/token""#,
    r#"headers = {"Authorization": f"Bearer {token}"}"#,
    r#"headers = {"Authorization": "Bearer " + token}"#,
    r#"headers["X-Api-Key"] = api_key"#,
    "for key, value in items:",
    r#"    cache_key = "user:profile""#,
    "items.sort(key=lambda item: item.name)",
    r#"sorted(items, key="name")"#,
    r#"raise ValueError("password: must not be empty")"#,
    r#"parser.add_argument("--token", help="the token")"#,
    r#"@click.option("--password", "password", prompt=True)"#,
    r#"FIELDS = ["password", "username", "email"]"#,
    r#"fields = ("id", "token", "created")"#,
    ":param password: the password of the user",
    "    token (str): API token for the service.",
    "    api_key: Your API key, as the site shows it",
    r#"dsn = f"postgres://{user}:{password}@{host}/db""#,
    r#"dsn = "postgres://%s:%s@%s/db" % parts"#,
    "from x import token, password",
    "if token is None or token == '':",
    "assert password != other_password",
    "hf_tokenizer_config = load(hf_model_name_or_path)",
    r#"if line.startswith("-----BEGIN PRIVATE KEY-----"):"#,
    "logger.info('token: %s', token)",
    "    self._token = token  # kept for later",
    "items.sort(key=cmp_to_key(compareByManyThings))",
    "key = _FIELD2ATTR[field_name]",
    "self.auth = MultiDomainBasicAuth(urls)",
    "_SIGNATURE = 0x08074b50",
    r#"password = ask("for %s: " % (host or "localhost"))"#,
    // JavaScript and TypeScript
    "import x from 'https://localhost:3000/jqueryui@1.2.3';",
    "const apiKey = process.env.API_KEY;",
    "const apiKey = process.env.API_KEY ?? '';",
    "  apiKey: process.env.API_KEY,",
    "  apiKey: config.apiKey,",
    "  apiKey,",
    "  password: string;",
    "  token?: string | null;",
    "  token: Token | undefined,",
    "interface Props { password: string; token: string }",
    "const { token, password } = req.body;",
    "const token = jwt.sign(payload, secret);",
    "headers: { Authorization: `Bearer ${token}` },",
    "fetch(url, { credentials: 'include' })",
    r#"<input type="password" name="password" />"#,
    r#"<Item key="item" label="x" />"#,
    "import { getToken } from './token';",
    "const url = `https://x.test/?token=${token}`;",
    "  return tokens.map((token) => token.text);",
    "  password: 'Your password is wrong',",
    // YAML
    "api_key: ${OPENAI_API_KEY}",
    "api_key: ${{ secrets.OPENAI_API_KEY }}",
    r#"password: "{{ vault_password }}""#,
    "password: !vault |",
    "password:",
    "api_key: null",
    r#"api_key: """#,
    "secretName: my-tls",
    "    secretKeyRef:",
    "      key: password",
    "      name: db-secret",
    "secrets: inherit",
    "max_tokens: 4096",
    "  - API_KEY",
    "  - API_KEY=${API_KEY}",
    "token: /var/run/secrets/token",
    "ssl_key: certs/server.key",
    // TOML, INI, JSON
    r#"api_key_env = "OPENAI_API_KEY""#,
    r#"api_key = "${OPENAI_API_KEY}""#,
    r#"token_type = "bearer""#,
    r#"primary_key = "id""#,
    r#"  "password": "","#,
    r#"  "token": null,"#,
    r#"  "password": { "type": "string" },"#,
    r#"  "max_tokens": 123456,"#,
    r#"  "key": "value","#,
    r#"  "required": ["api_key", "password"],"#,
    r#"  "sha256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824""#,
    // .env and shell
    "OPENAI_API_KEY=",
    r#"OPENAI_API_KEY="""#,
    "OPENAI_API_KEY=<your key>",
    "OPENAI_API_KEY=your_api_key_here",
    "API_KEY=$OTHER_KEY",
    "export TOKEN=$(get-token)",
    r#"export TOKEN="$(cat /run/secrets/token)""#,
    r#"curl -u "$USER:$PASS" https://x.test"#,
    r#"curl -H "Authorization: Bearer $TOKEN" https://x.test"#,
    "docker run -u 1000:1000 image",
    "docker run -e API_KEY image",
    r#"run --token "$TOKEN""#,
    "run --token <token>",
    "usage: run [--token TOKEN] [--max-tokens 5]",
    "# Set --api-key or API_KEY before you start.",
    "PASSWORD_FILE=/run/secrets/db",
    "PRIVATE_KEY=/etc/ssl/key.pem",
    "https://x.test:8080/path and git@x.test:a/b.git",
    "pip install sk-learn-contrib",
    "-----BEGIN CERTIFICATE-----",
    "the token usage was 5; keyboard, monkey: business",
];

#[test]
fn lines_with_secrets_are_detected() {
    let missed: Vec<_> =
        LINES_WITH_SECRETS.iter().filter(|line| !contains_secret(&line.replace('·', ""))).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn lines_without_secrets_are_not_flagged() {
    let wrong: Vec<_> = LINES_WITHOUT_SECRETS.iter().filter(|line| contains_secret(line)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Full lines of base64, as in a key file.
const KEY_LINE_A: &str = "gtD7fGUOv8fwNfBb0jXxUJR4QQAAabVVloZaXZxmCu1VShIqmArIntn9oX98WHgC";
const KEY_LINE_B: &str = "tzC1uwB5FXZPf7stg7NvlE3LaruSrjLnonWKTn9UGKzEesg61SHE/qaQQ0NV3vTH";

#[test]
fn neighbouring_lines_reveal_secrets() {
    let quoted = format!("    \"{KEY_LINE_A}\\n\"");
    for (lines, expected) in [
        // Key files, whole and cut.
        (
            vec![
                "-----BEGIN PRIVATE KEY-----",
                KEY_LINE_A,
                KEY_LINE_B,
                "Ab12==",
                "-----END PRIVATE KEY-----",
                "x",
            ],
            vec![1, 2, 3],
        ),
        (
            vec![
                "-----BEGIN RSA PRIVATE KEY-----",
                "Proc-Type: 4,ENCRYPTED",
                "",
                KEY_LINE_A,
                "-----END RSA PRIVATE KEY-----",
            ],
            vec![3],
        ),
        (vec![KEY_LINE_A, KEY_LINE_B], vec![0, 1]),
        (vec![KEY_LINE_B, "Ab12==", "-----END PRIVATE KEY-----"], vec![0, 1]),
        (vec!["Ab12==", "-----END PRIVATE KEY-----"], vec![0]),
        (vec![KEY_LINE_A, "Ab12=="], vec![0, 1]),
        (vec!["key = (", "    \"-----BEGIN PRIVATE KEY-----\\n\"", &quoted, ")"], vec![2]),
        (vec!["-----BEGIN CERTIFICATE-----", KEY_LINE_A, "Ab12==", "-----END CERTIFICATE-----"], vec![]),
        (vec![KEY_LINE_A, "-----END CERTIFICATE-----"], vec![]),
        (
            vec![
                "-----BEGIN CERTIFICATE-----",
                KEY_LINE_A,
                "-----END CERTIFICATE-----",
                "-----BEGIN PRIVATE KEY-----",
                KEY_LINE_B,
            ],
            vec![4],
        ),
        (vec!["2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"], vec![]),
        (vec!["if begins(\"-----BEGIN PRIVATE KEY-----\"):", "    return True"], vec![]),
        // Values below their names.
        (vec!["api_key: >-", "  abc123def", "  ghi456", "model: x"], vec![1, 2]),
        (vec!["password: |", "  hunter2", "", "  more", "x: 1"], vec![1, 3]),
        (vec!["api_key = (", "    \"abc123\"", ")"], vec![1]),
        (vec!["API_KEY = \\", "    'abc123'"], vec![1]),
        (vec!["\"password\":", "  \"hunter2\","], vec![1]),
        (vec!["password:", "  hunter2"], vec![1]),
        (vec!["secret = \"\"\"", "hunter2", "\"\"\"", "x = 'y1234567'"], vec![1]),
        (vec!["token:", "  url: https://x.test", "  name: x"], vec![]),
        (vec!["api_key = (", "    os.environ[\"API_KEY\"]", ")"], vec![]),
        (vec!["def f(", "    password,", "    token,", "):", "    \"\"\"Words.\"\"\""], vec![]),
        (vec!["password = (", "    \"\"", ")"], vec![]),
        // Commands, one word on each line.
        (vec!["  - --token", "  - hunter2", "  - x"], vec![1]),
        (vec!["\"--api-key\",", "\"abc123\","], vec![1]),
        (vec!["  --password \\", "  hunter2 \\"], vec![1]),
        (vec!["  - --token", "  - $(TOKEN)"], vec![]),
        (vec!["  - --token", "  - --verbose"], vec![]),
        // Names and values side by side.
        (vec!["- name: API_KEY", "  value: abc123"], vec![1]),
        (vec!["\"value\": \"abc123\",", "\"name\": \"API_KEY\""], vec![0]),
        (vec!["- name: LOG_LEVEL", "  value: debug123"], vec![]),
        (vec!["- name: API_KEY", "  valueFrom:"], vec![]),
        (vec![], vec![]),
    ] {
        assert_eq!(find_secret_lines(&lines), expected, "{lines:#?}");
    }
}

/// The two halves together: the finder here, and what leaves the lines out.
#[test]
fn diffs_omit_secret_lines() {
    let old = "model: m\npassword: hunter2\nkey: |\n  x\nretries: 1\n";
    let new = old.replace("retries: 1", "retries: 2");
    let shown = codebase::plan::redact_diff(
        &codebase::plan::unified_diff("a.yaml", Some(old), Some(&new)),
        find_secret_lines,
    );
    assert_eq!(
        shown.text,
        "--- a/a.yaml\n+++ b/a.yaml\n@@ -3,3 +3,3 @@\n key: |\n   x\n-retries: 1\n+retries: 2\n"
    );
    assert_eq!(shown.omitted_lines, 1);
    let new = old.replace("hunter2", "hunter3");
    let shown = codebase::plan::redact_diff(
        &codebase::plan::unified_diff("a.yaml", Some(old), Some(&new)),
        find_secret_lines,
    );
    assert_eq!(shown.withheld, ["a.yaml"]);
    assert!(!shown.text.contains("hunter"));
}

/// Where a secret may stand: `{}`.
const SECRET_TEMPLATES: &[&str] = &[
    "api_key = \"{}\"",
    "    client = Client(api_key='{}', x=1)",
    "  \"password\": \"{}\",",
    "password: {}",
    "SHOP_TOKEN={}",
    "export API_KEY=\"{}\"",
    "const clientSecret = `{}`;",
    "postgres://me:{}@host/db",
    "curl -u me:{} https://x.test",
    "run --token {} --verbose",
    "Authorization: Bearer {}",
    "os.environ[\"API_KEY\"] = \"{}\"",
];

proptest! {
    #[test]
    fn secret_is_detected_in_every_template(
        place in prop::sample::select(SECRET_TEMPLATES),
        secret in "[a-z]{3,8}[A-Z0-9][a-z]{1,4}[0-9][a-zA-Z0-9]{3,12}",
    ) {
        let line = place.replace("{}", &secret);
        prop_assert!(contains_secret(&line), "{}", line);
    }

    #[test]
    fn prose_and_names_are_not_flagged(line in "#? ?([a-z]{1,10}[ ,.]{1,2}){0,12}", name in "(api_key|token|password)", other in "[a-z]{1,8}(_[a-z]{1,8})?") {
        prop_assert!(!contains_secret(&line), "{}", line);
        for line in [format!("{name} = {other}({line})"), format!("    {name}={other},"), format!("{name} = {other}.{other}")] {
            prop_assert!(!contains_secret(&line), "{}", line);
        }
    }

    #[test]
    fn arbitrary_lines_do_not_panic(lines in prop::collection::vec("(.|api_key|password|[=:\"'`\\\\|>({-]|-----BEGIN PRIVATE KEY-----|é| ){0,12}", 0..6)) {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        prop_assert!(find_secret_lines(&lines).iter().all(|at| *at < lines.len()));
    }
}

/// Lines as bundles have them. This would take minutes if every name were looked at up to the end of its line.
#[test]
fn detection_time_is_linear_in_line_length() {
    for line in [
        "token = f(x), ".repeat(20_000),
        "x:\"y\",".repeat(20_000),
        "curl -u ".repeat(20_000),
        "mysql ".repeat(20_000),
    ] {
        assert!(!contains_secret(&line));
        assert!(contains_secret(&format!("{line} api_key='abc123'")));
    }
}
