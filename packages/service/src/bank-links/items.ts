import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, Tx } from '../context.ts'
import { type Executor, run, statement } from '../database/statement.ts'
import { saveNoticeEndpoint } from '../webhooks/notices.ts'
import type { LinkedItem } from './port.ts'

/** Writes an item of an account, new or with its login renewed. Without a URL, notices keep their present URL. */
export async function saveItem(
  tx: Tx,
  context: ServiceContext,
  accountId: string,
  item: LinkedItem,
  noticeUrl: string | undefined,
): Promise<void> {
  const sealed = context.secrets.seal(item.accessToken, accessTokenPlace(item.itemId))
  const values = [item.itemId, accountId, sealed, context.clock.now()]
  const [row] = await run(tx, context, upsertItem, values)
  if (row === undefined) throw new Error('The bank-linking provider gave one item to two accounts.')
  if (noticeUrl === undefined) return
  const endpoint = { accountId, url: noticeUrl, registrationId: row.noticeRegistrationId ?? undefined }
  const registrationId = await saveNoticeEndpoint(tx, context, endpoint)
  await run(tx, context, updateNoticeRegistration, [item.itemId, registrationId])
}

/** The item of a bank address of the account; `undefined` when the address was entered by hand. */
export async function findItemOfAddress(
  executor: Executor | Tx,
  context: ServiceContext,
  accountId: string,
  addressId: string,
): Promise<LinkedItem | undefined> {
  const [row] = await run(executor, context, selectItemOfAddress, [accountId, addressId])
  if (row === undefined) return undefined
  return { itemId: row.id, accessToken: context.secrets.open(row.accessToken, accessTokenPlace(row.id)) }
}

/** The URL for notices of an item; `undefined` for an unknown item, null for one without a URL. */
export async function findNoticeRegistration(
  tx: Tx,
  context: ServiceContext,
  itemId: string,
): Promise<string | null | undefined> {
  const [row] = await run(tx, context, lockItem, [itemId])
  return row?.noticeRegistrationId
}

function accessTokenPlace(itemId: string) {
  return { table: 'bank_link_item', column: 'access_token', row: itemId }
}

const readItem = rowDecoder('bank link item', { id: Column.text, accessToken: Column.text })
const readNoticeRegistration = rowDecoder('bank link item', { noticeRegistrationId: Column.nullable(Column.text) })

const upsertItem = statement(
  'bank_link_item_upsert',
  `insert into {{schema}}.bank_link_item as i (id, account_id, access_token, created_at, updated_at)
   values ($1, $2, $3, $4, $4)
   on conflict (id) do update
      set access_token = excluded.access_token, updated_at = excluded.updated_at
    where i.account_id = excluded.account_id
   returning notice_registration_id`,
  readNoticeRegistration,
)

const updateNoticeRegistration = statement(
  'bank_link_item_update_notice',
  `update {{schema}}.bank_link_item set notice_registration_id = $2 where id = $1`,
)

const selectItemOfAddress = statement(
  'bank_link_item_select_of_address',
  `select i.id, i.access_token
     from {{schema}}.address a
     join {{schema}}.bank_link_item i on i.id = a.bank_link_item_id
    where a.account_id = $1 and a.id = $2`,
  readItem,
)

const lockItem = statement(
  'bank_link_item_lock',
  `select notice_registration_id from {{schema}}.bank_link_item where id = $1 for update`,
  readNoticeRegistration,
)
