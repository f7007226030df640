import tree from '../../parts/content/JsonTree.module.css'
import css from './Json.module.css'

const PARTS = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*|\btrue\b|\bfalse\b|\bnull\b)/g
/** Longer JSON is shown without colours. */
const MOST_COLOURED = 20_000

/** JSON exactly as it is, with colours. */
export function Json({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must be reachable with the keyboard
    <section className={`${tree.tree} ${css.json}`} aria-label={label} tabIndex={0}>
      <code>{text.length > MOST_COLOURED ? text : coloured(text)}</code>
    </section>
  )
}

function coloured(text: string) {
  const parts: React.ReactNode[] = []
  let at = 0
  for (const match of text.matchAll(PARTS)) {
    const [whole, string, colon] = match
    parts.push(text.slice(at, match.index))
    const look = string === undefined ? tree.number : colon === undefined ? tree.text : tree.key
    parts.push(
      <span key={match.index} className={look}>
        {string ?? whole}
      </span>,
      colon ?? '',
    )
    at = match.index + whole.length
  }
  return [...parts, text.slice(at)]
}
