/** Characters that are drawn as nothing, or as a space that is none: those that Unicode ignores, blank patterns and notes, fillers and joiners. */
const unseen = /[\p{Default_Ignorable_Code_Point}\u2800\u2D7F\uFFFC\u{13441}\u{13442}\u{16FE4}\u{1D159}]/u
const allUnseen = new RegExp(unseen, 'gu')

const hyphens = /[\p{Pd}\u02D7\u2043\u2212]/gu
const apostrophes =
  /[\u0060\u00B4\u02B9\u02BB-\u02BD\u02C8\u02CA\u02CB\u0374\u055A\u05F3\u07F4\u07F5\u1FBD\u1FBF\u1FEF\u1FFD\u1FFE\u2018\u2019\u201B\u2032\u2035\uA78B\uA78C\uFF07]/gu

/** Letters that are drawn as others, in capitals: as Latin ones those of Greek, Cyrillic, Armenian, Cherokee and of other forms, and Katakana as Han. */
const drawnAlike: ReadonlyMap<string, string> = new Map(
  [
    'ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX',
    'АA ВB ЕE ЅS ІI ЈJ КK МM НH ОO РP СC ТT УY ХX ԚQ ԜW ҺH ԌG ӀI ԀD ѴV ҮY',
    'ՕO ՍU ՀH',
    'ᎪA ᏴB ᏟC ᎠD ᎬE ᎻH ᎢT ᎫJ ᏦK ᏞL ᎷM ᏢP ᏚS ᎳW ᎩY ᏃZ ᏙV ᎡR',
    'ꞬG ⱭA ȷJ ƖI ƄB ƍG ǷP',
    'エ工 カ力 タ夕 ト卜 ニ二 ハ八 ロ口 ー一',
  ]
    .flatMap((pairs) => pairs.split(' '))
    .map((pair) => [[...pair][0] ?? '', [...pair][1] ?? ''] as const),
)

/** Some of them decompose to a space and an accent, so this comes before that, and again for those that others decompose to. */
const evenMarks = (text: string): string => text.replace(hyphens, '-').replace(apostrophes, "'")

/**
 * One spelling for each person. Lower case comes before upper case: ß and ẞ meet in ss, and the dot over a Turkish capital I becomes a mark
 * that goes.
 */
const spell = (actor: string): string =>
  [
    ...evenMarks(evenMarks(actor).normalize('NFKC'))
      .replace(allUnseen, '')
      .toLowerCase()
      .normalize('NFD')
      .replace(/i\u0307/gu, 'i')
      .toUpperCase()
      .normalize('NFD'),
  ]
    .map((letter) => drawnAlike.get(letter) ?? letter)
    .join('')
    .replace(/\s+/gu, ' ')
    .trim()

/**
 * Scripts in which names are written: those that Unicode recommends for identifiers (UAX 31, table 5), and Cherokee, whose letters are compared
 * above. Others, such as Lisu and Coptic, have whole alphabets that are drawn as Latin or Greek.
 */
const scripts = [
  ...[
    'Arabic',
    'Armenian',
    'Bengali',
    'Bopomofo',
    'Cherokee',
    'Cyrillic',
    'Devanagari',
    'Ethiopic',
    'Georgian',
    'Greek',
  ],
  ...['Gujarati', 'Gurmukhi', 'Han', 'Hangul', 'Hebrew', 'Hiragana', 'Kannada', 'Katakana', 'Khmer', 'Lao', 'Latin'],
  ...['Malayalam', 'Myanmar', 'Oriya', 'Sinhala', 'Tamil', 'Telugu', 'Thaana', 'Thai', 'Tibetan'],
].map((script) => ({ script, pattern: new RegExp(`\\p{Script=${script}}`, 'u') }))

/** Scripts that one word may have together. */
const together = [
  ['Han', 'Hiragana', 'Katakana'],
  ['Han', 'Bopomofo'],
  ['Han', 'Hangul'],
].map((names) => new Set(names))

/** Latin letters of alphabets. Others, as small capitals and clicks, are of phonetic notation and drawn as these. */
const latin = /^[A-Z\u00C0-\u01BF\u01C4-\u024F\u1E00-\u1EFF\u2C6D\uA7AC]+$/u

/** Letters that have no script of their own, such as the lengthening mark of Japanese. */
const common = /[\p{Script=Common}\p{Script=Inherited}]/u

const scriptOf = (letter: string): string | undefined => {
  const found = scripts.find(({ pattern }) => pattern.test(letter))?.script
  return found !== 'Latin' || latin.test(letter.toUpperCase().normalize('NFC')) ? found : undefined
}

/** The first letter that is of no script in which names are written. */
const findForeign = (name: string): string | undefined =>
  (name.normalize('NFKC').match(/\p{L}/gu) ?? []).find(
    (letter) => !common.test(letter) && scriptOf(letter) === undefined,
  )

/** The first word with letters of scripts that no language has together. */
const findMixed = (name: string): string | undefined =>
  (name.normalize('NFKC').match(/[\p{L}\p{M}]+/gu) ?? []).find((word) => {
    const found = new Set([...word].flatMap((letter) => scriptOf(letter) ?? []))
    return found.size > 1 && !together.some((names) => [...found].every((script) => names.has(script)))
  })

/** Rules of the names of people. */
export const ActorName = {
  /**
   * True when the names are those of one person: letter case, form, spaces, hyphens, apostrophes, invisible characters and letters that are
   * drawn the same make no difference.
   */
  areSame: (one: string, other: string): boolean => spell(one) === spell(other),
  /** A character of the name that nobody sees, or that breaks its line; `undefined` where there is none. */
  findUnseen: (name: string): string | undefined => unseen.exec(name)?.[0] ?? /[\p{C}\p{Zl}\p{Zp}]/u.exec(name)?.[0],
  /** A letter of a script in which no name is compared, such as Lisu; `undefined` where there is none. */
  findForeign,
  /** A word with letters of two scripts that no language has together; `undefined` where there is none. */
  findMixed,
} as const
