import { eventTypes, webhookEventTypes } from '../../packages/core/src/event.ts'
import { code, type Page, paragraphs, table } from './markdown.ts'

const engineMeanings: Readonly<Record<string, string>> = {
  'transfer.enqueued':
    'Its row was written, in the transaction of the host. Stored only where a subscription wants it; otherwise the row of the transfer says it.',
  'transfer.held': 'People have to approve or release it before it is sent; the reason is the first of what holds it.',
  'transfer.submitted': 'The service accepted it and gave it an id.',
  'transfer.awaiting_funds':
    'The service refused it for lack of funds. Its key is sent again when funds arrive, or on a slow backoff.',
  'transfer.blocked': 'Only a person can decide; the reason says why.',
  'transfer.missing':
    'The service accepted it and has not known it for an hour, perhaps because its database lost commits. Polling continues; a person has to find out what was paid.',
  'transfer.released': 'It returned to the queue, by people or because funds arrived.',
  'transfer.processing': 'Money is moving.',
  'transfer.completed': 'Money has arrived. Final.',
  'transfer.failed':
    'It failed; the failure says why and whether it may continue. Recorded again when it fails again, or for good.',
  'transfer.canceled': 'It ended without an effect. Final.',
  'transfer.returned':
    'Money of a complete transfer came back; `event.returned` has its code, amount and time, one event for each return. The status stays `complete`.',
  'transfer.unconfirmed':
    'It had ended, and a person then gave its id at the service to another transfer. Its stage and status stay, though they came from that id: a person has to find out what was paid, and to undo what handlers did on its events.',
  'batch.completed':
    'Everything in a closed batch has ended. Recorded once, as an event of one of its transfers: `event.transfer.batchId` names the batch, and `batches.get` has its counts, which do not change any more.',
  'transfer.adopted':
    'A transfer that was created elsewhere is polled here from now on; the first event of such a transfer.',
  'account.credentials_refused': 'The service refuses the credentials of the account; its transfers wait.',
  'account.credentials_restored': 'The service accepts them again; its transfers continue.',
}

const webhookMeanings: Readonly<Record<string, string>> = {
  'transfer.created': 'A transfer exists, from whatever source.',
  'transfer.processing': 'Money is moving.',
  'transfer.completed': 'Money has arrived. Final.',
  'transfer.failed': 'It failed; `data.failure` says why.',
  'transfer.canceled': 'It ended without an effect. Final.',
  'transfer.returned': 'Money of a complete transfer came back; `data.returns` has all of it. The status stays.',
  'account.updated': 'The status of an account changed.',
  'automation.active': 'An automation has its virtual bank account and accepts deposits.',
  'financial_institution.login_required': 'The owner of a linked bank account has to log in again.',
}

/** Events of the engine, and webhooks of the service. */
export function writeEvents(): Page {
  return {
    name: 'events',
    title: 'Events and webhooks',
    summary: 'the events that the engine delivers to its subscriptions, and the webhooks of the service',
    body: paragraphs(
      '## Events of the engine',
      '`engine.subscribe(name, types, handler)` receives them at least once and in order per transfer, each in a transaction that commits with the acknowledgement. An event has an id of its own, a sequence within its transfer, and the transfer as it was then.',
      table(
        ['type', 'what happened'],
        eventTypes.map((type) => [code(type), meaningOf(engineMeanings, type)]),
      ),
      '## Webhooks of the service',
      'Signed as Standard Webhooks specifies, and sent again on its schedule until a 2xx; 410 disables the subscription. A subscription may name a type, `transfer.*` or `*`. Members of the bodies are in [Webhooks](webhooks.md#event); how to receive them is in the [guide](../guides/webhooks.md).',
      table(
        ['type', 'what happened'],
        webhookEventTypes.map((type) => [code(type), meaningOf(webhookMeanings, type)]),
      ),
    ),
  }
}

function meaningOf(meanings: Readonly<Record<string, string>>, type: string): string {
  const meaning = meanings[type]
  if (meaning === undefined) throw new Error(`Say in scripts/reference/events.ts what ${type} means.`)
  return meaning
}
