import type { Credentials } from '@outlay/http-client'

/** Makes a function that moves the sandbox's clock forward, so that chains and banks need no time. */
export async function openSandboxClock(
  baseUrl: string,
  { clientId, clientSecret }: Credentials,
): Promise<(seconds: number) => Promise<void>> {
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
  const granted = await fetch(`${baseUrl}/oauth2/token`, { method: 'POST', body: new URLSearchParams(form) })
  const { access_token: token } = (await granted.json()) as { access_token?: string }
  return async (seconds) => {
    const answer = await fetch(`${baseUrl}/simulations/clock/advance`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ seconds }),
    })
    if (!answer.ok) throw new Error(`The clock did not move: HTTP ${answer.status}`)
  }
}
