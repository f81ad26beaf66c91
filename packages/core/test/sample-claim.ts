import type { Claim } from '../src/ports/claim.ts'

/** The time of the database at which {@link sampleClaim} was claimed. */
export const claimedAt = new Date('2026-11-20T12:00:00.000Z')

/** The time that many hours before it. */
export const hoursAgo = (hours: number): string => new Date(claimedAt.getTime() - hours * 3_600_000).toISOString()

/** A claim of a transfer whose outcome is not unknown. */
export const sampleClaim = (overrides: Partial<Claim> = {}): Claim => ({
  transferId: '01J00000000000000000000001',
  accountId: 'acme',
  gateway: 'default',
  submissionKey: 'key',
  request: {
    amount: { value: '1.00', currency: 'USDC' },
    source: { addressId: 'a', valueType: 'USDC', transferType: 'base' },
    destination: { addressId: 'b', valueType: 'USDC', transferType: 'base' },
  },
  attempt: 1,
  claimedBy: 'worker:1',
  claimedAt: claimedAt.toISOString(),
  reason: null,
  unknownSince: null,
  unknownAttempt: null,
  released: false,
  client: '',
  expiresAt: null,
  credentialRefusals: 0,
  ownRefusals: 0,
  ...overrides,
})
