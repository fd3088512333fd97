//! `fluxway faq` and `fluxway index`, as typed.

use std::path::Path;

use serde_json::Value;

use crate::process::run;

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn a_question_gets_an_answer_with_its_sources() {
    let (code, out, err) = run(&["faq", "how", "do", "I", "integrate", "FastAPI?"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with("## "), "{out}");
    assert!(out.contains("\n[1] packages/website/docs-sdk/integration/fastapi.md:"), "{out}");
    let (code, out, _) = run(&["faq", "--json", "--top", "1", "what is a persona?"]);
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, 0);
    assert!(answer["score"].as_f64().is_some_and(|score| (0.0..=1.0).contains(&score)), "{answer}");
    let (code, out, _) = run(&["faq", "the boiling point of water on mars"]);
    assert_eq!(code, 0);
    assert!(out.starts_with("No good match in the indexed documentation"), "{out}");
}

#[test]
fn own_documents_are_indexed_and_searched() {
    let folder = tempfile::tempdir().unwrap();
    let docs = folder.path().join("docs");
    write(
        &docs,
        "deploy.md",
        "# Deploying\n\n## To staging\n\nPush to the branch `staging`, and Zebra rolls it out.\n",
    );
    write(&docs, "team/cake.rst", "Cake\n====\n\nThere is cake on Thursdays.\n");
    write(&docs, "main.rs", "fn main() {}\n");
    std::fs::write(docs.join("broken.md"), b"# \xff\xfe").unwrap();
    let (docs, index) = (docs.to_str().unwrap().to_owned(), folder.path().join("own.index"));
    let index = index.to_str().unwrap();
    let index_them = || run(&["index", &docs, "--out", index, "--json"]);
    let (code, out, err) = index_them();
    let made: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &made["pages"], &made["unchanged"]), (0, &2.into(), &0.into()), "{made}");
    assert!(err.contains("left out: broken.md"), "{err}");
    let ask = |question: &str| run(&["faq", "--index", index, "--no-shipped-docs", question]);
    let (code, out, _) = ask("how do I deploy to staging?");
    assert_eq!(code, 0);
    assert!(out.contains("Push to the branch `staging`, and Zebra rolls it out. [1]"), "{out}");
    assert!(out.contains("[1] deploy.md:5-5  To staging"), "{out}");
    // A second time, only what has changed is new.
    write(Path::new(&docs), "team/cake.rst", "Cake\n====\n\nThere is cake on Fridays.\n");
    let (_, out, _) = index_them();
    let made: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&made["pages"], &made["unchanged"]), (&2.into(), &1.into()), "{made}");
    assert!(ask("when is there cake?").1.contains("Fridays"));
    // Both together.
    let (_, out, _) = run(&["faq", "--index", index, "how do I integrate FastAPI?"]);
    assert!(out.contains("docs-sdk/integration/fastapi.md"), "{out}");
}

#[test]
fn unusable_documents_and_indexes_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().to_str().unwrap();
    let (code, _, err) = run(&["index", empty, "--out", &format!("{empty}/x.index")]);
    assert_eq!(code, 1);
    assert!(err.starts_with("error: there are no documents in "), "{err}");
    let (code, _, err) = run(&["index", &format!("{empty}/nowhere")]);
    assert_eq!(code, 1);
    assert!(err.contains("does not exist"), "{err}");
    write(folder.path(), "bad.index", "Dear diary");
    let bad = format!("{empty}/bad.index");
    let (code, out, _) = run(&["faq", "--index", &bad, "what is a persona?"]);
    assert_eq!(code, 0);
    assert!(out.contains("warning: the index ") && out.contains("fluxway index DIR"), "{out}");
    let (code, _, err) = run(&["faq", "--index", &bad, "--no-shipped-docs", "what is a persona?"]);
    assert_eq!(code, 1);
    assert!(err.contains("cannot be used"), "{err}");
    let (code, _, err) = run(&["faq", " "]);
    assert_eq!(code, 1);
    assert!(err.contains("ask a question in plain language"), "{err}");
}
