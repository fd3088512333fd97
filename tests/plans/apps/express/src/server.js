import express from "express";

import { answer } from "./agent.js";

const app = express();
app.use(express.json());

app.get("/healthz", (_request, response) => {
  response.json({ status: "ok" });
});

app.post("/chat", async (request, response) => {
  const { message } = request.body;
  if (typeof message !== "string") {
    response.status(400).json({ error: "message is missing" });
    return;
  }
  response.json({ reply: await answer(message) });
});

const port = Number(process.env.PORT ?? 3000);
app.listen(port, () => {
  console.log(`listening on ${port}`);
});
