declare module 'dockerfilelint' {
  /** Findings of a Dockerfile, by line. */
  export function run(path: string, text: string): readonly { readonly title: string; readonly line: number }[]
}
