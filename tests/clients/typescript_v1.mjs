// The first TypeScript SDK, one package for everything. It knows no revision after 2025-11-25, but every transport.

import { elicit, endpoint, library, load, run, server, wire } from './checks.mjs';

const { Client } = load('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = load('@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport } = load('@modelcontextprotocol/sdk/client/streamableHttp.js');
const { SSEClientTransport } = load('@modelcontextprotocol/sdk/client/sse.js');
const { WebSocketClientTransport } = load('@modelcontextprotocol/sdk/client/websocket.js');
const { ElicitRequestSchema, ToolListChangedNotificationSchema } = load('@modelcontextprotocol/sdk/types.js');

const { WebSocket } = globalThis;

function transport(key) {
    if (!endpoint) return new StdioClientTransport({ command: server[0], args: server.slice(1) });
    const headers = { Authorization: `Bearer ${key}` };
    if (endpoint.pathname === '/mcp') return new StreamableHTTPClientTransport(endpoint, { requestInit: { headers } });
    if (endpoint.pathname === '/sse') return new SSEClientTransport(endpoint, { requestInit: { headers } });
    // It takes no headers, but the WebSocket of Node does.
    globalThis.WebSocket = class extends WebSocket {
        constructor(url, protocol) {
            super(url, { protocols: [protocol], headers });
        }
    };
    return new WebSocketClientTransport(endpoint);
}

await run('typescript-v1', async (key, complain) => {
    const client = new Client({ name: 'matrix', version: '1' }, { capabilities: { elicitation: {} } });
    client.setRequestHandler(ElicitRequestSchema, elicit);
    let hear;
    const news = new Promise(resolve => (hear = resolve));
    client.setNotificationHandler(ToolListChangedNotificationSchema, hear);
    client.onerror = complain;
    const way = transport(key);
    await client.connect(way);
    // It does not tell which version it agreed to.
    const greeting = wire().find(({ way, result }) => way === '<' && result);
    const callTool = (params, options) => client.callTool(params, undefined, options);
    return {
        ...library(client, way, greeting.result.protocolVersion, callTool),
        async hear(change) {
            change();
            await news;
        }
    };
});
