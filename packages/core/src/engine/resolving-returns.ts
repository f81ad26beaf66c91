import { amountProblem } from '../amount.ts'
import { OutlayError } from '../error.ts'
import { Id } from '../id.ts'
import { closeInput, type Input, member, openInput, read, readText, refuse } from '../input.ts'
import type { AuditPort } from '../ports/audit.ts'
import type { ReturnResolution } from '../ports/safety.ts'
import type { ReturnObstacle, TransferCommandPort } from '../ports/transfer-commands.ts'
import { recordCommand } from './audited.ts'
import { findTransfer, type TransferReader } from './commands.ts'
import { longestText } from './foreign-value.ts'
import { refuseUnread } from './unread-members.ts'

const members = {
  identity: member('identity'),
  amount: member('amount'),
  currency: member('currency'),
  dismissed: member('dismissed'),
  reason: member('reason'),
  actor: member('actor'),
} as const

/** Decides about a return that is held, or says why it cannot. A refusal of the input happens before any SQL. */
export async function resolveReturn<Tx>(
  backend: TransferReader<Tx> & TransferCommandPort<Tx> & AuditPort<Tx>,
  tx: Tx,
  transferId: string,
  resolution: ReturnResolution,
): Promise<void> {
  const id = Id.parse(transferId, 'transferId')
  const decision = readDecision(resolution)
  const obstacle = await backend.resolveReturn(tx, id, decision)
  if (obstacle === null) {
    const { identity, amount, currency = null } = decision
    const after = { return: identity, ...(amount === null ? { dismissed: true } : { amount, currency }) }
    await recordCommand(backend, tx, decision, { command: 'transfers.resolve_return', transferId: id, after })
    return
  }
  const { status, request, paidAmount } = await findTransfer(backend, tx, id)
  const { message, field } = obstacles[obstacle]
  const { value, currency } = paidAmount ?? request.amount
  throw new OutlayError('conflict', message({ id, status, whole: `${value} ${currency}` }), field ? { field } : {})
}

interface Circumstances {
  readonly id: string
  readonly status: string
  readonly whole: string
}

const obstacles: Readonly<
  Record<ReturnObstacle, { readonly message: (of: Circumstances) => string; readonly field?: string }>
> = {
  not_held: {
    message: ({ id }) => `No such return of the transfer ${id} is held; "outlay transfers show" lists its returns.`,
  },
  not_complete: {
    message: ({ id, status }) =>
      `The transfer ${id} is ${status}, and money comes back only of a complete one; dismiss the return.`,
    field: 'amount',
  },
  other_currency: {
    message: ({ id, whole }) =>
      `The return is in another currency than the ${whole} of the transfer ${id}; give how much that is in the currency of the transfer, with that currency, or dismiss the return.`,
    field: 'currency',
  },
  exceeds_transfer: {
    message: ({ id, whole }) =>
      `With what came back before, that is more than the ${whole} of the transfer ${id}; give what is left of it at most, or dismiss the return.`,
    field: 'amount',
  },
}

function readDecision(resolution: ReturnResolution) {
  const input = openInput(resolution, { spelling: 'camel' })
  const identity = readText(input, members.identity, { max: longestText }) ?? ''
  const amount = readAmount(input)
  const currency = readText(input, members.currency, { optional: true })
  if (currency !== undefined && amount === null) {
    refuse(input, members.currency, 'invalid_request', 'is for an amount that came back')
  }
  const reason = readText(input, members.reason, { optional: true, max: longestText })
  const actor = readText(input, members.actor, { optional: true })
  closeInput(input)
  refuseUnread(resolution, members, 'identity, amount, currency, dismissed, reason and actor')
  return { identity, amount, currency, reason, actor }
}

/** Null for a return that is dismissed. */
function readAmount(input: Input): string | null {
  const amount = read(input.record, members.amount)
  const dismissed = read(input.record, members.dismissed)
  const both = 'give either amount or dismissed: true'
  if (dismissed !== undefined && dismissed !== true) {
    refuse(input, members.dismissed, 'invalid_request', 'must be true; give amount when money came back')
  } else if (amount === undefined && dismissed === undefined) {
    refuse(input, members.amount, 'missing_field', both)
  } else if (amount !== undefined && dismissed === true) {
    refuse(input, members.dismissed, 'invalid_request', `${both}, not both`)
  } else if (amount !== undefined) {
    const problem = amountProblem(amount)
    if (problem !== undefined) refuse(input, members.amount, problem.code, problem.message)
    else if (!/[1-9]/.test(String(amount)))
      refuse(input, members.amount, 'amount_not_positive', 'must be more than zero')
  }
  return typeof amount === 'string' ? amount : null
}
