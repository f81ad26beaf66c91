import { type Clock, Id, OutlayError, type Random } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Pool } from 'pg'
import { inTransaction } from '../context.ts'
import { run, statement } from '../database/statement.ts'
import { asSystem } from '../database/tenant.ts'
import { digestOf, type Secrets } from '../secrets.ts'
import type { BankLinkProvider, LinkedBankAccount } from './port.ts'

/** Controls of the simulated provider for a person or a test. */
export interface BankLinkSimulation {
  /** The owner of a link token, and whether it renews a login; `undefined` for an unknown token. */
  findFlow(linkToken: string): Promise<{ readonly ownerId: string; readonly renews: boolean } | undefined>
  /**
   * Completes the flow of a link token with the selected accounts, once, and resolves with the public token. With `undefined`, a
   * renewed login keeps the accounts of its item.
   * @throws OutlayError `invalid_request` for an expired token, `conflict` for one that was used.
   */
  complete(linkToken: string, selected: readonly LinkedBankAccount[] | undefined): Promise<string>
}

/** A bank-linking provider without banks; its state is in Postgres. */
export interface SimulatedBankLinks extends BankLinkProvider {
  readonly simulation: BankLinkSimulation
}

/** Dependencies of the simulated provider. */
export interface SimulatedBankLinksOptions {
  readonly pool: Pool
  readonly schema: string
  readonly clock: Clock
  readonly random: Random
  readonly secrets: Secrets
}

const minuteMs = 60_000
/** Lifetime of a link token. */
const linkTokenMs = 240 * minuteMs
/** Lifetime of a link token that renews a login, and of a public token. */
const shortTokenMs = 30 * minuteMs

/** Makes the simulated provider. Tokens are kept as digests, account numbers sealed. */
export function createSimulatedBankLinks(options: SimulatedBankLinksOptions): SimulatedBankLinks {
  const { clock } = options
  const system = asSystem(options)
  const after = (milliseconds: number) => new Date(clock.now().getTime() + milliseconds)
  return {
    async openFlow({ ownerId, accessToken }) {
      const linkToken = newToken(options, 'link')
      const expiresAt = after(accessToken === undefined ? linkTokenMs : shortTokenMs)
      const item = accessToken === undefined ? undefined : await itemOf(options, accessToken)
      await run(system, options, insertFlow, [digestOf(linkToken), ownerId, item?.id ?? null, expiresAt])
      return { linkToken, expiration: expiresAt.toISOString() }
    },
    exchange: ({ ownerId, publicToken }) => exchange(options, ownerId, publicToken),
    async listBankAccounts({ accessToken }) {
      const { id, selection } = await itemOf(options, accessToken)
      return openSelection(options, itemPlace(id), selection)
    },
    simulation: {
      async findFlow(linkToken) {
        const [row] = await run(system, options, selectFlow, [digestOf(linkToken)])
        return row && { ownerId: row.ownerId, renews: row.itemId !== null }
      },
      complete: (linkToken, selected) => complete(options, linkToken, selected, after(shortTokenMs)),
    },
  }
}

async function complete(
  options: SimulatedBankLinksOptions,
  linkToken: string,
  selected: readonly LinkedBankAccount[] | undefined,
  expiresAt: Date,
): Promise<string> {
  const digest = digestOf(linkToken)
  const [flow] = await run(asSystem(options), options, selectFlow, [digest])
  if (flow === undefined || flow.expiresAt <= options.clock.now())
    throw new OutlayError('invalid_request', 'The link token is expired.', { field: 'link_token' })
  const publicToken = newToken(options, 'public')
  const selection = JSON.stringify(selected ?? (await selectionOf(options, flow.itemId)))
  const sealed = options.secrets.seal(selection, flowPlace(digestOf(publicToken)))
  const values = [digest, digestOf(publicToken), expiresAt, sealed]
  const completed = await run(asSystem(options), options, completeFlow, values)
  if (completed.length === 0) throw new OutlayError('conflict', 'The flow of this link token is over.')
  return publicToken
}

