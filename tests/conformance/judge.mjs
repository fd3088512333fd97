// Judges what the suite left behind: `judge.mjs SUITE LOGS KNOWN-GAPS`. Prints a table; ends with 1 if anything is wrong.
//
// Not by the suite's own verdict: to it a scenario has passed if nothing failed, even if nothing was checked, or if no
// server was there (three of the required ones only warn then). Here a check of its own must have succeeded, too.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [suite, logs, gapsFile] = process.argv.slice(2);
const { parse } = createRequire(join(suite, "package.json"))("yaml");

// How many scenarios there must be at least: those that the revision requires, or all of the run.
const RUNS = [
  { name: "2025-11-25", required: 30, all: 33 },
  { name: "2026-07-28", required: 37, all: 50 },
  { name: "2025-06-18", required: 0, all: 27 },
  { name: "2025-03-26", required: 0, all: 1 },
];
const STATUSES = ["SUCCESS", "FAILURE", "WARNING", "SKIPPED", "INFO"];

const problems = [];
const notes = [];

/** Which scenarios the revision scores; nothing where the run was not made by requirements. */
function scored({ name, required }) {
  if (required === 0) return [];
  return parse(readFileSync(join(suite, "requirements", `${name}.yaml`), "utf8")).server;
}

/** The checks by scenario, as the suite wrote them down. */
function results(run) {
  const folder = join(logs, run.name, "results");
  const found = new Map();
  for (const entry of existsSync(folder) ? readdirSync(folder) : []) {
    const [, scenario] = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(entry) ?? [];
    const file = join(folder, entry, "checks.json");
    if (!scenario) problems.push(`${run.name}: not a result: ${entry}`);
    else if (found.has(scenario)) problems.push(`${run.name}: two results of ${scenario}`);
    else if (existsSync(file)) found.set(scenario, JSON.parse(readFileSync(file, "utf8")));
  }
  return found;
}

/** What the suite says it ran, and how it counted: `✓ ping: 2 passed, 0 failed`. */
function summary(output) {
  const text = output.slice(output.lastIndexOf("=== SUMMARY ==="));
  const lines = [...text.matchAll(/^[✓✗] (\S+): (\d+) passed, (\d+) failed$/gm)];
  return new Map(lines.map(([, scenario, passed, failed]) => [scenario, [Number(passed), Number(failed)]]));
}

const said = (check) => `${check.id}: ${check.errorMessage ?? check.description}`;

/** Why a scenario has not passed, or nothing. */
function objection(checks, counted) {
  if (!checks) return "no results: the suite could not run it";
  const unknown = checks.find((check) => !STATUSES.includes(check.status));
  if (unknown) return `check ${unknown.id} has the unknown status ${unknown.status}`;
  const successes = checks.filter((check) => check.status === "SUCCESS");
  const failures = checks.filter((check) => check.status === "FAILURE");
  const [passed, failed] = counted;
  if (successes.length !== passed || failures.length !== failed) {
    const seen = `${successes.length} passed, ${failures.length} failed`;
    return `the results (${seen}) are not those of the summary (${passed} passed, ${failed} failed)`;
  }
  if (failed > 0) return failures.map(said).join("\n");
  // Well-formed messages alone show nothing of the scenario; the suite counts its own messages, too.
  const own = successes.filter((check) => check.id !== "wire-schema-valid");
  if (own.length === 0) return "nothing was shown: no check of its own succeeded";
}

function knownGaps() {
  const gaps = new Map();
  for (const [index, line] of readFileSync(gapsFile, "utf8").split("\n").entries()) {
    if (line.trim() === "" || line.startsWith("#")) continue;
    const [, run, scenario, reason] = /^(\S+)\s+(\S+)\s+(\S.*)$/.exec(line) ?? [];
    const key = `${run} ${scenario}`;
    if (!reason) problems.push(`known-gaps.txt:${index + 1}: not \`RUN SCENARIO REASON\`: ${line}`);
    else if (gaps.has(key)) problems.push(`known-gaps.txt:${index + 1}: ${key} stands there twice`);
    else gaps.set(key, { reason, line: index + 1, used: false });
  }
  return gaps;
}

