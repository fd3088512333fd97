"use client";

import { type FormEvent, useState } from "react";

export default function Home() {
  const [reply, setReply] = useState("");

  async function ask(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const message = new FormData(event.currentTarget).get("message");
    const response = await fetch("/api/chat", { method: "POST", body: JSON.stringify({ message }) });
    setReply((await response.json()).reply);
  }

  return (
    <form onSubmit={ask}>
      <input name="message" placeholder="When do I cut the roses?" />
      <p>{reply}</p>
    </form>
  );
}
