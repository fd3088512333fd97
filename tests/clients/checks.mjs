// The checks, in the order of the table, for clients that are Node libraries: the twin of checks.py.
//
// A library is an object with `version`, `tools`, `call`, `complete`, `resources`, `read`, `prompts` and `prompt`;
// `call` gives { structured, error }, where `error` is a text or null. Over HTTP there is also `hear`, which brings
// about a change of the tools and waits until the client has heard of it.

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

export const [era, log, ...server] = process.argv.slice(2);
export const version = era === 'legacy' ? '2025-11-25' : '2026-07-28';

// Over HTTP, `server` is an address; tap_http.py says what else there is to know.
const served = JSON.parse(process.env.SERVED ?? 'null');
export const endpoint = served && new URL(server[0]);

// The packages are outside of the clone, where `import` would not look for them.
export const load = createRequire(`${process.env.CLIENT_PACKAGES}/`);

const ANSWERS = {
    destination: 'Lisbon',
    departure: '2035-05-01',
    return: '2035-05-08',
    travellers: 2,
    class: 'business',
    confirm: true
};
const PROJECT = { name: 'Matrix', description: 'Made by a client.', template: 'landing' };
const HEADING = { type: 'heading', props: { text: 'Hello', level: 2 } };
const LIMIT = 120_000; // For a check that should take a second: a hanging client is a failure, not a hanging run.
const PATIENCE = 60_000; // For something that comes at once, if the machine has nothing else to do.
const ENDLESS = { steps: 1000, step_ms: 100 };
const TAG = 'io.modelcontextprotocol/subscriptionId';
const CANCELLED = 'fluxway_requests_total{method="tools/call",tool="wait",outcome="cancelled"}';

// The user behind the client: fills in forms, or declines them.
const user = { asked: 0, declines: false, answers: ANSWERS };
export function elicit({ params }) {
    user.asked += 1;
    if (user.declines) return { action: 'decline' };
    const fields = Object.keys(params.requestedSchema.properties);
    return { action: 'accept', content: Object.fromEntries(fields.map(name => [name, user.answers[name]])) };
}

function read(marks) {
    const lines = readFileSync(log, 'utf8').split('\n').filter(line => line && marks.includes(line[0]));
    return lines.map(line => ({ way: line[0], ...JSON.parse(line.slice(2)) }));
}

// Everything said so far. `way` is '>' for what the client said.
export const wire = () => read('><');

// What HTTP said so far: requests, answers, ends of connections.
const traffic = () => read('*');

// A request that does not go through the tap.
function askServer(method, path, key, headers) {
    const init = { method, headers: { Authorization: `Bearer ${key}`, ...headers } };
    return fetch(`http://${served.server}${path}`, init);
}

// Waits until one of the server's figures is as it should be. What was not counted yet is none.
async function untilFigure(name, wanted) {
    let found;
    for (let attempt = 0; attempt < PATIENCE / 100; attempt += 1) {
        const page = await (await askServer('GET', '/metrics', served.admin)).text();
        found = Number(page.split('\n').find(line => line.startsWith(`${name} `))?.slice(name.length) ?? 0);
        if (found === wanted) return;
        await sleep(100);
    }
    throw new Error(`${name} is ${found}, not ${wanted}`);
}

function expect(holds, what) {
    if (!holds) throw new Error(typeof what === 'string' ? what : JSON.stringify(what));
}

function expectBooking({ structured, error }) {
    expect(error === null, error);
    const { confirm, ...wanted } = ANSWERS;
    const got = Object.fromEntries(Object.keys(wanted).map(name => [name, structured?.[name]]));
    expect(isDeepStrictEqual(got, wanted) && structured.reference, structured);
}

// What a tool gave, which must not be an error.
async function done(client, tool, args) {
    const { structured, error } = await client.call(tool, args);
    expect(error === null, `${tool}: ${error}`);
    return structured;
}

async function until(holds, what) {
    for (let attempt = 0; attempt < PATIENCE / 100; attempt += 1) {
        if (holds()) return;
        await sleep(100);
    }
    throw new Error(`it never came: ${what}`);
}

async function within(ms, promise) {
    let timer;
    const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(`no end after ${ms} ms`)), ms)));
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

