import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** How long a link lets somebody in, and how long they stay, in milliseconds. */
const lifetimes = { linkMs: 600_000, sessionMs: 12 * 3_600_000 } as const

/** Lets one browser in, by a token that it brings once. */
export interface Login {
  /** The token of the link. */
  readonly token: string
  /** Makes a session of the token; undefined when it is another one, was used, or is too old. */
  exchange(token: string): string | undefined
  /** True of the session that was made. */
  knows(session: string): boolean
}

/** Makes a login. Token and session are 256 random bits, of which only digests are kept. */
export function createLogin(nowMs: () => number = () => performance.now()): Login {
  const token = random()
  const madeAt = nowMs()
  let expected: Buffer | undefined = digest(token)
  let session: { readonly digest: Buffer; readonly madeAt: number } | undefined
  return {
    token,
    exchange(given) {
      if (expected === undefined || !timingSafeEqual(digest(given), expected)) return undefined
      expected = undefined
      if (nowMs() - madeAt > lifetimes.linkMs) return undefined
      const made = random()
      session = { digest: digest(made), madeAt: nowMs() }
      return made
    },
    knows: (given) =>
      session !== undefined &&
      nowMs() - session.madeAt <= lifetimes.sessionMs &&
      timingSafeEqual(digest(given), session.digest),
  }
}

const random = (): string => randomBytes(32).toString('base64url')
const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
