import type { Credentials } from './credentials.ts'

/** The output of the command when it listens. The three lines work when pasted into a shell, one after the other. */
export function writeGreeting(
  url: string,
  credentials: Credentials,
  about: { readonly isNew: boolean; readonly dataDir: string },
): string {
  return `
The service listens, with simulated rails and play money${about.isNew ? '' : ', and has its data from before'}.

  base URL       ${url}
  token URL      ${url}/oauth2/token
  documentation  ${url}/docs
  client id      ${credentials.clientId}
  client secret  ${credentials.clientSecret}
  account id     ${credentials.accountId}
  data           ${about.dataDir}

Get a token, read the balance, make a payment:

${writeCommands(url, credentials).join('\n\n')}

Ctrl-C ends it. The data stay; the next start shows the same credentials.
`
}

/** Three shell commands: the first one keeps a token in a variable that the others use. */
function writeCommands(url: string, credentials: Credentials): readonly [string, string, string] {
  const { clientId, clientSecret, accountId, walletId, payeeId } = credentials
  const transfer = JSON.stringify({
    amount: { value: '12.50', currency: 'USDC' },
    source: { address_id: walletId, value_type: 'USDC', transfer_type: 'base' },
    destination: { address_id: payeeId, value_type: 'USDC', transfer_type: 'base' },
  })
  const bearer = '-H "Authorization: Bearer $TOKEN"'
  return [
    `TOKEN=$(curl -s -u '${clientId}:${clientSecret}' -d grant_type=client_credentials ${url}/oauth2/token | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`,
    `curl -s ${bearer} ${url}/accounts/${accountId}/balances`,
    `curl -s ${bearer} -H "Idempotency-Key: payment-$(date +%s)" -H 'Content-Type: application/json' -d '${transfer}' ${url}/accounts/${accountId}/transfers`,
  ]
}
