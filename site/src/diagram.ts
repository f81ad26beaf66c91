import mermaidUrl from '@mermaid-js/tiny/dist/mermaid.tiny.js?url'
import { useData } from 'vitepress'
import { defineComponent, h, onMounted, ref, watch } from 'vue'

interface Mermaid {
  initialize(options: Readonly<Record<string, unknown>>): void
  render(id: string, source: string): Promise<{ readonly svg: string }>
}

let loading: Promise<Mermaid> | undefined

/** The library is larger than all pages together, so only a page with a diagram loads it. */
function loadMermaid(): Promise<Mermaid> {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement('script')
    script.src = mermaidUrl
    script.onload = () => resolve((globalThis as unknown as { mermaid: Mermaid }).mermaid)
    script.onerror = () => reject(new Error(`${mermaidUrl} could not be loaded.`))
    document.head.append(script)
  })
  return loading
}

let drawn = 0
let turn: Promise<unknown> = Promise.resolve()

/** Draws one diagram after the other, as the library wants it. */
function draw(source: string, isDark: boolean): Promise<string> {
  const drawing = turn.then(async () => {
    const mermaid = await loadMermaid()
    mermaid.initialize({ startOnLoad: false, securityLevel: 'strict', theme: isDark ? 'dark' : 'neutral' })
    return (await mermaid.render(`diagram-${++drawn}`, source)).svg
  })
  turn = drawing.catch(() => {})
  return drawing
}

/** A Mermaid diagram in the colours of the page; until it is drawn, its source. */
export const Diagram = defineComponent({
  props: { source: { type: String, required: true } },
  setup(props) {
    const { isDark } = useData()
    const source = decodeURIComponent(props.source)
    const svg = ref<string>()
    const update = async () => {
      svg.value = await draw(source, isDark.value)
    }
    onMounted(update)
    watch(isDark, update)
    return () =>
      svg.value === undefined
        ? h('div', { class: 'diagram' }, h('pre', source))
        : h('div', { class: 'diagram', innerHTML: svg.value })
  },
})
