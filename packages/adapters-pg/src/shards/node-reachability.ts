import { OutlayError } from '@outlay/core'
import { thrownText } from '../database/thrown-text.ts'

/** Codes of the network, and SQLSTATEs of a server that refuses or ends connections. */
const unreachableCode =
  /^(E(CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|HOSTUNREACH|NETUNREACH|AI_AGAIN|HOSTDOWN)|ENOTFOUND|08...|57P0[1-3]|53300)$/

/** What node-postgres says without a code. */
const unreachableText =
  /timeout exceeded when trying to connect|connection terminated|server closed the connection|query read timeout/i

/** True for an error that says nothing about what was asked: the database was not reached, or its answer was lost. */
export function isUnreachable(error: unknown): boolean {
  if (OutlayError.is(error, 'node_unavailable')) return true
  if (!(error instanceof Error)) return false
  const { code } = error as { readonly code?: unknown }
  if (typeof code === 'string' && unreachableCode.test(code)) return true
  if (unreachableText.test(error.message)) return true
  const others = error instanceof AggregateError ? error.errors : []
  return [error.cause, ...others].some(isUnreachable)
}

/** The refusal of what needs a node that did not answer. */
export function nodeUnavailable(node: string, why: string, cause?: unknown): OutlayError {
  const message = `The node "${node}" did not answer: ${why}. Its accounts wait, and those of the other nodes do not; try again when it is back.`
  return new OutlayError('node_unavailable', message, { cause })
}

/** The error of a node that was asked: lost connections become `node_unavailable`, all others stay as they are. */
export function nodeError(node: string, error: unknown): Error {
  if (isUnreachable(error) && !OutlayError.is(error)) return nodeUnavailable(node, thrownText(error), error)
  return error instanceof Error ? error : new Error(thrownText(error))
}
