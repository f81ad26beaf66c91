import { describe, expect, it } from 'vitest'
import { createCatalog, defaultCatalog } from './catalog.ts'
import { type KnownAddressTypes, TransferFlow } from './transfer-flow.ts'

const legs = (from: string, to: string) => {
  const leg = (text: string) => {
    const [valueType = '', transferType = '', addressId] = text.split(' ')
    return { valueType, transferType, addressId }
  }
  return { source: leg(from), destination: leg(to) }
}

describe('TransferFlow.classify', () => {
  it.each<[string, string, KnownAddressTypes, string]>([
    ['USD wire', 'SBC base a', {}, 'onramp'],
    ['USD ach_debit bank', 'SBC base a', { source: 'external', destination: 'internal' }, 'onramp'],
    ['USD wire', 'USDC solana a', { destination: 'external' }, 'onramp'],
    ['SBC base a', 'USD wire bank', { source: 'internal' }, 'offramp'],
    ['SBC base a', 'USD ach_credit bank', {}, 'offramp'],
    ['SBC base a', 'USD same_day_ach_credit bank', {}, 'offramp'],
    ['SBC base a', 'USD rtp bank', {}, 'offramp'],
    ['USDC base a', 'MXN spei bank', {}, 'offramp'],
    ['USDC base a', 'SBC base a', { source: 'internal', destination: 'internal' }, 'swap'],
    ['USDC base a', 'YSBC base b', {}, 'swap'],
    ['YSBC base a', 'USDC base b', { destination: 'external' }, 'payout'],
    ['USDC base a', 'USDC base b', {}, 'payout'],
  ])('%s to %s with %j is %s', (from, to, known, flow) => {
    expect(TransferFlow.classify(legs(from, to), defaultCatalog, known)).toBe(flow)
  })

  it.each<[string, string, KnownAddressTypes, string, string]>([
    ['USD wire', 'USD ach_credit bank', {}, 'unsupported_flow', 'destination.transferType'],
    ['USD rtp bank', 'USDC base a', {}, 'unsupported_flow', 'source.transferType'],
    ['USD ach_credit bank', 'USDC base a', {}, 'unsupported_flow', 'source.transferType'],
    ['MXN spei bank', 'USDC base a', {}, 'unsupported_flow', 'source.transferType'],
    ['USDC base a', 'USD ach_debit bank', {}, 'unsupported_flow', 'destination.transferType'],
    ['USDC base a', 'USD wire bank', { source: 'external' }, 'unsupported_flow', 'source.addressId'],
    ['USDC base a', 'USD wire bank', { destination: 'internal' }, 'unsupported_flow', 'destination.addressId'],
    ['USD ach_debit bank', 'USDC base a', { source: 'internal' }, 'unsupported_flow', 'source.addressId'],
    ['USDC base a', 'USDC base a', {}, 'unsupported_flow', 'destination.addressId'],
    ['USDC base a', 'SBC polygon a', {}, 'swap_chain_mismatch', 'destination.transferType'],
    ['USDC base a', 'USDC solana b', { destination: 'external' }, 'swap_chain_mismatch', 'destination.transferType'],
    ['USDC base a', 'USDC base_sepolia b', {}, 'mixed_environments', 'destination.transferType'],
    ['USDC moon a', 'USDC base b', {}, 'unknown_transfer_type', 'source.transferType'],
    ['USDC base a', 'USDC moon b', {}, 'unknown_transfer_type', 'destination.transferType'],
  ])('%s to %s with %j is refused as %s at %s', (from, to, known, code, field) => {
    expect(() => TransferFlow.classify(legs(from, to), defaultCatalog, known)).toThrow(
      expect.objectContaining({ code, field }),
    )
  })

  it('names the field in the spelling asked for', () => {
    expect(() =>
      TransferFlow.classify(
        legs('USD rtp bank', 'USDC base a'),
        defaultCatalog,
        {},
        { spelling: 'snake', fieldPrefix: '2' },
      ),
    ).toThrow(expect.objectContaining({ field: '2.source.transfer_type' }))
  })
})

describe('where the catalog moves a token between chains', () => {
  const catalog = createCatalog({ movesBetweenChains: true })
  const codeOf = (from: string, to: string, known: KnownAddressTypes = {}) => {
    try {
      return TransferFlow.classify(legs(from, to), catalog, known)
    } catch (error) {
      return (error as { readonly code: string }).code
    }
  }

  it('a move to a wallet of the service is a swap, also at the same address', () => {
    expect(codeOf('USDC base a', 'USDC polygon a')).toBe('swap')
    expect(codeOf('USDC base a', 'USDC solana b', { source: 'internal', destination: 'internal' })).toBe('swap')
    expect(() => TransferFlow.classify(legs('USDC base a', 'USDC polygon a'), defaultCatalog)).toThrow(
      expect.objectContaining({ code: 'swap_chain_mismatch' }),
    )
  })

  it.each<[string, string, KnownAddressTypes, string]>([
    ['USDC base a', 'USDC polygon b', { destination: 'external' }, 'unsupported_flow'],
    ['USDC base a', 'USDT polygon a', {}, 'swap_chain_mismatch'],
    ['USDC base a', 'USDC base_sepolia a', {}, 'mixed_environments'],
    ['USDC base a', 'USDC base a', {}, 'unsupported_flow'],
    ['USDC base a', 'USDC polygon a', { source: 'external' }, 'unsupported_flow'],
  ])('%s to %s with %j is refused as %s', (from, to, known, code) => {
    expect(codeOf(from, to, known)).toBe(code)
  })
})
