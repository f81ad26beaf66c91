import type { WebhookEventType } from '@outlay/core'
import type { ServiceContext } from '../context.ts'
import type { DeliveryRow } from './delivery-store.ts'
import type { WebhookRow } from './registrations.ts'

/** A webhook as the API returns it. */
export interface WebhookResource extends Omit<WebhookRow, 'status'> {
  /** The same as `event_types`. */
  readonly events: readonly string[]
  /** A webhook that gets nothing is `disabled`, and `archived` in the public dialect. */
  readonly status: WebhookRow['status'] | 'archived'
}

type Speaking = Pick<ServiceContext, 'dialect'>

/** Writes a webhook as the API returns it. */
export function webhookView<Row extends WebhookRow>({ dialect }: Speaking, row: Row): Row & WebhookResource {
  const status = dialect === 'public' && row.status === 'disabled' ? 'archived' : row.status
  return { ...row, events: row.event_types, status: status as Row['status'] & WebhookResource['status'] }
}

/** The secret of a webhook under both names: for Standard Webhooks, and its octets in base64url. */
export function secretView(secret: string): { readonly secret: string; readonly sharedSecret: string } {
  const octets = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  return { secret, sharedSecret: octets.toString('base64url') }
}

/** A delivery as the API returns it. */
export interface DeliveryResource extends DeliveryRow {
  /** The same as `attempts`. */
  readonly attempt_number: number
  /** The same as `last_status`. */
  readonly status_code: number | null
}

/** Writes a delivery as the API returns it. */
export function deliveryView(row: DeliveryRow): DeliveryResource {
  return { ...row, attempt_number: row.attempts, status_code: row.last_status }
}

const summaries: Readonly<Record<WebhookEventType, string>> = {
  'transfer.created': 'A transfer was created.',
  'transfer.processing': 'A transfer is in progress.',
  'transfer.completed': 'A transfer is final, and its funds arrived.',
  'transfer.failed': 'A transfer failed; its failure says whether it is tried again.',
  'transfer.canceled': 'A transfer was canceled.',
  'transfer.returned': 'Money of a complete transfer came back.',
  'account.updated': 'The status or the contact of an account changed.',
  'automation.active': 'An automation has its virtual account.',
  'financial_institution.login_required': 'The owner of a linked bank account has to link it again.',
}

/** The event types as the API lists them: names, and in the public dialect what each is about. */
export function eventTypesView(
  { dialect }: Speaking,
  types: readonly WebhookEventType[],
): readonly (string | { readonly event_type: string; readonly summary: string })[] {
  if (dialect !== 'public') return types
  return types.map((type) => ({ event_type: type, summary: summaries[type] }))
}
