// Hands one input of FluxLoop to the running program, over HTTP, and gives back what it answers.
// FluxLoop writes one JSON line to stdin and takes the last JSON line of stdout. The program must be running;
// AGENT_URL says where, AGENT_TIMEOUT how many seconds to wait.
@IMPORTS@import { createInterface } from "node:readline";

const url = process.env.AGENT_URL ?? @URL@;
const timeout = Number(process.env.AGENT_TIMEOUT ?? 60) * 1000;

async function ask(message) {
  const response = await request(message);
  const text = await read(response);
  const to = response.headers.get("location");
  const why = to ? ` (a redirect to ${to}; is a login needed?)` : "";
  if (!response.ok) throw new Error(`${url} answered ${response.status}${why}: ${text.slice(0, 500)}`);
  return reply(text);
}

// A stream may stay open after its last piece: what has come by then is the answer.
async function read(response) {
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const part of response.body ?? []) text += decoder.decode(part, { stream: true });
  } catch (error) {
    if (!text) throw error;
  }
  return text + decoder.decode();
}

function request(message) {
@REQUEST@
}
@HELPERS@
// The text of an answer: a field of a JSON object, the pieces of a stream, or all of it.
function reply(text) {
  const answer = parsed(text);
  if (answer === undefined) return joined(text);
  const found = @PICK@;
  const error = typeof answer?.error === "object" ? holds(answer.error) : answer?.error;
  const failed = error || answer?.success === false || answer?.type === "error";
  if (failed && (found === answer || !holds(found))) throw new Error(`the program answered: ${text.slice(0, 500)}`);
  return plain(found);
}

// What is written as JSON, if it is.
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// The text a person would read in a reply: all of it, a part of it, or else JSON.
function plain(found) {
  if (found === null) throw new Error("the agent returned nothing");
  if (typeof found === "string") return found;
  if (Array.isArray(found) && found.length > 0) {
    const last = found.at(-1);
    if (found.every((part) => typeof part === "string")) return found.join("\n");
    if (found.every((part) => typeof part?.text === "string" && !part.role)) return found.map((part) => part.text).join("");
    // Such as who speaks and what is said.
    if (found.every((part) => Array.isArray(part) && part.length === 2 && typeof part[1] === "string")) return last[1];
    const isMessage = ["role", "content", "delta", "message"].some((name) => last?.[name] !== undefined);
    if (isMessage || (found.length === 1 && last && typeof last === "object")) return plain(last);
  }
  const texts = Object.keys(found).filter((name) => typeof found[name] === "string");
  // Another field, such as a verdict.
  const explains = texts.includes("explanation") && texts.length > 1;
  const isDetail = (name) => ["explanation", "report", "summary"].includes(name) && typeof found[name] !== "string";
  const name = answers.find(
    (name) => holds(found[name]) && !isDetail(name) && !(explains && name === "explanation"),
  );
  if (name) return plain(found[name]);
  const likely = Object.entries(found).filter(([name, part]) => typeof part === "string" && isAnswer(name));
  if (likely.length === 1) return likely[0][1];
  // The only one that is more than a word.
  const prose = texts.filter((name) => !asked.includes(name)).map((name) => found[name]).filter((part) => part.trim().includes(" ") && !explains);
  if (prose.length === 1) return prose[0];
  // An empty text: there is a field for the answer, with nothing in it.
  if (answers.some((name) => found[name] === "")) return "";
  if (answers.some((name) => found[name] === null)) throw new Error(`there is no answer in ${JSON.stringify(found).slice(0, 500)}`);
  return JSON.stringify(found);
}

// Whether there is, or may be, a text in it.
const holds = (part) => Object.keys(part ?? "").length > 0;

const isAnswer = (name) =>
  /answer|reply|response|output|generated/i.test(name) && !/(?:id|to|at|type|time|count|url)$/i.test(name);

