import { amountProblem } from '../amount.ts'
import { OutlayError } from '../error.ts'
import type { Observation } from '../ports/gateway.ts'
import type { Transfer, TransferFailure } from '../transfer.ts'
import type { TransferReturn } from '../transfer-return.ts'
import { TransferStatus } from '../transfer-status.ts'
import {
  type ForeignValue,
  isForeignId,
  NotUnderstood,
  openForeign,
  readId,
  readText,
  requireText,
} from './foreign-value.ts'
import { momentOf, textOfMoment } from './moment.ts'

const failureTypes: readonly TransferFailure['type'][] = [
  'rejected',
  'returned',
  'expired',
  'insufficient_balance',
  'service_error',
  'unknown',
]

/** Stands for a time that cannot be read. It is always the same, so a failure that is read twice is one failure. */
const unknownTime = '1970-01-01T00:00:00.000Z'

/**
 * Reads an observation from foreign code: a gateway, a webhook verifier, a host. A time of a failure that cannot be read is unknown, and
 * `onNotUnderstood` gets its path: the failure itself counts.
 * @throws NotUnderstood for the first invalid member
 */
export function readObservation(
  value: unknown,
  path = '',
  onNotUnderstood: (field: string) => void = () => undefined,
): Observation {
  const seen = openForeign(value, path)
  const remoteId = readId(seen, 'remoteId')
  const status = seen.get('status')
  if (!TransferStatus.is(status)) return seen.fail('status', 'must be a status of transfers')
  const failure = readFailure(seen, onNotUnderstood)
  const reachedAt = readText(seen, 'reachedAt')
  const transfer = seen.get('transfer')
  const returns = readReturns(seen, transfer)
  return {
    remoteId,
    status,
    failure: status === 'failed' ? failure : null,
    ...(reachedAt === undefined ? {} : { reachedAt }),
    ...(returns === undefined ? {} : { returns }),
    ...(transfer === undefined ? {} : { transfer: readTransfer(transfer, pathOf(path, 'transfer'), status, failure) }),
  }
}

const pathOf = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)

/** A failed observation without a failure stays without one: nothing is known of it, so nothing may continue the transfer. */
function readFailure(seen: ForeignValue, onNotUnderstood: (field: string) => void): TransferFailure | null {
  const value = seen.get('failure')
  if (value === undefined || value === null) return null
  const failure = openForeign(value, pathOf(seen.path, 'failure'))
  const type = failure.get('type')
  const known = failureTypes.find((one) => one === type)
  if (known === undefined) return failure.fail('type', 'must be a type of failures')
  const retriable = failure.get('retriable')
  if (typeof retriable !== 'boolean') return failure.fail('retriable', 'must be true or false')
  const achReturn = readAchReturn(failure)
  const occurredAt = textOfMoment(requireText(failure, 'occurredAt'))
  if (occurredAt === null) onNotUnderstood(pathOf(failure.path, 'occurredAt'))
  return {
    type: known,
    code: requireText(failure, 'code'),
    detail: requireText(failure, 'detail'),
    occurredAt: occurredAt ?? unknownTime,
    retriable,
    ...(achReturn === undefined ? {} : { achReturn }),
  }
}

function readAchReturn(failure: ForeignValue): TransferFailure['achReturn'] {
  const value = failure.get('achReturn')
  if (value === undefined || value === null) return undefined
  const returned = openForeign(value, pathOf(failure.path, 'achReturn'))
  return {
    code: requireText(returned, 'code'),
    reason: requireText(returned, 'reason'),
    category: requireText(returned, 'category'),
  }
}

/** Most returns of one transfer that are read, and the longest code of one. */
const mostReturns = 1_000
const longestCode = 64

/** Reads what came back of a transfer; a whole transfer says it where the observation itself does not. */
function readReturns(seen: ForeignValue, transfer: unknown): readonly TransferReturn[] | undefined {
  const own = seen.get('returns')
  const transferPath = pathOf(seen.path, 'transfer')
  const value = own ?? (transfer === undefined ? undefined : openForeign(transfer, transferPath).get('returns'))
  if (value === undefined || value === null) return undefined
  if (!Array.isArray(value) || value.length > mostReturns) {
    return seen.fail('returns', `must be a list of at most ${mostReturns} returns`)
  }
  const path = pathOf(own === undefined ? transferPath : seen.path, 'returns')
  return value.map((one: unknown, at) => readReturn(openForeign(one, `${path}.${at}`)))
}

