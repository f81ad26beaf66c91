import type { Clock } from '@outlay/core'
import type { ServiceContext } from '../context.ts'
import type { BankLinking, BankLinkProvider } from './port.ts'
import { type BankLinkSimulation, createSimulatedBankLinks } from './simulated.ts'

/** Options of bank linking. */
export interface BankLinkingOptions {
  /** `simulated` has no banks and adds `/simulations/bank-links`. */
  readonly provider: BankLinkProvider | 'simulated'
  /** Segment of the paths, for example the provider's name. Default `banklink`. */
  readonly pathSegment?: string | undefined
  /** Additional segments for the same endpoints. Default: none. */
  readonly pathAliases?: readonly string[] | undefined
  /**
   * URL that receives the public token of an account after the flow. `baseUrl` is the option `publicUrl`, or without it the address that
   * the connection came to. Default: the endpoint that registers it, `<baseUrl>/accounts/<id>/financial-institutions/register-account`.
   */
  readonly callbackUrl?: ((accountId: string, baseUrl: string) => string) | undefined
}

/** Makes the dependencies of the bank-linking routes. Only the simulated provider has `simulation`. */
export function createBankLinking(
  options: BankLinkingOptions,
  context: Pick<ServiceContext, 'pool' | 'schema' | 'random' | 'secrets'>,
  clock: Clock,
): { readonly linking: BankLinking; readonly simulation: BankLinkSimulation | undefined } {
  const segments = [options.pathSegment ?? 'banklink', ...(options.pathAliases ?? [])] as const
  for (const segment of segments) {
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(segment))
      throw new Error('A path segment of bank linking must be 1 to 64 letters, digits, _ or -.')
  }
  const callbackUrl = options.callbackUrl ?? registrationUrl
  if (options.provider !== 'simulated') {
    return { linking: { provider: options.provider, segments, callbackUrl }, simulation: undefined }
  }
  const { pool, schema, random, secrets } = context
  const simulated = createSimulatedBankLinks({ pool, schema, random, secrets, clock })
  return { linking: { provider: simulated, segments, callbackUrl }, simulation: simulated.simulation }
}

function registrationUrl(accountId: string, baseUrl: string): string {
  return `${baseUrl}/accounts/${accountId}/financial-institutions/register-account`
}
