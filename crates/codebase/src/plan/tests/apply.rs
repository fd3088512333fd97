//! Apply and undo are atomic, even when operations fail.

use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_assert_eq, prop_oneof, proptest};

use super::*;

fn sample_repository() -> TempDir {
    let folder = temp_folder(&[
        ("app/main.py", "import os\n\n\ndef run(q):\n    return q\n"),
        ("app/other.py", "x = 1\r\n"),
        ("conf.yaml", "# c\na: 1\n"),
    ]);
    std::fs::set_permissions(
        folder.path().join("app/main.py"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    folder
}

fn sample_edits() -> Value {
    json!([
        { "filepath": "app/main.py", "strategy": "add_decorator", "anchors": [{ "type": "before_match", "pattern": "def run(" }],
          "payload": { "import": "import sdk", "code": "@sdk.agent()" } },
        { "filepath": "app/other.py", "strategy": "insert_middleware", "anchors": [{ "type": "append_file" }], "payload": { "code": "y = 2" } },
        { "filepath": "conf.yaml", "strategy": "modify_config", "payload": { "set": { "b.c": "d" } } },
        { "filepath": "new/deep/file.py", "strategy": "create_file", "payload": { "code": "z = 3\n" } },
    ])
}

fn validated_plan(tree: &Tree, edits: Value) -> (EditPlan, Vec<ResolvedFile>) {
    let verdict = validate_edits(tree, edits);
    assert!(verdict.is_valid(), "{:#?}", verdict.findings);
    (verdict.plan.unwrap(), verdict.resolution.files)
}

/// Without the server's own state folder.
fn snapshot_user_files(folder: &TempDir) -> BTreeMap<String, (u32, Vec<u8>)> {
    snapshot_files(folder.path()).into_iter().filter(|(path, _)| !path.starts_with(STATE_FOLDER)).collect()
}

#[test]
fn undo_restores_every_byte() {
    let folder = sample_repository();
    let tree = open_tree(&folder);
    let before = snapshot_files(folder.path());
    let (plan, files) = validated_plan(&tree, sample_edits());
    let applied = apply(&tree, &plan, &files).unwrap();
    assert_eq!((applied.outcome, applied.files.len()), (ApplyOutcome::Applied, 4));
    let after = snapshot_user_files(&folder);
    assert_eq!(after["app/main.py"].0, before["app/main.py"].0);
    assert_eq!(after["app/other.py"].1, b"x = 1\r\ny = 2\r\n");
    assert_eq!(after["conf.yaml"].1, b"# c\na: 1\nb:\n  c: d\n");
    // Applying again changes nothing, according to hashes and to a new validation.
    assert_eq!(apply(&tree, &plan, &files).unwrap().outcome, ApplyOutcome::AlreadyApplied);
    let verdict = validate_plan(&tree, &serde_json::to_value(&plan).unwrap(), &validation_rules()).unwrap();
    assert!(verdict.is_valid() && verdict.already_applied);
    assert!(validate_edits(&tree, sample_edits()).already_applied);
    assert_eq!(snapshot_user_files(&folder), after);
    let undone = undo(&tree, None).unwrap();
    assert_eq!(undone.plan, plan.id);
    assert_eq!(snapshot_files(folder.path()), before);
    assert!(matches!(undo(&tree, Some(&plan.id)), Err(ApplyError::Unknown(_))));
    assert_eq!(snapshot_files(folder.path()), before);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "tests edit files")]
fn undo_never_overwrites_user_edits() {
    let folder = sample_repository();
    let tree = open_tree(&folder);
    let (plan, files) = validated_plan(&tree, sample_edits());
    apply(&tree, &plan, &files).unwrap();
    std::fs::write(folder.path().join("conf.yaml"), "# c\na: 5\nb:\n  c: d\n").unwrap();
    let mine = snapshot_files(folder.path());
    let Err(ApplyError::Conflict { conflicts }) = undo(&tree, None) else { panic!("it was undone") };
    assert_eq!(conflicts.len(), 1);
    assert!(conflicts[0].ours.contains("+b:") && conflicts[0].theirs.contains("+a: 5"), "{conflicts:#?}");
    assert_eq!(snapshot_files(folder.path()), mine);
    // Stale: edited between plan and apply.
    let (plan, files) = validated_plan(
        &tree,
        json!([{ "filepath": "conf.yaml", "strategy": "modify_config", "payload": { "set": { "z": 1 } } }]),
    );
    std::fs::write(folder.path().join("conf.yaml"), "# mine\n").unwrap();
    assert!(matches!(apply(&tree, &plan, &files), Err(ApplyError::Conflict { .. })));
    // Two plans on one file are undone in reverse.
    let (first, files) = validated_plan(
        &tree,
        json!([{ "filepath": "conf.yaml", "strategy": "modify_config", "payload": { "set": { "p": 1 } } }]),
    );
    apply(&tree, &first, &files).unwrap();
    let (second, files) = validated_plan(
        &tree,
        json!([{ "filepath": "conf.yaml", "strategy": "modify_config", "payload": { "set": { "q": 1 } } }]),
    );
    apply(&tree, &second, &files).unwrap();
    let Err(ApplyError::Conflict { conflicts }) = undo(&tree, Some(&first.id)) else {
        panic!("it was undone")
    };
    assert!(conflicts[0].message.contains(&second.id));
    assert_eq!(undo(&tree, None).unwrap().plan, second.id);
    assert_eq!(undo(&tree, Some(&first.id)).unwrap().plan, first.id);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the editor writes the files")]
fn plan_applied_by_an_editor_can_be_undone() {
    let folder = sample_repository();
    let tree = open_tree(&folder);
    let before = snapshot_files(folder.path());
    let (plan, files) = validated_plan(&tree, sample_edits());
    for file in &files {
        let path = folder.path().join(&file.change.path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, &file.new).unwrap();
    }
    let undone = undo_by_plan(&tree, &plan, &[]).unwrap();
    assert_eq!(undone.files.len(), 4);
    let mut after = snapshot_files(folder.path());
    // There is no record that the editor created these folders.
    assert!(after.remove("new/deep").is_some() && after.remove("new").is_some());
    assert_eq!(after, before);
    assert!(matches!(undo_by_plan(&tree, &plan, &[]), Err(ApplyError::Unknown(_))));
    std::fs::write(folder.path().join("conf.yaml"), "x: 1\n").unwrap();
    assert!(matches!(undo_by_plan(&tree, &plan, &[]), Err(ApplyError::Conflict { .. })));
}

#[test]
fn any_io_error_leaves_all_or_nothing() {
    let is_whole = |folder: &TempDir, old: &BTreeMap<_, _>, new: &BTreeMap<_, _>| {
        recover(&open_tree(folder)).unwrap();
        let now = snapshot_user_files(folder);
        assert!(now == *old || now == *new, "neither old nor new: {:?}", now.keys());
        now == *new
    };
    let (mut n, mut applied) = (0, 0);
    loop {
        let folder = sample_repository();
        let old = snapshot_user_files(&folder);
        let (plan, files) = validated_plan(&open_tree(&folder), sample_edits());
        let failing = open_tree(&folder).failing_at(n);
        let result = apply(&failing, &plan, &files);
        let reached = failing.has_failed();
        let right_after = snapshot_user_files(&folder);
        let new = {
            let whole = sample_repository();
            apply(&open_tree(&whole), &plan, &files).unwrap();
            snapshot_user_files(&whole)
        };
        // A single failure is recovered immediately.
        assert!(right_after == old || right_after == new, "operation {n}: {result:?}");
        assert_eq!(result.is_ok(), is_whole(&folder, &old, &new), "operation {n}: {result:?}");
        applied += u32::from(result.is_ok());
        if !reached {
            break;
        }
        n += 1;
    }
    assert!(n > 30 && applied >= 1, "{n} operations");
    for n in 0.. {
        let folder = sample_repository();
        let before = snapshot_files(folder.path());
        let (plan, files) = validated_plan(&open_tree(&folder), sample_edits());
        apply(&open_tree(&folder), &plan, &files).unwrap();
        let new = snapshot_user_files(&folder);
        let failing = open_tree(&folder).failing_at(n);
        let result = undo(&failing, None);
        recover(&open_tree(&folder)).unwrap();
        let now = snapshot_user_files(&folder);
        let all: BTreeMap<_, _> = before.clone();
        assert!(now == new || now == all, "operation {n}: {result:?}");
        assert!(result.is_err() || now == all, "operation {n}: {result:?}");
        if !failing.has_failed() {
            assert!(n > 20 && result.is_ok(), "{n} operations: {result:?}");
            break;
        }
    }
}

#[test]
fn one_of_several_concurrent_applies_wins() {
    let folder = sample_repository();
    let (plan, files) = validated_plan(&open_tree(&folder), sample_edits());
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let work = || apply(&open_tree(&folder), &plan, &files);
        let threads: Vec<_> = (0..20).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let applied =
        outcomes.iter().filter(|o| matches!(o, Ok(a) if a.outcome == ApplyOutcome::Applied)).count();
    let others = outcomes.iter().all(|o| matches!(o, Ok(_) | Err(ApplyError::Busy)));
    assert!(applied == 1 && others, "{outcomes:?}");
}

/// A journal of the plan `abc`, signed by `signer`, that would write "evil" to a file.
#[expect(clippy::disallowed_methods, reason = "tests forge journals")]
fn forge_journal(folder: &TempDir, path: &str, place: &str, signer: &TestSigner, version: u32) {
    let plans = folder.path().join(".fluxway/plans/abc");
    std::fs::create_dir_all(&plans).unwrap();
    let now = digest::sha256_hex(&std::fs::read(folder.path().join(path)).unwrap());
    let journal = json!({ "plan": "abc", "principal": { "tenant": "ada", "subject": "key:1" }, "summary": "", "place": place,
        "number": 1, "progress": "applying", "folders": [],
        "files": [{ "path": path, "blob": 0, "old": { "sha256": digest::sha256_hex(b"evil"), "mode": 511 },
            "new": { "sha256": now, "mode": 420 }, "changes": [] }] });
    let journal = journal.to_string();
    let signature = signer.sign("fluxway plan journal", journal.as_bytes());
    let file = json!({ "version": version, "journal": journal, "signature": signature });
    std::fs::write(plans.join("journal.json"), file.to_string()).unwrap();
    std::fs::write(plans.join("0.old"), "evil").unwrap();
}

#[test]
#[expect(clippy::disallowed_methods, reason = "tests make files")]
fn foreign_journal_is_not_trusted() {
    let ours = || TestSigner("ours");
    let folder = sample_repository();
    std::fs::create_dir_all(folder.path().join(".git/hooks")).unwrap();
    std::fs::write(folder.path().join(".git/hooks/x"), "ok").unwrap();
    let before = snapshot_user_files(&folder);
    let here = open_tree(&folder).identity().unwrap();
    for (path, place, signer, version, recovers, reported) in [
        // A copy of the folder: its journal is valid but belongs to another folder.
        ("conf.yaml", "1:1", ours(), 2, false, false),
        ("conf.yaml", here.as_str(), TestSigner("another user's"), 2, false, true),
        ("conf.yaml", here.as_str(), ours(), 1, false, true),
        // Even a signed journal cannot write to never-writable paths.
        (".git/hooks/x", here.as_str(), ours(), 2, true, false),
    ] {
        forge_journal(&folder, path, place, &signer, version);
        let (_, unreadable) = list_undoable_plans(&open_tree(&folder), &TEST_ACTOR).unwrap();
        assert_eq!(!unreadable.is_empty(), reported, "{path} {place} {version}: {unreadable:?}");
        assert_eq!(
            recover(&open_tree(&folder)).unwrap().len(),
            usize::from(recovers),
            "{path} {place} {version}"
        );
        assert_eq!(snapshot_user_files(&folder), before, "{path} {place} {version}");
    }
    std::fs::write(folder.path().join(".fluxway/plans/abc/journal.json"), "{}").unwrap();
    assert_eq!(list_undoable_plans(&open_tree(&folder), &TEST_ACTOR).unwrap().1.len(), 1);
    // A valid journal for this folder is accepted, so the others fail for the reason under test.
    forge_journal(&folder, "conf.yaml", &here, &ours(), 2);
    recover(&open_tree(&folder)).unwrap();
    assert_eq!(std::fs::read(folder.path().join("conf.yaml")).unwrap(), b"evil");
}

#[test]
fn plan_can_only_be_undone_by_its_tenant() {
    let folder = sample_repository();
    let tree = open_tree(&folder);
    let before = snapshot_files(folder.path());
    let (plan, files) = validated_plan(&tree, sample_edits());
    apply(&tree, &plan, &files).unwrap();
    let after = snapshot_files(folder.path());
    let eve = Actor { tenant: "eve", ..TEST_ACTOR };
    assert_eq!(list_undoable_plans(&tree, &eve).unwrap().0, []);
    assert!(!can_undo(&tree, &plan.id, &eve).unwrap());
    for refused in
        [super::super::undo(&tree, &plan.id, &eve), super::super::undo_by_plan(&tree, &plan, &[], &eve)]
    {
        // As if the plan did not exist.
        let Err(ApplyError::Unknown(says)) = refused else { panic!("{refused:?}") };
        assert!(says.ends_with("is not applied here; no plan is applied"), "{says}");
    }
    assert_eq!(snapshot_files(folder.path()), after);
    let colleague = Actor { subject: "key:2", ..TEST_ACTOR };
    assert_eq!(list_undoable_plans(&tree, &colleague).unwrap().0[0].plan, plan.id);
    super::super::undo(&tree, &plan.id, &colleague).unwrap();
    assert_eq!(snapshot_files(folder.path()), before);
}

fn arbitrary_lines() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("a = 1"),
        Just("b()"),
        Just(""),
        Just("# ü"),
        Just("if x:\n    y()"),
        Just("import os")
    ];
    let end = prop_oneof![Just("\n"), Just("\r\n")];
    (proptest::collection::vec(line, 0..8), end, any::<bool>()).prop_map(|(lines, end, closed)| {
        let text = lines.join("\n").replace('\n', end);
        if closed { format!("{text}{end}") } else { text }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn every_applied_plan_can_be_undone(files in proptest::collection::vec(arbitrary_lines(), 1..4), created in any::<bool>(), code in prop_oneof![Just("z()"), Just("def f():\n  return 1"), Just("'é'")]) {
        let names: Vec<String> = (0..files.len()).map(|n| format!("d{n}/f{n}.py")).collect();
        let tree_files: Vec<(&str, &str)> = names.iter().map(String::as_str).zip(files.iter().map(String::as_str)).collect();
        let folder = temp_folder(&tree_files);
        let tree = open_tree(&folder);
        let before = snapshot_files(folder.path());
        let mut edits: Vec<Value> = names.iter().map(|name| json!({ "filepath": name, "strategy": "insert_middleware",
            "anchors": [{ "type": "append_file" }], "payload": { "code": code, "import": "import sdk" } })).collect();
        if created {
            edits.push(json!({ "filepath": "new/x.txt", "strategy": "create_file", "payload": { "code": code } }));
        }
        let (plan, files) = validated_plan(&tree, json!(edits));
        apply(&tree, &plan, &files).unwrap();
        for file in &files {
            let now = tree.read(&file.change.path, MAX_EDITED_FILE_BYTES).unwrap();
            prop_assert_eq!(String::from_utf8(now).unwrap(), file.new.clone());
        }
        undo(&tree, Some(&plan.id)).unwrap();
        prop_assert_eq!(snapshot_files(folder.path()), before);
    }
}
