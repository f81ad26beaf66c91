import { errorCodes } from '@outlay/core'
import { z } from 'zod'
import { component } from './component.ts'

/** Most broken rules that a refusal names: it is answered, and stored under the key of a create. */
export const mostErrors = 100

const codes = [...errorCodes, 'internal_error'] as const

/** `application/problem+json`. Specification: "Errors". */
export const problemSchema = component(
  'Problem',
  z.object({
    type: z.string().meta({ description: 'URN of the code.' }),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string().meta({ description: `Stable code. Known ones: ${codes.join(', ')}.` }),
    message: z.string().meta({ description: 'The same sentence as `detail`.' }),
    request_id: z.string().meta({ description: 'The same as the header `x-request-id`.' }),
    values: z
      .array(z.string())
      .max(mostErrors)
      .meta({ description: 'The members that break a rule, as `errors` has them.' }),
    errors: z
      .array(
        z.object({
          code: z.string(),
          status: z.string(),
          title: z.string(),
          detail: z.string(),
          source: z
            .union([
              z.object({ pointer: z.string() }),
              z.object({ parameter: z.string() }),
              z.object({ header: z.string() }),
            ])
            .optional()
            .meta({ description: 'JSON pointer into the body, or name of the query parameter or header.' }),
        }),
      )
      .min(1)
      .max(mostErrors),
  }),
  {
    description: 'Why the service refused a request: every broken rule, and the member that breaks it.',
    examples: [
      {
        type: 'urn:outlay:error:insufficient_balance',
        title: 'The request cannot be processed',
        status: 422,
        detail: 'The wallet does not have 1250.00 USDC on base available.',
        code: 'insufficient_balance',
        message: 'The wallet does not have 1250.00 USDC on base available.',
        request_id: '5f2b8c1de07a4963b1f0c2d4',
        values: ['/amount/value'],
        errors: [
          {
            code: 'insufficient_balance',
            status: '422',
            title: 'The request cannot be processed',
            detail: 'The wallet does not have 1250.00 USDC on base available.',
            source: { pointer: '/amount/value' },
          },
        ],
      },
    ],
  },
)

/** RFC 6749 section 5.2. */
export const oauthErrorSchema = component(
  'OAuthError',
  z.object({
    error: z.enum(['invalid_request', 'invalid_client', 'unsupported_grant_type', 'invalid_scope']),
    error_description: z.string(),
  }),
  {
    description: 'Why the token endpoint refused, as in RFC 6749 section 5.2.',
    examples: [{ error: 'invalid_client', error_description: 'The client credentials are wrong.' }],
  },
)
