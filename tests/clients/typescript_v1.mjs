// The first TypeScript SDK, one package for everything. It knows no revision after 2025-11-25.

import { complain, elicit, library, load, run, server, wire } from './checks.mjs';

const { Client } = load('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = load('@modelcontextprotocol/sdk/client/stdio.js');
const { ElicitRequestSchema } = load('@modelcontextprotocol/sdk/types.js');

await run('typescript-v1', async () => {
    const client = new Client({ name: 'matrix', version: '1' }, { capabilities: { elicitation: {} } });
    client.setRequestHandler(ElicitRequestSchema, elicit);
    client.onerror = complain;
    await client.connect(new StdioClientTransport({ command: server[0], args: server.slice(1) }));
    // It does not tell which version it agreed to.
    const greeting = wire().find(({ way, result }) => way === '<' && result);
    const callTool = (params, options) => client.callTool(params, undefined, options);
    return library(client, greeting.result.protocolVersion, callTool);
});
