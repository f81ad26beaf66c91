import type { Player } from '../plan/players.ts'

// All play. Rarely `pages` finds what is not fixed: a 403 or 429 page that comes after the service has acted leaves the outcome known,
// so a cancel or another client may follow.
/** Players that are left out, since they find what is not fixed yet, and what that is. */
export const knownMistakes: readonly { readonly player: Player; readonly finds: string }[] = []