const answers = [
  "final_answer", "final_response", "final_report", "answer", "reply", "final_output", "output", "response", "output_text",
  "completion", "generated_text", "choices", "generations", "delta", "assistant", "assistantMessage", "assistant_message",
  "content", "text", "result", "raw", "explanation", "report", "summary", "data", "messages", "message", "msg", "body", "value", "token",
  "chunk",
];
// What was asked, which some programs send back.
const asked = ["question", "query", "prompt", "input"];
const pieceNames = ["delta", "token", "chunk", ...answers];

// Pieces of text in a stream: `data: {"delta": "…"}`, `data: …`, `0:"…"`, or a JSON object on each line.
function joined(text) {
  const pieces = [];
  const errors = [];
  let eventName = "";
  const lines = text.split(/\r?\n/);
  const isFramed = (line) => line === "" || /^(?:(?:data|event|id|retry)?:|.:|\{)/.test(line);
  if (!/^(?:data|event):/.test(text) && !lines.every(isFramed)) return text;
  for (const line of lines) {
    if (line === "") eventName = "";
    const [, field, rest] = line.match(/^(data|event|0|3): ?(.*)$/s) ?? (line.startsWith("{") ? [line, "json", line] : []);
    if (field === "event") eventName = rest;
    // A word in brackets ends a stream: [DONE].
    if (!field || field === "event" || rest === "" || /^\[[a-z]+\]$/i.test(rest)) continue;
    const event = parsed(rest);
    const fields = event && typeof event === "object" && !Array.isArray(event) ? event : {};
    const kind = [fields.type, fields.event, eventName].find((kind) => kind && typeof kind === "string") ?? "";
    // What others say.
    if (["user", "human", "system", "tool"].some((who) => who === fields.role || who === kind)) continue;
    if (kind === "error" || Object.keys(fields).join() === "error" || (field === "3" && typeof event === "string")) {
      errors.push(rest);
    } else if (fields === event) {
      const names = Object.keys(event);
      const isAlone = (name) => names.length === 1 && name !== "type" && name !== "event";
      const likely = names.filter((name) => typeof event[name] === "string" && (isAnswer(name) || isAlone(name)));
      const name = [...pieceNames, ...likely].find((name) => holds(event[name]));
      const part = event[name] ?? "";
      const said = plain(part);
      // JSON holds no text.
      if (said && (typeof part === "string" || !(parsed(said) instanceof Object))) pieces.push([kind, name, said]);
    } else if (typeof event === "string" || field === "data") {
      pieces.push([kind, "", typeof event === "string" ? event : rest]);
    }
  }
  if (pieces.length === 0 && errors.length > 0) throw new Error(`the program answered: ${errors[0].slice(0, 500)}`);
  if (pieces.length === 0 && /^(?:data|event):/.test(text)) throw new Error(`no text was found in the stream: ${text.slice(0, 500)}`);
  if (pieces.length === 0) return text;
  const texts = spoken(pieces);
  // Each may be the whole text so far, or the last all of it once more.
  const grows = texts.length > 1 && texts.every((piece, at) => at === 0 || piece.startsWith(texts[at - 1]));
  const repeats = texts.length > 2 && texts.at(-1) === texts.slice(0, -1).join("");
  return grows || repeats ? texts.at(-1) : texts.join("");
}

// What is said, not what is told about it: events of kinds such as `token`, before others.
function spoken(pieces) {
  let said = pieces.filter(
    ([kind]) => !/reason|think|tool|argument|status|error|progress|source|citation|metadata|context/i.test(kind),
  );
  if (said.length === 0) said = pieces;
  for (const words of [/delta|token|chunk/i, /text|content|answer|message|response/i]) {
    const found = said.filter(([kind]) => words.test(kind));
    if (found.length > 0) {
      said = found;
      break;
    }
  }
  // All of them in the field that most likely holds the answer; another field tells of the stream.
  const rank = (name) => (pieceNames.includes(name) ? pieceNames.indexOf(name) : pieceNames.length);
  const best = said.map(([, name]) => name).filter(Boolean).sort((one, other) => rank(one) - rank(other))[0];
  return said.filter(([, name]) => !name || name === best).map(([, , text]) => text);
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