/** An amount or a time that cannot be used is unknown: the return itself counts. */
function readReturn(returned: ForeignValue): TransferReturn {
  const code = requireText(returned, 'code')
  const amount = returned.get('amount')
  const sourceAmount = returned.get('sourceAmount')
  const occurredAt = returned.get('occurredAt')
  return {
    code: isForeignId(code) ? code.slice(0, longestCode).toWellFormed() : 'unknown',
    amount: amount === undefined || amount === null ? null : readReturnedAmount(amount, `${returned.path}.amount`),
    ...readSourceAmount(sourceAmount, `${returned.path}.sourceAmount`),
    occurredAt: typeof occurredAt === 'string' ? momentOf(occurredAt) : null,
  }
}

function readSourceAmount(value: unknown, path: string): Pick<TransferReturn, 'sourceAmount'> {
  const sourceAmount = value === undefined || value === null ? null : readReturnedAmount(value, path)
  return sourceAmount === null ? {} : { sourceAmount }
}

function readReturnedAmount(value: unknown, path: string): TransferReturn['amount'] {
  const amount = openForeign(value, path)
  const digits = requireText(amount, 'value')
  const currency = requireText(amount, 'currency')
  const isUsable = amountProblem(digits) === undefined && currency.length <= longestCode && isForeignId(currency)
  return isUsable ? { value: digits, currency } : null
}

/** Reads the members of a whole transfer that the engine uses; drops the rest. */
function readTransfer(value: unknown, path: string, status: TransferStatus, failure: TransferFailure | null): Transfer {
  const transfer = openForeign(value, path)
  const amount = openForeign(transfer.get('amount'), pathOf(path, 'amount'))
  const automationId = readText(transfer, 'automationId')
  return {
    id: readId(transfer, 'id'),
    status,
    failure,
    amount: { value: requireText(amount, 'value'), currency: requireText(amount, 'currency') },
    source: readLeg(transfer, 'source'),
    destination: readLeg(transfer, 'destination'),
    note: transfer.get('note') === null ? null : (readText(transfer, 'note') ?? null),
    createdAt: requireText(transfer, 'createdAt'),
    updatedAt: requireText(transfer, 'updatedAt'),
    ...(automationId === undefined ? {} : { automationId }),
  }
}

function readLeg(transfer: ForeignValue, name: 'source' | 'destination'): Transfer['source'] {
  const leg = openForeign(transfer.get(name), pathOf(transfer.path, name))
  return {
    addressId: readText(leg, 'addressId'),
    financialInstitutionId: readText(leg, 'financialInstitutionId'),
    valueType: requireText(leg, 'valueType'),
    transferType: requireText(leg, 'transferType'),
    wireMemo: readText(leg, 'wireMemo'),
  }
}

/**
 * Reads observations from a host.
 * @param field the list, where it is a member of something
 * @throws OutlayError `invalid_request` with the index and the member of every invalid one: `3.status`
 */
export function readObservations(values: unknown, field?: string): readonly Observation[] {
  if (!Array.isArray(values)) {
    throw OutlayError.fromIssues([
      { field: field ?? 'observations', code: 'invalid_request', message: 'must be a list of observations' },
    ])
  }
  const at = (index: number) => (field === undefined ? String(index) : `${field}.${index}`)
  const issues: NotUnderstood[] = []
  const observations = values.flatMap((value: unknown, index) => {
    try {
      return [readObservation(value, at(index))]
    } catch (error) {
      if (!(error instanceof NotUnderstood)) throw error
      issues.push(error)
      return []
    }
  })
  const [first, ...rest] = issues.map(({ field, rule }) => ({ field, code: 'invalid_request' as const, message: rule }))
  if (first !== undefined) throw OutlayError.fromIssues([first, ...rest])
  return observations
}
