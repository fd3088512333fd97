// The second TypeScript SDK, of which this is the client package. It checks every result by the negotiated revision.

import { elicit, endpoint, era, library, load, run, server, version } from './checks.mjs';

const { Client, StreamableHTTPClientTransport } = load('@modelcontextprotocol/client');
const { StdioClientTransport } = load('@modelcontextprotocol/client/stdio');

function transport(key) {
    if (!endpoint) return new StdioClientTransport({ command: server[0], args: server.slice(1) });
    const headers = { Authorization: `Bearer ${key}` };
    return new StreamableHTTPClientTransport(endpoint, { requestInit: { headers } });
}

await run('typescript-v2', async (key, complain) => {
    // `auto` asks a server of its own for the version and throws it away; `pin` takes nothing but this version.
    const mode = era === 'pin' ? { pin: version } : era;
    const options = { capabilities: { elicitation: {} }, versionNegotiation: { mode } };
    const client = new Client({ name: 'matrix', version: '1' }, options);
    client.setRequestHandler('elicitation/create', elicit);
    let hear;
    const news = new Promise(resolve => (hear = resolve));
    client.setNotificationHandler('notifications/tools/list_changed', hear);
    client.onerror = complain;
    const way = transport(key);
    await client.connect(way);
    const callTool = (params, options) => client.callTool(params, options);
    return {
        ...library(client, way, client.getNegotiatedProtocolVersion(), callTool),
        async hear(change) {
            const subscription = era === 'legacy' ? null : await client.listen({ toolsListChanged: true });
            change();
            await news;
            await subscription?.close();
        }
    };
});
