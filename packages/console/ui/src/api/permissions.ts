import { createContext, useContext } from 'react'
import type { Person } from './queries.ts'

/** The names of permissions. */
export type Permission = 'read' | 'act' | 'approve' | 'configure'

/** The person who is logged in. */
export const PersonContext = createContext<Person>({ actor: '', roles: [], permissions: {} })

/** What the person may do: with an account, or with `undefined` for what is about all. The server decides; this is what is offered. */
export function useMay(): (permission: Permission, accountId?: string | null) => boolean {
  const { permissions } = useContext(PersonContext)
  return (permission, accountId) => {
    const accounts = permissions[permission] ?? []
    if (accounts === 'all') return true
    return typeof accountId === 'string' && accounts.includes(accountId)
  }
}

/** True for somebody who has a permission on at least one account. */
export const hasAny = ({ permissions }: Person, permission: Permission): boolean => {
  const accounts = permissions[permission] ?? []
  return accounts === 'all' || accounts.length > 0
}
