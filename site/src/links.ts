import { posix } from 'node:path'
import { addressOf } from './pages.ts'

/** What links are resolved against. */
export interface LinkTargets {
  /** The page of each document. */
  readonly pages: ReadonlyMap<string, string>
  /** Every file of the repository. */
  readonly files: readonly string[]
  /** Where the repository is published. */
  readonly repositoryUrl: string
}

/**
 * Where a relative link of a document leads on the site: to a page, or else to the file or folder in the published repository.
 * Other links stay as they are.
 * @throws Error for a link that leads nowhere.
 */
export function resolveLink(link: string, from: string, targets: LinkTargets): string {
  if (/^([a-z][a-z+.-]*:|#|\/)/i.test(link)) return link
  const [path = '', hash] = link.split('#')
  const target = posix.join(posix.dirname(from), decodeURI(path)).replace(/\/$/, '')
  const page = targets.pages.get(target) ?? targets.pages.get(`${target}/README.md`)
  const anchor = hash === undefined ? '' : `#${hash}`
  if (page !== undefined) return `${addressOf(page)}${anchor}`
  if (targets.files.includes(target)) return `${targets.repositoryUrl}/blob/main/${target}${anchor}`
  if (targets.files.some((file) => file.startsWith(`${target}/`))) return `${targets.repositoryUrl}/tree/main/${target}`
  throw new Error(`${from}: ${link} leads nowhere.`)
}
