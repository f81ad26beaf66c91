/** What the other bank prints on its statement for one ACH entry. */
export interface StatementLine {
  /** The company name of the entry: at most 16 printable ASCII characters, which is all that the network carries. */
  readonly companyName: string
  /** The whole name that it was cut from. */
  readonly name: string
  /** `PAYMENT`, or `RETRY PYMT` once the entry is presented again, as the rules of the network want it. */
  readonly entryDescription: 'PAYMENT' | 'RETRY PYMT'
}

/** Characters of the field for the company name in a batch header. */
const companyNameLength = 16

/** Writes the line of the first presentment under a business name. */
export function statementLine(name: string): StatementLine {
  return { companyName: companyName(name), name, entryDescription: 'PAYMENT' }
}

/** Accents are dropped, other letters that the field cannot have become a space, and what is too long is cut. */
function companyName(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^\x20-\x7e]+/g, ' ')
  return plain.replace(/ +/g, ' ').trim().slice(0, companyNameLength).trimEnd()
}
