import type { Player } from './players.ts'

/** Players that are left out, since they find what is not mended yet, and what that is. */
export const unmended: readonly { readonly player: Player; readonly finds: string }[] = []