async function exchange(options: SimulatedBankLinksOptions, ownerId: string, publicToken: string) {
  const digest = digestOf(publicToken)
  return await inTransaction(options, async (tx) => {
    const values = [digest, ownerId, options.clock.now()]
    const [flow] = await run(tx, options, exchangeFlow, values)
    if (flow === undefined) return undefined
    const itemId = flow.itemId ?? Id.generate(options.clock, options.random)
    // A renewed login keeps the access token, so that a token whose exchange was lost still opens its item.
    const accessToken = `access-sandbox-${options.secrets.mac('simulated_bank_item.access_token', itemId)}`
    const selection = options.secrets.open(flow.selection, flowPlace(digest))
    const sealed = options.secrets.seal(selection, itemPlace(itemId))
    await run(tx, options, upsertItem, [itemId, ownerId, digestOf(accessToken), sealed])
    return { itemId, accessToken }
  })
}

type Item = ReturnType<typeof readItem>

async function itemOf(options: SimulatedBankLinksOptions, accessToken: string): Promise<Item> {
  const [row] = await run(asSystem(options), options, selectItemByToken, [digestOf(accessToken)])
  if (row === undefined) throw new Error('The simulated provider does not know this access token.')
  return row
}

async function selectionOf(
  options: SimulatedBankLinksOptions,
  itemId: string | null,
): Promise<readonly LinkedBankAccount[]> {
  const [row] = await run(asSystem(options), options, selectItem, [itemId])
  return row === undefined ? [] : openSelection(options, itemPlace(row.id), row.selection)
}

function openSelection(
  { secrets }: SimulatedBankLinksOptions,
  place: ReturnType<typeof itemPlace>,
  selection: string,
): readonly LinkedBankAccount[] {
  return JSON.parse(secrets.open(selection, place)) as readonly LinkedBankAccount[]
}

function newToken({ random }: SimulatedBankLinksOptions, kind: 'link' | 'public'): string {
  return `${kind}-sandbox-${Buffer.from(random.bytes(24)).toString('base64url')}`
}

function flowPlace(publicTokenDigest: Buffer) {
  return { table: 'simulated_bank_flow', column: 'selection', row: publicTokenDigest.toString('hex') }
}

function itemPlace(itemId: string) {
  return { table: 'simulated_bank_item', column: 'selection', row: itemId }
}

const readFlow = rowDecoder('bank flow', {
  ownerId: Column.text,
  itemId: Column.nullable(Column.text),
  expiresAt: Column.date,
})
const readExchangedFlow = rowDecoder('bank flow', { itemId: Column.nullable(Column.text), selection: Column.text })
const readItem = rowDecoder('bank item', { id: Column.text, selection: Column.text })

const insertFlow = statement(
  'simulated_bank_flow_insert',
  `insert into {{schema}}.simulated_bank_flow (link_token_digest, owner_id, item_id, expires_at)
   values ($1, $2, $3, $4)`,
)

const selectFlow = statement(
  'simulated_bank_flow_select',
  `select owner_id, item_id, expires_at from {{schema}}.simulated_bank_flow where link_token_digest = $1`,
  readFlow,
)

const completeFlow = statement(
  'simulated_bank_flow_complete',
  `update {{schema}}.simulated_bank_flow
      set public_token_digest = $2, public_token_expires_at = $3, selection = $4
    where link_token_digest = $1 and public_token_digest is null
   returning true as completed`,
)

const exchangeFlow = statement(
  'simulated_bank_flow_exchange',
  `update {{schema}}.simulated_bank_flow
      set exchanged_at = $3
    where public_token_digest = $1 and owner_id = $2 and exchanged_at is null and public_token_expires_at > $3
   returning item_id, selection`,
  readExchangedFlow,
)

const upsertItem = statement(
  'simulated_bank_item_upsert',
  `insert into {{schema}}.simulated_bank_item (id, owner_id, access_token_digest, selection)
   values ($1, $2, $3, $4)
   on conflict (id) do update set selection = excluded.selection`,
)

const selectItem = statement(
  'simulated_bank_item_select',
  `select id, selection from {{schema}}.simulated_bank_item where id = $1`,
  readItem,
)

const selectItemByToken = statement(
  'simulated_bank_item_select_by_token',
  `select id, selection from {{schema}}.simulated_bank_item where access_token_digest = $1`,
  readItem,
)
