// The checks, in the order of the table, for clients that are Node libraries: the twin of checks.py.
//
// A library is an object with `version`, `tools`, `call`, `complete`, `resources`, `read`, `prompts` and `prompt`;
// `call` gives { structured, error }, where `error` is a text or null.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isDeepStrictEqual } from 'node:util';

export const [era, log, ...server] = process.argv.slice(2);
export const version = era === 'legacy' ? '2025-11-25' : '2026-07-28';

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
const LIMIT = 20_000; // For a check that should take a second: a hanging client is a failure, not a hanging run.
const ENDLESS = { steps: 1000, step_ms: 100 };

// The user behind the client: fills in forms, or declines them.
const user = { asked: 0, declines: false };
export function elicit({ params }) {
    user.asked += 1;
    if (user.declines) return { action: 'decline' };
    const fields = Object.keys(params.requestedSchema.properties);
    return { action: 'accept', content: Object.fromEntries(fields.map(name => [name, ANSWERS[name]])) };
}

// Everything said so far. `way` is '>' for what the client said.
export function wire() {
    const lines = readFileSync(log, 'utf8').split('\n').filter(Boolean);
    return lines.map(line => ({ way: line[0], ...JSON.parse(line.slice(2)) }));
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

        await within(5000, client.call('tell_fortune', { category: 'career' }));
        // Lines come in order, so whoever answered that has read the cancellation. Give it time to break its silence.
        const heard = wire().length;
        await client.call('wait', { steps: 3, step_ms: 100 });
        const said = wire();
        const { id, params } = said.find(m => m.way === '>' && isDeepStrictEqual(m.params?.arguments, ENDLESS));
        const told = said.filter(m => m.method === 'notifications/cancelled').map(m => m.params.requestId);
        expect(isDeepStrictEqual(told, [id]), `the client cancelled ${told}`);
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

// What the client has to say against the server. Progress of a call that is over is not the server's fault: it may
// cross the cancellation on its way.
const complaints = [];
export function complain(error) {
    if (!error.message.includes('progress notification for an unknown token')) complaints.push(error.message);
}

// Runs all checks over one connection.
export async function run(name, open) {
    const report = (check, status, note) => console.log(JSON.stringify({ client: name, era, check, status, note }));
    try {
        const client = await within(LIMIT, open());
        for (const [check, body] of Object.entries(CHECKS)) {
            try {
                const note = await within(LIMIT, body(client));
                expect(complaints.length === 0, `the client complained: ${complaints}`);
                report(check, 'ok', note ?? '');
            } catch (error) {
                complaints.length = 0;
                report(check, 'FAIL', `${error.name}: ${error.message}`);
            }
        }
        await within(LIMIT, client.close());
    } catch (error) {
        report('connect', 'FAIL', `${error.name}: ${error.message}`); // Or the end of the connection: the log tells.
    }
}

// What the two TypeScript SDKs have in common. `callTool(params, options)` is the one thing that differs.
export function library(client, negotiated, callTool) {
    return {
        version: negotiated,
        close: () => client.close(),
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
