// The second TypeScript SDK, of which this is the client package. It checks every result by the negotiated revision.

import { complain, elicit, era, library, load, run, server, version } from './checks.mjs';

const { Client } = load('@modelcontextprotocol/client');
const { StdioClientTransport } = load('@modelcontextprotocol/client/stdio');

await run('typescript-v2', async () => {
    // `auto` asks a server of its own for the version and throws it away; `pin` takes nothing but this version.
    const mode = era === 'pin' ? { pin: version } : era;
    const options = { capabilities: { elicitation: {} }, versionNegotiation: { mode } };
    const client = new Client({ name: 'matrix', version: '1' }, options);
    client.setRequestHandler('elicitation/create', elicit);
    client.onerror = complain;
    await client.connect(new StdioClientTransport({ command: server[0], args: server.slice(1) }));
    const callTool = (params, options) => client.callTool(params, options);
    return library(client, client.getNegotiatedProtocolVersion(), callTool);
});
