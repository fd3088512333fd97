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
    return joined(text) || text;
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
    return last?.content || last?.message || last?.delta ? plain(last) : JSON.stringify(found);
  }
  const name = answers.find((name) => found?.[name] && ["string", "object"].includes(typeof found[name]));
  return name ? plain(found[name]) : JSON.stringify(found);
}

const answers = [
  "answer", "reply", "response", "output", "output_text", "completion", "generated_text", "choices", "delta",
  "assistantMessage", "content", "text", "result", "data", "messages", "message",
];

// Pieces of text in a stream: `data: {"delta": "…"}`, `data: …`, `0:"…"`, or a JSON object on each line.
function joined(text) {
  const pieces = [];
  for (const line of text.split("\n")) {
    const [, kind, rest] = line.match(/^(data|0): ?(.*?)\r?$/) ?? (line.startsWith("{") ? [line, "json", line] : []);
    if (!kind || rest === "" || rest === "[DONE]") continue;
    let event = rest;
    try {
      event = JSON.parse(rest);
    } catch {
      if (kind !== "data") continue;
    }
    if (typeof event === "string") {
      pieces.push(event);
      continue;
    }
    const name = ["delta", "token", "chunk", ...answers].find((name) => event?.[name]);
    if (name) pieces.push(plain(event[name]));
  }
  // Each may be the whole text so far.
  const grows = pieces.length > 1 && pieces.every((piece, at) => at === 0 || piece.startsWith(pieces[at - 1]));
  return grows ? pieces.at(-1) : pieces.join("");
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
