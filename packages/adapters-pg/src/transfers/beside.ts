/** The pairs of the transfer whose id is in `column` as one object; null where it has none. Read row by row, by the primary key. */
export const metadataOf = (column: string): string =>
  `(select jsonb_object_agg(x.name, x.value) from {{schema}}.transfer_metadata x where x.transfer_id = ${column})`

/**
 * The same claims with the metadata of their transfers, for gateways that map it. By a function with a snapshot of its own: a claim may be of a
 * transfer that was committed after its statement began.
 */
export const withMetadata = (claims: string): string =>
  `with c as materialized (${claims})
    select c.*, (select {{schema}}.metadata_of_all(array_agg(m.id)) from c m where m.id is not null) -> c.id as metadata from c`

/** The ended transfer that the one whose id is in `column` was resubmitted for; null where there is none. */
export const resubmissionOf = (column: string): string =>
  `(select x.transfer_id from {{schema}}.resubmission x where x.successor_id = ${column})`
