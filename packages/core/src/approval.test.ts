import { describe, expect, it } from 'vitest'
import { Approval, type ApprovalRequirement } from './approval.ts'

const by = (actor: string, ...roles: string[]) => ({ actor, roles })
const asks = (inOrder: boolean, ...steps: ApprovalRequirement['steps'][number][]): ApprovalRequirement => ({
  steps,
  inOrder,
})

describe('an approval', () => {
  it('is of one person, however the name is spelled', () => {
    expect(Approval.sameActor('Ada', ' ada ')).toBe(true)
    expect(Approval.sameActor('ada', 'ａｄａ')).toBe(true)
    expect(Approval.sameActor('ada', 'adam')).toBe(false)
    for (const other of ['a\u200Bda', 'аda', 'αDA', 'ada\u00A0', '\u2060ada', 'ad\uFE0Fa'])
      expect(Approval.sameActor('ada', other), other).toBe(true)
    expect(Approval.sameActor('Ann  Lee', 'ann\u2003lee')).toBe(true)
    expect(Approval.sameActor('Анна', 'Антон')).toBe(false)
  })

  it.each([
    ['straße', 'STRAẞE'],
    ['straße', 'Strasse'],
    ['ali', 'ALİ'],
    ['ALİ', 'ALI'],
    ['José', 'JOSE\u0301'],
    ['doc', 'ԁос'],
    ['aga', 'ɑɡa'],
    ['anna-lee', 'anna\u2010lee'],
    ['anna-lee', 'ANNA\u2212LEE'],
    ["o'neil", 'O\u2019Neil'],
    ["o'neil", 'o\u00B4neil'],
    ['hou', 'հօս'],
    ['john', 'ȷohn'],
    ['sinikka', 'sɩnikka'],
    ['bob', 'ƅoƅ'],
    ['gus', 'ƍus'],
    ['petra', 'ƿetra'],
    ...['\u2800', '\u{1D159}', '\u{16FE4}', '\uFFFC', '\u3164'].map((unseen) => ['anna', `an${unseen}na`]),
  ])('of %s is one of %s', (one = '', other = '') => {
    expect(Approval.sameActor(one, other)).toBe(true)
    expect(Approval.sameActor(other, one)).toBe(true)
    expect(Approval.sameActor(one.toLowerCase(), other.toUpperCase())).toBe(true)
  })

  it.each([
    ['weiß', 'STRAẞE'],
    ['José', 'Jose'],
    ['anna-lee', 'annalee'],
    ["o'neil", 'oneil'],
  ])('of %s is none of %s', (one, other) => expect(Approval.sameActor(one, other)).toBe(false))

  it('takes as many people as its steps say', () => {
    const two = asks(false, { count: 2 })
    expect(Approval.missing(two, [])).toHaveLength(2)
    expect(Approval.missing(two, [by('ada')])).toHaveLength(1)
    expect(Approval.missing(two, [by('ada'), by('bob')])).toEqual([])
  })

  it('is placed so that nobody more is needed, when somebody fits two steps', () => {
    const both = asks(false, { roles: ['finance'] }, { roles: ['cfo'] })
    expect(Approval.missing(both, [by('ada', 'finance', 'cfo'), by('bob', 'finance')])).toEqual([])
    expect(Approval.missing(both, [by('bob', 'finance'), by('ada', 'finance', 'cfo')])).toEqual([])
    expect(Approval.missing(both, [by('bob', 'finance'), by('eve', 'finance')])).toEqual([{ roles: ['cfo'] }])
  })

  it('counts in order only once the steps before it are done', () => {
    const ordered = asks(true, { count: 2, roles: ['finance'] }, { roles: ['cfo'] })
    expect(Approval.counts(ordered, [], by('ada', 'cfo'))).toBe(false)
    expect(Approval.counts(ordered, [by('bob', 'finance')], by('ada', 'cfo'))).toBe(false)
    const financed = [by('bob', 'finance'), by('eve', 'finance')]
    expect(Approval.counts(ordered, financed, by('ada', 'cfo'))).toBe(true)
    expect(Approval.counts(ordered, financed, by('kim', 'finance'))).toBe(false)
    expect(Approval.missing(ordered, [...financed, by('ada', 'cfo')])).toEqual([])
  })

  it('counts for nothing without a role that is missing', () => {
    const finance = asks(false, { roles: ['finance'] })
    expect(Approval.counts(finance, [], by('ada'))).toBe(false)
    expect(Approval.counts(finance, [], by('ada', 'finance'))).toBe(true)
    expect(Approval.counts(finance, [by('bob', 'finance')], by('ada', 'finance'))).toBe(false)
  })

  it('counts again where it has no place yet, and never twice in one requirement', () => {
    const ordered = asks(true, { roles: ['finance'] }, { roles: ['cfo'] })
    const early = [by('ada', 'cfo'), by('bob', 'finance')]
    expect(Approval.counts(ordered, early, by('Ada', 'cfo'))).toBe(true)
    const both = by('ada', 'finance', 'cfo')
    expect(Approval.counts(ordered, [both], both)).toBe(false)
    expect(Approval.missing(ordered, [both, both])).toEqual([{ roles: ['cfo'] }])
    // Bob takes the step that ada had, so that hers is the next one.
    expect(Approval.missing(ordered, [both, by('bob', 'finance'), both])).toEqual([])
    const two = asks(false, { count: 2 })
    expect(Approval.counts(two, [both], by('ADA', 'finance'))).toBe(false)
    expect(Approval.missing(two, [both, by('ada')])).toHaveLength(1)
  })

  it.each<[unknown, boolean]>([
    [{ steps: [{}], inOrder: false }, true],
    [{ steps: [{ count: 2, roles: ['cfo'] }], inOrder: true }, true],
    [{ steps: [{ count: 2, notRoles: ['cfo'] }], inOrder: true }, false],
    [{ steps: [{ roles: [] }], inOrder: true }, false],
    [{ steps: [], inOrder: true }, false],
    [{ steps: [{}], inOrder: true, within: 'P1D' }, false],
    [{ anyOf: [] }, false],
    [null, false],
  ])('that is asked for as %j is known: %s', (requirement, known) => {
    expect(Approval.isKnown(requirement)).toBe(known)
  })
})