const CHECKS = {
    async connect(client) {
        expect(client.version === version, `negotiated ${client.version}, not ${version}`);
        return client.version;
    },

    async list(client) {
        const names = await client.tools();
        expect(names.includes('tell_fortune') && names.includes('booking'), names);
    },

    async call(client) {
        const { structured, error } = await client.call('tell_fortune', { category: 'career' });
        expect(error === null, error);
        expect(isDeepStrictEqual(Object.keys(structured).sort(), ['category', 'fortune', 'mood']), structured);
        expect(structured.category === 'career', structured);
    },

    async 'bad-call'(client) {
        const wrong = await client.call('tell_fortune', { category: 'weather' });
        expect(/weather.*career/.test(wrong.error), wrong);
        const unknown = await client.call('no_such_tool', {});
        expect(/no_such_tool/.test(unknown.error), unknown);
    },

    async completion(client) {
        const values = await client.complete('fortune', 'category', 'c');
        expect(isDeepStrictEqual(values, ['career']), values);
    },

    async resources(client) {
        const uri = 'fluxway://tools/tell_fortune';
        expect((await client.resources()).includes(uri), 'not listed');
        expect((await client.read(uri)).includes('tell_fortune'), 'another text');
    },

    async prompts(client) {
        expect((await client.prompts()).includes('fortune'), 'not listed');
        expect((await client.prompt('fortune', { category: 'career' })).includes('career'), 'another text');
    },

    async progress(client) {
        const values = [];
        const onprogress = ({ progress }) => values.push(progress);
        const { error } = await client.call('wait', { steps: 3, step_ms: 20 }, { onprogress });
        expect(error === null, error);
        // The third step ends the call: its progress is the answer. A client of these SDKs could not take both at once
        // (typescript-sdk issue 2580).
        expect(isDeepStrictEqual(values, [1, 2]), values);
    },

    async cancel(client) {
        const stop = new AbortController();
        // The first progress says that there is something to cancel.
        const onprogress = () => stop.abort('no longer needed');
        const given = await client.call('wait', ENDLESS, { onprogress, signal: stop.signal });
        expect(/no longer needed/.test(given.error), given);

        await within(PATIENCE, client.call('tell_fortune', { category: 'career' }));
        // Lines come in order, so whoever answered that has read the cancellation. Give it time to break its silence.
        // Requests over HTTP come in no order.
        if (served) {
            await untilFigure(CANCELLED, 1);
            await client.call('tell_fortune', { category: 'career' }); // What was said before this, the tap has heard.
        }
        const heard = wire().length;
        await client.call('wait', { steps: 3, step_ms: 100 });
        const said = wire();
        const { id, params } = said.find(m => m.way === '>' && isDeepStrictEqual(m.params?.arguments, ENDLESS));
        const told = said.filter(m => m.method === 'notifications/cancelled').map(m => m.params.requestId);
        const hangsUp = served && era !== 'legacy'; // Then that is all there is to say.
        expect(isDeepStrictEqual(told, hangsUp ? [] : [id]), `the client cancelled ${told}`);
        const answers = said.filter(m => m.way === '<' && m.id === id);
        expect(answers.length === 0, answers);
        const late = said.slice(heard).filter(m => m.params?.progressToken === params._meta.progressToken);
        expect(late.length === 0, late);
    },

    async 'book-asked'(client) {
        user.asked = 0;
        const before = wire().length;
        expectBooking(await client.call('booking', {}));
        const said = wire().slice(before);
        const requests = said.filter(m => m.way === '<' && m.method === 'elicitation/create').length;
        const results = said.filter(m => m.way === '<' && m.result?.resultType === 'input_required').length;
        const wanted = era === 'legacy' ? [5, 0] : [0, 5];
        expect(isDeepStrictEqual([requests, results], wanted), `asked by ${requests}, ${results}`);
        expect(user.asked === 5, `the user was asked ${user.asked} times`);
        return era === 'legacy' ? 'elicitation/create' : 'input_required';
    },

    async 'book-declined'(client) {
        user.declines = true;
        const { error } = await client.call('booking', {}).finally(() => (user.declines = false));
        expect(/declined/.test(error), error);
    },

    async 'book-args'(client) {
        user.asked = 0;
        expectBooking(await client.call('booking', ANSWERS));
        expect(user.asked === 0, 'the user was asked');
    }
};

