import type { ActionFunctionArgs } from "@remix-run/node";

import { guide } from "../guide.server";

export async function action({ request }: ActionFunctionArgs) {
  const { message } = await request.json();
  return { reply: await guide(message) };
}
