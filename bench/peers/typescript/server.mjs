// A stock server of the TypeScript SDK: one plain tool, and one that asks five questions.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const server = new McpServer({ name: 'typescript-hello', version: '1' });

server.registerTool(
  'echo',
  { description: 'Give a text back as it came.', inputSchema: { text: z.string() }, outputSchema: { text: z.string() } },
  async ({ text }) => ({ content: [{ type: 'text', text: JSON.stringify({ text }) }], structuredContent: { text } }),
);

const questions = [
  ['destination', { type: 'string', minLength: 2, maxLength: 80 }],
  ['departure', { type: 'string', format: 'date' }],
  ['travellers', { type: 'integer', minimum: 1, maximum: 9 }],
  ['class', { type: 'string', enum: ['economy', 'business', 'first'] }],
  ['confirm', { type: 'boolean' }],
];

server.registerTool('booking', { description: 'Book a trip.', inputSchema: {} }, async () => {
  const booked = {};
  for (const [name, schema] of questions) {
    const answer = await server.server.elicitInput({
      message: name,
      requestedSchema: { type: 'object', properties: { [name]: schema }, required: [name] },
    });
    booked[name] = answer.content[name];
  }
  return { content: [{ type: 'text', text: JSON.stringify(booked) }], structuredContent: booked };
});

await server.connect(new StdioServerTransport());
