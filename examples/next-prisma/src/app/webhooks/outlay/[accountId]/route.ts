import { host } from '../../../../host.ts'

/** Receives a webhook of the service. */
export async function POST(
  request: Request,
  { params }: { params: Promise<{ accountId: string }> },
): Promise<Response> {
  const webhook = { body: new Uint8Array(await request.arrayBuffer()), headers: request.headers }
  const { status } = await host().engine.webhook(webhook, await params)
  return new Response(null, { status })
}
