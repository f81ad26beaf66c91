import { randomUUID } from 'node:crypto'
import { waitUntil } from '@outlay/testing'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { type Exchange, performAll } from './operations.ts'
import { type ShapeName, shapes } from './shapes.ts'

/** What an operation answered otherwise than the public contract says; empty when nothing. */
export interface OperationReport {
  readonly name: string
  readonly violations: readonly string[]
  /** Members that neither the contract nor the specification has, by their paths. */
  readonly extensions: readonly string[]
}

/** Where a service is, and as whom it is asked. */
export interface ContractSubject {
  readonly baseUrl: string
  readonly token: string
  readonly accountId: string
}

const ajv = new Ajv2020({ strict: false, allErrors: true })
const validators = new Map<ShapeName, ValidateFunction>()

/** Performs every operation of the public contract at a service, and checks each answer strictly. */
export async function checkPublicContract({
  baseUrl,
  token,
  accountId,
}: ContractSubject): Promise<readonly OperationReport[]> {
  const reports: OperationReport[] = []
  await performAll(async (exchange) => {
    const headers: Record<string, string> = {}
    if (exchange.anonymous !== true) headers['authorization'] = `Bearer ${token}`
    if (exchange.method === 'POST' && exchange.keyless !== true) headers['idempotency-key'] = randomUUID()
    const hasBody = exchange.body !== undefined
    if (hasBody) headers['content-type'] = 'application/json'
    const init = { method: exchange.method, headers, ...(hasBody ? { body: JSON.stringify(exchange.body) } : {}) }
    const send = async () => {
      const response = await fetch(`${baseUrl}${exchange.path}`, init)
      const text = await response.text()
      const body = text === '' ? undefined : (JSON.parse(text) as Readonly<Record<string, unknown>>)
      return exchange.until === undefined || exchange.until(body ?? {}) ? { response, body } : undefined
    }
    const { response, body } = await waitUntil(send, { timeoutMs: 20_000, describe: exchange.name })
    reports.push(reportOf(exchange, response, body))
    return body ?? {}
  }, accountId)
  return reports
}

function reportOf({ name, status, shape }: Exchange, response: Response, body: unknown): OperationReport {
  if (response.status !== status) {
    const { code } = (body ?? {}) as { readonly code?: unknown }
    return { name, violations: [`answers ${response.status} ${code ?? ''} instead of ${status}`], extensions: [] }
  }
  if (shape === 'empty') return { name, violations: body === undefined ? [] : ['has a body'], extensions: [] }
  const violations = new Set<string>()
  const extensions = new Set<string>()
  if (name === 'register account' && response.headers.get('location') === null) violations.add('has no Location')
  const validate = validators.get(shape) ?? ajv.compile(shapes[shape])
  validators.set(shape, validate)
  if (!validate(body)) {
    for (const { keyword, instancePath, params, message } of validate.errors ?? []) {
      const path = instancePath.replaceAll(/\/\d+/g, '')
      if (keyword === 'additionalProperties') extensions.add(`${path}/${params['additionalProperty']}`)
      else violations.add(`${path} ${message} ${JSON.stringify(params)}`)
    }
  }
  return { name, violations: [...violations], extensions: [...extensions] }
}
