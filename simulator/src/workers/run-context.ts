import type { Gateway } from '@outlay/core'
import type { Bug } from '../bugs/bug.ts'
import type { Environment } from '../environment/environment.ts'
import type { Tenant } from '../environment/tenant.ts'
import type { Order } from '../order/order.ts'
import type { Violation } from '../violation.ts'
import type { Misconduct } from './misconduct.ts'

/** What the workers of one run share. */
export interface RunContext {
  readonly environment: Environment
  readonly seed: number
  readonly bug: Bug | undefined
  readonly tenants: readonly Tenant[]
  /** How many handlers fail from now on, after they wrote. */
  handlersToFail: number
  /** How often a handler has written so far. */
  effects: number
  /** How foreign code behaves. */
  readonly misconduct: Misconduct
  /** What went wrong in a way that is never right, whatever the faults. */
  readonly mistakes: Violation[]
  /** Attempts that were given to the gateway, as transfer and attempt. */
  readonly sent: Set<string>
  /** How often a way to the service was asked for each transfer, by its id there, and for the list of each account. */
  readonly reads: Map<string, number>
  /** Whether some transfers are not to be sent before a time. */
  readonly isScheduling: boolean
  /** Whether workers of the later release have a screener. */
  readonly isScreening: boolean
  /** What the screener answers next, once each; `pass` where there is nothing. */
  readonly verdicts: ('hold' | 'refuse')[]
  /** Transfers of which the screener has said that they pass. */
  readonly passed: Set<string>
  /** Whether hosts pay through two gateways. */
  readonly twoGateways: boolean
  readonly order: Order
  /** Numbers of payouts by their transfers. */
  readonly numbers: Map<string, number>
  /** A gateway that several workers share, made when the first one asks for it. */
  commonGateway(): Gateway
}
