import { Account, type Issue, OutlayError } from '@outlay/core'
import { z } from 'zod'

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

const personSchema = z.object({
  name: text,
  ssn: z.string().max(64).refine(Account.isSsn, 'must be nine digits'),
  address: accountAddressSchema,
})

/** The body of `POST /accounts`. Specification: "Account". */
export const newAccountSchema = z.object({
  business_name: text,
  ein: z.string().max(64).refine(Account.isEin, 'must be nine digits'),
  address: accountAddressSchema,
  phone_number: text.max(64),
  email: z.email('must be an email address').max(255),
  website: z.string().max(2_048).default(''),
  ultimate_beneficial_owners: z.array(personSchema).max(100),
  business_controller: z.record(z.string(), z.unknown()).optional(),
  tos_attestation: z.record(z.string(), z.unknown()).optional(),
})

/** Data of a new account. */
export type NewAccount = z.infer<typeof newAccountSchema>

const responseOnly = ['id', 'status', 'created_at', 'updated_at']

/**
 * Reads the body of `POST /accounts`. Ignores unknown members.
 * @throws OutlayError `missing_field`, `response_only_field` or `invalid_request`, with every broken rule. Messages never
 *   quote what was sent.
 */
export function parseNewAccount(body: unknown): NewAccount {
  const issues: Issue[] = []
  if (typeof body === 'object' && body !== null)
    for (const field of responseOnly)
      if (field in body) issues.push({ field, code: 'response_only_field', message: 'is given by the service' })
  const parsed = newAccountSchema.safeParse(body)
  if (parsed.success && issues.length === 0) return parsed.data
  for (const issue of parsed.error?.issues ?? []) issues.push(issueOf(issue))
  const [first, ...rest] = issues
  if (first === undefined) throw new Error('A refused account has no issue.')
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
