import { Menu, TextInput } from '@mantine/core'
import { Act } from '../../parts/controls/Act.tsx'
import { Seg } from '../../parts/controls/Seg.tsx'
import { Icon } from '../../parts/marks/icons.tsx'
import { Keys } from '../../parts/marks/Keys.tsx'
import { t } from './messages.ts'
import css from './Toolbar.module.css'
import type { Grid } from './use-grid.ts'

export const SHOWN = ['all', 'differs', 'unwritten'] as const
export type Shown = (typeof SHOWN)[number]

interface Props {
  readonly grid: Grid
  readonly q: string
  readonly shown: Shown
  readonly counts: { readonly differs: number; readonly unwritten: number }
  readonly columns: readonly string[]
  readonly onChange: (change: { q?: string; shown?: Shown; columns?: readonly string[] }) => void
}

const HELP = [
  ['Space', t('toggle')],
  ['Enter', t('toolsInAgent')],
  ['shift+Space', t('wholeRow')],
  ['ctrl+z', t('undo')],
] as const

/** Filter, which servers, which columns, and what the keys do. */
export function Toolbar({ grid, q, shown, counts, columns, onChange }: Props) {
  return (
    <div className={css.bar}>
      <TextInput
        className={css.filter}
        aria-label={t('filter')}
        placeholder={t('filter')}
        value={q}
        data-filter
        leftSection={<Icon name="search" />}
        rightSection={<Keys of="/" />}
        onChange={({ currentTarget }) => onChange({ q: currentTarget.value })}
      />
      <Seg
        label={t('show')}
        value={shown}
        options={[
          { value: 'all', label: t('all') },
          { value: 'differs', label: t('differing'), count: counts.differs },
          { value: 'unwritten', label: t('unwritten'), count: counts.unwritten },
        ]}
        onChange={(next) => onChange({ shown: next })}
      />
      {grid.columns.length > columns.length || grid.columns.length > 8 ? (
        <Menu closeOnItemClick={false} width={240}>
          <Menu.Target>
            <span className={css.columns}>
              <Act>{t('columnsOf', { shown: columns.length, all: grid.columns.length })}</Act>
            </span>
          </Menu.Target>
          <Menu.Dropdown>
            {grid.columns.map(({ agent: { agent_type, name } }) => {
              const isOn = columns.includes(agent_type)
              return (
                <Menu.Item
                  key={agent_type}
                  role="menuitemcheckbox"
                  aria-checked={isOn}
                  leftSection={isOn ? <Icon name="check" size={14} /> : <span className={css.blank} />}
                  onClick={() =>
                    onChange({
                      columns: isOn
                        ? columns.filter((each) => each !== agent_type)
                        : [...columns, agent_type],
                    })
                  }
                >
                  {name}
                </Menu.Item>
              )
            })}
          </Menu.Dropdown>
        </Menu>
      ) : null}
      <ul className={`sm muted ${css.keys}`}>
        {HELP.map(([key, does]) => (
          <li key={key}>
            <Keys of={key} />
            {does}
          </li>
        ))}
      </ul>
    </div>
  )
}
