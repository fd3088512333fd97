use super::*;

/// Facts in one line each, so that a test shows what it is about.
fn facts(path: &str, text: &str) -> Vec<String> {
    let language = crate::language::detect_language(path).unwrap();
    let source = parse(path, text, language).unwrap();
    let mut facts = Vec::new();
    for import in &source.imports {
        let name = import.name.as_deref().unwrap_or("*");
        facts.push(format!("{} import {}:{name} as {}", import.line, import.module, import.local));
    }
    for f in &source.functions {
        let parameters: Vec<_> = f
            .parameters
            .iter()
            .map(|p| p.annotation.as_ref().map_or(p.name.clone(), |a| format!("{}: {a}", p.name)))
            .collect();
        let owner = f.owner.as_deref().map(|owner| format!("{owner}.")).unwrap_or_default();
        let decorators: Vec<_> = f
            .decorators
            .iter()
            .map(|d| format!(" @{}({})", d.callee, d.first_string().unwrap_or("")))
            .collect();
        let decorators = decorators.concat();
        facts.push(format!("{} fn {owner}{}({}){decorators}", f.line, f.name, parameters.join(", ")));
        if !f.request_fields.is_empty() || !f.response_fields.is_empty() {
            facts.push(format!("  reads {:?} writes {:?}", f.request_fields, f.response_fields));
        }
    }
    for class in &source.classes {
        let fields: Vec<_> = class.fields.iter().map(|f| f.name.as_str()).collect();
        facts.push(format!("{} class {} {:?} {}", class.line, class.name, class.bases, fields.join(",")));
    }
    for call in &source.calls {
        let within = call.within.map(|at| source.functions[at].name.clone()).unwrap_or_default();
        facts.push(format!("{} call {} in {within:?}", call.line, call.callee));
    }
    for binding in &source.bindings {
        facts.push(format!("{} {} = {}()", binding.line, binding.name, binding.callee));
    }
    facts.extend(source.main_guard.map(|line| format!("{line} main")));
    facts
}

#[track_caller]
fn check(path: &str, text: &str, expected: &[&str]) {
    assert_eq!(facts(path, text), expected);
}

#[test]
fn python_facts_are_extracted() {
    check(
        "a.py",
        r#"
import os.path as p
from ..core import run as go
class Model(BaseModel):
    text: str
@app.post("/chat")
async def chat(req: Model, *, k: int = 1):
    data = await request.get_json()
    client = OpenAI()
    client.chat.completions.create(x=data["q"])
    return {"answer": data.get("r")}
class A:
    def __init__(self): self.llm = make()
if __name__ == "__main__":
    go()
"#,
        &[
            "2 import os.path:* as p",
            "3 import ..core:run as go",
            "7 fn chat(req: Model, k: int) @app.post(/chat)",
            r#"  reads ["q", "r"] writes ["answer"]"#,
            "13 fn A.__init__()",
            r#"4 class Model ["BaseModel"] text"#,
            "12 class A [] ",
            r#"8 call request.get_json in "chat""#,
            r#"9 call OpenAI in "chat""#,
            r#"10 call client.chat.completions.create in "chat""#,
            r#"11 call data.get in "chat""#,
            r#"13 call make in "__init__""#,
            r#"15 call go in """#,
            "8 data = request.get_json()",
            "9 client = OpenAI()",
            "13 self.llm = make()",
            "14 main",
        ],
    );
}

#[test]
fn python_pipe_operators_are_calls() {
    check(
        "a.py",
        r#"
chain = {"q": keep} | prompt | model
short = prompt | model | text
sum = one + two
(prompt | model).invoke(1)
await ({"q": keep} | make()).ainvoke(2)
(one + two).invoke(3)
ask(prompt | model)
"#,
        &[
            r#"5 call prompt.__or__().invoke in """#,
            r#"6 call make().__ror__().ainvoke in """#,
            r#"6 call make in """#,
            r#"7 call  in """#,
            r#"8 call ask in """#,
            "2 chain = prompt.__ror__().__or__()",
            "3 short = prompt.__or__().__or__()",
        ],
    );
}

