/** Which world a client moves value in. Specification: "Authentication" 4. */
export type Environment = 'testnet' | 'mainnet'

/** Everything that a token can be good for. */
export const scopes = [
  'accounts:read',
  'accounts:write',
  'addresses:read',
  'addresses:write',
  'transfers:read',
  'transfers:write',
  'automations:read',
  'automations:write',
  'financial-institutions:read',
  'financial-institutions:write',
  'webhooks:read',
  'webhooks:write',
] as const

/** One permission of a token. */
export type Scope = (typeof scopes)[number]

/** Who sent a request. */
export interface Caller {
  readonly clientId: string
  readonly environment: Environment
  readonly scopes: readonly Scope[]
  /** When the token ends, ISO 8601, UTC. */
  readonly expiresAt: string
}
