//! A repository analysed, beside programs that read or list the same files.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::BenchResult;
use crate::provision::{self, TreeTool};
use crate::table::{FigureTable, median, save};

/// What one run costs.
#[derive(Clone, Copy)]
struct CommandCost {
    cpu: f64,
    wall: f64,
}

pub(crate) fn run(quick: bool, given: Option<PathBuf>) -> BenchResult<()> {
    let tools = provision::tree_tools()?;
    let rounds = if quick { 1 } else { 7 };
    let scratch = std::env::temp_dir().join(format!("fluxway-bench-tree-{}", std::process::id()));
    let mut tables = Vec::new();
    if let Some(folder) = given {
        tables.push(compare("The tree that was given", &tools, &folder, rounds)?);
    }
    let sizes = if quick { [500, 1000, 2000] } else { [8_750, 17_500, 35_000] };
    let folders: Vec<_> = sizes.iter().map(|size| scratch.join(size.to_string())).collect();
    for (size, folder) in sizes.iter().zip(&folders) {
        generate(folder, *size)?;
    }
    tables.push(compare("A generated tree, the largest", &tools, &folders[2], rounds)?);
    tables.push(measure_growth(&tools[0], &sizes, &folders, rounds)?);
    std::fs::remove_dir_all(&scratch)?;
    tables.iter().for_each(FigureTable::print);
    save("tree", &tables.iter().collect::<Vec<_>>())
}

/// Every program on the same tree, in turns; medians.
fn compare(
    title: &'static str,
    tools: &[TreeTool],
    folder: &Path,
    rounds: usize,
) -> BenchResult<FigureTable> {
    let mut costs: Vec<Vec<CommandCost>> = vec![Vec::new(); tools.len()];
    for round in 0..=rounds {
        for (tool, costs) in tools.iter().zip(&mut costs) {
            let cost = measure(&tool.command, folder)?;
            // The first round warms the caches.
            if round > 0 {
                costs.push(cost);
            }
        }
    }
    let mut table = FigureTable::new(title, &["CPU, ms", "wall, ms", "memory, MB"]);
    for (tool, costs) in tools.iter().zip(costs) {
        let cpu = median(costs.iter().map(|cost| cost.cpu * 1000.0).collect());
        let wall = median(costs.iter().map(|cost| cost.wall * 1000.0).collect());
        table.add_row(&tool.name, vec![cpu, wall, peak_memory(&tool.command, folder).ok()]);
    }
    Ok(table)
}

/// The same kind of tree in three sizes: the cost for each file should stay what it is.
fn measure_growth(
    tool: &TreeTool,
    sizes: &[usize],
    folders: &[PathBuf],
    rounds: usize,
) -> BenchResult<FigureTable> {
    let mut table = FigureTable::new("Growth", &["files", "CPU, ms", "CPU per file, µs"]);
    for (size, folder) in sizes.iter().zip(folders) {
        let costs: BenchResult<Vec<f64>> =
            (0..=rounds).map(|_| Ok(measure(&tool.command, folder)?.cpu * 1000.0)).collect();
        let cpu = median(costs?.split_off(1)).unwrap_or_default();
        let files = *size as f64;
        table.add_row(&format!("{size} files"), vec![Some(files), Some(cpu), Some(cpu * 1000.0 / files)]);
    }
    Ok(table)
}

/// Runs a shell command in which `$DIR` is the folder. The shell's own clock tells what it cost.
fn measure(command: &str, folder: &Path) -> BenchResult<CommandCost> {
    let script = format!("TIMEFORMAT='%U %S'; time {{ {command}; }} >/dev/null 2>&1");
    let start = Instant::now();
    let output = Command::new("bash").args(["-c", &script]).env("DIR", folder).output()?;
    let wall = start.elapsed().as_secs_f64();
    let times = String::from_utf8_lossy(&output.stderr);
    let cpu: f64 = times.split_whitespace().filter_map(|word| word.parse::<f64>().ok()).sum();
    Ok(CommandCost { cpu, wall })
}

/// The most memory that a command had, as GNU time tells.
fn peak_memory(command: &str, folder: &Path) -> BenchResult<f64> {
    let mut time = Command::new("/usr/bin/time");
    let output = time
        .args(["-f", "%M", "bash", "-c", &format!("exec {command} >/dev/null 2>&1")])
        .env("DIR", folder)
        .output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let kilobytes: f64 = text.lines().last().unwrap_or_default().trim().parse()?;
    Ok(kilobytes / 1024.0)
}

/// A workspace of packages, half Python and half TypeScript, 50 files each, 3 kB a file, with things to ignore.
pub(crate) fn generate(folder: &Path, files: usize) -> BenchResult<()> {
    const FILES_PER_PACKAGE: usize = 50;
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join(".gitignore"), "ignored/\n*.log\n")?;
    std::fs::write(folder.join("pnpm-workspace.yaml"), "packages:\n  - 'packages/*'\n")?;
    for package in 0..files / FILES_PER_PACKAGE {
        let at = folder.join(format!("packages/p{package}"));
        std::fs::create_dir_all(at.join("src/ignored"))?;
        let python = package % 2 == 0;
        if python {
            std::fs::write(
                at.join("pyproject.toml"),
                format!("[project]\nname = \"p{package}\"\ndependencies = [\"fastapi\", \"openai\"]\n"),
            )?;
        } else {
            std::fs::write(
                at.join("package.json"),
                format!(
                    "{{\"name\": \"p{package}\", \"dependencies\": {{\"express\": \"^4\", \"react\": \"^19\"}}}}\n"
                ),
            )?;
        }
        for n in 0..FILES_PER_PACKAGE {
            let (name, text) = if python { python_file(n) } else { typescript_file(n) };
            std::fs::write(at.join("src").join(name), text)?;
        }
        std::fs::write(at.join("src/ignored/x.py"), "import flask\n")?;
        std::fs::write(at.join("src/noise.log"), "x\n".repeat(2000))?;
    }
    Ok(())
}

fn python_file(n: usize) -> (String, String) {
    let head =
        if n == 0 { "from fastapi import FastAPI\n\napp = FastAPI()\n" } else { "import json\nimport os\n" };
    let body = format!(
        "\n\ndef work_{n}(value: int) -> dict:\n    \"\"\"Count from a value.\"\"\"\n    total = {{\"n\": value}}\n    for step in range(value):\n        total[str(step)] = step * {n}\n    return total\n"
    );
    (format!("module_{n}.py"), format!("{head}{}", body.repeat(14)))
}

fn typescript_file(n: usize) -> (String, String) {
    let head = if n == 0 {
        "import express from \"express\";\nconst app = express();\napp.listen(3000);\n"
    } else {
        "import { useState } from \"react\";\n"
    };
    let body = format!(
        "\nexport function view{n}(props: {{ value: number }}) {{\n  const [state, setState] = useState(props.value);\n  const items = Array.from({{ length: state }}, (_, at) => at * {n});\n  return {{ items, grow: () => setState(state + 1) }};\n}}\n"
    );
    (format!("view{n}.ts"), format!("{head}{}", body.repeat(12)))
}
