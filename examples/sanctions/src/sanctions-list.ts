import { readFile, stat } from 'node:fs/promises'
import type { ScreenedTransfer, Screener, ScreeningAnswer } from '@outlay/core'

/** A person or a company on the list, with the words of each of its names. */
interface Listed {
  readonly id: string
  readonly name: string
  readonly names: readonly (readonly string[])[]
}

/** Where the list is, and who a registered address belongs to. */
export interface SanctionsListOptions {
  /** A file of lines `id`, name and other names, separated by tabs; other names by `|`. */
  readonly path: string
  /** A file that is older holds everything, in milliseconds: somebody forgot to bring the new one. */
  readonly olderThanMs: number
  /** The name of a payee that the transfer gives by its id; undefined where the host does not know it. */
  readonly nameOf: (addressId: string, signal: AbortSignal) => Promise<string | undefined>
}

/** Words without accents, case and punctuation, sorted: the order of names differs from country to country. */
const wordsOf = (name: string): readonly string[] =>
  name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
    .sort()

function parseList(text: string): readonly Listed[] {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '' && !line.startsWith('#'))
  return lines.map((line, at) => {
    const [id = '', name = '', others = ''] = line.split('\t')
    if (id.trim() === '' || wordsOf(name).length === 0)
      throw new Error(`Line ${at + 1} of the list has no id or no name.`)
    const names = [name, ...others.split('|')].map(wordsOf).filter((words) => words.length > 0)
    return { id: id.trim(), name: name.trim(), names }
  })
}

/** Compares a name with the list: all words of a listed name refuse it, and all but one of several hold it. */
function compare(name: string, list: readonly Listed[]): ScreeningAnswer {
  const words = new Set(wordsOf(name))
  let similar: Listed | undefined
  for (const listed of list) {
    for (const own of listed.names) {
      const found = own.filter((word) => words.has(word)).length
      if (found === own.length && found === words.size)
        return { result: 'refuse', case: listed.id, note: `${name} is ${listed.name} of the list` }
      if (found === own.length || (own.length > 1 && found >= own.length - 1)) similar ??= listed
    }
  }
  return similar === undefined
    ? { result: 'pass', note: `${list.length} entries, none like it` }
    : { result: 'hold', case: similar.id, note: `${name} is like ${similar.name} of the list` }
}

/** Makes a screener that compares payees with a list of names in a file. The file is read again when it has changed. */
export function sanctionsList({ path, olderThanMs, nameOf }: SanctionsListOptions): Screener {
  let read: { readonly changedMs: number; readonly list: readonly Listed[] } | undefined
  const readList = async (signal: AbortSignal): Promise<readonly Listed[]> => {
    const { mtimeMs } = await stat(path)
    if (Date.now() - mtimeMs > olderThanMs)
      throw new Error(`The list is of ${new Date(mtimeMs).toISOString()}; bring the new one.`)
    if (read?.changedMs !== mtimeMs) {
      const list = parseList(await readFile(path, { encoding: 'utf8', signal }))
      // One that was cut off lets everybody pass.
      if (list.length === 0) throw new Error('The list is empty.')
      read = { changedMs: mtimeMs, list }
    }
    return read.list
  }
  const payeeOf = async ({ counterparty, request }: ScreenedTransfer, signal: AbortSignal) => {
    if (counterparty !== undefined) return counterparty.name
    const { addressId } = request.destination
    return addressId === undefined ? undefined : nameOf(addressId, signal)
  }
  return async (transfer, signal) => {
    const list = await readList(signal)
    const name = await payeeOf(transfer, signal)
    if (name === undefined || wordsOf(name).length === 0)
      return { result: 'hold', note: 'nobody knows the name of the payee' }
    return compare(name, list)
  }
}
