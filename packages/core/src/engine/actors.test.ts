import { describe, expect, it } from 'vitest'
import { checkActor } from './actors.ts'

describe('the name of a person', () => {
  it.each([
    'ada',
    'Ada Lovelace',
    'ada@example.com',
    'Анна',
    'Анна@example.com',
    'Ωμέγα',
    '田中さん',
    'Åsa-Ö',
    "o'neil",
    'Nguyễn Văn Ý',
    'Kofi Ɔsei',
    'Łukasz',
    'Straße',
    'サトー・花子',
    '김철수',
    'محمد',
    'שרה',
    'สมชาย',
    'प्रिया',
  ])('may be %s', (actor) => expect(() => checkActor(actor)).not.toThrow())

  it.each([
    'ann\u200B',
    'a\u200Dnn',
    '\uFEFFann',
    'an\u00ADn',
    'ann\u2066',
    'an\u2028n',
    'an\nn',
    'an\u{E0061}n',
    ' ann',
    'ann\u00A0',
    'аnn',
    'αnn@example.com',
    'anna\u2800',
    'an\u{1D159}na',
    'an\u{16FE4}na',
    'an\uFFFCna',
    // Lisu, Coptic, Deseret, Old Italic, Tifinagh and Vai that is drawn as Latin; small capitals and clicks.
    '\uA4EE\uA4F2\uA4F3',
    '\u2C9E\u2C9E',
    '\u{10404}lga',
    '\u{10300}\u{1030D}\u{1030D}\u{10300}',
    '\u2D54lga',
    '\uA58E',
    '\u1D0Flga',
    '\u01C0ena',
    // Two scripts in one word.
    '田анна',
    'ann\u05E1',
    'a'.repeat(256),
  ])('may not be %j', (actor) => {
    expect(() => checkActor(actor)).toThrow(expect.objectContaining({ code: 'invalid_request', field: 'actor' }))
  })
})
