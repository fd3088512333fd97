//! Where code and imports go.

use super::*;

/// One edit of one file: what the file becomes.
#[track_caller]
fn check_edit(path: &str, before: &str, edit: Value, after: &str) {
    let folder = temp_folder(&[(path, before), ("mine/__init__.py", "")]);
    let tree = open_tree(&folder);
    let mut edit = edit;
    edit["filepath"] = path.into();
    edit["strategy"] = edit.get("strategy").cloned().unwrap_or("insert_middleware".into());
    let verdict = validate_edits(&tree, json!([edit]));
    assert!(verdict.is_valid(), "{:#?}", verdict.findings);
    let found = verdict.resolution.files.first().map_or(before, |file| file.new.as_str());
    assert_eq!(found, after);
}

#[track_caller]
fn check_import(before: &str, import: &str, after: &str) {
    check_edit("m.py", before, json!({ "strategy": "add_import", "payload": { "import": import } }), after);
}

#[test]
fn python_imports_are_placed_in_their_group() {
    let sdk = "import sdk";
    check_import("x = 1\n", sdk, "import sdk\n\nx = 1\n");
    check_import("", sdk, "import sdk\n");
    check_import("\"\"\"Doc.\"\"\"\n\nx = 1\n", sdk, "\"\"\"Doc.\"\"\"\n\nimport sdk\n\nx = 1\n");
    check_import("\"\"\"Doc.\"\"\"", sdk, "\"\"\"Doc.\"\"\"\n\nimport sdk\n");
    check_import(
        "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\nx = 1\n",
        sdk,
        "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n\nimport sdk\n\nx = 1\n",
    );
    check_import(
        "from __future__ import annotations\n\nx = 1\n",
        sdk,
        "from __future__ import annotations\n\nimport sdk\n\nx = 1\n",
    );
    check_import(
        "import os\nimport sys\n\nimport anthropic\nimport zod\nfrom fastapi import FastAPI\n\nfrom mine import x\n",
        sdk,
        "import os\nimport sys\n\nimport anthropic\nimport sdk\nimport zod\nfrom fastapi import FastAPI\n\nfrom mine import x\n",
    );
    check_import("import os\n\nfrom mine import x\n", sdk, "import os\n\nimport sdk\n\nfrom mine import x\n");
    check_import("from . import x\n", sdk, "import sdk\n\nfrom . import x\n");
    check_import(
        "from fastapi import (\n    FastAPI,\n    Request,\n)\nx = 1\n",
        sdk,
        "import sdk\nfrom fastapi import (\n    FastAPI,\n    Request,\n)\nx = 1\n",
    );
    check_import(
        "import os; import openai\nos.x()\nimport late\n",
        sdk,
        "import os; import openai\nimport sdk\nos.x()\nimport late\n",
    );
    check_import("# why\nimport openai\n", "import a", "# why\nimport openai\nimport a\n");
    // Never twice.
    check_import("import sdk\n", sdk, "import sdk\n");
    check_import("import a, sdk\n", sdk, "import a, sdk\n");
    check_import("from sdk import agent, tool\n", "from sdk import tool", "from sdk import agent, tool\n");
    check_import("import sdk as s\n", sdk, "import sdk as s\nimport sdk\n");
    // Windows' line ends, a byte order mark, no line end at the end.
    check_import("\u{feff}import os\r\n\r\nx = 1", sdk, "\u{feff}import os\r\n\r\nimport sdk\r\n\r\nx = 1");
    check_import("\u{feff}x = 1\r\n", sdk, "\u{feff}import sdk\r\n\r\nx = 1\r\n");
    check_import("import os", sdk, "import os\n\nimport sdk");
}

