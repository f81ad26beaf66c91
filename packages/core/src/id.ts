import { OutlayError } from './error.ts'

/** A ULID: 26 characters of Crockford's base 32, 48 bits of time and then 80 random ones. Sorts by time. */
export type Id = string

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const pattern = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/
const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const values: ReadonlyMap<string, number> = new Map([...alphabet].map((character, value) => [character, value]))

// 130 bits make 26 characters, so 16 octets are written with two zero bits in front.
const encode = (octets: Uint8Array): Id => {
  const codes: number[] = []
  let bits = 0
  let pending = 2
  for (const octet of octets) {
    bits = (bits << 8) | octet
    pending += 8
    while (pending >= 5) {
      pending -= 5
      codes.push(alphabet.charCodeAt((bits >>> pending) & 31))
    }
    bits &= (1 << pending) - 1
  }
  return String.fromCharCode(...codes)
}

const decode = (id: Id): Uint8Array => {
  const octets = new Uint8Array(16)
  let bits = 0
  let pending = -2
  let at = 0
  for (const character of id) {
    bits = (bits << 5) | (values.get(character) ?? 0)
    pending += 5
    if (pending >= 8) {
      pending -= 8
      octets[at++] = bits >>> pending
      bits &= (1 << pending) - 1
    }
  }
  return octets
}

const is = (value: unknown): value is Id => typeof value === 'string' && pattern.test(value)

const parse = (value: unknown, field = 'id'): Id => {
  if (is(value)) return value
  throw OutlayError.fromIssues([{ field, code: 'invalid_id', message: 'must be a ULID of 26 characters' }])
}

type Clock = { now(): Date }
type Random = { bytes(length: number): Uint8Array }

const octetsOf = (at: Date, entropy: Uint8Array): Uint8Array => {
  const octets = new Uint8Array(16)
  let time = at.getTime()
  for (let index = 5; index >= 0; index -= 1) {
    octets[index] = time % 256
    time = Math.floor(time / 256)
  }
  octets.set(entropy, 6)
  return octets
}

const generate = (clock: Clock, random: Random): Id => encode(octetsOf(clock.now(), random.bytes(10)))

const createSequence = (clock: Clock, random: Random): (() => Id) => {
  let time: number | undefined
  let octets: Uint8Array = new Uint8Array(16)
  return () => {
    const now = clock.now()
    if (now.getTime() === time) {
      for (let at = 15; at >= 6; at -= 1) {
        octets[at] = (octets[at] as number) + 1
        if (octets[at] !== 0) break
      }
    } else {
      time = now.getTime()
      const entropy = random.bytes(10)
      // Half of the range is left to count up in.
      entropy[0] = (entropy[0] as number) & 127
      octets = octetsOf(now, entropy)
    }
    return encode(octets)
  }
}

const lowest = (at: Date): Id => generate({ now: () => at }, { bytes: (length) => new Uint8Array(length) })

const hexOf = Array.from({ length: 256 }, (_, octet) => (octet + 256).toString(16).slice(1))

const toUuid = (id: Id): string => {
  if (!is(id)) throw new Error('Id.toUuid needs a ULID')
  const octets = decode(id)
  const hex = (from: number, to: number) => {
    let text = ''
    for (let at = from; at < to; at += 1) text += hexOf[octets[at] as number]
    return text
  }
  return `${hex(0, 4)}-${hex(4, 6)}-${hex(6, 8)}-${hex(8, 10)}-${hex(10, 16)}`
}

const fromUuid = (uuid: string): Id => {
  if (!uuidPattern.test(uuid)) throw new Error('Id.fromUuid needs a UUID')
  const hex = uuid.replaceAll('-', '')
  return encode(Uint8Array.from({ length: 16 }, (_, at) => Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16)))
}

const timeOf = (id: Id): Date => {
  if (!is(id)) throw new Error('Id.timeOf needs a ULID')
  return new Date(
    decode(id)
      .subarray(0, 6)
      .reduce((time, octet) => time * 256 + octet, 0),
  )
}

/** Makes and reads ULIDs. */
export const Id = {
  /** Generates an id of the clock's millisecond. Ids of one millisecond are not ordered. */
  generate,
  /** Makes a function that generates ids, in ascending order within a millisecond of the clock too. */
  createSequence,
  /** The smallest id of a millisecond: every id made before it is smaller. */
  lowest,
  /** True for a ULID in its canonical upper case. */
  is,
  /** Reads a ULID; throws `invalid_id`. */
  parse,
  /** The same 128 bits as a lower-case UUID. Throws Error for anything but a ULID. */
  toUuid,
  /** The inverse of `toUuid`. Throws Error for anything but a UUID. */
  fromUuid,
  /** The moment at which a ULID was generated. */
  timeOf,
} as const
