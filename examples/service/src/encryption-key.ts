import { randomBytes } from 'node:crypto'
import { access, link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { suffixOf } from './credentials.ts'
import type { Options } from './options.ts'

/** The key for encryption at rest. */
export interface EncryptionKey {
  /** 32 octets. */
  readonly key: Uint8Array
  /** The file that keeps it; `undefined` for a key that was given. */
  readonly path: string | undefined
  /** True when it was made just now. */
  readonly isNew: boolean
}

/**
 * The key that is given, or else the one that the data directory keeps for this database, made at its first start. `undefined` for embedded
 * data of an earlier release, which are play money under a key that is published.
 * @throws Error with a sentence for what is not a key, and for a database of an earlier release.
 */
export async function provideKey(
  options: Pick<Options, 'dataDir' | 'databaseUrl' | 'encryptionKey'>,
): Promise<EncryptionKey | undefined> {
  const { dataDir, databaseUrl, encryptionKey: given } = options
  if (given !== undefined) {
    const key = Buffer.from(given, 'base64')
    if (key.length !== 32) throw new Error('OUTLAY_ENCRYPTION_KEY must be 32 octets in base64.')
    return { key, path: undefined, isNew: false }
  }
  const path = join(dataDir, `encryption-key${suffixOf(options)}`)
  const kept = await readKey(path)
  if (kept !== undefined) return { key: kept, path, isNew: false }
  if (databaseUrl === undefined && (await exists(join(dataDir, 'postgres')))) return undefined
  if (databaseUrl !== undefined && (await exists(join(dataDir, `credentials${suffixOf(options)}.json`))))
    throw new Error(
      'An earlier release has written this database with a key that is published. Start on an empty database, or give the key in OUTLAY_ENCRYPTION_KEY.',
    )
  return await makeKey(dataDir, path)
}

/** Writes the key before anything is encrypted with it. Of several processes, the first one decides. */
async function makeKey(dataDir: string, path: string): Promise<EncryptionKey> {
  await mkdir(dataDir, { recursive: true, mode: 0o755 })
  const key = randomBytes(32)
  const partial = `${path}.${randomBytes(6).toString('hex')}`
  await writeFile(partial, `${key.toString('base64')}\n`, { mode: 0o600, flush: true })
  try {
    // Unlike a rename, a link does not replace what another process has written.
    await link(partial, path)
    return { key, path, isNew: true }
  } catch (error) {
    const kept = await readKey(path)
    if (kept === undefined) throw error
    return { key: kept, path, isNew: false }
  } finally {
    await rm(partial, { force: true })
  }
}

async function readKey(path: string): Promise<Uint8Array | undefined> {
  if (!(await exists(path))) return undefined
  const key = Buffer.from(await readFile(path, 'utf8'), 'base64')
  if (key.length !== 32) throw new Error(`${path} does not hold a key; restore it from a backup.`)
  return key
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  )
}