#[test]
fn script_imports_follow_existing_imports() {
    let wanted = "import { sdk } from 'sdk';";
    let check = |path: &str, before: &str, after: &str| {
        check_edit(path, before, json!({ "strategy": "add_import", "payload": { "import": wanted } }), after);
    };
    check(
        "a.ts",
        "import a from 'a';\nimport b from 'b';\n\nrun();\n",
        "import a from 'a';\nimport b from 'b';\nimport { sdk } from 'sdk';\n\nrun();\n",
    );
    check(
        "a.tsx",
        "'use client';\nexport default () => <b/>;\n",
        "'use client';\n\nimport { sdk } from 'sdk';\n\nexport default () => <b/>;\n",
    );
    check(
        "a.js",
        "#!/usr/bin/env node\nrun();\n",
        "#!/usr/bin/env node\n\nimport { sdk } from 'sdk';\n\nrun();\n",
    );
    check("a.ts", "import { sdk, x } from 'sdk';\n", "import { sdk, x } from 'sdk';\n");
    check(
        "a.ts",
        "import {\n  a,\n} from 'a'\nrun()",
        "import {\n  a,\n} from 'a'\nimport { sdk } from 'sdk';\nrun()",
    );
}

#[test]
fn import_of_a_taken_name_is_rejected() {
    for (path, before, import) in [
        ("a.py", "sdk = 1\n", "import sdk"),
        ("a.py", "from x import sdk\n", "import sdk"),
        ("a.ts", "import sdk from 'other';\n", "import sdk from 'sdk';"),
    ] {
        let folder = temp_folder(&[(path, before)]);
        let edit = json!([{ "filepath": path, "strategy": "add_import", "payload": { "import": import } }]);
        assert_eq!(blocking_codes(&validate_edits(&open_tree(&folder), edit)), ["name_taken"], "{before}");
    }
}

#[track_caller]
fn check_decorator(before: &str, function: &str, after: &str) {
    let folder = temp_folder(&[("m.py", before)]);
    let tree = open_tree(&folder);
    let edit =
        decorate_function(&tree, "m.py", function, "@sdk.agent(name=\"x\")", "import sdk", String::new())
            .unwrap();
    let found = resolve_edits(&tree, vec![edit], &[], &UNLIMITED_BUDGET).unwrap();
    assert!(found.is_clean(), "{:#?}", found.findings);
    assert_eq!(found.files.first().map_or(before, |file| file.new.as_str()), after);
}

#[test]
fn decorators_are_placed_directly_above_the_function() {
    check_decorator("def f(): pass\n", "f", "import sdk\n\n@sdk.agent(name=\"x\")\ndef f(): pass\n");
    check_decorator(
        "import a\n\n@app.post(\n    '/x'\n)\n# why\nasync def f(\n    q,\n):\n    pass\n",
        "f",
        "import a\nimport sdk\n\n@app.post(\n    '/x'\n)\n# why\n@sdk.agent(name=\"x\")\nasync def f(\n    q,\n):\n    pass\n",
    );
    check_decorator(
        "class A:\n\tdef f(self): pass\nclass B:\n\t@staticmethod\n\tdef f(q): pass\n",
        "B.f",
        "import sdk\n\nclass A:\n\tdef f(self): pass\nclass B:\n\t@staticmethod\n\t@sdk.agent(name=\"x\")\n\tdef f(q): pass\n",
    );
    check_decorator(
        "import sdk as s\r\n\r\n@s.agent()\r\ndef f(): pass\r\n",
        "f",
        "import sdk as s\r\nimport sdk\r\n\r\n@s.agent()\r\ndef f(): pass\r\n",
    );
    check_decorator(
        "from sdk import agent\nimport sdk\n@agent()\ndef f(): pass\n",
        "f",
        "from sdk import agent\nimport sdk\n@agent()\ndef f(): pass\n",
    );
}

