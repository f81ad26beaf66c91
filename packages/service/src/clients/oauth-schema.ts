import { z } from 'zod'
import { component } from '../schema/component.ts'
import type { Operation } from '../schema/operation.ts'
import { textSchema } from '../schema/primitive.ts'
import { oauthErrorSchema } from '../schema/problem.ts'

const credentials = {
  client_id: textSchema.optional().meta({ description: 'Required when the Authorization header has no credentials.' }),
  client_secret: textSchema.optional(),
}

const tokenRequest = component(
  'TokenRequest',
  z.object({
    grant_type: z.literal('client_credentials'),
    scope: textSchema.optional().meta({ description: 'Scopes, separated by spaces. Default: all of the client.' }),
    ...credentials,
  }),
  { description: 'RFC 6749 section 4.4.2.', examples: [{ grant_type: 'client_credentials' }] },
)

const revocation = component('RevocationRequest', z.object({ token: textSchema, ...credentials }), {
  description: 'RFC 7009 section 2.1.',
  examples: [{ token: 'b3Blbi1zZXNhbWUtYW5kLXNvbWUtbW9yZS1vY3RldHM' }],
})

const tokenSchema = component(
  'Token',
  z.object({
    access_token: z.string(),
    token_type: z.literal('bearer'),
    expires_in: z.int().min(1).meta({ description: 'Seconds.' }),
    scope: z.string(),
  }),
  {
    description: 'An access token, valid for about one hour.',
    examples: [
      {
        access_token: 'b3Blbi1zZXNhbWUtYW5kLXNvbWUtbW9yZS1vY3RldHM',
        token_type: 'bearer',
        expires_in: 3600,
        scope: 'transfers:read transfers:write',
      },
    ],
  },
)

const revokedSchema = component('Revoked', z.object({}), { description: 'An empty object.', examples: [{}] })

const refusals = {
  400: { description: 'A malformed request.', schema: oauthErrorSchema },
  401: { description: 'Wrong client credentials.', schema: oauthErrorSchema },
}

/** Operations that issue and revoke access tokens. Specification: "Authentication". */
export const oauthOperations: readonly Operation[] = [
  {
    id: 'createToken',
    method: 'post',
    path: '/oauth2/token',
    tag: 'Authentication',
    summary: 'Get an access token',
    description: 'Send the client credentials by HTTP Basic or in the form.',
    access: 'client',
    form: tokenRequest,
    answers: { 200: { description: 'The token.', schema: tokenSchema }, ...refusals },
  },
  {
    id: 'revokeToken',
    method: 'post',
    path: '/oauth2/revoke',
    tag: 'Authentication',
    summary: 'Revoke an access token',
    description: 'As in RFC 7009. A token that is unknown is revoked already.',
    access: 'client',
    form: revocation,
    answers: { 200: { description: 'The token is no longer valid.', schema: revokedSchema }, ...refusals },
  },
]
