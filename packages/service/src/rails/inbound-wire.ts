import type { RailInstruction } from './port.ts'

/**
 * True for a transfer that waits for a wire that somebody sends: an onramp whose source has no address, and whose money has not arrived by
 * a deposit. A create refuses the address of a wire's source, so no other transfer by wire becomes tokens.
 */
export function isInboundWire({
  flow,
  source,
  deposit,
}: Pick<RailInstruction, 'flow' | 'source' | 'deposit'>): boolean {
  return flow === 'onramp' && source.addressId === undefined && deposit === undefined
}
