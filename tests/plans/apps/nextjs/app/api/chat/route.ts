import { NextResponse } from "next/server";

import { answer } from "@/lib/agent";

export async function POST(request: Request) {
  const { message } = await request.json();
  if (typeof message !== "string") {
    return NextResponse.json({ error: "message is missing" }, { status: 400 });
  }
  return NextResponse.json({ reply: await answer(message) });
}
