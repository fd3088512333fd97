import OpenAI from "openai";

const client = new OpenAI();

const INSTRUCTIONS = "You tell people where their parcel is. If you do not know, say so.";

export async function answer(message) {
  const completion = await client.chat.completions.create({
    model: "gpt-5-mini",
    messages: [
      { role: "system", content: INSTRUCTIONS },
      { role: "user", content: message },
    ],
  });
  return completion.choices[0].message.content ?? "";
}
