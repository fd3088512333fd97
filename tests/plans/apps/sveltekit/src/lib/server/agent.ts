import OpenAI from 'openai';

const INSTRUCTIONS = 'You suggest one recipe that uses what the user has.';

export async function suggest(prompt: string): Promise<string> {
	const completion = await new OpenAI().chat.completions.create({
		model: 'gpt-5-mini',
		messages: [
			{ role: 'system', content: INSTRUCTIONS },
			{ role: 'user', content: prompt }
		]
	});
	return completion.choices[0].message.content ?? '';
}
