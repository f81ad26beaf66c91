import { eventTypes, webhookEventTypes } from '../../packages/core/src/event.ts'
import { code, type Page, paragraphs, table } from './markdown.ts'

const engineMeanings: Readonly<Record<string, string>> = {
  'transfer.enqueued': 'Its row was written, in the transaction of the host.',
  'transfer.submitted': 'The service accepted it and gave it an id.',
  'transfer.awaiting_funds':
    'The service refused it for lack of funds. Its key goes out again when funds arrive, or on a slow backoff.',
  'transfer.blocked': 'Only a person can decide; the reason says why.',
  'transfer.missing':
    'The service accepted it and has not known it for an hour, perhaps because its database lost commits. It is followed on; a person has to find out what was paid.',
  'transfer.released': 'It was put back into the queue, by a person or because funds arrived.',
  'transfer.processing': 'Money is moving.',
  'transfer.completed': 'Money has arrived. Final.',
  'transfer.failed':
    'It came to nothing; the failure says why and whether it may go on. Told again when it fails again, or for good.',
  'transfer.canceled': 'It was ended without an effect. Final.',
  'transfer.adopted':
    'A transfer that somebody else made at the service is followed here from now on; the first event of such a transfer.',
  'account.credentials_refused': 'The service refuses the credentials of the account; its transfers wait.',
  'account.credentials_restored': 'The service takes them again; its transfers go on.',
}

const webhookMeanings: Readonly<Record<string, string>> = {
  'transfer.created': 'A transfer exists, from whatever source.',
  'transfer.processing': 'Money is moving.',
  'transfer.completed': 'Money has arrived. Final.',
  'transfer.failed': 'It came to nothing; `data.failure` says why.',
  'transfer.canceled': 'It was ended without an effect. Final.',
  'account.updated': 'The status of an account changed.',
  'automation.active': 'An automation has its virtual bank account and takes deposits.',
  'financial_institution.login_required': 'The owner of a linked bank account has to log in again.',
}

/** Events of the engine, and webhooks of the service. */
export function writeEvents(): Page {
  return {
    name: 'events',
    title: 'Events and webhooks',
    summary: 'what the engine tells its subscriptions, and what the service tells by webhook',
    body: paragraphs(
      '## Events of the engine',
      '`engine.subscribe(name, types, handler)` gets them at least once and in order per transfer, each in a transaction that commits with the acknowledgement. An event has an id of its own, a sequence within its transfer, and the transfer as it was then.',
      table(
        ['type', 'what happened'],
        eventTypes.map((type) => [code(type), meaningOf(engineMeanings, type)]),
      ),
      '## Webhooks of the service',
      'Signed as Standard Webhooks has it, and sent again on its schedule until a 2xx; 410 disables the subscription. A subscription may name a type, `transfer.*` or `*`. Members of the bodies are in [Webhooks](webhooks.md#event); how to take them is in the [guide](../guides/webhooks.md).',
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