const short = (text) => text.split("\n").map((line) => line.slice(0, 400)).join("\n      ");

function judge(run, gaps) {
  const output = readFileSync(join(logs, run.name, "output.txt"), "utf8");
  const exitCode = readFileSync(join(logs, run.name, "exit-code"), "utf8").trim();
  const required = scored(run);
  const found = results(run);
  const counted = summary(output);
  const row = { run: run.name, required: 0, others: 0, gaps: 0, checks: 0, warnings: 0 };
  const excused = new Map();
  let refused = false; // By the suite's own rules.

  for (const scenario of [...required, ...found.keys()]) {
    if (!counted.has(scenario)) counted.set(scenario, undefined);
  }
  for (const [scenario, counts] of counted) {
    const isRequired = required.includes(scenario);
    const checks = found.get(scenario);
    const why = counts ? objection(checks, counts) : "not in the summary of the suite";
    const gap = gaps.get(`${run.name} ${scenario}`);
    row.checks += checks?.filter((check) => check.status === "SUCCESS").length ?? 0;
    if ((isRequired || required.length === 0) && (!counts || counts[1] > 0)) refused = true;
    for (const check of checks?.filter((check) => check.status === "WARNING") ?? []) {
      row.warnings += 1;
      notes.push(`warning ${run.name} ${scenario}: ${short(said(check))}`);
    }
    if (gap) gap.used = true;
    if (gap && isRequired) {
      problems.push(`known-gaps.txt:${gap.line}: ${scenario} is required by ${run.name} and cannot be excused`);
    } else if (gap && !why) {
      problems.push(`known-gaps.txt:${gap.line}: ${scenario} passes by now: remove the line`);
    }
    if (!why) {
      row[isRequired ? "required" : "others"] += 1;
    } else if (gap && !isRequired) {
      row.gaps += 1;
      excused.set(gap.reason, [...(excused.get(gap.reason) ?? []), scenario]);
    } else {
      problems.push(`${run.name} ${scenario}${isRequired ? " (required)" : ""}:\n      ${short(why)}`);
    }
  }

  for (const [excuse, scenarios] of excused) notes.push(`gap ${run.name} ${scenarios.join(", ")}: ${excuse}`);
  if (required.length < run.required) {
    problems.push(`${run.name}: the suite requires ${required.length} scenarios, at least ${run.required} are expected`);
  }
  if (counted.size < run.all) problems.push(`${run.name}: ${counted.size} scenarios, at least ${run.all} are expected`);
  if (exitCode !== (refused ? "1" : "0")) {
    const end = output.trimEnd().split("\n").slice(-5).join("\n");
    const what = `the suite ended with ${exitCode}, which is not what its results say; it said at last:`;
    problems.push(`${run.name}: ${what}\n      ${short(end)}`);
  }
  const of = (passed, all) => (all > 0 ? `${passed}/${all}` : "-");
  const others = of(row.others, counted.size - required.length);
  return [row.run, of(row.required, required.length), others, row.gaps, row.checks, row.warnings].map(String);
}

const gaps = knownGaps();
const rows = RUNS.map((run) => judge(run, gaps));
for (const [key, { line, used }] of gaps) {
  if (!used) problems.push(`known-gaps.txt:${line}: there is no scenario ${key}`);
}

const table = [["run", "required", "others", "known gaps", "checks passed", "warnings"], ...rows];
const widths = table[0].map((_, column) => Math.max(...table.map((cells) => cells[column].length)));
for (const cells of table) console.log(cells.map((cell, column) => cell.padEnd(widths[column])).join("  ").trimEnd());
console.log();
for (const note of notes) console.log(note);
for (const problem of problems) console.log(`FAIL ${problem}`);
console.log(problems.length > 0 ? `${problems.length} failed` : "conformance: passed");
process.exitCode = problems.length > 0 ? 1 : 0;
