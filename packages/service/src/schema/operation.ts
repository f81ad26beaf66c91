import type { z } from 'zod'
import type { Scope } from './caller.ts'
import type { Dialect } from './dialect.ts'

/** The JSON body of a request. */
export interface OperationBody {
  readonly schema: z.ZodType
  /**
   * What checks the shape of a body before the rules of the domain: the schema that a function picks, or, for
   * `route`, the route itself, which parses with the same schema. Default: the schema.
   */
  readonly check?: 'route' | ((body: unknown) => z.ZodType) | undefined
  /** True when the request may have no body. Default false. */
  readonly optional?: boolean | undefined
}

/** One answer that is not a refusal. */
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
  | 'Quotes'
  | 'Tokens'
  | 'Automations'
  | 'Financial institutions'
  | 'Bank linking'
  | 'Webhooks'
  | 'Authentication'
  | 'Sandbox'
  | 'Service'

/** One operation of the API: its description in the document, and the schemas that check its bodies. */
export interface Operation {
  /** Unique in a dialect. Generated clients name their method after it. */
  readonly id: string
  /** The dialect whose operation it is. Default: both. */
  readonly dialect?: Dialect | undefined
  readonly method: 'get' | 'post' | 'patch' | 'delete'
  /** As the router has it, for example `/accounts/:account_id`. */
  readonly path: string
  readonly tag: OperationTag
  readonly summary: string
  /** Sentences that say what the summary does not. */
  readonly description: string
  /** Scope that the bearer token needs; `client` for client credentials; absent for a public operation. */
  readonly access?: Scope | 'client' | undefined
  /** True when the request needs an `Idempotency-Key`. Default false. */
  readonly keyed?: boolean | undefined
  /** True when the state of the resource may refuse it, or an external dependency may be down. Default false. */
  readonly conflicts?: boolean | undefined
  /** Kept for existing integrations only. Default false. */
  readonly deprecated?: boolean | undefined
  /** Query parameters by name. A parameter whose schema accepts `undefined` is optional. */
  readonly query?: Readonly<Record<string, z.ZodType>> | undefined
  readonly body?: OperationBody | undefined
  /** A form-encoded body, instead of {@link Operation.body}. */
  readonly form?: z.ZodType | undefined
  /** Answers by status. The document adds the refusals, which follow from the other members. */
  readonly answers: Readonly<Record<number, OperationAnswer>>
}
