import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { writeOpenApi } from '../src/openapi/openapi.ts'
import { routes } from '../src/routes.ts'
import { createRouter } from '../src/routing/router.ts'

const document = close(JSON.parse(JSON.stringify(writeOpenApi(routes, '1')))) as Record<string, unknown>
const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
ajv.addSchema(document, 'api')
const validators = new Map<string, ValidateFunction>()
const find = createRouter(routes)

/** Headers that every answer has. */
const always = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
}

/**
 * Checks one answer against the document, in which a member that it does not name is wrong.
 * @throws Error that says what is wrong
 */
export function checkAnswer(method: string, path: string, answer: Response, text: string): void {
  for (const [name, value] of Object.entries(always))
    if (answer.headers.get(name) !== value) throw new Error(`${method} ${path} has the header ${name} otherwise.`)
  for (const name of answer.headers.keys())
    if (name.startsWith('access-control-')) throw new Error(`${method} ${path} has the header ${name}.`)
  const media = answer.headers.get('content-type')
  if (answer.status !== 200) {
    if (media !== 'application/problem+json') throw new Error(`${method} ${path} refuses with ${media}.`)
    validate(`${method} ${path} ${answer.status}`, '#/components/schemas/Problem', text)
    return
  }
  const found = find(method, path)
  if (found !== undefined && 'route' in found && found.route.media !== undefined) {
    if (media !== `${found.route.media}; charset=utf-8`) throw new Error(`${method} ${path} answers with ${media}.`)
    return
  }
  if (found === undefined || !('route' in found)) return
  const place = ['paths', found.route.path.replaceAll(/:([a-zA-Z]+)/g, '{$1}'), found.route.method]
  const pointer = [...place, 'responses', '200', 'content', 'application/json', 'schema']
  const escaped = pointer.map((one) => encodeURIComponent(one.replaceAll('~', '~0').replaceAll('/', '~1')))
  validate(`${method} ${path}`, `#/${escaped.join('/')}`, text)
}

function validate(where: string, pointer: string, text: string): void {
  const check = validators.get(pointer) ?? ajv.compile({ $ref: `api${pointer}` })
  validators.set(pointer, check)
  if (check(JSON.parse(text))) return
  const faults = check.errors?.map((one) => `${one.instancePath} ${one.message} ${JSON.stringify(one.params)}`)
  throw new Error(`${where} is not as documented: ${faults?.join('; ')}\n${text}`)
}

/** The document in which every object has the members that are named and no others. */
function close(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(close)
  if (typeof value !== 'object' || value === null) return value
  const copy = Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, close(inner)]))
  const isSchema = copy['type'] === 'object' && 'properties' in copy && !('additionalProperties' in copy)
  return isSchema ? { ...copy, additionalProperties: false } : copy
}
