/** A fenced block of a guide. */
export type GuideBlock =
  | { readonly kind: 'file'; readonly path: string; readonly text: string }
  /** Shell commands; those of a named terminal keep running while the rest of the guide is executed. */
  | { readonly kind: 'commands'; readonly text: string; readonly terminal: string | undefined; readonly prints: string }

/**
 * Reads the executable blocks of a guide: a block with `file=` in its info string is a file, `sh` is what the reader
 * types, and `text` right after that is what it prints.
 */
export function readGuide(text: string): readonly GuideBlock[] {
  const blocks: GuideBlock[] = []
  for (const [, info = '', body = ''] of text.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)) {
    const [language, ...words] = info.split(' ')
    const named = (name: string) => words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1)
    const path = named('file')
    if (path !== undefined) blocks.push({ kind: 'file', path, text: body })
    else if (language === 'sh') blocks.push({ kind: 'commands', text: body, terminal: named('terminal'), prints: '' })
    else if (language === 'text') {
      const last = blocks.pop()
      if (last?.kind !== 'commands') throw new Error(`No command precedes this output:\n${body}`)
      blocks.push({ ...last, prints: body })
    }
  }
  return blocks
}

/** A pattern of the output in a guide: `…` matches anything, and any lines when it stands alone on a line. */
export function patternOf(prints: string): RegExp {
  const lines = prints.trimEnd().split('\n')
  const parts = lines.map((line) =>
    line === '…'
      ? '(?:.*\\n)*?'
      : `${line
          .split('…')
          .map((piece) => piece.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
          .join('.*')}\\s*\\n`,
  )
  return new RegExp(`^\\s*${parts.join('')}\\s*$`)
}
