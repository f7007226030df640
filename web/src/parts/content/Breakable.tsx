import { Fragment } from 'react'

/** A command or a name in a narrow place: it breaks after its signs, not inside a word. */
export function Breakable({ text }: { readonly text: string }) {
  return text.split(/(?<=\w[/\\=:._-])(?=[^/\\=:._-])/).map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ))
}
