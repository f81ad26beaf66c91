import type { Problem } from './problem.ts'

/** What every answer says: nobody keeps it, frames it, guesses its type, or reads it from another origin. */
export const commonHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const

/** Answers with JSON. */
export const answerJson = (body: unknown, requestId: string, status = 200): Response =>
  new Response(JSON.stringify(body), {
    status,
    headers: { ...commonHeaders, 'content-type': 'application/json', 'x-request-id': requestId },
  })

/** Answers with a problem. */
export const answerProblem = (problem: Problem, more: Readonly<Record<string, string>> = {}): Response =>
  new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: {
      ...commonHeaders,
      ...more,
      'content-type': 'application/problem+json',
      'x-request-id': problem.requestId,
    },
  })

/** The same answer without its body, for HEAD. */
export const withoutBody = (answer: Response): Response =>
  new Response(null, { status: answer.status, headers: answer.headers })
