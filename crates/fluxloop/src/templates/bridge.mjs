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

// The text in a reply: itself, a message's content, or all of it as JSON.
function plain(found) {
  const message = found?.choices?.[0]?.message ?? found;
  const text = [message, message?.content, message?.text].find((one) => typeof one === "string");
  return text ?? JSON.stringify(message);
}

// Pieces of text in a stream of events: `data: {"type": "text-delta", "delta": "…"}`, or `0:"…"`.
function joined(text) {
  const pieces = [];
  for (const line of text.split("\n")) {
    const [, kind, rest] = line.match(/^(data|0):\s*(.*)$/) ?? [];
    if (!kind) continue;
    try {
      const event = JSON.parse(rest);
      const piece = kind === "0" ? event : (event.delta ?? event.text);
      if (typeof piece === "string") pieces.push(piece);
    } catch {
      // Not every event is JSON: `data: [DONE]`.
    }
  }
  return pieces.join("");
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
