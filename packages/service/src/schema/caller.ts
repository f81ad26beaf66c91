/** The environment in which a client moves value. Specification: "Authentication" 4. */
export type Environment = 'testnet' | 'mainnet'

/** Every scope that a token can have. */
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

/** One scope of a token. */
export type Scope = (typeof scopes)[number]

/** The authenticated client of a request. */
export interface Caller {
  readonly clientId: string
  readonly environment: Environment
  readonly scopes: readonly Scope[]
  /** When the token expires, ISO 8601, UTC. */
  readonly expiresAt: string
}
