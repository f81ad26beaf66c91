/** The pairs of the transfer whose id is in `column` as one object; null where it has none. Read row by row, by the primary key. */
export const metadataOf = (column: string): string =>
  `(select jsonb_object_agg(x.name, x.value) from {{schema}}.transfer_metadata x where x.transfer_id = ${column})`

/** The same claims with the metadata of their transfers, for gateways that map it. */
export const withMetadata = (claims: string): string =>
  `select c.*, ${metadataOf('c.id')} as metadata from (${claims}) c`
