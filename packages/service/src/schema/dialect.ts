/** The contracts that the service speaks where the two contradict each other. */
export const dialects = ['specification', 'public'] as const

/** `specification`, or `public` for programs of the public contract. */
export type Dialect = (typeof dialects)[number]
