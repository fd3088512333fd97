// Hands one input of FluxLoop to the running program, over HTTP, and gives back what it answers.
// FluxLoop writes one JSON line to stdin and takes the last JSON line of stdout. The program must be running;
// AGENT_URL says where, AGENT_TIMEOUT how many seconds to wait.
import { createInterface } from "node:readline";

const url = process.env.AGENT_URL ?? @URL@;
const timeout = Number(process.env.AGENT_TIMEOUT ?? 60) * 1000;

async function ask(message) {
  const response = await request(message);
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text.slice(0, 500)}`);
  return reply(text);
}

function request(message) {
@REQUEST@
}
@HELPERS@
// The text of an answer: a field of a JSON object, the pieces of a stream, or all of it.
function reply(text) {
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    return joined(text);
  }
  const found = @PICK@;
  if (found === answer && (answer?.error || answer?.success === false)) {
    throw new Error(`the program answered: ${text.slice(0, 500)}`);
  }
  return plain(found);
}

// The text a person would read in a reply: all of it, a part of it, or else JSON.
function plain(found) {
  if (typeof found === "string") return found;
  if (Array.isArray(found)) {
    if (found.length > 0 && found.every((part) => typeof part?.text === "string")) {
      return found.map((part) => part.text).join("");
    }
    const last = found.at(-1);
    if (found.length === 1 && typeof last === "object") return plain(last);
    return last?.content || last?.message || last?.delta ? plain(last) : JSON.stringify(found);
  }
  const name = answers.find((name) => found?.[name] && ["string", "object"].includes(typeof found[name]));
  if (name) return plain(found[name]);
  const likely = Object.entries(found ?? {}).filter(([name, part]) => typeof part === "string" && isAnswer(name));
  return likely.length === 1 ? likely[0][1] : JSON.stringify(found);
}

const isAnswer = (name) => /answer|reply|response|output|generated/i.test(name);

const answers = [
  "answer", "reply", "response", "output", "output_text", "completion", "generated_text", "choices", "delta",
  "assistantMessage", "content", "text", "result", "data", "messages", "message", "value",
];

// Pieces of text in a stream: `data: {"delta": "…"}`, `data: …`, `0:"…"`, or a JSON object on each line.
function joined(text) {
  const pieces = [];
  const errors = [];
  let eventName = "";
  for (const line of text.split("\n").map((line) => line.replace(/\r$/, ""))) {
    if (line === "") eventName = "";
    const [, field, rest] = line.match(/^(data|event|0|3): ?(.*)$/) ?? (line.startsWith("{") ? [line, "json", line] : []);
    if (field === "event") eventName = rest;
    // A word in brackets ends a stream: [DONE].
    if (!field || field === "event" || rest === "" || /^\[[a-z]+\]$/i.test(rest)) continue;
    if (field === "3") {
      errors.push(rest);
      continue;
    }
    let event = rest;
    try {
      event = JSON.parse(rest);
    } catch {
      if (field !== "data") continue;
    }
    if (event === null || typeof event !== "object") {
      if (field === "data" || typeof event === "string") pieces.push([eventName, typeof event === "string" ? event : rest]);
      continue;
    }
    if (event.type === "error" || Object.keys(event).join() === "error") errors.push(rest);
    const name = ["delta", "token", "chunk", ...answers].find((name) => ["string", "object"].includes(typeof event[name]) && event[name]);
    const said = name ? plain(event[name]) : "";
    const isText = typeof event[name] === "string" || !/^[{[]/.test(said); // JSON holds no text.
    if (said && isText) pieces.push([String(event.type ?? event.event ?? eventName), said]);
  }
  if (pieces.length === 0 && errors.length > 0) throw new Error(`the program answered: ${errors[0].slice(0, 500)}`);
  if (pieces.length === 0) return text;
  const texts = spoken(pieces);
  // Each may be the whole text so far, or the last all of it once more.
  const grows = texts.length > 1 && texts.every((piece, at) => at === 0 || piece.startsWith(texts[at - 1]));
  const repeats = texts.length > 2 && texts.at(-1) === texts.slice(0, -1).join("");
  return grows || repeats ? texts.at(-1) : texts.join("");
}

// What is said, not what is told about it: events of kinds such as `token`, before others.
function spoken(pieces) {
  const said = pieces.filter(
    ([kind]) => !/reason|think|tool|argument|status|error|progress|source|citation|metadata/i.test(kind),
  );
  for (const words of [/delta|token|chunk/i, /text|content|answer|message|response/i]) {
    const found = said.filter(([kind]) => words.test(kind));
    if (found.length > 0) return found.map(([, text]) => text);
  }
  return (said.length > 0 ? said : pieces).map(([, text]) => text);
}

for await (const line of createInterface({ input: process.stdin })) {
  if (!line.trim()) continue;
  let answer;
  try {
    answer = { success: true, output: await ask(JSON.parse(line).input_text) };
  } catch (error) {
    const cause = error.cause?.message ? ` (${error.cause.message})` : "";
    answer = { success: false, output: "", error: { message: `${error.message}${cause}` } };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