#[test]
fn anchors_select_whole_statements() {
    let app =
        "app = FastAPI(\n    title='x',\n)  # the app\n\n@app.get('/')\ndef f():\n    a = 1\n    return a\n";
    let insert = |kind: &str, pattern: &str, code: &str| json!({ "anchors": [{ "type": kind, "pattern": pattern }], "payload": { "code": code } });
    check_edit(
        "a.py",
        app,
        insert("after_match", "FastAPI\\(", "app.x()"),
        &app.replace("# the app\n", "# the app\napp.x()\n"),
    );
    check_edit(
        "a.py",
        app,
        insert("after_match", "FastAPI(", "app.x()"),
        &app.replace("# the app\n", "# the app\napp.x()\n"),
    );
    check_edit(
        "a.py",
        app,
        insert("before_match", "return a", "b()\nif b:\n    c()"),
        &app.replace("    return", "    b()\n    if b:\n        c()\n    return"),
    );
    check_edit("a.py", app, insert("replace_match", "title='x'", "title='y'"), &app.replace("'x'", "'y'"));
    check_edit(
        "a.py",
        app,
        insert("append_file", "", "def g():\n    pass"),
        &format!("{app}\n\ndef g():\n    pass\n"),
    );
    check_edit("a.py", "x = 1", insert("append_file", "", "y = 2"), "x = 1\ny = 2");
    check_edit(
        "a.py",
        app,
        insert("before_match", "def f", "def g():\n    pass"),
        &app.replace("@app", "\ndef g():\n    pass\n\n\n@app"),
    );
    let server = "const app: Express = express();\napp.get('/', (req, res) => {\n  res.send('x');\n});\n";
    check_edit(
        "s.ts",
        server,
        insert("after_match", "express()", "app.use(x());"),
        &server.replace("express();\n", "express();\napp.use(x());\n"),
    );
    check_edit(
        "s.ts",
        server,
        insert("after_match", "res.send", "done();"),
        &server.replace("'x');\n", "'x');\n  done();\n"),
    );
    check_edit("s.ts", server, insert("after_match", "app.get", "done();"), &format!("{server}done();\n"));
    check_edit("x.txt", "one\ntwo\n", insert("after_match", "one", "more"), "one\nmore\ntwo\n");
    check_edit("x.txt", "one", insert("after_match", "one", "more"), "one\nmore");
    let top = json!({ "payload": { "code": "x()", "location": "after_imports" } });
    check_edit(
        "a.ts",
        "import a from 'a';\nb();\n",
        top,
        "import a from 'a';\nx();\nb();\n".replace("x();", "x()").as_str(),
    );
}

#[test]
fn present_code_is_not_inserted_again() {
    let edit = json!({ "anchors": [{ "type": "after_match", "pattern": "app = X()" }], "payload": { "code": "app.use(y)" } });
    check_edit("a.py", "app = X()\napp.use(y)\n", edit, "app = X()\napp.use(y)\n");
}

#[test]
fn unplaceable_code_is_rejected() {
    let refused = |path: &str, before: &str, edit: Value| {
        let folder = temp_folder(&[(path, before)]);
        let mut edit = edit;
        edit["filepath"] = path.into();
        let codes = blocking_codes(&validate_edits(&open_tree(&folder), json!([edit])));
        codes.join(",")
    };
    let insert = |pattern: &str, code: &str| json!({ "strategy": "insert_middleware", "anchors": [{ "type": "after_match", "pattern": pattern }], "payload": { "code": code } });
    assert_eq!(refused("a.py", "a = 1; b = 2\n", insert("a = 1", "c = 3")), "shared_line");
    assert_eq!(refused("a.py", "if x: a = 1\n", insert("a = 1", "c = 3")), "shared_line");
    assert_eq!(refused("a.py", "a = 1\n", insert("a = 1", "def (")), "breaks_file");
    assert_eq!(refused("a.py", "a = (\n", insert("a =", "b")), "broken_file");
    assert_eq!(refused("a.ts", "let a = ;\n", insert("a =", "b")), "broken_file");
    assert_eq!(refused("a.py", "a = 1\n", insert("zzz", "b")), "anchor_not_found");
    assert_eq!(refused("a.py", "a = 1\nx()\na = 1\n", insert("a = 1", "b")), "ambiguous_anchor");
    assert_eq!(refused("a.py", "a = 1\n", insert("(a{1000}){1000}", "b")), "bad_pattern");
    assert_eq!(refused("a.py", "a = 1\n", insert("", "b")), "bad_pattern");
    assert_eq!(refused("a.py", "a\0b", insert("a", "b")), "not_text");
}

#[test]
fn anchor_index_selects_the_match() {
    let edit = json!({ "anchors": [{ "type": "after_match", "pattern": "a = 1", "index": 1 }], "payload": { "code": "b()" } });
    check_edit("a.py", "a = 1\nx()\na = 1\n", edit, "a = 1\nx()\na = 1\nb()\n");
}
