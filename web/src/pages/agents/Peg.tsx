import { Tooltip } from '@mantine/core'
import { Icon } from '../../parts/marks/icons.tsx'
import type { Cell, CellState } from './grid-model.ts'
import { t } from './messages.ts'
import css from './PegGrid.module.css'

interface Props {
  readonly cell: Cell
  readonly server: string
  readonly agent: string
  /** Nothing of the column can be read. */
  readonly isBad: boolean
  readonly readOnly: string | null
  /** How many tools the server has; null if that is not known. */
  readonly tools: number | null
  readonly at: string
  readonly isCurrent: boolean
  readonly onPress: () => void
  readonly onTools: () => void
  readonly onFocus: () => void
}

const CHECKED: Record<CellState, boolean | 'mixed'> = {
  on: true,
  off: false,
  some: 'mixed',
  differs: 'mixed',
  none: false,
}

/** One cell of the grid: a check box, and beside it a word, or how many tools there are: pressed, that shows them. */
export function Peg({ cell, server, agent, isBad, readOnly, tools, at, isCurrent, ...on }: Props) {
  const { state, side, isStaged, blocked } = cell
  const count = state === 'on' ? tools : state === 'some' ? side : null
  const why = blocked ?? side
  const reason = blocked ?? readOnly
  const box = (
    // biome-ignore lint/a11y/useSemanticElements: an input would have its own Tab stop and keys
    <span
      role="checkbox"
      aria-checked={CHECKED[state]}
      aria-disabled={reason !== null || undefined}
      aria-label={why === null ? t('cell', { server, agent }) : t('cellWhy', { server, agent, why })}
      tabIndex={isCurrent ? 0 : -1}
      data-at={at}
      data-state={blocked === null || state === 'on' ? state : 'none'}
      className={isBad ? css.dash : css.peg}
      onFocus={on.onFocus}
    >
      {isBad ? '–' : <Inside state={blocked !== null && state === 'off' ? 'none' : state} />}
    </span>
  )
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the check box has the focus
    // biome-ignore lint/a11y/useSemanticElements: a grid with one Tab stop is not a table
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid handles the keys
    <div
      role="gridcell"
      className={css.cell}
      data-staged={isStaged || undefined}
      data-bad={isBad || undefined}
      onClick={on.onPress}
    >
      {reason === null ? box : <Tooltip label={reason}>{box}</Tooltip>}
      {state === 'differs' && (
        <span className={`sm warn strong ${css.side}`} aria-hidden="true">
          {side}
        </span>
      )}
      {count !== null && (
        <button
          type="button"
          className={`sm ${css.side} ${css.tools}`}
          tabIndex={-1}
          aria-label={t('toolsTitle', { server, agent })}
          title={t('toolsInAgent')}
          onClick={(event) => {
            event.stopPropagation()
            on.onTools()
          }}
        >
          {count}
        </button>
      )}
    </div>
  )
}

function Inside({ state }: { readonly state: CellState }) {
  if (state === 'on') return <Icon name="check" size={14} />
  if (state === 'some' || state === 'none') return <Icon name="minus" size={14} />
  return state === 'differs' ? <>≠</> : null
}

const LEGEND = [
  ['on', t('legendOn')],
  ['off', t('legendOff')],
  ['some', t('legendSome')],
  ['differs', t('legendDiffers')],
] as const

export function Legend() {
  return (
    <ul className={`sm muted ${css.legend}`}>
      {LEGEND.map(([state, word]) => (
        <li key={state}>
          <span className={css.peg} data-state={state} data-small>
            <Inside state={state} />
          </span>
          {word}
        </li>
      ))}
      <li>
        <span className={css.sample} />
        {t('legendStaged')}
      </li>
      <li>
        <span className={css.peg} data-state="none" data-small>
          <Inside state="none" />
        </span>
        {t('legendNone')}
      </li>
      <li>{t('legendNow')}</li>
      <li>{t('legendLater')}</li>
    </ul>
  )
}
