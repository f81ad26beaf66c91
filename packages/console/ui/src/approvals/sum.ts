/** Adds up decimal strings exactly: an amount is never a number. */
export function addDecimals(values: readonly string[]): string {
  const scale = Math.max(0, ...values.map((value) => value.split('.')[1]?.length ?? 0))
  const sum = values.reduce((total, value) => {
    const [whole = '0', fraction = ''] = value.split('.')
    return total + BigInt(whole + fraction.padEnd(scale, '0'))
  }, 0n)
  const digits = sum.toString().padStart(scale + 1, '0')
  return scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}
