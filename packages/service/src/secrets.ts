import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
} from 'node:crypto'
import type { Digest, Random } from '@outlay/core'

/** Where a sealed value is stored. It can be opened only there. */
export interface SecretPlace {
  readonly table: string
  readonly column: string
  /** Id of the row. */
  readonly row: string
}

/** A key that wraps data keys. */
export interface WrappingKey {
  /** 1 to 32 letters, digits, `_` or `-`; it is written into every ciphertext. */
  readonly id: string
  /** 32 random octets. */
  readonly key: Uint8Array
}

/** Encryption at rest and keyed digests. */
export interface Secrets {
  /** Encrypts text for one place: AES-256-GCM under its own data key, wrapped by the newest key. */
  seal(plaintext: string, place: SecretPlace): string
  /** Decrypts what {@link Secrets.seal} made for the same place; throws for any other place, key or octet. */
  open(sealed: string, place: SecretPlace): string
  /** Keyed digest (HMAC-SHA256, base64url) of a value for one purpose: blind indexes, cursors, fingerprints. */
  mac(purpose: string, value: string): string
  /** A digest of each key, which no other key has and which gives it away to nobody, by `digests` or `key:` and its id. */
  readonly checks: ReadonlyMap<string, string>
}

const ivLength = 12
const tagLength = 16
const keyLength = 32

/**
 * Makes {@link Secrets}. The first wrapping key seals, and all of them open. `macKey` must never change, because lookups use its
 * digests.
 */
export function createSecrets(options: {
  readonly keys: readonly [WrappingKey, ...WrappingKey[]]
  readonly macKey: Uint8Array
  readonly random: Random
}): Secrets {
  const [newest] = options.keys
  const keys = new Map(options.keys.map((one) => [one.id, wrappingKey(one)]))
  const newestKey = keys.get(newest.id)
  if (newestKey === undefined) throw new Error('The newest wrapping key is missing.')
  if (options.macKey.length < keyLength) throw new Error('The key for digests needs at least 32 octets.')
  const macKeys = new Map<string, KeyObject>()
  return {
    checks: new Map([
      ['digests', checkOf(options.macKey, 'mac')],
      ...options.keys.map(({ id, key }): [string, string] => [`key:${id}`, checkOf(key, 'seal')]),
    ]),
    seal(plaintext, place) {
      const dataKey = options.random.bytes(keyLength)
      const aad = aadOf(place, newest.id)
      const wrapped = encrypt(newestKey, dataKey, aad, options.random)
      const body = encrypt(dataKey, Buffer.from(plaintext, 'utf8'), aad, options.random)
      return `v1.${newest.id}.${wrapped.toString('base64url')}.${body.toString('base64url')}`
    },
    open(sealed, place) {
      const [version, keyId, wrapped, body] = sealed.split('.')
      if (version !== 'v1' || keyId === undefined || wrapped === undefined || body === undefined)
        throw new Error('The sealed value has an unknown form.')
      const key = keys.get(keyId)
      if (key === undefined) throw new Error(`The wrapping key ${keyId} does not exist.`)
      const aad = aadOf(place, keyId)
      const dataKey = decrypt(key, Buffer.from(wrapped, 'base64url'), aad)
      return decrypt(dataKey, Buffer.from(body, 'base64url'), aad).toString('utf8')
    },
    mac(purpose, value) {
      let key = macKeys.get(purpose)
      if (key === undefined) {
        // Octets would be made into such an object each time, which takes longer than the digest.
        key = createSecretKey(Buffer.from(hkdfSync('sha256', options.macKey, '', `outlay mac ${purpose}`, keyLength)))
        macKeys.set(purpose, key)
      }
      return createHmac('sha256', key).update(value).digest('base64url')
    },
  }
}

/** SHA-256 of a token or client secret: they are random, so a plain digest hides them. */
export function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** SHA-256 of a text in hexadecimal digits, by Node rather than in JavaScript. */
export const digest: Digest = (text) => createHash('sha256').update(text).digest('hex')

function wrappingKey(one: WrappingKey): Uint8Array {
  if (!/^[A-Za-z0-9_-]{1,32}$/.test(one.id))
    throw new Error('The id of a wrapping key must be 1 to 32 letters, digits, _ or -.')
  if (one.key.length !== keyLength) throw new Error('A wrapping key must have 32 octets.')
  return one.key
}

function checkOf(key: Uint8Array, use: string): string {
  return Buffer.from(hkdfSync('sha256', key, '', `outlay check ${use}`, keyLength)).toString('base64url')
}

function aadOf(place: SecretPlace, keyId: string): Buffer {
  return Buffer.from(JSON.stringify([place.table, place.column, place.row, keyId]), 'utf8')
}

function encrypt(key: Uint8Array, plaintext: Uint8Array, aad: Buffer, random: Random): Buffer {
  const iv = random.bytes(ivLength)
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  cipher.setAAD(aad)
  const body = Buffer.concat([cipher.update(plaintext), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), body])
}

function decrypt(key: Uint8Array, sealed: Buffer, aad: Buffer): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, ivLength), { authTagLength: tagLength })
  decipher.setAAD(aad)
  decipher.setAuthTag(sealed.subarray(ivLength, ivLength + tagLength))
  return Buffer.concat([decipher.update(sealed.subarray(ivLength + tagLength)), decipher.final()])
}
