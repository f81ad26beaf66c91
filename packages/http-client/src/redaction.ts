/** Members whose values never appear in a message. */
const sensitiveMembers = new Set([
  'account_number',
  'routing_number',
  'owner',
  'street_line_1',
  'street_line_2',
  'ssn',
  'ein',
  'date_of_birth',
  'public_token',
  'client_secret',
])

/** Shorter values would redact ordinary words and numbers. */
const shortest = 4

/** Replaces every occurrence of the given values in a text of the service. */
export function redact(text: string, values: readonly string[]): string {
  let redacted = text
  for (const value of values) if (value.length >= shortest) redacted = redacted.replaceAll(value, '[redacted]')
  return redacted
}

/** The digits of a number that is written in groups. The digits of other texts are not redacted on their own. */
const digitsOf = (text: string): readonly string[] => (/[a-z]/i.test(text) ? [] : [text.replaceAll(/\D/g, '')])

/** Collects the values of sensitive members of a sent body, to redact an answer that repeats them. */
export function collectSensitive(body: unknown): readonly string[] {
  const found: string[] = []
  const visit = (value: unknown, depth: number): void => {
    if (typeof value !== 'object' || value === null || depth > 6) return
    for (const [name, member] of Object.entries(value)) {
      if (typeof member === 'string' && sensitiveMembers.has(name)) found.push(member, ...digitsOf(member))
      else visit(member, depth + 1)
    }
  }
  visit(body, 0)
  return found
}
