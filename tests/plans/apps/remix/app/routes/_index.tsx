import { useFetcher } from "@remix-run/react";

import type { action } from "./api.chat";

export default function Index() {
  const fetcher = useFetcher<typeof action>();
  const ask = (message: string) =>
    fetcher.submit({ message }, { method: "post", action: "/api/chat", encType: "application/json" });

  return (
    <main>
      <button onClick={() => ask("What is open on Sunday?")}>What is open on Sunday?</button>
      <p>{fetcher.data?.reply}</p>
    </main>
  );
}
