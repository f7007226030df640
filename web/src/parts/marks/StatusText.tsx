import type { Server } from '../../data/servers.ts'
import { Glyph } from './Glyph.tsx'
import css from './StatusText.module.css'
import { type Shown, shownStatus } from './status.ts'

interface Props {
  readonly server: Pick<Server, 'health'>
  /** Beside the word, in grey: `2 h`, `exit 1, next try in 4 s`. */
  readonly detail?: string | undefined
}

/** The status of a server: glyph, word and colour. */
export function StatusText({ server, detail }: Props) {
  return <ShownText shown={shownStatus(server)} detail={detail} />
}

/** The same for anything else that has a state. */
export function ShownText({
  shown,
  detail,
}: {
  readonly shown: Shown
  readonly detail?: string | undefined
}) {
  return (
    <span className={css.status}>
      <span className={`${css.word} ${shown.tone}`}>
        <Glyph name={shown.glyph} />
        {shown.word}
      </span>
      {detail && (
        <span className="muted cut" title={detail}>
          {detail}
        </span>
      )}
    </span>
  )
}
