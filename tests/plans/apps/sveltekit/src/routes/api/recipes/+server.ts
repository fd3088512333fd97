import { error, json } from '@sveltejs/kit';

import { suggest } from '$lib/server/agent';

import type { RequestHandler } from './$types';

export const POST: RequestHandler = async ({ request }) => {
	const { prompt } = await request.json();
	if (typeof prompt !== 'string') error(400, 'prompt is missing');
	return json({ text: await suggest(prompt) });
};
