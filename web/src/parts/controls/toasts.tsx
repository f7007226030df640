import { notifications } from '@mantine/notifications'
import { ApiError, Unreachable } from '../../data/api.ts'
import { asTyped } from '../../data/browser/program.ts'
import { texts } from '../../i18n/texts.ts'
import { Glyph } from '../marks/Glyph.tsx'
import { Act } from './Act.tsx'

const t = texts('toast', {
  undo: 'Undo',
  soon: 'Applied in {seconds} s',
  done: 'Done',
  failed: 'This did not work',
})

const UNDO_S = 10

interface Undo {
  readonly title: string
  readonly text?: string
  readonly onUndo: () => void
  /** Called when the time is over and it was not undone. For a delete, this is what deletes. */
  readonly onOver?: () => void
}

/** Something was done, and can be undone for ten seconds. */
export function showUndo({ title, text = t('soon', { seconds: UNDO_S }), onUndo, onOver }: Undo): void {
  let undone = false
  const id = notifications.show({
    title,
    autoClose: UNDO_S * 1000,
    withCloseButton: false,
    icon: <Done />,
    onClose: () => {
      if (!undone) onOver?.()
    },
    message: (
      <span className="row">
        <span className="grow">{text}</span>
        <Act
          size="xs"
          icon="undo"
          onClick={() => {
            undone = true
            notifications.hide(id)
            onUndo()
          }}
        >
          {t('undo')}
        </Act>
      </span>
    ),
  })
}

export function showDone(title: string, message = ''): void {
  notifications.show({ title, message, icon: <Done /> })
}

/** What happened, and the hint. A failed change has already returned to what it was. */
export function showFailure(error: unknown, title: string = t('failed')): void {
  const hint = error instanceof ApiError || error instanceof Unreachable ? error.hint : undefined
  const said = error instanceof Error ? error.message : String(error)
  notifications.show({
    title,
    message: hint ? `${said}. ${asTyped(hint)}` : said,
    autoClose: 12_000,
    icon: (
      <span className="err">
        <Glyph name="err" />
      </span>
    ),
  })
}

const Done = () => (
  <span className="ok">
    <Glyph name="tick" />
  </span>
)
