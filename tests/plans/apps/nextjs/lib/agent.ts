import OpenAI from "openai";

const INSTRUCTIONS = "You help people with their garden. Ask where they live if it matters.";

export async function answer(message: string): Promise<string> {
  // Made here and not above: `next build` loads this file without a key.
  const client = new OpenAI();
  const completion = await client.chat.completions.create({
    model: "gpt-5-mini",
    messages: [
      { role: "system", content: INSTRUCTIONS },
      { role: "user", content: message },
    ],
  });
  return completion.choices[0].message.content ?? "";
}
