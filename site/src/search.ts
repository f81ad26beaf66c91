/**
 * The weight of a page in search: guides before the reference, and both before pages for maintainers. The browser
 * gets the text of this function, so it stands alone.
 */
export function rankPage(address: string): number {
  if (address.startsWith('/guides/')) return 2
  if (address.startsWith('/reference/package-')) return 1
  if (address.startsWith('/reference/')) return 1.5
  if (address.startsWith('/spec-coverage') || address.startsWith('/changelog')) return 0.3
  return 0.7
}