class NotApplicable extends Error {}

// What there is only over HTTP. `open` makes another client.
const CHECKS_OF_HTTP = {
    // From making a project to deleting it, as its user and an agent would.
    async projects(client) {
        user.asked = 0;
        const before = wire().length;
        const { id, revision } = await done(client, 'create_project', PROJECT);
        expect(user.asked === 0, 'the user was asked for what was said');
        const home = `codefluss://design-system/${id}`;
        const listed = await done(client, 'list_projects', { fields: ['name'] });
        expect(isDeepStrictEqual(listed.projects, [{ id, name: PROJECT.name }]), listed);
        const [page] = (await done(client, 'get_blocks', { projectId: id, depth: 1 })).blocks;
        const heading = { projectId: id, action: 'create', parentId: page.id, blocks: [HEADING], ifRevision: revision };
        const written = await done(client, 'edit_blocks', heading);
        expect(written.revision === revision + 1, written);
        const { error } = await client.call('edit_blocks', heading);
        expect(/revision/.test(error), `a revision of yesterday gave: ${error}`);
        const uris = await client.resources();
        expect(uris.includes('codefluss://projects') && uris.includes(home), uris);
        expect('color' in JSON.parse(await client.read(home)), 'no design tokens');
        expect((await client.read(`${home}/css`)).includes(':root'), 'no stylesheet');
        user.answers = { name: PROJECT.name };
        const gone = await done(client, 'delete_project', { projectId: id }).finally(() => (user.answers = ANSWERS));
        expect(gone.deleted && user.asked === 1, `the user was asked ${user.asked} times`);
        expect((await done(client, 'list_projects', {})).projects.length === 0, 'still there');
        if (era !== 'legacy') return;
        const isNews = ({ way, method }) => way === '<' && method === 'notifications/resources/list_changed';
        await until(() => wire().slice(before).filter(isNews).length === 2, 'the list of resources changed twice');
    },

    async news(client) {
        expect((await client.tools()).includes('analyze_repository'), 'not listed');
        const before = wire().length;
        await client.hear(() => {
            writeFileSync(served.config, 'toolsets = ["reference", "diagnostics"]\n');
            process.kill(served.server_process, 'SIGHUP');
        });
        expect(!(await client.tools()).includes('analyze_repository'), 'the list is still the old one');
        const said = wire().slice(before).filter(m => m.way === '<' && m.method?.endsWith('/list_changed'));
        const methods = said.map(({ method }) => method.split('/')[1]);
        // In the modern era, only what the client has asked for.
        const wanted = era === 'legacy' ? ['tools', 'resources', 'prompts'] : ['tools'];
        expect(isDeepStrictEqual(methods, wanted), said);
        const isTagged = said.map(({ params }) => TAG in (params?._meta ?? {}));
        expect(isTagged.every(is => is === (era !== 'legacy')), said);
        return era === 'legacy' ? `on ${endpoint.pathname}` : 'subscriptions/listen';
    },

    async 'wrong-key'(client, open) {
        const before = traffic().length;
        const tried = open(served.old_key).then(other => other.tools());
        const said = await tried.then(() => 'welcome', error => error.message);
        // The first client has a session, and may ask for something in between.
        const since = traffic().slice(before);
        const others = since.filter(({ request, session }) => request && !session).map(({ connection }) => connection);
        const answers = since.filter(({ connection, status }) => status && others.includes(connection));
        const statuses = [...new Set(answers.map(({ status }) => status))];
        expect(isDeepStrictEqual(statuses, [401]), `the server answered ${statuses}`);
        if (endpoint.protocol === 'ws:') return `it cannot see why: ${said}`;
        expect(/invalid API key or token|\b401\b/.test(said), `the client said ${said}`);
    },

    async 'lost-session'(client, open) {
        if (era !== 'legacy') throw new NotApplicable('there are no sessions');
        const other = await open(served.key);
        await other.tools();
        if (endpoint.pathname === '/mcp') {
            // The newest that was given out: requests of the first client may come at any time.
            const { session } = traffic().findLast(({ session, status }) => session && status);
            const deleted = await askServer('DELETE', '/mcp', served.key, { 'Mcp-Session-Id': session });
            expect(deleted.status === 204, `DELETE gave ${deleted.status}`);
        } else {
            process.kill(served.tap_process, 'SIGUSR1');
            await untilFigure('fluxway_streams', 1);
            await sleep(200); // The client needs a moment to see it too. If it has not, it sees it during the call.
        }
        const before = wire().length;
        const { structured, error } = await other.call('tell_fortune', { category: 'career' });
        await other.close();
        if (wire().slice(before).some(({ method }) => method === 'initialize')) {
            expect(structured?.category === 'career', error);
            return 'begun anew';
        }
        expect(/unknown or expired session|Not connected|Connection closed/.test(error), `the client said ${error}`);
        return `reported: ${error}`;
    },

    async quiet() {
        if (endpoint.pathname !== '/mcp') throw new NotApplicable('there is one stream for everything');
        if (era !== 'legacy') throw new NotApplicable('there are no streams to come back to');
        // A call was cancelled: its stream is over without an answer. A client may ask for the rest, but not for ever.
        let asked;
        for (let attempt = 0; attempt < PATIENCE / 3000; attempt += 1) {
            const before = traffic().length;
            await sleep(3000);
            asked = traffic().slice(before).filter(({ request }) => request);
            if (asked.length === 0) return;
        }
        throw new Error(`the client keeps coming back: ${JSON.stringify(asked)}`);
    }
};

