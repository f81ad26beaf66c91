/** Digits after the point. */
const scale = 18

/** Reads a decimal text as a whole number of the smallest unit, so that sums are exact. Throws Error for others. */
export function units(text: string): bigint {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text)
  const [, sign, whole = '', part = ''] = match ?? []
  if (match === null || part.length > scale) throw new Error(`${text} is no decimal number`)
  const value = BigInt(whole + part.padEnd(scale, '0'))
  return sign === '-' ? -value : value
}

/** Writes units as decimal text. */
export function decimal(value: bigint): string {
  const digits = (value < 0n ? -value : value).toString().padStart(scale + 1, '0')
  const part = digits.slice(-scale).replace(/0+$/, '')
  return `${value < 0n ? '-' : ''}${digits.slice(0, -scale)}${part === '' ? '' : `.${part}`}`
}
