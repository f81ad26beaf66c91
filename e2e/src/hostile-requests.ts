import type { Random } from '@outlay/core'
import type { HostileRoute, KnownIds } from './hostile-routes.ts'

/** What an attacker knows. */
export interface HostileKnowledge {
  /** A token of the attacker's own. */
  readonly token: string
  readonly own: KnownIds
  /** Ids of the attacker's resources, by the parameter that names them; grows with every answer. */
  readonly ids: Readonly<Record<string, readonly string[]>>
  /** Ids of somebody else. */
  readonly foreign: readonly string[]
}

/** A request as it goes out. */
export interface HostileRequest {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** Picks at random, the same for the same source. */
export interface Dice {
  chance(probability: number): boolean
  below(limit: number): number
  of<T>(list: readonly T[]): T
}

/** Makes dice from a random source. */
export function dice(random: Random): Dice {
  const below = (limit: number) => Math.floor(random.fraction() * limit)
  return {
    chance: (probability) => random.fraction() < probability,
    below,
    of(list) {
      const one = list[below(list.length)]
      if (one === undefined) throw new Error('There is nothing to pick from.')
      return one
    },
  }
}

/** Text that has broken something somewhere before. */
const oddText = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\u0001\u0008\u001f\u007f',
  '\ud800',
  '\udfff\ud800',
  '\u202eevil',
  '💸'.repeat(64),
  "1' or '1'='1",
  '"; drop table transfer; --',
  '%00',
  '%',
  '../../etc/passwd',
  '#{7*7}{{7*7}}',
  '{{schema}}',
  '<script>alert(1)</script>',
  'null',
  'undefined',
  'NaN',
  '-Infinity',
  '9'.repeat(400),
  '0.'.concat('0'.repeat(300), '1'),
  '1e999999',
  '0x7fffffff',
  '9223372036854775808',
  'x'.repeat(20_000),
  'e\u0301'.repeat(300),
  '2026-13-45',
  '0000-00-00',
  '-000001-01-01T00:00:00Z',
  'http://169.254.169.254/latest',
  'http://[::ffff:127.0.0.1]:1/',
  'file:///etc/passwd',
  `http://${'a'.repeat(3_000)}`,
] as const

const oddValues: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  -0,
  Number.MAX_SAFE_INTEGER + 2,
  [],
  {},
  [[]],
  [null],
  { toString: 'x' },
  { length: -1 },
  { value: { value: {} } },
  ['base', 'base'],
  ['wire', 'solana', 'nonsense'],
  Array.from({ length: 2_000 }, (_, at) => at),
]

const oddNames = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'then',
  '',
  '$where',
  'id',
  'status',
]

/** Text that is no JSON, or is JSON of a kind that no client sends. */
const oddBodies = [
  '',
  ' ',
  '{',
  '{"a":}',
  '{"a":1,}',
  "{'a':1}",
  'null',
  'true',
  '0',
  '"text"',
  '[]',
  '[{}]',
  '\ufeff{}',
  '{"a":NaN}',
  '{"a":1e400}',
  '{"amount":{"value":"1"},"amount":{"value":"2"}}',
  '{"__proto__":{"admin":true}}',
  '{"note":"\\ud800"}',
  '{"note":"\\u0000"}',
  `{"note":"${'x'.repeat(300_000)}"}`,
  '['.repeat(5_000) + ']'.repeat(5_000),
  `${'{"a":'.repeat(3_000)}1${'}'.repeat(3_000)}`,
  `{${Array.from({ length: 3_000 }, (_, at) => `"m${at}":${at}`).join(',')}}`,
  'a=1&b=2',
  '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
  '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n--x--',
] as const

const contentTypes = [
  'application/json',
  'application/json; charset=utf-16',
  'APPLICATION/JSON',
  'application/vnd.api+json',
  'text/plain',
  'text/json',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/xml',
  ';;;',
  '',
]

const oddIds = [
  '0'.repeat(26),
  'z'.repeat(26),
  '7'.repeat(26),
  'short',
  'x'.repeat(4_000),
  '%00',
  '%ff',
  '%2e%2e',
  '%2f',
  "'",
  '*',
  '~',
  '%E2%80%AE',
  '-1',
]

const queryNames = [
  'page[size]',
  'page[after]',
  'page[next]',
  'page[prev]',
  'page[before]',
  'value_type',
  'transfer_type',
  'transaction_id',
  'automation_id',
  'status',
  'address_id',
  'address',
  'type',
  'event_id',
  'subscription_id',
  'nothing',
]

const queryValues = [
  '',
  '0',
  '1',
  '100',
  '101',
  '-1',
  '1e2',
  'USDC',
  'base',
  'internal',
  'external',
  'failed',
  '%00',
  '%ff',
  '%F0%9F%92%B8',
  'x'.repeat(3_000),
  "'--",
  '[]',
  '__proto__',
]

