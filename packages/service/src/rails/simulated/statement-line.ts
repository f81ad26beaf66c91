/** The line on the other bank's statement for one ACH entry. */
export interface StatementLine {
  /** The company name of the entry: at most 16 printable ASCII characters, the limit of the network. */
  readonly companyName: string
  /** The full name. */
  readonly name: string
  /** `PAYMENT`, or `RETRY PYMT` once the entry is presented again, by the rules of the network. */
  readonly entryDescription: 'PAYMENT' | 'RETRY PYMT'
}

/** Characters of the field for the company name in a batch header. */
const companyNameLength = 16

/** Writes the line of the first presentment under a business name. */
export function statementLine(name: string): StatementLine {
  return { companyName: companyName(name), name, entryDescription: 'PAYMENT' }
}

/** Drops accents, replaces other letters that the field does not allow with a space, and truncates the name. */
function companyName(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^\x20-\x7e]+/g, ' ')
  return plain.replace(/ +/g, ' ').trim().slice(0, companyNameLength).trimEnd()
}