#[test]
fn typescript_facts_are_extracted() {
    check(
        "a.ts",
        r#"import express, { Router as R, type Request } from "express";
const { join } = require('node:path');
interface Body { q: string; n?: number }
export const app: Express = express();
app.post('/chat', wrap(async (req: Request, res) => {
  const { message } = req.body;
  res.json({ answer: await ask(message, req.body.user) });
}));
@Controller('cats')
class Cats extends Base {
  constructor(private readonly ai: Ai) { super(); }
  @Get(':id') one(@Param('id') id: string) { return this.ai.run(id); }
}
const ask = async (m: string) => new OpenAI().chat.completions.create({ m });
"#,
        &[
            "1 import express:default as express",
            "1 import express:Router as R",
            "1 import express:Request as Request",
            "2 import node:path:join as join",
            "5 fn (req: Request, res)",
            r#"  reads ["message", "user"] writes ["answer"]"#,
            "11 fn Cats.constructor(ai: Ai)",
            "12 fn Cats.one(id: string) @Get(:id)",
            "14 fn ask(m: string)",
            "3 class Body [] q,n",
            r#"10 class Cats ["Base"] "#,
            r#"2 call require in """#,
            r#"4 call express in """#,
            r#"5 call app.post in """#,
            r#"5 call wrap in """#,
            r#"7 call res.json in """#,
            r#"7 call ask in """#,
            r#"9 call Controller in """#,
            r#"11 call  in "constructor""#,
            r#"12 call Param in "one""#,
            r#"12 call this.ai.run in "one""#,
            r#"14 call OpenAI in "ask""#,
            r#"14 call OpenAI().chat.completions.create in "ask""#,
            "4 app = express()",
        ],
    );
}

#[test]
fn component_scripts_keep_line_numbers() {
    check(
        "a.svelte",
        "<h1>x</h1>\n<script lang=\"ts\">\nimport x from 'y';\n</script>",
        &["3 import y:default as x"],
    );
    check("a.astro", "---\nimport x from 'y';\n---\n<p/>", &["2 import y:default as x"]);
    check("a.jsx", "const a = <p>&</p>; import('z')", &["1 import z:* as "]);
    check(
        "a.js",
        "const a = require('x').default\nmodule.exports = <b/>",
        &["1 import x:* as a", "1 call require in \"\""],
    );
}

#[test]
fn deep_nesting_does_not_crash_parsers() {
    let verdicts = |path: &'static str, text: String| {
        let language = crate::language::detect_language(path).unwrap();
        let worker = std::thread::Builder::new().stack_size(PARSER_STACK_BYTES);
        let worker = worker.spawn(move || parse(path, &text, language).map(|_| ())).unwrap();
        worker.join().unwrap()
    };
    let fill = |piece: &str| piece.repeat(MAX_SOURCE_BYTES / piece.len());
    for (path, piece) in [
        ("a.py", "not "),
        ("a.py", "lambda:"),
        ("a.py", "a."),
        ("a.py", "1+"),
        ("a.py", "a if a else "),
        ("a.py", "await "),
        ("a.py", "*"),
        ("a.js", "a?a:"),
        ("a.js", "a=>"),
        ("a.js", "a."),
        ("a.js", "1+"),
        ("a.js", "a="),
        ("a.js", "if(a);else "),
        ("a.js", "void "),
        ("a.js", "typeof "),
        ("a.js", "new "),
        ("a.js", "<a>"),
        ("a.js", "a:"),
        ("a.ts", "type a="),
        ("a.ts", "let a:keyof "),
    ] {
        let _ = verdicts(path, format!("{}a", fill(piece)));
    }
    for piece in ["a<", "let a:A<", "a<a,"] {
        assert_eq!(verdicts("a.ts", fill(piece)), Err(SourceParseError::TooDeep));
    }
    assert_eq!(verdicts("a.py", "def f():f()\n".repeat(20_000)), Err(SourceParseError::TooLarge));
    for piece in ["(", "[", "{", "-", "- ", "!"] {
        assert_eq!(verdicts("a.js", fill(piece)), Err(SourceParseError::TooDeep));
    }
    assert_eq!(verdicts("a.py", "x = 1\n".repeat(MAX_SOURCE_BYTES)), Err(SourceParseError::TooLarge));
    assert_eq!(verdicts("a.py", "def f(:".into()), Err(SourceParseError::Syntax));
    assert_eq!(verdicts("a.js", "function (".into()), Err(SourceParseError::Syntax));
    assert_eq!(verdicts("a.go", String::new()), Err(SourceParseError::UnsupportedLanguage));
}
