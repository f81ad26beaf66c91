/** Accounts that a permission is about: all of them, or those with these ids. */
export type Accounts = 'all' | readonly string[]

/** True when a permission is about an account. */
export const covers = (accounts: Accounts, accountId: string): boolean =>
  accounts === 'all' || accounts.includes(accountId)

/** The accounts of both. */
export const joinAccounts = (one: Accounts, other: Accounts): Accounts =>
  one === 'all' || other === 'all' ? 'all' : [...new Set([...one, ...other])]
