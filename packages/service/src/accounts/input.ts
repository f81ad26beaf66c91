import { Account, type Issue, OutlayError } from '@outlay/core'
import { z } from 'zod'
import { snakeCased } from '../http/body-shape.ts'

const text = z.string().trim().min(1).max(255)

/** A postal address in a request. Specification: AccountAddress. */
const accountAddressSchema = z.object({
  street_line_1: text,
  street_line_2: z.string().max(255).optional(),
  city: text,
  state: text,
  zip: text,
  country: text.optional(),
})

/** What an account is for. */
export const accountTypes = ['custodial', 'transactional'] as const

/** Who has an account. */
export const entityTypes = ['business', 'individual'] as const

const personSchema = z.object({
  name: text,
  ssn: z.string().max(64).refine(Account.isSsn, 'must be nine digits'),
  address: accountAddressSchema,
})

const owners = z.array(personSchema).max(100)

/** The body of `POST /accounts`. Specification: "Account". */
export const newAccountSchema = z.object({
  business_name: text,
  ein: z.string().max(64).refine(Account.isEin, 'must be nine digits'),
  address: accountAddressSchema,
  phone_number: text.max(64),
  email: z.email('must be an email address').max(255),
  website: z.string().max(2_048).default(''),
  ultimate_beneficial_owners: owners.optional().meta({ description: 'Required, unless `beneficial_owners` is there.' }),
  beneficial_owners: owners.nullish().meta({ description: 'The same as `ultimate_beneficial_owners`; null for none.' }),
  business_controller: z.record(z.string(), z.unknown()).nullish(),
  tos_attestation: z.record(z.string(), z.unknown()).nullish(),
  account_type: z.enum(accountTypes).nullish(),
  entity_type: z.enum(entityTypes).nullish().meta({ description: 'A custodial account is for a business.' }),
})

type AccountBody = z.infer<typeof newAccountSchema>

/** Data of a new account. */
export interface NewAccount
  extends Pick<AccountBody, 'business_name' | 'ein' | 'address' | 'phone_number' | 'email' | 'website'> {
  readonly ultimate_beneficial_owners: z.infer<typeof owners>
  readonly business_controller?: Readonly<Record<string, unknown>> | undefined
  readonly tos_attestation?: Readonly<Record<string, unknown>> | undefined
  readonly account_type?: (typeof accountTypes)[number] | undefined
  readonly entity_type?: (typeof entityTypes)[number] | undefined
}

/** The body of `PATCH /accounts/{account_id}`: how the business is reached. What its review is about cannot be changed. */
export const accountChangeSchema = z.object({
  phone_number: text.max(64).optional(),
  email: z.email('must be an email address').max(255).optional(),
  website: z.string().max(2_048).optional(),
})

/** Changes to an account. */
export type AccountChange = z.infer<typeof accountChangeSchema>

const responseOnly = ['id', 'status', 'created_at', 'updated_at', 'created', 'updated']

const changeable = Object.keys(accountChangeSchema.shape)
const reviewed = ['name', ...Object.keys(newAccountSchema.shape)].filter((name) => !changeable.includes(name))

/**
 * Reads the body of `POST /accounts`. Ignores unknown members. The owners are in either spelling; with `ownersOptional` they may be missing.
 * @throws OutlayError `missing_field`, `response_only_field` or `invalid_request`, with every broken rule. Messages never
 *   quote what was sent.
 */
export function parseNewAccount(
  body: unknown,
  { ownersOptional = false }: { readonly ownersOptional?: boolean } = {},
): NewAccount {
  const issues: Issue[] = []
  if (typeof body === 'object' && body !== null)
    for (const field of responseOnly)
      if (field in body) issues.push({ field, code: 'response_only_field', message: 'is given by the service' })
  const parsed = newAccountSchema.safeParse(body)
  if (parsed.success) issues.push(...issuesOf(parsed.data, ownersOptional))
  if (parsed.success && issues.length === 0) return newAccountOf(parsed.data)
  for (const issue of parsed.error?.issues ?? []) issues.push(issueOf(issue))
  const [first, ...rest] = issues
  if (first === undefined) throw new Error('A refused account has no issue.')
  throw OutlayError.fromIssues([first, ...rest])
}

/** Rules about several members. */
function issuesOf(body: AccountBody, ownersOptional: boolean): readonly Issue[] {
  const issues: Issue[] = []
  const { ultimate_beneficial_owners: owners, beneficial_owners: alias } = body
  if (owners !== undefined && alias != null)
    issues.push({ field: 'beneficial_owners', code: 'invalid_request', message: 'is there under both names; send one' })
  if (owners === undefined && alias === undefined && !ownersOptional)
    issues.push({ field: 'ultimate_beneficial_owners', code: 'missing_field', message: 'is required' })
  if (body.entity_type === 'individual' && body.account_type === 'custodial')
    issues.push({ field: 'entity_type', code: 'invalid_request', message: 'must be business for a custodial account' })
  return issues
}

function newAccountOf(body: AccountBody): NewAccount {
  const { ultimate_beneficial_owners: owners, beneficial_owners: alias, ...rest } = body
  return {
    ...rest,
    ultimate_beneficial_owners: owners ?? alias ?? [],
    business_controller: rest.business_controller ?? undefined,
    tos_attestation: rest.tos_attestation ?? undefined,
    account_type: rest.account_type ?? undefined,
    entity_type: rest.entity_type ?? undefined,
  }
}

/**
 * Reads the body of `PATCH /accounts/{account_id}`.
 * @throws OutlayError `invalid_request` for members that break their rules, for those that were reviewed, and without a change.
 */
export function parseAccountChange(said: unknown): AccountChange {
  const issues: Issue[] = []
  const body = snakeCased(said)
  const given = typeof body === 'object' && body !== null ? body : {}
  for (const field of reviewed)
    if (field in given)
      issues.push({ field, code: 'invalid_request', message: 'was reviewed, so it cannot be changed here' })
  for (const field of responseOnly)
    if (field in given) issues.push({ field, code: 'response_only_field', message: 'is given by the service' })
  const parsed = accountChangeSchema.safeParse(body)
  for (const issue of parsed.error?.issues ?? []) issues.push(issueOf(issue))
  if (parsed.success && issues.length === 0 && Object.keys(parsed.data).length > 0) return parsed.data
  const [first, ...rest] = issues
  if (first === undefined)
    throw new OutlayError('invalid_request', `Name ${changeable.join(', ')} to change.`, { field: '' })
  throw OutlayError.fromIssues([first, ...rest])
}

function issueOf(issue: z.core.$ZodIssue): Issue {
  const field = issue.path.map(String).join('.')
  const missing = issue.code === 'invalid_type' && issue.input === undefined && issue.message.includes('undefined')
  return missing
    ? { field, code: 'missing_field', message: 'is required' }
    : {
        field,
        code: 'invalid_request',
        message: issue.code === 'invalid_type' ? `must be of type ${issue.expected}` : issue.message,
      }
}