/** Makes one request to a route: sound in parts, so that it gets far, and spoiled somewhere. */
export function hostileRequest(route: HostileRoute, known: HostileKnowledge, roll: Dice): HostileRequest {
  const method = roll.chance(0.03)
    ? roll.of(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'])
    : route.method
  const parts = [
    ...(route.query !== undefined && roll.chance(0.8) ? [route.query] : []),
    ...(roll.chance(route.method === 'GET' && route.query === undefined ? 0.7 : 0.1)
      ? [hostileQuery(known, roll)]
      : []),
  ]
  const query = parts.length === 0 ? '' : `?${parts.join('&')}`
  const bare = method === 'GET' || method === 'HEAD'
  return {
    method,
    target: hostilePath(route.path, known, roll) + query,
    headers: hostileHeaders(route, known, roll),
    body: bare ? undefined : hostileBody(route, known, roll),
  }
}

function hostilePath(path: string, { ids, foreign }: HostileKnowledge, roll: Dice): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const own = ids[name] ?? []
    if (own.length > 0 && roll.chance(0.75)) return roll.of(own)
    if (roll.chance(0.5)) return roll.of(foreign)
    return roll.of([...oddIds, ...Object.values(ids).flatMap((list) => list.slice(0, 2))])
  })
}

function hostileQuery({ ids, foreign }: HostileKnowledge, roll: Dice): string {
  const values = [...queryValues, ...foreign, ...Object.values(ids).flatMap((list) => list.slice(-2))]
  return Array.from({ length: 1 + roll.below(4) }, () => `${roll.of(queryNames)}=${roll.of(values)}`).join('&')
}

function hostileHeaders(route: HostileRoute, known: HostileKnowledge, roll: Dice): Record<string, string> {
  const headers: Record<string, string> = route.form ? {} : { authorization: `Bearer ${known.token}` }
  if (route.body !== undefined) {
    headers['content-type'] = route.form ? 'application/x-www-form-urlencoded' : 'application/json'
    headers['idempotency-key'] = `key-${roll.below(2 ** 30)}`
  }
  if (roll.chance(0.08))
    headers['idempotency-key'] = roll.of(['', '"quoted"', '"', 'k'.repeat(256), 'a b', '\u00e9', 'same', ',', '\t'])
  if (roll.chance(0.05)) delete headers['idempotency-key']
  if (roll.chance(0.05)) headers['content-type'] = roll.of(contentTypes)
  if (roll.chance(0.03)) delete headers['content-type']
  if (roll.chance(0.04))
    headers['authorization'] = roll.of([
      '',
      'Bearer',
      'Bearer  ',
      'Basic OjpY',
      'Basic %%%',
      `Bearer ${'x'.repeat(5_000)}`,
      'bearer \u00ff',
      known.token,
      `Bearer ${known.token}, Bearer x`,
    ])
  if (roll.chance(0.02)) delete headers['authorization']
  if (roll.chance(0.05))
    headers[
      roll.of([
        'x-request-id',
        'x-forwarded-for',
        'accept',
        'content-encoding',
        'x-http-method-override',
        'if-none-match',
        'range',
        'prefer',
      ])
    ] = roll.of(['\u00ff\u0080', 'gzip', 'DELETE', 'a'.repeat(9_000), '*/*;q=nonsense', 'bytes=0-', '"'])
  return headers
}

function hostileBody(route: HostileRoute, known: HostileKnowledge, roll: Dice): string | undefined {
  if (roll.chance(0.04)) return undefined
  if (roll.chance(0.1)) return roll.of(oddBodies)
  const sound = route.body?.(known.own) ?? {}
  if (route.form) return formOf(sound as Record<string, string>, roll)
  if (roll.chance(0.15)) return JSON.stringify(sound)
  let spoiled: unknown = structuredClone(sound)
  for (let count = 1 + roll.below(3); count > 0; count -= 1) spoiled = spoil(spoiled, known, roll, 0)
  const text = JSON.stringify(spoiled) ?? 'null'
  return roll.chance(0.03) ? text.slice(0, roll.below(text.length)) : text
}

function formOf(sound: Readonly<Record<string, string>>, roll: Dice): string {
  const form = new URLSearchParams(sound)
  const names = ['grant_type', 'client_id', 'client_secret', 'scope', 'token']
  for (let count = roll.below(4); count > 0; count -= 1) form.append(roll.of(names), roll.of(oddText).toWellFormed())
  return `${form}${roll.chance(0.1) ? '&%ff=%&&=' : ''}`
}

/** Changes one place of a value: another type, odd text, a member more or less, an id of somebody else. */
function spoil(value: unknown, known: HostileKnowledge, roll: Dice, depth: number): unknown {
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (isRecord && Object.keys(value).length > 0 && roll.chance(depth === 0 ? 0.97 : 0.7)) {
    return spoilMember(value as Record<string, unknown>, known, roll, depth)
  }
  if (Array.isArray(value) && value.length > 0 && roll.chance(0.5)) {
    return value.map((one) => (roll.chance(0.5) ? spoil(one, known, roll, depth + 1) : one))
  }
  if (roll.chance(0.25)) return roll.of(known.foreign)
  return roll.chance(0.5) ? roll.of(oddText) : roll.of(oddValues)
}

function spoilMember(record: Record<string, unknown>, known: HostileKnowledge, roll: Dice, depth: number): unknown {
  const name = roll.of(Object.keys(record))
  const what = roll.below(10)
  if (what === 0) return Object.fromEntries(Object.entries(record).filter(([other]) => other !== name))
  if (what === 1) return Object.fromEntries([...Object.entries(record), [roll.of(oddNames), roll.of(oddValues)]])
  if (what === 2) return { ...record, [roll.of([...oddText])]: roll.of(oddText) }
  return { ...record, [name]: spoil(record[name], known, roll, depth + 1) }
}
