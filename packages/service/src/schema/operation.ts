import type { z } from 'zod'
import type { Scope } from './caller.ts'

/** One body of JSON that a request carries. */
export interface OperationBody {
  readonly schema: z.ZodType
  /**
   * Who checks the shape of a body before the rules of the domain are: the schema that a function picks, or, for
   * `route`, the route itself, which parses with the same schema. Default: the schema.
   */
  readonly check?: 'route' | ((body: unknown) => z.ZodType) | undefined
  /** True when the request may have no body. Default false. */
  readonly optional?: boolean | undefined
}

/** One answer that is no refusal. */
export interface OperationAnswer {
  readonly description: string
  /** Absent for an answer without a body. */
  readonly schema?: z.ZodType | undefined
  /** Default `application/json`. */
  readonly mediaType?: string | undefined
}

/** Chapter of the document. */
export type OperationTag =
  | 'Accounts'
  | 'Addresses'
  | 'Balances'
  | 'Transfers'
  | 'Automations'
  | 'Financial institutions'
  | 'Bank linking'
  | 'Webhooks'
  | 'Authentication'
  | 'Sandbox'
  | 'Service'

/** One operation of the API: what the document says about it, and what its bodies are checked with. */
export interface Operation {
  /** Unique; generated clients take their method's name from it. */
  readonly id: string
  readonly method: 'get' | 'post' | 'patch' | 'delete'
  /** As the router has it, for example `/accounts/:account_id`. */
  readonly path: string
  readonly tag: OperationTag
  readonly summary: string
  readonly description?: string | undefined
  /** Scope that the bearer token needs; `client` for client credentials; absent for a public operation. */
  readonly access?: Scope | 'client' | undefined
  /** True when the request needs an `Idempotency-Key`. Default false. */
  readonly keyed?: boolean | undefined
  /** True when the state of the resource may refuse it, or something outside may be down. Default false. */
  readonly conflicts?: boolean | undefined
  /** Kept for existing integrations only. Default false. */
  readonly deprecated?: boolean | undefined
  /** Query parameters by name; a schema that takes `undefined` is optional. */
  readonly query?: Readonly<Record<string, z.ZodType>> | undefined
  readonly body?: OperationBody | undefined
  /** A form-encoded body, in the place of {@link Operation.body}. */
  readonly form?: z.ZodType | undefined
  /** Answers by status. Refusals follow from the rest and are added by themselves. */
  readonly answers: Readonly<Record<number, OperationAnswer>>
}
