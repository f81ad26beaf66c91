/**
 * SQL that is true where the enqueue whose mark is this parameter may write: with an empty mark, where none has a savepoint. A library may have several
 * handles of one transaction, so only the database knows whether another one has, in a setting that ends with the transaction.
 */
export const mayWrite = (parameter: string): string =>
  `coalesce(current_setting('outlay.enqueueing', true), '') = ${parameter}::text`