async function closed() {
    for (const name of ['fluxway_streams', 'fluxway_sessions']) await untilFigure(name, 0);
    const broken = traffic().filter(facts => facts.broken);
    expect(broken.length === 0, broken);
}

// What the client has to say against the server. It is not the server's fault if progress crosses the cancellation on
// its way, nor that a client which closes breaks off its own streams.
const complaints = [];
function complain({ message }) {
    if (!/progress notification for an unknown token|AbortError/.test(message)) complaints.push(message);
}

// Runs all checks over one connection. `open` takes a key, if there is one, and what to do with complaints.
export async function run(name, open) {
    const report = (check, status, note) => console.log(JSON.stringify({ client: name, era, check, status, note }));
    const attempt = async (check, body) => {
        try {
            const note = await within(LIMIT, body());
            expect(complaints.length === 0, `the client complained: ${complaints}`);
            report(check, 'ok', note ?? '');
        } catch (error) {
            complaints.length = 0;
            const status = error instanceof NotApplicable ? 'n/a' : 'FAIL';
            report(check, status, status === 'n/a' ? error.message : `${error.name}: ${error.message}`);
        }
    };
    const another = key => open(key, () => {});
    const checks = served ? { ...CHECKS, ...CHECKS_OF_HTTP } : CHECKS;
    try {
        const client = await within(LIMIT, open(served?.key, complain));
        for (const [check, body] of Object.entries(checks)) await attempt(check, () => body(client, another));
        await within(LIMIT, client.leave());
        if (served) await attempt('close', closed);
    } catch (error) {
        report('connect', 'FAIL', `${error.name}: ${error.message}`); // Or the end of the connection: the log tells.
    }
}

// What the two TypeScript SDKs have in common. `callTool(params, options)` is the one thing that differs.
export function library(client, transport, negotiated, callTool) {
    return {
        version: negotiated,
        close: () => client.close(),
        async leave() {
            await transport.terminateSession?.();
            await client.close();
        },
        tools: async () => (await client.listTools()).tools.map(tool => tool.name),
        async call(name, args, options) {
            try {
                const result = await callTool({ name, arguments: args }, options);
                return { structured: result.structuredContent, error: result.isError ? result.content[0].text : null };
            } catch (error) {
                return { error: error.message };
            }
        },
        async complete(prompt, name, value) {
            const ref = { type: 'ref/prompt', name: prompt };
            return (await client.complete({ ref, argument: { name, value } })).completion.values;
        },
        resources: async () => (await client.listResources()).resources.map(resource => resource.uri),
        read: async uri => (await client.readResource({ uri })).contents[0].text,
        prompts: async () => (await client.listPrompts()).prompts.map(prompt => prompt.name),
        prompt: async (name, args) => (await client.getPrompt({ name, arguments: args })).messages[0].content.text
    };
}
