import { type Case, type Create, leastOf, type Payout, readJson, type Violation } from './case.ts'
import { compareLegs, isUnknown } from './effects.ts'
import type { Exchange, Intent } from './history.ts'

/** Allowed difference between the clocks of one machine and of one server, in milliseconds. */
const clockMs = 2_000

/** Judges the requests: their sender, intent, key and time. */
export function judgeRequests(at: Case): readonly Violation[] {
  return [...at.payouts.flatMap((payout) => judgeSent(at, payout)), ...judgeKeys(at), ...judgeTenants(at)]
}

function judgeSent(at: Case, { reference, intents, creates }: Payout): readonly Violation[] {
  const found: Violation[] = []
  const add = (rule: string, what: string, ...evidence: unknown[]) =>
    void found.push({ rule, payout: reference, what, evidence })
  const [first] = intents
  if (first === undefined) {
    const [create] = creates
    if (create !== undefined)
      add('request_without_intent', 'it was sent, and no committed row of a host asks for it', create)
    return found
  }
  for (const create of creates) {
    const differences = leastOf(intents.map((intent) => compareCreate(create, intent)))
    if (differences.length > 0) add('wrong_request', `the request differs: ${differences.join(', ')}`, first, create)
    // Specification, "Errors": the header is required.
    if (create.key === undefined) add('no_key', 'it was sent without an idempotency key', create)
    if (create.at < first.at - clockMs)
      add('sent_before_commit', 'it was sent before the host committed', first, create)
  }
  // Reliability: "Every attempt carries the same key". An intent that repeats another has a key of its own.
  const keys = new Set(creates.map(({ key }) => key))
  if (keys.size > intents.length)
    add('two_keys', `${[...keys].join(' and ')} for ${intents.length} intents`, ...creates)
  if (intents.length === 1) found.push(...judgeTimes(at, first, creates))
  return found
}

/** Reliability: nothing leaves before `notBefore`; `expiresAt` bounds how late a transfer is sent for the first time. */
function judgeTimes({ travelled }: Case, intent: Intent, creates: readonly Create[]): readonly Violation[] {
  const [create] = creates
  if (create === undefined) return []
  const moment = (time: string) => Date.parse(time) + travelled(intent.at)
  const [sent, { notBefore, expiresAt, reference: payout }] = [create.at + travelled(create.at), intent]
  const evidence = [intent, create]
  const found: Violation[] = []
  if (notBefore !== undefined && sent < moment(notBefore) - clockMs)
    found.push({ rule: 'too_early', payout, what: `it was sent before ${notBefore}`, evidence })
  if (expiresAt !== undefined && sent > moment(expiresAt) + clockMs)
    found.push({ rule: 'too_late', payout, what: `it was first sent after ${expiresAt}`, evidence })
  return found
}

function compareCreate({ account, asked }: Create, intent: Intent): readonly string[] {
  const leg = (end: 'source' | 'destination') => {
    const { address_id: address, value_type: valueType, transfer_type: transferType } = asked[end] ?? {}
    const base = { valueType: String(valueType), transferType: String(transferType) }
    return address === undefined ? base : { ...base, address: String(address) }
  }
  const amount = { value: String(asked.amount?.value), currency: String(asked.amount?.currency) }
  const different = compareLegs({ amount, source: leg('source'), destination: leg('destination') }, intent)
  return account === intent.account ? different : ['account', ...different]
}

/** Specification, "Errors": one key per logical action, for one endpoint, and for creates only. */
function judgeKeys({ history, travelled }: Case): readonly Violation[] {
  const { exchanges, run } = history
  const found: Violation[] = []
  for (const exchange of exchanges) {
    if (exchange.key === undefined || exchange.method === 'POST') continue
    found.push({ rule: 'key_on_a_read', payout: exchange.path, what: 'only creates carry a key', evidence: [exchange] })
  }
  const keyed = Map.groupBy(
    exchanges.filter(({ key, method }) => key !== undefined && method === 'POST'),
    ({ key }) => key,
  )
  for (const [key, sent] of keyed) {
    const payout = noteOf(sent[0]) ?? `key ${key}`
    const other = sent.find(({ path, body }) => path !== sent[0]?.path || body !== sent[0]?.body)
    if (other !== undefined)
      found.push({
        rule: 'key_reused',
        payout,
        what: `the key ${key} stands for two requests`,
        evidence: [sent[0], other],
      })
    const first = sent.find(isUnknown)
    if (first === undefined) continue
    const later = sent.filter(({ at }) => at > first.at)
    // A refusal for lack of funds proves that nothing had happened.
    const openAt = (time: number) => {
      const before = sent.filter((one) => one.at < time)
      return before.slice(before.findLastIndex(isUnfunded) + 1).find(isUnknown)
    }
    const age = (at: number, open = openAt(at)?.at ?? at) => at + travelled(at) - open - travelled(open)
    // The service forgets a key after its lifetime, and would act a second time. A second registration moves no money.
    const late = later.find(({ at, path }) => path.endsWith('/transfers') && age(at) >= run.keysLiveMs)
    if (late !== undefined) {
      const what = `${key} was unanswered, and sent again too late`
      found.push({ rule: 'key_too_old', payout, what, evidence: [first, late] })
    }
    // To the service a key belongs to the client that sent it.
    const stranger = later.find(({ client, at }) => {
      const open = openAt(at)
      return client !== undefined && open?.client !== undefined && client !== open.client
    })
    if (stranger !== undefined) {
      const what = `${key} was unanswered, and sent again by another client`
      found.push({ rule: 'key_of_two_clients', payout, what, evidence: [first, stranger] })
    }
  }
  return found
}

const isUnfunded = ({ answer }: Exchange) => readJson(answer)['code'] === 'insufficient_balance'

const noteOf = (exchange: Exchange | undefined): string | undefined =>
  /"note":"([^"]*)"/.exec(exchange?.body ?? '')?.[1]

/** Specification: "Every request is scoped to one account", and every account belongs to one client. */
function judgeTenants({ history }: Case): readonly Violation[] {
  const tenants = history.host.filter((line) => line.kind === 'tenant')
  const clients = Map.groupBy(tenants, ({ account }) => account)
  return history.exchanges.flatMap((exchange) => {
    const account = /^\/accounts\/([^/?]+)/.exec(exchange.path)?.[1]
    if (account === undefined || exchange.client === undefined) return []
    if (clients.get(account)?.some(({ client }) => client === exchange.client) === true) return []
    const payout = noteOf(exchange) ?? exchange.path
    return [
      {
        rule: 'another_tenant',
        payout,
        what: `a client that is not its own acted for ${account}`,
        evidence: [exchange],
      },
    ]
  })
}
