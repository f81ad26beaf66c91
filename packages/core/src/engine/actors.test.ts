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
    'a'.repeat(256),
  ])('may not be %j', (actor) => {
    expect(() => checkActor(actor)).toThrow(expect.objectContaining({ code: 'invalid_request', field: 'actor' }))
  })
})
