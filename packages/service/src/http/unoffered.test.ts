import { randomBytes } from 'node:crypto'
import { Pool } from 'pg'
import { afterAll, expect, it } from 'vitest'
import { createService } from '../service.ts'

/** Nothing here queries, so nothing connects. */
const pool = new Pool({ connectionString: 'postgres://127.0.0.1:1/none' })
afterAll(() => pool.end())
const account = '/accounts/01K8QV0TEX4Z7A1B5C8D2E6F9G'

it.each(['specification', 'public'] as const)(
  'an operation of the public contract whose body is described nowhere says what to do instead, in the dialect %s',
  async (dialect) => {
    const { fetch } = createService({ pool, rails: 'simulated', encryptionKey: randomBytes(32), dialect })
    const refusal = async (method: string, path: string) => {
      const response = await fetch(new Request(`http://test${path}`, { method }))
      const { code, detail, errors } = (await response.json()) as Record<string, unknown>
      return { status: response.status, code, detail, errors }
    }
    for (const path of [`${account}/documents`, `${account}/documents/1`, `${account}/verification/documents`]) {
      const refused = await refusal('POST', path)
      expect(refused).toMatchObject({ status: 422, code: 'unsupported_flow', errors: [{ status: '422' }] })
      expect(refused.detail).toContain('outside of this API')
    }
    for (const move of ['mints', 'burns', 'transfers']) {
      for (const path of [`/tokens/${move}`, `${account}/tokens/${move}`]) {
        const refused = await refusal('POST', path)
        expect(refused).toMatchObject({ status: 422, code: 'unsupported_flow' })
        expect(refused.detail).toContain('POST /accounts/{account_id}/transfers')
      }
    }
    for (const [method, path] of [
      ['POST', '/tokens/swaps'],
      ['DELETE', '/tokens/mints'],
      ['POST', `${account}/documentation`],
      ['POST', '/documents'],
    ] as const) {
      expect(await refusal(method, path)).toMatchObject({ status: 404, code: 'not_found' })
    }
  },
)
