import OpenAI from "openai";

const INSTRUCTIONS = "You know the city of Porto by heart.";

export async function guide(message: string): Promise<string> {
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
